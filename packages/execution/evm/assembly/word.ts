/** 256-bit words in memory: moves, comparisons, addition, bits. All arguments are pointers to words; results may overlap arguments. */

@inline export function copyWord(to: u32, from: u32): void {
  const a = load<u64>(from);
  const b = load<u64>(from, 8);
  const c = load<u64>(from, 16);
  const d = load<u64>(from, 24);
  store<u64>(to, a);
  store<u64>(to, b, 8);
  store<u64>(to, c, 16);
  store<u64>(to, d, 24);
}

@inline export function zeroWord(to: u32): void {
  store<u64>(to, 0);
  store<u64>(to, 0, 8);
  store<u64>(to, 0, 16);
  store<u64>(to, 0, 24);
}

@inline export function setWord(to: u32, value: u64): void {
  store<u64>(to, value);
  store<u64>(to, 0, 8);
  store<u64>(to, 0, 16);
  store<u64>(to, 0, 24);
}

@inline function reversed(v: v128): v128 {
  return v128.shuffle<u8>(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

/** Word from 32 raw (big-endian) bytes. */
@inline export function readRaw(to: u32, raw: u32): void {
  const high = v128.load(raw);
  const low = v128.load(raw, 16);
  v128.store(to, reversed(low));
  v128.store(to, reversed(high), 16);
}

/** The 32 raw bytes of a word. */
@inline export function writeRaw(raw: u32, from: u32): void {
  const low = v128.load(from);
  const high = v128.load(from, 16);
  v128.store(raw, reversed(high));
  v128.store(raw, reversed(low), 16);
}

@inline export function isZero(a: u32): bool {
  return (load<u64>(a) | load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) == 0;
}

/** Whether the word is below 2^64: then its first limb is its value. */
@inline export function fits64(a: u32): bool {
  return (load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) == 0;
}

@inline export function equal(a: u32, b: u32): bool {
  return (
    ((load<u64>(a) ^ load<u64>(b)) |
      (load<u64>(a, 8) ^ load<u64>(b, 8)) |
      (load<u64>(a, 16) ^ load<u64>(b, 16)) |
      (load<u64>(a, 24) ^ load<u64>(b, 24))) ==
    0
  );
}

/** a < b, unsigned */
@inline export function less(a: u32, b: u32): bool {
  const a3 = load<u64>(a, 24);
  const b3 = load<u64>(b, 24);
  if (a3 != b3) return a3 < b3;
  const a2 = load<u64>(a, 16);
  const b2 = load<u64>(b, 16);
  if (a2 != b2) return a2 < b2;
  const a1 = load<u64>(a, 8);
  const b1 = load<u64>(b, 8);
  if (a1 != b1) return a1 < b1;
  return load<u64>(a) < load<u64>(b);
}

/** a < b, two's complement */
@inline export function lessSigned(a: u32, b: u32): bool {
  const a3 = load<i64>(a, 24);
  const b3 = load<i64>(b, 24);
  if (a3 != b3) return a3 < b3;
  const a2 = load<u64>(a, 16);
  const b2 = load<u64>(b, 16);
  if (a2 != b2) return a2 < b2;
  const a1 = load<u64>(a, 8);
  const b1 = load<u64>(b, 8);
  if (a1 != b1) return a1 < b1;
  return load<u64>(a) < load<u64>(b);
}

@inline export function add(a: u32, b: u32, to: u32): void {
  const a0 = load<u64>(a);
  const r0 = a0 + load<u64>(b);
  const c0 = u64(r0 < a0);
  const a1 = load<u64>(a, 8);
  const s1 = a1 + load<u64>(b, 8);
  const r1 = s1 + c0;
  const c1 = u64(s1 < a1) + u64(r1 < s1);
  const a2 = load<u64>(a, 16);
  const s2 = a2 + load<u64>(b, 16);
  const r2 = s2 + c1;
  const c2 = u64(s2 < a2) + u64(r2 < s2);
  const r3 = load<u64>(a, 24) + load<u64>(b, 24) + c2;
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

@inline export function subtract(a: u32, b: u32, to: u32): void {
  const a0 = load<u64>(a);
  const b0 = load<u64>(b);
  const r0 = a0 - b0;
  const c0 = u64(a0 < b0);
  const a1 = load<u64>(a, 8);
  const b1 = load<u64>(b, 8);
  const s1 = a1 - b1;
  const r1 = s1 - c0;
  const c1 = u64(a1 < b1) + u64(s1 < c0);
  const a2 = load<u64>(a, 16);
  const b2 = load<u64>(b, 16);
  const s2 = a2 - b2;
  const r2 = s2 - c1;
  const c2 = u64(a2 < b2) + u64(s2 < c1);
  const r3 = load<u64>(a, 24) - load<u64>(b, 24) - c2;
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

@inline export function negate(a: u32, to: u32): void {
  const a0 = load<u64>(a);
  const a1 = load<u64>(a, 8);
  const a2 = load<u64>(a, 16);
  const a3 = load<u64>(a, 24);
  const c0 = u64(a0 == 0);
  const c1 = c0 & u64(a1 == 0);
  const c2 = c1 & u64(a2 == 0);
  store<u64>(to, ~a0 + 1);
  store<u64>(to, ~a1 + c0, 8);
  store<u64>(to, ~a2 + c1, 16);
  store<u64>(to, ~a3 + c2, 24);
}

@inline export function and(a: u32, b: u32, to: u32): void {
  const r0 = load<u64>(a) & load<u64>(b);
  const r1 = load<u64>(a, 8) & load<u64>(b, 8);
  const r2 = load<u64>(a, 16) & load<u64>(b, 16);
  const r3 = load<u64>(a, 24) & load<u64>(b, 24);
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

@inline export function or(a: u32, b: u32, to: u32): void {
  const r0 = load<u64>(a) | load<u64>(b);
  const r1 = load<u64>(a, 8) | load<u64>(b, 8);
  const r2 = load<u64>(a, 16) | load<u64>(b, 16);
  const r3 = load<u64>(a, 24) | load<u64>(b, 24);
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

@inline export function xor(a: u32, b: u32, to: u32): void {
  const r0 = load<u64>(a) ^ load<u64>(b);
  const r1 = load<u64>(a, 8) ^ load<u64>(b, 8);
  const r2 = load<u64>(a, 16) ^ load<u64>(b, 16);
  const r3 = load<u64>(a, 24) ^ load<u64>(b, 24);
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

/** Number of leading zero bits, 256 for zero (EIP-7939). */
export function leadingZeros(a: u32): u64 {
  const a3 = load<u64>(a, 24);
  if (a3 != 0) return clz<u64>(a3);
  const a2 = load<u64>(a, 16);
  if (a2 != 0) return 64 + clz<u64>(a2);
  const a1 = load<u64>(a, 8);
  if (a1 != 0) return 128 + clz<u64>(a1);
  return 192 + clz<u64>(load<u64>(a));
}

/** Bytes without leading zeros, 0 for zero. */
@inline export function byteLength(a: u32): u64 {
  return (263 - leadingZeros(a)) >> 3;
}

/** to = a << bits; `shift` is a word */
export function shiftLeft(shift: u32, a: u32, to: u32): void {
  if (!fits64(shift) || load<u64>(shift) > 255) {
    zeroWord(to);
    return;
  }
  const bits = load<u64>(shift);
  const a0 = load<u64>(a);
  const a1 = load<u64>(a, 8);
  const a2 = load<u64>(a, 16);
  const a3 = load<u64>(a, 24);
  const limbs = bits >> 6;
  const n = bits & 63;
  let r0 = a0;
  let r1 = a1;
  let r2 = a2;
  let r3 = a3;
  if (limbs == 1) {
    r3 = a2;
    r2 = a1;
    r1 = a0;
    r0 = 0;
  } else if (limbs == 2) {
    r3 = a1;
    r2 = a0;
    r1 = 0;
    r0 = 0;
  } else if (limbs == 3) {
    r3 = a0;
    r2 = 0;
    r1 = 0;
    r0 = 0;
  }
  if (n != 0) {
    const m = 64 - n;
    r3 = (r3 << n) | (r2 >> m);
    r2 = (r2 << n) | (r1 >> m);
    r1 = (r1 << n) | (r0 >> m);
    r0 <<= n;
  }
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

/** to = a >> bits, filled with `fill` (all zeros or all ones) from the left; `shift` is a word */
@inline function shiftRightFilled(shift: u32, a: u32, to: u32, fill: u64): void {
  if (!fits64(shift) || load<u64>(shift) > 255) {
    store<u64>(to, fill);
    store<u64>(to, fill, 8);
    store<u64>(to, fill, 16);
    store<u64>(to, fill, 24);
    return;
  }
  const bits = load<u64>(shift);
  const a0 = load<u64>(a);
  const a1 = load<u64>(a, 8);
  const a2 = load<u64>(a, 16);
  const a3 = load<u64>(a, 24);
  const limbs = bits >> 6;
  const n = bits & 63;
  let r0 = a0;
  let r1 = a1;
  let r2 = a2;
  let r3 = a3;
  if (limbs == 1) {
    r0 = a1;
    r1 = a2;
    r2 = a3;
    r3 = fill;
  } else if (limbs == 2) {
    r0 = a2;
    r1 = a3;
    r2 = fill;
    r3 = fill;
  } else if (limbs == 3) {
    r0 = a3;
    r1 = fill;
    r2 = fill;
    r3 = fill;
  }
  if (n != 0) {
    const m = 64 - n;
    r0 = (r0 >> n) | (r1 << m);
    r1 = (r1 >> n) | (r2 << m);
    r2 = (r2 >> n) | (r3 << m);
    r3 = (r3 >> n) | (fill << m);
  }
  store<u64>(to, r0);
  store<u64>(to, r1, 8);
  store<u64>(to, r2, 16);
  store<u64>(to, r3, 24);
}

export function shiftRight(shift: u32, a: u32, to: u32): void {
  shiftRightFilled(shift, a, to, 0);
}

export function shiftRightSigned(shift: u32, a: u32, to: u32): void {
  shiftRightFilled(shift, a, to, <u64>(load<i64>(a, 24) >> 63));
}

/** Extends the sign of the number in the lowest `index` + 1 bytes of `a`; `index` is a word. */
export function signExtend(index: u32, a: u32, to: u32): void {
  if (!fits64(index) || load<u64>(index) > 30) {
    copyWord(to, a);
    return;
  }
  const at = <u32>load<u64>(index);
  const fill: u64 = load<i8>(a + at) < 0 ? ~0 : 0;
  copyWord(to, a);
  const bits = (at & 7) << 3;
  const limb = at >> 3;
  // the limb with the sign byte: keep the bytes up to it
  const p = to + (limb << 3);
  const keep: u64 = bits == 56 ? ~0 : ((<u64>1) << (bits + 8)) - 1;
  store<u64>(p, (load<u64>(p) & keep) | (fill & ~keep));
  for (let i = limb + 1; i < 4; i++) store<u64>(to + (i << 3), fill);
}

/** Byte `index` of `a`, the most significant is 0; `index` is a word. */
@inline export function byteAt(index: u32, a: u32, to: u32): void {
  if (!fits64(index) || load<u64>(index) > 31) zeroWord(to);
  else setWord(to, load<u8>(a + 31 - <u32>load<u64>(index)));
}
