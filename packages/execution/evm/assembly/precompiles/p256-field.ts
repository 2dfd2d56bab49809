// Written by scripts/generate-field.mjs. The field of coordinates of secp256r1 (P-256).

import { invert, isBelow, normalise, readBytes, writeBytes } from "./field";

export const FQ_LIMBS: i32 = 9;
export const FQ_SIZE: usize = 36;
const BITS: i32 = 29;
const FACTOR: u64 = 1;
export const FQ_MODULUS: usize = memory.data<u32>([536870911, 536870911, 536870911, 511, 0, 0, 262144, 534773760, 16777215]);
/** 1 in Montgomery form */
export const FQ_ONE: usize = memory.data<u32>([32, 0, 0, 536854528, 536870911, 536870911, 528482303, 67108863, 0]);
export const PLAIN_ONE: usize = memory.data<u32>([1, 0, 0, 0, 0, 0, 0, 0, 0]);
export const SQUARED_RADIX: usize = memory.data<u32>([3072, 0, 536805376, 534773759, 532676607, 536870911, 536870911, 536870910, 19]);
export const CUBED_RADIX: usize = memory.data<u32>([327680, 536084480, 520093695, 234881023, 134217727, 536870911, 11, 16, 3072]);
/** y² = x³ − 3x + b */
export const CURVE_B: usize = memory.data<u32>([412597243, 484401705, 25462468, 24324129, 497900000, 180318738, 436654352, 393354528, 8782019]);
/** x, y, z */
export const GENERATOR: usize = memory.data<u32>([354584451, 120640536, 229641167, 92213755, 169929589, 314013218, 53542329, 452255063, 1182702, 313180496, 307451854, 253945583, 238620294, 105584277, 143512095, 44659779, 43393398, 11419619, 32, 0, 0, 536854528, 536870911, 536870911, 528482303, 67108863, 0]);
/** The order of the group as an element of this field */
export const ORDER: usize = memory.data<u32>([113159443, 292112435, 348753110, 22082303, 225383266, 216421097, 360841395, 44010559, 823684]);

/** 32 bytes, big-endian → element. @returns whether it is below the modulus */
export function fqRead(out: usize, bytes: usize): bool {
  readBytes(out, bytes, 32, 9, BITS);
  if (!isBelow(out, FQ_MODULUS, 9)) return false;
  fqMultiply(out, out, SQUARED_RADIX);
  return true;
}

/** Out of Montgomery form, below the modulus: limbs */
export function fqPlain(out: usize, a: usize): void {
  fqMultiply(out, a, PLAIN_ONE);
  normalise(out, FQ_MODULUS, 9, BITS);
}

const PLAIN: usize = memory.data(36, 8);

export function fqWrite(bytes: usize, a: usize): void {
  fqPlain(PLAIN, a);
  writeBytes(bytes, PLAIN, 32, 9, BITS);
}

/** 0 or the modulus: nothing else below 1.1 p is congruent to 0 */
export function fqIsZero(a: usize): bool {
  const lowest = load<u32>(a);
  if (lowest != 0 && lowest != 536870911) return false;
  let any: u32 = 0;
  let other: u32 = 0;
  for (let i: usize = 0; i < 36; i += 4) {
    any |= load<u32>(a + i);
    other |= load<u32>(a + i) ^ load<u32>(FQ_MODULUS + i);
  }
  return any == 0 || other == 0;
}

/** 1 / a; 0 for 0 */
export function fqInvert(out: usize, a: usize): void {
  invert(out, a, FQ_MODULUS, FACTOR, 9, BITS, 18);
  fqMultiply(out, out, CUBED_RADIX);
}

export function fqCopy(out: usize, a: usize): void {
  memory.copy(out, a, 36);
}

