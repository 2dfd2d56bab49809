import type { ForeignAnswer, ForeignProgram } from "./foreign-program.ts";
import { namesOf, type OptionTable, type ResolvedOption, variableSuffix } from "./option-group.ts";

/** What becomes of a foreign option. */
export interface ForeignOutcome {
  readonly program: string;
  readonly kind: "no-effect" | "instead";
  readonly text: string;
  readonly isSwitch: boolean;
}

/** The foreign options of a table, by flag; of two programs with the same flag, the first counts. */
export function foreignOutcomes({ foreign = [] }: OptionTable): ReadonlyMap<string, ForeignOutcome> {
  const outcomes = new Map<string, ForeignOutcome>();
  for (const program of foreign) {
    for (const kind of ["no-effect", "instead"] as const) {
      for (const { text, flags, switches = [] } of kind === "instead" ? program.instead : program.noEffect) {
        for (const flag of flags) {
          if (!outcomes.has(flag)) outcomes.set(flag, { program: program.name, kind, text, isSwitch: switches.includes(flag) });
        }
      }
    }
  }
  return outcomes;
}

/** One line for each variable of a foreign program that is set: it is not read, and the line says what is. */
export function foreignVariables(
  table: OptionTable,
  resolved: readonly ResolvedOption[],
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const lines: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    const program = table.foreign?.find(({ envPrefix }) => name.startsWith(envPrefix));
    if (program === undefined || value === undefined || value === "") continue;
    lines.push(
      `${name} is a variable of ${program.name}: ${adviceOn(name.slice(program.envPrefix.length), program, table, resolved)}`,
    );
  }
  return lines;
}

function adviceOn(
  suffix: string,
  { noEffect, instead, variables = {} }: ForeignProgram,
  { program, envPrefix }: OptionTable,
  resolved: readonly ResolvedOption[],
): string {
  const flag = Object.hasOwn(variables, suffix) ? variables[suffix]! : undefined;
  const isOf = ({ flag: name }: { readonly flag: string }): boolean =>
    flag === undefined ? variableSuffix(name) === suffix : name === flag;
  const answered = (answers: readonly ForeignAnswer[]) => answers.find(({ flags }) => flags.some((each) => isOf({ flag: each })));
  const replaced = answered(instead);
  if (replaced !== undefined) return replaced.text;
  const idle = answered(noEffect);
  if (idle !== undefined) return `it has no effect: ${idle.text}`;
  const ours =
    resolved.find(({ env }) => flag === undefined && env === envPrefix + suffix) ??
    resolved.find((option) => namesOf(option).some((name) => isOf({ flag: name })));
  const [name] = program.split(" "); // without the words of a subcommand
  if (ours === undefined) return `${name} does not have it; ${name} --help lists its own`;
  return ours.env === undefined ? `use --${ours.flag}` : `set ${ours.env}`;
}
