import { foreignOutcomes } from "../options/foreign-options.ts";
import type { ForeignProgram } from "../options/foreign-program.ts";
import type { OptionTable, ResolvedOption } from "../options/option-group.ts";
import { namesOf, resolveOptions, variableSuffix } from "../options/option-group.ts";
import { parseOptions } from "../options/parse-options.ts";

/** An option of a foreign program, as its source or its `--help` has it. */
export interface ForeignFact {
  readonly flag: string;
  /** suffixes of its variables; default: what follows from the flag; empty: none */
  readonly env?: readonly string[];
  /** a value that it takes; `undefined` for a switch */
  readonly sample?: string | undefined;
  /** the default, as the foreign program writes it; `undefined` if its source does not say */
  readonly fallback?: string | undefined;
}

export interface ForeignCheck {
  readonly table: OptionTable;
  readonly program: ForeignProgram;
  readonly facts: readonly ForeignFact[];
  /** arguments without which our program does not start; those of the option itself are left out */
  readonly base: readonly string[];
  /** additional arguments for an option, by flag */
  readonly beside?: Readonly<Record<string, readonly string[]>>;
  /** notes of a page about options that both have, by flag */
  readonly notes?: Readonly<Record<string, string>>;
}

export type Found =
  | { readonly kind: "same"; readonly ours: ResolvedOption; readonly value: string }
  | { readonly kind: "no-effect" | "instead"; readonly text: string };

const argumentOf = ({ flag, sample }: ForeignFact, name = flag): string =>
  sample === undefined ? `--${name}` : `--${name}=${sample}`;

/** Gives our program one option of the foreign one. @throws Error our program has no answer to it */
export function findOutcome({ table, program, base, beside = {} }: ForeignCheck, fact: ForeignFact): Found {
  const { flag } = fact;
  const ours = resolveOptions(table).find((option) => namesOf(option).includes(flag));
  const others = [...base, ...(beside[flag] ?? [])].filter((argument) => argument.slice(2).split("=")[0] !== ours?.flag);
  const parsed = parseOptions(table, [...others, argumentOf(fact)], {});
  if (parsed.kind === "options") {
    const inEffect = ours && parsed.inEffect.get(ours.flag);
    if (inEffect?.source === "flag")
      return { kind: "same", ours: ours!, value: inEffect.option.declaration.parse.format(inEffect.value) };
    const mark = `--${flag}, an option of ${program.name}, has no effect: `;
    const warning = parsed.warnings.find((line) => line.startsWith(mark));
    if (warning !== undefined) return { kind: "no-effect", text: warning.slice(mark.length) };
  }
  if (parsed.kind === "error") {
    const mark = `unknown option --${flag}, an option of ${program.name}: `;
    const fault = parsed.faults.find((line) => line.startsWith(mark));
    if (fault !== undefined && parsed.faults.length === 1) return { kind: "instead", text: fault.slice(mark.length) };
  }
  throw new Error(`--${flag} of ${program.name}: ${JSON.stringify(parsed.kind === "error" ? parsed.faults : parsed.kind)}`);
}

const suffixesOf = ({ flag, env = [variableSuffix(flag)] }: ForeignFact): readonly string[] => env;

/** Compares the program's message about each variable of an option with the expected one. */
export function checkVariables(check: ForeignCheck, fact: ForeignFact): { readonly said: string[]; readonly expected: string[] } {
  const { table, program, base, beside = {} } = check;
  const found = findOutcome(check, fact);
  const advice =
    found.kind === "same"
      ? found.ours.env === undefined
        ? `use --${found.ours.flag}`
        : `set ${found.ours.env}`
      : found.kind === "no-effect"
        ? `it has no effect: ${found.text}`
        : found.text;
  const names = suffixesOf(fact).map((suffix) => program.envPrefix + suffix);
  const said = names.flatMap((name) => {
    const parsed = parseOptions(table, [...base, ...(beside[fact.flag] ?? [])], { [name]: fact.sample ?? "true" });
    return parsed.kind === "options" ? parsed.warnings.filter((line) => line.startsWith(name)) : [JSON.stringify(parsed)];
  });
  return { said, expected: names.map((name) => `${name} is a variable of ${program.name}: ${advice}`) };
}

