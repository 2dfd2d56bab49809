import { helpText } from "../options/help-text.ts";
import type { OptionGroup, OptionTable } from "../options/option-group.ts";
import { type ParsedOptions, parseOptions } from "../options/parse-options.ts";
import { listCommands, type Subcommands } from "./command.ts";
import { tellFaults } from "./start-faults.ts";

type Groups = Readonly<Record<string, OptionGroup>>;

/**
 * The options of a program; where arguments ask for help or the version, or are wrong, that is printed instead.
 *
 * @returns the exit code, where there is nothing left to do
 */
export async function readOptions<const G extends Groups>(
  { name, version, subcommands = {} }: { readonly name: string; readonly version: string; readonly subcommands?: Subcommands },
  table: OptionTable<G>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Extract<ParsedOptions<G>, { kind: "options" }> | number> {
  const parsed = parseOptions({ ...table, subcommands: Object.keys(subcommands) }, args, env);
  switch (parsed.kind) {
    case "help":
      process.stdout.write(helpText(table, await listCommands(subcommands)));
      return 0;
    case "version":
      process.stdout.write(`${name} ${version}\n`);
      return 0;
    case "error":
      tellFaults(name, parsed);
      return 1;
    case "options":
      return parsed;
  }
}
