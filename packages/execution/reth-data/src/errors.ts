import { codedErrors } from "@rnode/primitives";

export type RethDataErrorCode =
  /** `folder`, `reason` */
  | "reth-data/not-a-data-directory"
  /** of a file or of its content: `what`, `found`, `known` */
  | "reth-data/unknown-version"
  /** another process has the folder open, or wrote to it meanwhile: `folder`, `reason` */
  | "reth-data/in-use"
  /** the stages do not agree on a block: `folder`, `reason` */
  | "reth-data/stopped-midway"
  /** `file`, `place` in it, `reason` */
  | "reth-data/damaged"
  /** the operating system refuses to read: `file`, `reason` */
  | "reth-data/unreadable"
  /** `number`, `reason` */
  | "reth-data/no-header";

export class RethDataError extends codedErrors<RethDataErrorCode>({
  "reth-data/not-a-data-directory": "{folder} is not a data directory of op-reth",
  "reth-data/unknown-version": "{what} is {found}; this program reads {known}",
  "reth-data/in-use": "the data directory {folder} is in use: stop op-reth first",
  "reth-data/stopped-midway":
    "op-reth was stopped in the middle of its work on {folder}: start it, let it reach its head, and stop it with SIGINT",
  "reth-data/damaged": "{file} is damaged at {place}",
  "reth-data/unreadable": "cannot read {file}",
  "reth-data/no-header": "the data directory has no header of block {number}",
}) {}

/** Damage at a place that the thrower's caller knows. */
export class Malformed extends Error {}

/** Runs `read`. @throws {RethDataError} reth-data/damaged in place of `Malformed` */
export function atPlace<T>(file: string, place: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw placed(cause, file, place);
  }
}

/** The error to throw for a caught one: the place is added to `Malformed`. */
export const placed = (cause: unknown, file: string, place: string): unknown =>
  cause instanceof Malformed ? damaged(file, place, cause.message) : cause;

export const damaged = (file: string, place: string, reason: string): RethDataError =>
  new RethDataError("reth-data/damaged", { file, place, reason });