/** The value of our variable for the option, given the sample; `undefined` if there is none. */
export function valueByVariable(
  { table, base, beside = {} }: ForeignCheck,
  fact: ForeignFact,
  ours: ResolvedOption,
): string | undefined {
  if (ours.env === undefined) return undefined;
  const others = [...base, ...(beside[fact.flag] ?? [])].filter((argument) => argument.slice(2).split("=")[0] !== ours.flag);
  const parsed = parseOptions(table, others, { [ours.env]: fact.sample ?? "true" });
  const inEffect = parsed.kind === "options" ? parsed.inEffect.get(ours.flag) : undefined;
  return inEffect?.source === "env" ? inEffect.option.declaration.parse.format(inEffect.value) : JSON.stringify(parsed);
}

/** Answers to options that the foreign program does not have. */
export function needlessAnswers({ table, program, facts }: ForeignCheck, older: readonly string[] = []): string[] {
  const known = new Set([...facts.map(({ flag }) => flag), ...older]);
  const own = foreignOutcomes({ ...table, foreign: [program] });
  return [...own.keys()].filter((flag) => !known.has(flag));
}

/** Option by option, as Markdown: those with the same answer in one row. */
export function migrationTable(check: ForeignCheck): string {
  const { table, program, facts, notes = {} } = check;
  const rows = new Map<string, { readonly flags: string[]; readonly here: string; readonly note: string }>();
  for (const fact of facts) {
    const found = findOutcome(check, fact);
    const [key, here, note] =
      found.kind === "same"
        ? sameRow(fact, found, program, notes[fact.flag])
        : [found.kind + found.text, found.kind === "instead" ? "refused" : "no effect", found.text];
    const row = rows.get(key) ?? { flags: [], here, note };
    rows.set(key, row);
    row.flags.push(`\`--${fact.flag}\``);
  }
  const shared = new Set(
    facts.flatMap((fact) => {
      const found = findOutcome(check, fact);
      return found.kind === "same" ? [found.ours.flag] : [];
    }),
  );
  const more = resolveOptions(table).filter(
    ({ flag, fileOf, declaration }) => fileOf === undefined && !declaration.hidden && !shared.has(flag),
  );
  const lines = [
    `| ${program.name} | here | note |`,
    "| --- | --- | --- |",
    ...[...rows.values()].map(({ flags, here, note }) => `| ${flags.join(", ")} | ${here} | ${note.replaceAll("|", "\\|")} |`),
    "",
    `Without a counterpart in ${program.name}: ${more.map(({ flag }) => `\`--${flag}\``).join(", ")}.`,
    "",
  ];
  return lines.join("\n");
}

function sameRow(
  { flag, fallback }: ForeignFact,
  { ours }: Extract<Found, { readonly kind: "same" }>,
  { name }: ForeignProgram,
  note: string | undefined,
): [key: string, here: string, note: string] {
  const { parse, default: standard } = ours.declaration;
  const read = fallback === undefined ? undefined : parse.parse(fallback);
  const formatted = read === undefined ? fallback : parse.format(read);
  // A path is read relative to the working directory, which is no part of the fact.
  const theirs = formatted?.endsWith(`/${fallback}`) ? fallback : formatted;
  const here = standard === undefined ? "" : parse.format(standard);
  // Go's flag tables do not say which switches are on, and have 0 for a number that is not given.
  const isSilent = theirs === undefined || parse.placeholder === undefined || (here === "" && theirs === "0");
  const difference =
    isSilent || theirs === here ? undefined : `default ${here === "" ? "none" : `\`${here}\``}, \`${theirs}\` in ${name}`;
  const text = [note, difference].filter((part) => part !== undefined).join("; ");
  const cell = ours.flag === flag ? "the same" : `the same, also \`--${ours.flag}\``;
  return [flag, cell, text];
}
