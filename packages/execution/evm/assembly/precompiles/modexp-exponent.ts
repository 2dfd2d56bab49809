/** Exponents of modexp.ts: bytes, big-endian, the first one not 0. Bits count from the lowest, 0. */

export function exponentBits(at: usize, end: usize): u32 {
  if (at == end) return 0;
  return 8 * <u32>(end - at) - (<u32>clz(<u32>load<u8>(at)) - 24);
}

/** `width` bits, 8 at most, from `position` on */
@inline export function exponentDigit(end: usize, position: u32, width: u32): u32 {
  const byte = end - 1 - (position >> 3);
  const bits = (((<u32>load<u8>(byte - 1)) << 8) | <u32>load<u8>(byte)) >> (position & 7);
  return bits & ((1 << width) - 1);
}

/** How many bits to process at a time: 1, without a table, for short exponents. */
export function windowBits(bits: u32): u32 {
  return bits <= 24 ? 1 : bits <= 80 ? 3 : bits <= 512 ? 4 : bits <= 1600 ? 5 : 6;
}
