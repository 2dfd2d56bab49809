/**
 * base ^ exponent for moduli of up to 64 bits: computed both modulo their odd part, by Montgomery multiplication with the radix
 * 2^64, and modulo 2^64; the Chinese remainder theorem combines the two.
 */
import { exponentBits, exponentDigit, windowBits } from "./modexp-exponent";

export const WORD_BYTES: usize = 8;
const LOW: u64 = 0xffffffff;

/** Upper half of a·b */
@inline function multiplyHigh(a: u64, b: u64): u64 {
  const a0 = a & LOW;
  const a1 = a >> 32;
  const b0 = b & LOW;
  const b1 = b >> 32;
  const middle = a1 * b0 + ((a0 * b0) >> 32);
  const other = a0 * b1 + (middle & LOW);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/** a·b / 2^64 mod modulus, of numbers below it; inverse = 1 / modulus mod 2^64 */
@inline function montgomery(a: u64, b: u64, modulus: u64, inverse: u64): u64 {
  const high = multiplyHigh(a, b);
  const taken = multiplyHigh(a * b * inverse, modulus);
  return high - taken + (high < taken ? modulus : 0);
}

/** powers 0 … 2^6 − 1: modulo the odd part, in Montgomery form, and modulo 2^64 */
const POWERS: usize = memory.data(1024, 8);

/** Up to 8 bytes, big-endian */
function readWord(at: usize, end: usize): u64 {
  let word: u64 = 0;
  for (; at < end; at++) word = (word << 8) | <u64>load<u8>(at);
  return word;
}

/** Base, exponent and modulus (not 0) from their first byte that is not 0 to their end */
export function wordPower(
  base: usize,
  baseEnd: usize,
  exponent: usize,
  exponentEnd: usize,
  modulusAt: usize,
  modulusEnd: usize,
): u64 {
  const modulus = readWord(modulusAt, modulusEnd);
  const twos = ctz(modulus);
  const odd = modulus >> twos;
  let inverse = odd; // in the lowest three bits
  for (let i = 0; i < 5; i++) inverse *= 2 - odd * inverse;
  const one = (0 - odd) % odd; // 2^64
  // 2 → 2² → 2⁴ … → 2^64 in Montgomery form
  let squaredRadix = one >= odd - one ? one - (odd - one) : one + one;
  for (let i = 0; i < 6; i++) squaredRadix = montgomery(squaredRadix, squaredRadix, odd, inverse);
  let reduced: u64 = 0;
  let low: u64 = 0;
  for (let at = base; at < baseEnd; ) {
    const next = at + ((baseEnd - at - 1) % WORD_BYTES) + 1;
    low = readWord(at, next);
    const word = low % odd;
    reduced = montgomery(reduced, squaredRadix, odd, inverse);
    reduced = reduced >= odd - word ? reduced - (odd - word) : reduced + word;
    at = next;
  }
  reduced = montgomery(reduced, squaredRadix, odd, inverse);

  let position = exponentBits(exponent, exponentEnd);
  let x = one;
  let y: u64 = 1;
  const width = windowBits(position);
  if (width == 1) {
    for (; position > 0; position--) {
      x = montgomery(x, x, odd, inverse);
      y *= y;
      if (exponentDigit(exponentEnd, position - 1, 1) == 0) continue;
      x = montgomery(x, reduced, odd, inverse);
      y *= low;
    }
  } else {
    for (let i: usize = 0; i < (16 as usize) << width; i += 16) {
      store<u64>(POWERS + i, x);
      store<u64>(POWERS + i, y, 8);
      x = montgomery(x, reduced, odd, inverse);
      y *= low;
    }
    x = one;
    y = 1;
    while (position > 0) {
      const bits = ((position - 1) % width) + 1;
      for (let i: u32 = 0; i < bits; i++) {
        x = montgomery(x, x, odd, inverse);
        y *= y;
      }
      position -= bits;
      const entry = POWERS + 16 * <usize>exponentDigit(exponentEnd, position, bits);
      x = montgomery(x, load<u64>(entry), odd, inverse);
      y *= load<u64>(entry, 8);
    }
  }
  x = montgomery(x, 1, odd, inverse);
  // x + odd·k ≡ y modulo 2^twos
  return x + odd * (((y - x) * inverse) & (((<u64>1) << twos) - 1));
}
