/**
 * A separate module: Keccak-256 for JavaScript, consisting of the engine's permutation and an input buffer. Inputs
 * longer than the buffer are passed in parts. scripts/build-keccak.mjs compiles it into packages/base/primitives/src/hash/keccak-wasm.ts.
 */
import { clearState, keccak256, permute, RATE } from "./keccak";
import { SCRATCH_KECCAK } from "./layout";

/**
 * Above the engine's scratch areas, of which only those of the permutation are used. The digest is written to the start of the
 * buffer.
 */
const BUFFER: u32 = 0x14000;

export function buffer(): u32 {
  return BUFFER;
}

/** Where the 200 bytes of the state between `begin` and `finish` are: a copy of them continues an input another time. */
export function state(): u32 {
  return SCRATCH_KECCAK;
}

/** Hashes the buffer's first `length` bytes; the digest is written to its start. */
export function hash(length: u32): void {
  keccak256(BUFFER, length, BUFFER);
}

/** Begins a longer input. */
export function begin(): void {
  clearState();
}

@inline function addBlock(from: u32): void {
  for (let i: u32 = 0; i < RATE; i += 8) store<u64>(SCRATCH_KECCAK + i, load<u64>(SCRATCH_KECCAK + i) ^ load<u64>(from + i));
}

/** Absorbs the buffer's first `length` bytes, a multiple of 136. */
export function absorb(length: u32): void {
  for (let at: u32 = 0; at < length; at += RATE) {
    addBlock(BUFFER + at);
    permute(false);
  }
}

/** Absorbs the last bytes of a longer input, fewer than 136; the digest is written to the start of the buffer. */
export function finish(length: u32): void {
  store<u8>(BUFFER + length, 0x01);
  for (let i = length + 1; i < RATE; i++) store<u8>(BUFFER + i, 0);
  store<u8>(BUFFER + RATE - 1, load<u8>(BUFFER + RATE - 1) | 0x80);
  addBlock(BUFFER);
  permute(true);
  for (let i: u32 = 0; i < 32; i += 8) store<u64>(BUFFER + i, load<u64>(SCRATCH_KECCAK + i));
}
