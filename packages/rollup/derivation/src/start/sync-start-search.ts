import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";

export interface CurrentHeads {
  readonly unsafe: L2BlockRef;
  readonly safe: L2BlockRef;
  readonly finalized: L2BlockRef;
}

export interface StartChains {
  /** the canonical block; `undefined`: not mined yet */
  readonly l1ByNumber: (number: number) => Promise<L1BlockRef | undefined>;
  /** the block in the chain of the unsafe head */
  readonly l2ByNumber: (number: number) => Promise<L2BlockRef | undefined>;
}

export interface FoundStart {
  /** the highest block that no replaced L1 origin is below */
  readonly unsafe: L2BlockRef;
  /** the child of the block to start from; `undefined`: start from the finalized block */
  readonly firstAfterSafe: L2BlockRef | undefined;
  /** the canonical L1 block at the origin of `firstAfterSafe`, or of the finalized block */
  readonly l1Origin: L1BlockRef | undefined;
  /** even the origin of the finalized block was replaced */
  readonly isFinalizedReplaced: boolean;
  /** implausibly many blocks have replaced origins */
  readonly isTooDeep: boolean;
}

export const MAX_REORG_WINDOWS = 5;

/** The engine does not have a block of its chain, or numbers the blocks of an L1 origin inconsistently. */
export class SearchFailed extends Error {}

type Verdict = "canonical" | "replaced" | "ahead";

/**
 * Finds by bisection the result that `findSyncStart` defines as a walk back over every block. L1 origins grow with the L2 block
 * number: they are canonical up to a block, then replaced on L1, then ahead of L1. So some dozens of requests suffice, for any
 * distance of the heads.
 *
 * @throws {SearchFailed}
 */
export async function searchStart(
  window: number,
  chains: StartChains,
  heads: CurrentHeads,
  startsFromFinalized = false,
): Promise<FoundStart> {
  const { unsafe: head, safe, finalized } = heads;
  const blockAt = async (number: number): Promise<L2BlockRef> => {
    if (number === head.number) return head;
    const block = await chains.l2ByNumber(number);
    if (block?.number !== number) throw new SearchFailed();
    return block;
  };
  const verdictOf = async ({ l1Origin }: L2BlockRef): Promise<Verdict> => {
    const block = await chains.l1ByNumber(l1Origin.number);
    if (block === undefined) return "ahead";
    return block.hash === l1Origin.hash ? "canonical" : "replaced";
  };
  const atFinalized = async (unsafe: L2BlockRef, more: Partial<FoundStart> = {}): Promise<FoundStart> => ({
    unsafe,
    firstAfterSafe: undefined,
    l1Origin: await chains.l1ByNumber(finalized.l1Origin.number),
    isFinalizedReplaced: false,
    isTooDeep: false,
    ...more,
  });
  const isTooDeep = (unsafe: L2BlockRef): boolean => unsafe.l1Origin.number + MAX_REORG_WINDOWS * window < head.l1Origin.number;

  const isFinalizedReplaced = (await verdictOf(finalized)) === "replaced";
  if (isFinalizedReplaced) return atFinalized(finalized, { isFinalizedReplaced, isTooDeep: isTooDeep(finalized) });

  const canonical = await lastOf(finalized, head, blockAt, async (block) => (await verdictOf(block)) === "canonical");
  const isReplacedAfter = canonical.number < head.number && (await verdictOf(await blockAt(canonical.number + 1))) === "replaced";
  const unsafe = isReplacedAfter ? canonical : head;
  if (isReplacedAfter && isTooDeep(canonical)) return atFinalized(unsafe, { isTooDeep: true });
  if (startsFromFinalized) return atFinalized(unsafe);

  // The start must be more than a window below the highest canonical origin, at the first block of an origin.
  const newest = canonical.l1Origin.number - window - 1;
  const top = await blockAt(Math.min(canonical.number, safe.number));
  if (top.number <= finalized.number || finalized.l1Origin.number > newest) return atFinalized(unsafe);
  const oldEnough = await lastOf(finalized, top, blockAt, async ({ l1Origin }) => l1Origin.number <= newest);
  const first = oldEnough.number - oldEnough.sequenceNumber;
  if (first <= finalized.number) return atFinalized(unsafe);
  const firstAfterSafe = await blockAt(first);
  if (firstAfterSafe.sequenceNumber !== 0 || firstAfterSafe.l1Origin.hash !== oldEnough.l1Origin.hash) throw new SearchFailed();
  const l1Origin = await chains.l1ByNumber(firstAfterSafe.l1Origin.number);
  return { unsafe, firstAfterSafe, l1Origin, isFinalizedReplaced: false, isTooDeep: false };
}

/** The last block from `low` on, for which it holds, up to `high`: it holds up to some block, and not after it. */
async function lastOf(
  low: L2BlockRef,
  high: L2BlockRef,
  blockAt: (number: number) => Promise<L2BlockRef>,
  holds: (block: L2BlockRef) => Promise<boolean>,
): Promise<L2BlockRef> {
  if (high.number <= low.number || (await holds(high))) return high;
  let good = low;
  let bad = high.number;
  while (bad - good.number > 1) {
    const block = await blockAt(Math.floor((good.number + bad) / 2));
    if (await holds(block)) good = block;
    else bad = block.number;
  }
  return good;
}
