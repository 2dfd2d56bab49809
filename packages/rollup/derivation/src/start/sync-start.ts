import { codedErrors, type Hex } from "@rnode/primitives";
import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import { type CurrentHeads, type FoundStart, MAX_REORG_WINDOWS, SearchFailed, searchStart } from "./sync-start-search.ts";

export interface L2Heads {
  readonly unsafe: L2BlockRef;
  readonly safe: L2BlockRef;
  readonly finalized: L2BlockRef;
  /** the highest block that was safe before and whose L1 origin is still canonical: L1 must derive the same block again */
  readonly highestFormerSafe: L2BlockRef;
}

export interface SyncStartL1 {
  /** The canonical block, without the verifier's confirmation depth; `undefined`: not mined yet. */
  blockByNumber(number: number): Promise<L1BlockRef | undefined>;
}

export interface SyncStartL2 {
  /** `undefined`: the label is not set. The unsafe head always exists. */
  blockRefByLabel(label: "unsafe" | "safe" | "finalized"): Promise<L2BlockRef | undefined>;
  blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined>;
  /** the block at a height in the chain of the unsafe head; without it, every block is visited */
  blockRefByNumber?(number: number): Promise<L2BlockRef | undefined>;
}

export interface SyncStartOptions {
  /** once the first block with a canonical origin is found, trust the blocks between it and the safe head */
  readonly skipCheck?: boolean | undefined;
  /** L2 blocks between the tip and the safe head of an engine that was synced or rewound without labels; 0 by default */
  readonly labelsBehindTip?: number | undefined;
  /** called with each L2 block visited, as the walk can be long */
  readonly onProgress?: ((block: L2BlockRef) => void) | undefined;
}

type CriticalSyncStartErrorCode =
  /** the L2 chain or L1 is not that of the rollup configuration */
  | "sync-start/wrong-chain"
  /** the engine's finalized block is not in its chain, or its L1 origin was reorganised away */
  | "sync-start/finalized-reorg"
  /** the L1 reorganisation is implausibly deep */
  | "sync-start/too-deep-reorg"
  /** origins or sequence numbers of consecutive L2 blocks do not match */
  | "sync-start/inconsistent-chain";

export type SyncStartErrorCode = CriticalSyncStartErrorCode | "sync-start/l2-block-missing";

export class SyncStartError extends codedErrors<SyncStartErrorCode, CriticalSyncStartErrorCode>(
  {
    "sync-start/l2-block-missing": "the execution client lacks an L2 block that it must have",
  },
  {
    "sync-start/wrong-chain": "{chain} is not the chain of the rollup config: its block is {got}, expected {expected}",
    "sync-start/finalized-reorg": "the finalized L2 block {number} is not in the chain, or L1 does not have its origin any more",
    "sync-start/too-deep-reorg": "L1 has reorganised implausibly deep: the origins of L2 blocks {at} to {unsafe} are gone",
    "sync-start/inconsistent-chain": "L2 block {number} does not follow its parent: {what}",
  },
) {}

const RECOVERY_WINDOWS = 14;

/**
 * The heads for starting derivation: the highest unsafe block whose origin is not known to be replaced, and a safe block old
 * enough to derive all later blocks again. Spec: docs/protocol/02-derivation.md#reset-and-sync-start
 *
 * @throws {CodedError} sync-start/*, and rejections of the providers (then retry from the beginning)
 */
export async function findSyncStart(
  config: RollupConfig,
  l1: SyncStartL1,
  l2: SyncStartL2,
  options: SyncStartOptions = {},
): Promise<L2Heads> {
  const heads = await currentHeads(config, l2);
  const { unsafe, safe, finalized } = heads;
  const genesis = config.genesis.l2;
  const lostLabels =
    safe.hash === genesis.hash &&
    finalized.hash === genesis.hash &&
    unsafe.number > genesis.number &&
    unsafe.l1Origin.number > config.genesis.l1.number + RECOVERY_WINDOWS * config.seqWindowSize;
  // The engine was rewound, or synced without labels: only its head can be relied on.
  if (lostLabels || unsafe.number < safe.number || unsafe.number < finalized.number)
    return await withoutLabels(config, l2, unsafe, options);
  const found = (await search(config, l1, l2, heads, options)) ?? (await walkBack(config, l1, l2, heads, options));
  // If L1 replaced the origin of the safe block, the later derived blocks can change.
  return { ...found, highestFormerSafe: found.unsafe.number >= safe.number ? safe : finalized };
}

