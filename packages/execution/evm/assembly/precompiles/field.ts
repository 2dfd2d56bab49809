/**
 * Operations of the fields written by scripts/generate-field.mjs that are not worth unrolling. Elements are limbs of `bits` bits,
 * each in a u32.
 */

/** `length` bytes, big-endian, as limbs. */
export function readBytes(out: usize, bytes: usize, length: i32, limbs: i32, bits: i32): void {
  const mask = ((<u64>1) << bits) - 1;
  let buffer: u64 = 0;
  let have = 0;
  let at = length - 1;
  for (let i = 0; i < limbs; i++) {
    while (have < bits && at >= 0) {
      buffer |= (<u64>load<u8>(bytes + at)) << have;
      have += 8;
      at--;
    }
    store<u32>(out + 4 * i, <u32>(buffer & mask));
    buffer >>= bits;
    have -= bits;
  }
}

/** Limbs as `length` bytes, big-endian. */
export function writeBytes(bytes: usize, a: usize, length: i32, limbs: i32, bits: i32): void {
  let buffer: u64 = 0;
  let have = 0;
  let limb = 0;
  for (let at = length - 1; at >= 0; at--) {
    if (have < 8 && limb < limbs) {
      buffer |= (<u64>load<u32>(a + 4 * limb++)) << have;
      have += bits;
    }
    store<u8>(bytes + at, <u8>buffer);
    buffer >>= 8;
    have -= 8;
  }
}

/** Limbs as four words of 64 bits, lowest first. */
export function writeWords(out: usize, a: usize, limbs: i32, bits: i32): void {
  memory.fill(out, 0, 32);
  for (let i = 0; i < limbs; i++) {
    const limb = <u64>load<u32>(a + 4 * i);
    const at = i * bits;
    const word = out + ((at >> 6) << 3);
    const by = <u64>(at & 63);
    store<u64>(word, load<u64>(word) | (limb << by));
    const above = (limb >> 1) >> (63 - by);
    if (above != 0) store<u64>(word + 8, above);
  }
}

/** Both must have normalised limbs. */
export function isBelow(a: usize, b: usize, limbs: i32): bool {
  for (let i = limbs - 1; i >= 0; i--) {
    const x = load<u32>(a + 4 * i);
    const y = load<u32>(b + 4 * i);
    if (x != y) return x < y;
  }
  return false;
}

/** Subtracts the modulus once if the value is not below it. */
export function normalise(a: usize, modulus: usize, limbs: i32, bits: i32): void {
  if (isBelow(a, modulus, limbs)) return;
  const mask: u32 = (1 << bits) - 1;
  let borrow: i32 = 0;
  for (let i = 0; i < 4 * limbs; i += 4) {
    const difference = <i32>load<u32>(a + i) - <i32>load<u32>(modulus + i) + borrow;
    store<u32>(a + i, <u32>difference & mask);
    borrow = difference >> bits;
  }
}

/** 16 limbs each */
const A: usize = memory.data(64, 8);
const B: usize = memory.data(64, 8);
const U: usize = memory.data(64, 8);
const V: usize = memory.data(64, 8);

/** The top 64 − bits bits of the `length` bits in use, followed by the lowest limb. */
function approximate(a: usize, top: i32, bits: i32): u64 {
  // top: index of the highest limb in use, of A or B; at least 2
  const high = <u64>load<u32>(a + 4 * top);
  const middle = <u64>load<u32>(a + 4 * top - 4);
  return (high << bits) | middle;
}

/** a ← (a·f + b·g) / 2^bits, exactly. @returns whether the result was negative; its opposite is stored then */
function combine(out: usize, other: usize, f: i64, g: i64, h: i64, k: i64, limbs: i32, bits: i32): i32 {
  const mask = ((<i64>1) << bits) - 1;
  let carry: i64 = 0;
  let otherCarry: i64 = 0;
  for (let i = 0; i < limbs; i++) {
    const x = <i64>load<u32>(out + 4 * i);
    const y = <i64>load<u32>(other + 4 * i);
    carry += x * f + y * g;
    otherCarry += x * h + y * k;
    if (i > 0) {
      store<u32>(out + 4 * i - 4, <u32>(carry & mask));
      store<u32>(other + 4 * i - 4, <u32>(otherCarry & mask));
    }
    carry >>= bits;
    otherCarry >>= bits;
  }
  store<u32>(out + 4 * limbs - 4, <u32>(carry & mask));
  store<u32>(other + 4 * limbs - 4, <u32>(otherCarry & mask));
  let negative = 0;
  if (carry < 0) {
    negate(out, limbs, bits);
    negative |= 1;
  }
  if (otherCarry < 0) {
    negate(other, limbs, bits);
    negative |= 2;
  }
  return negative;
}

function negate(a: usize, limbs: i32, bits: i32): void {
  const mask: u32 = (1 << bits) - 1;
  let borrow: i32 = 0;
  for (let i = 0; i < 4 * limbs; i += 4) {
    const difference = borrow - <i32>load<u32>(a + i);
    store<u32>(a + i, <u32>difference & mask);
    borrow = difference >> bits;
  }
}

