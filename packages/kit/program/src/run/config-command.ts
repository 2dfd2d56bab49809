import { describeOption } from "../options/help-text.ts";
import type { OptionGroup, OptionsOfAll, OptionTable } from "../options/option-group.ts";
import { type Describe, describeFailure, printFailure } from "../process/failure.ts";
import type { Command } from "./command.ts";
import { readOptions } from "./read-options.ts";

type Groups = Readonly<Record<string, OptionGroup>>;
/** The used part of a program. */
interface ConfigOf<G extends Groups> {
  readonly name: string;
  readonly version: string;
  readonly table: OptionTable<G>;
  readonly checks?: readonly ((options: OptionsOfAll<G>) => unknown)[];
  readonly describe?: Describe;
}

const SUMMARY =
  "Prints every option with the value in effect and where it comes from (a flag, a variable or the default), and what the start would refuse.";

/**
 * `… config print`, with the options and the environment of a start: prints every option with the value in effect and its source,
 * then the errors that the start would report. Secrets are hidden.
 */
export const configCommand = <const G extends Groups>(of: ConfigOf<G>): Command =>
  Object.assign((args: readonly string[], env: NodeJS.ProcessEnv) => printConfig(of, args, env), { summary: SUMMARY });

async function printConfig<const G extends Groups>(
  { name, version, table, checks = [], describe = describeFailure }: ConfigOf<G>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const [action, ...rest] = args;
  if (action === "--help" || action === "-h") {
    process.stdout.write(`Usage: ${name} config print [options of ${name}]\n\n${SUMMARY}\n`);
    return 0;
  }
  if (action !== "print") {
    printFailure(name, `config: expected "${name} config print", followed by the options to look at`);
    return 1;
  }
  const command: OptionTable<G> = {
    ...table,
    program: `${name} config print`,
    summary: SUMMARY,
  };
  const parsed = await readOptions({ name, version }, command, rest, env);
  if (typeof parsed === "number") return parsed;
  for (const warning of parsed.warnings) printFailure(name, warning);
  const rows = [...parsed.inEffect.values()].map((inEffect) => {
    const { option, source, writtenAs } = inEffect;
    return [`--${option.flag}`, describeOption(inEffect) || "(none)", source === "default" ? "default" : writtenAs] as const;
  });
  const width = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length));
  const [flags, values] = [width(0), Math.min(width(1), 60)];
  for (const [flag, value, source] of rows) process.stdout.write(`${flag.padEnd(flags)}  ${value.padEnd(values)}  ${source}\n`);
  let hasFault = false;
  for (const check of checks) {
    try {
      await check(parsed.options);
    } catch (error) {
      const description = describe(error);
      if (description === undefined) throw error;
      printFailure(name, description);
      hasFault = true;
    }
  }
  return hasFault ? 1 : 0;
}
