import { bigintToBytes, bytesToBigint, isZeroBytes } from "@rnode/primitives";
import { type Arithmetic, LIMB_BITS } from "./arithmetic.ts";
import { type Precompile, paddedSlice, UNPAYABLE } from "./precompile.ts";

/** Lengths of base, exponent and modulus are words at the start of the input. */
const HEADER_BYTES = 96;
/** EIP-7823 */
const OSAKA_MAX_BYTES = 1024n;

interface Lengths {
  readonly base: bigint;
  readonly exponent: bigint;
  readonly modulus: bigint;
}

function lengthsOf(input: Uint8Array): Lengths {
  const word = (index: number) => bytesToBigint(paddedSlice(input, 32 * index, 32));
  return { base: word(0), exponent: word(1), modulus: word(2) };
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}

/** The exponent's first 32 bytes (all of it when shorter) as a number. */
function exponentHead(input: Uint8Array, { base, exponent }: Lengths): bigint {
  if (base > BigInt(input.length)) return 0n;
  return bytesToBigint(paddedSlice(input, HEADER_BYTES + Number(base), Number(exponent < 32n ? exponent : 32n)));
}

/** Position of the exponent's highest bit, longer exponents counted by `perByte` a byte beyond 32. */
function iterations(input: Uint8Array, lengths: Lengths, perByte: bigint): bigint {
  const bits = BigInt(Math.max(bitLength(exponentHead(input, lengths)) - 1, 0));
  return lengths.exponent > 32n ? perByte * (lengths.exponent - 32n) + bits : bits;
}

/** EIP-198 */
function byzantiumGas(input: Uint8Array): bigint {
  const lengths = lengthsOf(input);
  const x = max(lengths.base, lengths.modulus);
  let complexity: bigint;
  if (x <= 64n) complexity = x * x;
  else if (x <= 1024n) complexity = (x * x) / 4n + 96n * x - 3072n;
  else complexity = (x * x) / 16n + 480n * x - 199_680n;
  return (complexity * max(iterations(input, lengths, 8n), 1n)) / 20n;
}

/** EIP-2565 */
function berlinGas(input: Uint8Array): bigint {
  const lengths = lengthsOf(input);
  const words = (max(lengths.base, lengths.modulus) + 7n) / 8n;
  return max(200n, (words * words * max(iterations(input, lengths, 8n), 1n)) / 3n);
}

/** EIP-7883, with the bounds of EIP-7823 */
function osakaGas(input: Uint8Array): bigint {
  const lengths = lengthsOf(input);
  if (max(lengths.exponent, max(lengths.base, lengths.modulus)) > OSAKA_MAX_BYTES) return UNPAYABLE;
  const longest = max(lengths.base, lengths.modulus);
  const words = (longest + 7n) / 8n;
  const complexity = longest > 32n ? 2n * words * words : 16n;
  return max(500n, complexity * max(iterations(input, lengths, 16n), 1n));
}

function run(arithmetic: Arithmetic, input: Uint8Array): Uint8Array | undefined {
  const lengths = lengthsOf(input);
  if (lengths.modulus === 0n) return new Uint8Array(0);
  // Without base and modulus the price does not depend on the exponent, which may then have any length.
  const modulusBytes = Number(lengths.modulus);
  const baseBytes = Number(lengths.base);
  const exponentBytes = Number(lengths.exponent);
  const part = (start: number, length: number) => bytesToBigint(paddedSlice(input, start, length));
  const modulus = part(HEADER_BYTES + baseBytes + exponentBytes, modulusBytes);
  if (modulus === 0n) return new Uint8Array(modulusBytes);
  const base = part(HEADER_BYTES, baseBytes);
  const exponent = paddedSlice(input, HEADER_BYTES + baseBytes, exponentBytes);
  return bigintToBytes(modularPower(arithmetic, base, exponent, modulus), modulusBytes);
}

/** Longest modulus for the arithmetic in WebAssembly; above it big integers, with their 64-bit limbs, are as fast. */
const MAX_LIMBS = 55;
/** Three limbs are fast, fewer would not be faster. */
const MIN_LIMBS = 3;
const limbsOf = (bits: number): number => Math.ceil(bits / LIMB_BITS);

/** base ^ exponent mod modulus; the exponent big-endian, the modulus not 0 */
export function modularPower(arithmetic: Arithmetic, base: bigint, exponent: Uint8Array, modulus: bigint): bigint {
  if (modulus === 1n) return 0n;
  const reduced = base % modulus;
  if (isZeroBytes(exponent)) return 1n;
  if (reduced <= 1n) return reduced;
  if (limbsOf(bitLength(modulus)) > MAX_LIMBS) return longModularPower(reduced, bytesToBigint(exponent), modulus);
  const twos = trailingZeros(modulus);
  const odd = modulus >> BigInt(twos);
  if (twos === 0) return oddPower(arithmetic, reduced, exponent, odd);
  const mask = (1n << BigInt(twos)) - 1n;
  const low = arithmetic.power(reduced & mask, exponent, undefined, limbsOf(twos)) & mask;
  if (odd === 1n) return low;
  // Chinese remainders: high + odd·k ≡ low modulo 2^twos
  const high = oddPower(arithmetic, reduced % odd, exponent, odd);
  return high + odd * (((low - high) * inversePowerOfTwo(odd, twos)) & mask);
}

function oddPower(arithmetic: Arithmetic, base: bigint, exponent: Uint8Array, modulus: bigint): bigint {
  return arithmetic.power(base, exponent, modulus, Math.max(limbsOf(bitLength(modulus)), MIN_LIMBS));
}

function trailingZeros(value: bigint): number {
  return bitLength(value & -value) - 1;
}

/** 1 / odd mod 2^bits, by Newton's iteration */
function inversePowerOfTwo(odd: bigint, bits: number): bigint {
  let inverse = odd; // right in the lowest three bits
  for (let known = 3; known < bits; known *= 2) inverse = BigInt.asUintN(bits, inverse * (2n - odd * inverse));
  return inverse;
}

const WINDOW_BITS = 4;

/** Left to right, a window of four bits at a time; base and exponent not 0. */
function longModularPower(base: bigint, exponent: bigint, modulus: bigint): bigint {
  const digits = exponent.toString(16);
  if (digits.length <= 8) {
    let result = 1n;
    for (const bit of exponent.toString(2)) {
      result = (result * result) % modulus;
      if (bit === "1") result = (result * base) % modulus;
    }
    return result;
  }
  const powers = [1n, base];
  for (let i = 2; i < 1 << WINDOW_BITS; i++) powers.push((powers[i - 1]! * base) % modulus);
  let result = powers[Number.parseInt(digits[0]!, 16)]!;
  for (let i = 1; i < digits.length; i++) {
    for (let bit = 0; bit < WINDOW_BITS; bit++) result = (result * result) % modulus;
    const digit = Number.parseInt(digits[i]!, 16);
    if (digit !== 0) result = (result * powers[digit]!) % modulus;
  }
  return result;
}

/** 0x05: lengths of base, exponent, modulus ‖ base ‖ exponent ‖ modulus → base ^ exponent mod modulus */
const modexp =
  (gas: (input: Uint8Array) => bigint) =>
  (arithmetic: Arithmetic): Precompile => ({ gas, run: (input) => run(arithmetic, input) });

export const modexpByzantium = modexp(byzantiumGas);
export const modexpBerlin = modexp(berlinGas);
export const modexpOsaka = modexp(osakaGas);