/** out ← (u·f + v·g) / 2^bits mod the modulus, between 0 and the modulus; u and v too */
function combineModulo(out: usize, u: usize, v: usize, f: i64, g: i64, modulus: usize, factor: u64, limbs: i32, bits: i32): void {
  const mask = ((<i64>1) << bits) - 1;
  let carry = <i64>load<u32>(u) * f + <i64>load<u32>(v) * g;
  const q = (carry * <i64>factor) & mask;
  carry = (carry + q * <i64>load<u32>(modulus)) >> bits;
  for (let i = 4; i < 4 * limbs; i += 4) {
    carry += <i64>load<u32>(u + i) * f + <i64>load<u32>(v + i) * g + q * <i64>load<u32>(modulus + i);
    store<u32>(out + i - 4, <u32>(carry & mask));
    carry >>= bits;
  }
  // between −modulus and 2·modulus
  if (carry < 0) {
    store<u32>(out + 4 * limbs - 4, <u32>(carry & mask));
    let sum: u32 = 0;
    for (let i = 0; i < 4 * limbs; i += 4) {
      sum += load<u32>(out + i) + load<u32>(modulus + i);
      store<u32>(out + i, sum & <u32>mask);
      sum >>= bits;
    }
  } else {
    store<u32>(out + 4 * limbs - 4, <u32>carry);
    normalise(out, modulus, limbs, bits);
  }
}

const W: usize = memory.data(64, 8);

/**
 * out ← a⁻¹ modulo the modulus (without a Montgomery factor), 0 for 0: the extended binary algorithm of Euclid, `bits` steps at a
 * time on the highest and lowest bits of the numbers (Pornin, "Optimized Binary GCD for Modular Inversion", 2020).
 *
 * @param rounds times `bits`: at least twice the modulus' length; bits: below 31
 */
export function invert(out: usize, a: usize, modulus: usize, factor: u64, limbs: i32, bits: i32, rounds: i32): void {
  const size = 4 * limbs;
  memory.copy(A, a, size);
  normalise(A, modulus, limbs, bits);
  memory.copy(B, modulus, size);
  memory.fill(U, 0, size);
  memory.fill(V, 0, size);
  store<u32>(U, 1);
  // invariants: A = a·U, B = a·V modulo the modulus
  let top = limbs - 1;
  for (let round = 0; round < rounds; round++) {
    while (top > 2 && (load<u32>(A + 4 * top) | load<u32>(B + 4 * top)) == 0) top--;
    // PERF: A usually gets to 0 after two thirds of the rounds
    if (top == 2 && (load<u32>(A) | load<u32>(A, 4) | load<u32>(A, 8)) == 0) break;
    const length = 32 - clz(load<u32>(A + 4 * top) | load<u32>(B + 4 * top));
    // the 64 − bits highest bits in use stand above the lowest limb
    const highBits = 64 - bits;
    let x: u64;
    let y: u64;
    if (top == 2 && length + bits <= highBits) {
      x = <u64>load<u32>(A) | (approximate(A, 2, bits) << bits);
      y = <u64>load<u32>(B) | (approximate(B, 2, bits) << bits);
    } else {
      // 2·bits + length bits, of which limbs top, top−1 and part of top−2 are wanted
      const drop = length + bits - highBits;
      if (drop >= 0) {
        x = <u64>load<u32>(A) | ((approximate(A, top, bits) >> drop) << bits);
        y = <u64>load<u32>(B) | ((approximate(B, top, bits) >> drop) << bits);
      } else {
        const up = -drop;
        x = <u64>load<u32>(A) | (((approximate(A, top, bits) << up) | (<u64>load<u32>(A + 4 * top - 8) >> (bits - up))) << bits);
        y = <u64>load<u32>(B) | (((approximate(B, top, bits) << up) | (<u64>load<u32>(B + 4 * top - 8) >> (bits - up))) << bits);
      }
    }
    // PERF: f0 + g0·2^32 and f1 + g1·2^32, which take every step together
    let fg0: i64 = 1;
    let fg1: i64 = 1 << 32;
    for (let i = 0; i < bits; i++) {
      const odd = -(<i64>(x & 1));
      const swap = odd & -(<i64>(x < y));
      const dx = <u64>swap & (x ^ y);
      x ^= dx;
      y ^= dx;
      const dfg = swap & (fg0 ^ fg1);
      fg0 ^= dfg;
      fg1 ^= dfg;
      x = (x - (y & <u64>odd)) >> 1;
      fg0 -= fg1 & odd;
      fg1 <<= 1;
    }
    let f0 = <i64>(<i32>fg0);
    let g0 = (fg0 - f0) >> 32;
    let f1 = <i64>(<i32>fg1);
    let g1 = (fg1 - f1) >> 32;
    // the limbs above are 0, and stay so
    const negative = combine(A, B, f0, g0, f1, g1, top + 1, bits);
    if (negative & 1) {
      f0 = -f0;
      g0 = -g0;
    }
    if (negative & 2) {
      f1 = -f1;
      g1 = -g1;
    }
    combineModulo(W, U, V, f0, g0, modulus, factor, limbs, bits);
    combineModulo(V, U, V, f1, g1, modulus, factor, limbs, bits);
    memory.copy(U, W, size);
  }
  memory.copy(out, V, size);
}
