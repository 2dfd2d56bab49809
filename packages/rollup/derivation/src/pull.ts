import type { L2BlockRef } from "@rnode/protocol";

/**
 * Why everything that was read must be forgotten.
 *
 * - `l1-reorg`: an L1 block does not build on the one before it, or is gone
 * - `blobs-missing`: the blobs of an L1 block are not available any more (or the block was reorganised away)
 * - `da-challenge-expired`: data outside of L1 that was used was challenged, and nobody has shown it
 * - `origin-mismatch`: the batch's epoch is neither the parent's L1 origin nor the block after it
 * - `time-invariant`: the L2 block would be older than its L1 origin
 * - `parent-mismatch`: a batch was made for a parent other than the safe head
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
  /** what is buffered no longer holds */
  | { readonly kind: "reset"; readonly reason: ResetReason; readonly detail: string };

export const AGAIN = { kind: "again" } as const;
export const EXHAUSTED = { kind: "exhausted" } as const;

/** What a stage pulls from. */
export interface Source<T> {
  /** @param l2SafeHead the block to derive on: the pending safe head, which is ahead of the safe head within a span batch */
  next(l2SafeHead: L2BlockRef): Promise<Pull<T>>;
}

/** Takes values from its source and makes others of them. */
export interface Stage<T> extends Source<T> {
  /** Forgets everything that was read. `L1Traversal` is reset first, and stands at the L1 block from which reading starts over. */
  reset(): void;
}

/** One box of the derivation pipeline. */
export interface PipelineStage<T> extends Stage<T> {
  /** Holocene begins with the L1 block being read: drops what must not be carried over into it. */
  activateStrictOrder(): void;
}
