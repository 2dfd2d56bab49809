import { BLOCK_NUMBER_SIZE, blockNumberKey, writeBlockNumber } from "../database/keys.ts";
import { type RowTable, startsWith } from "../database/table.ts";

/*
 * The trie nodes that one block replaced, in chunks: one row per node would cost more than everything else in a commit.
 *   row key: block ‖ node key of the chunk's first entry
 *   row:     entries, ascending by node key: number of bytes shared with the previous key 1 ‖ number of further bytes 1 ‖ those bytes
 *            ‖ size of the version 2 ‖ version
 */

/** With its key and the header of an overflow page, a chunk fills four pages of 4 KiB. */
const CHUNK_BYTES = 16_384 - 16;
/** Size of the longest node key: kind, owner, and one byte per nibble. */
const MAX_KEY_SIZE = 1 + 32 + 64;
/** Greater than any node key. */
const AFTER_ALL_KEYS = Uint8Array.of(0xff);

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
    this.#forget();
  }

  /** Adds an entry, and copies both arguments. */
  add(key: Uint8Array, version: Uint8Array): void {
    const last = this.#lastKey;
    let shared = 0;
    const limit = Math.min(key.length, this.#lastKeySize);
    while (shared < limit && key[shared] === last[shared]) shared++;
    const size = 4 + key.length - shared + version.length;
    if (this.#rowKey !== undefined && this.#size + size > CHUNK_BYTES) {
      this.finish();
      shared = 0;
    }
    if (this.#rowKey === undefined) {
      this.#rowKey = rowKeyOf(this.#number, key);
      shared = 0;
    }
    const needed = this.#size + 4 + key.length - shared + version.length;
    if (needed > this.#chunk.length) {
      const larger = new Uint8Array(needed);
      larger.set(this.#chunk.subarray(0, this.#size));
      this.#chunk = larger;
    }
    const chunk = this.#chunk;
    let at = this.#size;
    chunk[at++] = shared;
    chunk[at++] = key.length - shared;
    for (let i = shared; i < key.length; i++) chunk[at++] = key[i]!;
    chunk[at++] = version.length >> 8;
    chunk[at++] = version.length;
    chunk.set(version, at);
    this.#size = at + version.length;
    for (let i = shared; i < key.length; i++) last[i] = key[i]!;
    this.#lastKeySize = key.length;
  }

  /** Writes the remaining entries. */
  finish(): void {
    if (this.#rowKey === undefined) return;
    this.#table.write(this.#rowKey, this.#chunk.subarray(0, this.#size));
    this.#forget();
  }

  #forget(): void {
    this.#rowKey = undefined;
    this.#size = 0;
    this.#lastKeySize = 0;
  }
}

function rowKeyOf(number: number, key: Uint8Array): Uint8Array {
  const rowKey = new Uint8Array(BLOCK_NUMBER_SIZE + key.length);
  writeBlockNumber(rowKey, 0, number);
  rowKey.set(key, BLOCK_NUMBER_SIZE);
  return rowKey;
}

/** The version that block `number` replaced; undefined if it did not change the node. */
export function findNodeVersion(table: RowTable, number: number, key: Uint8Array): Uint8Array | undefined {
  const row = table.lastUpTo(rowKeyOf(number, key));
  if (row === undefined || !startsWith(row.key, blockNumberKey(number))) return undefined;
  return findInChunk(row.value, key);
}

/** PERF: builds no keys; how much the previous key has in common with the wanted one rules out most keys. */
function findInChunk(chunk: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  /** number of leading bytes that the last key, which is below the wanted one, shares with it */
  let common = 0;
  for (let at = 0; at < chunk.length; ) {
    const shared = chunk[at]!;
    const rest = chunk[at + 1]!;
    const keyAt = at + 2;
    const versionAt = keyAt + rest + 2;
    const end = versionAt + ((chunk[versionAt - 2]! << 8) | chunk[versionAt - 1]!);
    if (shared < common) return undefined; // it is above the wanted key
    if (shared === common) {
      let same = 0;
      while (same < rest && common + same < key.length && chunk[keyAt + same] === key[common + same]) same++;
      const isEndOfKey = common + same === key.length;
      if (same === rest && isEndOfKey) return chunk.subarray(versionAt, end);
      if (same < rest && (isEndOfKey || chunk[keyAt + same]! > key[common + same]!)) return undefined;
      common += same;
    }
    at = end;
  }
  return undefined;
}

/** All versions that block `number` replaced, in ascending key order. */
export function* nodeVersionsOf(table: RowTable, number: number): Generator<NodeVersion> {
  for (const { value } of table.range(blockNumberKey(number), rowKeyOf(number, AFTER_ALL_KEYS))) yield* entriesOf(value);
}

function* entriesOf(chunk: Uint8Array): Generator<NodeVersion> {
  let last: Uint8Array = new Uint8Array(0);
  for (let at = 0; at < chunk.length; ) {
    const shared = chunk[at]!;
    const rest = chunk[at + 1]!;
    at += 2;
    const key = new Uint8Array(shared + rest);
    key.set(last.subarray(0, shared));
    key.set(chunk.subarray(at, at + rest), shared);
    at += rest;
    const size = (chunk[at]! << 8) | chunk[at + 1]!;
    at += 2;
    yield { key, version: chunk.subarray(at, at + size) };
    at += size;
    last = key;
  }
}
