import type { Command } from "@rnode/program";
import { UserError } from "@rnode/program";

/** `rengine snapshot create|verify|restore`. */
export const snapshot: Command = async (args, env, io) => {
  const [action, ...rest] = args;
  switch (action) {
    case "create":
      return await (await import("./snapshot-create.ts")).createSnapshotFile(rest, env, io);
    case "verify":
      return await (await import("./snapshot-verify.ts")).verifySnapshotFile(rest, env, io);
    case "restore":
      return await (await import("./snapshot-restore.ts")).restoreFromSnapshot(rest, env, io);
    default:
      throw new UserError(`expected "create", "verify" or "restore"${action === undefined ? "" : `, found "${action}"`}`);
  }
};
