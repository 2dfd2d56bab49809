/** Digits of scalars: halves by the curve's endomorphism, and non-adjacent forms. Numbers are words of 64 bits, lowest first. */
import { fnAdd, fnMultiply, fnNegate, fnSubtract, HALF_ORDER, LAMBDA, MINUS_B1, MINUS_B2, QUOTIENT1, QUOTIENT2 } from "./scalars";

/** Room for the digits of a half and of a scalar */
export const MAX_DIGITS: usize = 136;

const PRODUCT: usize = memory.data(64, 8);

/** out ← a·b/2^384, rounded; a and b have four words; the result has two words and two zeros */
function multiplyHigh(out: usize, a: usize, b: usize): void {
  memory.fill(PRODUCT, 0, 64);
  for (let i: usize = 0; i < 32; i += 4) {
    const x = <u64>load<u32>(a + i);
    let carry: u64 = 0;
    for (let j: usize = 0; j < 32; j += 4) {
      carry += x * <u64>load<u32>(b + j) + <u64>load<u32>(PRODUCT + i + j);
      store<u32>(PRODUCT + i + j, <u32>carry);
      carry >>= 32;
    }
    store<u32>(PRODUCT + i + 32, <u32>carry);
  }
  const round = load<u64>(PRODUCT, 40) >> 63;
  const low = load<u64>(PRODUCT, 48) + round;
  store<u64>(out, low);
  store<u64>(out, load<u64>(PRODUCT, 56) + <u64>(low < round), 8);
  store<u64>(out, 0, 16);
  store<u64>(out, 0, 24);
}

const C1: usize = memory.data(32, 8);
const C2: usize = memory.data(32, 8);

function isAbove(a: usize, b: usize): bool {
  for (let i = 24; i >= 0; i -= 8) {
    const x = load<u64>(a + i);
    const y = load<u64>(b + i);
    if (x != y) return x > y;
  }
  return false;
}

/** Replaces a number modulo the order with its shortest representative, without the sign. @returns whether it was negative */
function shorten(k: usize): bool {
  if (!isAbove(k, HALF_ORDER)) return false;
  fnNegate(k, k);
  return true;
}

/**
 * scalar = ±k1 ± k2·λ modulo the order, k1 and k2 below 2^128 (Gallant, Lambert, Vanstone, 2001).
 *
 * @returns bit 0: k1 is negative, bit 1: k2
 */
export function split(k1: usize, k2: usize, scalar: usize): i32 {
  multiplyHigh(C1, scalar, QUOTIENT1);
  multiplyHigh(C2, scalar, QUOTIENT2);
  // the constants are in Montgomery form, so the products are not
  fnMultiply(C1, C1, MINUS_B1);
  fnMultiply(C2, C2, MINUS_B2);
  fnAdd(k2, C1, C2);
  fnMultiply(C1, k2, LAMBDA);
  fnSubtract(k1, scalar, C1);
  return <i32>shorten(k1) | ((<i32>shorten(k2)) << 1);
}

/** Digits of `width` bits of a number of two words, lowest first, odd or zero. @returns the number of digits */
export function recode(digits: usize, scalar: usize, width: i32, negative: bool): i32 {
  memory.fill(digits, 0, MAX_DIGITS * 2);
  let low = load<u64>(scalar);
  let high = load<u64>(scalar, 8);
  let above: u64 = 0; // bit 128, after a carry
  let length = 0;
  for (let i = 0; (low | high | above) != 0; ) {
    if (low & 1) {
      let digit = <i32>(low & ((1 << width) - 1));
      if (digit >= 1 << (width - 1)) digit -= 1 << width;
      store<i16>(digits + 2 * i, <i16>(negative ? -digit : digit));
      length = i + 1;
      const before = low;
      low -= <u64>(<i64>digit);
      if (digit < 0 && low < before) {
        high++;
        if (high == 0) above = 1;
      }
    }
    const shift = low == 0 ? 1 : <i32>ctz(low); // at least 1, because the lowest bit is 0 now
    low = (low >> shift) | (high << (64 - shift));
    high = (high >> shift) | (above << (64 - shift));
    above = 0;
    i += shift;
  }
  return length;
}

/**
 * `count` digits of `width` bits, lowest first, from −2^(width − 1) to 2^(width − 1), of a number of two words below 2^(count ·
 * width − 1).
 */
export function recodeFixed(digits: usize, scalar: usize, width: i32, count: i32, negative: bool): void {
  let low = load<u64>(scalar);
  let high = load<u64>(scalar, 8);
  let carry = 0;
  for (let i = 0; i < count; i++) {
    let digit = <i32>(low & ((1 << width) - 1)) + carry;
    carry = <i32>(digit > 1 << (width - 1));
    digit -= carry << width;
    store<i16>(digits + 2 * i, <i16>(negative ? -digit : digit));
    low = (low >> width) | (high << (64 - width));
    high >>= width;
  }
}
