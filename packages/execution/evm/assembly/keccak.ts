/**
 * Keccak-256. The state is 25 lanes of 64 bits, lane x + 5y at byte 8(x + 5y). One round is theta, rho and pi (lane x + 5y moves to
 * y + 5((2x + 3y) mod 5)), chi, iota. Reference: FIPS 202 § 3, with Keccak's original padding 0x01.
 *
 * PERF, each measured:
 * - Rounds alternate between two buffers, one row at a time, with loads and stores at constant addresses. With all 25 lanes in locals, the compiler
 *   would spill and reload them twice as often as needed.
 * - Six lanes are kept complemented from the first block to the digest, which leaves five of the 25 negations of chi ("lane complementing",
 *   Keccak implementation overview § 2.2).
 * - The column parities of the next round are computed from the new lanes after the last store of a round and before a branch, because V8 merges a
 *   load into the operation that uses it only after the last store of a basic block. The lanes of the last row are still in registers. Collecting the
 *   parities while lanes are computed takes registers that the rows need, and a tenth more time.
 * - More rounds in the body of the loop are slower, because the body has to fit into the processor's cache of decoded instructions.
 */
import { KECCAK_CACHE, SCRATCH_DIGEST, SCRATCH_KECCAK, SCRATCH_KECCAK_2 } from "./layout";
import { copyWord, readRaw } from "./word";

/** Bytes absorbed by one permutation. */
@inline export const RATE: u32 = 136;

const ROUND_CONSTANTS: usize = memory.data<u64>([
  0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
  0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
  0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
  0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
]);

/** Complements the six lanes of lane complementing: once, before the first block. */
@inline function complementLanes(): void {
  store<u64>(SCRATCH_KECCAK, ~load<u64>(SCRATCH_KECCAK, 8), 8);
  store<u64>(SCRATCH_KECCAK, ~load<u64>(SCRATCH_KECCAK, 16), 16);
  store<u64>(SCRATCH_KECCAK, ~load<u64>(SCRATCH_KECCAK, 64), 64);
  store<u64>(SCRATCH_KECCAK, ~load<u64>(SCRATCH_KECCAK, 96), 96);
  store<u64>(SCRATCH_KECCAK, ~load<u64>(SCRATCH_KECCAK, 136), 136);
  store<u64>(SCRATCH_KECCAK, ~load<u64>(SCRATCH_KECCAK, 160), 160);
}

/** The state before the first block. */
export function clearState(): void {
  for (let i: u32 = 0; i < 200; i += 8) store<u64>(SCRATCH_KECCAK + i, 0);
  complementLanes();
}

/**
 * keccak-f[1600] on the state at SCRATCH_KECCAK.
 *
 * @param toDigest only the first 32 bytes are needed: the last round computes no other bytes, which are then undefined, and does not complement them
 */
