import { type Program, runProgram } from "@rnode/program";
import { startBatcher } from "./batcher.ts";
import { rbatcherOptions } from "./options.ts";
import { VERSION } from "./version.ts";

const rbatcher: Program<(typeof rbatcherOptions)["groups"]> = {
  name: "rbatcher",
  version: VERSION,
  table: rbatcherOptions,
  metricsPrefix: "rbatcher_default_",
  async start(options, context) {
    const { ready } = await startBatcher(context.scope, options, context);
    return { failure: ready };
  },
};

/** Runs `rbatcher`. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rbatcher, args, env);
}
