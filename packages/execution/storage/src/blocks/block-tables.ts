import { bigintToBytes, bytesToBigint, concatBytes, decodeRlp, equalBytes } from "@rnode/primitives";
import {
  type Block,
  decodeHeader,
  decodeTransaction,
  encodeHeader,
  encodeTransaction,
  type Header,
  hashTransaction,
  noteTransactionHash,
  type Receipt,
} from "@rnode/protocol";
import type { BlockContent, TransactionLocation } from "../api.ts";
import { ByteArena } from "../buffers/growable.ts";
import { sortedKeys } from "../buffers/key-table.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, readBlockNumber, readUint32, writeBlockNumber, writeUint32 } from "../database/keys.ts";
import type { Table } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { type BlockPart, BlockParts, type RowSource } from "./block-parts.ts";
import { decodeRest, encodeReceiptsRow, encodeRest, receiptFromRlp } from "./block-rows.ts";
import { BlockPacker } from "./packed-block.ts";
import { rlpEnd } from "./rlp-walk.ts";

/** Only canonical blocks are stored, so the number alone identifies a row. */
export interface BlockTableSet {
  /** block → RLP of the header */
  readonly headers: Table;
  /** block → transactions, their hashes, ommers, withdrawals (packed-block.ts) */
  readonly bodies: Table;
  /** block → receipts (packed-block.ts) */
  readonly receipts: Table;
  /** block → sender of each transaction, 20 bytes each */
  readonly senders: Table;
  /** block → hash */
  readonly canonical: Table;
  /** hash → block */
  readonly numbers: Table;
  /** first 8 bytes of the transaction hash → block 6 ‖ index 4; the whole hash, if another transaction has the same 8 bytes */
  readonly transactions: Table;
  /** block → total difficulty; only for blocks with difficulty */
  readonly totalDifficulty: Table;
}

const ADDRESS_SIZE = 20;
const HASH_SIZE = 32;
/** Of a hash, in the key of a transaction. A transaction that is found is compared with the whole hash. */
const SHORT_HASH_SIZE = 8;
const LOCATION_SIZE = BLOCK_NUMBER_SIZE + 4;

/** Stores canonical blocks and the indices to find them. */
export class BlockTables {
  readonly #tables: BlockTableSet;
  readonly #rows: StoredRows;
  /** the result of `openParts` */
  readonly #shown = new BlockParts();
  /** for reading whole blocks without closing the result of `openParts` */
  readonly #parts = new BlockParts();

  constructor(tables: BlockTableSet, folder: string) {
    this.#tables = tables;
    this.#rows = new StoredRows(tables, folder);
  }

  /** @param hasReceipts false: they were pruned. @returns always the same object, which shows this block until the next call */
  openParts(number: number, hash: Uint8Array, hasReceipts: boolean): BlockParts | undefined {
    return this.#shown.open(this.#rows, number, hash, hasReceipts) ? this.#shown : undefined;
  }

