/** The compression function F of BLAKE2b with any number of rounds (RFC 7693 § 3.2, EIP-152): precompile 0x09. */
import { hostSlice } from "./host";

/** Message positions of ten rounds, one byte each. */
const SIGMA: usize = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
  14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3,
  11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4,
  7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8,
  9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13,
  2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9,
  12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11,
  13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10,
  6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5,
  10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0,
]);

/** The message words in the order in which ten rounds use them. */
const SCHEDULE: usize = memory.data(10 * 128, 16);
/** The 16 words of the working vector, kept between two slices of rounds. */
const VECTOR: usize = memory.data(128, 16);
/** Rounds per call of `mix`: few enough that long inputs do not stay in the baseline compiler's code. */
@inline const SLICE: u32 = 100_000;

const IV: usize = memory.data<u64>([
  0x6a09e667f3bcc908,
  0xbb67ae8584caa73b,
  0x3c6ef372fe94f82b,
  0xa54ff53a5f1d36f1,
  0x510e527fade682d1,
  0x9b05688c2b3e6c1f,
  0x1f83d9abfb41bd6b,
  0x5be0cd19137e2179,
]);

/**
 * Input: rounds u32 big-endian ‖ h, 8 u64 ‖ m, 16 u64 ‖ t, 2 u64 (all little-endian) ‖ final flag; 213 bytes, checked by the caller.
 * Output: h, 64 bytes at `to`.
 */
export function blake2F(input: u32, to: u32): void {
  const h = input + 4;
  const m = input + 68;
  for (let i: u32 = 0; i < 160; i++) {
    store<u64>(<u32>SCHEDULE + (i << 3), load<u64>(m + (<u32>load<u8>(<u32>SIGMA + i) << 3)));
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

/** Runs rounds on the working vector, starting with the first permutation. */
function mix(rounds: u32): void {
  const v = <u32>VECTOR;
  let v0 = load<u64>(v);
  let v1 = load<u64>(v, 8);
  let v2 = load<u64>(v, 16);
  let v3 = load<u64>(v, 24);
  let v4 = load<u64>(v, 32);
  let v5 = load<u64>(v, 40);
  let v6 = load<u64>(v, 48);
  let v7 = load<u64>(v, 56);
  let v8 = load<u64>(v, 64);
  let v9 = load<u64>(v, 72);
  let v10 = load<u64>(v, 80);
  let v11 = load<u64>(v, 88);
  let v12 = load<u64>(v, 96);
  let v13 = load<u64>(v, 104);
  let v14 = load<u64>(v, 112);
  let v15 = load<u64>(v, 120);
  let m = <u32>SCHEDULE;
  for (let round: u32 = 0; round < rounds; round++) {
    // columns
    v0 += v4 + load<u64>(m);
    v12 = rotr<u64>(v12 ^ v0, 32);
    v8 += v12;
    v4 = rotr<u64>(v4 ^ v8, 24);
    v0 += v4 + load<u64>(m, 8);
    v12 = rotr<u64>(v12 ^ v0, 16);
    v8 += v12;
    v4 = rotr<u64>(v4 ^ v8, 63);
    v1 += v5 + load<u64>(m, 16);
    v13 = rotr<u64>(v13 ^ v1, 32);
    v9 += v13;
    v5 = rotr<u64>(v5 ^ v9, 24);
    v1 += v5 + load<u64>(m, 24);
    v13 = rotr<u64>(v13 ^ v1, 16);
    v9 += v13;
    v5 = rotr<u64>(v5 ^ v9, 63);
    v2 += v6 + load<u64>(m, 32);
    v14 = rotr<u64>(v14 ^ v2, 32);
    v10 += v14;
    v6 = rotr<u64>(v6 ^ v10, 24);
    v2 += v6 + load<u64>(m, 40);
    v14 = rotr<u64>(v14 ^ v2, 16);
    v10 += v14;
    v6 = rotr<u64>(v6 ^ v10, 63);
    v3 += v7 + load<u64>(m, 48);
    v15 = rotr<u64>(v15 ^ v3, 32);
    v11 += v15;
    v7 = rotr<u64>(v7 ^ v11, 24);
    v3 += v7 + load<u64>(m, 56);
    v15 = rotr<u64>(v15 ^ v3, 16);
    v11 += v15;
    v7 = rotr<u64>(v7 ^ v11, 63);
    // diagonals
    v0 += v5 + load<u64>(m, 64);
    v15 = rotr<u64>(v15 ^ v0, 32);
    v10 += v15;
    v5 = rotr<u64>(v5 ^ v10, 24);
    v0 += v5 + load<u64>(m, 72);
    v15 = rotr<u64>(v15 ^ v0, 16);
    v10 += v15;
    v5 = rotr<u64>(v5 ^ v10, 63);
    v1 += v6 + load<u64>(m, 80);
    v12 = rotr<u64>(v12 ^ v1, 32);
    v11 += v12;
    v6 = rotr<u64>(v6 ^ v11, 24);
    v1 += v6 + load<u64>(m, 88);
    v12 = rotr<u64>(v12 ^ v1, 16);
    v11 += v12;
    v6 = rotr<u64>(v6 ^ v11, 63);
    v2 += v7 + load<u64>(m, 96);
    v13 = rotr<u64>(v13 ^ v2, 32);
    v8 += v13;
    v7 = rotr<u64>(v7 ^ v8, 24);
    v2 += v7 + load<u64>(m, 104);
    v13 = rotr<u64>(v13 ^ v2, 16);
    v8 += v13;
    v7 = rotr<u64>(v7 ^ v8, 63);
    v3 += v4 + load<u64>(m, 112);
    v14 = rotr<u64>(v14 ^ v3, 32);
    v9 += v14;
    v4 = rotr<u64>(v4 ^ v9, 24);
    v3 += v4 + load<u64>(m, 120);
    v14 = rotr<u64>(v14 ^ v3, 16);
    v9 += v14;
    v4 = rotr<u64>(v4 ^ v9, 63);
    m = m == <u32>SCHEDULE + 9 * 128 ? <u32>SCHEDULE : m + 128;
  }
  store<u64>(v, v0);
  store<u64>(v, v1, 8);
  store<u64>(v, v2, 16);
  store<u64>(v, v3, 24);
  store<u64>(v, v4, 32);
  store<u64>(v, v5, 40);
  store<u64>(v, v6, 48);
  store<u64>(v, v7, 56);
  store<u64>(v, v8, 64);
  store<u64>(v, v9, 72);
  store<u64>(v, v10, 80);
  store<u64>(v, v11, 88);
  store<u64>(v, v12, 96);
  store<u64>(v, v13, 104);
  store<u64>(v, v14, 112);
  store<u64>(v, v15, 120);
}
