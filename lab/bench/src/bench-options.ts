import { type ParseArgsConfig, parseArgs } from "node:util";

interface BenchOption {
  readonly type: "string" | "boolean";
  /** no default: see the text */
  readonly default?: string | boolean;
  readonly help: string;
}
type BenchOptions = Readonly<Record<string, BenchOption>>;
type Values<O extends BenchOptions> = {
  readonly [N in keyof O]: O[N]["type"] extends "boolean"
    ? boolean
    : O[N] extends { readonly default: string }
      ? string
      : string | undefined;
};

/**
 * The output of `npm run bench -- NAME …` if it does not run: help, or the error in the options. `scripts/bench.mjs` prints it.
 */
export class BenchUsage extends Error {
  override readonly name = "BenchUsage";
  readonly exitCode: 0 | 2;

  constructor(text: string, exitCode: 0 | 2) {
    super(text);
    this.exitCode = exitCode;
  }
}

/**
 * Reads the options of a benchmark.
 *
 * @param about its description, if the name does not suffice
 * @throws {BenchUsage} help was requested, or the options are invalid
 */
export function benchOptions<const O extends BenchOptions>(
  name: string,
  args: readonly string[],
  options: O,
  about?: string,
): Values<O> {
  const read = Object.entries(options).map(([flag, { type, default: preset = type === "boolean" ? false : undefined }]) => [
    flag,
    { type, ...(preset === undefined ? {} : { default: preset }) },
  ]);
  const config = { ...Object.fromEntries(read), help: { type: "boolean", short: "h", default: false } } as NonNullable<
    ParseArgsConfig["options"]
  >;
  try {
    const { values } = parseArgs({ args: [...args], options: config });
    if (values.help !== true) return values as Values<O>;
  } catch (error) {
    if (!(error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"))) throw error;
    // Node.js appends advice for programmers.
    const fault = error.message.replace(/\. To specify a positional argument.*$/s, "").replaceAll("\n", " ");
    throw new BenchUsage(`${name}: ${fault}\n${helpOf(name, options, about)}`, 2);
  }
  throw new BenchUsage(helpOf(name, options, about), 0);
}

function helpOf(name: string, options: BenchOptions, about: string | undefined): string {
  const rows = Object.entries(options).map(([flag, { type, default: preset, help }]) => {
    const isListed = type === "string" && preset !== undefined && preset !== "";
    return [`--${flag}${type === "string" ? "=…" : ""}`, `${help}${isListed ? ` (default ${preset})` : ""}`] as const;
  });
  const width = Math.max(0, ...rows.map(([flag]) => flag.length));
  const lines = rows.map(([flag, help]) => `  ${flag.padEnd(width)}  ${help}`);
  return [
    `npm run bench -- ${name}${rows.length === 0 ? ", which has no options" : " [options]"}`,
    ...(about === undefined ? [] : [about]),
    ...lines,
  ].join("\n");
}
