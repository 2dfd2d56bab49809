/** Division and remainder of words. Division by zero gives zero, as the EVM demands. */
import { SCRATCH_DIVIDEND, SCRATCH_DIVISOR, SCRATCH_PRODUCT, SCRATCH_QUOTIENT, SCRATCH_WORD_A, SCRATCH_WORD_B } from "./layout";
import { multiplyFull, multiplyHigh } from "./multiply";
import { add, copyWord, fits64, isZero, less, negate, setWord, subtract, zeroWord } from "./word";

/**
 * Quotient of high·2^64 + low by `divisor`, where high < divisor and the divisor's top bit is set: two steps of 32 bits each
 * (Knuth's algorithm D with two digits).
 */
@inline function divide128(high: u64, low: u64, divisor: u64): u64 {
  const d1 = divisor >> 32;
  const d0 = divisor & 0xffffffff;
  const l1 = low >> 32;
  const l0 = low & 0xffffffff;
  let q1 = high / d1;
  let rest = high - q1 * d1;
  while (q1 >> 32 != 0 || q1 * d0 > ((rest << 32) | l1)) {
    q1--;
    rest += d1;
    if (rest >> 32 != 0) break;
  }
  const middle = (high << 32) + l1 - q1 * divisor;
  let q0 = middle / d1;
  rest = middle - q0 * d1;
  while (q0 >> 32 != 0 || q0 * d0 > ((rest << 32) | l0)) {
    q0--;
    rest += d1;
    if (rest >> 32 != 0) break;
  }
  return (q1 << 32) + q0;
}

/** ⌊(2^128 − 1) ÷ divisor⌋ − 2^64 for a divisor with its top bit set (Möller and Granlund 2011). */
@inline function reciprocal(divisor: u64): u64 {
  return divide128(~divisor, ~(<u64>0), divisor);
}

/** Remainder of the last `divideByLimb`. */
let limbRest: u64 = 0;

/** Quotient by a normalised divisor with its reciprocal; the remainder goes to `limbRest`. Needs high < divisor. */
@inline function divideByLimb(high: u64, low: u64, divisor: u64, inverse: u64): u64 {
  let q0 = inverse * high;
  let q1 = multiplyHigh(inverse, high);
  q0 += low;
  q1 += high + u64(q0 < low) + 1;
  let rest = low - q1 * divisor;
  if (rest > q0) {
    q1--;
    rest += divisor;
  }
  if (rest >= divisor) {
    q1++;
    rest -= divisor;
  }
  limbRest = rest;
  return q1;
}

/** Number of limbs of the word without leading zeros. */
@inline function limbCount(a: u32, limbs: u32): u32 {
  let n = limbs;
  while (n > 0 && load<u64>(a + ((n - 1) << 3)) == 0) n--;
  return n;
}

/** Divides `limbs` limbs at `a` by one limb; quotient at SCRATCH_QUOTIENT, returns the remainder. */
function divideShort(a: u32, limbs: u32, divisor: u64): u64 {
  if (divisor >> 32 == 0) {
    let rest: u64 = 0;
    for (let i = limbs; i > 0; i--) {
      const limb = load<u64>(a + ((i - 1) << 3));
      const high = (rest << 32) | (limb >> 32);
      const q1 = high / divisor;
      const low = ((high - q1 * divisor) << 32) | (limb & 0xffffffff);
      const q0 = low / divisor;
      rest = low - q0 * divisor;
      store<u64>(SCRATCH_QUOTIENT + ((i - 1) << 3), (q1 << 32) | q0);
    }
    return rest;
  }
  const shift = clz<u64>(divisor);
  const normalised = divisor << shift;
  const top = load<u64>(a + ((limbs - 1) << 3));
  let i = limbs;
  let rest: u64;
  if (top < divisor) {
    // one quotient limb less
    i--;
    store<u64>(SCRATCH_QUOTIENT + (i << 3), 0);
    if (i == 0) return top;
    rest = shift == 0 ? top : (top << shift) | (load<u64>(a + ((i - 1) << 3)) >> (64 - shift));
    if (i == 1) {
      // only one step: computing the reciprocal would cost more than it saves
      const low = load<u64>(a) << shift;
      const q = divide128(rest, low, normalised);
      store<u64>(SCRATCH_QUOTIENT, q);
      return (low - q * normalised) >> shift;
    }
  } else {
    rest = shift == 0 ? 0 : top >> (64 - shift);
  }
  const inverse = reciprocal(normalised);
  for (; i > 0; i--) {
    const limb = load<u64>(a + ((i - 1) << 3)) << shift;
    const below = i > 1 && shift != 0 ? load<u64>(a + ((i - 2) << 3)) >> (64 - shift) : 0;
    const q = divideByLimb(rest, limb | below, normalised, inverse);
    rest = limbRest;
    store<u64>(SCRATCH_QUOTIENT + ((i - 1) << 3), q);
  }
  return rest >> shift;
}

