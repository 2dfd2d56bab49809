/** Natural numbers of any length as limbs of 29 bits, each in a u32, lowest first. */

export const BITS: i32 = 29;
export const MASK: u64 = 0x1fffffff;

/** Number of limbs for this many bytes */
@inline export function limbsOf(bytes: usize): usize {
  return (bytes * 8 + BITS - 1) / BITS;
}

/** Reads `length` bytes at `at`, big-endian, into `limbs` limbs, which must be enough. The eight bytes before them must be readable. */
export function readLimbs(out: usize, limbs: usize, at: usize, length: usize): void {
  let bit: usize = 0;
  for (let i: usize = 0; i < limbs; i++, bit += BITS) {
    const skipped = bit >> 3;
    let word: u64 = 0;
    if (skipped < length) {
      const left = length - skipped;
      word = bswap<u64>(load<u64>(at + left - 8));
      if (left < 8) word &= ((<u64>1) << (8 * left)) - 1;
    }
    store<u32>(out + 4 * i, <u32>((word >> (bit & 7)) & MASK));
  }
}

export function bitLength(a: usize, limbs: usize): usize {
  for (let i = <isize>limbs - 1; i >= 0; i--) {
    const limb = load<u32>(a + 4 * i);
    if (limb != 0) return <usize>(i * BITS + 32 - clz(limb));
  }
  return 0;
}

/** Limbs at `out`, of which there are enough, ← a·2^shift; `out` is `a` or at a higher address */
export function shiftLeft(out: usize, outLimbs: usize, a: usize, limbs: usize, shift: usize): void {
  const whole = shift / BITS;
  const part = <u32>(shift % BITS);
  for (let i = <isize>outLimbs - 1; i >= 0; i--) {
    const from = i - <isize>whole;
    let limb: u32 = 0;
    if (from >= 0 && from < <isize>limbs) limb = load<u32>(a + 4 * from) << part;
    if (from > 0 && from <= <isize>limbs) limb |= load<u32>(a + 4 * from - 4) >> (BITS - part);
    store<u32>(out + 4 * i, limb & <u32>MASK);
  }
}

/** a ← a / 2^shift */
export function shiftRight(a: usize, limbs: usize, shift: usize): void {
  const whole = shift / BITS;
  const part = <u32>(shift % BITS);
  for (let i: usize = 0; i < limbs; i++) {
    const from = i + whole;
    let limb: u32 = 0;
    if (from < limbs) limb = load<u32>(a + 4 * from) >> part;
    if (from + 1 < limbs) limb |= load<u32>(a + 4 * from + 4) << (BITS - part);
    store<u32>(a + 4 * i, limb & <u32>MASK);
  }
}

/** Subtracts b (`limbs` limbs) from a (limbs + 1 limbs) until a is below b. @returns the number of subtractions */
export function subtractExcess(a: usize, b: usize, limbs: usize): u32 {
  const size = limbs * 4;
  let times: u32 = 0;
  while (true) {
    if (load<u32>(a + size) == 0) {
      let at = size - 4;
      while (at > 0 && load<u32>(a + at) == load<u32>(b + at)) at -= 4;
      if (load<u32>(a + at) < load<u32>(b + at)) return times;
    }
    let borrow: i32 = 0;
    for (let i: usize = 0; i < size; i += 4) {
      borrow += <i32>load<u32>(a + i) - <i32>load<u32>(b + i);
      store<u32>(a + i, <u32>borrow & <u32>MASK);
      borrow >>= BITS;
    }
    store<u32>(a + size, load<u32>(a + size) + borrow);
    times++;
  }
}

/** Bytes of limbs whose products, of 58 bits, are accumulated before the carries are set aside */
const STRIDE: usize = 4 * 32;

/** The results of scan() for two neighbouring columns: sums without their carries, and the carries */
let low: u64 = 0;
let high: u64 = 0;
let lowNext: u64 = 0;
let highNext: u64 = 0;

/**
 * Adds Σ x[i]·y[−i] to one column and Σ x[i]·y[1 − i] to the next, `x` up to `end`. PERF: all long multiplications end here.
 * Processing two columns at once loads each limb half as often.
 */
@inline function scan(x: usize, y: usize, end: usize): void {
  let a = low;
  let b = lowNext;
  let before = <u64>load<u32>(y, 4);
  y -= 12;
  while (x < end) {
    const stop = min(end, x + STRIDE);
    for (; x + 12 < stop; x += 16, y -= 16) {
      const x0 = <u64>load<u32>(x);
      const x1 = <u64>load<u32>(x, 4);
      const x2 = <u64>load<u32>(x, 8);
      const x3 = <u64>load<u32>(x, 12);
      const y0 = <u64>load<u32>(y, 12);
      const y1 = <u64>load<u32>(y, 8);
      const y2 = <u64>load<u32>(y, 4);
      const y3 = <u64>load<u32>(y);
      a += x0 * y0 + x1 * y1 + x2 * y2 + x3 * y3;
      b += x0 * before + x1 * y0 + x2 * y1 + x3 * y2;
      before = y3;
    }
    for (; x < stop; x += 4, y -= 4) {
      const limb = <u64>load<u32>(x);
      const other = <u64>load<u32>(y, 12);
      a += limb * other;
      b += limb * before;
      before = other;
    }
    high += a >> BITS;
    a &= MASK;
    highNext += b >> BITS;
    b &= MASK;
  }
  low = a;
  lowNext = b;
}

