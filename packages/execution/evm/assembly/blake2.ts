/** The compression function F of BLAKE2b with any number of rounds (RFC 7693 § 3.2, EIP-152): precompile 0x09. */
import { hostSlice } from "./host";

/** Message positions of ten rounds, one byte each. */
const SIGMA: usize = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3, 11, 8, 12, 0, 5, 2,
  15, 13, 10, 14, 3, 6, 7, 1, 9, 4, 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8, 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12,
  6, 8, 3, 13, 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9, 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11, 13, 11,
  7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10, 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5, 10, 2, 8, 4, 7, 6, 1, 5, 15,
  11, 9, 14, 3, 12, 13, 0,
]);

/** The message words in the order in which the vectors of ten rounds use them. */
const SCHEDULE: usize = memory.data(10 * 128, 16);
/** The 16 words of the working vector, kept between two slices of rounds. */
const VECTOR: usize = memory.data(128, 16);
/** Rounds per call of `mix`: few enough that long inputs do not stay in the baseline compiler's code. */
@inline const SLICE: u32 = 100_000;

const IV: usize = memory.data<u64>([
  0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
  0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
]);

/**
 * Input: rounds u32 big-endian ‖ h, 8 u64 ‖ m, 16 u64 ‖ t, 2 u64 (all little-endian) ‖ final flag; 213 bytes, checked by the caller.
 * Output: h, 64 bytes at `to`.
 */
export function blake2F(input: u32, to: u32): void {
  const h = input + 4;
  const m = input + 68;
  for (let i: u32 = 0; i < 160; i++) {
    // four mixings at once, each with two words: all first ones, then all second ones; the mixings of diagonals begin with the fourth
    const mixing = (i >> 1) + ((i >> 3) & 1);
    const to = (i & ~7) | ((i & 1) << 2) | (mixing & 3);
    store<u64>(<u32>SCHEDULE + (to << 3), load<u64>(m + ((<u32>load<u8>(<u32>SIGMA + i)) << 3)));
  }
  const v = <u32>VECTOR;
  memory.copy(v, h, 64);
  memory.copy(v + 64, IV, 64);
  store<u64>(v, load<u64>(v, 96) ^ load<u64>(input, 196), 96);
  store<u64>(v, load<u64>(v, 104) ^ load<u64>(input, 204), 104);
  if (load<u8>(input, 212) != 0) store<u64>(v, ~load<u64>(v, 112), 112);
  // a multiple of ten: every slice begins with the first permutation
  let left = bswap<u32>(load<u32>(input));
  while (left > SLICE) {
    mix(SLICE);
    left -= SLICE;
    hostSlice();
  }
  mix(left);
  for (let i: u32 = 0; i < 64; i += 8) store<u64>(to + i, load<u64>(h + i) ^ load<u64>(v + i) ^ load<u64>(v + i + 64));
}

@inline function rotate32(a: v128): v128 {
  return v128.shuffle<i32>(a, a, 1, 0, 3, 2);
}

