import type { L2BlockRef } from "@rnode/protocol";

/**
 * The labels of the L2 chain, by number: unsafe ≥ pendingSafe ≥ safe ≥ finalized. Only a reset lowers a label. While the
 * safe chain is derived again, pendingSafe is below the others: it marks how far derivation has come.
 * Spec: docs/protocol/02-derivation.md#heads-and-consolidation
 */
export interface Heads {
  /** tip of the chain */
  readonly unsafe: L2BlockRef;
  /** derived from L1, although the rest of its span batch may not be yet */
  readonly pendingSafe: L2BlockRef;
  /** derived from L1 */
  readonly safe: L2BlockRef;
  /** derived from finalized L1 blocks */
  readonly finalized: L2BlockRef;
  /** the tip before a derived block replaced it, kept while it may be needed again (before Holocene) */
  readonly backupUnsafe: L2BlockRef | undefined;
}

/** @param base the block after which derivation starts */
export const headsAfterReset = ({
  unsafe,
  safe,
  finalized,
  base,
}: Pick<Heads, "unsafe" | "safe" | "finalized"> & { readonly base: L2BlockRef }): Heads => ({
  unsafe,
  pendingSafe: base,
  safe,
  finalized,
  backupUnsafe: undefined,
});

const higher = (current: L2BlockRef, candidate: L2BlockRef): L2BlockRef =>
  candidate.number >= current.number ? candidate : current;

/**
 * The heads after a block of the chain was derived from L1.
 *
 * @param isSafe nothing else is needed: its span batch is whole, and it needs no check of messages
 */
export function withDerived(heads: Heads, block: L2BlockRef, isSafe: boolean): Heads {
  const pendingSafe = higher(heads.pendingSafe, block);
  if (!isSafe) return { ...heads, pendingSafe };
  return clearBackup({ ...heads, pendingSafe, safe: higher(heads.safe, block) });
}

/** The heads after a derived block had to be built: it is the new tip. The replaced tip is kept in case the new one proves invalid. */
export function withDerivedTip(heads: Heads, block: L2BlockRef, isSafe: boolean): Heads {
  const backupUnsafe = block.number <= heads.unsafe.number ? heads.unsafe : heads.backupUnsafe;
  return withDerived({ ...heads, unsafe: block, backupUnsafe }, block, isSafe);
}

/** Spec: docs/protocol/02-derivation.md#heads-and-consolidation "cleared when unsafe = safe = pending_safe" */
function clearBackup(heads: Heads): Heads {
  const { unsafe, safe, pendingSafe } = heads;
  return unsafe.hash === safe.hash && safe.hash === pendingSafe.hash ? { ...heads, backupUnsafe: undefined } : heads;
}
