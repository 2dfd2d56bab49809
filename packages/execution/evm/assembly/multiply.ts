/** Multiplication and powers of words. */
import { SCRATCH_PRODUCT, SCRATCH_WORD_A, SCRATCH_WORD_B } from "./layout";
import { copyWord, fits64, isZero, leadingZeros, setWord, zeroWord } from "./word";

/** Upper 64 bits of the product: WebAssembly has no wide multiplication. */
@inline export function multiplyHigh(a: u64, b: u64): u64 {
  const a0 = a & 0xffffffff;
  const a1 = a >> 32;
  const b0 = b & 0xffffffff;
  const b1 = b >> 32;
  const low = a0 * b0;
  const middle = a1 * b0 + (low >> 32); // cannot overflow: (2^32−1)² + 2^32−1 < 2^64
  const middle2 = a0 * b1 + (middle & 0xffffffff);
  return a1 * b1 + (middle >> 32) + (middle2 >> 32);
}

/** to = a × b mod 2^256 */
export function multiply(a: u32, b: u32, to: u32): void {
  const a0 = load<u64>(a);
  const a1 = load<u64>(a, 8);
  const a2 = load<u64>(a, 16);
  const a3 = load<u64>(a, 24);
  const b0 = load<u64>(b);
  const b1 = load<u64>(b, 8);
  const b2 = load<u64>(b, 16);
  const b3 = load<u64>(b, 24);
  const r0 = a0 * b0;
  let r1 = multiplyHigh(a0, b0);
  let r2: u64 = 0;
  let r3: u64 = 0;
  if ((a1 | a2 | a3 | b1 | b2 | b3) != 0) {
    let low = a0 * b1;
    r1 += low;
    r2 = u64(r1 < low) + multiplyHigh(a0, b1);
    low = a1 * b0;
    r1 += low;
    let high = u64(r1 < low) + multiplyHigh(a1, b0);
    r2 += high;
    r3 = u64(r2 < high);
    if ((a2 | a3 | b2 | b3 | (a1 & -(<u64>(b1 != 0)))) != 0) {
      low = a0 * b2;
      r2 += low;
      r3 += u64(r2 < low) + multiplyHigh(a0, b2);
      low = a1 * b1;
      r2 += low;
      r3 += u64(r2 < low) + multiplyHigh(a1, b1);
      low = a2 * b0;
      r2 += low;
      r3 += u64(r2 < low) + multiplyHigh(a2, b0);
      r3 += a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0;
    }
  }
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

/** The 512-bit product at SCRATCH_PRODUCT, eight limbs. */
export function multiplyFull(a: u32, b: u32): void {
  memory.fill(SCRATCH_PRODUCT, 0, 64);
  for (let i: u32 = 0; i < 32; i += 8) {
    const x = load<u64>(a + i);
    if (x == 0) continue;
    let carry: u64 = 0;
    for (let j: u32 = 0; j < 32; j += 8) {
      const y = load<u64>(b + j);
      const p = SCRATCH_PRODUCT + i + j;
      const low = x * y;
      let high = multiplyHigh(x, y);
      const s = low + carry;
      high += u64(s < low);
      const old = load<u64>(p);
      const r = s + old;
      high += u64(r < old);
      store<u64>(p, r);
      carry = high;
    }
    store<u64>(SCRATCH_PRODUCT + i + 32, carry);
  }
}

/** to = base ^ exponent mod 2^256 */
export function power(base: u32, exponent: u32, to: u32): void {
  if (isZero(exponent)) {
    setWord(to, 1);
    return;
  }
  if (fits64(base) && load<u64>(base) == 2) {
    const n = load<u64>(exponent);
    if (!fits64(exponent) || n > 255) zeroWord(to);
    else {
      zeroWord(to);
      store<u64>(to + ((<u32>(n >> 6)) << 3), (<u64>1) << (n & 63));
    }
    return;
  }
  copyWord(SCRATCH_WORD_A, base);
  copyWord(SCRATCH_WORD_B, base);
  // left to right, after the leading one
  const bits = 256 - <u32>leadingZeros(exponent);
  for (let i = bits - 1; i > 0; i--) {
    const bit = i - 1;
    multiply(SCRATCH_WORD_A, SCRATCH_WORD_A, SCRATCH_WORD_A);
    if ((load<u64>(exponent + ((bit >> 6) << 3)) >> (bit & 63)) & 1) multiply(SCRATCH_WORD_A, SCRATCH_WORD_B, SCRATCH_WORD_A);
  }
  copyWord(to, SCRATCH_WORD_A);
}
