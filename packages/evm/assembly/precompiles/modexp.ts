/** base ^ exponent for moduli that are odd, by Montgomery multiplication, or a power of 2^28. Numbers are limbs, lowest first. */

/** 28 bits a limb: a whole column of a product and its reduction adds up in an u64 without carries, up to 128 limbs. */
const BITS = 28;
const MASK: u64 = 0xfffffff;
const MAX_LIMBS: usize = 128;
const MAX_SIZE: usize = 512;

/** powers 0 … 15 of the base, in Montgomery form */
const POWERS: usize = memory.data(8192, 8);
const RESULT: usize = memory.data(512, 8);
/** the product under way */
const T: usize = memory.data(512, 8);
/** the multiples of the modulus that are added, a limb each */
const Q: usize = memory.data(512, 8);

let modulus: usize = 0;
let size: usize = 0;
/** −1 / modulus mod 2^28 */
let factor: u64 = 0;
let isOdd: bool = false;

/** The same for three limbs, moduli of 64 bits and a bit more, where loops cost more than the arithmetic. */
function multiplyThree(out: usize, a: usize, b: usize): void {
  const m = modulus;
  const k = factor;
  const m0 = <u64>load<u32>(m);
  const m1 = <u64>load<u32>(m, 4);
  const m2 = <u64>load<u32>(m, 8);
  const a0 = <u64>load<u32>(a);
  const a1 = <u64>load<u32>(a, 4);
  const a2 = <u64>load<u32>(a, 8);
  const b0 = <u64>load<u32>(b);
  const b1 = <u64>load<u32>(b, 4);
  const b2 = <u64>load<u32>(b, 8);
  let t = a0 * b0;
  const q0 = (t * k) & MASK;
  t = ((t + q0 * m0) >> BITS) + a0 * b1 + a1 * b0 + q0 * m1;
  const q1 = (t * k) & MASK;
  t = ((t + q1 * m0) >> BITS) + a0 * b2 + a1 * b1 + a2 * b0 + q0 * m2 + q1 * m1;
  const q2 = (t * k) & MASK;
  t = ((t + q2 * m0) >> BITS) + a1 * b2 + a2 * b1 + q1 * m2 + q2 * m1;
  const low = t & MASK;
  t = (t >> BITS) + a2 * b2 + q2 * m2;
  const middle = t & MASK;
  const high = t >> BITS;
  // below twice the modulus
  const d0 = <i64>(low - m0);
  const d1 = <i64>(middle - m1) + (d0 >> BITS);
  const d2 = <i64>(high - m2) + (d1 >> BITS);
  const less = d2 < 0;
  store<u32>(out, less ? <u32>low : <u32>(d0 & MASK));
  store<u32>(out, less ? <u32>middle : <u32>(d1 & MASK), 4);
  store<u32>(out, less ? <u32>high : <u32>d2, 8);
}

/** out ← a·b / 2^(28·limbs) mod modulus, below the modulus */
function multiplyMontgomery(out: usize, a: usize, b: usize): void {
  const n = size;
  if (n == 12) return multiplyThree(out, a, b);
  const m = modulus;
  const k = factor;
  let t: u64 = 0;
  for (let column: usize = 0; column < n; column += 4) {
    let down = b + column;
    let other = m + column;
    let x = a;
    let q = Q;
    for (const end = a + column; x < end; x += 4, q += 4, down -= 4, other -= 4) {
      t += <u64>load<u32>(x) * <u64>load<u32>(down) + <u64>load<u32>(q) * <u64>load<u32>(other);
    }
    t += <u64>load<u32>(x) * <u64>load<u32>(down);
    const multiple = (t * k) & MASK;
    store<u32>(q, <u32>multiple);
    t = (t + multiple * <u64>load<u32>(m)) >> BITS;
  }
  for (let column: usize = 4; column < n; column += 4) {
    let down = b + n - 4;
    let other = m + n - 4;
    let q = Q + column;
    const end = a + n;
    for (let x = a + column; x < end; x += 4, q += 4, down -= 4, other -= 4) {
      t += <u64>load<u32>(x) * <u64>load<u32>(down) + <u64>load<u32>(q) * <u64>load<u32>(other);
    }
    store<u32>(T + column - 4, <u32>(t & MASK));
    t >>= BITS;
  }
  // below twice the modulus; the highest limb may have a bit more
  store<u32>(T + n - 4, <u32>t);
  let at = n;
  do at -= 4;
  while (at > 0 && load<u32>(T + at) == load<u32>(m + at));
  if (load<u32>(T + at) < load<u32>(m + at)) {
    memory.copy(out, T, n);
    return;
  }
  let borrow: i32 = 0;
  for (let j: usize = 0; j < n; j += 4) {
    borrow += <i32>load<u32>(T + j) - <i32>load<u32>(m + j);
    store<u32>(out + j, <u32>borrow & <u32>MASK);
    borrow >>= BITS;
  }
}

