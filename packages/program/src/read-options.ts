import { helpText, type OptionGroup, type OptionTable, type ParsedOptions, parseOptions } from "@rnode/options";
import { tellFaults } from "./start-faults.ts";

type Groups = Readonly<Record<string, OptionGroup>>;

/**
 * The options of a program; where arguments ask for help or the version, or are wrong, that is printed instead.
 *
 * @returns the exit code, where there is nothing left to do
 */
export function readOptions<const G extends Groups>(
  { name, version }: { readonly name: string; readonly version: string },
  table: OptionTable<G>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Extract<ParsedOptions<G>, { kind: "options" }> | number {
  const parsed = parseOptions(table, args, env);
  switch (parsed.kind) {
    case "help":
      process.stdout.write(helpText(table));
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
