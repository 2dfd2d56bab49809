import type { VerifiedPayload } from "@rnode/engine-client";
import { hexToBytes } from "@rnode/primitives";
import {
  estimatedDaSize,
  isDepositTransaction,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type RollupConfig,
  type SpanBatchInput,
} from "@rnode/protocol";

/** An L2 block in the form the batcher needs. */
export interface BatcherBlock {
  readonly ref: L2BlockRef;
  readonly input: SpanBatchInput;
  /** bytes of its transactions, without the deposits */
  readonly sizeBytes: number;
  /** their size on L1, as the fee of a transaction estimates it */
  readonly daBytes: number;
}

/** What a block costs without its transactions. */
const BLOCK_DA_BYTES = 70;

/** A block of the sequencer, without the parts that derivation knows anyway. @throws {CodedError} l1-info/* */
export function batcherBlock({ executionPayload }: VerifiedPayload, rollup: RollupConfig): BatcherBlock {
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
    sizeBytes: published.reduce((sum, transaction) => sum + transaction.length, 0),
    daBytes: published.reduce((sum, transaction) => sum + Number(estimatedDaSize(transaction)), BLOCK_DA_BYTES),
  };
}
