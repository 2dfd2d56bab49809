import { commandGroup } from "@rnode/program";

/** `rengine snapshot create|verify|restore`. */
export const snapshot = commandGroup("rengine snapshot", {
  create: async () => (await import("./snapshot-create.ts")).createSnapshotFile,
  verify: async () => (await import("./snapshot-verify.ts")).verifySnapshotFile,
  restore: async () => (await import("./snapshot-restore.ts")).restoreFromSnapshot,
});
