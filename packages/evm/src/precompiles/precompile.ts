/** A precompiled contract. `run` is called only when `gas` can be paid, with the same input: a view, valid only during the call. */
export interface Precompile {
  gas(input: Uint8Array): bigint;
  /** undefined: failure, which takes all gas of the call */
  run(input: Uint8Array): Uint8Array | undefined;
}

/** By address as a number: 0x01 … 0x11, 0x100. */
export type PrecompileTable = ReadonlyMap<number, Precompile>;

/** Byte range of an input that continues with zeros for ever. */
export function paddedSlice(input: Uint8Array, start: number, length: number): Uint8Array {
  const slice = new Uint8Array(length);
  if (start < input.length) slice.set(input.subarray(start, Math.min(input.length, start + length)));
  return slice;
}

/** More gas than any call has: an input that is never accepted. */
export const UNPAYABLE = 1n << 63n;

/** Gas by the number of 32-byte words. */
export const gasByWords = (base: number, perWord: number, input: Uint8Array): bigint =>
  BigInt(base + perWord * Math.ceil(input.length / 32));