/** out ← a·b mod 2^(28·limbs) */
function multiplyLow(out: usize, a: usize, b: usize): void {
  const n = size;
  let t: u64 = 0;
  for (let column: usize = 0; column < n; column += 4) {
    let down = b + column;
    for (let x = a; x <= a + column; x += 4, down -= 4) t += <u64>load<u32>(x) * <u64>load<u32>(down);
    store<u32>(T + column, <u32>(t & MASK));
    t >>= BITS;
  }
  memory.copy(out, T, n);
}

@inline function multiply(out: usize, a: usize, b: usize): void {
  if (isOdd) multiplyMontgomery(out, a, b);
  else multiplyLow(out, a, b);
}

/**
 * At `bytes`: modulus, one and base, both in Montgomery form when the modulus is odd, of `limbs` limbs each, then the exponent,
 * big-endian. The result is left at `bytes`. When the modulus is even it stands for 2^(28·limbs).
 *
 * @returns 0 when there are too many limbs
 */
export function modexp(bytes: usize, limbs: usize, exponentBytes: usize): i32 {
  if (limbs > MAX_LIMBS) return 0;
  size = 4 * limbs;
  modulus = bytes;
  const lowest = load<u32>(modulus);
  isOdd = (lowest & 1) != 0;
  let inverse = lowest;
  for (let i = 0; i < 5; i++) inverse *= 2 - lowest * inverse;
  factor = <u64>(0 - inverse) & MASK;
  const one = bytes + size;
  const base = one + size;
  let at = base + size;
  const end = at + exponentBytes;
  while (at < end && load<u8>(at) == 0) at++;
  memory.copy(RESULT, one, size);
  if (end - at <= 4) {
    // not worth a table
    for (; at < end; at++) {
      const byte = <u32>load<u8>(at);
      for (let bit = 7; bit >= 0; bit--) {
        multiply(RESULT, RESULT, RESULT);
        if ((byte >> bit) & 1) multiply(RESULT, RESULT, base);
      }
    }
  } else {
    memory.copy(POWERS, one, size);
    for (let i: usize = 1; i < 16; i++) multiply(POWERS + i * MAX_SIZE, POWERS + (i - 1) * MAX_SIZE, base);
    for (; at < end; at++) {
      const byte = <usize>load<u8>(at);
      for (let half: usize = 0; half < 2; half++) {
        for (let i = 0; i < 4; i++) multiply(RESULT, RESULT, RESULT);
        const digit = half == 0 ? byte >> 4 : byte & 15;
        if (digit != 0) multiply(RESULT, RESULT, POWERS + digit * MAX_SIZE);
      }
    }
  }
  if (isOdd) {
    memory.fill(base, 0, size);
    store<u32>(base, 1);
    multiplyMontgomery(RESULT, RESULT, base);
  }
  memory.copy(bytes, RESULT, size);
  return 1;
}
