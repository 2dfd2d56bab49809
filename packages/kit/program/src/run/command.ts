import { helpText, type ListedCommand } from "../options/help-text.ts";
import type { OptionGroup, OptionTable } from "../options/option-group.ts";
import { type ParsedOptions, parseOptions } from "../options/parse-options.ts";
import { type Describe, describeFailure, printFailure, UserError } from "../process/failure.ts";

/** Where a command writes; replaced in tests. */
export interface CommandIo {
  /** results, for scripts */
  out(line: string): void;
  /** progress and errors, for people */
  err(line: string): void;
  /** progress that replaces the previous line; nothing is written if standard error is not a terminal */
  progress(line: string): void;
}

/** A subcommand, from its arguments to its exit code. `runCommand` prints its errors. */
export interface Command {
  (args: readonly string[], env: NodeJS.ProcessEnv, io: CommandIo): Promise<number>;
  /** its purpose, in a sentence */
  readonly summary: string;
}

type Groups = Readonly<Record<string, OptionGroup>>;
type Arguments<G extends Groups> = Pick<Extract<ParsedOptions<G>, { kind: "options" }>, "options" | "positionals">;

/** A subcommand made of an option table and a function. @param run returns the exit code */
export function command<const G extends Groups>(
  { table, version }: { readonly table: OptionTable<G>; readonly version: string },
  run: (parsed: Arguments<G>, io: CommandIo) => number | Promise<number>,
): Command {
  const runParsed = async (args: readonly string[], env: NodeJS.ProcessEnv, io: CommandIo): Promise<number> => {
    const parsed = parseOptions(table, args, env);
    switch (parsed.kind) {
      case "options":
        return await run(parsed, io);
      case "help":
        io.out(helpText(table).trimEnd());
        return 0;
      case "version":
        io.out(`${table.program} ${version}`);
        return 0;
      case "error":
        for (const fault of parsed.faults) io.err(`${table.program}: ${fault}`);
        return 1;
    }
  };
  return Object.assign(runParsed, { summary: table.summary });
}

/** Subcommands by name, each with the module that has it, which is loaded on demand so that short commands start fast. */
export type Subcommands = Readonly<Record<string, () => Promise<Command>>>;

/**
 * A subcommand that has subcommands itself, of which the first argument names one. Its help lists them.
 *
 * @param name as users type it: `rengine db`
 */
export function commandGroup(
  { name, summary }: { readonly name: string; readonly summary: string },
  actions: Subcommands,
): Command {
  const run = async ([action, ...rest]: readonly string[], env: NodeJS.ProcessEnv, io: CommandIo): Promise<number> => {
    if (action === "--help" || action === "-h") {
      const width = Math.max(...Object.keys(actions).map((known) => known.length));
      io.out(`Usage: ${name} ${Object.keys(actions).join("|")} [options]\n`);
      for (const [known, load] of Object.entries(actions)) io.out(`  ${known.padEnd(width)}  ${(await load()).summary}`);
      io.out(`\n${name} ${Object.keys(actions)[0]} --help lists the options of one.`);
      return 0;
    }
    const load = action !== undefined && Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (load !== undefined) return await (await load())(rest, env, io);
    const known = Object.keys(actions).map((each) => `"${each}"`);
    const expected = `${known.slice(0, -1).join(", ")} or ${known.at(-1)}`;
    throw new UserError(`expected ${expected}${action === undefined ? "" : `, found "${action}"`}`);
  };
  return Object.assign(run, { summary });
}

/** The subcommands as `--help` of their program lists them. */
export const listCommands = (subcommands: Subcommands): Promise<ListedCommand[]> =>
  Promise.all(Object.entries(subcommands).map(async ([name, load]) => ({ name, summary: (await load()).summary })));

/**
 * Runs a subcommand on the terminal. A signal ends it as it ends any process.
 *
 * @param name as users type it: `rengine import`
 * @param load loads the subcommand's module on demand, so that short commands start fast
 */
export async function runCommand(
  name: string,
  load: () => Promise<Command>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  describe: Describe = describeFailure,
): Promise<number> {
  try {
    const run = await load();
    return await run(args, env, terminalIo());
  } catch (error) {
    const description = describe(error);
    if (description === undefined) throw error;
    printFailure(name, description);
    return 1;
  }
}

function terminalIo(): CommandIo {
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
