import { type CodedError, codedErrors, isCodedError } from "@rnode/primitives";

export type L1ErrorCode =
  /** no endpoint answered in time, or the answer was an error: try again later */
  | "l1/unavailable"
  /** the answer contradicts itself or the requested hash, which is the endpoint's fault */
  | "l1/faulty-answer"
  /** the JSON of a block does not determine its bytes, and the endpoint does not give them */
  | "l1/raw-needed"
  /** the block's hash is right, but this version cannot read a part of it */
  | "l1/unreadable"
  /** a block that is known by its hash is not there */
  | "l1/not-found"
  /** a block's blobs are not available */
  | "l1/blobs-unavailable";

export class L1Error extends codedErrors<L1ErrorCode>({
  "l1/unavailable": "L1 does not give the {what}",
  "l1/faulty-answer": "an L1 endpoint answered wrongly about {what}",
  "l1/raw-needed":
    "L1 block {block} has {what}, so its bytes are needed, and the endpoint does not give them ({reason}): update this program, or name an L1 endpoint that offers {methods}",
  "l1/unreadable": "L1 block {block} has {what}, which this version cannot read: update this program",
  "l1/not-found": "no L1 endpoint has the block {hash}",
  "l1/blobs-unavailable": "the blobs of L1 block {l1Block} are not available: {reason}",
}) {}

/**
 * Whether this version or the endpoint is too old for a feature of L1. The L1 client has logged it with the remedy, so callers
 * that retry need not log it.
 */
export function isNewerL1(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isCodedError(cause, "l1/raw-needed") || isCodedError(cause, "l1/unreadable")) return true;
  }
  return false;
}

export const faultyAnswer = (what: string, data: CodedError["data"] = {}): L1Error =>
  new L1Error("l1/faulty-answer", { what, ...data });

/** Turns whatever the parsers throw on a malformed answer into one error: the endpoint is at fault, not this program. */
export function readAnswer<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isCodedError(cause) || cause instanceof L1Error) throw cause;
    throw faultyAnswer(what, { cause: cause.message });
  }
}
