import type { Arithmetic } from "./arithmetic.ts";
import { type Precompile, UNPAYABLE } from "./precompile.ts";

/** The input starts with the lengths of base, exponent and modulus, one word each. */
const HEADER_BYTES = 96;
const WORD_BYTES = 32;
/** EIP-7823 */
const OSAKA_MAX_BYTES = 1024;
/** A base, modulus or exponent of this length cannot be paid for; below it the numbers here are exact. */
const MAX_BYTES = 2 ** 24;
const MAX_EXPONENT_BYTES = 2 ** 40;

interface Lengths {
  readonly base: number;
  readonly exponent: number;
  readonly modulus: number;
}

/** A length in the header, capped at the limit. */
function length(input: Uint8Array, at: number, limit: number): number {
  let value = 0;
  for (let i = at; i < at + WORD_BYTES; i++) value = Math.min(value * 256 + (input[i] ?? 0), limit);
  return value;
}

const lengthsOf = (input: Uint8Array): Lengths => ({
  base: length(input, 0, MAX_BYTES),
  exponent: length(input, WORD_BYTES, MAX_EXPONENT_BYTES),
  modulus: length(input, 2 * WORD_BYTES, MAX_BYTES),
});

/** If base and modulus are empty, the exponent costs nothing. */
const isUnpayable = (longest: number, { exponent }: Lengths): boolean =>
  longest === MAX_BYTES || (longest > 0 && exponent === MAX_EXPONENT_BYTES);

/** Position of the highest bit of the exponent's first 32 bytes (all of it if shorter), at least 0 */
function highestBit(input: Uint8Array, { base, exponent }: Lengths): number {
  const start = HEADER_BYTES + base;
  const bytes = Math.min(exponent, WORD_BYTES);
  for (let i = 0; i < bytes; i++) {
    const byte = input[start + i] ?? 0;
    if (byte !== 0) return 8 * (bytes - i) - 1 - (Math.clz32(byte) - 24);
  }
  return 0;
}

/** Each byte of the exponent beyond the first 32 counts `perByte`. */
function iterations(input: Uint8Array, lengths: Lengths, perByte: number): number {
  return Math.max(highestBit(input, lengths) + perByte * Math.max(lengths.exponent - WORD_BYTES, 0), 1);
}

/** complexity · iterations / divisor, both below 2^53 */
function product(complexity: number, count: number, divisor: number): bigint {
  const exact = complexity * count;
  return exact <= Number.MAX_SAFE_INTEGER
    ? BigInt(Math.floor(exact / divisor))
    : (BigInt(complexity) * BigInt(count)) / BigInt(divisor);
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** EIP-198 */
function byzantiumGas(input: Uint8Array): bigint {
  const lengths = lengthsOf(input);
  const x = Math.max(lengths.base, lengths.modulus);
  if (isUnpayable(x, lengths)) return UNPAYABLE;
  let complexity: number;
  if (x <= 64) complexity = x * x;
  else if (x <= 1024) complexity = Math.floor((x * x) / 4) + 96 * x - 3072;
  else complexity = Math.floor((x * x) / 16) + 480 * x - 199_680;
  return product(complexity, iterations(input, lengths, 8), 20);
}

/** EIP-2565 */
function berlinGas(input: Uint8Array): bigint {
  const lengths = lengthsOf(input);
  const x = Math.max(lengths.base, lengths.modulus);
  if (isUnpayable(x, lengths)) return UNPAYABLE;
  const words = Math.ceil(x / 8);
  return max(200n, product(words * words, iterations(input, lengths, 8), 3));
}

/** EIP-7883, with the bounds of EIP-7823 */
function osakaGas(input: Uint8Array): bigint {
  const lengths = lengthsOf(input);
  const x = Math.max(lengths.base, lengths.modulus);
  if (Math.max(lengths.exponent, x) > OSAKA_MAX_BYTES) return UNPAYABLE;
  const words = Math.ceil(x / 8);
  return max(500n, product(x > 32 ? 2 * words * words : 16, iterations(input, lengths, 16), 1));
}

function run(arithmetic: Arithmetic, input: Uint8Array): Uint8Array | undefined {
  const { base, exponent, modulus } = lengthsOf(input);
  // the modulus is 0 if the input ends before it
  if (HEADER_BYTES + base + exponent >= input.length) return new Uint8Array(modulus);
  arithmetic.write(input.subarray(HEADER_BYTES), base + exponent + modulus);
  if (arithmetic.exports.modexp(arithmetic.start, base, exponent, modulus) === 0) {
    throw new Error(`no memory for modexp of ${base}, ${exponent}, ${modulus} bytes`);
  }
  return arithmetic.read(modulus);
}

/** 0x05: lengths of base, exponent, modulus ‖ base ‖ exponent ‖ modulus → base ^ exponent mod modulus */
const modexp =
  (gas: (input: Uint8Array) => bigint) =>
  (arithmetic: Arithmetic): Precompile => ({ gas, run: (input) => run(arithmetic, input) });

export const modexpByzantium = modexp(byzantiumGas);
export const modexpBerlin = modexp(berlinGas);
export const modexpOsaka = modexp(osakaGas);
