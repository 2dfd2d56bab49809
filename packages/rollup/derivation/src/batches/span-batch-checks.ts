import { equalBytes } from "@rnode/primitives";
import { derivationFactsAt, isDepositTransaction, type L2BlockRef, l2BlockRefFromPayload } from "@rnode/protocol";
import type { L2Provider } from "../l1/providers.ts";
import { DerivationError } from "../pipeline-types.ts";
import { derivationRules } from "../rules.ts";
import { type BatchContext, checkTime, checkTransactions } from "./batch-checks.ts";
import { ACCEPT, type BatchVerdict, drop, FUTURE, PAST } from "./batch-verdict.ts";
import type { SpanRead } from "./read-batch.ts";

type L2Blocks = Pick<L2Provider, "blockRefByNumber" | "payloadByNumber">;

/** The verdict on a span batch and, if it is accepted, the block that it builds on. */
interface PrefixCheck {
  readonly verdict: BatchVerdict;
  readonly parent?: L2BlockRef;
}

/**
 * Checks the span as a whole: rules 1 to 13 of docs/protocol/02-derivation.md#span-batch-checks, in their order.
 *
 * @throws rejections of the provider, or derivation/l2-block-missing: retry with the same batch
 */
export async function checkSpanPrefix(context: BatchContext, read: SpanRead, l2: L2Blocks): Promise<PrefixCheck> {
  const { config, l1Blocks, l2SafeHead, inclusion } = context;
  const { span } = read;
  const [epoch, nextEpoch] = l1Blocks;
  if (epoch === undefined) return { verdict: { kind: "undecided", reason: "no-l1-blocks" } };
  const startOrigin = span.firstEpochNumber === epoch.number + 1 ? nextEpoch : epoch;
  if (startOrigin === undefined) return { verdict: { kind: "undecided", reason: "next-origin-unknown" } };
  if (!derivationFactsAt(config.forkTimes, startOrigin.timestamp).allowsSpanBatches) return { verdict: drop("span-before-delta") };
  const { hasStrictOrder } = derivationRules(config, inclusion.timestamp);
  const nextTimestamp = l2SafeHead.timestamp + config.blockTimeSec;
  if (span.firstTimestamp > nextTimestamp) return { verdict: hasStrictOrder ? drop("timestamp-in-future") : FUTURE };
  if (span.lastTimestamp < nextTimestamp) return { verdict: hasStrictOrder ? PAST : drop("timestamp-in-past") };
  const distanceSec = l2SafeHead.timestamp - span.firstTimestamp;
  if (span.firstTimestamp < nextTimestamp && (distanceSec < 0 || distanceSec % config.blockTimeSec !== 0)) {
    return { verdict: drop("span-misaligned") };
  }
  const parentNumber = l2SafeHead.number - Math.floor(distanceSec / config.blockTimeSec) - 1;
  // A span that begins with the genesis block has no parent. Spec: dropped.
  if (parentNumber < config.genesis.l2.number) return { verdict: drop("span-misaligned") };
  const parent = parentNumber === l2SafeHead.number ? l2SafeHead : await l2.blockRefByNumber(parentNumber);
  if (parent === undefined) throw new DerivationError("derivation/l2-block-missing", { number: parentNumber });
  if (!parent.hash.startsWith(read.parentCheck)) return { verdict: drop("span-parent-mismatch") };
  if (span.firstEpochNumber + config.seqWindowSize < inclusion.number) return { verdict: drop("included-too-late") };
  if (span.firstEpochNumber > parent.l1Origin.number + 1) return { verdict: drop("epoch-too-new") };
  const endOrigin = l1Blocks.find(({ number }) => number === span.lastEpochNumber);
  if (endOrigin === undefined) return { verdict: { kind: "undecided", reason: "end-origin-unknown" } };
  if (!endOrigin.hash.startsWith(read.l1OriginCheck)) return { verdict: drop("span-origin-mismatch") };
  if (span.firstEpochNumber < parent.l1Origin.number) return { verdict: drop("epoch-too-old") };
  return { verdict: ACCEPT, parent };
}

/** Rules 1 to 15: before Holocene a span is accepted or dropped as a whole. @throws as `checkSpanPrefix` */
export async function checkWholeSpan(context: BatchContext, read: SpanRead, l2: L2Blocks): Promise<BatchVerdict> {
  const { verdict, parent } = await checkSpanPrefix(context, read, l2);
  if (parent === undefined) return verdict;
  const blocks = checkSpanBlocks(context, read, parent);
  return blocks.kind === "accept" ? checkSpanOverlap(context, read, parent, l2) : blocks;
}

/** Rule 14: checks every block after the safe head. */
function checkSpanBlocks(context: BatchContext, { span }: SpanRead, parent: L2BlockRef): BatchVerdict {
  const { config, l1Blocks, l2SafeHead } = context;
  let previousEpoch = parent.l1Origin.number;
  let originIndex = 0;
  for (const block of span.blocks()) {
    const hasAdvanced = block.epochNumber > previousEpoch;
    previousEpoch = block.epochNumber;
    if (block.timestamp <= l2SafeHead.timestamp) continue;
    if (block.epochNumber < l2SafeHead.l1Origin.number) return drop("epoch-too-old");
    while (originIndex < l1Blocks.length && l1Blocks[originIndex]!.number < block.epochNumber) originIndex++;
    const origin = l1Blocks[originIndex];
    if (origin?.number !== block.epochNumber) return drop("span-origin-missing");
    const verdict =
      checkTime(config, block, origin, l1Blocks[originIndex + 1], hasAdvanced) ??
      checkTransactions(config, block.timestamp, block.transactions);
    if (verdict !== undefined) return verdict;
  }
  return ACCEPT;
}

/**
 * Rule 15: the blocks of the span that are already in the safe chain must be the same there.
 *
 * @param parent the parent of the span's first block
 * @throws as `checkSpanPrefix`
 */
export async function checkSpanOverlap(
  { config, l2SafeHead }: BatchContext,
  { span }: SpanRead,
  parent: L2BlockRef,
  l2: L2Blocks,
): Promise<BatchVerdict> {
  let number = parent.number;
  for (const block of span.blocks()) {
    if (block.timestamp > l2SafeHead.timestamp) break;
    number++;
    const payload = await l2.payloadByNumber(number);
    if (payload === undefined) throw new DerivationError("derivation/l2-block-missing", { number });
    const safeTransactions = payload.transactions.filter((transaction) => !isDepositTransaction(transaction));
    const isSame =
      safeTransactions.length === block.transactions.length &&
      safeTransactions.every((transaction, i) => equalBytes(transaction, block.transactions[i]!)) &&
      l2BlockRefFromPayload(config, payload).l1Origin.number === block.epochNumber;
    if (!isSame) return drop("span-overlap-mismatch");
  }
  return ACCEPT;
}
