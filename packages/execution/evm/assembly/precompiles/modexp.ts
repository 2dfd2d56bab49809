/**
 * base ^ exponent mod modulus for numbers of any length (EIP-198): moduli of up to 64 bits in registers (modexp-word.ts), others as
 * limbs with Barrett's reduction ("Implementing the Rivest Shamir and Adleman Public Key Encryption Algorithm on a Standard Digital
 * Signal Processor", 1986), which works for odd and even moduli alike and needs no special representation of the numbers.
 */
import {
  bitLength,
  BITS,
  divide,
  limbsOf,
  MASK,
  multiplyColumns,
  readLimbs,
  shiftLeft,
  shiftRight,
  squareColumns,
  subtractExcess,
} from "./limbs";
import { writeBytes } from "./field";
import { exponentBits, exponentDigit, windowBits } from "./modexp-exponent";
import { multiply12, multiply14, multiply18, multiply5, multiply7, multiply9 } from "./modexp-unrolled";
import { WORD_BYTES, wordPower } from "./modexp-word";

/**
 * Of the current computation: the modulus, shifted so that its highest bit is set, its number of limbs, and 2^(2·BITS·limbs) /
 * modulus, which is one limb longer; both are followed by a limb 0.
 */
let modulus: usize = 0;
let limbs: usize = 0;
let reciprocal: usize = 0;
/** Room for a product (2·limbs + 2), the quotient (limbs + 3) and the multiple of the modulus (limbs + 2) */
let product: usize = 0;
let quotient: usize = 0;
let multiple: usize = 0;

const UNROLLED_LIMBS: usize = 18;

/** out ← a·b mod modulus; all have limbs + 1 limbs, the highest one 0 */
function multiply(out: usize, a: usize, b: usize): void {
  const n = limbs;
  if (n <= 9) {
    if (n == 9) return multiply9(out, a, b, modulus, reciprocal);
    if (n == 7) return multiply7(out, a, b, modulus, reciprocal);
    return multiply5(out, a, b, modulus, reciprocal);
  }
  if (n <= UNROLLED_LIMBS) {
    if (n == 12) return multiply12(out, a, b, modulus, reciprocal);
    if (n == 14) return multiply14(out, a, b, modulus, reciprocal);
    return multiply18(out, a, b, modulus, reciprocal);
  }
  if (a == b) squareColumns(product, a, n);
  else multiplyColumns(product, a, n, b, n, 0, 2 * n);
  // the product's highest limbs times the reciprocal; the omitted columns and truncated limbs make the quotient too small by at
  // most 3
  multiplyColumns(quotient, product + 4 * (n - 1), n + 1, reciprocal, n + 1, n - 1, 2 * n + 1);
  multiplyColumns(multiple, quotient + 8, n, modulus, n, 0, n + 1);
  let borrow: i32 = 0;
  for (let i: usize = 0; i <= 4 * n; i += 4) {
    borrow += <i32>load<u32>(product + i) - <i32>load<u32>(multiple + i);
    store<u32>(out + i, <u32>borrow & <u32>MASK);
    borrow >>= BITS;
  }
  subtractExcess(out, modulus, n);
}

/** Number of limbs for a modulus of this many bytes; up to 18, one of the numbers for which there is unrolled code. */
function limbsFor(bytes: usize): usize {
  const needed = limbsOf(bytes);
  if (needed <= 9) return needed <= 5 ? 5 : needed <= 7 ? 7 : 9;
  return needed <= 12 ? 12 : needed <= 14 ? 14 : max(needed, UNROLLED_LIMBS);
}

@inline function skipZeros(at: usize, end: usize): usize {
  while (at < end && load<u8>(at) == 0) at++;
  return at;
}

/** @returns whether there is enough memory */
function reach(end: usize): bool {
  const missing = <i32>((end + 0xffff) >>> 16) - memory.size();
  return missing <= 0 || memory.grow(missing) >= 0;
}

/**
 * Result ← base ^ exponent, where the exponent is not 0 and `powers` has room for 2^width powers of limbs + 1 limbs. @returns where
 * the result is
 */
