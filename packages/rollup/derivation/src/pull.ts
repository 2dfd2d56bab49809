import type { L2BlockRef } from "@rnode/protocol";

/**
 * Why all read data must be discarded.
 *
 * - `l1-reorg`: an L1 block does not build on the previous one, or was removed
 * - `blobs-missing`: the blobs of an L1 block are no longer available (or the block was removed by a reorg)
 * - `da-challenge-expired`: used data outside of L1 was challenged, and the challenge expired
 * - `origin-mismatch`: the batch's epoch is neither the parent's L1 origin nor the block after it
 * - `time-invariant`: the L2 block would be older than its L1 origin
 * - `parent-mismatch`: the batch's parent is not the safe head
 */
export type ResetReason =
  | "l1-reorg"
  | "blobs-missing"
  | "da-challenge-expired"
  | "origin-mismatch"
  | "time-invariant"
  | "parent-mismatch";

/** The outcome of asking a stage. Failures of providers are thrown; the next call then continues where this one stopped. */
export type Pull<T> =
  | { readonly kind: "value"; readonly value: T }
  /** progress was made, but there is no value yet: call again at once */
  | { readonly kind: "again" }
  /** every L1 block known so far has been used */
  | { readonly kind: "exhausted" }
  /** the buffered data is invalid */
  | { readonly kind: "reset"; readonly reason: ResetReason; readonly detail: string };

export const AGAIN = { kind: "again" } as const;
export const EXHAUSTED = { kind: "exhausted" } as const;

/** The input of a stage. */
export interface Source<T> {
  /** @param l2SafeHead the block to derive on: the pending safe head, which is ahead of the safe head within a span batch */
  next(l2SafeHead: L2BlockRef): Promise<Pull<T>>;
}

/** Reads values from its source and transforms them. */
export interface Stage<T> extends Source<T> {
  /** Discards all read data. `L1Traversal` is reset first, and is at the L1 block from which reading restarts. */
  reset(): void;
}

/** One box of the derivation pipeline. */
export interface PipelineStage<T> extends Stage<T> {
  /** Holocene activates with the current L1 block: drops the data that must not be carried over. */
  activateStrictOrder(): void;
}
