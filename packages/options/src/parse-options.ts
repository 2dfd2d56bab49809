import { parseArgs } from "node:util";
import { nearestName } from "./nearest-name.ts";
import { type OptionGroup, type OptionsOf, type OptionTable, type ResolvedOption, resolveOptions } from "./option-group.ts";

export type OptionSource = "flag" | "env" | "default";

/** What the command line and the environment say. Nothing has been opened yet. */
export type ParsedOptions<G extends Readonly<Record<string, OptionGroup>>> =
  | {
      readonly kind: "options";
      readonly options: { readonly [K in keyof G]: OptionsOf<G[K]> };
      readonly positionals: readonly string[];
      /** one line each, for the log */
      readonly warnings: readonly string[];
      /** where each option's value comes from, by flag */
      readonly sources: ReadonlyMap<string, OptionSource>;
    }
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  /** one line that names the option, the value and what is expected: print it and exit with 1 */
  | { readonly kind: "error"; readonly message: string };

type Environment = Readonly<Record<string, string | undefined>>;

class BadOption extends Error {}

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
  try {
    return readOptions(table, args, env);
  } catch (error) {
    if (error instanceof BadOption) return { kind: "error", message: error.message };
    throw error;
  }
}

function readOptions<G extends Readonly<Record<string, OptionGroup>>>(
  table: OptionTable<G>,
  args: readonly string[],
  env: Environment,
): ParsedOptions<G> {
  const resolved = resolveOptions(table);
  const byFlag = new Map<string, ResolvedOption>();
  for (const option of resolved) {
    for (const name of [option.flag, ...(option.declaration.aliases ?? [])]) byFlag.set(name, option);
  }
  const { given, positionals, asked } = readArguments(byFlag, args, table);
  if (asked !== undefined) return { kind: asked };

  const values: Record<string, Record<string, unknown>> = {};
  const sources = new Map<string, OptionSource>();
  for (const group of Object.keys(table.groups)) values[group] = {};
  for (const option of resolved) {
    const { declaration, flag } = option;
    const flagTexts = given.get(flag);
    const envText = option.env === undefined ? undefined : env[option.env];
    let value: unknown;
    if (flagTexts !== undefined) {
      const raw = declaration.parse.isList ? flagTexts.map(({ text }) => text).join(",") : flagTexts.at(-1)!.text;
      value = parseValue(option, `--${flagTexts.at(-1)!.name}`, raw);
      sources.set(flag, "flag");
    } else if (envText !== undefined && envText !== "") {
      value = parseValue(option, option.env!, envText);
      sources.set(flag, "env");
    } else if (declaration.required) {
      const orEnv = option.env === undefined ? "" : ` or ${option.env}`;
      throw new BadOption(`--${flag}${orEnv} is required: expected ${declaration.parse.expects}`);
    } else {
      value = declaration.default;
      sources.set(flag, "default");
    }
    values[option.group]![option.key] = value;
  }
  for (const exclusive of table.exclusive ?? []) {
    const both = exclusive.filter((flag) => (sources.get(flag) ?? "default") !== "default");
    if (both.length > 1)
      throw new BadOption(`${both.map((flag) => `--${flag}`).join(" and ")} exclude each other: give one of them`);
  }
  return {
    kind: "options",
    options: values as { readonly [K in keyof G]: OptionsOf<G[K]> },
    positionals,
    warnings: unknownVariables(table, resolved, env),
    sources,
  };
}

interface ReadArguments {
  readonly given: ReadonlyMap<string, { readonly name: string; readonly text: string }[]>;
  readonly positionals: readonly string[];
  readonly asked: "help" | "version" | undefined;
}

function readArguments(byFlag: ReadonlyMap<string, ResolvedOption>, args: readonly string[], table: OptionTable): ReadArguments {
  const types: Record<string, { type: "boolean" | "string"; short?: string }> = {
    help: { type: "boolean", short: "h" },
    version: { type: "boolean", short: "v" },
  };
  for (const [name, option] of byFlag) {
    types[name] = { type: option.declaration.parse.placeholder === undefined ? "boolean" : "string" };
  }
  const given = new Map<string, { name: string; text: string }[]>();
  const positionals: string[] = [];
  let asked: "help" | "version" | undefined;
  const { tokens } = parseArgs({
    args: withDoubleDashes(args),
    options: types,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const { name, value, rawName, inlineValue } = token;
    if (name === "help" || name === "version") {
      asked ??= name;
      continue;
    }
    const option = byFlag.get(name);
    if (option === undefined) {
      const nearest = nearestName(name, byFlag.keys());
      throw new BadOption(
        `unknown option ${rawName}${nearest === undefined ? "" : `: did you mean --${nearest}?`} (--help lists all)`,
      );
    }
    const { expects, placeholder } = option.declaration.parse;
    const text = value ?? (placeholder === undefined ? "true" : undefined);
    if (text === undefined || (!inlineValue && value?.startsWith("--"))) {
      throw new BadOption(`${rawName} needs a value: expected ${expects}${text === undefined ? "" : `, found the option ${text}`}`);
    }
    const key = option.flag;
    given.set(key, [...(given.get(key) ?? []), { name, text }]);
  }
  if (asked === undefined) checkPositionals(positionals, table);
  return { given, positionals, asked };
}

/** Go's programs accept `-name` for `--name`; `-h` and `-v` stay short options, and a negative number stays a value. */
function withDoubleDashes(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return args.map((arg, index) => {
    const isGoStyle = (end === -1 || index < end) && /^-[a-zA-Z][a-zA-Z0-9.-]/.test(arg);
    return isGoStyle ? `-${arg}` : arg;
  });
}

function checkPositionals(positionals: readonly string[], table: OptionTable): void {
  const { name, min, max } = table.positionals ?? { name: "", min: 0, max: 0 };
  if (positionals.length > max) {
    const extra = positionals[max]!;
    const hint = /^(?:true|false)$/i.test(extra) ? " (a boolean's value follows an equals sign: --name=false)" : "";
    throw new BadOption(`unexpected argument "${extra}"${hint}`);
  }
  if (positionals.length < min) throw new BadOption(`missing argument: expected ${name}`);
}

function parseValue(option: ResolvedOption, writtenAs: string, raw: string): unknown {
  const { parse, secret } = option.declaration;
  const value = parse.parse(raw);
  if (value === undefined) {
    const shown = secret ? "the value" : JSON.stringify(raw.length > 200 ? `${raw.slice(0, 200)}…` : raw);
    throw new BadOption(`${writtenAs}: ${shown} is not valid, expected ${parse.expects}`);
  }
  return value;
}

function unknownVariables(table: OptionTable, resolved: readonly ResolvedOption[], env: Environment): string[] {
  const known = new Set([...resolved.flatMap((option) => option.env ?? []), ...(table.otherEnv ?? [])]);
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(table.envPrefix) || known.has(name) || value === undefined || value === "") continue;
    const nearest = nearestName(name, known);
    warnings.push(`unknown environment variable ${name}${nearest === undefined ? "" : `: did you mean ${nearest}?`}`);
  }
  return warnings;
}
