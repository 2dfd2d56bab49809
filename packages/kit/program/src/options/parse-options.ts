import { combinationFaults, isMet } from "./combination-faults.ts";
import { foreignVariables } from "./foreign-options.ts";
import { nearestName } from "./nearest-name.ts";
import { checkOldNames } from "./old-names.ts";
import {
  type OptionGroup,
  type OptionInEffect,
  type OptionSource,
  type OptionsOfAll,
  type OptionTable,
  type ResolvedOption,
  resolveOptions,
} from "./option-group.ts";
import { wordsOf } from "./parsers.ts";
import { readArguments } from "./read-arguments.ts";
import { quote } from "./redact.ts";
import { readSecretFile } from "./secret-file.ts";

/** The parsed command line, environment, and files of secrets. No other file has been opened. */
export type ParsedOptions<G extends Readonly<Record<string, OptionGroup>>> =
  | {
      readonly kind: "options";
      readonly options: OptionsOfAll<G>;
      readonly positionals: readonly string[];
      /** one line each, for the log */
      readonly warnings: readonly string[];
      /** every option with its value and where that comes from, by flag */
      readonly inEffect: ReadonlyMap<string, OptionInEffect>;
    }
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  /**
   * all errors, invalid options before missing ones; each one line with the option, the value and the expected value. Exit with 1
   */
  | {
      readonly kind: "error";
      readonly faults: readonly [string, ...string[]];
      /** what could be read nevertheless: to tell the faults as the options for the log ask */
      readonly inEffect: ReadonlyMap<string, OptionInEffect>;
    };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `args` (without node and script) and `env` against a table. A flag takes precedence over its variable, and a variable over
 * the default; an empty variable counts as unset. Accepted forms are `--name value`, `--name=value` and `-name=value`, and for
 * booleans `--name` and `--name=false`.
 */
export function parseOptions<const G extends Readonly<Record<string, OptionGroup>>>(
  table: OptionTable<G>,
  args: readonly string[],
  env: Environment,
): ParsedOptions<G> {
  const resolved = resolveOptions(table);
  const { given, positionals, asked, wrong, missing, warnings: withoutEffect } = readArguments(table, resolved, args);
  const oldNames = checkOldNames(resolved, given, env);
  wrong.push(...oldNames.faults);
  const warnings: string[] = [...withoutEffect, ...oldNames.warnings];
  const absent: { readonly option: ResolvedOption; readonly fault: string }[] = [];
  if (asked !== undefined) return { kind: asked };

  const values: Record<string, Record<string, unknown>> = {};
  for (const group of Object.keys(table.groups)) values[group] = {};
  const inEffect = new Map<string, OptionInEffect>();
  const files = new Map(resolved.flatMap((option) => (option.fileOf === undefined ? [] : [[option.fileOf, option] as const])));
  for (const option of resolved) {
    const file = files.get(option.flag);
    const isGiven = (one: ResolvedOption): boolean => given.has(one.flag) || isSet(one, env);
    const variableOfThis = variableOf(option, resolved, env);
    const isFromFile = file !== undefined && isGiven(file);
    if (option.declaration.secret && given.has(option.flag)) {
      warnings.push(`--${option.flag}: arguments are visible to all users of this machine: use --${option.flag}-file`);
    }
    if (isFromFile && isGiven(option)) {
      wrong.push(`--${option.flag} and --${file.flag} exclude each other: give one of them`);
      continue;
    }
    const found = isFromFile
      ? findInFile(option, findValue(file, given.get(file.flag), file.env, env), warnings)
      : findValue(option, given.get(option.flag), variableOfThis, env);
    if (found.kind === "wrong") {
      // a file's path is checked twice, as an option and for its content
      if (!wrong.includes(found.fault)) wrong.push(found.fault);
    } else if (found.kind === "missing") absent.push({ option, fault: found.fault });
    else {
      if (option.fileOf === undefined) values[option.group]![option.key] = found.value;
      inEffect.set(option.flag, { ...found, option });
    }
  }
  for (const { option, fault } of absent) {
    const { requiredUnless, parse } = option.declaration;
    const none = parse.item === undefined ? "" : [];
    if (requiredUnless !== undefined && isMet(requiredUnless, inEffect)) values[option.group]![option.key] = none;
    else missing.push(fault);
  }
  const combined = combinationFaults(table, inEffect);
  wrong.push(...combined.faults);
  warnings.push(...combined.warnings);
  const [first, ...others] = [...wrong, ...missing];
  if (first !== undefined) return { kind: "error", faults: [first, ...others], inEffect };
  return {
    kind: "options",
    options: values as OptionsOfAll<G>,
    positionals,
    warnings: [...warnings, ...unknownVariables(table, resolved, env), ...foreignVariables(table, resolved, env)],
    inEffect,
  };
}