export function fqMultiply(out: usize, a: usize, b: usize): void {
  const a0 = <u64>load<u32>(a, 0);
  const a1 = <u64>load<u32>(a, 4);
  const a2 = <u64>load<u32>(a, 8);
  const a3 = <u64>load<u32>(a, 12);
  const a4 = <u64>load<u32>(a, 16);
  const a5 = <u64>load<u32>(a, 20);
  const a6 = <u64>load<u32>(a, 24);
  const a7 = <u64>load<u32>(a, 28);
  const a8 = <u64>load<u32>(a, 32);
  const b0 = <u64>load<u32>(b, 0);
  const b1 = <u64>load<u32>(b, 4);
  const b2 = <u64>load<u32>(b, 8);
  const b3 = <u64>load<u32>(b, 12);
  const b4 = <u64>load<u32>(b, 16);
  const b5 = <u64>load<u32>(b, 20);
  const b6 = <u64>load<u32>(b, 24);
  const b7 = <u64>load<u32>(b, 28);
  const b8 = <u64>load<u32>(b, 32);
  let ct: i64 = 0;
  ct += <i64>(a0 * b0);
  const cq0 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b1 + a1 * b0);
  const cq1 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b2 + a1 * b1 + a2 * b0);
  const cq2 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0);
  ct = ct + (cq0 << 9);
  const cq3 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0);
  ct = ct + (cq1 << 9);
  const cq4 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0);
  ct = ct + (cq2 << 9);
  const cq5 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0);
  ct = ct + (cq0 << 18) + (cq3 << 9);
  const cq6 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0);
  ct = ct - (cq0 << 21) + (cq1 << 18) + (cq4 << 9);
  const cq7 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0);
  ct = ct + (cq0 << 24) - (cq1 << 21) + (cq2 << 18) + (cq5 << 9);
  const cq8 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1);
  ct = ct + (cq1 << 24) - (cq2 << 21) + (cq3 << 18) + (cq6 << 9);
  const c0 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2);
  ct = ct + (cq2 << 24) - (cq3 << 21) + (cq4 << 18) + (cq7 << 9);
  const c1 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3);
  ct = ct + (cq3 << 24) - (cq4 << 21) + (cq5 << 18) + (cq8 << 9);
  const c2 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4);
  ct = ct + (cq4 << 24) - (cq5 << 21) + (cq6 << 18);
  const c3 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5);
  ct = ct + (cq5 << 24) - (cq6 << 21) + (cq7 << 18);
  const c4 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a6 * b8 + a7 * b7 + a8 * b6);
  ct = ct + (cq6 << 24) - (cq7 << 21) + (cq8 << 18);
  const c5 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a7 * b8 + a8 * b7);
  ct = ct + (cq7 << 24) - (cq8 << 21);
  const c6 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a8 * b8);
  ct = ct + (cq8 << 24);
  const c7 = ct & 536870911;
  ct >>= 29;
  const c8 = ct;
  store<u32>(out, <u32>c0, 0);
  store<u32>(out, <u32>c1, 4);
  store<u32>(out, <u32>c2, 8);
  store<u32>(out, <u32>c3, 12);
  store<u32>(out, <u32>c4, 16);
  store<u32>(out, <u32>c5, 20);
  store<u32>(out, <u32>c6, 24);
  store<u32>(out, <u32>c7, 28);
  store<u32>(out, <u32>c8, 32);
}

