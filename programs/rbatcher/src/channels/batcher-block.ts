import { hexToBytes } from "@rnode/primitives";
import {
  type DaBytes,
  daBytes,
  estimatedDaBytes,
  type HashedPayload,
  isDepositTransaction,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type RollupConfig,
  type SpanBatchInput,
  sumDaBytes,
} from "@rnode/protocol";

/** An L2 block in the form the batcher needs. */
export interface BatcherBlock {
  readonly ref: L2BlockRef;
  readonly input: SpanBatchInput;
  /** bytes of its transactions, without the deposits */
  readonly sizeBytes: number;
  /** estimated DA bytes, by the formula of the L1 data fee */
  readonly daBytes: DaBytes;
}

/** DA bytes of a block without transactions. */
const BLOCK_DA_BYTES = daBytes(70);

/** A block of the sequencer, without the parts that derivation knows anyway. @throws {CodedError} l1-info/* */
export function batcherBlock({ executionPayload }: HashedPayload, rollup: RollupConfig): BatcherBlock {
  const ref = l2BlockRefFromPayload(rollup, executionPayload);
  const published = executionPayload.transactions.filter((transaction) => !isDepositTransaction(transaction));
  return {
    ref,
    input: {
      timestampSec: ref.timestamp,
      parentHash: executionPayload.parentHash,
      epochNumber: ref.l1Origin.number,
      epochHash: hexToBytes(ref.l1Origin.hash),
      sequenceNumber: ref.sequenceNumber,
      transactions: published,
    },
    ...sizesOf(published),
  };
}

/** @param published the encoded transactions of a block, without the deposits */
export function sizesOf(published: readonly Uint8Array[]): Pick<BatcherBlock, "sizeBytes" | "daBytes"> {
  return {
    sizeBytes: published.reduce((sum, transaction) => sum + transaction.length, 0),
    daBytes: sumDaBytes([BLOCK_DA_BYTES, ...published.map(estimatedDaBytes)]),
  };
}