export function permute(toDigest: bool): void {
  // column parities, and what theta adds to a column; b: a row before chi; n: a lane of it negated
  let c0 =
    load<u64>(SCRATCH_KECCAK) ^
    load<u64>(SCRATCH_KECCAK, 40) ^
    load<u64>(SCRATCH_KECCAK, 80) ^
    load<u64>(SCRATCH_KECCAK, 120) ^
    load<u64>(SCRATCH_KECCAK, 160);
  let c1 =
    load<u64>(SCRATCH_KECCAK, 8) ^
    load<u64>(SCRATCH_KECCAK, 48) ^
    load<u64>(SCRATCH_KECCAK, 88) ^
    load<u64>(SCRATCH_KECCAK, 128) ^
    load<u64>(SCRATCH_KECCAK, 168);
  let c2 =
    load<u64>(SCRATCH_KECCAK, 16) ^
    load<u64>(SCRATCH_KECCAK, 56) ^
    load<u64>(SCRATCH_KECCAK, 96) ^
    load<u64>(SCRATCH_KECCAK, 136) ^
    load<u64>(SCRATCH_KECCAK, 176);
  let c3 =
    load<u64>(SCRATCH_KECCAK, 24) ^
    load<u64>(SCRATCH_KECCAK, 64) ^
    load<u64>(SCRATCH_KECCAK, 104) ^
    load<u64>(SCRATCH_KECCAK, 144) ^
    load<u64>(SCRATCH_KECCAK, 184);
  let c4 =
    load<u64>(SCRATCH_KECCAK, 32) ^
    load<u64>(SCRATCH_KECCAK, 72) ^
    load<u64>(SCRATCH_KECCAK, 112) ^
    load<u64>(SCRATCH_KECCAK, 152) ^
    load<u64>(SCRATCH_KECCAK, 192);
  let d0: u64 = 0;
  let d1: u64 = 0;
  let d2: u64 = 0;
  let d3: u64 = 0;
  let d4: u64 = 0;
  let b0: u64 = 0;
  let b1: u64 = 0;
  let b2: u64 = 0;
  let b3: u64 = 0;
  let b4: u64 = 0;
  let n: u64 = 0;
  const last = <u32>ROUND_CONSTANTS + 22 * 8;
  for (let round = <u32>ROUND_CONSTANTS; round <= last; round += 16) {
    // from SCRATCH_KECCAK to SCRATCH_KECCAK_2
    d0 = c4 ^ rotl<u64>(c1, 1);
    d1 = c0 ^ rotl<u64>(c2, 1);
    d2 = c1 ^ rotl<u64>(c3, 1);
    d3 = c2 ^ rotl<u64>(c4, 1);
    d4 = c3 ^ rotl<u64>(c0, 1);
    b0 = load<u64>(SCRATCH_KECCAK) ^ d0;
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 48) ^ d1, 44);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 96) ^ d2, 43);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 144) ^ d3, 21);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 192) ^ d4, 14);
    store<u64>(SCRATCH_KECCAK_2, b0 ^ (b1 | b2) ^ load<u64>(round));
    store<u64>(SCRATCH_KECCAK_2, b1 ^ (~b2 | b3), 8);
    store<u64>(SCRATCH_KECCAK_2, b2 ^ (b3 & b4), 16);
    store<u64>(SCRATCH_KECCAK_2, b3 ^ (b4 | b0), 24);
    store<u64>(SCRATCH_KECCAK_2, b4 ^ (b0 & b1), 32);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 24) ^ d3, 28);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 72) ^ d4, 20);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 80) ^ d0, 3);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 128) ^ d1, 45);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 176) ^ d2, 61);
    store<u64>(SCRATCH_KECCAK_2, b0 ^ (b1 | b2), 40);
    store<u64>(SCRATCH_KECCAK_2, b1 ^ (b2 & b3), 48);
    store<u64>(SCRATCH_KECCAK_2, b2 ^ (b3 | ~b4), 56);
    store<u64>(SCRATCH_KECCAK_2, b3 ^ (b4 | b0), 64);
    store<u64>(SCRATCH_KECCAK_2, b4 ^ (b0 & b1), 72);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 8) ^ d1, 1);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 56) ^ d2, 6);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 104) ^ d3, 25);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 152) ^ d4, 8);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 160) ^ d0, 18);
    n = ~b3;
    store<u64>(SCRATCH_KECCAK_2, b0 ^ (b1 | b2), 80);
    store<u64>(SCRATCH_KECCAK_2, b1 ^ (b2 & b3), 88);
    store<u64>(SCRATCH_KECCAK_2, b2 ^ (n & b4), 96);
    store<u64>(SCRATCH_KECCAK_2, n ^ (b4 | b0), 104);
    store<u64>(SCRATCH_KECCAK_2, b4 ^ (b0 & b1), 112);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 32) ^ d4, 27);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 40) ^ d0, 36);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 88) ^ d1, 10);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 136) ^ d2, 15);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 184) ^ d3, 56);
    n = ~b3;
    store<u64>(SCRATCH_KECCAK_2, b0 ^ (b1 & b2), 120);
    store<u64>(SCRATCH_KECCAK_2, b1 ^ (b2 | b3), 128);
    store<u64>(SCRATCH_KECCAK_2, b2 ^ (n | b4), 136);
    store<u64>(SCRATCH_KECCAK_2, n ^ (b4 & b0), 144);
    store<u64>(SCRATCH_KECCAK_2, b4 ^ (b0 | b1), 152);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 16) ^ d2, 62);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 64) ^ d3, 55);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 112) ^ d4, 39);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 120) ^ d0, 41);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK, 168) ^ d1, 2);
    n = ~b1;
    c0 = b0 ^ (n & b2);
    store<u64>(SCRATCH_KECCAK_2, c0, 160);
    c1 = n ^ (b2 | b3);
    store<u64>(SCRATCH_KECCAK_2, c1, 168);
    c2 = b2 ^ (b3 & b4);
    store<u64>(SCRATCH_KECCAK_2, c2, 176);
    c3 = b3 ^ (b4 | b0);
    store<u64>(SCRATCH_KECCAK_2, c3, 184);
    c4 = b4 ^ (b0 & b1);
    store<u64>(SCRATCH_KECCAK_2, c4, 192);
    c0 =
      c0 ^
      load<u64>(SCRATCH_KECCAK_2) ^
      load<u64>(SCRATCH_KECCAK_2, 40) ^
      load<u64>(SCRATCH_KECCAK_2, 80) ^
      load<u64>(SCRATCH_KECCAK_2, 120);
    c1 =
      c1 ^
      load<u64>(SCRATCH_KECCAK_2, 8) ^
      load<u64>(SCRATCH_KECCAK_2, 48) ^
      load<u64>(SCRATCH_KECCAK_2, 88) ^
      load<u64>(SCRATCH_KECCAK_2, 128);
    c2 =
      c2 ^
      load<u64>(SCRATCH_KECCAK_2, 16) ^
      load<u64>(SCRATCH_KECCAK_2, 56) ^
      load<u64>(SCRATCH_KECCAK_2, 96) ^
      load<u64>(SCRATCH_KECCAK_2, 136);
    c3 =
      c3 ^
      load<u64>(SCRATCH_KECCAK_2, 24) ^
      load<u64>(SCRATCH_KECCAK_2, 64) ^
      load<u64>(SCRATCH_KECCAK_2, 104) ^
      load<u64>(SCRATCH_KECCAK_2, 144);
    c4 =
      c4 ^
      load<u64>(SCRATCH_KECCAK_2, 32) ^
      load<u64>(SCRATCH_KECCAK_2, 72) ^
      load<u64>(SCRATCH_KECCAK_2, 112) ^
      load<u64>(SCRATCH_KECCAK_2, 152);
    d0 = c4 ^ rotl<u64>(c1, 1);
    d1 = c0 ^ rotl<u64>(c2, 1);
    d2 = c1 ^ rotl<u64>(c3, 1);
    d3 = c2 ^ rotl<u64>(c4, 1);
    d4 = c3 ^ rotl<u64>(c0, 1);
    if (toDigest && round == last) {
      b0 = load<u64>(SCRATCH_KECCAK_2) ^ d0;
      b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 48) ^ d1, 44);
      b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 96) ^ d2, 43);
      b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 144) ^ d3, 21);
      b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 192) ^ d4, 14);
      store<u64>(SCRATCH_KECCAK, b0 ^ (b1 | b2) ^ load<u64>(round, 8));
      store<u64>(SCRATCH_KECCAK, ~(b1 ^ (~b2 | b3)), 8);
      store<u64>(SCRATCH_KECCAK, ~(b2 ^ (b3 & b4)), 16);
      store<u64>(SCRATCH_KECCAK, b3 ^ (b4 | b0), 24);
      return;
    }
    // from SCRATCH_KECCAK_2 to SCRATCH_KECCAK
    b0 = load<u64>(SCRATCH_KECCAK_2) ^ d0;
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 48) ^ d1, 44);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 96) ^ d2, 43);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 144) ^ d3, 21);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 192) ^ d4, 14);
    store<u64>(SCRATCH_KECCAK, b0 ^ (b1 | b2) ^ load<u64>(round, 8));
    store<u64>(SCRATCH_KECCAK, b1 ^ (~b2 | b3), 8);
    store<u64>(SCRATCH_KECCAK, b2 ^ (b3 & b4), 16);
    store<u64>(SCRATCH_KECCAK, b3 ^ (b4 | b0), 24);
    store<u64>(SCRATCH_KECCAK, b4 ^ (b0 & b1), 32);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 24) ^ d3, 28);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 72) ^ d4, 20);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 80) ^ d0, 3);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 128) ^ d1, 45);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 176) ^ d2, 61);
    store<u64>(SCRATCH_KECCAK, b0 ^ (b1 | b2), 40);
    store<u64>(SCRATCH_KECCAK, b1 ^ (b2 & b3), 48);
    store<u64>(SCRATCH_KECCAK, b2 ^ (b3 | ~b4), 56);
    store<u64>(SCRATCH_KECCAK, b3 ^ (b4 | b0), 64);
    store<u64>(SCRATCH_KECCAK, b4 ^ (b0 & b1), 72);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 8) ^ d1, 1);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 56) ^ d2, 6);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 104) ^ d3, 25);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 152) ^ d4, 8);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 160) ^ d0, 18);
    n = ~b3;
    store<u64>(SCRATCH_KECCAK, b0 ^ (b1 | b2), 80);
    store<u64>(SCRATCH_KECCAK, b1 ^ (b2 & b3), 88);
    store<u64>(SCRATCH_KECCAK, b2 ^ (n & b4), 96);
    store<u64>(SCRATCH_KECCAK, n ^ (b4 | b0), 104);
    store<u64>(SCRATCH_KECCAK, b4 ^ (b0 & b1), 112);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 32) ^ d4, 27);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 40) ^ d0, 36);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 88) ^ d1, 10);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 136) ^ d2, 15);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 184) ^ d3, 56);
    n = ~b3;
    store<u64>(SCRATCH_KECCAK, b0 ^ (b1 & b2), 120);
    store<u64>(SCRATCH_KECCAK, b1 ^ (b2 | b3), 128);
    store<u64>(SCRATCH_KECCAK, b2 ^ (n | b4), 136);
    store<u64>(SCRATCH_KECCAK, n ^ (b4 & b0), 144);
    store<u64>(SCRATCH_KECCAK, b4 ^ (b0 | b1), 152);
    b0 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 16) ^ d2, 62);
    b1 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 64) ^ d3, 55);
    b2 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 112) ^ d4, 39);
    b3 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 120) ^ d0, 41);
    b4 = rotl<u64>(load<u64>(SCRATCH_KECCAK_2, 168) ^ d1, 2);
    n = ~b1;
    c0 = b0 ^ (n & b2);
    store<u64>(SCRATCH_KECCAK, c0, 160);
    c1 = n ^ (b2 | b3);
    store<u64>(SCRATCH_KECCAK, c1, 168);
    c2 = b2 ^ (b3 & b4);
    store<u64>(SCRATCH_KECCAK, c2, 176);
    c3 = b3 ^ (b4 | b0);
    store<u64>(SCRATCH_KECCAK, c3, 184);
    c4 = b4 ^ (b0 & b1);
    store<u64>(SCRATCH_KECCAK, c4, 192);
    c0 =
      c0 ^
      load<u64>(SCRATCH_KECCAK) ^
      load<u64>(SCRATCH_KECCAK, 40) ^
      load<u64>(SCRATCH_KECCAK, 80) ^
      load<u64>(SCRATCH_KECCAK, 120);
    c1 =
      c1 ^
      load<u64>(SCRATCH_KECCAK, 8) ^
      load<u64>(SCRATCH_KECCAK, 48) ^
      load<u64>(SCRATCH_KECCAK, 88) ^
      load<u64>(SCRATCH_KECCAK, 128);
    c2 =
      c2 ^
      load<u64>(SCRATCH_KECCAK, 16) ^
      load<u64>(SCRATCH_KECCAK, 56) ^
      load<u64>(SCRATCH_KECCAK, 96) ^
      load<u64>(SCRATCH_KECCAK, 136);
    c3 =
      c3 ^
      load<u64>(SCRATCH_KECCAK, 24) ^
      load<u64>(SCRATCH_KECCAK, 64) ^
      load<u64>(SCRATCH_KECCAK, 104) ^
      load<u64>(SCRATCH_KECCAK, 144);
    c4 =
      c4 ^
      load<u64>(SCRATCH_KECCAK, 32) ^
      load<u64>(SCRATCH_KECCAK, 72) ^
      load<u64>(SCRATCH_KECCAK, 112) ^
      load<u64>(SCRATCH_KECCAK, 152);
  }
}