export function fqSquare(out: usize, a: usize): void {
  const a0 = <u64>load<u32>(a, 0);
  const a1 = <u64>load<u32>(a, 4);
  const a2 = <u64>load<u32>(a, 8);
  const a3 = <u64>load<u32>(a, 12);
  const a4 = <u64>load<u32>(a, 16);
  const a5 = <u64>load<u32>(a, 20);
  const a6 = <u64>load<u32>(a, 24);
  const a7 = <u64>load<u32>(a, 28);
  const a8 = <u64>load<u32>(a, 32);
  const d0 = a0 << 1;
  const d1 = a1 << 1;
  const d2 = a2 << 1;
  const d3 = a3 << 1;
  const d4 = a4 << 1;
  const d5 = a5 << 1;
  const d6 = a6 << 1;
  const d7 = a7 << 1;
  let ct: i64 = 0;
  ct += <i64>(a0 * a0);
  const cq0 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a1);
  const cq1 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a2 + a1 * a1);
  const cq2 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a3 + d1 * a2);
  ct = ct + (cq0 << 9);
  const cq3 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a4 + d1 * a3 + a2 * a2);
  ct = ct + (cq1 << 9);
  const cq4 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a5 + d1 * a4 + d2 * a3);
  ct = ct + (cq2 << 9);
  const cq5 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a6 + d1 * a5 + d2 * a4 + a3 * a3);
  ct = ct + (cq0 << 18) + (cq3 << 9);
  const cq6 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a7 + d1 * a6 + d2 * a5 + d3 * a4);
  ct = ct - (cq0 << 21) + (cq1 << 18) + (cq4 << 9);
  const cq7 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d0 * a8 + d1 * a7 + d2 * a6 + d3 * a5 + a4 * a4);
  ct = ct + (cq0 << 24) - (cq1 << 21) + (cq2 << 18) + (cq5 << 9);
  const cq8 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d1 * a8 + d2 * a7 + d3 * a6 + d4 * a5);
  ct = ct + (cq1 << 24) - (cq2 << 21) + (cq3 << 18) + (cq6 << 9);
  const c0 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d2 * a8 + d3 * a7 + d4 * a6 + a5 * a5);
  ct = ct + (cq2 << 24) - (cq3 << 21) + (cq4 << 18) + (cq7 << 9);
  const c1 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d3 * a8 + d4 * a7 + d5 * a6);
  ct = ct + (cq3 << 24) - (cq4 << 21) + (cq5 << 18) + (cq8 << 9);
  const c2 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d4 * a8 + d5 * a7 + a6 * a6);
  ct = ct + (cq4 << 24) - (cq5 << 21) + (cq6 << 18);
  const c3 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d5 * a8 + d6 * a7);
  ct = ct + (cq5 << 24) - (cq6 << 21) + (cq7 << 18);
  const c4 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d6 * a8 + a7 * a7);
  ct = ct + (cq6 << 24) - (cq7 << 21) + (cq8 << 18);
  const c5 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(d7 * a8);
  ct = ct + (cq7 << 24) - (cq8 << 21);
  const c6 = ct & 536870911;
  ct >>= 29;
  ct += <i64>(a8 * a8);
  ct = ct + (cq8 << 24);
  const c7 = ct & 536870911;
  ct >>= 29;
  const c8 = ct;
  store<u32>(out, <u32>c0, 0);
  store<u32>(out, <u32>c1, 4);
  store<u32>(out, <u32>c2, 8);
  store<u32>(out, <u32>c3, 12);
  store<u32>(out, <u32>c4, 16);
  store<u32>(out, <u32>c5, 20);
  store<u32>(out, <u32>c6, 24);
  store<u32>(out, <u32>c7, 28);
  store<u32>(out, <u32>c8, 32);
}

export function fqAdd(out: usize, a: usize, b: usize): void {
  const s0 = <i64>536870911 + <i64>load<u32>(a, 0) + <i64>load<u32>(b, 0);
  const s1 = <i64>536870911 + <i64>load<u32>(a, 4) + <i64>load<u32>(b, 4);
  const s2 = <i64>536870911 + <i64>load<u32>(a, 8) + <i64>load<u32>(b, 8);
  const s3 = <i64>511 + <i64>load<u32>(a, 12) + <i64>load<u32>(b, 12);
  const s4 = <i64>0 + <i64>load<u32>(a, 16) + <i64>load<u32>(b, 16);
  const s5 = <i64>0 + <i64>load<u32>(a, 20) + <i64>load<u32>(b, 20);
  const s6 = <i64>262144 + <i64>load<u32>(a, 24) + <i64>load<u32>(b, 24);
  const s7 = <i64>534773760 + <i64>load<u32>(a, 28) + <i64>load<u32>(b, 28);
  const s8 = <i64>16777215 + <i64>load<u32>(a, 32) + <i64>load<u32>(b, 32);
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}

