import {
  isDepositTransaction,
  isPostExecTransaction,
  type L1BlockRef,
  type L2BlockRef,
  type RollupConfig,
  rollupRulesAt,
  userTransactionsAt,
} from "@rnode/protocol";
import { derivationRules, maxSequencerDriftSec } from "../rules.ts";
import { ACCEPT, type BatchVerdict, drop, FUTURE, PAST } from "./batch-verdict.ts";
import type { BlockBatch } from "./read-batch.ts";

/** The chain state for checks of a batch. */
export interface BatchContext {
  readonly config: RollupConfig;
  /** L1 blocks known as possible origins, ascending; the first is the current epoch */
  readonly l1Blocks: readonly L1BlockRef[];
  /** the parent of the block that is wanted next */
  readonly l2SafeHead: L2BlockRef;
  /** the L1 block in which the batch became readable */
  readonly inclusion: L1BlockRef;
}

const SET_CODE_TYPE = 0x04;

/** The rules of docs/protocol/02-derivation.md#singular-batch-checks, in the same order. */
export function checkSingularBatch(context: BatchContext, batch: BlockBatch): BatchVerdict {
  const { config, l1Blocks, l2SafeHead, inclusion } = context;
  const [epoch, nextEpoch] = l1Blocks;
  if (epoch === undefined) return { kind: "undecided", reason: "no-l1-blocks" };
  const { hasStrictOrder } = derivationRules(config, inclusion.timestamp);
  const nextTimestamp = l2SafeHead.timestamp + config.blockTimeSec;
  if (batch.timestamp > nextTimestamp) return hasStrictOrder ? drop("timestamp-in-future") : FUTURE;
  if (batch.timestamp < nextTimestamp) return hasStrictOrder ? PAST : drop("timestamp-in-past");
  if (batch.parentHash !== undefined && batch.parentHash !== l2SafeHead.hash) return drop("parent-hash-mismatch");
  if (batch.epoch.number + config.seqWindowSize < inclusion.number) return drop("included-too-late");
  if (batch.epoch.number < epoch.number) return drop("epoch-too-old");
  if (batch.epoch.number > epoch.number + 1) return drop("epoch-too-new");
  const origin = batch.epoch.number === epoch.number ? epoch : nextEpoch;
  if (origin === undefined) return { kind: "undecided", reason: "next-origin-unknown" };
  if (batch.epoch.hash !== origin.hash) return drop("epoch-hash-mismatch");
  const hasAdvanced = origin !== epoch;
  return (
    checkTime(config, batch, origin, nextEpoch, hasAdvanced) ??
    checkTransactions(config, batch.timestamp, batch.transactions) ??
    ACCEPT
  );
}

/**
 * A block must not be older than its origin. A block beyond the sequencer drift must be empty, and is only valid if it could not
 * have adopted the next origin.
 *
 * @param nextOrigin the L1 block after `origin`; only used if the block did not advance the origin
 * @returns `undefined` if the time is valid
 */
export function checkTime(
  config: RollupConfig,
  block: { readonly timestamp: number; readonly transactions: readonly Uint8Array[] },
  origin: L1BlockRef,
  nextOrigin: L1BlockRef | undefined,
  hasAdvanced: boolean,
): BatchVerdict | undefined {
  if (block.timestamp < origin.timestamp) return drop("before-l1-origin");
  if (block.timestamp <= origin.timestamp + maxSequencerDriftSec(config, origin.timestamp)) return undefined;
  if (block.transactions.length > 0) return drop("exceeds-sequencer-drift");
  if (hasAdvanced) return undefined;
  if (nextOrigin === undefined) return { kind: "undecided", reason: "next-origin-unknown" };
  return block.timestamp >= nextOrigin.timestamp ? drop("must-advance-origin") : undefined;
}

/** @returns undefined if nothing is wrong */
export function checkTransactions(
  config: RollupConfig,
  timestampSec: number,
  transactions: readonly Uint8Array[],
): BatchVerdict | undefined {
  if (transactions.length === 0) return undefined;
  if (userTransactionsAt(config.forkTimes, timestampSec, timestampSec - config.blockTimeSec) === "forbidden") {
    return drop("transactions-in-activation-block");
  }
  const { acceptsSetCode, acceptsGasRefunds } = rollupRulesAt(config.forkTimes, timestampSec);
  for (const transaction of transactions) {
    if (transaction.length === 0) return drop("empty-transaction");
    if (isDepositTransaction(transaction)) return drop("deposit-transaction");
    if (transaction[0] === SET_CODE_TYPE && !acceptsSetCode) return drop("set-code-before-isthmus");
    if (isPostExecTransaction(transaction) && !acceptsGasRefunds) return drop("post-exec-before-lagoon");
  }
  return undefined;
}