/** The last bytes of a message, fewer than eight, with the first byte of the padding. */
@inline function paddedLane(from: u32, length: u32): u64 {
  let lane: u64 = 0x01;
  for (let i = length; i > 0; i--) lane = (lane << 8) | load<u8>(from + i - 1);
  return lane;
}

/**
 * Absorbs everything and leaves the digest in the first 32 bytes of the state.
 *
 * PERF: lanes are written whole, because reading a lane after one of its bytes was written stalls; and in loops, because
 * memory.fill and memory.copy call out of the module.
 */
function absorb(from: u32, length: u32): void {
  let at = from;
  let left = length;
  let i: u32 = 0;
  if (left < RATE) {
    for (; i + 8 <= left; i += 8) store<u64>(SCRATCH_KECCAK + i, load<u64>(at + i));
    store<u64>(SCRATCH_KECCAK + i, paddedLane(at + i, left - i));
    for (i += 8; i < 200; i += 8) store<u64>(SCRATCH_KECCAK + i, 0);
    complementLanes();
  } else {
    for (; i < RATE; i += 8) store<u64>(SCRATCH_KECCAK + i, load<u64>(at + i));
    for (; i < 200; i += 8) store<u64>(SCRATCH_KECCAK + i, 0);
    complementLanes();
    while (true) {
      permute(false);
      at += RATE;
      left -= RATE;
      if (left < RATE) break;
      for (i = 0; i < RATE; i += 8) store<u64>(SCRATCH_KECCAK + i, load<u64>(SCRATCH_KECCAK + i) ^ load<u64>(at + i));
    }
    for (i = 0; i + 8 <= left; i += 8) store<u64>(SCRATCH_KECCAK + i, load<u64>(SCRATCH_KECCAK + i) ^ load<u64>(at + i));
    store<u64>(SCRATCH_KECCAK + i, load<u64>(SCRATCH_KECCAK + i) ^ paddedLane(at + i, left - i));
  }
  store<u64>(SCRATCH_KECCAK, load<u64>(SCRATCH_KECCAK, RATE - 8) ^ 0x8000000000000000, RATE - 8);
  permute(true);
}