export function fqSubtract(out: usize, a: usize, b: usize): void {
  const s0 = <i64>536870909 + <i64>load<u32>(a, 0) - <i64>load<u32>(b, 0);
  const s1 = <i64>536870911 + <i64>load<u32>(a, 4) - <i64>load<u32>(b, 4);
  const s2 = <i64>536870911 + <i64>load<u32>(a, 8) - <i64>load<u32>(b, 8);
  const s3 = <i64>1535 + <i64>load<u32>(a, 12) - <i64>load<u32>(b, 12);
  const s4 = <i64>0 + <i64>load<u32>(a, 16) - <i64>load<u32>(b, 16);
  const s5 = <i64>0 + <i64>load<u32>(a, 20) - <i64>load<u32>(b, 20);
  const s6 = <i64>786432 + <i64>load<u32>(a, 24) - <i64>load<u32>(b, 24);
  const s7 = <i64>530579456 + <i64>load<u32>(a, 28) - <i64>load<u32>(b, 28);
  const s8 = <i64>50331647 + <i64>load<u32>(a, 32) - <i64>load<u32>(b, 32);
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}

export function fqSubtractDouble(out: usize, a: usize, b: usize): void {
  const s0 = <i64>536870907 + <i64>load<u32>(a, 0) - <i64>load<u32>(b, 0) * 2;
  const s1 = <i64>536870911 + <i64>load<u32>(a, 4) - <i64>load<u32>(b, 4) * 2;
  const s2 = <i64>536870911 + <i64>load<u32>(a, 8) - <i64>load<u32>(b, 8) * 2;
  const s3 = <i64>2559 + <i64>load<u32>(a, 12) - <i64>load<u32>(b, 12) * 2;
  const s4 = <i64>0 + <i64>load<u32>(a, 16) - <i64>load<u32>(b, 16) * 2;
  const s5 = <i64>0 + <i64>load<u32>(a, 20) - <i64>load<u32>(b, 20) * 2;
  const s6 = <i64>1310720 + <i64>load<u32>(a, 24) - <i64>load<u32>(b, 24) * 2;
  const s7 = <i64>526385152 + <i64>load<u32>(a, 28) - <i64>load<u32>(b, 28) * 2;
  const s8 = <i64>83886079 + <i64>load<u32>(a, 32) - <i64>load<u32>(b, 32) * 2;
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}

export function fqNegate(out: usize, a: usize): void {
  const s0 = <i64>536870909 - <i64>load<u32>(a, 0);
  const s1 = <i64>536870911 - <i64>load<u32>(a, 4);
  const s2 = <i64>536870911 - <i64>load<u32>(a, 8);
  const s3 = <i64>1535 - <i64>load<u32>(a, 12);
  const s4 = <i64>0 - <i64>load<u32>(a, 16);
  const s5 = <i64>0 - <i64>load<u32>(a, 20);
  const s6 = <i64>786432 - <i64>load<u32>(a, 24);
  const s7 = <i64>530579456 - <i64>load<u32>(a, 28);
  const s8 = <i64>50331647 - <i64>load<u32>(a, 32);
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}

export function fqDouble(out: usize, a: usize): void {
  const s0 = <i64>536870911 + <i64>load<u32>(a, 0) * 2;
  const s1 = <i64>536870911 + <i64>load<u32>(a, 4) * 2;
  const s2 = <i64>536870911 + <i64>load<u32>(a, 8) * 2;
  const s3 = <i64>511 + <i64>load<u32>(a, 12) * 2;
  const s4 = <i64>0 + <i64>load<u32>(a, 16) * 2;
  const s5 = <i64>0 + <i64>load<u32>(a, 20) * 2;
  const s6 = <i64>262144 + <i64>load<u32>(a, 24) * 2;
  const s7 = <i64>534773760 + <i64>load<u32>(a, 28) * 2;
  const s8 = <i64>16777215 + <i64>load<u32>(a, 32) * 2;
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}

