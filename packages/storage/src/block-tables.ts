import { bigintToBytes, bytesToBigint, compareBytes, keccak256 } from "@rnode/primitives";
import { type Block, decodeHeader, encodeHeader, type Header, hashTransaction, type Receipt } from "@rnode/protocol";
import { decodeBody, decodeReceipts, encodeBody, encodedTransactionsOf, encodeReceipts } from "./block-rows.ts";
import type { BlockContent, TransactionLocation } from "./chain-store.ts";
import { storageError } from "./errors.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, readBlockNumber, readUint32, writeBlockNumber, writeUint32 } from "./keys.ts";
import type { Table } from "./table.ts";

/** Only canonical blocks are stored, so the number alone names a row. */
export interface BlockTableSet {
  /** block → RLP of the header */
  readonly headers: Table;
  /** block → transactions, ommers, withdrawals (block-rows.ts) */
  readonly bodies: Table;
  readonly receipts: Table;
  /** block → sender of each transaction, 20 bytes each */
  readonly senders: Table;
  /** block → hash */
  readonly canonical: Table;
  /** hash → block */
  readonly numbers: Table;
  /** transaction hash → block 6 ‖ index 4 */
  readonly transactions: Table;
  /** block → total difficulty; only blocks that add to it */
  readonly totalDifficulty: Table;
}

const ADDRESS_SIZE = 20;

/** Canonical blocks and the ways to find them. */
export class BlockTables {
  readonly #tables: BlockTableSet;

  constructor(tables: BlockTableSet) {
    this.#tables = tables;
  }

  canonicalHash(number: number): Uint8Array | undefined {
    return this.#tables.canonical.read(blockNumberKey(number));
  }

  numberOf(hash: Uint8Array): number | undefined {
    const row = this.#tables.numbers.peek(hash);
    return row === undefined ? undefined : readBlockNumber(row, 0);
  }

  header(number: number): Header | undefined {
    const row = this.#tables.headers.read(blockNumberKey(number));
    return row === undefined ? undefined : decodeHeader(row);
  }

  block(number: number): Block | undefined {
    const header = this.header(number);
    const body = this.#tables.bodies.read(blockNumberKey(number));
    return header === undefined || body === undefined ? undefined : { header, ...decodeBody(body) };
  }

  receipts(number: number): Receipt[] | undefined {
    const row = this.#tables.receipts.read(blockNumberKey(number));
    return row === undefined ? undefined : decodeReceipts(row);
  }

  senders(number: number): Uint8Array[] | undefined {
    const row = this.#tables.senders.read(blockNumberKey(number));
    if (row === undefined) return undefined;
    return Array.from({ length: row.length / ADDRESS_SIZE }, (_, i) => row.subarray(i * ADDRESS_SIZE, (i + 1) * ADDRESS_SIZE));
  }

  transactionLocation(hash: Uint8Array): TransactionLocation | undefined {
    const row = this.#tables.transactions.peek(hash);
    if (row === undefined) return undefined;
    const blockNumber = readBlockNumber(row, 0);
    const index = readUint32(row, BLOCK_NUMBER_SIZE);
    const blockHash = this.canonicalHash(blockNumber);
    if (blockHash === undefined)
      throw storageError("storage/corrupted", { row: `transaction of ${blockNumber}`, reason: "no such block" });
    return { blockNumber, blockHash, index };
  }

  /** Of the block and all before it; undefined when no block of the chain has any difficulty. */
  totalDifficulty(number: number): bigint | undefined {
    const row = this.#tables.totalDifficulty.lastUpTo(blockNumberKey(number));
    return row === undefined ? undefined : bytesToBigint(row.value);
  }

  write(commits: readonly BlockContent[]): void {
    const locations: { readonly hash: Uint8Array; readonly location: Uint8Array }[] = [];
    for (const commit of commits) {
      this.#writeBlock(commit);
      const { block, transactionHashes } = commit;
      for (let i = 0; i < block.transactions.length; i++) {
        const location = new Uint8Array(BLOCK_NUMBER_SIZE + 4);
        writeBlockNumber(location, 0, block.header.number);
        writeUint32(location, BLOCK_NUMBER_SIZE, i);
        locations.push({ hash: transactionHashes?.[i] ?? hashTransaction(block.transactions[i]!), location });
      }
    }
    locations.sort((a, b) => compareBytes(a.hash, b.hash)); // PERF: neighbours lie on the same page
    for (const { hash, location } of locations) this.#tables.transactions.write(hash, location);
  }

  #writeBlock({ block, hash, receipts, senders, encodedTransactions }: BlockContent): void {
    const { number, difficulty } = block.header;
    const key = blockNumberKey(number);
    const tables = this.#tables;
    tables.headers.write(key, encodeHeader(block.header));
    tables.bodies.write(key, encodeBody(block, encodedTransactions));
    tables.receipts.write(key, encodeReceipts(receipts));
    const senderRow = new Uint8Array(senders.length * ADDRESS_SIZE);
    for (let i = 0; i < senders.length; i++) senderRow.set(senders[i]!, i * ADDRESS_SIZE);
    tables.senders.write(key, senderRow);
    tables.canonical.write(key, hash);
    tables.numbers.write(hash, key);
    if (difficulty > 0n) {
      const before = this.totalDifficulty(number) ?? 0n;
      tables.totalDifficulty.write(key, bigintToBytes(before + difficulty));
    }
  }

  /** If it is one of this block. */
  removeTransactionLocation(hash: Uint8Array, number: number): void {
    const row = this.#tables.transactions.peek(hash);
    if (row !== undefined && readBlockNumber(row, 0) === number) this.#tables.transactions.delete(hash);
  }

  remove(number: number): void {
    const key = blockNumberKey(number);
    const tables = this.#tables;
    const hash = tables.canonical.read(key);
    const body = tables.bodies.read(key);
    if (hash === undefined || body === undefined)
      throw storageError("storage/corrupted", { row: `block ${number}`, reason: "missing" });
    for (const encoded of encodedTransactionsOf(body)) tables.transactions.delete(keccak256(encoded));
    tables.numbers.delete(hash);
    for (const table of [
      tables.headers,
      tables.bodies,
      tables.receipts,
      tables.senders,
      tables.canonical,
      tables.totalDifficulty,
    ]) {
      table.delete(key);
    }
  }
}
