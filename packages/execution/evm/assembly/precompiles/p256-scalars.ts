// Written by scripts/generate-field.mjs. The field of scalars of secp256r1 (P-256).

import { invert, isBelow, normalise, readBytes, writeBytes, writeWords } from "./field";

export const FN_LIMBS: i32 = 9;
export const FN_SIZE: usize = 36;
const BITS: i32 = 29;
const FACTOR: u64 = 234929231;
export const FN_MODULUS: usize = memory.data<u32>([476259665, 500061719, 99066172, 234183502, 536869838, 536870911, 262143, 534773760, 16777215]);
/** 1 in Montgomery form */
export const FN_ONE: usize = memory.data<u32>([328947168, 104152323, 51107938, 22320698, 34354, 0, 528482304, 67108863, 0]);
export const PLAIN_ONE: usize = memory.data<u32>([1, 0, 0, 0, 0, 0, 0, 0, 0]);
export const SQUARED_RADIX: usize = memory.data<u32>([344825589, 256802677, 348563025, 66631525, 374890993, 307681240, 471358243, 223128335, 8697429]);
export const CUBED_RADIX: usize = memory.data<u32>([503455187, 491827557, 482789550, 50099736, 422654320, 451508815, 169046600, 68937293, 2782170]);

/** 32 bytes, big-endian → element. @returns whether it is below the modulus */
export function fnRead(out: usize, bytes: usize): bool {
  readBytes(out, bytes, 32, 9, BITS);
  if (!isBelow(out, FN_MODULUS, 9)) return false;
  fnMultiply(out, out, SQUARED_RADIX);
  return true;
}

/** Out of Montgomery form, below the modulus: limbs */
export function fnPlain(out: usize, a: usize): void {
  fnMultiply(out, a, PLAIN_ONE);
  normalise(out, FN_MODULUS, 9, BITS);
}

const PLAIN: usize = memory.data(36, 8);

export function fnWrite(bytes: usize, a: usize): void {
  fnPlain(PLAIN, a);
  writeBytes(bytes, PLAIN, 32, 9, BITS);
}

/** 0 or the modulus: nothing else below 1.1 p is congruent to 0 */
export function fnIsZero(a: usize): bool {
  const lowest = load<u32>(a);
  if (lowest != 0 && lowest != 476259665) return false;
  let any: u32 = 0;
  let other: u32 = 0;
  for (let i: usize = 0; i < 36; i += 4) {
    any |= load<u32>(a + i);
    other |= load<u32>(a + i) ^ load<u32>(FN_MODULUS + i);
  }
  return any == 0 || other == 0;
}

/** 1 / a; 0 for 0 */
export function fnInvert(out: usize, a: usize): void {
  invert(out, a, FN_MODULUS, FACTOR, 9, BITS, 18);
  fnMultiply(out, out, CUBED_RADIX);
}

export function fnCopy(out: usize, a: usize): void {
  memory.copy(out, a, 36);
}

