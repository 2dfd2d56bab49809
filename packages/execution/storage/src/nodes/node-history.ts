import { BLOCK_NUMBER_SIZE, blockNumberKey, writeBlockNumber } from "../database/keys.ts";
import { type RowTable, startsWith, type TableEntry } from "../database/table.ts";

/*
 * The trie nodes that one block replaced, in chunks: one row per node would cost more than everything else in a commit.
 *   row key: block ‖ node key of the chunk's first entry
 *   row:     255 ‖ entries, ascending by node key: key part ‖ size of the version, varint ‖ version (node-version.ts)
 *   key part: number of bytes shared with the previous key, 128 added, 1 ‖ the one further byte 1
 *          or number of bytes shared with the previous key 1 ‖ number of further bytes 1 ‖ those bytes
 * The key before the first entry is that in the row key.
 */

/** With the header of an overflow page, a chunk fills a page of 4 KiB. PERF: a chunk is searched from its start. */
const CHUNK_BYTES = 4096 - 16;
/** Size of the longest node key: kind, owner, and one byte per nibble. */
const MAX_KEY_SIZE = 1 + 32 + 64;
/** Greater than any node key. */
const AFTER_ALL_KEYS = Uint8Array.of(0xff);
const MARK = 0xff;
const ONE_FURTHER_BYTE = 0x80;
/** Of the size of a version, which has three bytes at most, also in a damaged row. */
const SIZE_BITS = 21;

export interface NodeVersion {
  readonly key: Uint8Array;
  /** a view into the row */
  readonly version: Uint8Array;
}

/** Writes the versions of one block after the other; keys must ascend within a block. */
export class NodeHistoryWriter {
  readonly #table: RowTable;
  #number = 0;
  #chunk = new Uint8Array(CHUNK_BYTES);
  #size = 0;
  #rowKey: Uint8Array | undefined;
  readonly #lastKey = new Uint8Array(MAX_KEY_SIZE);
  #lastKeySize = 0;

  constructor(table: RowTable) {
    this.#table = table;
  }

  /** Starts the next block, and drops the entries of a block that was not finished. */
  begin(number: number): void {
    this.#number = number;
    this.#rowKey = undefined;
  }

