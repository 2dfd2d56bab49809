import { parseArgs } from "node:util";
import { foreignOutcomes } from "./foreign-options.ts";
import { nearestName } from "./nearest-name.ts";
import { namesOf, type OptionTable, type ResolvedOption } from "./option-group.ts";
import { quote, redact } from "./redact.ts";

/** What stands on the command line. */
export interface ReadArguments {
  /** by flag, in order; the name may be an alias */
  readonly given: ReadonlyMap<string, { readonly name: string; readonly text: string }[]>;
  readonly positionals: readonly string[];
  readonly asked: "help" | "version" | undefined;
  /** faults, one line each */
  readonly wrong: string[];
  readonly missing: string[];
  /** one line for each option without effect */
  readonly warnings: readonly string[];
}

export function readArguments(table: OptionTable, resolved: readonly ResolvedOption[], args: readonly string[]): ReadArguments {
  const byFlag = new Map<string, ResolvedOption>();
  for (const option of resolved) {
    for (const name of namesOf(option)) byFlag.set(name, option);
  }
  const foreign = foreignOutcomes(table);
  const types: Record<string, { type: "boolean" | "string"; short?: string }> = {
    help: { type: "boolean", short: "h" },
    version: { type: "boolean", short: "v" },
  };
  for (const [name, option] of byFlag) {
    types[name] = { type: option.declaration.parse.placeholder === undefined ? "boolean" : "string" };
  }
  for (const [name, { isSwitch }] of foreign) types[name] ??= { type: isSwitch ? "boolean" : "string" };
  const given = new Map<string, { name: string; text: string }[]>();
  const warnings: string[] = [];
  const positionals: string[] = [];
  const wrong: string[] = [];
  let asked: "help" | "version" | undefined;
  let hasUnknown = false;
  const { tokens } = parseArgs({
    args: withBareValues(withDoubleDashes(args), byFlag),
    options: types,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const { name, value, rawName, inlineValue } = token;
    const typed = redact(args[token.index]!.split("=", 1)[0]!);
    if (name === "help" || name === "version") {
      asked ??= name;
      continue;
    }
    const option = byFlag.get(name);
    const stranger = option === undefined ? foreign.get(name) : undefined;
    if (stranger?.kind === "no-effect") {
      warnings.push(`${typed}, an option of ${stranger.program}, has no effect: ${stranger.text}`);
      continue;
    }
    if (stranger !== undefined) {
      wrong.push(`unknown option ${typed}, an option of ${stranger.program}: ${stranger.text}`);
      hasUnknown = true;
      continue;
    }
    if (option === undefined) {
      const nearest = nearestName(name, byFlag.keys());
      wrong.push(`unknown option ${typed}${nearest === undefined ? "" : `: did you mean --${nearest}?`} (--help lists all)`);
      hasUnknown = true;
      continue;
    }
    const { expects, placeholder } = option.declaration.parse;
    const text = value ?? (placeholder === undefined ? "true" : undefined);
    if (text === undefined || (!inlineValue && value?.startsWith("--"))) {
      wrong.push(`${rawName} needs a value: expected ${expects}${text === undefined ? "" : `, found the option ${redact(text)}`}`);
      continue;
    }
    const key = option.flag;
    given.set(key, [...(given.get(key) ?? []), { name, text }]);
  }
  const { name, min, max } = table.positionals ?? { name: "", min: 0, max: 0 };
  const extra = positionals[max];
  // What follows an unknown option may be its value.
  if (extra !== undefined && !hasUnknown) {
    wrong.push(`unexpected argument ${quote(extra)}${adviceOnArgument(extra, table)}`);
  }
  const missing = positionals.length < min ? [`missing argument: expected ${name}`] : [];
  return { given, positionals, asked, wrong, missing, warnings };
}

function adviceOnArgument(argument: string, { program, subcommands = [], foreign = [] }: OptionTable): string {
  if (/^(?:true|false)$/i.test(argument)) return " (a boolean's value follows an equals sign: --name=false)";
  for (const { name, commands = [] } of foreign) {
    const answer = commands.find(({ names }) => names.includes(argument));
    if (answer !== undefined) return `, a subcommand of ${name}: ${answer.text}`;
  }
  if (subcommands.some((name) => name.split(" ", 1)[0] === argument)) {
    return `: a subcommand comes first, before all options: ${program} ${argument} …`;
  }
  return subcommands.length === 0 ? "" : `: expected an option, or a subcommand (${subcommands.join(", ")})`;
}

/** Gives a flag that may stand alone its value, if another flag or nothing follows it. */
function withBareValues(args: readonly string[], byFlag: ReadonlyMap<string, ResolvedOption>): string[] {
  const end = args.indexOf("--");
  return args.map((arg, index) => {
    const isFlag = (end === -1 || index < end) && arg.startsWith("--");
    const bare = isFlag ? byFlag.get(arg.slice(2))?.declaration.parse.bare : undefined;
    const isAlone = args[index + 1]?.startsWith("-") ?? true;
    return bare !== undefined && isAlone ? `${arg}=${bare}` : arg;
  });
}

/** Go's programs accept `-name` for `--name`; `-h` and `-v` stay short options, and a negative number stays a value. */
function withDoubleDashes(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return args.map((arg, index) => {
    const isGoStyle = (end === -1 || index < end) && /^-[a-zA-Z][a-zA-Z0-9.-]/.test(arg);
    return isGoStyle ? `-${arg}` : arg;
  });
}
