import { BLOCK_NUMBER_SIZE, readUint32, writeBlockNumber } from "../database/keys.ts";
import type { RowTable } from "../database/table.ts";

/*
 * Rows of databases up to format 3, which say what node-epochs.ts says of epochs that ended then:
 *   row key: first block of the epoch ‖ bucket 1
 *   row:     entries, ascending: hash of the node key 4 ‖ blocks of the epoch, one bit each, 4
 */

const BUCKETS = 64;
const ENTRY_SIZE = 8;

/** The bits of the epoch's blocks that may have changed the node. */
export function readOldEpochBits(table: RowTable, first: number, key: Uint8Array): number {
  const { bucket, hash } = oldFingerprint(key);
  const rowKey = new Uint8Array(BLOCK_NUMBER_SIZE + 1);
  writeBlockNumber(rowKey, 0, first);
  rowKey[BLOCK_NUMBER_SIZE] = bucket;
  const row = table.peek(rowKey);
  if (row === undefined) return 0;
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

export function oldFingerprint(key: Uint8Array): { readonly bucket: number; readonly hash: number } {
  let a = 0x811c9dc5;
  let b = key.length;
  for (let i = 0; i < key.length; i++) {
    a = Math.imul(a ^ key[i]!, 0x01000193);
    b = Math.imul(b + key[i]!, 0x85ebca6b) ^ (b >>> 13);
  }
  a = Math.imul(a ^ (a >>> 15), 0x2c1b3c6d);
  b = Math.imul(b ^ (b >>> 16), 0xc2b2ae35);
  return { bucket: (b >>> 16) % BUCKETS, hash: (a ^ (a >>> 16)) >>> 0 };
}
