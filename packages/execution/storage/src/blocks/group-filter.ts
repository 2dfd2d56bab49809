import type { ByteArena } from "../buffers/growable.ts";
import { rlpDataStart, rlpEnd } from "./rlp-walk.ts";

/*
 * A Bloom filter over the addresses and topics of a group of receipts: 2^n bytes, about one to two for each different value,
 * three bits per value. It shows, without decoding, which groups of a block cannot have a requested log. It is empty for a group
 * without logs.
 */

const MAX_FILTER_BYTES = 4096;

/** Two numbers of a value, from which its bits follow. PERF: hashes and addresses need no hashing; short numbers differ in the last bytes. */
export function filterHash(bytes: Uint8Array, at: number, length: number): number {
  const end = at + length;
  let hash = bytes[end - 1]! | (bytes[end - 2]! << 8) | (bytes[end - 3]! << 16) | (bytes[end - 4]! << 24);
  hash = Math.imul(hash ^ bytes[end - 8]! ^ (bytes[end - 12]! << 8) ^ (bytes[at]! << 16) ^ (bytes[at + 1]! << 24), 0x9e3779b1);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** @param filterEnd − `at` is a power of two, or 0 */
export function filterMayHave(filter: Uint8Array, at: number, filterEnd: number, hash: number): boolean {
  const mask = (filterEnd - at) * 8 - 1;
  if (mask < 0) return false;
  for (let i = 0, bit = hash; i < 3; i++, bit = (bit >>> 10) | (bit << 22)) {
    const place = bit & mask;
    if ((filter[at + (place >> 3)]! & (1 << (place & 7))) === 0) return false;
  }
  return true;
}

export class GroupFilter {
  readonly #hashes = new Set<number>();

  /** Reads a group of receipts. @returns how many logs it has, and the cumulative gas used of its last receipt */
  fill(bytes: Uint8Array, from: number, to: number): { readonly logs: number; readonly gasUsed: Uint8Array } {
    const hashes = this.#hashes;
    hashes.clear();
    let logs = 0;
    let gasFrom = from;
    let gasTo = from;
    for (let receipt = from; receipt < to; receipt = rlpEnd(bytes, receipt)) {
      const gas = rlpEnd(bytes, rlpEnd(bytes, rlpDataStart(bytes, receipt)));
      gasFrom = rlpDataStart(bytes, gas);
      gasTo = rlpEnd(bytes, gas);
      const end = rlpEnd(bytes, gasTo);
      for (let log = rlpDataStart(bytes, gasTo); log < end; log = rlpEnd(bytes, log)) {
        logs++;
        const address = rlpDataStart(bytes, log);
        hashes.add(filterHash(bytes, address + 1, 20));
        const topicsEnd = rlpEnd(bytes, address + 21);
        for (let topic = rlpDataStart(bytes, address + 21); topic < topicsEnd; topic += 33)
          hashes.add(filterHash(bytes, topic + 1, 32));
      }
    }
    const gasUsed = new Uint8Array(8);
    for (let i = 0; i < gasTo - gasFrom; i++) gasUsed[8 - (gasTo - gasFrom) + i] = bytes[gasFrom + i]!;
    return { logs, gasUsed };
  }

  /** Appends the filter of the last read group. */
  write(out: ByteArena): void {
    if (this.#hashes.size === 0) return;
    let size = 8;
    while (size < this.#hashes.size && size < MAX_FILTER_BYTES) size *= 2;
    const at = out.reserve(size);
    out.bytes.fill(0, at, at + size);
    const mask = size * 8 - 1;
    for (const hash of this.#hashes) {
      for (let i = 0, bit = hash; i < 3; i++, bit = (bit >>> 10) | (bit << 22)) {
        const place = bit & mask;
        out.bytes[at + (place >> 3)]! |= 1 << (place & 7);
      }
    }
  }
}
