/**
 * A precompiled contract. `run` is only called if `gas` can be paid, with the same input, a view that is only valid during the
 * call.
 */
export interface Precompile {
  gas(input: Uint8Array): bigint;
  /** `undefined`: failure, which consumes all gas of the call */
  run(input: Uint8Array): Uint8Array | undefined;
}

/** By address as a number: 0x01 … 0x11, 0x100. */
export type PrecompileTable = ReadonlyMap<number, Precompile>;

/** A byte range of the input, which is treated as continuing with infinitely many zeros. */
export function paddedSlice(input: Uint8Array, start: number, length: number): Uint8Array {
  const slice = new Uint8Array(length);
  if (start < input.length) slice.set(input.subarray(start, Math.min(input.length, start + length)));
  return slice;
}

/** More gas than any call can have, for inputs that are never accepted. */
export const UNPAYABLE = 1n << 63n;

/** Gas by the number of 32-byte words. */
export const gasByWords = (base: number, perWord: number, input: Uint8Array): bigint =>
  BigInt(base + perWord * Math.ceil(input.length / 32));