async function withoutLabels(
  { genesis }: RollupConfig,
  l2: SyncStartL2,
  unsafe: L2BlockRef,
  { labelsBehindTip = 0 }: SyncStartOptions,
): Promise<L2Heads> {
  const number = Math.max(genesis.l2.number, unsafe.number - labelsBehindTip);
  const safe = number < unsafe.number ? await l2.blockRefByNumber?.(number) : unsafe;
  if (safe === undefined) throw new SyncStartError("sync-start/l2-block-missing", { number });
  return { unsafe, safe, finalized: safe, highestFormerSafe: safe };
}

/** Number of L1 blocks that can still change derivation's result. */
function lookbackL1Blocks({ seqWindowSize, altDa }: RollupConfig): number {
  return altDa === undefined ? seqWindowSize : Math.max(seqWindowSize, altDa.daChallengeWindow + altDa.daResolveWindow);
}

/**
 * Whether every block after the finalized one must be derived again. An expired challenge invalidates the blocks derived from its
 * data. By then derivation can be any number of L1 blocks behind the unsafe head, because it waits for missing data.
 */
const startsFromFinalized = ({ altDa }: RollupConfig): boolean => altDa?.daCommitmentType === "KeccakCommitment";

async function currentHeads(config: RollupConfig, l2: SyncStartL2): Promise<CurrentHeads> {
  const finalized = (await l2.blockRefByLabel("finalized")) ?? (await blockByHash(l2, config.genesis.l2.hash));
  const safe = (await l2.blockRefByLabel("safe")) ?? finalized;
  const unsafe = await l2.blockRefByLabel("unsafe");
  if (unsafe === undefined) throw new SyncStartError("sync-start/l2-block-missing", { label: "unsafe" });
  return { unsafe, safe, finalized };
}

/**
 * Finds the result of `walkBack` with few requests. @returns `undefined` if it is undecidable, or if the chain is inconsistent
 */
async function search(
  config: RollupConfig,
  l1: SyncStartL1,
  l2: SyncStartL2,
  heads: CurrentHeads,
  { skipCheck = false, onProgress }: SyncStartOptions,
): Promise<CurrentHeads | undefined> {
  if (l2.blockRefByNumber === undefined || skipCheck) return undefined;
  const l2ByNumber = async (number: number): Promise<L2BlockRef | undefined> => {
    const block = await l2.blockRefByNumber!(number);
    if (block !== undefined) onProgress?.(block);
    return block;
  };
  let found: FoundStart;
  try {
    const chains = { l1ByNumber: (number: number) => l1.blockByNumber(number), l2ByNumber };
    found = await searchStart(lookbackL1Blocks(config), chains, heads, startsFromFinalized(config));
  } catch (error) {
    if (error instanceof SearchFailed) return undefined;
    throw error;
  }
  const { unsafe, firstAfterSafe, l1Origin } = found;
  const { finalized } = heads;
  if (found.isTooDeep) throw tooDeep(heads.unsafe, unsafe.number + 1, unsafe);
  if (firstAfterSafe !== undefined) {
    const safe = await blockByHash(l2, firstAfterSafe.parentHash);
    checkParent(firstAfterSafe, safe, l1Origin);
    return { unsafe, safe, finalized };
  }
  const atFinalized = await l2ByNumber(finalized.number);
  if (atFinalized === undefined) return undefined;
  checkGenesis(config, atFinalized, l1Origin);
  checkFinalized(atFinalized, finalized);
  if (found.isFinalizedReplaced) throw finalizedReplaced(finalized);
  return { unsafe, safe: finalized, finalized };
}

