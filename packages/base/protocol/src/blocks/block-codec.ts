import {
  CodedError,
  decodeRlp,
  encodeRlp,
  encodeRlpListOfEncoded,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  isCodedError,
  type RlpItem,
  type RlpSpan,
  readRlpSpan,
  rlpUint,
} from "@rnode/primitives";
import type { Transaction } from "../transactions/transaction.ts";
import { decodeTransaction, encodeTransaction } from "../transactions/transaction-codec.ts";
import type { Block, Withdrawal } from "./block.ts";
import { headerFromRlp, headerToRlp } from "./header-codec.ts";

export type BlockErrorCode = "block/malformed";

/** RLP of a block: [header, transactions, ommers, withdrawals?]; typed transactions are strings, legacy ones lists. */
export function encodeBlock(block: Block): Uint8Array {
  const parts = [
    encodeRlp(headerToRlp(block.header)),
    encodeRlpListOfEncoded(block.transactions.map(encodeTransactionAsItem)),
    encodeRlp(block.ommers.map(headerToRlp)),
  ];
  if (block.withdrawals !== undefined) parts.push(encodeRlp(block.withdrawals.map(withdrawalToRlp)));
  return encodeRlpListOfEncoded(parts);
}

function encodeTransactionAsItem(tx: Transaction): Uint8Array {
  const encoded = encodeTransaction(tx);
  return tx.type === 0x00 ? encoded : encodeRlp(encoded);
}

/**
 * Decodes a block of any fork that fills the whole input.
 *
 * @throws {CodedError} block/malformed, tx/*
 */
export function decodeBlock(encoded: Uint8Array): Block {
  const { block, end } = decodeBlockPrefix(encoded, 0);
  if (end !== encoded.length) {
    throw new CodedError<BlockErrorCode>("block/malformed", { reason: "rlp/trailing-bytes", count: encoded.length - end });
  }
  return block;
}

/** Decodes the block at `offset` of a stream of blocks; `end` is the position after it. @throws {CodedError} as `decodeBlock` */
export function decodeBlockPrefix(given: Uint8Array, offset: number): { block: Block; end: number } {
  // PERF: views of a Buffer are Buffers again, which cost twice as much as plain Uint8Arrays.
  const input = new Uint8Array(given.buffer, given.byteOffset, given.length);
  try {
    const outer = readRlpSpan(input, offset);
    const [headerSpan, transactionsSpan, ommersSpan, withdrawalsSpan, ...rest] = listChildren(input, outer);
    if (headerSpan === undefined || transactionsSpan === undefined || ommersSpan === undefined || rest.length > 0) {
      throw new CodedError<BlockErrorCode>("block/malformed", { reason: "rlp/wrong-item-count" });
    }
    const itemOf = (span: RlpSpan): RlpItem => decodeRlp(input.subarray(span.start, span.end));
    const block: Block = {
      header: headerFromRlp(itemOf(headerSpan)),
      transactions: listChildren(input, transactionsSpan).map((span) => decodeTransactionItem(input, span)),
      ommers: expectRlpList(itemOf(ommersSpan)).map(headerFromRlp),
      ...(withdrawalsSpan && { withdrawals: expectRlpList(itemOf(withdrawalsSpan)).map(withdrawalFromRlp) }),
    };
    return { block, end: outer.end };
  } catch (error) {
    if (isCodedError(error, "rlp/")) {
      throw new CodedError<BlockErrorCode>("block/malformed", { reason: error.message }, { cause: error });
    }
    throw error;
  }
}

function listChildren(input: Uint8Array, list: RlpSpan): RlpSpan[] {
  if (!list.isList) throw new CodedError<BlockErrorCode>("block/malformed", { reason: "rlp/expected-list" });
  const children: RlpSpan[] = [];
  for (let at = list.dataStart; at < list.end; ) {
    const child = readRlpSpan(input, at, list.end);
    children.push(child);
    at = child.end;
  }
  return children;
}

function decodeTransactionItem(input: Uint8Array, span: RlpSpan): Transaction {
  if (span.isList) return decodeTransaction(input.subarray(span.start, span.end));
  // A legacy transaction wrapped in a string is rejected, because it would be a second encoding of the same block.
  if ((input[span.dataStart] ?? 0xff) >= 0x80 || span.dataStart === span.end) {
    throw new CodedError<BlockErrorCode>("block/malformed", { reason: "transaction-envelope" });
  }
  return decodeTransaction(input.subarray(span.dataStart, span.end));
}

/** The encoding for the withdrawals root. */
export function encodeWithdrawal(withdrawal: Withdrawal): Uint8Array {
  return encodeRlp(withdrawalToRlp(withdrawal));
}

export function withdrawalToRlp(withdrawal: Withdrawal): RlpItem {
  return [rlpUint(withdrawal.index), rlpUint(withdrawal.validatorIndex), withdrawal.address, rlpUint(withdrawal.amount)];
}

/** @throws {CodedError} rlp/* */
export function withdrawalFromRlp(item: RlpItem): Withdrawal {
  const items = expectRlpList(item, 4, 4);
  return {
    index: expectRlpUint(items[0], 8),
    validatorIndex: expectRlpUint(items[1], 8),
    address: expectRlpString(items[2], 20),
    amount: expectRlpUint(items[3], 8),
  };
}
