import {
  CodedError,
  concatBytes,
  decodeRlpPrefix,
  encodeRlp,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  rlpUint,
} from "@rnode/primitives";
import { decodeSpanBatch, encodeSpanBatch, type SpanBatch } from "./span-batch.ts";

/** The transactions of one L2 block. Integers are u64, unchecked. Spec: docs/protocol/02-derivation.md#batch-encodings */
export interface SingularBatch {
  readonly kind: "singular";
  /** 32 bytes */
  readonly parentHash: Uint8Array;
  readonly epochNumber: bigint;
  /** 32 bytes */
  readonly epochHash: Uint8Array;
  readonly timestamp: bigint;
  /** EIP-2718 encoded, not checked */
  readonly transactions: readonly Uint8Array[];
}

export type Batch = SingularBatch | SpanBatch;

export type BatchErrorCode = "batch/empty" | "batch/unknown-type";

export const SINGULAR_BATCH_TYPE = 0;
export const SPAN_BATCH_TYPE = 1;

/**
 * Decodes a batch: type byte ‖ content, the content of an RLP string that is an element of a channel. Bytes after the content are
 * ignored.
 *
 * @throws {CodedError} batch/*, rlp/*, span-batch/*, cursor/*: the rest of the channel is dropped
 */
export function decodeBatch(bytes: Uint8Array): Batch {
  const type = bytes[0];
  if (type === undefined) throw new CodedError<BatchErrorCode>("batch/empty");
  if (type === SPAN_BATCH_TYPE) return decodeSpanBatch(bytes.subarray(1));
  if (type !== SINGULAR_BATCH_TYPE) throw new CodedError<BatchErrorCode>("batch/unknown-type", { type });
  const fields = expectRlpList(decodeRlpPrefix(bytes, 1).item, 5, 5);
  return {
    kind: "singular",
    parentHash: expectRlpString(fields[0], 32),
    epochNumber: expectRlpUint(fields[1], 8),
    epochHash: expectRlpString(fields[2], 32),
    timestamp: expectRlpUint(fields[3], 8),
    transactions: expectRlpList(fields[4]).map((transaction) => expectRlpString(transaction)),
  };
}

/** Type byte ‖ content. */
export function encodeBatch(batch: Batch): Uint8Array {
  if (batch.kind === "span") return concatBytes(Uint8Array.of(SPAN_BATCH_TYPE), encodeSpanBatch(batch));
  const content = encodeRlp([
    batch.parentHash,
    rlpUint(batch.epochNumber),
    batch.epochHash,
    rlpUint(batch.timestamp),
    batch.transactions,
  ]);
  return concatBytes(Uint8Array.of(SINGULAR_BATCH_TYPE), content);
}

/** An element of a channel: the RLP string of the batch. */
export function encodeChannelBatch(batch: Batch): Uint8Array {
  return encodeRlp(encodeBatch(batch));
}
