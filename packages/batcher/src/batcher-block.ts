import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import {
  blockFromRpc,
  encodeTransaction,
  hashHeader,
  isDepositTransaction,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type RollupConfig,
  type SpanBatchInput,
} from "@rnode/protocol";
import { BatcherError } from "./batcher-error.ts";

/** An L2 block as the batcher needs it. */
export interface BatcherBlock {
  readonly ref: L2BlockRef;
  readonly input: SpanBatchInput;
  /** bytes of its transactions without the deposits */
  readonly sizeBytes: number;
}

/**
 * A block of `eth_getBlockByNumber` with full transactions. Its hash and those of its transactions are recomputed.
 *
 * @throws {BatcherError} batcher/bad-answer; {CodedError} rpc-json/*, l1-info/*
 */
export function batcherBlockFromRpc(json: unknown, rollup: RollupConfig): BatcherBlock {
  const { header, hash, transactions } = blockFromRpc(json);
  if (!equalBytes(hashHeader(header), hash)) {
    throw new BatcherError("batcher/bad-answer", { reason: "block-hash", number: header.number, hash: bytesToHex(hash) });
  }
  const encoded = transactions.map(encodeTransaction);
  const ref = l2BlockRefFromPayload(rollup, {
    blockHash: hash,
    parentHash: header.parentHash,
    blockNumber: header.number,
    timestamp: header.timestamp,
    gasLimit: header.gasLimit,
    extraData: header.extraData,
    transactions: encoded,
  });
  const published = encoded.filter((transaction) => !isDepositTransaction(transaction));
  return {
    ref,
    input: {
      timestampSec: ref.timestamp,
      parentHash: header.parentHash,
      epochNumber: ref.l1Origin.number,
      epochHash: hexToBytes(ref.l1Origin.hash),
      sequenceNumber: ref.sequenceNumber,
      transactions: published,
    },
    sizeBytes: published.reduce((sum, transaction) => sum + transaction.length, 0),
  };
}