  #open(number: number, hasReceipts: boolean): BlockParts | undefined {
    return this.#parts.open(this.#rows, number, NO_HASH, hasReceipts) ? this.#parts : undefined;
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
    const parts = header === undefined ? undefined : this.#open(number, false);
    return header === undefined || parts === undefined ? undefined : { header, ...decodeBody(parts) };
  }

  receipts(number: number): Receipt[] | undefined {
    if (!this.#tables.receipts.has(blockNumberKey(number))) return undefined;
    const parts = this.#open(number, true);
    if (parts === undefined) return undefined;
    const receipts: Receipt[] = [];
    for (let index = 0; index < parts.count; index++) {
      parts.seekReceipt(index);
      const { bytes, receiptAt } = parts;
      receipts.push(receiptFromRlp(decodeRlp(bytes.slice(receiptAt, rlpEnd(bytes, receiptAt)))));
    }
    return receipts;
  }

  /** Hashes of the transactions of a block; `undefined`: no such block. */
  transactionHashes(number: number): Uint8Array[] | undefined {
    const parts = this.#open(number, false);
    return parts && Array.from({ length: parts.count }, (_, index) => parts.transactionHash(index));
  }

  senders(number: number): Uint8Array[] | undefined {
    const row = this.#tables.senders.read(blockNumberKey(number));
    if (row === undefined) return undefined;
    return Array.from({ length: row.length / ADDRESS_SIZE }, (_, i) => row.subarray(i * ADDRESS_SIZE, (i + 1) * ADDRESS_SIZE));
  }

  transactionLocation(hash: Uint8Array): TransactionLocation | undefined {
    const { transactions } = this.#tables;
    const found = locationIn(transactions.peek(shortHash(hash)));
    const location = found !== undefined && this.#isAt(found, hash) ? found : locationIn(transactions.peek(hash));
    if (location === undefined) return undefined;
    const blockHash = this.canonicalHash(location.blockNumber);
    if (blockHash === undefined)
      throw storageError("storage/corrupted", { row: `transaction of ${location.blockNumber}`, reason: "no such block" });
    return { ...location, blockHash };
  }

  /** Whether it is this transaction's place. */
  #isAt({ blockNumber, index }: Place, hash: Uint8Array): boolean {
    const parts = this.#open(blockNumber, false);
    return parts !== undefined && index < parts.count && equalBytes(parts.transactionHash(index), hash);
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
    const short = hash.subarray(0, SHORT_HASH_SIZE);
    const location = new Uint8Array(LOCATION_SIZE);
    const { hashes, locations } = batch;
    // PERF: neighbouring keys are on the same page
    for (const place of sortedKeys(hashes.bytes, HASH_SIZE, hashes.size / HASH_SIZE)) {
      for (let i = 0; i < HASH_SIZE; i++) hash[i] = hashes.bytes[place * HASH_SIZE + i]!;
      for (let i = 0; i < location.length; i++) location[i] = locations.bytes[place * location.length + i]!;
      const other = locationIn(transactions.peek(short));
      transactions.write(other === undefined || this.#isAt(other, hash) ? short : hash, location);
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

  /** Removes the location of a transaction, if it is this one. */
  removeTransactionLocation(hash: Uint8Array, number: number, index: number): void {
    const { transactions } = this.#tables;
    for (const key of [shortHash(hash), hash]) {
      const found = locationIn(transactions.peek(key));
      if (found?.blockNumber === number && found.index === index) transactions.delete(key);
    }
  }

  remove(number: number): void {
    const key = blockNumberKey(number);
    const tables = this.#tables;
    const hash = tables.canonical.read(key);
    const hashes = this.transactionHashes(number);
    if (hash === undefined || hashes === undefined)
      throw storageError("storage/corrupted", { row: `block ${number}`, reason: "missing" });
    for (const [index, transactionHash] of hashes.entries()) this.removeTransactionLocation(transactionHash, number, index);
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

const NO_HASH = new Uint8Array(HASH_SIZE);

type Place = Omit<TransactionLocation, "blockHash">;

const shortHash = (hash: Uint8Array): Uint8Array => hash.subarray(0, SHORT_HASH_SIZE);

function locationIn(row: Uint8Array | undefined): Place | undefined {
  return row && { blockNumber: readBlockNumber(row, 0), index: readUint32(row, BLOCK_NUMBER_SIZE) };
}

/** Transactions, ommers and withdrawals, decoded; the bytes of the transactions are in one array. */
export function decodeBody(parts: BlockParts): Omit<Block, "header"> {
  const arena = new ByteArena();
  const ends: number[] = [];
  for (let index = 0; index < parts.count; index++) {
    parts.seekTransaction(index);
    arena.append(parts.bytes.subarray(parts.transactionAt, parts.transactionEnd));
    ends.push(arena.size);
  }
  const bytes = arena.bytes.slice(0, arena.size);
  const transactions = ends.map((end, index) => {
    const transaction = decodeTransaction(bytes.subarray(ends[index - 1] ?? 0, end));
    noteTransactionHash(transaction, parts.transactionHash(index));
    return transaction;
  });
  return { transactions, ...decodeRest(parts.rest) };
}

/** The rows of stored blocks. */
class StoredRows implements RowSource {
  readonly folder: string;
  readonly #tables: BlockTableSet;

  constructor(tables: BlockTableSet, folder: string) {
    this.#tables = tables;
    this.folder = folder;
  }

  row(part: BlockPart, number: number): Uint8Array | undefined {
    return this.#tables[ROW_TABLES[part]].peek(blockNumberKey(number));
  }
}

const ROW_TABLES = { header: "headers", body: "bodies", receipts: "receipts", senders: "senders" } as const satisfies Record<
  BlockPart,
  string
>;

/** A block that is not stored, as its rows would show it. */
export function partsOfBlock(content: Pick<BlockContent, "block" | "hash" | "receipts" | "senders">): BlockParts {
  const { block, hash, receipts, senders } = content;
  const packed = new BlockPacker(false).pack({
    encodedTransactions: block.transactions.map(encodeTransaction),
    transactionHashes: block.transactions.map(hashTransaction),
    rest: encodeRest(block),
    receipts: encodeReceiptsRow(receipts),
    senders,
  });
  const rows: Record<BlockPart, Uint8Array> = {
    header: encodeHeader(block.header),
    body: packed.body,
    receipts: packed.receipts!,
    senders: concatBytes(...senders),
  };
  const parts = new BlockParts();
  parts.open({ folder: "", row: (part) => rows[part] }, block.header.number, hash, true);
  return parts;
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
  readonly #packer = new BlockPacker();
  readonly #parts = new BlockParts();

  add(content: Omit<BlockContent, "storageRoots">): void {
    const { block, hash, encodedHeader, receipts, encodedReceipts, senders, encodedTransactions } = content;
    const { number, parentHash, difficulty } = block.header;
    const { rows } = this;
    const at = rows.append(encodedHeader ?? encodeHeader(block.header));
    const ends = [rows.size];
    const transactionHashes = content.transactionHashes ?? block.transactions.map(hashTransaction);
    const hasHistory = encodedReceipts !== undefined || receipts.length === block.transactions.length;
    const packed = this.#packer.pack({
      encodedTransactions: encodedTransactions ?? block.transactions.map(encodeTransaction),
      transactionHashes,
      rest: encodeRest(block),
      receipts: hasHistory ? encodeReceiptsRow(receipts, encodedReceipts) : undefined,
      senders: hasHistory ? senders : [],
    });
    rows.append(packed.body);
    ends.push(rows.size);
    if (packed.receipts !== undefined) rows.append(packed.receipts);
    ends.push(rows.size);
    for (const sender of senders) rows.append(sender);
    ends.push(rows.size);
    this.blocks.push({ number, parentHash, hash, difficulty, at, ends });
    if (!hasHistory) return; // then transactions are not found by hash
    for (let i = 0; i < block.transactions.length; i++) {
      this.hashes.append(transactionHashes[i]!);
      const locationAt = this.locations.reserve(LOCATION_SIZE);
      writeBlockNumber(this.locations.bytes, locationAt, number);
      writeUint32(this.locations.bytes, locationAt + BLOCK_NUMBER_SIZE, i);
    }
  }

  /** Decodes the block that was added. */
  blockAt(index: number): Block {
    const { at, ends } = this.blocks[index]!;
    const { bytes } = this.rows;
    const body = bytes.subarray(ends[0]!, ends[1]!);
    this.#parts.open({ folder: "", row: () => body }, 0, NO_HASH, false);
    return { header: decodeHeader(bytes.slice(at, ends[0]!)), ...decodeBody(this.#parts) };
  }

  clear(): void {
    this.blocks.length = 0;
    for (const part of [this.rows, this.hashes, this.locations]) part.clear();
  }
}