/** keccak256 of `length` bytes at `from`: 32 raw bytes at `to`. */
export function keccak256(from: u32, length: u32, to: u32): void {
  absorb(from, length);
  copyWord(to, SCRATCH_KECCAK);
}

/** The same as a word. */
export function keccakWord(from: u32, length: u32, to: u32): void {
  absorb(from, length);
  readRaw(to, SCRATCH_KECCAK);
}

/** Leaves the digest of 64 bytes in the first 32 bytes of the state. */
function absorbPair(from: u32): void {
  store<u64>(SCRATCH_KECCAK, load<u64>(from));
  store<u64>(SCRATCH_KECCAK, ~load<u64>(from, 8), 8);
  store<u64>(SCRATCH_KECCAK, ~load<u64>(from, 16), 16);
  store<u64>(SCRATCH_KECCAK, load<u64>(from, 24), 24);
  store<u64>(SCRATCH_KECCAK, load<u64>(from, 32), 32);
  store<u64>(SCRATCH_KECCAK, load<u64>(from, 40), 40);
  store<u64>(SCRATCH_KECCAK, load<u64>(from, 48), 48);
  store<u64>(SCRATCH_KECCAK, load<u64>(from, 56), 56);
  store<u64>(SCRATCH_KECCAK, ~(<u64>1), 64);
  store<u64>(SCRATCH_KECCAK, 0, 72);
  store<u64>(SCRATCH_KECCAK, 0, 80);
  store<u64>(SCRATCH_KECCAK, 0, 88);
  store<u64>(SCRATCH_KECCAK, ~(<u64>0), 96);
  store<u64>(SCRATCH_KECCAK, 0, 104);
  store<u64>(SCRATCH_KECCAK, 0, 112);
  store<u64>(SCRATCH_KECCAK, 0, 120);
  store<u64>(SCRATCH_KECCAK, 0x8000000000000000, 128);
  store<u64>(SCRATCH_KECCAK, ~(<u64>0), 136);
  store<u64>(SCRATCH_KECCAK, 0, 144);
  store<u64>(SCRATCH_KECCAK, 0, 152);
  store<u64>(SCRATCH_KECCAK, ~(<u64>0), 160);
  store<u64>(SCRATCH_KECCAK, 0, 168);
  store<u64>(SCRATCH_KECCAK, 0, 176);
  store<u64>(SCRATCH_KECCAK, 0, 184);
  store<u64>(SCRATCH_KECCAK, 0, 192);
  permute(true);
}