/**
 * Knuth's algorithm D on 64-bit limbs: divides `limbs` (at most 8) limbs at `a` by the word `b`, which is not zero. Quotient at
 * SCRATCH_QUOTIENT (8 limbs), remainder at SCRATCH_DIVIDEND (4 limbs).
 */
function divideLong(a: u32, limbs: u32, b: u32): void {
  memory.fill(SCRATCH_QUOTIENT, 0, 64);
  const n = limbCount(b, 4);
  const m = limbCount(a, limbs);
  if (m < n) {
    const a0 = load<u64>(a);
    const a1 = load<u64>(a, 8);
    const a2 = load<u64>(a, 16);
    const a3 = load<u64>(a, 24);
    store<u64>(SCRATCH_DIVIDEND, a0);
    store<u64>(SCRATCH_DIVIDEND, a1, 8);
    store<u64>(SCRATCH_DIVIDEND, a2, 16);
    store<u64>(SCRATCH_DIVIDEND, a3, 24);
    return;
  }
  if (n == 1) {
    const rest = divideShort(a, m, load<u64>(b));
    setWord(SCRATCH_DIVIDEND, rest);
    return;
  }
  // normalise: the divisor's top bit is set
  const shift = clz<u64>(load<u64>(b + ((n - 1) << 3)));
  const back = 64 - shift;
  if (shift == 0) {
    memory.copy(SCRATCH_DIVISOR, b, 32);
    memory.copy(SCRATCH_DIVIDEND, a, m << 3);
    store<u64>(SCRATCH_DIVIDEND + (m << 3), 0);
  } else {
    for (let i = n - 1; i > 0; i--) {
      store<u64>(SCRATCH_DIVISOR + (i << 3), (load<u64>(b + (i << 3)) << shift) | (load<u64>(b + ((i - 1) << 3)) >> back));
    }
    store<u64>(SCRATCH_DIVISOR, load<u64>(b) << shift);
    store<u64>(SCRATCH_DIVIDEND + (m << 3), load<u64>(a + ((m - 1) << 3)) >> back);
    for (let i = m - 1; i > 0; i--) {
      store<u64>(SCRATCH_DIVIDEND + (i << 3), (load<u64>(a + (i << 3)) << shift) | (load<u64>(a + ((i - 1) << 3)) >> back));
    }
    store<u64>(SCRATCH_DIVIDEND, load<u64>(a) << shift);
  }
  const v1 = load<u64>(SCRATCH_DIVISOR + ((n - 1) << 3));
  const v2 = load<u64>(SCRATCH_DIVISOR + ((n - 2) << 3));
  const inverse = reciprocal(v1);
  for (let j = <i32>(m - n); j >= 0; j--) {
    const u = SCRATCH_DIVIDEND + ((<u32>j) << 3);
    const top = load<u64>(u + (n << 3));
    const next = load<u64>(u + ((n - 1) << 3));
    let q: u64;
    let rest: u64;
    let settled = false;
    if (top >= v1) {
      q = ~(<u64>0);
      rest = next + v1;
      settled = rest < v1; // rest ≥ 2^64: q cannot be too large by more
    } else {
      q = divideByLimb(top, next, v1, inverse);
      rest = limbRest;
    }
    if (!settled) {
      const third = load<u64>(u + ((n - 2) << 3));
      while (true) {
        const high = multiplyHigh(q, v2);
        const low = q * v2;
        if (high < rest || (high == rest && low <= third)) break;
        q--;
        rest += v1;
        if (rest < v1) break;
      }
    }
    // subtract q × divisor
    let borrow: u64 = 0;
    let carry: u64 = 0;
    for (let i: u32 = 0; i < n; i++) {
      const v = load<u64>(SCRATCH_DIVISOR + (i << 3));
      const low = q * v;
      const p = low + carry;
      carry = multiplyHigh(q, v) + u64(p < low);
      const w = load<u64>(u + (i << 3));
      const s = w - p;
      const r = s - borrow;
      borrow = u64(w < p) | u64(s < borrow);
      store<u64>(u + (i << 3), r);
    }
    const w = load<u64>(u + (n << 3));
    const s = w - carry;
    const r = s - borrow;
    store<u64>(u + (n << 3), r);
    if (w < carry || s < borrow) {
      // q was one too large: add the divisor back
      q--;
      let c: u64 = 0;
      for (let i: u32 = 0; i < n; i++) {
        const x = load<u64>(u + (i << 3));
        const y = x + load<u64>(SCRATCH_DIVISOR + (i << 3));
        const z = y + c;
        c = u64(y < x) | u64(z < y);
        store<u64>(u + (i << 3), z);
      }
      store<u64>(u + (n << 3), load<u64>(u + (n << 3)) + c);
    }
    store<u64>(SCRATCH_QUOTIENT + ((<u32>j) << 3), q);
  }
  if (shift != 0) {
    for (let i: u32 = 0; i < n; i++) {
      const p = SCRATCH_DIVIDEND + (i << 3);
      store<u64>(p, (load<u64>(p) >> shift) | (load<u64>(p + 8) << back));
    }
  }
  for (let i = n; i < 4; i++) store<u64>(SCRATCH_DIVIDEND + (i << 3), 0);
}

