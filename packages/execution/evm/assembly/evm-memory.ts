/**
 * The EVM memory of frames. Every depth has its own heap block, which is reused by the next frame at that depth and grows by
 * doubling. The part beyond the size in use is zeroed when the memory expands over it. The block of depth d + 1 holds the return
 * data of depth d until that depth is used again.
 */
import { F_MEMORY, F_MEMORY_CAPACITY, F_MEMORY_SIZE } from "./layout";
import { enlarge } from "./heap";
import { announceBytes } from "./host";
import { fits64, zeroWord } from "./word";

/** Larger than any size that can be paid for: 2^36 bytes cost 2^53 gas. */
@inline export const UNREACHABLE: u64 = 0x1000000000;

/**
 * Expands the memory to reach `end` bytes, which is more than the size in use.
 *
 * @returns the gas left; negative: not enough
 */
export function expandMemory(frame: u32, end: u64, gas: i64): i64 {
  if (end > UNREACHABLE) return -1;
  const oldSize = load<u32>(frame, F_MEMORY_SIZE);
  const oldWords: u64 = oldSize >> 5;
  const words = (end + 31) >> 5;
  const left = gas - <i64>(words * 3 + ((words * words) >> 9) - oldWords * 3 - ((oldWords * oldWords) >> 9));
  if (left < 0) return -1;
  const newSize = words << 5;
  const capacity = load<u32>(frame, F_MEMORY_CAPACITY);
  if (newSize > capacity) {
    let newCapacity: u64 = max(capacity, 4096);
    while (newCapacity < newSize) newCapacity <<= 1;
    // a size that does not fit 32 bits makes `allocate` fail with out of memory
    const wanted: u32 = newCapacity > 0x80000000 ? 0xffffffff : <u32>newCapacity;
    store<u32>(frame, enlarge(load<u32>(frame, F_MEMORY), capacity, oldSize, wanted), F_MEMORY);
    store<u32>(frame, wanted, F_MEMORY_CAPACITY);
  }
  zeroRange(load<u32>(frame, F_MEMORY) + oldSize, <u32>newSize - oldSize);
  store<u32>(frame, <u32>newSize, F_MEMORY_SIZE);
  return left;
}

/** Zeroes a multiple of 32 bytes. PERF: memory.fill calls out of the module, which is too expensive for the usual word or two. */
@inline function zeroRange(at: u32, length: u32): void {
  if (length > 256) {
    memory.fill(at, 0, length);
    return;
  }
  for (let i: u32 = 0; i < length; i += 32) zeroWord(at + i);
}

/** End of an access of `bytes` bytes at the offset stored at `sp`; larger than any payable size if the offset is. */
@inline export function accessEnd(sp: u32, bytes: u64): u64 {
  const offset = load<u64>(sp);
  return fits64(sp) && offset <= UNREACHABLE ? offset + bytes : ~(<u64>0);
}

/** End of the range given by two words; 0 for an empty range, beyond UNREACHABLE if no gas can pay for it. */
@inline export function rangeEnd(offset: u32, length: u32): u64 {
  const n = load<u64>(length);
  if (!fits64(length) || n > UNREACHABLE) return ~(<u64>0);
  if (n == 0) return 0;
  const o = load<u64>(offset);
  if (!fits64(offset) || o > UNREACHABLE) return ~(<u64>0);
  return o + n;
}

/** Expands the memory to contain the range; returns the gas left; negative: not enough. */
@inline export function touchRange(frame: u32, offset: u32, length: u32, gas: i64): i64 {
  const end = rangeEnd(offset, length);
  return end > <u64>load<u32>(frame, F_MEMORY_SIZE) ? expandMemory(frame, end, gas) : gas;
}

/** Pointer to the range, which is in memory. An empty range may begin anywhere; it yields the start of the memory. */
@inline export function placeOf(frame: u32, offset: u32, length: u32): u32 {
  return load<u32>(frame, F_MEMORY) + (load<u64>(length) == 0 ? 0 : <u32>load<u64>(offset));
}

/**
 * Copies `length` bytes from position `offset` (a word) of a source into memory, with zeros beyond the source's end. `gas` has been
 * charged for the range, and the destination is in memory.
 */
export function copyPadded(destination: u32, source: u32, sourceLength: u32, offset: u32, length: u32): void {
  let from: u64 = sourceLength;
  if (fits64(offset) && load<u64>(offset) < from) from = load<u64>(offset);
  announceBytes(length);
  const available = sourceLength - <u32>from;
  const copied = min(available, length);
  // PERF: both leave the module, even for zero bytes.
  if (copied != 0) memory.copy(destination, source + <u32>from, copied);
  if (copied != length) memory.fill(destination + copied, 0, length - copied);
}
