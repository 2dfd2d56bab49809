/**
 * Linear memory: blocks of multiples of 16 bytes with a free list for each size, and areas, which grow.
 *
 * The content of a released block does not change until the next update begins (`reuseReleased`), because its bytes can be listed
 * as a previous row.
 *
 *  0x00000400 static data of the compiler
 *  0x00013000 areas of the permutation of Keccak (../../evm/assembly/layout.ts)
 *  0x00014000 CHILD_REFS
 *  0x00014400 MESSAGE_ENDS
 *  0x00014800 MESSAGES
 *  0x00020000 HEAP
 */
import { hostOutOfMemory } from "./host";

/** References to the changed children of the branch being encoded, by nibble: 48 bytes each, at most 33 used. */
@inline export const CHILD_REFS: u32 = 0x14000;
/** Input of the host's hashing: consecutive messages, and the end offset of each, a u32 each. */
@inline export const MESSAGE_ENDS: u32 = 0x14400;
@inline export const MAX_MESSAGES: u32 = 256;
@inline export const MESSAGES: u32 = 0x14800;
@inline export const MESSAGES_SIZE: u32 = 0x20000 - 0x14800;
const HEAP: u32 = 0x20000;
/** Linear memory grows by at least this many 64 KB pages. */
const GROWTH: i32 = 64;
/** 2 GB: pointers stay positive as the host's 32-bit numbers. */
@inline const LIMIT: u64 = 0x7fff0000;

/** Larger than any block: a branch of 16 hashes takes 532 bytes. */
@inline export const MAX_BLOCK: u32 = 544;
/** Heads of the free lists of blocks, by size / 16. A free block's first u32 is the next one. */
const FREE_BLOCKS: usize = memory.data(((544 >> 4) + 1) * 4, 4);
/** Heads of the free lists of areas, by the logarithm of the size */
const FREE_AREAS: usize = memory.data(32 * 4, 4);

let top: u32 = HEAP;

function takeFresh(size: u32): u32 {
  const end = <u64>top + size;
  const available = (<u64>memory.size()) << 16;
  if (end > available) {
    if (end > LIMIT) hostOutOfMemory();
    const needed = <i32>((end - available + 0xffff) >> 16);
    if (memory.grow(max(needed, GROWTH)) < 0 && memory.grow(needed) < 0) hostOutOfMemory();
  }
  const block = top;
  top = <u32>end;
  return block;
}

/** A block of at least `size` bytes, from 1 to MAX_BLOCK; not zeroed. */
export function allocate(size: u32): u32 {
  const units = (size + 15) >> 4;
  const list = <u32>FREE_BLOCKS + (units << 2);
  const free = load<u32>(list);
  if (free == 0) return takeFresh(units << 4);
  store<u32>(list, load<u32>(free));
  return free;
}

/** Copies a block of `size` bytes. PERF: `memory.copy` would call out of the module. */
export function copyBlock(to: u32, from: u32, size: u32): void {
  for (let i: u32 = 0; i < size; i += 16) v128.store(to + i, v128.load(from + i));
}

/** Copies any number of bytes. */
export function copyBytes(to: u32, from: u32, size: u32): void {
  let i: u32 = 0;
  for (; i + 16 <= size; i += 16) v128.store(to + i, v128.load(from + i));
  for (; i + 8 <= size; i += 8) store<u64>(to + i, load<u64>(from + i));
  for (; i < size; i++) store<u8>(to + i, load<u8>(from + i));
}

// ---- areas: u32 pointer, u32 size each

@inline export const INPUT: u32 = 0;
@inline export const ACCOUNTS: u32 = 1;
@inline export const SLOTS: u32 = 2;
@inline export const ENTRIES: u32 = 3;
@inline export const SPARE_ENTRIES: u32 = 4;
@inline export const ITEMS: u32 = 5;
@inline export const WRITES: u32 = 6;
@inline export const DELETIONS: u32 = 7;
@inline export const PATHS: u32 = 8;
@inline export const ROOTS: u32 = 9;
@inline export const CLEARED: u32 = 10;
@inline const RELEASED: u32 = 11;
@inline export const DIGESTS: u32 = 12;
@inline export const QUEUE: u32 = 13;
const AREAS: u32 = <u32>memory.data(14 * 8, 8);

/** Address of an area; 0 before the first `reserve`. */
@inline export function areaAt(area: u32): u32 {
  return load<u32>(AREAS + area * 8);
}

/** Makes room for `size` bytes, and keeps the first `used` bytes. @returns the new address of the area */
export function reserve(area: u32, size: u32, used: u32): u32 {
  const entry = AREAS + area * 8;
  const present = load<u32>(entry);
  if (size <= load<u32>(entry, 4)) return present;
  const log = max<u32>(12, 32 - clz<u32>(size - 1));
  const list = <u32>FREE_AREAS + (log << 2);
  let larger = load<u32>(list);
  if (larger != 0) store<u32>(list, load<u32>(larger));
  else larger = takeFresh((<u32>1) << log);
  if (present != 0) {
    memory.copy(larger, present, used);
    const old = <u32>FREE_AREAS + ((31 - clz<u32>(load<u32>(entry, 4))) << 2);
    store<u32>(present, load<u32>(old));
    store<u32>(old, present);
  }
  store<u32>(entry, larger);
  store<u32>(entry, (<u32>1) << log, 4);
  return larger;
}

// ---- released blocks: u32 pointer, u32 size / 16

let releasedSize: u32 = 0;

/** @param size the allocated size */
export function release(block: u32, size: u32): void {
  const entry = reserve(RELEASED, releasedSize + 8, releasedSize) + releasedSize;
  store<u32>(entry, block);
  store<u32>(entry, (size + 15) >> 4, 4);
  releasedSize += 8;
}

/** Makes released blocks available. */
export function reuseReleased(): void {
  const entries = areaAt(RELEASED);
  for (let at: u32 = 0; at < releasedSize; at += 8) {
    const block = load<u32>(entries + at);
    const list = <u32>FREE_BLOCKS + (load<u32>(entries + at, 4) << 2);
    store<u32>(block, load<u32>(list));
    store<u32>(list, block);
  }
  releasedSize = 0;
}

/** Releases everything at once. */
export function resetMemory(): void {
  top = HEAP;
  releasedSize = 0;
  memory.fill(FREE_BLOCKS, 0, ((544 >> 4) + 1) * 4);
  memory.fill(FREE_AREAS, 0, 32 * 4);
  memory.fill(AREAS, 0, 14 * 8);
}
