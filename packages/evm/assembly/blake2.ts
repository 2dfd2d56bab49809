/** The compression function F of BLAKE2b with any number of rounds (RFC 7693 § 3.2, EIP-152): precompile 0x09. */

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

@inline function word(message: u32, sigma: u32, i: u32): u64 {
  return load<u64>(message + (<u32>load<u8>(sigma + i) << 3));
}

/**
 * Input: rounds u32 big-endian ‖ h, 8 u64 ‖ m, 16 u64 ‖ t, 2 u64 (all little-endian) ‖ final flag; 213 bytes, checked by the caller.
 * Output: h, 64 bytes at `to`.
 */
export function blake2F(input: u32, to: u32): void {
  const rounds = bswap<u32>(load<u32>(input));
  const h = input + 4;
  const m = input + 68;
  let v0 = load<u64>(h);
  let v1 = load<u64>(h, 8);
  let v2 = load<u64>(h, 16);
  let v3 = load<u64>(h, 24);
  let v4 = load<u64>(h, 32);
  let v5 = load<u64>(h, 40);
  let v6 = load<u64>(h, 48);
  let v7 = load<u64>(h, 56);
  let v8: u64 = 0x6a09e667f3bcc908;
  let v9: u64 = 0xbb67ae8584caa73b;
  let v10: u64 = 0x3c6ef372fe94f82b;
  let v11: u64 = 0xa54ff53a5f1d36f1;
  let v12: u64 = 0x510e527fade682d1 ^ load<u64>(input, 196);
  let v13: u64 = 0x9b05688c2b3e6c1f ^ load<u64>(input, 204);
  let v14: u64 = 0x1f83d9abfb41bd6b;
  let v15: u64 = 0x5be0cd19137e2179;
  if (load<u8>(input, 212) != 0) v14 = ~v14;
  let sigma = <u32>SIGMA;
  for (let round: u32 = 0; round < rounds; round++) {
    // columns
    v0 += v4 + word(m, sigma, 0);
    v12 = rotr<u64>(v12 ^ v0, 32);
    v8 += v12;
    v4 = rotr<u64>(v4 ^ v8, 24);
    v0 += v4 + word(m, sigma, 1);
    v12 = rotr<u64>(v12 ^ v0, 16);
    v8 += v12;
    v4 = rotr<u64>(v4 ^ v8, 63);
    v1 += v5 + word(m, sigma, 2);
    v13 = rotr<u64>(v13 ^ v1, 32);
    v9 += v13;
    v5 = rotr<u64>(v5 ^ v9, 24);
    v1 += v5 + word(m, sigma, 3);
    v13 = rotr<u64>(v13 ^ v1, 16);
    v9 += v13;
    v5 = rotr<u64>(v5 ^ v9, 63);
    v2 += v6 + word(m, sigma, 4);
    v14 = rotr<u64>(v14 ^ v2, 32);
    v10 += v14;
    v6 = rotr<u64>(v6 ^ v10, 24);
    v2 += v6 + word(m, sigma, 5);
    v14 = rotr<u64>(v14 ^ v2, 16);
    v10 += v14;
    v6 = rotr<u64>(v6 ^ v10, 63);
    v3 += v7 + word(m, sigma, 6);
    v15 = rotr<u64>(v15 ^ v3, 32);
    v11 += v15;
    v7 = rotr<u64>(v7 ^ v11, 24);
    v3 += v7 + word(m, sigma, 7);
    v15 = rotr<u64>(v15 ^ v3, 16);
    v11 += v15;
    v7 = rotr<u64>(v7 ^ v11, 63);
    // diagonals
    v0 += v5 + word(m, sigma, 8);
    v15 = rotr<u64>(v15 ^ v0, 32);
    v10 += v15;
    v5 = rotr<u64>(v5 ^ v10, 24);
    v0 += v5 + word(m, sigma, 9);
    v15 = rotr<u64>(v15 ^ v0, 16);
    v10 += v15;
    v5 = rotr<u64>(v5 ^ v10, 63);
    v1 += v6 + word(m, sigma, 10);
    v12 = rotr<u64>(v12 ^ v1, 32);
    v11 += v12;
    v6 = rotr<u64>(v6 ^ v11, 24);
    v1 += v6 + word(m, sigma, 11);
    v12 = rotr<u64>(v12 ^ v1, 16);
    v11 += v12;
    v6 = rotr<u64>(v6 ^ v11, 63);
    v2 += v7 + word(m, sigma, 12);
    v13 = rotr<u64>(v13 ^ v2, 32);
    v8 += v13;
    v7 = rotr<u64>(v7 ^ v8, 24);
    v2 += v7 + word(m, sigma, 13);
    v13 = rotr<u64>(v13 ^ v2, 16);
    v8 += v13;
    v7 = rotr<u64>(v7 ^ v8, 63);
    v3 += v4 + word(m, sigma, 14);
    v14 = rotr<u64>(v14 ^ v3, 32);
    v9 += v14;
    v4 = rotr<u64>(v4 ^ v9, 24);
    v3 += v4 + word(m, sigma, 15);
    v14 = rotr<u64>(v14 ^ v3, 16);
    v9 += v14;
    v4 = rotr<u64>(v4 ^ v9, 63);
    sigma = sigma == <u32>SIGMA + 144 ? <u32>SIGMA : sigma + 16;
  }
  store<u64>(to, load<u64>(h) ^ v0 ^ v8);
  store<u64>(to, load<u64>(h, 8) ^ v1 ^ v9, 8);
  store<u64>(to, load<u64>(h, 16) ^ v2 ^ v10, 16);
  store<u64>(to, load<u64>(h, 24) ^ v3 ^ v11, 24);
  store<u64>(to, load<u64>(h, 32) ^ v4 ^ v12, 32);
  store<u64>(to, load<u64>(h, 40) ^ v5 ^ v13, 40);
  store<u64>(to, load<u64>(h, 48) ^ v6 ^ v14, 48);
  store<u64>(to, load<u64>(h, 56) ^ v7 ^ v15, 56);
}