/** Entry of KECCAK_CACHE, of which there are 2^CACHE_BITS: the input's 64 bytes, the digest as a word, unused. Two lines of the processor's cache. */
@inline const CACHE_BITS: u32 = 7;
@inline const CACHE_ENTRY: u32 = 128;
/** One u32 tag per entry: 31 bits of the hash of the last input; the top bit is set if the entry contains it. */
@inline const CACHE_TAGS: u32 = KECCAK_CACHE + (CACHE_ENTRY << CACHE_BITS);
@inline const HELD: u32 = 0x80000000;
/** After this many misses in a row, only a repeated input takes an entry. */
@inline const PATIENCE: u32 = 64;
let misses: u32 = 0;

@inline function isPair(entry: u32, from: u32): bool {
  const first = v128.or(v128.xor(v128.load(entry), v128.load(from)), v128.xor(v128.load(entry, 16), v128.load(from, 16)));
  const second = v128.or(v128.xor(v128.load(entry, 32), v128.load(from, 32)), v128.xor(v128.load(entry, 48), v128.load(from, 48)));
  return !v128.any_true(v128.or(first, second));
}

/**
 * `keccakWord` of 64 bytes, with a cache. Contracts compute the slots of their mappings repeatedly: in six or seven of ten cases,
 * the slot is among the last 128. PERF: a hit costs a hundredth of the permutation; a miss only reads the tag. A series of hashes
 * that never recur replaces no entries, because writing an entry costs a twentieth of the permutation if the processor's level-1
 * cache is shared.
 */
