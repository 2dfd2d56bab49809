import type { ForeignProgram } from "./foreign-program.ts";
import { type Parser, path } from "./parsers.ts";

/** One option: its flag, environment variable, default, type, help and reference row all come from this declaration. */
export interface OptionDeclaration<T> {
  readonly parse: Parser<T>;
  readonly help: string;
  readonly default?: T;
  /** the program does not start without it */
  readonly required?: boolean;
  /** flag of an option that makes a required text or list unnecessary: it is then empty */
  readonly requiredUnless?: string;
  /** unit of the number, for help and reference */
  readonly unit?: string;
  /** full flag name without dashes, if it does not follow from group and property */
  readonly flag?: string;
  /** environment variable without its prefix, if it does not follow from the flag; false: none */
  readonly env?: string | false;
  /** A second variable, without its prefix, which is another option's own: it sets this one if its text is a value of this one. */
  readonly sharedEnv?: string;
  /**
   * Without what this option does nothing: `flag` (it is on, or has a value) or `flag=value`; of several, any is enough. An option given
   * without the other one causes a warning, unless the other was switched off on purpose (`--metrics.enabled=false --metrics.port=7300`).
   */
  readonly needs?: string | readonly string[];
  /** Why the option does nothing, and what to use: it completes `--flag has no effect: `, a warning if the option is given. */
  readonly noEffect?: string;
  /** The option is refused without its prerequisite, because it would not have the intended effect. */
  readonly isMistakeAlone?: true;
  /** The error of a value in combination with other options, by flag; completes `--flag: `. */
  check?(value: T, other: (flag: string) => unknown): string | undefined;
  /** older names of the flag that still work */
  readonly aliases?: readonly string[];
  /** An older name that goes: the flag and its variable are read with a warning, and refused beside the new name with another value. */
  readonly oldFlag?: string;
  /** never printed, neither in errors nor by `describeOptions`; `--<flag>-file` reads the value from a file */
  readonly secret?: boolean;
  /** accepted, but left out of `--help` */
  readonly hidden?: boolean;
}

export interface OptionGroup<D extends Declarations = Declarations> {
  /** first part of the flags; empty for a group whose flags have no prefix */
  readonly name: string;
  readonly declarations: D;
}

export type Declarations = Readonly<Record<string, OptionDeclaration<unknown>>>;
type ParsedBy<O> = O extends { readonly parse: Parser<infer T> } ? T : never;

/** Values of a group: never undefined if the option has a default or is required. */
export type OptionsOf<G extends OptionGroup> = {
  readonly [K in keyof G["declarations"]]: G["declarations"][K] extends { readonly default: unknown } | { readonly required: true }
    ? ParsedBy<G["declarations"][K]>
    : ParsedBy<G["declarations"][K]> | undefined;
};

/** Values of all groups of a program's table. */
export type OptionsOfAll<G extends Readonly<Record<string, OptionGroup>>> = { readonly [K in keyof G]: OptionsOf<G[K]> };

/**
 * Declares options that belong together. A property `l1Confs` of the group `sequencer` is `--sequencer.l1-confs` and
 * `<PREFIX>SEQUENCER_L1_CONFS`; a duration `timeoutMs` is `--timeout`.
 */
export function optionGroup<const D extends Declarations>(
  name: string,
  declarations: D & { readonly [K in keyof D]: OptionDeclaration<ParsedBy<D[K]>> },
): OptionGroup<D> {
  return { name, declarations };
}

/** The same options with other defaults, by property: what programs share may have to differ, such as ports on one machine. */
export function withDefaults<const G extends OptionGroup>(group: G, defaults: Partial<OptionsOf<G>>): G {
  const declarations = Object.entries(group.declarations).map(([key, declaration]) =>
    Object.hasOwn(defaults, key) ? [key, { ...declaration, default: defaults[key as keyof typeof defaults] }] : [key, declaration],
  );
  return { ...group, declarations: Object.fromEntries(declarations) as G["declarations"] };
}

