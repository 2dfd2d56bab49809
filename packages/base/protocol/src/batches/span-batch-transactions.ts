import {
  bytesToBigint,
  CodedError,
  concatBytes,
  decodeRlp,
  EMPTY_BYTES,
  encodeRlp,
  encodeRlpListOfEncoded,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  isCodedError,
  padBytesLeft,
  readRlpSpan,
  rlpUint,
  trimBytesLeft,
  ZERO_HASH,
} from "@rnode/primitives";
import { type ByteCursor, encodeBitlist, encodeUvarint, joinBytes } from "../params/byte-cursor.ts";
import { decodePostExec, isPostExecTransaction } from "../transactions/post-exec.ts";
import { readTransaction } from "../transactions/transaction-codec.ts";

export type SpanBatchErrorCode =
  | "span-batch/no-blocks"
  | "span-batch/too-large"
  | "span-batch/block-mismatch"
  /** a transaction column is malformed: the rest of the channel is dropped */
  | "span-batch/bad-transaction-data"
  /** the columns are well-formed but a transaction is not: only this batch is dropped */
  | "span-batch/bad-transaction"
  /** a transaction that a span batch cannot hold */
  | "span-batch/unsupported-transaction";

/** The maximum number of blocks, of transactions, and of data bytes of a transaction in a span batch. */
export const MAX_SPAN_BATCH_ELEMENTS = 10_000_000;

/** A transaction of a span batch: one row of the columns on the wire. */
export interface SpanTransaction {
  /** 20 bytes; undefined creates a contract */
  readonly to: Uint8Array | undefined;
  readonly yParity: boolean;
  /** 32 bytes */
  readonly r: Uint8Array;
  /** 32 bytes */
  readonly s: Uint8Array;
  /** the remaining fields: an RLP list, after the type byte of a typed transaction */
  readonly data: Uint8Array;
  readonly nonce: bigint;
  readonly gasLimit: bigint;
  /** legacy transactions: whether it was signed for a chain id (EIP-155) */
  readonly isProtected: boolean;
}

export type SpanTransactions = readonly SpanTransaction[];

const LEGACY = 0;

/** The type according to the first byte of a row's `data`. A typed transaction of type 0 counts as legacy and cannot be rebuilt. */
function typeOf(data: Uint8Array): number {
  return data[0]! >= 0xc0 ? LEGACY : data[0]!;
}

/**
 * Reads the columns of `total` transactions: contract_creation_bits ‖ y_parity_bits ‖ tx_sigs ‖ tx_tos ‖ tx_datas ‖ tx_nonces ‖
 * tx_gases ‖ protected_bits.
 *
 * @throws {CodedError} span-batch/bad-transaction-data, rlp/*, cursor/*
 */
export function decodeSpanTransactions(cursor: ByteCursor, total: number): SpanTransaction[] {
  const creations = cursor.bitlist(total);
  const parities = cursor.bitlist(total);
  const signatures = cursor.take(total * 64);
  const tos = creations.map((isCreation) => (isCreation ? undefined : cursor.take(20)));
  const datas = Array.from({ length: total }, () => takeTransactionData(cursor));
  const nonces = Array.from({ length: total }, () => cursor.uvarint());
  const gasLimits = Array.from({ length: total }, () => cursor.uvarint());
  const isLegacy = datas.map((data) => typeOf(data) === LEGACY);
  const protectedBits = cursor.bitlist(isLegacy.reduce((sum, legacy) => sum + (legacy ? 1 : 0), 0));
  let legacyAt = 0;
  return datas.map((data, i) => ({
    to: tos[i],
    yParity: parities[i]!,
    r: signatures.subarray(64 * i, 64 * i + 32),
    s: signatures.subarray(64 * i + 32, 64 * i + 64),
    data,
    nonce: nonces[i]!,
    gasLimit: gasLimits[i]!,
    isProtected: isLegacy[i]! ? protectedBits[legacyAt++]! : true,
  }));
}