  /** Adds an entry, and copies both arguments. */
  add(key: Uint8Array, version: Uint8Array): void {
    const last = this.#lastKey;
    const most = 5 + key.length + version.length;
    if (this.#rowKey !== undefined && this.#size + most > CHUNK_BYTES) this.finish();
    if (this.#rowKey === undefined) {
      this.#rowKey = rowKeyOf(this.#number, key);
      last.set(key);
      this.#lastKeySize = key.length;
      this.#chunk[0] = MARK;
      this.#size = 1;
    }
    let shared = 0;
    const limit = Math.min(key.length, this.#lastKeySize);
    while (shared < limit && key[shared] === last[shared]) shared++;
    this.#reserve(this.#size + most);
    const chunk = this.#chunk;
    let at = this.#size;
    const further = key.length - shared;
    chunk[at++] = further === 1 ? ONE_FURTHER_BYTE | shared : shared;
    if (further !== 1) chunk[at++] = further;
    for (let i = shared; i < key.length; i++) {
      chunk[at++] = key[i]!;
      last[i] = key[i]!;
    }
    this.#lastKeySize = key.length;
    let rest = version.length;
    for (; rest >= 0x80; rest >>>= 7) chunk[at++] = (rest & 0x7f) | 0x80;
    chunk[at++] = rest;
    if (version.length <= 40) for (let i = 0; i < version.length; i++) chunk[at + i] = version[i]!;
    else chunk.set(version, at);
    this.#size = at + version.length;
  }

  #reserve(size: number): void {
    if (size <= this.#chunk.length) return;
    const larger = new Uint8Array(size);
    larger.set(this.#chunk.subarray(0, this.#size));
    this.#chunk = larger;
  }

  /** Writes the remaining entries. */
  finish(): void {
    if (this.#rowKey === undefined) return;
    this.#table.write(this.#rowKey, this.#chunk.subarray(0, this.#size));
    this.#rowKey = undefined;
  }
}

function rowKeyOf(number: number, key: Uint8Array): Uint8Array {
  const rowKey = new Uint8Array(BLOCK_NUMBER_SIZE + key.length);
  writeBlockNumber(rowKey, 0, number);
  rowKey.set(key, BLOCK_NUMBER_SIZE);
  return rowKey;
}

/** Goes through the entries of a chunk, without allocating anything. */
class ChunkCursor {
  readonly chunk: Uint8Array;
  #next = 1;
  /** bytes that the entry's key shares with the previous key; the others are in the chunk */
  shared = 0;
  keyAt = 0;
  keyEnd = 0;
  versionAt = 0;
  versionEnd = 0;

  constructor(chunk: Uint8Array) {
    this.chunk = chunk;
  }

  /** Moves to the next entry. */
  next(): boolean {
    const { chunk } = this;
    let at = this.#next;
    if (at >= chunk.length) return false;
    const first = chunk[at++]!;
    const isShort = first >= ONE_FURTHER_BYTE;
    this.shared = isShort ? first - ONE_FURTHER_BYTE : first;
    const further = isShort ? 1 : chunk[at++]!;
    this.keyAt = at;
    at += further;
    this.keyEnd = at;
    let size = 0;
    for (let shift = 0; shift < SIZE_BITS; shift += 7) {
      const byte = chunk[at++]!;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    this.versionAt = at;
    this.versionEnd = at + size;
    this.#next = this.versionEnd;
    return true;
  }

  get version(): Uint8Array {
    return this.chunk.subarray(this.versionAt, this.versionEnd);
  }
}

/** Of 4 KiB each. */
const MAX_KEPT_CHUNKS = 2048;

/**
 * Finds versions in the history of blocks. PERF: caches the last chunk of each block for the rest of the synchronous run, in
 * which all reads see one state of the database. Nodes that are read together are siblings or parent and child, which are in one
 * chunk.
 */
export class NodeVersionFinder {
  readonly #table: Pick<RowTable, "lastUpTo">;
  readonly #chunks = new Map<number, TableEntry>();

  constructor(table: Pick<RowTable, "lastUpTo">) {
    this.#table = table;
  }

  /** Call it after a write. */
  readonly forget = (): void => this.#chunks.clear();

  /** The version that block `number` replaced; undefined if it did not change the node. */
  find(number: number, key: Uint8Array): Uint8Array | undefined {
    const known = this.#chunks.get(number);
    if (known !== undefined && compareKeys(known.key, key) <= 0) {
      const found = findInChunk(known.value, known.key, key);
      if (found !== BEYOND) return found;
    }
    const rowKey = rowKeyOf(number, key);
    const row = this.#table.lastUpTo(rowKey);
    if (row === undefined || !startsWith(row.key, rowKey.subarray(0, BLOCK_NUMBER_SIZE))) return undefined;
    if (this.#chunks.size === 0) queueMicrotask(this.forget);
    if (this.#chunks.size >= MAX_KEPT_CHUNKS) this.#chunks.delete(this.#chunks.keys().next().value!);
    this.#chunks.set(number, row);
    const found = findInChunk(row.value, row.key, key);
    return found === BEYOND ? undefined : found;
  }
}

/** The order of the node key in a row key, and a node key. */
function compareKeys(rowKey: Uint8Array, key: Uint8Array): number {
  const size = rowKey.length - BLOCK_NUMBER_SIZE;
  const limit = Math.min(size, key.length);
  for (let i = 0; i < limit; i++) {
    const difference = rowKey[BLOCK_NUMBER_SIZE + i]! - key[i]!;
    if (difference !== 0) return difference;
  }
  return size - key.length;
}

/** The key is above all of the chunk. */
const BEYOND = Symbol("beyond the chunk");

/** PERF: builds no keys; how much the previous key has in common with the wanted one rules out most keys. */
function findInChunk(chunk: Uint8Array, rowKey: Uint8Array, key: Uint8Array): Uint8Array | typeof BEYOND | undefined {
  const cursor = new ChunkCursor(chunk);
  /** number of leading bytes that the last key, which is not above the wanted one, shares with it */
  let common = 0;
  const limit = Math.min(key.length, rowKey.length - BLOCK_NUMBER_SIZE);
  while (common < limit && rowKey[BLOCK_NUMBER_SIZE + common] === key[common]) common++;
  while (cursor.next()) {
    const { shared, keyAt } = cursor;
    if (shared < common) return undefined; // it is above the wanted key
    if (shared === common) {
      const further = cursor.keyEnd - keyAt;
      let same = 0;
      while (same < further && common + same < key.length && chunk[keyAt + same] === key[common + same]) same++;
      const isEndOfKey = common + same === key.length;
      if (same === further && isEndOfKey) return cursor.version;
      if (same < further && (isEndOfKey || chunk[keyAt + same]! > key[common + same]!)) return undefined;
      common += same;
    }
  }
  return BEYOND;
}

/** All versions that block `number` replaced, in ascending key order. */
export function* nodeVersionsOf(table: RowTable, number: number): Generator<NodeVersion> {
  for (const { key: rowKey, value } of table.range(blockNumberKey(number), rowKeyOf(number, AFTER_ALL_KEYS))) {
    const cursor = new ChunkCursor(value);
    let last = rowKey.subarray(BLOCK_NUMBER_SIZE);
    while (cursor.next()) {
      const key = new Uint8Array(cursor.shared + cursor.keyEnd - cursor.keyAt);
      key.set(last.subarray(0, cursor.shared));
      key.set(value.subarray(cursor.keyAt, cursor.keyEnd), cursor.shared);
      yield { key, version: cursor.version };
      last = key;
    }
  }
}
