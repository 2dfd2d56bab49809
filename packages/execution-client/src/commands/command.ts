import { helpText, type OptionGroup, type OptionTable, type ParsedOptions, parseOptions } from "@rnode/options";
import { CommandError } from "./command-error.ts";

/** Where a command writes; replaced in tests. */
export interface CommandIo {
  /** results, for scripts */
  out(line: string): void;
  /** progress and errors, for people */
  err(line: string): void;
  /** progress that replaces the line before it; nothing where standard error is no terminal */
  progress(line: string): void;
}

/** A subcommand of `rengine`. @returns the exit code */
export type Command = (args: readonly string[], env: NodeJS.ProcessEnv, io: CommandIo) => Promise<number>;

type Parsed<G extends Readonly<Record<string, OptionGroup>>> = Extract<ParsedOptions<G>, { kind: "options" }>;

/**
 * Reads a subcommand's arguments.
 *
 * @returns undefined when help was asked for, and has been printed
 * @throws {CommandError} on anything that is not as the table says
 */
export function readArguments<const G extends Readonly<Record<string, OptionGroup>>>(
  table: OptionTable<G>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  io: CommandIo,
): Parsed<G> | undefined {
  const parsed = parseOptions(table, [...args], env);
  switch (parsed.kind) {
    case "options":
      return parsed;
    case "help":
      io.out(helpText(table).trimEnd());
      return undefined;
    case "version":
      io.out(table.program);
      return undefined;
    case "error":
      throw new CommandError(parsed.message);
  }
}
