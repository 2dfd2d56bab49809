/**
 * Blocks of power-of-two size. A released block goes to the free list of its size and is reused; new blocks come from the top,
 * where linear memory grows. Memory is never returned to the system; the host replaces an engine that is too large.
 */
import { HEAP } from "./layout";
import { hostMemoryGrown, hostOutOfMemory } from "./host";

/** 4 KB: the smallest block */
const SMALLEST: u32 = 12;
/** Heads of the free lists by the logarithm of the size; a free block's first u32 is the next one. */
const FREE_LISTS: usize = memory.data(32 * 4, 8);
/** Linear memory grows by at least this many 64 KB pages. */
const GROWTH: i32 = 64;

/** 2 GB: pointers stay positive as the host's 32-bit numbers. */
@inline const LIMIT: u64 = 0x7fff0000;

let top: u32 = HEAP;

/** Bytes of the block that `allocate(size)` returns. */
export function blockSize(size: u32): u32 {
  return size <= 1 << SMALLEST ? 1 << SMALLEST : 1 << (32 - clz<u32>(size - 1));
}

@inline function classOf(size: u32): u32 {
  return size <= 1 << SMALLEST ? SMALLEST : 32 - clz<u32>(size - 1);
}

/** A block of at least `size` bytes, not zeroed, aligned to 64. */
export function allocate(size: u32): u32 {
  const log = classOf(size);
  if (log >= 32) hostOutOfMemory();
  const list = FREE_LISTS + (log << 2);
  const free = load<u32>(list);
  if (free != 0) {
    store<u32>(list, load<u32>(free));
    return free;
  }
  const end = <u64>top + ((<u64>1) << log);
  const available = (<u64>memory.size()) << 16;
  if (end > available) {
    if (end > LIMIT) hostOutOfMemory();
    const needed = <i32>((end - available + 0xffff) >> 16);
    if (memory.grow(max(needed, GROWTH)) < 0 && memory.grow(needed) < 0) hostOutOfMemory();
    hostMemoryGrown();
  }
  const block = top;
  top = <u32>end;
  return block;
}

/** Releases a block that was allocated with the same `size`. */
export function release(block: u32, size: u32): void {
  const list = FREE_LISTS + (classOf(size) << 2);
  store<u32>(block, load<u32>(list));
  store<u32>(list, block);
}

/** Moves the first `used` bytes of `block`, which is released, to a larger block. `block` 0 means there is none yet. */
export function enlarge(block: u32, size: u32, used: u32, newSize: u32): u32 {
  const larger = allocate(newSize);
  if (block != 0) {
    memory.copy(larger, block, used);
    release(block, size);
  }
  return larger;
}

/** First byte above the heap: the most memory that was ever in use. */
export function heapTop(): u32 {
  return top;
}

// ---- arenas: many small entries that are released together

/** Arena descriptor: u32 first chunk, u32 current chunk, u32 next free byte, u32 end of chunk. A chunk's first u32 is the next chunk. */
@inline export const ARENA_SIZE: u32 = 16;
@inline const CHUNK: u32 = 1 << 16;
@inline const CHUNK_HEADER: u32 = 64;

/** `size` bytes, zeroed. */
export function arenaAllocate(arena: usize, size: u32): u32 {
  let at = load<u32>(arena, 8);
  if (at + size > load<u32>(arena, 12) || at == 0) {
    const chunk = allocate(CHUNK);
    store<u32>(chunk, 0);
    const current = load<u32>(arena, 4);
    if (current == 0) store<u32>(arena, chunk);
    else store<u32>(current, chunk);
    store<u32>(arena, chunk, 4);
    store<u32>(arena, chunk + CHUNK, 12);
    at = chunk + CHUNK_HEADER;
  }
  store<u32>(arena, at + size, 8);
  memory.fill(at, 0, size);
  return at;
}

/** Releases all entries and keeps one chunk. */
export function arenaReset(arena: usize): void {
  const first = load<u32>(arena);
  if (first == 0) return;
  let chunk = load<u32>(first);
  while (chunk != 0) {
    const next = load<u32>(chunk);
    release(chunk, CHUNK);
    chunk = next;
  }
  store<u32>(first, 0);
  store<u32>(arena, first, 4);
  store<u32>(arena, first + CHUNK_HEADER, 8);
  store<u32>(arena, first + CHUNK, 12);
}