function takeTransactionData(cursor: ByteCursor): Uint8Array {
  const start = cursor.position;
  const listAt = cursor.byte() <= 0x7f ? start + 1 : start;
  const limit = Math.min(cursor.input.length, listAt + MAX_SPAN_BATCH_ELEMENTS);
  const span = readRlpSpan(cursor.input, listAt, limit);
  if (!span.isList) throw new CodedError<SpanBatchErrorCode>("span-batch/bad-transaction-data", { position: start });
  cursor.position = span.end;
  return cursor.input.subarray(start, span.end);
}

/** Whether a row has a place in protected_bits. */
export function isLegacySpanTransaction(data: Uint8Array): boolean {
  return typeOf(data) === LEGACY;
}

export function encodeSpanTransactions(transactions: SpanTransactions): Uint8Array {
  return joinBytes([
    encodeBitlist(transactions.map(({ to }) => to === undefined)),
    encodeBitlist(transactions.map(({ yParity }) => yParity)),
    ...transactions.flatMap(({ r, s }) => [r, s]),
    ...transactions.map(({ to }) => to ?? EMPTY_BYTES),
    ...transactions.map(({ data }) => data),
    ...transactions.map(({ nonce }) => encodeUvarint(nonce)),
    ...transactions.map(({ gasLimit }) => encodeUvarint(gasLimit)),
    encodeBitlist(transactions.filter(({ data }) => typeOf(data) === LEGACY).map(({ isProtected }) => isProtected)),
  ]);
}

/** The number of items in a row's `data` list, by transaction type. */
const DATA_FIELDS: Readonly<Record<number, number>> = { 0: 3, 1: 4, 2: 5, 4: 6 };

/**
 * The transactions in their EIP-2718 form. Each is decoded again, which checks all rules of its type. A post-exec transaction is only checked
 * to be a list, as in op-node: a block with an invalid one is replaced, its batch is not dropped.
 *
 * @throws {CodedError} span-batch/bad-transaction: an unknown type, or an invalid transaction of its type
 */
export function rebuildSpanTransactions(transactions: SpanTransactions, chainId: bigint): Uint8Array[] {
  return transactions.map((transaction, index) => {
    if (isPostExecTransaction(transaction.data)) return transaction.data;
    try {
      const encoded = rebuild(transaction, chainId);
      readTransaction(encoded);
      return encoded;
    } catch (error) {
      if (!isCodedError(error, "rlp/") && !isCodedError(error, "tx/")) throw error;
      throw new CodedError<SpanBatchErrorCode>("span-batch/bad-transaction", { index }, { cause: error });
    }
  });
}

function rebuild(transaction: SpanTransaction, chainId: bigint): Uint8Array {
  const { data } = transaction;
  const isLegacy = data[0]! >= 0xc0;
  const type = isLegacy ? LEGACY : data[0]!;
  const fieldCount = DATA_FIELDS[type];
  if (fieldCount === undefined || (!isLegacy && type === LEGACY)) {
    throw new CodedError<SpanBatchErrorCode>("span-batch/bad-transaction", { type });
  }
  const fields = expectRlpList(decodeRlp(isLegacy ? data : data.subarray(1)), fieldCount, fieldCount);
  const value = fields[0]!;
  const nonce = rlpUint(transaction.nonce);
  const gasLimit = rlpUint(transaction.gasLimit);
  const to = transaction.to ?? EMPTY_BYTES;
  const parity = transaction.yParity ? 1n : 0n;
  const r = trimBytesLeft(transaction.r);
  const s = trimBytesLeft(transaction.s);
  if (isLegacy) {
    const v = parity + (transaction.isProtected ? 35n + 2n * chainId : 27n);
    return encodeRlp([nonce, fields[1]!, gasLimit, to, value, fields[2]!, rlpUint(v), r, s]);
  }
  // Prices come before the gas limit; everything else comes after `to` and `value`.
  const prices = fields.slice(1, type === 1 ? 2 : 3);
  const rest = fields.slice(type === 1 ? 2 : 3);
  const list = encodeRlp([rlpUint(chainId), nonce, ...prices, gasLimit, to, value, ...rest, rlpUint(parity), r, s]);
  return concatBytes(Uint8Array.of(type), list);
}