export function keccakPair(from: u32, to: u32): void {
  const mixed =
    ((load<u64>(from, 8) ^ rotl<u64>(load<u64>(from, 16), 21) ^ rotl<u64>(load<u64>(from, 24), 42)) * 0x9e3779b97f4a7c15 +
      load<u64>(from, 56)) *
    0xd6e8feb86659fd93;
  const index = <u32>(mixed >> (64 - CACHE_BITS));
  const entry = KECCAK_CACHE + index * CACHE_ENTRY;
  const place = CACHE_TAGS + (index << 2);
  const tag = <u32>(mixed >> 26) & ~HELD;
  const seen = load<u32>(place);
  if (seen == (tag | HELD) && isPair(entry, from)) {
    misses = 0;
    copyWord(to, entry + 64);
    return;
  }
  const takes = misses < PATIENCE || (seen & ~HELD) == tag;
  misses++;
  store<u32>(place, takes ? tag | HELD : tag);
  if (takes) {
    for (let i: u32 = 0; i < 64; i += 16) v128.store(entry + i, v128.load(from + i));
  }
  absorbPair(from);
  readRaw(to, SCRATCH_KECCAK);
  if (takes) copyWord(entry + 64, to);
}

/** Like `keccak256`, to SCRATCH_DIGEST. */
@inline export function digest(from: u32, length: u32): void {
  keccak256(from, length, SCRATCH_DIGEST);
}
