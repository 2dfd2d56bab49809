import {
  type DerivationConfig,
  findSyncStart,
  type L1Provider,
  SyncStartError,
  type SyncStartL1,
  type SyncStartL2,
} from "@rnode/derivation";
import type { L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { type CodedError, isCodedError } from "@rnode/primitives";
import { isDepositTransaction, type L2BlockRef, type RollupConfig } from "@rnode/protocol";
import type { FoundHeads } from "../common/found-heads.ts";
import type { Heads } from "../common/heads.ts";
import { critical, type Trouble, temporary, temporaryBy } from "../common/progress.ts";
import { type Rewind, resyncAdvice } from "./safe-chain-check.ts";
import { type SafeHeadRecord, startFromRecord } from "./safe-start.ts";

export interface FindHeadsDeps {
  readonly l1: Pick<L1Provider, "blockByNumber">;
  readonly l2: Pick<L2Blocks, "blockByLabel" | "blockByHash" | "blockByNumber" | "blockRefByHash" | "blockRefByNumber">;
  /** L2 blocks between the tip and the safe head of an engine without labels */
  readonly labelsBehindTip?: number | undefined;
}

/** The engine's labels, or this process's own where it has come further and the engine has the block: it may not have been told. */
export function withOwnLabels(
  l2: FindHeadsDeps["l2"],
  own: () => Pick<Heads, "safe" | "finalized"> | undefined,
): FindHeadsDeps["l2"] {
  return {
    blockByHash: (hash) => l2.blockByHash(hash),
    blockByNumber: (number) => l2.blockByNumber(number),
    blockRefByHash: (hash) => l2.blockRefByHash(hash),
    blockRefByNumber: (number) => l2.blockRefByNumber(number),
    blockByLabel: async (label) => {
      const block = await l2.blockByLabel(label);
      const ours = label === "latest" ? undefined : own()?.[label];
      if (ours === undefined || (block !== undefined && block.ref.number >= ours.number)) return block;
      const atOurs = await l2.blockByNumber(ours.number);
      return atOurs?.ref.hash === ours.hash ? atOurs : block;
    },
  };
}

/** A line is logged when a search has taken so many answers of L1 and of the engine, */
const ANSWERS_OF_FIRST_LINE = 20;
/** and each time after so many of them. */
const BLOCKS_A_LINE = 500;

/** So many times a start waits for an L1 endpoint that is behind the record, before it goes by what that endpoint has. */
const WAITS_FOR_L1 = 5;

/**
 * Finds the heads by the safe-head database, if there is one and it helps, and otherwise by walking back.
 *
 * @returns a function that is called for each reset
 */
export function headsFinder(
  derivation: DerivationConfig,
  deps: FindHeadsDeps,
  log: Logger,
  record: SafeHeadRecord | undefined,
): (rewind: Rewind | undefined) => Promise<FoundHeads> {
  let waits = 0;
  return async (rewind) => {
    if (record !== undefined && rewind === undefined) {
      const start = await orTrouble(() => startFromRecord(record, { ...deps, log }, derivation.rollup.genesis.l2));
      if (start.kind === "l1-behind" && waits++ < WAITS_FOR_L1) {
        return temporary(`L1 does not have block ${start.needs}, from which the safe head was derived: the endpoint is behind`);
      }
      if (start.kind === "found") {
        waits = 0;
        return { ...start, base: start.safe };
      }
      if (start.kind === "temporary") return start;
      const reason = start.kind === "unknown" ? start.reason : `L1 does not have block ${start.needs}`;
      log.info("the safe-head database does not say where to start: walking back", { reason });
    }
    return findHeads(derivation, deps, log, rewind);
  };
}

async function orTrouble<T>(action: () => Promise<T>): Promise<T | Extract<Trouble, { kind: "temporary" }>> {
  try {
    return await action();
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: "temporary", reason: error.message };
  }
}

/**
 * Finds the heads in the engine that are valid on L1 as it is now, by bisection, or by walking back where the chain contradicts itself.
 *
 * @param rewind why derivation has to start before a block of the safe chain
 */
