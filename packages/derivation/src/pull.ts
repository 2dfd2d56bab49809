import type { L1BlockRef, L2BlockRef, SystemConfig } from "@rnode/protocol";

/**
 * Why everything that was read must be forgotten.
 *
 * - `l1-reorg`: an L1 block does not build on the one before it, or is gone
 * - `blobs-missing`: the blobs of an L1 block are not available any more (or the block was reorganised away)
 * - `origin-mismatch`: the batch's epoch is neither the parent's L1 origin nor the block after it
 * - `time-invariant`: the L2 block would be older than its L1 origin
 * - `parent-mismatch`: a batch was made for a parent other than the safe head
 */
export type ResetReason = "l1-reorg" | "blobs-missing" | "origin-mismatch" | "time-invariant" | "parent-mismatch";

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

/** One stage of the derivation pipeline; it pulls from the stage before it. */
export interface Stage<T> {
  next(l2SafeHead: L2BlockRef): Promise<Pull<T>>;
  /** Forgets everything read from L1 blocks after `base`. */
  reset(base: L1BlockRef, systemConfig: SystemConfig): void;
}
