/** Options with one answer. */
export interface ForeignAnswer {
  /** a whole sentence without its full stop */
  readonly text: string;
  /** flags without dashes */
  readonly flags: readonly string[];
  /** those of `flags` that take no value */
  readonly switches?: readonly string[];
}

/** Subcommands with one answer. */
interface ForeignCommand {
  /** what to use instead, a whole sentence without its full stop */
  readonly text: string;
  readonly names: readonly string[];
}

/** Another project's program and its counterpart in rnode. Unlisted options have the same name and meaning. */
export interface ForeignProgram {
  /** as operators know it */
  readonly name: string;
  /** prefix of its environment variables, with the underscore */
  readonly envPrefix: string;
  /** accepted, with a warning that says why they do nothing here */
  readonly noEffect: readonly ForeignAnswer[];
  /** refused, with what to use instead */
  readonly instead: readonly ForeignAnswer[];
  /** subcommands, with what to use instead */
  readonly commands?: readonly ForeignCommand[];
  /** variables of options that are ours as well, by suffix, with the flag, where it does not follow from the suffix */
  readonly variables?: Readonly<Record<string, string>>;
}