/**
 * Columns `from` … `to` − 1 of a·b as carried limbs at `out`, and one more if their number is odd; `out` is neither a nor b.
 * Columns below `from` are treated as 0. The limb above the highest one of b must be 0.
 */
export function multiplyColumns(out: usize, a: usize, aLimbs: usize, b: usize, bLimbs: usize, from: usize, to: usize): void {
  let carry: u64 = 0;
  for (let column = from; column < to; column += 2) {
    const first: usize = column >= bLimbs ? column - bLimbs + 1 : 0;
    const last = min(column, aLimbs - 1);
    low = carry;
    high = 0;
    lowNext = 0;
    highNext = 0;
    if (first <= last) scan(a + 4 * first, b + 4 * (column - first), a + 4 * last + 4);
    if (column + 1 < aLimbs) lowNext += <u64>load<u32>(a + 4 * (column + 1)) * <u64>load<u32>(b);
    store<u32>(out, <u32>(low & MASK));
    lowNext += high + (low >> BITS);
    store<u32>(out, <u32>(lowNext & MASK), 4);
    carry = highNext + (lowNext >> BITS);
    out += 8;
  }
}

/** All of a², 2·limbs limbs; `out` is not a, and the limb above the highest one of a must be 0 */
export function squareColumns(out: usize, a: usize, limbs: usize): void {
  let carry: u64 = 0;
  for (let column: usize = 0; column < 2 * limbs; column += 2) {
    const first: usize = column >= limbs ? column - limbs + 1 : 0;
    const middle = column >> 1;
    low = 0;
    high = 0;
    lowNext = 0;
    highNext = 0;
    // products of two different limbs, each once
    if (first < middle) scan(a + 4 * first, a + 4 * (column - first), a + 4 * middle);
    const limb = <u64>load<u32>(a + 4 * middle);
    lowNext += limb * <u64>load<u32>(a + 4 * middle + 4);
    low = 2 * low + limb * limb;
    low += carry;
    store<u32>(out, <u32>(low & MASK));
    highNext += lowNext >> BITS;
    lowNext = 2 * (lowNext & MASK) + 2 * high + (low >> BITS);
    store<u32>(out, <u32>(lowNext & MASK), 4);
    carry = 2 * highNext + (lowNext >> BITS);
    out += 8;
  }
}

/**
 * x ← x mod modulus, `limbs` limbs (long division, Knuth's algorithm D; the quotient's digits are estimated in floating point, with
 * an error of at most one). The modulus' highest bit is set. x has `length` limbs, more than the modulus, and the highest one is 0.
 *
 * @param quotient where its length − limbs limbs are written, or 0
 */
export function divide(x: usize, length: usize, modulus: usize, limbs: usize, quotient: usize): void {
  const radix: f64 = 536870912;
  const top = limbs * 4 - 4;
  let divisor = <f64>load<u32>(modulus + top) * radix;
  if (limbs > 1) divisor += <f64>load<u32>(modulus + top - 4);
  const reciprocal: f64 = 1 / divisor;
  for (let j = <isize>(length - limbs) - 1; j >= 0; j--) {
    const at = x + 4 * j;
    // the three highest limbs, including the remainder of the previous digit
    let value = (<f64>load<u32>(at + top + 4) * radix + <f64>load<u32>(at + top)) * radix;
    if (limbs > 1) value += <f64>load<u32>(at + top - 4);
    let digit = <u64>(value * reciprocal);
    let borrow: i64 = 0;
    if (digit != 0) {
      // PERF: a limb only has to wait for the borrow of the limb before, which takes an addition and a shift
      let y = at;
      let m = modulus;
      const end = at + top;
      for (; y + 8 < end; y += 16, m += 16) {
        const d0 = <i64>load<u32>(y) - <i64>(digit * <u64>load<u32>(m));
        const d1 = <i64>load<u32>(y, 4) - <i64>(digit * <u64>load<u32>(m, 4));
        const d2 = <i64>load<u32>(y, 8) - <i64>(digit * <u64>load<u32>(m, 8));
        const d3 = <i64>load<u32>(y, 12) - <i64>(digit * <u64>load<u32>(m, 12));
        borrow += d0;
        store<u32>(y, <u32>(borrow & MASK));
        borrow = (borrow >> BITS) + d1;
        store<u32>(y, <u32>(borrow & MASK), 4);
        borrow = (borrow >> BITS) + d2;
        store<u32>(y, <u32>(borrow & MASK), 8);
        borrow = (borrow >> BITS) + d3;
        store<u32>(y, <u32>(borrow & MASK), 12);
        borrow >>= BITS;
      }
      for (; y <= end; y += 4, m += 4) {
        borrow += <i64>load<u32>(y) - <i64>(digit * <u64>load<u32>(m));
        store<u32>(y, <u32>(borrow & MASK));
        borrow >>= BITS;
      }
    }
    borrow += <i64>load<u32>(at + top + 4);
    if (borrow < 0) {
      digit--;
      let carry: u32 = 0;
      for (let i: usize = 0; i <= top; i += 4) {
        carry += load<u32>(at + i) + load<u32>(modulus + i);
        store<u32>(at + i, carry & <u32>MASK);
        carry >>= BITS;
      }
      borrow += carry;
    }
    store<u32>(at + top + 4, <u32>borrow);
    if (borrow != 0 || load<u32>(at + top) >= load<u32>(modulus + top)) digit += subtractExcess(at, modulus, limbs);
    if (quotient != 0) store<u32>(quotient + 4 * j, <u32>digit);
  }
}
