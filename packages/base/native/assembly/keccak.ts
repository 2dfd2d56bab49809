/** Keccak-256 of many messages, several at a time. Inputs and outputs are in the memory at `buffer()`. */

@external("native", "keccak_lanes") declare function keccakLanes(): u32;
@external("native", "keccak_hash_all") declare function keccakHashAll(
  messages: usize,
  ends: usize,
  count: u32,
  digests: usize,
  laneCount: u32,
): bool;

export function buffer(): usize {
  return (__heap_base + 15) & ~15;
}

export function reserve(bytes: usize): bool {
  return buffer() + bytes <= (<usize>memory.size()) << 16;
}

/** The maximum number of lanes of the processor: 8 (AVX-512), 4 (AVX2) or 0. With 0 lanes this module cannot hash. */
export function laneCount(): u32 {
  return keccakLanes();
}

/** See c/keccak-lanes.h. */
export function hashAll(messages: usize, ends: usize, count: u32, digests: usize, laneCount: u32): bool {
  return keccakHashAll(messages, ends, count, digests, laneCount);
}
