/** Natural numbers of any length as limbs of 29 bits, each an u32, lowest first. */

export const BITS: i32 = 29;
export const MASK: u64 = 0x1fffffff;

/** Limbs of so many bytes */
@inline export function limbsOf(bytes: usize): usize {
  return (bytes * 8 + BITS - 1) / BITS;
}

export function bitLength(a: usize, limbs: usize): usize {
  for (let i = <isize>limbs - 1; i >= 0; i--) {
    const limb = load<u32>(a + 4 * i);
    if (limb != 0) return <usize>(i * BITS + 32 - clz(limb));
  }
  return 0;
}

/** Limbs at `out`, of which there are enough, ← a·2^shift; `out` is beyond `a` or equal */
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

/** a ← a − b, as long as a of limbs + 1 limbs is not below b of `limbs` limbs. @returns how often */
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

/** Products of 58 bits that are added up before their carry is put aside */
const STRIDE: usize = 4 * 48;

/**
 * Columns `from` … `to` − 1 of a·b to limbs at `out`, carried; `out` is neither a nor b. Columns below `from` are taken for 0.
 * PERF: all long multiplications end here; the inner loop is four products.
 */
export function multiplyColumns(out: usize, a: usize, aLimbs: usize, b: usize, bLimbs: usize, from: usize, to: usize): void {
  let sum: u64 = 0;
  for (let column = from; column < to; column++) {
    const first: usize = column >= bLimbs ? column - bLimbs + 1 : 0;
    const last = min(column, aLimbs - 1);
    let x = a + 4 * first;
    let y = b + 4 * (column - first);
    let high: u64 = 0;
    if (first <= last) {
      const end = a + 4 * last + 4;
      do {
        const stop = min(end, x + STRIDE);
        for (; x + 12 < stop; x += 16, y -= 16) {
          sum += <u64>load<u32>(x) * <u64>load<u32>(y) + <u64>load<u32>(x, 4) * <u64>load<u32>(y - 4);
          sum += <u64>load<u32>(x, 8) * <u64>load<u32>(y - 8) + <u64>load<u32>(x, 12) * <u64>load<u32>(y - 12);
        }
        for (; x < stop; x += 4, y -= 4) sum += <u64>load<u32>(x) * <u64>load<u32>(y);
        high += sum >> BITS;
        sum &= MASK;
      } while (x < end);
    }
    store<u32>(out, <u32>(sum & MASK));
    out += 4;
    sum = high + (sum >> BITS);
  }
}

/** All of a², 2·limbs limbs; `out` is not a */
export function squareColumns(out: usize, a: usize, limbs: usize): void {
  let carry: u64 = 0;
  for (let column: usize = 0; column < 2 * limbs; column++) {
    const first: usize = column >= limbs ? column - limbs + 1 : 0;
    let x = a + 4 * first;
    let y = a + 4 * (column - first);
    let sum: u64 = 0;
    let high: u64 = 0;
    // pairs x < y, twice
    while (x < y) {
      const stop = min((x + y) >> 1, x + STRIDE / 2);
      for (; x + 12 < stop; x += 16, y -= 16) {
        sum += <u64>load<u32>(x) * <u64>load<u32>(y) + <u64>load<u32>(x, 4) * <u64>load<u32>(y - 4);
        sum += <u64>load<u32>(x, 8) * <u64>load<u32>(y - 8) + <u64>load<u32>(x, 12) * <u64>load<u32>(y - 12);
      }
      for (; x < stop; x += 4, y -= 4) sum += <u64>load<u32>(x) * <u64>load<u32>(y);
      high += sum >> BITS;
      sum &= MASK;
    }
    sum <<= 1;
    high <<= 1;
    if (x == y) sum += <u64>load<u32>(x) * <u64>load<u32>(x);
    sum += carry;
    store<u32>(out, <u32>(sum & MASK));
    out += 4;
    carry = (sum >> BITS) + high;
  }
}

/**
 * x ← x mod modulus, `limbs` limbs (school division, Knuth's algorithm D; the quotient's digits are estimated in floating point, which is off by one
 * at most). The modulus' highest bit is set. x has `length` limbs, more than the modulus and the highest one 0.
 *
 * @param quotient where its length − limbs limbs go, or 0
 */
export function divide(x: usize, length: usize, modulus: usize, limbs: usize, quotient: usize): void {
  const radix: f64 = 536870912;
  const top = limbs * 4 - 4;
  let divisor = <f64>load<u32>(modulus + top) * radix;
  if (limbs > 1) divisor += <f64>load<u32>(modulus + top - 4);
  const reciprocal: f64 = 1 / divisor;
  for (let j = <isize>(length - limbs) - 1; j >= 0; j--) {
    const at = x + 4 * j;
    // three highest limbs, with what the digit before has left
    let value = (<f64>load<u32>(at + top + 4) * radix + <f64>load<u32>(at + top)) * radix;
    if (limbs > 1) value += <f64>load<u32>(at + top - 4);
    let digit = <u64>(value * reciprocal);
    let borrow: i64 = 0;
    if (digit != 0) {
      for (let i: usize = 0; i <= top; i += 4) {
        borrow += <i64>load<u32>(at + i) - <i64>(digit * <u64>load<u32>(modulus + i));
        store<u32>(at + i, <u32>(borrow & MASK));
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