/** Bytes of words turned right by 24 and by 16 bits */
const BY_24: v128 = i8x16(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
const BY_16: v128 = i8x16(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);

/** Runs rounds on the working vector, starting with the first permutation. Rows of four words are two vectors each: a column a lane. */
function mix(rounds: u32): void {
  const v = <u32>VECTOR;
  let a0 = v128.load(v);
  let a1 = v128.load(v, 16);
  let b0 = v128.load(v, 32);
  let b1 = v128.load(v, 48);
  let c0 = v128.load(v, 64);
  let c1 = v128.load(v, 80);
  let d0 = v128.load(v, 96);
  let d1 = v128.load(v, 112);
  let t = a0;
  let m = <u32>SCHEDULE;
  for (let round: u32 = 0; round < rounds; round++) {
    a0 = i64x2.add(i64x2.add(a0, v128.load(m, 0)), b0);
    a1 = i64x2.add(i64x2.add(a1, v128.load(m, 16)), b1);
    d0 = rotate32(v128.xor(d0, a0));
    d1 = rotate32(v128.xor(d1, a1));
    c0 = i64x2.add(c0, d0);
    c1 = i64x2.add(c1, d1);
    b0 = v128.xor(b0, c0);
    b1 = v128.xor(b1, c1);
    b0 = v128.swizzle(b0, BY_24);
    b1 = v128.swizzle(b1, BY_24);
    a0 = i64x2.add(i64x2.add(a0, v128.load(m, 32)), b0);
    a1 = i64x2.add(i64x2.add(a1, v128.load(m, 48)), b1);
    d0 = v128.xor(d0, a0);
    d1 = v128.xor(d1, a1);
    d0 = v128.swizzle(d0, BY_16);
    d1 = v128.swizzle(d1, BY_16);
    c0 = i64x2.add(c0, d0);
    c1 = i64x2.add(c1, d1);
    b0 = v128.xor(b0, c0);
    b1 = v128.xor(b1, c1);
    b0 = v128.or(i64x2.shr_u(b0, 63), i64x2.add(b0, b0));
    b1 = v128.or(i64x2.shr_u(b1, 63), i64x2.add(b1, b1));
    // diagonals: the other rows are turned against b, which is the last to be known
    t = v128.shuffle<i64>(a1, a0, 1, 2);
    a1 = v128.shuffle<i64>(a0, a1, 1, 2);
    a0 = t;
    t = v128.shuffle<i64>(c0, c1, 1, 2);
    c1 = v128.shuffle<i64>(c1, c0, 1, 2);
    c0 = t;
    t = d0;
    d0 = d1;
    d1 = t;
    a0 = i64x2.add(i64x2.add(a0, v128.load(m, 64)), b0);
    a1 = i64x2.add(i64x2.add(a1, v128.load(m, 80)), b1);
    d0 = rotate32(v128.xor(d0, a0));
    d1 = rotate32(v128.xor(d1, a1));
    c0 = i64x2.add(c0, d0);
    c1 = i64x2.add(c1, d1);
    b0 = v128.xor(b0, c0);
    b1 = v128.xor(b1, c1);
    b0 = v128.swizzle(b0, BY_24);
    b1 = v128.swizzle(b1, BY_24);
    a0 = i64x2.add(i64x2.add(a0, v128.load(m, 96)), b0);
    a1 = i64x2.add(i64x2.add(a1, v128.load(m, 112)), b1);
    d0 = v128.xor(d0, a0);
    d1 = v128.xor(d1, a1);
    d0 = v128.swizzle(d0, BY_16);
    d1 = v128.swizzle(d1, BY_16);
    c0 = i64x2.add(c0, d0);
    c1 = i64x2.add(c1, d1);
    b0 = v128.xor(b0, c0);
    b1 = v128.xor(b1, c1);
    b0 = v128.or(i64x2.shr_u(b0, 63), i64x2.add(b0, b0));
    b1 = v128.or(i64x2.shr_u(b1, 63), i64x2.add(b1, b1));
    // and back
    t = v128.shuffle<i64>(a0, a1, 1, 2);
    a1 = v128.shuffle<i64>(a1, a0, 1, 2);
    a0 = t;
    t = v128.shuffle<i64>(c1, c0, 1, 2);
    c1 = v128.shuffle<i64>(c0, c1, 1, 2);
    c0 = t;
    t = d0;
    d0 = d1;
    d1 = t;
    m = m == <u32>SCHEDULE + 9 * 128 ? <u32>SCHEDULE : m + 128;
  }
  v128.store(v, a0);
  v128.store(v, a1, 16);
  v128.store(v, b0, 32);
  v128.store(v, b1, 48);
  v128.store(v, c0, 64);
  v128.store(v, c1, 80);
  v128.store(v, d0, 96);
  v128.store(v, d1, 112);
}
