import { bigintToBytes, bytesToBigint, keccak256 } from "@rnode/primitives";
import { type Block, decodeHeader, encodeHeader, type Header, hashTransaction, type Receipt } from "@rnode/protocol";
import type { BlockContent, TransactionLocation } from "../api.ts";
import { ByteArena } from "../buffers/growable.ts";
import { sortedKeys } from "../buffers/key-table.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, readBlockNumber, readUint32, writeBlockNumber, writeUint32 } from "../database/keys.ts";
import type { Table } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { decodeBody, decodeReceipts, encodeBody, encodedTransactionsOf, encodeReceiptsRow } from "./block-rows.ts";

/** Only canonical blocks are stored, so the number alone identifies a row. */
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
  /** block → total difficulty; only for blocks with difficulty */
  readonly totalDifficulty: Table;
}

const ADDRESS_SIZE = 20;
const HASH_SIZE = 32;

/** Stores canonical blocks and the indices to find them. */
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

  /** The total difficulty up to and including the block; undefined if no block of the chain has any difficulty. */
  totalDifficulty(number: number): bigint | undefined {
    const row = this.#tables.totalDifficulty.lastUpTo(blockNumberKey(number));
    return row === undefined ? undefined : bytesToBigint(row.value);
  }

  write(batch: BlockBatch): void {
    for (const block of batch.blocks) this.#writeBlock(block, batch);
    const { transactions } = this.#tables;
    const hash = new Uint8Array(HASH_SIZE);
    const location = new Uint8Array(BLOCK_NUMBER_SIZE + 4);
    const { hashes, locations } = batch;
    // PERF: neighbouring keys are on the same page
    for (const place of sortedKeys(hashes.bytes, HASH_SIZE, hashes.size / HASH_SIZE)) {
      for (let i = 0; i < HASH_SIZE; i++) hash[i] = hashes.bytes[place * HASH_SIZE + i]!;
      for (let i = 0; i < location.length; i++) location[i] = locations.bytes[place * location.length + i]!;
      transactions.write(hash, location);
    }
  }

  #writeBlock({ number, difficulty, hash, at, ends }: BatchedBlock, batch: BlockBatch): void {
    const key = blockNumberKey(number);
    const tables = this.#tables;
    const { bytes } = batch.rows;
    let start = at;
    for (const [place, table] of [tables.headers, tables.bodies, tables.receipts, tables.senders].entries()) {
      table.write(key, bytes, ends[place]! - start, start);
      start = ends[place]!;
    }
    tables.canonical.write(key, hash);
    tables.numbers.write(hash, key);
    if (difficulty > 0n) {
      const before = this.totalDifficulty(number) ?? 0n;
      tables.totalDifficulty.write(key, bigintToBytes(before + difficulty));
    }
  }

  /** Removes the location if it is in this block. */
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

interface BatchedBlock {
  readonly number: number;
  readonly parentHash: Uint8Array;
  readonly hash: Uint8Array;
  readonly difficulty: bigint;
  /** the offset of the header in the rows, and the end offsets of header, body, receipts and senders */
  readonly at: number;
  readonly ends: readonly number[];
}

/** Rows of consecutive blocks. PERF: the bytes are kept in a few buffers, which are reused for the next group. */
export class BlockBatch {
  readonly blocks: BatchedBlock[] = [];
  readonly rows = new ByteArena();
  /** hashes of all transactions, 32 bytes each */
  readonly hashes = new ByteArena();
  /** block 6 ‖ index 4 for each transaction */
  readonly locations = new ByteArena();

  add(content: Omit<BlockContent, "storageRoots">): void {
    const { block, hash, encodedHeader, receipts, encodedReceipts, senders, encodedTransactions, transactionHashes } = content;
    const { number, parentHash, difficulty } = block.header;
    const { rows } = this;
    const at = rows.append(encodedHeader ?? encodeHeader(block.header));
    const ends = [rows.size];
    rows.append(encodeBody(block, encodedTransactions));
    ends.push(rows.size);
    rows.append(encodeReceiptsRow(receipts, encodedReceipts));
    ends.push(rows.size);
    for (const sender of senders) rows.append(sender);
    ends.push(rows.size);
    this.blocks.push({ number, parentHash, hash, difficulty, at, ends });
    for (let i = 0; i < block.transactions.length; i++) {
      this.hashes.append(transactionHashes?.[i] ?? hashTransaction(block.transactions[i]!));
      const locationAt = this.locations.reserve(BLOCK_NUMBER_SIZE + 4);
      writeBlockNumber(this.locations.bytes, locationAt, number);
      writeUint32(this.locations.bytes, locationAt + BLOCK_NUMBER_SIZE, i);
    }
  }

  /** Decodes the block that was added. */
  blockAt(index: number): Block {
    const { at, ends } = this.blocks[index]!;
    const row = (start: number, end: number): Uint8Array => this.rows.bytes.slice(start, end);
    return { header: decodeHeader(row(at, ends[0]!)), ...decodeBody(row(ends[0]!, ends[1]!)) };
  }

  clear(): void {
    this.blocks.length = 0;
    for (const part of [this.rows, this.hashes, this.locations]) part.clear();
  }
}
