import { runCommand } from "@rnode/program";
import { subcommands } from "./commands/subcommands.ts";
import { describeError } from "./setup/describe-error.ts";

/** `rengine`: runs a subcommand or, without one, the client itself. @returns the exit code */
export async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // A subcommand does without the module of the client, so that short commands start fast.
  const [name = "", ...rest] = args;
  const load = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (load !== undefined) return await runCommand(`rengine ${name}`, load, rest, env, describeError);
  const { runClient } = await import("./commands/run.ts");
  return await runClient(args, env);
}
