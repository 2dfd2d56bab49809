import { type Command, runCommand } from "@rnode/program";
import { describeError } from "./setup/describe-error.ts";

// A subcommand's module is loaded only when it is needed, so that `rengine --help` and short commands start fast.
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import("./commands/init.ts")).init,
  import: async () => (await import("./commands/import.ts")).importBlocks,
  export: async () => (await import("./commands/export.ts")).exportBlocks,
  stateless: async () => (await import("./commands/stateless.ts")).stateless,
  statetest: async () => (await import("./commands/statetest.ts")).statetest,
  enginetest: async () => (await import("./commands/enginetest.ts")).enginetest,
  snapshot: async () => (await import("./commands/snapshot.ts")).snapshot,
  db: async () => (await import("./commands/db.ts")).db,
};

/** `rengine`: runs a subcommand or, without one, the client itself. @returns the exit code */
export async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [name = "", ...rest] = args;
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load !== undefined) return await runCommand(`rengine ${name}`, load, rest, env, describeError);
  const { runClient } = await import("./commands/run.ts");
  return await runClient(args, env);
}