export const emptySpanTransactions = (): SpanTransaction[] => [];

/** Positions in a signed transaction's RLP list. */
const LAYOUTS: Readonly<
  Record<number, { length: number; nonce: number; gasLimit: number; to: number; data: readonly number[]; v: number }>
> = {
  0: { length: 9, nonce: 0, gasLimit: 2, to: 3, data: [4, 1, 5], v: 6 },
  1: { length: 11, nonce: 1, gasLimit: 3, to: 4, data: [5, 2, 6, 7], v: 8 },
  2: { length: 12, nonce: 1, gasLimit: 4, to: 5, data: [6, 2, 3, 7, 8], v: 9 },
  4: { length: 13, nonce: 1, gasLimit: 4, to: 5, data: [6, 2, 3, 7, 8, 9], v: 10 },
};

/**
 * Appends an EIP-2718 encoded transaction as a row.
 *
 * @throws {CodedError} span-batch/unsupported-transaction
 */
export function addSpanTransaction(transactions: SpanTransaction[], encoded: Uint8Array, chainId: bigint): void {
  try {
    transactions.push(toRow(encoded, chainId));
  } catch (error) {
    if (!isCodedError(error, "rlp/") && !isCodedError(error, "bytes/") && !isCodedError(error, "tx/")) throw error;
    throw new CodedError<SpanBatchErrorCode>("span-batch/unsupported-transaction", {}, { cause: error });
  }
}

const ZERO_SIGNATURE = { yParity: false, r: ZERO_HASH, s: ZERO_HASH } as const;

/** Its columns besides `data` are 0. Readers ignore them. */
function postExecRow(encoded: Uint8Array): SpanTransaction {
  decodePostExec(encoded.subarray(1));
  return { to: undefined, ...ZERO_SIGNATURE, data: encoded, nonce: 0n, gasLimit: 0n, isProtected: true };
}

function toRow(encoded: Uint8Array, chainId: bigint): SpanTransaction {
  if (isPostExecTransaction(encoded)) return postExecRow(encoded);
  const isLegacy = encoded.length > 0 && encoded[0]! >= 0xc0;
  const type = isLegacy ? LEGACY : (encoded[0] ?? -1);
  const layout = isLegacy || type !== LEGACY ? LAYOUTS[type] : undefined;
  const unsupported = (what: string) => new CodedError<SpanBatchErrorCode>("span-batch/unsupported-transaction", { type, what });
  if (layout === undefined) throw unsupported("type");
  const payload = isLegacy ? encoded : encoded.subarray(1);
  const fields = expectRlpList(decodeRlp(payload), layout.length, layout.length);
  const v = expectRlpUint(fields[layout.v], 32);
  const signedChainId = isLegacy ? (v >= 35n ? (v - 35n) / 2n : undefined) : expectRlpUint(fields[0], 32);
  if (signedChainId !== undefined && signedChainId !== chainId) throw unsupported("chain id");
  const parity = isLegacy ? (signedChainId === undefined ? v - 27n : (v - 35n) % 2n) : v;
  if (parity !== 0n && parity !== 1n) throw unsupported("v");
  const to = expectRlpString(fields[layout.to]);
  if (to.length !== 0 && to.length !== 20) throw unsupported("to");
  const list = encodeRlpListOfEncoded(layout.data.map((index) => encodeRlp(fields[index]!)));
  return {
    to: to.length === 0 ? undefined : to,
    yParity: parity === 1n,
    r: padBytesLeft(expectRlpString(fields[layout.v + 1]), 32),
    s: padBytesLeft(expectRlpString(fields[layout.v + 2]), 32),
    data: isLegacy ? list : concatBytes(Uint8Array.of(type), list),
    nonce: bytesToBigint(expectRlpString(fields[layout.nonce])),
    gasLimit: bytesToBigint(expectRlpString(fields[layout.gasLimit])),
    isProtected: signedChainId !== undefined,
  };
}
