/*
 * Keys are plain concatenations, which LMDB orders as byte strings. Block numbers are 6 bytes, big-endian, so that they are ordered as
 * numbers. Keys are built in arrays that their owner reuses: LMDB copies them during the call.
 */

export const BLOCK_NUMBER_SIZE = 6;
/** Greater than any block number. */
export const MAX_BLOCK_NUMBER = 2 ** 48 - 1;

export function writeBlockNumber(out: Uint8Array, at: number, number: number): void {
  const high = Math.floor(number / 0x1_0000_0000);
  out[at] = high >> 8;
  out[at + 1] = high;
  out[at + 2] = number >>> 24;
  out[at + 3] = number >>> 16;
  out[at + 4] = number >>> 8;
  out[at + 5] = number;
}

export function readBlockNumber(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 8) | bytes[at + 1]!) * 0x1_0000_0000 + readUint32(bytes, at + 2);
}

export function blockNumberKey(number: number): Uint8Array {
  const key = new Uint8Array(BLOCK_NUMBER_SIZE);
  writeBlockNumber(key, 0, number);
  return key;
}

export function writeUint32(out: Uint8Array, at: number, value: number): void {
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}
