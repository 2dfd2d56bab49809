import {
  type OptionDeclaration,
  type OptionInEffect,
  type OptionTable,
  type ResolvedOption,
  resolveOptions,
} from "./option-group.ts";
import { redactUrls } from "./redact.ts";

const FLAG_COLUMN = 44;

/** A subcommand as `--help` of its program lists it. */
export interface ListedCommand {
  readonly name: string;
  /** its purpose, in a sentence */
  readonly summary: string;
}

/** The text of `--help`. */
export function helpText(table: OptionTable, subcommands: readonly ListedCommand[] = []): string {
  const positionals = table.positionals === undefined ? "" : ` ${table.positionals.name}`;
  const lines = [table.summary, "", `Usage: ${table.program} [options]${positionals}`];
  if (subcommands.length > 0) {
    const width = Math.max(...subcommands.map(({ name }) => name.length)) + 2;
    lines.push(`       ${table.program} SUBCOMMAND [options]`, "", "Subcommands, each with --help:");
    for (const { name, summary } of subcommands) lines.push(`  ${name.padEnd(width)}${summary}`);
  }
  let group: string | undefined;
  for (const option of resolveOptions(table)) {
    if (option.declaration.hidden) continue;
    if (option.group !== group) {
      group = option.group;
      lines.push("", `${group}:`);
    }
    const flag = `  ${flagWithPlaceholder(option)}`;
    const text = [option.declaration.help, notes(option)].filter((part) => part !== "").join(" ");
    if (flag.length < FLAG_COLUMN - 1) lines.push(flag.padEnd(FLAG_COLUMN) + text);
    else lines.push(flag, " ".repeat(FLAG_COLUMN) + text);
  }
  lines.push(
    "",
    `${"  --help, -h".padEnd(FLAG_COLUMN)}Show this text.`,
    `${"  --version, -v".padEnd(FLAG_COLUMN)}Show the version.`,
    "",
  );
  return lines.join("\n");
}

function flagWithPlaceholder({ flag, declaration }: ResolvedOption): string {
  const { placeholder, bare } = declaration.parse;
  if (placeholder === undefined) return `--${flag}`;
  return bare === undefined ? `--${flag} <${placeholder}>` : `--${flag}[=<${placeholder}>]`;
}

function notes(option: ResolvedOption): string {
  const { declaration } = option;
  const parts: string[] = [];
  if (declaration.unit !== undefined) parts.push(declaration.unit);
  if (declaration.required) parts.push(requiredText(declaration));
  if (declaration.needs !== undefined) parts.push(needsText(declaration.needs));
  const standard = defaultText(option);
  if (standard !== "") parts.push(`default ${standard}`);
  parts.push(...variablesOf(option));
  return parts.length === 0 ? "" : `[${parts.join(", ")}]`;
}

const requiredText = ({ requiredUnless }: OptionDeclaration<unknown>): string =>
  requiredUnless === undefined ? "required" : `required without --${requiredUnless}`;

const variablesOf = ({ env, sharedEnv }: ResolvedOption): string[] => [env, sharedEnv].filter((name) => name !== undefined);

const needsText = (needs: string | readonly string[]): string =>
  `needs ${[needs]
    .flat()
    .map((flag) => `--${flag}`)
    .join(" or ")}`;

function defaultText({ declaration }: ResolvedOption): string {
  return declaration.default === undefined ? "" : declaration.parse.format(declaration.default);
}

/** The option reference of a program as an aligned Markdown table: one row per option, in order of declaration. */
export function referenceTable(table: OptionTable): string {
  const rows = resolveOptions(table)
    .filter(({ declaration }) => !declaration.hidden)
    .map((option) => {
      const { declaration } = option;
      const type = declaration.parse.placeholder ?? "true|false";
      const unit = declaration.unit === undefined ? "" : ` (${declaration.unit})`;
      const standard = declaration.required ? requiredText(declaration) : defaultText(option) || "none";
      const variable = variablesOf(option)
        .map((name) => `\`${name}\``)
        .join(", ");
      return [`\`--${option.flag}\``, variable, type + unit, standard, meaningOf(declaration)].map((cell) =>
        cell.replaceAll("|", "\\|"),
      );
    });
  const header = ["Flag", "Variable", "Type", "Default", "Meaning"];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(header), line(widths.map((width) => "-".repeat(width))), ...rows.map(line), ""].join("\n");
}

const meaningOf = ({ help, needs }: ResolvedOption["declaration"]): string =>
  needs === undefined ? help : `${help} (${needsText(needs)})`;

/** The values in force, one `flag=value` each, without secrets, and without the parts of URLs that may hold one: for the first lines of the log. */
export function describeOptions(
  table: OptionTable,
  options: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Map<string, string> {
  const described = new Map<string, string>();
  for (const { group, key, flag, declaration } of resolveOptions(table)) {
    const value = options[group]?.[key];
    if (value === undefined) continue;
    described.set(flag, shown(declaration, value));
  }
  return described;
}

/** The value of one option for `describeOptions`; `undefined`: it has none. */
export const describeOption = ({ option, value }: OptionInEffect): string | undefined =>
  value === undefined ? undefined : shown(option.declaration, value);

const shown = ({ secret, parse }: ResolvedOption["declaration"], value: unknown): string =>
  secret && !(Array.isArray(value) && value.length === 0) ? "(secret)" : redactUrls(parse.format(value));