export function fqTriple(out: usize, a: usize): void {
  const s0 = <i64>536870911 + <i64>load<u32>(a, 0) * 3;
  const s1 = <i64>536870911 + <i64>load<u32>(a, 4) * 3;
  const s2 = <i64>536870911 + <i64>load<u32>(a, 8) * 3;
  const s3 = <i64>511 + <i64>load<u32>(a, 12) * 3;
  const s4 = <i64>0 + <i64>load<u32>(a, 16) * 3;
  const s5 = <i64>0 + <i64>load<u32>(a, 20) * 3;
  const s6 = <i64>262144 + <i64>load<u32>(a, 24) * 3;
  const s7 = <i64>534773760 + <i64>load<u32>(a, 28) * 3;
  const s8 = <i64>16777215 + <i64>load<u32>(a, 32) * 3;
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}

export function fqTimesFour(out: usize, a: usize): void {
  const s0 = <i64>536870911 + <i64>load<u32>(a, 0) * 4;
  const s1 = <i64>536870911 + <i64>load<u32>(a, 4) * 4;
  const s2 = <i64>536870911 + <i64>load<u32>(a, 8) * 4;
  const s3 = <i64>511 + <i64>load<u32>(a, 12) * 4;
  const s4 = <i64>0 + <i64>load<u32>(a, 16) * 4;
  const s5 = <i64>0 + <i64>load<u32>(a, 20) * 4;
  const s6 = <i64>262144 + <i64>load<u32>(a, 24) * 4;
  const s7 = <i64>534773760 + <i64>load<u32>(a, 28) * 4;
  const s8 = <i64>16777215 + <i64>load<u32>(a, 32) * 4;
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}

export function fqTimesEight(out: usize, a: usize): void {
  const s0 = <i64>536870911 + <i64>load<u32>(a, 0) * 8;
  const s1 = <i64>536870911 + <i64>load<u32>(a, 4) * 8;
  const s2 = <i64>536870911 + <i64>load<u32>(a, 8) * 8;
  const s3 = <i64>511 + <i64>load<u32>(a, 12) * 8;
  const s4 = <i64>0 + <i64>load<u32>(a, 16) * 8;
  const s5 = <i64>0 + <i64>load<u32>(a, 20) * 8;
  const s6 = <i64>262144 + <i64>load<u32>(a, 24) * 8;
  const s7 = <i64>534773760 + <i64>load<u32>(a, 28) * 8;
  const s8 = <i64>16777215 + <i64>load<u32>(a, 32) * 8;
  const q = ((s8 - 32) * 65536) >> 40;
  const r0 = s0 - q * 536870911;
  const r1 = s1 - q * 536870911 + (r0 >> 29);
  const r2 = s2 - q * 536870911 + (r1 >> 29);
  const r3 = s3 - q * 511 + (r2 >> 29);
  const r4 = s4 - q * 0 + (r3 >> 29);
  const r5 = s5 - q * 0 + (r4 >> 29);
  const r6 = s6 - q * 262144 + (r5 >> 29);
  const r7 = s7 - q * 534773760 + (r6 >> 29);
  const r8 = s8 - q * 16777215 + (r7 >> 29);
  store<u32>(out, <u32>(r0 & 536870911), 0);
  store<u32>(out, <u32>(r1 & 536870911), 4);
  store<u32>(out, <u32>(r2 & 536870911), 8);
  store<u32>(out, <u32>(r3 & 536870911), 12);
  store<u32>(out, <u32>(r4 & 536870911), 16);
  store<u32>(out, <u32>(r5 & 536870911), 20);
  store<u32>(out, <u32>(r6 & 536870911), 24);
  store<u32>(out, <u32>(r7 & 536870911), 28);
  store<u32>(out, <u32>r8, 32);
}
