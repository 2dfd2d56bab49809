import type { OptionTable, ResolvedOption } from "./option-group.ts";

/** Options with one answer. */
export interface ForeignAnswer {
  /** a whole sentence without its full stop */
  readonly text: string;
  /** flags without dashes */
  readonly flags: readonly string[];
  /** those of `flags` that take no value */
  readonly switches?: readonly string[];
}

/** A program whose operators come to one of ours. What is not named here is an option of ours with the same name and meaning. */
export interface ForeignProgram {
  /** as operators know it */
  readonly name: string;
  /** prefix of its environment variables, with the underscore */
  readonly envPrefix: string;
  /** accepted, with a warning that says why they do nothing here */
  readonly noEffect: readonly ForeignAnswer[];
  /** refused, with what to use instead */
  readonly instead: readonly ForeignAnswer[];
  /** variables of options that are ours as well, by suffix, with the flag, where it does not follow from the suffix */
  readonly variables?: Readonly<Record<string, string>>;
}

/** What becomes of a foreign option. */
export interface ForeignOutcome {
  readonly program: string;
  readonly kind: "no-effect" | "instead";
  readonly text: string;
  readonly isSwitch: boolean;
}

export const variableSuffix = (flag: string): string => flag.toUpperCase().replace(/[.-]/g, "_");

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
    resolved.find((option) => [option.flag, ...(option.declaration.aliases ?? [])].some((name) => isOf({ flag: name })));
  const [name] = program.split(" "); // without the words of a subcommand
  if (ours === undefined) return `${name} does not have it; ${name} --help lists its own`;
  return ours.env === undefined ? `use --${ours.flag}` : `set ${ours.env}`;
}