function power(base: usize, exponent: usize, end: usize, width: u32, powers: usize): usize {
  const size = (limbs + 1) * 4;
  let position = exponentBits(exponent, end);
  const result = powers; // of power 0, which is not used
  if (width == 1) {
    memory.copy(result, base, size);
    for (position--; position > 0; position--) {
      multiply(result, result, result);
      if (exponentDigit(end, position - 1, 1) != 0) multiply(result, result, base);
    }
    return result;
  }
  memory.copy(powers + size, base, size);
  for (let i: usize = 2; i < (1 as usize) << width; i++) {
    const half = powers + (i >> 1) * size;
    if (i & 1) multiply(powers + i * size, powers + (i - 1) * size, base);
    else multiply(powers + i * size, half, half);
  }
  const first = ((position - 1) % width) + 1;
  position -= first;
  memory.copy(result, powers + <usize>exponentDigit(end, position, first) * size, size);
  while (position > 0) {
    for (let i: u32 = 0; i < width; i++) multiply(result, result, result);
    position -= width;
    const digit = <usize>exponentDigit(end, position, width);
    if (digit != 0) multiply(result, result, powers + digit * size);
  }
  return result;
}

/**
 * base ‖ exponent ‖ modulus at `bytes`, big-endian; the result, which is as long as the modulus, is left there.
 *
 * @returns 0 if there is not enough memory
 */
export function modexp(bytes: usize, baseBytes: usize, exponentBytes: usize, modulusBytes: usize): bool {
  const exponentEnd = bytes + baseBytes + exponentBytes;
  const modulusEnd = exponentEnd + modulusBytes;
  const baseAt = skipZeros(bytes, bytes + baseBytes);
  const exponentAt = skipZeros(bytes + baseBytes, exponentEnd);
  const modulusAt = skipZeros(exponentEnd, modulusEnd);
  if (modulusEnd - modulusAt <= WORD_BYTES) {
    const result =
      modulusAt == modulusEnd ? 0 : wordPower(baseAt, bytes + baseBytes, exponentAt, exponentEnd, modulusAt, modulusEnd);
    memory.fill(bytes, 0, modulusBytes);
    for (let i: usize = 0; i < min(modulusBytes, WORD_BYTES); i++) store<u8>(bytes + modulusBytes - 1 - i, <u8>(result >> (8 * i)));
    return true;
  }
  const n = limbsFor(modulusEnd - modulusAt);
  limbs = n;
  const baseLimbs = max(limbsOf(bytes + baseBytes - baseAt), n) + 1;
  const width = windowBits(exponentBits(exponentAt, exponentEnd));
  modulus = (modulusEnd + 7) & ~7;
  reciprocal = modulus + 4 * (n + 1);
  quotient = reciprocal + 4 * (n + 2);
  multiple = quotient + 4 * (n + 3);
  product = multiple + 4 * (n + 2);
  const powers = product + max<usize>(n * 2 + 3, baseLimbs) * 4;
  const base = powers + ((4 * (n + 1)) << width);
  if (!reach(base + 4 * (n + 1))) return false;
  readLimbs(modulus, n, modulusAt, modulusEnd - modulusAt);
  const shift = n * BITS - bitLength(modulus, n);
  shiftLeft(modulus, n, modulus, n, shift);
  store<u32>(modulus + 4 * n, 0);
  memory.fill(product, 0, 4 * (2 * n + 2));
  store<u32>(product + 8 * n, 1);
  divide(product, 2 * n + 2, modulus, n, reciprocal);
  readLimbs(product, baseLimbs, baseAt, bytes + baseBytes - baseAt);
  divide(product, baseLimbs, modulus, n, 0);
  memory.copy(base, product, 4 * n);
  store<u32>(base + 4 * n, 0);
  let result = base;
  if (exponentAt == exponentEnd) {
    memory.fill(base, 0, 4 * n);
    store<u32>(base, 1);
  } else {
    result = power(base, exponentAt, exponentEnd, width, powers);
  }
  // the result modulo the unshifted modulus: r mod m = (r·2^shift mod m·2^shift) / 2^shift
  const length = n + shift / BITS + 2;
  shiftLeft(product, length, result, n, shift);
  divide(product, length, modulus, n, 0);
  shiftRight(product, n, shift);
  writeBytes(bytes, product, <i32>modulusBytes, <i32>n, BITS);
  return true;
}