/** All options of a program. */
export interface OptionTable<G extends Readonly<Record<string, OptionGroup>> = Readonly<Record<string, OptionGroup>>> {
  /** as typed: `rengine`, `rengine init` */
  readonly program: string;
  /** its purpose, in one line */
  readonly summary: string;
  /** prefix of the environment variables, with its underscore: `RNODE_` */
  readonly envPrefix: string;
  readonly groups: G;
  /** names of the subcommands, for an argument that is none of them */
  readonly subcommands?: readonly string[];
  /** flags (without dashes) of which at most one may be given */
  readonly exclusive?: readonly (readonly string[])[];
  /** arguments that are not options; if absent, the program takes none. `name` as in the usage line: `BLOCKS.rlp…` */
  readonly positionals?: { readonly name: string; readonly min: number; readonly max: number };
  /** programs whose operators come to this one: their options and variables are answered with what to use here */
  readonly foreign?: readonly ForeignProgram[];
  /** variables with the prefix that are not options and must not cause a warning */
  readonly otherEnv?: readonly string[];
}

/** @throws Error when an option depends on a flag that is not there: a mistake in the program */
export function optionTable<const G extends Readonly<Record<string, OptionGroup>>>(table: OptionTable<G>): OptionTable<G> {
  const options = resolveOptions(table);
  const flags = new Set(options.map(({ flag }) => flag));
  for (const { flag, declaration } of options) {
    const { needs = [] } = declaration;
    const unknown = [needs].flat().find((other) => !flags.has(other.split("=", 1)[0]!));
    if (unknown !== undefined) throw new Error(`--${flag} depends on --${unknown}, which is not in the table`);
  }
  return table;
}

/** An option with its derived names. */
export interface ResolvedOption {
  readonly group: string;
  readonly key: string;
  /** without dashes */
  readonly flag: string;
  /** with the prefix; `undefined`: none */
  readonly env: string | undefined;
  /** with the prefix; see the declaration */
  readonly sharedEnv?: string;
  /** the variable of `oldFlag`, with the prefix */
  readonly oldEnv?: string;
  readonly declaration: OptionDeclaration<unknown>;
  /** the flag of the secret that is in the file which this option names */
  readonly fileOf?: string;
}

export type OptionSource = "flag" | "env" | "default";

/** An option with the value that is in effect. */
export interface OptionInEffect {
  readonly option: ResolvedOption;
  readonly value: unknown;
  readonly source: OptionSource;
  /** as it was given: the flag with its dashes, or the variable */
  readonly writtenAs: string;
}

const kebab = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The variable of a flag, without a program's prefix. */
export const variableSuffix = (flag: string): string => flag.toUpperCase().replace(/[.-]/g, "_");

/** The flags that set an option, without dashes. */
export const namesOf = ({ flag, declaration: { aliases = [], oldFlag } }: ResolvedOption): readonly string[] => [
  flag,
  ...aliases,
  ...(oldFlag === undefined ? [] : [oldFlag]),
];

/** Every option of a table with its flag and variable, in order of declaration. */
export function resolveOptions(table: OptionTable): ResolvedOption[] {
  const resolved: ResolvedOption[] = [];
  for (const [group, { name, declarations }] of Object.entries(table.groups)) {
    for (const [key, declaration] of Object.entries(declarations)) {
      const suffix = declaration.parse.keySuffix;
      const word = kebab(suffix !== undefined && key.endsWith(suffix) ? key.slice(0, -suffix.length) : key);
      const flag = declaration.flag ?? (name === "" ? word : `${name}.${word}`);
      const suffixOfEnv = declaration.env ?? variableSuffix(flag);
      resolved.push({
        group,
        key,
        flag,
        env: suffixOfEnv === false ? undefined : table.envPrefix + suffixOfEnv,
        ...(declaration.oldFlag === undefined ? {} : { oldEnv: table.envPrefix + variableSuffix(declaration.oldFlag) }),
        ...(declaration.sharedEnv === undefined ? {} : { sharedEnv: table.envPrefix + declaration.sharedEnv }),
        declaration,
      });
      if (declaration.secret) resolved.push(fileOption(resolved.at(-1)!));
    }
  }
  return resolved;
}

/** Arguments and environments are visible to other processes, so that every secret can be given by a file too. */
function fileOption({ group, key, flag, env, declaration }: ResolvedOption): ResolvedOption {
  const { needs, isMistakeAlone, hidden } = declaration;
  return {
    group,
    key: `${key}File`,
    flag: `${flag}-file`,
    env: env === undefined ? undefined : `${env}_FILE`,
    fileOf: flag,
    declaration: {
      parse: path,
      help: `File with the value of --${flag}; only its owner should be able to read it.`,
      ...(needs === undefined ? {} : { needs }),
      ...(isMistakeAlone === undefined ? {} : { isMistakeAlone }),
      ...(hidden === undefined ? {} : { hidden }),
    },
  };
}
