/**
 * Why a batch can never become part of the chain (unless L1 reorganises).
 * Spec: docs/protocol/02-derivation.md#singular-batch-checks, docs/protocol/02-derivation.md#span-batch-checks
 */
export type BatchDropReason =
  /** Holocene: a gap */
  | "timestamp-in-future"
  | "timestamp-in-past"
  | "parent-hash-mismatch"
  | "included-too-late"
  | "epoch-too-old"
  | "epoch-too-new"
  | "epoch-hash-mismatch"
  | "before-l1-origin"
  | "exceeds-sequencer-drift"
  | "must-advance-origin"
  | "transactions-in-activation-block"
  | "empty-transaction"
  | "deposit-transaction"
  | "set-code-before-isthmus"
  | "post-exec-before-lagoon"
  // span batches
  | "span-before-delta"
  | "malformed-transaction"
  | "span-misaligned"
  | "span-parent-mismatch"
  | "span-origin-mismatch"
  | "span-origin-missing"
  | "span-overlap-mismatch";

export type BatchVerdict =
  | { readonly kind: "accept" }
  /** more L1 blocks are needed */
  | { readonly kind: "undecided"; readonly reason: "no-l1-blocks" | "next-origin-unknown" | "end-origin-unknown" }
  /** before Holocene: kept until the chain gets there */
  | { readonly kind: "future" }
  /** Holocene: the chain is already beyond it; skipped */
  | { readonly kind: "past" }
  | { readonly kind: "drop"; readonly reason: BatchDropReason };

export const ACCEPT: BatchVerdict = { kind: "accept" };
export const FUTURE: BatchVerdict = { kind: "future" };
export const PAST: BatchVerdict = { kind: "past" };
export const drop = (reason: BatchDropReason): BatchVerdict => ({ kind: "drop", reason });
