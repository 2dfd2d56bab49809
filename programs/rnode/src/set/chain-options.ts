import { UserError } from "@rnode/program";

/** What the command line says of each chain. */
export interface SetArguments {
  /** the names of the chains, in their order */
  readonly names: readonly string[];
  /** the folder of the set */
  readonly datadir: string | undefined;
  /** of all chains */
  readonly common: readonly string[];
  /** by name of the chain; without its name */
  readonly own: ReadonlyMap<string, readonly string[]>;
}

const NAME = /^[a-z0-9][a-z0-9_-]*$/;

/**
 * Reads `--chain=NAME …`, `--set.datadir=FOLDER`, `--NAME.OPTION=VALUE` of one chain, and options of all chains.
 *
 * @throws {UserError}
 */
export function readSetArguments(args: readonly string[]): SetArguments {
  const pairs = pairsOf(args);
  const names = pairs.filter(({ flag }) => flag === "chain").map(({ value = "" }) => value);
  if (names.length === 0)
    throw new UserError("--chain is required, once for each chain of the set: --chain=op-sepolia --chain=unichain-sepolia");
  for (const name of names) {
    if (!NAME.test(name)) throw new UserError(`--chain: "${name}" is not a name, expected small letters, digits, "-" and "_"`);
    if (names.indexOf(name) !== names.lastIndexOf(name)) throw new UserError(`--chain=${name} is given twice`);
  }
  const own = new Map<string, string[]>(names.map((name) => [name, []]));
  const common: string[] = [];
  let datadir: string | undefined;
  for (const { flag, value, text } of pairs) {
    if (flag === "chain") continue;
    const name = names.find((known) => flag.startsWith(`${known}.`));
    if (flag === "set.datadir") datadir = value;
    else if (name !== undefined) own.get(name)!.push(...text.map((part, i) => (i === 0 ? part.replace(`${name}.`, "") : part)));
    else common.push(...text);
  }
  return { names, datadir, common, own };
}

/** The options of one chain, as `rnode` takes them: its own replace those of all. */
export function optionsOfChain({ common, own }: SetArguments, name: string): string[] {
  const ownArguments = own.get(name)!;
  const replaced = new Set(pairsOf(ownArguments).map(({ flag }) => flag));
  return [...pairsOf(common).flatMap(({ flag, text }) => (replaced.has(flag) ? [] : text)), ...ownArguments];
}

export const hasOption = (args: readonly string[], ...flags: readonly string[]): boolean =>
  pairsOf(args).some(({ flag }) => flags.some((wanted) => flag === wanted || flag.startsWith(`${wanted}.`)));

/** Options with their values: `--flag=value`, `--flag value`, `--flag`. */
function pairsOf(
  args: readonly string[],
): { readonly flag: string; readonly value: string | undefined; readonly text: readonly string[] }[] {
  const pairs: { flag: string; value: string | undefined; text: string[] }[] = [];
  for (const arg of args) {
    const match = /^--?([^=]+)(?:=(.*))?$/s.exec(arg);
    const last = pairs.at(-1);
    if (match !== null && arg.startsWith("-")) pairs.push({ flag: match[1]!, value: match[2], text: [arg] });
    else if (last !== undefined && last.value === undefined && last.text.length === 1) {
      last.value = arg;
      last.text.push(arg);
    } else throw new UserError(`"${arg}" is not an option`);
  }
  return pairs;
}
