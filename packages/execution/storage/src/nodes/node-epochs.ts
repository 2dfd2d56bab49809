import { BLOCK_NUMBER_SIZE, writeBlockNumber } from "../database/keys.ts";
import { deleteWithPrefix, type RowTable } from "../database/table.ts";

/*
 * Which blocks of an epoch may have changed a node:
 *   row key: first block of the epoch ‖ 64 + bucket 1
 *   row:     entries, ascending: hash of the node key, 19 bits ‖ block of the epoch, 5 bits
 * A bucket has the nodes whose keys are the same up to the last byte, that is, all children of a branch. Nodes that share bucket and hash (one in a
 * few hundred) make a reader look at a block that has no change.
 */

export const EPOCH_BLOCKS = 32;
const BLOCK_BITS = 5;
const HASH_BITS = 19;
const FIRST_BUCKET = 64;
const ENTRY_SIZE = 3;

export const epochOf = (number: number): number => number - (number % EPOCH_BLOCKS);
export const isLastOfEpoch = (number: number): boolean => number % EPOCH_BLOCKS === EPOCH_BLOCKS - 1;

/** Bucket, 6 bits ‖ hash, 19 bits. */
function fingerprint(key: Uint8Array): number {
  let mix = 0x811c9dc5;
  const last = key.length - 1;
  for (let i = 0; i < last; i++) mix = Math.imul(mix ^ key[i]!, 0x01000193);
  const bucket = Math.imul(mix ^ (mix >>> 15), 0x2c1b3c6d) >>> 26;
  mix = Math.imul(mix ^ key[last]! ^ (key.length << 8), 0x01000193);
  mix = Math.imul(mix ^ (mix >>> 15), 0x85ebca6b);
  return (bucket << HASH_BITS) | (Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35) >>> (32 - HASH_BITS));
}

/** Collects the nodes that the blocks of one epoch change. */
export class EpochNotes {
  readonly first: number;
  /** fingerprint ‖ index of the block in the epoch */
  #notes = new Uint32Array(1024);
  #count = 0;

  constructor(first: number) {
    this.first = first;
  }

  add(number: number, key: Uint8Array): void {
    if (this.#count === this.#notes.length) {
      const larger = new Uint32Array(2 * this.#count);
      larger.set(this.#notes);
      this.#notes = larger;
    }
    this.#notes[this.#count++] = (fingerprint(key) << BLOCK_BITS) | (number - this.first);
  }

  write(table: RowTable): void {
    const sorted = this.#notes.subarray(0, this.#count).sort();
    for (let from = 0; from < sorted.length; ) {
      const bucket = sorted[from]! >>> (HASH_BITS + BLOCK_BITS);
      let to = from;
      while (to < sorted.length && sorted[to]! >>> (HASH_BITS + BLOCK_BITS) === bucket) to++;
      table.write(bucketKey(this.first, bucket), bucketRow(sorted.subarray(from, to)));
      from = to;
    }
  }
}

function bucketRow(sorted: Uint32Array): Uint8Array {
  const row = new Uint8Array(sorted.length * ENTRY_SIZE);
  let size = 0;
  let last: number | undefined;
  for (const note of sorted) {
    if (note === last) continue;
    last = note;
    row[size++] = note >>> 16;
    row[size++] = note >>> 8;
    row[size++] = note;
  }
  return row.slice(0, size);
}

function bucketKey(first: number, bucket: number): Uint8Array {
  const key = new Uint8Array(BLOCK_NUMBER_SIZE + 1);
  writeBlockNumber(key, 0, first);
  key[BLOCK_NUMBER_SIZE] = FIRST_BUCKET + bucket;
  return key;
}

const entryAt = (row: Uint8Array, index: number): number =>
  (row[index * ENTRY_SIZE]! << 16) | (row[index * ENTRY_SIZE + 1]! << 8) | row[index * ENTRY_SIZE + 2]!;

/** The bits of the epoch's blocks that may have changed the node. PERF: one read. */
export function readEpochBits(table: RowTable, first: number, key: Uint8Array): number {
  const print = fingerprint(key);
  const row = table.peek(bucketKey(first, print >>> HASH_BITS));
  if (row === undefined) return 0;
  const hash = print & ((1 << HASH_BITS) - 1);
  const count = row.length / ENTRY_SIZE;
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entryAt(row, middle) >>> BLOCK_BITS < hash) low = middle + 1;
    else high = middle;
  }
  let bits = 0;
  for (; low < count; low++) {
    const entry = entryAt(row, low);
    if (entry >>> BLOCK_BITS !== hash) break;
    bits |= 1 << (entry & (EPOCH_BLOCKS - 1));
  }
  return bits;
}

/** @returns the number of rows removed */
export function deleteEpoch(table: RowTable, first: number, limit = Number.POSITIVE_INFINITY): number {
  const prefix = new Uint8Array(BLOCK_NUMBER_SIZE);
  writeBlockNumber(prefix, 0, first);
  return deleteWithPrefix(table, prefix, limit);
}