type Found =
  | ({ readonly kind: "value" } & Omit<OptionInEffect, "option">)
  | { readonly kind: "wrong"; readonly fault: string }
  | { readonly kind: "missing"; readonly fault: string };

const isSet = ({ env: name }: ResolvedOption, env: Environment): boolean => name !== undefined && (env[name] ?? "") !== "";

/** The variable that sets the option; `undefined`: none. */
function variableOf(option: ResolvedOption, resolved: readonly ResolvedOption[], env: Environment): string | undefined {
  const reads = ({ declaration }: ResolvedOption, name: string): boolean => declaration.parse.parse(env[name] ?? "") !== undefined;
  const { env: own, sharedEnv: shared, oldEnv } = option;
  const isTaken = (name: string): boolean => resolved.some((other) => other.sharedEnv === name && reads(other, name));
  if (own !== undefined && isSet(option, env) && !isTaken(own)) return own;
  if (oldEnv !== undefined && (env[oldEnv] ?? "") !== "") return oldEnv;
  return shared !== undefined && reads(option, shared) ? shared : undefined;
}

function findInFile(option: ResolvedOption, file: Found, warnings: string[]): Found {
  if (file.kind !== "value") return file;
  const { writtenAs, source } = file;
  const read = readSecretFile(file.value as string);
  if (read.kind === "unreadable") return { kind: "wrong", fault: `${writtenAs}: ${read.reason}` };
  if (read.isExposed) {
    const path = String(file.value);
    warnings.push(`${writtenAs}: others than its owner may read ${path}: give it mode 0600 (chmod 600 ${path})`);
  }
  return parsed(option, source, writtenAs, read.text);
}

function findValue(
  option: ResolvedOption,
  given: readonly { readonly name: string; readonly text: string }[] | undefined,
  variable: string | undefined,
  env: Environment,
): Found {
  const { declaration, flag } = option;
  const envText = variable === undefined ? undefined : env[variable];
  if (given !== undefined) {
    const last = given.at(-1)!;
    const raw = declaration.parse.item ? given.map(({ text }) => text).join(",") : last.text;
    return parsed(option, "flag", `--${last.name}`, raw);
  }
  if (envText !== undefined && envText !== "") return parsed(option, "env", variable!, envText);
  if (declaration.required) {
    const alternatives = [...(option.env === undefined ? [] : [option.env]), ...(declaration.secret ? [`--${flag}-file`] : [])];
    const names = [`--${flag}`, ...alternatives].join(" or ");
    return { kind: "missing", fault: `${names} is required: expected ${declaration.parse.expects}` };
  }
  return { kind: "value", value: declaration.default, source: "default", writtenAs: `--${flag}` };
}

function parsed({ declaration: { parse, secret } }: ResolvedOption, source: OptionSource, writtenAs: string, raw: string): Found {
  const value = parse.parse(raw);
  if (value !== undefined) return { kind: "value", value, source, writtenAs };
  if (secret) return { kind: "wrong", fault: `${writtenAs}: the value is not valid, expected ${parse.expects}` };
  const { item } = parse;
  const words = item === undefined ? [raw] : wordsOf(raw).filter((word) => item.parse(word) === undefined);
  const verb = words.length === 1 ? "is" : "are";
  const expects = item === undefined || words.length === 0 ? parse.expects : item.expects;
  const shown = (words.length === 0 ? [raw] : words).map(quote).join(", ");
  return { kind: "wrong", fault: `${writtenAs}: ${shown} ${verb} not valid, expected ${expects}` };
}

function unknownVariables(table: OptionTable, resolved: readonly ResolvedOption[], env: Environment): string[] {
  const known = new Set([...resolved.flatMap(({ env: own = [], oldEnv = [] }) => [own, oldEnv].flat()), ...(table.otherEnv ?? [])]);
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(table.envPrefix) || known.has(name) || value === undefined || value === "") continue;
    const nearest = nearestName(name, known);
    warnings.push(`unknown environment variable ${name}${nearest === undefined ? "" : `: did you mean ${nearest}?`}`);
  }
  return warnings;
}
