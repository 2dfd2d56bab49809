/** Paths of nibbles. A range is (bytes, from, to), where nibble i of `bytes` is the high half of byte i/2 if i is even; `from` may be negative. */

/** Nibbles of a key */
@inline export const KEY_NIBBLES: i32 = 64;
/** Bytes of a key */
@inline export const KEY_BYTES: u32 = 32;

/** The path from the root to the current node, a nibble per byte. Nibbles beyond the node's depth are stale. */
export const PATH: u32 = <u32>memory.data(80, 16);

@inline export function nibbleAt(bytes: u32, index: i32): u32 {
  return (load<u8>(bytes + (index >> 1)) >> <u8>(((index & 1) ^ 1) << 2)) & 15;
}

/** Number of leading nibbles that two ranges share, at most `limit`. */
export function commonNibbles(a: u32, aFrom: i32, b: u32, bFrom: i32, limit: i32): i32 {
  let shared = 0;
  while (shared < limit && nibbleAt(a, aFrom + shared) == nibbleAt(b, bFrom + shared)) shared++;
  return shared;
}

/** Whether the nibbles of a range that ends with a whole byte before `to` are the last nibbles of a key, from `depth`. */
export function isTailOf(bytes: u32, to: i32, key: u32, depth: i32): bool {
  const whole = <u32>(KEY_NIBBLES - depth) >> 1;
  const a = bytes + (to >> 1) - whole;
  const b = key + KEY_BYTES - whole;
  let i: u32 = 0;
  for (; i + 8 <= whole; i += 8) if (load<u64>(a + i) != load<u64>(b + i)) return false;
  for (; i < whole; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return (depth & 1) == 0 || ((load<u8>(a - 1) ^ load<u8>(b - 1)) & 15) == 0;
}

/** Writes nibbles to PATH. */
export function follow(depth: i32, bytes: u32, from: i32, to: i32): void {
  for (let i = from; i < to; i++) store<u8>(PATH + depth + i - from, <u8>nibbleAt(bytes, i));
}

/** Packs a range after the first `at` nibbles of `out`. */
export function appendNibbles(out: u32, at: i32, bytes: u32, from: i32, to: i32): void {
  for (let i = from; i < to; i++, at++) {
    const place = out + (at >> 1);
    const nibble = <u8>nibbleAt(bytes, i);
    store<u8>(place, (at & 1) == 0 ? nibble << 4 : load<u8>(place) | nibble);
  }
}