export async function findHeads(
  { rollup }: DerivationConfig,
  { l1, l2, labelsBehindTip }: FindHeadsDeps,
  log: Logger,
  rewind?: Rewind,
): Promise<FoundHeads> {
  let asked = 0;
  let last: L2BlockRef | undefined;
  const progress = (): void => {
    asked++;
    if (last === undefined || (asked !== ANSWERS_OF_FIRST_LINE && asked % BLOCKS_A_LINE !== 0)) return;
    log.info("looking for the block to start from", { asked, at: last.number, l1Origin: last.l1Origin.number });
  };
  const counted = async <T>(answer: Promise<T>): Promise<T> => {
    const got = await answer;
    progress();
    return got;
  };
  const l1Counted: SyncStartL1 = { blockByNumber: (number) => counted(l1.blockByNumber(number)) };
  const labels: SyncStartL2 = {
    blockRefByLabel: async (label) => (await l2.blockByLabel(label === "unsafe" ? "latest" : label))?.ref,
    blockRefByHash: (hash) => counted(l2.blockRefByHash(hash)),
    blockRefByNumber: (number) => counted(l2.blockRefByNumber(number)),
  };
  try {
    const heads = await findSyncStart(rollup, l1Counted, labels, {
      labelsBehindTip,
      onProgress: (block) => {
        last = block;
      },
    });
    log.debug("found where to start", { asked, unsafe: heads.unsafe.number, safe: heads.safe.number });
    if (rewind === undefined) return { kind: "found", ...heads, base: heads.safe };
    const base = await confirmedBefore(rollup, { l1, l2 }, rewind, log);
    const { reason, base: unconfirmed } = rewind;
    log.warn("deriving the safe chain again from further back", {
      reason,
      unconfirmed: unconfirmed.number,
      from: base.number,
    });
    return { kind: "found", ...heads, base };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    if (!error.isCritical) return temporaryBy(error);
    return critical(await contradictionByL1(rollup, { l1, l2 }, error));
  }
}

/** So many blocks in a row are looked at before the search goes further back, by more each time. */
const BLOCKS_IN_A_ROW = 16;

/**
 * A block before that of `rewind` which has user transactions: the newest such block, unless there is none for long, as in a chain that an
 * L1 endpoint made up. They come from a batch that fitted the chain, whereas no batch fits a chain made up.
 *
 * @throws {CodedError} sync-start/l2-block-missing, and what the providers reject with
 */
async function confirmedBefore(
  { genesis }: RollupConfig,
  { l1, l2 }: FindHeadsDeps,
  { base, l1Blocks }: Rewind,
  log: Logger,
): Promise<L2BlockRef> {
  const first = genesis.l2.number;
  let number = l1Blocks === 0 ? base.number - 1 : await lastWithOrigin(l2, first, base, base.l1Origin.number - l1Blocks);
  for (let skipped = 0; ; skipped = 2 * skipped + BLOCKS_IN_A_ROW) {
    number = Math.max(first, number - skipped);
    for (const last = number - BLOCKS_IN_A_ROW; number > last; number--) {
      const block = await l2.blockByNumber(number);
      if (block === undefined) throw new SyncStartError("sync-start/l2-block-missing", { number });
      if (number <= first) return block.ref;
      const hasUsers = !block.envelope.executionPayload.transactions.every(isDepositTransaction);
      if (hasUsers && (await isOriginCanonical(l1, block.ref))) return block.ref;
    }
    log.info("going back to a block that came from a batch", { unconfirmed: base.number, at: number });
  }
}

/** Bisection: the newest block below `above` whose L1 origin is not above `l1Origin`; the first if there is none. */
async function lastWithOrigin(
  l2: Pick<FindHeadsDeps["l2"], "blockRefByNumber">,
  first: number,
  above: L2BlockRef,
  l1Origin: number,
): Promise<number> {
  let [lowest, beyond] = [first, above.number];
  while (beyond - lowest > 1) {
    const middle = Math.floor((lowest + beyond) / 2);
    const ref = await l2.blockRefByNumber(middle);
    if (ref === undefined) throw new SyncStartError("sync-start/l2-block-missing", { number: middle });
    if (ref.l1Origin.number <= l1Origin) lowest = middle;
    else beyond = middle;
  }
  return lowest;
}

async function isOriginCanonical(l1: FindHeadsDeps["l1"], { l1Origin }: L2BlockRef): Promise<boolean> {
  return (await l1.blockByNumber(l1Origin.number))?.hash === l1Origin.hash;
}

/** The text of the error and, if it is about the L1 origins of finalized blocks, what to do about it. */
async function contradictionByL1(config: RollupConfig, deps: FindHeadsDeps, error: CodedError): Promise<string> {
  const { code, data, message } = error;
  if (code !== "sync-start/finalized-reorg" && code !== "sync-start/too-deep-reorg") return message;
  const highest = Number(data.number ?? data.at);
  const agreeing = await lastWithCanonicalOrigin(config, deps, highest);
  return `${message}: the L1 origin of L2 block ${agreeing + 1} is not a block of L1. ${resyncAdvice(agreeing)}`;
}

/** Bisection: the L1 origins are canonical up to some block, and not after it. */
async function lastWithCanonicalOrigin({ genesis }: RollupConfig, { l1, l2 }: FindHeadsDeps, highest: number): Promise<number> {
  let agreeing = genesis.l2.number;
  let differing = highest;
  while (differing - agreeing > 1) {
    const middle = Math.floor((agreeing + differing) / 2);
    const ref = await l2.blockRefByNumber(middle);
    if (ref !== undefined && (await isOriginCanonical(l1, ref))) agreeing = middle;
    else differing = middle;
  }
  return agreeing;
}
