import { commandGroup } from "@rnode/program";

/** `rengine snapshot create|verify|restore`. */
export const snapshot = commandGroup(
  { name: "rengine snapshot", summary: "Makes, verifies and restores a file with the state after a block." },
  {
    create: async () => (await import("./snapshot-create.ts")).createSnapshotFile,
    verify: async () => (await import("./snapshot-verify.ts")).verifySnapshotFile,
    restore: async () => (await import("./snapshot-restore.ts")).restoreFromSnapshot,
  },
);