async function walkBack(
  config: RollupConfig,
  l1: SyncStartL1,
  l2: SyncStartL2,
  heads: CurrentHeads,
  options: SyncStartOptions,
): Promise<CurrentHeads> {
  const lookback = lookbackL1Blocks(config);
  const { safe, finalized } = heads;
  let unsafe: L2BlockRef | undefined = heads.unsafe;
  let highestCanonical: L2BlockRef | undefined;
  /** the canonical L1 block at the height of the current block's origin; `undefined`: L1 has not reached it yet */
  let l1Block: L1BlockRef | undefined;
  let l1BlockNumber = -1;
  for (let block = heads.unsafe; ; ) {
    options.onProgress?.(block);
    if (l1BlockNumber !== block.l1Origin.number) {
      l1BlockNumber = block.l1Origin.number;
      l1Block = await l1.blockByNumber(l1BlockNumber);
    }
    checkGenesis(config, block, l1Block);
    if (block.number === finalized.number) checkFinalized(block, finalized);
    if (unsafe === undefined) {
      unsafe = block;
      if (block.l1Origin.number + MAX_REORG_WINDOWS * lookback < heads.unsafe.l1Origin.number) {
        throw tooDeep(heads.unsafe, block.number, block);
      }
    }
    if (l1Block === undefined) {
      highestCanonical = undefined;
    } else if (l1Block.hash === block.l1Origin.hash) {
      highestCanonical ??= block;
    } else {
      unsafe = undefined;
      highestCanonical = undefined;
    }
    const isReady =
      !startsFromFinalized(config) &&
      block.number <= safe.number &&
      block.sequenceNumber === 0 &&
      highestCanonical !== undefined &&
      block.l1Origin.number + lookback < highestCanonical.l1Origin.number;
    if (block.number === finalized.number) {
      if (unsafe !== undefined) return { unsafe, safe: block, finalized };
      throw finalizedReplaced(block);
    }
    if (options.skipCheck === true && highestCanonical?.hash === block.hash && block.number > safe.number) {
      block = safe;
      continue;
    }
    const parent = await blockByHash(l2, block.parentHash);
    checkParent(block, parent, l1Block);
    if (isReady) return { unsafe: unsafe ?? block, safe: parent, finalized };
    block = parent;
  }
}

function tooDeep(head: L2BlockRef, at: number, { l1Origin }: L2BlockRef): SyncStartError {
  return new SyncStartError("sync-start/too-deep-reorg", { unsafe: head.number, at, l1Origin: l1Origin.number });
}

function finalizedReplaced({ number, hash, l1Origin }: L2BlockRef): SyncStartError {
  const details = { number, hash, l1Origin: l1Origin.number, l1OriginHash: l1Origin.hash };
  return new SyncStartError("sync-start/finalized-reorg", details);
}

function checkFinalized(block: L2BlockRef, finalized: L2BlockRef): void {
  if (block.hash === finalized.hash) return;
  const details = { number: block.number, expected: finalized.hash, got: block.hash };
  throw new SyncStartError("sync-start/finalized-reorg", details);
}

function checkGenesis({ genesis }: RollupConfig, block: L2BlockRef, l1Block: L1BlockRef | undefined): void {
  if (block.number !== genesis.l2.number) return;
  if (block.hash !== genesis.l2.hash) {
    throw new SyncStartError("sync-start/wrong-chain", { chain: "L2", expected: genesis.l2.hash, got: block.hash });
  }
  if (l1Block !== undefined && l1Block.hash !== genesis.l1.hash) {
    throw new SyncStartError("sync-start/wrong-chain", {
      chain: "L1",
      expected: genesis.l1.hash,
      got: l1Block.hash,
    });
  }
}

/** @param l1Block the canonical block at the height of `block`'s origin */
function checkParent(block: L2BlockRef, parent: L2BlockRef, l1Block: L1BlockRef | undefined): void {
  const inconsistent = (what: string) =>
    new SyncStartError("sync-start/inconsistent-chain", { what, number: block.number, hash: block.hash });
  if (parent.l1Origin.hash === block.l1Origin.hash) {
    if (parent.sequenceNumber + 1 !== block.sequenceNumber) throw inconsistent("sequence number");
    return;
  }
  if (parent.l1Origin.number + 1 !== block.l1Origin.number) throw inconsistent("L1 origin number");
  if (block.sequenceNumber !== 0) throw inconsistent("sequence number of a new L1 origin");
  const isCanonical = l1Block !== undefined && l1Block.hash === block.l1Origin.hash;
  if (isCanonical && l1Block.parentHash !== parent.l1Origin.hash) throw inconsistent("L1 origin of the parent");
}

async function blockByHash(l2: SyncStartL2, hash: Hex): Promise<L2BlockRef> {
  const block = await l2.blockRefByHash(hash);
  if (block === undefined) throw new SyncStartError("sync-start/l2-block-missing", { hash });
  return block;
}
