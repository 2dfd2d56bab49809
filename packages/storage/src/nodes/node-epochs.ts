import { BLOCK_NUMBER_SIZE, readUint32, writeBlockNumber, writeUint32 } from "../database/keys.ts";
import { deleteWithPrefix, type RowTable } from "../database/table.ts";

/*
 * Which blocks of an epoch may have changed a node:
 *   row key: first block of the epoch ‖ bucket 1
 *   row:     entries, ascending: hash of the node key 4 ‖ blocks of the epoch, one bit each, 4
 * Bucket and hash are 38 bits derived from the key. Keys that share them are rare; they make a reader look at a block that has no change.
 */

export const EPOCH_BLOCKS = 32;
const BUCKETS = 64;
const ENTRY_SIZE = 8;
const TWO_32 = 2 ** 32;

export const epochOf = (number: number): number => number - (number % EPOCH_BLOCKS);
export const isLastOfEpoch = (number: number): boolean => number % EPOCH_BLOCKS === EPOCH_BLOCKS - 1;

/** Bucket × 2³² + hash. */
function fingerprint(key: Uint8Array): number {
  let a = 0x811c9dc5;
  let b = key.length;
  for (let i = 0; i < key.length; i++) {
    a = Math.imul(a ^ key[i]!, 0x01000193);
    b = Math.imul(b + key[i]!, 0x85ebca6b) ^ (b >>> 13);
  }
  a = Math.imul(a ^ (a >>> 15), 0x2c1b3c6d);
  b = Math.imul(b ^ (b >>> 16), 0xc2b2ae35);
  return ((b >>> 16) % BUCKETS) * TWO_32 + ((a ^ (a >>> 16)) >>> 0);
}

/** Collects the nodes that the blocks of one epoch change. */
export class EpochNotes {
  readonly first: number;
  /** fingerprint × 32 + index of the block in the epoch */
  #notes = new Float64Array(1024);
  #count = 0;

  constructor(first: number) {
    this.first = first;
  }

  add(number: number, key: Uint8Array): void {
    if (this.#count === this.#notes.length) {
      const larger = new Float64Array(2 * this.#count);
      larger.set(this.#notes);
      this.#notes = larger;
    }
    this.#notes[this.#count++] = fingerprint(key) * EPOCH_BLOCKS + (number - this.first);
  }

  write(table: RowTable): void {
    const sorted = this.#notes.subarray(0, this.#count).sort();
    for (let from = 0; from < sorted.length; ) {
      const bucket = Math.floor(sorted[from]! / (TWO_32 * EPOCH_BLOCKS));
      let to = from;
      const end = (bucket + 1) * TWO_32 * EPOCH_BLOCKS;
      while (to < sorted.length && sorted[to]! < end) to++;
      table.write(bucketKey(this.first, bucket), bucketRow(sorted.subarray(from, to)));
      from = to;
    }
  }
}

function bucketRow(sorted: Float64Array): Uint8Array {
  const row = new Uint8Array(sorted.length * ENTRY_SIZE);
  let size = 0;
  let last = -1;
  let bits = 0;
  const finish = (): void => {
    if (last < 0) return;
    writeUint32(row, size, last % TWO_32);
    writeUint32(row, size + 4, bits);
    size += ENTRY_SIZE;
  };
  for (const note of sorted) {
    const print = Math.floor(note / EPOCH_BLOCKS);
    if (print !== last) {
      finish();
      last = print;
      bits = 0;
    }
    bits |= 1 << (note - print * EPOCH_BLOCKS);
  }
  finish();
  return row.slice(0, size);
}

function bucketKey(first: number, bucket: number): Uint8Array {
  const key = new Uint8Array(BLOCK_NUMBER_SIZE + 1);
  writeBlockNumber(key, 0, first);
  key[BLOCK_NUMBER_SIZE] = bucket;
  return key;
}

/** The bits of the epoch's blocks that may have changed the node. PERF: one read. */
export function readEpochBits(table: RowTable, first: number, key: Uint8Array): number {
  const print = fingerprint(key);
  const row = table.peek(bucketKey(first, Math.floor(print / TWO_32)));
  if (row === undefined) return 0;
  const hash = print % TWO_32;
  let low = 0;
  let high = row.length / ENTRY_SIZE - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = readUint32(row, middle * ENTRY_SIZE);
    if (found === hash) return readUint32(row, middle * ENTRY_SIZE + 4);
    if (found < hash) low = middle + 1;
    else high = middle - 1;
  }
  return 0;
}

/** @returns the number of rows removed */
export function deleteEpoch(table: RowTable, first: number, limit = Number.POSITIVE_INFINITY): number {
  const prefix = new Uint8Array(BLOCK_NUMBER_SIZE);
  writeBlockNumber(prefix, 0, first);
  return deleteWithPrefix(table, prefix, limit);
}
