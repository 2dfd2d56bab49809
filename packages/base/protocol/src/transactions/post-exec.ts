import { bytesToBigint, CodedError, encodeRlp, type RlpSpan, readRlpSpan, rlpUint } from "@rnode/primitives";
import type { PostExecTransaction, Transaction } from "./transaction.ts";

/** First byte of an encoded post-exec transaction. */
export const POST_EXEC_TRANSACTION_TYPE = 0x7d;

const VERSION = 1n;

/** Gas that a transaction of the block is refunded. */
export interface GasRefund {
  /** position in the block, deposits counted */
  readonly index: bigint;
  readonly gas: bigint;
}

/** The contents of a post-exec transaction. Spec: docs/protocol/01-execution.md#sequencer-defined-metering */
export interface PostExecPayload {
  /** number of the block that contains the transaction */
  readonly blockNumber: bigint;
  /** read anew from the encoding on each iteration, because a payload of 10 MB has millions */
  readonly refunds: Iterable<GasRefund>;
}

/** Gas refunds by the position of their transaction in the block. */
export type GasRefunds = ReadonlyMap<number, bigint>;

/** The refunds of a valid block. @param last its last transaction. @returns `undefined` if there are none */
export function gasRefundsOf(last: Transaction | undefined): GasRefunds | undefined {
  if (last?.type !== POST_EXEC_TRANSACTION_TYPE) return undefined;
  return new Map(Array.from(readPostExecPayload(last.data).refunds, ({ index, gas }) => [Number(index), gas]));
}

/** Whether an EIP-2718 encoded transaction is a post-exec transaction. */
export const isPostExecTransaction = (encoded: Uint8Array): boolean => encoded[0] === POST_EXEC_TRANSACTION_TYPE;

export function postExecTransaction({ blockNumber, refunds }: PostExecPayload): PostExecTransaction {
  const entries = Array.from(refunds, ({ index, gas }) => [rlpUint(index), rlpUint(gas)]);
  return ofData(encodeRlp([rlpUint(VERSION), rlpUint(blockNumber), entries]));
}

/**
 * Layout of `data`: RLP([version, blockNumber, [[index, gas], …]]), all integers, the version one byte and the others at most eight.
 * Whether the refunds are valid in their block is not checked here.
 *
 * @throws {CodedError} tx/malformed, rlp/*
 */
export function decodePostExec(data: Uint8Array): PostExecTransaction {
  const { entriesStart } = fieldsOf(data);
  for (let at = entriesStart; at < data.length; ) at = refundEnd(data, at);
  return ofData(data);
}

const ofData = (data: Uint8Array): PostExecTransaction => ({
  type: POST_EXEC_TRANSACTION_TYPE,
  gasLimit: 0n,
  to: undefined,
  value: 0n,
  data,
});

/** The payload of a transaction. @throws {CodedError} as `decodePostExec`, unless that has accepted the data */
export function readPostExecPayload(data: Uint8Array): PostExecPayload {
  const { blockNumber, entriesStart } = fieldsOf(data);
  return { blockNumber, refunds: { [Symbol.iterator]: () => readRefunds(data, entriesStart) } };
}

/** The entries fill the rest of `data`. */
function fieldsOf(data: Uint8Array): { readonly blockNumber: bigint; readonly entriesStart: number } {
  const payload = listAt(data, 0);
  const versionEnd = uintEnd(data, payload.dataStart, 1);
  const version = uintIn(data, payload.dataStart, versionEnd);
  if (version !== VERSION) throw malformed("version", versionEnd);
  const numberEnd = uintEnd(data, versionEnd, 8);
  const entries = listAt(data, numberEnd);
  return { blockNumber: uintIn(data, versionEnd, numberEnd), entriesStart: entries.dataStart };
}

function* readRefunds(data: Uint8Array, entriesStart: number): Generator<GasRefund, void> {
  for (let at = entriesStart; at < data.length; ) {
    const indexEnd = uintEnd(data, at + 1, 8);
    const end = refundEnd(data, at);
    yield { index: uintIn(data, at + 1, indexEnd), gas: uintIn(data, indexEnd, end) };
    at = end;
  }
}

/** A list that ends where `data` ends. */
function listAt(data: Uint8Array, start: number): RlpSpan {
  const span = readRlpSpan(data, start);
  if (!span.isList) throw malformed("no list", start);
  if (span.end !== data.length) throw malformed("trailing bytes", span.end);
  return span;
}

// PERF: no objects; a transaction of 10 MB has up to 3 million entries. Both integers take at most 18 bytes, so that an entry has the short
// form of a list.

/** Checks the entry at `at`. @returns where it ends */
function refundEnd(data: Uint8Array, at: number): number {
  const size = data[at]! - 0xc0;
  const gasEnd = uintEnd(data, uintEnd(data, at + 1, 8), 8);
  if (gasEnd !== at + 1 + size) throw malformed("entry", at);
  return gasEnd;
}

/** Checks the integer at `at`. @returns where it ends, at most at the end of `data` */
function uintEnd(data: Uint8Array, at: number, maxBytes: number): number {
  const prefix = data[at];
  if (prefix === undefined || prefix > 0x80 + maxBytes || prefix === 0) throw malformed("integer", at);
  if (prefix < 0x80) return at + 1;
  const size = prefix - 0x80;
  const end = at + 1 + size;
  if (end > data.length || (size > 0 && data[at + 1] === 0) || (size === 1 && data[at + 1]! < 0x80)) throw malformed("integer", at);
  return end;
}

const uintIn = (data: Uint8Array, at: number, end: number): bigint =>
  bytesToBigint(data.subarray(data[at]! < 0x80 ? at : at + 1, end));

const malformed = (reason: string, position: number): CodedError<"tx/malformed"> =>
  new CodedError<"tx/malformed">("tx/malformed", { reason: `post-exec: ${reason}`, position });