export function fnMultiply(out: usize, a: usize, b: usize): void {
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
  let ct: u64 = 0;
  ct += a0 * b0;
  const cq0 = (ct * 234929231) & 536870911;
  ct = (ct + cq0 * 476259665) >> 29;
  ct += a0 * b1 + a1 * b0 + cq0 * 500061719;
  const cq1 = (ct * 234929231) & 536870911;
  ct = (ct + cq1 * 476259665) >> 29;
  ct += a0 * b2 + a1 * b1 + a2 * b0 + cq0 * 99066172 + cq1 * 500061719;
  const cq2 = (ct * 234929231) & 536870911;
  ct = (ct + cq2 * 476259665) >> 29;
  ct += a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0 + cq0 * 234183502 + cq1 * 99066172 + cq2 * 500061719;
  const cq3 = (ct * 234929231) & 536870911;
  ct = (ct + cq3 * 476259665) >> 29;
  ct += a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0 + cq0 * 536869838 + cq1 * 234183502 + cq2 * 99066172 + cq3 * 500061719;
  const cq4 = (ct * 234929231) & 536870911;
  ct = (ct + cq4 * 476259665) >> 29;
  ct += a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0 + cq0 * 536870911 + cq1 * 536869838 + cq2 * 234183502 + cq3 * 99066172 + cq4 * 500061719;
  const cq5 = (ct * 234929231) & 536870911;
  ct = (ct + cq5 * 476259665) >> 29;
  ct += a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0 + cq0 * 262143 + cq1 * 536870911 + cq2 * 536869838 + cq3 * 234183502 + cq4 * 99066172 + cq5 * 500061719;
  const cq6 = (ct * 234929231) & 536870911;
  ct = (ct + cq6 * 476259665) >> 29;
  ct += a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0 + cq0 * 534773760 + cq1 * 262143 + cq2 * 536870911 + cq3 * 536869838 + cq4 * 234183502 + cq5 * 99066172 + cq6 * 500061719;
  const cq7 = (ct * 234929231) & 536870911;
  ct = (ct + cq7 * 476259665) >> 29;
  ct += a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0 + cq0 * 16777215 + cq1 * 534773760 + cq2 * 262143 + cq3 * 536870911 + cq4 * 536869838 + cq5 * 234183502 + cq6 * 99066172 + cq7 * 500061719;
  const cq8 = (ct * 234929231) & 536870911;
  ct = (ct + cq8 * 476259665) >> 29;
  ct += a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1 + cq1 * 16777215 + cq2 * 534773760 + cq3 * 262143 + cq4 * 536870911 + cq5 * 536869838 + cq6 * 234183502 + cq7 * 99066172 + cq8 * 500061719;
  const c0 = ct & 536870911;
  ct >>= 29;
  ct += a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2 + cq2 * 16777215 + cq3 * 534773760 + cq4 * 262143 + cq5 * 536870911 + cq6 * 536869838 + cq7 * 234183502 + cq8 * 99066172;
  const c1 = ct & 536870911;
  ct >>= 29;
  ct += a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3 + cq3 * 16777215 + cq4 * 534773760 + cq5 * 262143 + cq6 * 536870911 + cq7 * 536869838 + cq8 * 234183502;
  const c2 = ct & 536870911;
  ct >>= 29;
  ct += a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4 + cq4 * 16777215 + cq5 * 534773760 + cq6 * 262143 + cq7 * 536870911 + cq8 * 536869838;
  const c3 = ct & 536870911;
  ct >>= 29;
  ct += a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5 + cq5 * 16777215 + cq6 * 534773760 + cq7 * 262143 + cq8 * 536870911;
  const c4 = ct & 536870911;
  ct >>= 29;
  ct += a6 * b8 + a7 * b7 + a8 * b6 + cq6 * 16777215 + cq7 * 534773760 + cq8 * 262143;
  const c5 = ct & 536870911;
  ct >>= 29;
  ct += a7 * b8 + a8 * b7 + cq7 * 16777215 + cq8 * 534773760;
  const c6 = ct & 536870911;
  ct >>= 29;
  ct += a8 * b8 + cq8 * 16777215;
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

export function fnSquare(out: usize, a: usize): void {
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
  let ct: u64 = 0;
  ct += a0 * a0;
  const cq0 = (ct * 234929231) & 536870911;
  ct = (ct + cq0 * 476259665) >> 29;
  ct += d0 * a1 + cq0 * 500061719;
  const cq1 = (ct * 234929231) & 536870911;
  ct = (ct + cq1 * 476259665) >> 29;
  ct += d0 * a2 + a1 * a1 + cq0 * 99066172 + cq1 * 500061719;
  const cq2 = (ct * 234929231) & 536870911;
  ct = (ct + cq2 * 476259665) >> 29;
  ct += d0 * a3 + d1 * a2 + cq0 * 234183502 + cq1 * 99066172 + cq2 * 500061719;
  const cq3 = (ct * 234929231) & 536870911;
  ct = (ct + cq3 * 476259665) >> 29;
  ct += d0 * a4 + d1 * a3 + a2 * a2 + cq0 * 536869838 + cq1 * 234183502 + cq2 * 99066172 + cq3 * 500061719;
  const cq4 = (ct * 234929231) & 536870911;
  ct = (ct + cq4 * 476259665) >> 29;
  ct += d0 * a5 + d1 * a4 + d2 * a3 + cq0 * 536870911 + cq1 * 536869838 + cq2 * 234183502 + cq3 * 99066172 + cq4 * 500061719;
  const cq5 = (ct * 234929231) & 536870911;
  ct = (ct + cq5 * 476259665) >> 29;
  ct += d0 * a6 + d1 * a5 + d2 * a4 + a3 * a3 + cq0 * 262143 + cq1 * 536870911 + cq2 * 536869838 + cq3 * 234183502 + cq4 * 99066172 + cq5 * 500061719;
  const cq6 = (ct * 234929231) & 536870911;
  ct = (ct + cq6 * 476259665) >> 29;
  ct += d0 * a7 + d1 * a6 + d2 * a5 + d3 * a4 + cq0 * 534773760 + cq1 * 262143 + cq2 * 536870911 + cq3 * 536869838 + cq4 * 234183502 + cq5 * 99066172 + cq6 * 500061719;
  const cq7 = (ct * 234929231) & 536870911;
  ct = (ct + cq7 * 476259665) >> 29;
  ct += d0 * a8 + d1 * a7 + d2 * a6 + d3 * a5 + a4 * a4 + cq0 * 16777215 + cq1 * 534773760 + cq2 * 262143 + cq3 * 536870911 + cq4 * 536869838 + cq5 * 234183502 + cq6 * 99066172 + cq7 * 500061719;
  const cq8 = (ct * 234929231) & 536870911;
  ct = (ct + cq8 * 476259665) >> 29;
  ct += d1 * a8 + d2 * a7 + d3 * a6 + d4 * a5 + cq1 * 16777215 + cq2 * 534773760 + cq3 * 262143 + cq4 * 536870911 + cq5 * 536869838 + cq6 * 234183502 + cq7 * 99066172 + cq8 * 500061719;
  const c0 = ct & 536870911;
  ct >>= 29;
  ct += d2 * a8 + d3 * a7 + d4 * a6 + a5 * a5 + cq2 * 16777215 + cq3 * 534773760 + cq4 * 262143 + cq5 * 536870911 + cq6 * 536869838 + cq7 * 234183502 + cq8 * 99066172;
  const c1 = ct & 536870911;
  ct >>= 29;
  ct += d3 * a8 + d4 * a7 + d5 * a6 + cq3 * 16777215 + cq4 * 534773760 + cq5 * 262143 + cq6 * 536870911 + cq7 * 536869838 + cq8 * 234183502;
  const c2 = ct & 536870911;
  ct >>= 29;
  ct += d4 * a8 + d5 * a7 + a6 * a6 + cq4 * 16777215 + cq5 * 534773760 + cq6 * 262143 + cq7 * 536870911 + cq8 * 536869838;
  const c3 = ct & 536870911;
  ct >>= 29;
  ct += d5 * a8 + d6 * a7 + cq5 * 16777215 + cq6 * 534773760 + cq7 * 262143 + cq8 * 536870911;
  const c4 = ct & 536870911;
  ct >>= 29;
  ct += d6 * a8 + a7 * a7 + cq6 * 16777215 + cq7 * 534773760 + cq8 * 262143;
  const c5 = ct & 536870911;
  ct >>= 29;
  ct += d7 * a8 + cq7 * 16777215 + cq8 * 534773760;
  const c6 = ct & 536870911;
  ct >>= 29;
  ct += a8 * a8 + cq8 * 16777215;
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

/** 32 bytes, big-endian → number out of Montgomery form, less the modulus if it is not below */
export function fnReadPlain(out: usize, bytes: usize): void {
  readBytes(out, bytes, 32, 9, BITS);
  normalise(out, FN_MODULUS, 9, BITS);
}

/** A number out of Montgomery form → its four words of 64 bits, lowest first, below the modulus */
export function fnWords(out: usize, a: usize): void {
  memory.copy(PLAIN, a, 36);
  normalise(PLAIN, FN_MODULUS, 9, BITS);
  writeWords(out, PLAIN, 9, BITS);
}
