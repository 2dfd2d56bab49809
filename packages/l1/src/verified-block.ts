import type { L1BlockHeader } from "@rnode/derivation";
import { bytesToHex, equalBytes, type Hex, hexToFixedBytes, isCodedError } from "@rnode/primitives";
import {
  encodeTransaction,
  type Header,
  hashHeader,
  hashTransaction,
  headerFromRpc,
  type Transaction,
  transactionFromRpc,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { faultyAnswer } from "./l1-error.ts";

export interface L1Block {
  readonly hash: Hex;
  readonly header: Header;
  readonly ref: L1BlockHeader;
  /** 32 bytes each; unverified until `transactions` or the receipts are read */
  readonly transactionHashes: readonly Uint8Array[];
}

export interface L1BlockWithTransactions extends L1Block {
  readonly transactions: readonly Transaction[];
}

interface BlockJson {
  readonly hash: unknown;
  readonly transactions: readonly unknown[];
}

function asBlockJson(json: unknown): BlockJson {
  const { hash, transactions } = json as { hash?: unknown; transactions?: unknown };
  if (!Array.isArray(transactions)) throw faultyAnswer("block without a transaction list");
  return { hash, transactions };
}

/** Turns whatever a malformed answer makes the parsers throw into one error: the endpoint is at fault, not this program. */
export function readAnswer<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isCodedError(cause)) throw cause;
    if (cause.code.startsWith("l1/")) throw cause;
    throw faultyAnswer(what, { cause: cause.message });
  }
}

/**
 * Header of a block object, its hash recomputed from the fields (taken from the object when `trust`).
 *
 * @throws {L1Error} l1/faulty-answer
 */
export function verifyBlockJson(json: unknown, trust: boolean, expected: { hash?: Hex; number?: number } = {}): L1Block {
  return readAnswer("block", () => {
    const { hash: stated, transactions } = asBlockJson(json);
    const header = headerFromRpc(json);
    if (typeof stated !== "string") throw faultyAnswer("block without a hash");
    const statedHash = hexToFixedBytes(stated, 32);
    const hash = bytesToHex(trust ? statedHash : hashHeader(header));
    if (hash !== bytesToHex(statedHash)) {
      throw faultyAnswer("block hash", { number: header.number, stated: bytesToHex(statedHash), computed: hash });
    }
    if (expected.hash !== undefined && hash !== expected.hash) {
      throw faultyAnswer("another block than asked for", { asked: expected.hash, got: hash });
    }
    if (expected.number !== undefined && header.number !== expected.number) {
      throw faultyAnswer("another block than asked for", { asked: expected.number, got: header.number });
    }
    return { hash, header, ref: refOf(hash, header), transactionHashes: transactions.map(transactionHashOf) };
  });
}

function refOf(hash: Hex, header: Header): L1BlockHeader {
  return {
    hash,
    number: header.number,
    parentHash: bytesToHex(header.parentHash),
    timestamp: header.timestamp,
    baseFeePerGas: header.baseFeePerGas ?? 0n,
    mixHash: header.mixHash,
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
    excessBlobGas: header.excessBlobGas,
  };
}

function transactionHashOf(entry: unknown): Uint8Array {
  const hash = typeof entry === "string" ? entry : (entry as { hash?: unknown } | null)?.hash;
  if (typeof hash !== "string") throw faultyAnswer("transaction without a hash");
  return hexToFixedBytes(hash, 32);
}

/**
 * A block object with full transactions: header as in `verifyBlockJson`, the transactions against the header's transactions root.
 *
 * @throws {L1Error} l1/faulty-answer
 */
export function verifyFullBlockJson(
  json: unknown,
  trust: boolean,
  expected: { hash?: Hex; number?: number } = {},
): L1BlockWithTransactions {
  const block = verifyBlockJson(json, trust, expected);
  return readAnswer("transactions", () => {
    const transactions = asBlockJson(json).transactions.map(transactionFromRpc);
    if (trust) return { ...block, transactions };
    const root = orderedTrieRoot(transactions.map(encodeTransaction));
    if (!equalBytes(root, block.header.transactionsRoot)) {
      throw faultyAnswer("transactions root", {
        block: block.hash,
        stated: bytesToHex(block.header.transactionsRoot),
        computed: bytesToHex(root),
      });
    }
    return { ...block, transactions, transactionHashes: transactions.map(hashTransaction) };
  });
}
