import type { Command, CommandIo } from "./commands/command.ts";
import { describeError } from "./commands/command-error.ts";

// A subcommand's module is loaded when it is asked for: `rengine --help` and short commands start fast.
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import("./commands/init.ts")).init,
  import: async () => (await import("./commands/import.ts")).importBlocks,
  export: async () => (await import("./commands/export.ts")).exportBlocks,
  stateless: async () => (await import("./commands/stateless.ts")).stateless,
  statetest: async () => (await import("./commands/statetest.ts")).statetest,
  db: async () => (await import("./commands/db.ts")).db,
};

/** `rengine`: a subcommand, or without one the client itself. @returns the exit code */
export async function main(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [name = "", ...rest] = args;
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    const { runClient } = await import("./commands/run.ts");
    return await runClient(args, env);
  }
  try {
    const command = await load();
    return await command(rest, env, terminalIo());
  } catch (error) {
    const description = describeError(error);
    if (description === undefined) throw error;
    process.stderr.write(`rengine ${name}: ${description}\n`);
    return 1;
  }
}

function terminalIo(): CommandIo {
  // `rengine … | head`: what nobody reads any more is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  let progressShown = false;
  const clearProgress = (): void => {
    if (progressShown) process.stderr.write("\r\u001b[K");
    progressShown = false;
  };
  return {
    out(line) {
      clearProgress();
      process.stdout.write(`${line}\n`);
    },
    err(line) {
      clearProgress();
      process.stderr.write(`${line}\n`);
    },
    progress(line) {
      if (!process.stderr.isTTY) return;
      clearProgress();
      process.stderr.write(line);
      progressShown = true;
    },
  };
}