export function divide(a: u32, b: u32, to: u32): void {
  if (fits64(b)) {
    const divisor = load<u64>(b);
    if (divisor == 0) zeroWord(to);
    else if (fits64(a)) setWord(to, load<u64>(a) / divisor);
    else {
      store<u64>(SCRATCH_QUOTIENT, 0, 16);
      store<u64>(SCRATCH_QUOTIENT, 0, 24);
      divideShort(a, limbCount(a, 4), divisor);
      copyWord(to, SCRATCH_QUOTIENT);
    }
    return;
  }
  if (less(a, b)) {
    zeroWord(to);
    return;
  }
  divideLong(a, 4, b);
  copyWord(to, SCRATCH_QUOTIENT);
}

export function remainder(a: u32, b: u32, to: u32): void {
  if (fits64(b)) {
    const divisor = load<u64>(b);
    if (divisor == 0) zeroWord(to);
    else if (fits64(a)) setWord(to, load<u64>(a) % divisor);
    else setWord(to, divideShort(a, limbCount(a, 4), divisor));
    return;
  }
  if (less(a, b)) {
    copyWord(to, a);
    return;
  }
  divideLong(a, 4, b);
  copyWord(to, SCRATCH_DIVIDEND);
}

/** Two's complement, rounded towards zero; −2^255 ÷ −1 is −2^255. */
export function divideSigned(a: u32, b: u32, to: u32): void {
  const negativeA = load<i64>(a, 24) < 0;
  const negativeB = load<i64>(b, 24) < 0;
  let x = a;
  let y = b;
  if (negativeA) {
    negate(a, SCRATCH_WORD_A);
    x = SCRATCH_WORD_A;
  }
  if (negativeB) {
    negate(b, SCRATCH_WORD_B);
    y = SCRATCH_WORD_B;
  }
  divide(x, y, to);
  if (negativeA != negativeB) negate(to, to);
}

/** The result has the sign of the dividend. */
export function remainderSigned(a: u32, b: u32, to: u32): void {
  const negativeA = load<i64>(a, 24) < 0;
  let x = a;
  let y = b;
  if (negativeA) {
    negate(a, SCRATCH_WORD_A);
    x = SCRATCH_WORD_A;
  }
  if (load<i64>(b, 24) < 0) {
    negate(b, SCRATCH_WORD_B);
    y = SCRATCH_WORD_B;
  }
  remainder(x, y, to);
  if (negativeA) negate(to, to);
}

/** to = (a + b) mod n, with the full 257-bit sum */
export function addModulo(a: u32, b: u32, n: u32, to: u32): void {
  if (isZero(n)) {
    zeroWord(to);
    return;
  }
  add(a, b, SCRATCH_PRODUCT);
  const carry = less(SCRATCH_PRODUCT, a);
  if (!carry && less(SCRATCH_PRODUCT, n)) {
    copyWord(to, SCRATCH_PRODUCT);
    return;
  }
  // both below n: one subtraction is enough
  if (less(a, n) && less(b, n)) {
    subtract(SCRATCH_PRODUCT, n, to);
    return;
  }
  store<u64>(SCRATCH_PRODUCT, u64(carry), 32);
  divideLong(SCRATCH_PRODUCT, 5, n);
  copyWord(to, SCRATCH_DIVIDEND);
}

/** to = (a × b) mod n, with the full 512-bit product */
export function multiplyModulo(a: u32, b: u32, n: u32, to: u32): void {
  if (isZero(n)) {
    zeroWord(to);
    return;
  }
  multiplyFull(a, b);
  divideLong(SCRATCH_PRODUCT, 8, n);
  copyWord(to, SCRATCH_DIVIDEND);
}
