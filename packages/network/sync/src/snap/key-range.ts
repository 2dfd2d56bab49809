import { bigintToBytes, bytesToBigint } from "@rnode/primitives";

/** The rest of a range of 32-byte keys, both ends included. */
export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

const KEYS = 2n ** 256n;
export const FIRST_KEY = new Uint8Array(32);
export const LAST_KEY = new Uint8Array(32).fill(0xff);

/** The part of all keys that is in a range, from 0 to 1. */
export const shareOf = ({ from, to }: KeyRange): number => Number(bytesToBigint(to) - bytesToBigint(from) + 1n) / Number(KEYS);

/** Parts of about the same size, in ascending order. */
export function splitKeys({ from, to }: KeyRange, parts: number): KeyRange[] {
  const first = bytesToBigint(from);
  const size = bytesToBigint(to) - first + 1n;
  const startOf = (part: number): bigint => first + (size * BigInt(part)) / BigInt(parts);
  return Array.from({ length: parts }, (_, part) => ({ from: keyOf(startOf(part)), to: keyOf(startOf(part + 1) - 1n) })).filter(
    (range) => bytesToBigint(range.from) <= bytesToBigint(range.to),
  );
}

/** The range without the keys up to `key`; `undefined`: nothing is left. */
export function restAfter({ to }: KeyRange, key: Uint8Array): KeyRange | undefined {
  const next = bytesToBigint(key) + 1n;
  return next < KEYS && next <= bytesToBigint(to) ? { from: keyOf(next), to } : undefined;
}

/** Whether all keys below a path in nibbles are at most `to`. */
export function isBelow(path: Uint8Array, to: Uint8Array): boolean {
  for (const [i, nibble] of path.entries()) {
    const limit = (to[i >> 1]! >> (i % 2 === 0 ? 4 : 0)) & 15;
    if (nibble !== limit) return nibble < limit;
  }
  for (let i = path.length; i < 64; i++) if (((to[i >> 1]! >> (i % 2 === 0 ? 4 : 0)) & 15) !== 15) return false;
  return true;
}

const keyOf = (value: bigint): Uint8Array => bigintToBytes(value, 32);
