/** Keccak-256 of many messages, eight at a time. Inputs are written at `buffer()`, outputs are left there. */

@external("native", "keccak_has_lanes") declare function keccakHasLanes(): bool;
@external("native", "keccak_hash_all") declare function keccakHashAll(messages: usize, ends: usize, count: u32, digests: usize): bool;

export function buffer(): usize {
  return (__heap_base + 15) & ~15;
}

export function reserve(bytes: usize): bool {
  return buffer() + bytes <= <usize>memory.size() << 16;
}

/** Whether the processor has AVX-512. Without it, this module is of no use. */
export function hasLanes(): bool {
  return keccakHasLanes();
}

/** See c/keccak-lanes.h. */
export function hashAll(messages: usize, ends: usize, count: u32, digests: usize): bool {
  return keccakHashAll(messages, ends, count, digests);
}
