/** Addition and multiplication on y² = x³ + 3 (EIP-196), in Jacobian coordinates: x = X/Z², y = Y/Z³; Z = 0 is infinity. */
import {
  BETA,
  FP_ONE,
  FP_SIZE,
  fpAdd,
  fpCopy,
  fpDouble,
  fpInvert,
  fpIsZero,
  fpMultiply,
  fpNegate,
  fpSquare,
  fpSubtract,
  fpSubtractDouble,
  fpSubtractTwo,
  fpTimesEight,
  fpTriple,
  fpWrite,
} from "./bn254-field";
import { readG1 } from "./bn254-pairing";

const Y: usize = FP_SIZE;
const Z: usize = 2 * FP_SIZE;
const POINT_SIZE: usize = 3 * FP_SIZE;

const A: usize = memory.data(36, 8);
const B: usize = memory.data(36, 8);
const C: usize = memory.data(36, 8);
const D: usize = memory.data(36, 8);
const E: usize = memory.data(36, 8);
const F: usize = memory.data(36, 8);
const G: usize = memory.data(36, 8);

@inline function isInfinity(p: usize): bool {
  return fpIsZero(p + Z);
}

@inline function copy(out: usize, p: usize): void {
  memory.copy(out, p, POINT_SIZE);
}

/** dbl-2009-l of the Explicit-Formulas Database; infinity stays infinity */
function double(out: usize, p: usize): void {
  fpSquare(A, p);
  fpSquare(B, p + Y);
  fpSquare(C, B);
  fpAdd(D, p, B);
  fpSquare(D, D);
  fpSubtractTwo(D, D, A, C);
  fpDouble(D, D);
  fpTriple(E, A);
  fpSquare(F, E);
  fpMultiply(G, p + Y, p + Z);
  fpDouble(out + Z, G);
  fpSubtractDouble(out, F, D);
  fpSubtract(D, D, out);
  fpMultiply(D, E, D);
  fpTimesEight(C, C);
  fpSubtract(out + Y, D, C);
}

/** out ← p + q, also if they are equal or opposite, or one is infinity */
function add(out: usize, p: usize, q: usize): void {
  if (isInfinity(p)) return copy(out, q);
  if (isInfinity(q)) return copy(out, p);
  fpSquare(A, p + Z);
  fpSquare(B, q + Z);
  fpMultiply(C, p, B); // U1
  fpMultiply(D, q, A);
  fpSubtract(D, D, C); // H
  fpMultiply(B, B, q + Z);
  fpMultiply(B, B, p + Y); // S1
  fpMultiply(A, A, p + Z);
  fpMultiply(A, A, q + Y);
  fpSubtract(A, A, B); // R
  if (fpIsZero(D)) {
    if (fpIsZero(A)) return double(out, p);
    memory.fill(out, 0, POINT_SIZE);
    return;
  }
  fpSquare(E, D);
  fpMultiply(F, E, D);
  fpMultiply(E, E, C);
  fpSquare(G, A);
  fpSubtract(G, G, F);
  fpMultiply(C, p + Z, q + Z);
  fpMultiply(out + Z, C, D);
  fpSubtractDouble(out, G, E);
  fpSubtract(E, E, out);
  fpMultiply(E, E, A);
  fpMultiply(B, B, F);
  fpSubtract(out + Y, E, B);
}

/** x ‖ y of a point, zeros for infinity */
function write(bytes: usize, p: usize): void {
  if (isInfinity(p)) {
    memory.fill(bytes, 0, 64);
    return;
  }
  fpInvert(A, p + Z);
  fpSquare(B, A);
  fpMultiply(C, p, B);
  fpWrite(bytes, C);
  fpMultiply(B, B, A);
  fpMultiply(C, p + Y, B);
  fpWrite(bytes + 32, C);
}

/** @returns whether the bytes are a point */
function read(p: usize, bytes: usize): bool {
  const kind = readG1(p, p + Y, bytes);
  if (kind == 1) fpCopy(p + Z, FP_ONE);
  else memory.fill(p + Z, 0, FP_SIZE);
  return kind != 0;
}

const P: usize = memory.data(108, 8);
const Q: usize = memory.data(108, 8);

/** 128 bytes → 64 bytes, in place, in affine coordinates. @returns 0 for an invalid input */
export function bn254Add(bytes: usize): i32 {
  const p = readG1(P, P + Y, bytes);
  const q = readG1(Q, Q + Y, bytes + 64);
  if (p == 0 || q == 0) return 0;
  if (q == 2) return 1;
  if (p == 2) {
    memory.copy(bytes, bytes + 64, 64);
    return 1;
  }
  fpSubtract(A, Q, P);
  fpSubtract(B, Q + Y, P + Y);
  if (fpIsZero(A)) {
    if (!fpIsZero(B)) {
      memory.fill(bytes, 0, 64);
      return 1;
    }
    fpSquare(B, P);
    fpTriple(B, B);
    fpDouble(A, P + Y); // not zero: the group's order is odd
  }
  fpInvert(A, A);
  fpMultiply(A, A, B); // slope
  fpSquare(C, A);
  fpSubtractTwo(C, C, P, Q);
  fpWrite(bytes, C);
  fpSubtract(B, P, C);
  fpMultiply(B, B, A);
  fpSubtract(B, B, P + Y);
  fpWrite(bytes + 32, B);
  return 1;
}

const WINDOW = 5;
/** digits of the non-adjacent form of width 5, lowest first: −15, −13 … 15, mostly 0 */
const MAX_DIGITS: i32 = 136;
const DIGITS1: usize = memory.data(136);
const DIGITS2: usize = memory.data(136);
/** P, 3P, 5P … 15P, and the same times λ */
const TABLE1: usize = memory.data(864, 8);
const TABLE2: usize = memory.data(864, 8);
const NEGATIVE: usize = memory.data(108, 8);

/** |scalar| < 2^130 little-endian in three u64. @returns the number of digits */
function recode(digits: usize, scalar: usize, negative: bool): i32 {
  memory.fill(digits, 0, MAX_DIGITS);
  let low = load<u64>(scalar);
  let middle = load<u64>(scalar, 8);
  let high = load<u64>(scalar, 16);
  let length = 0;
  for (let i = 0; (low | middle | high) != 0; i++) {
    if (low & 1) {
      let digit = <i32>(low & 31);
      if (digit >= 16) digit -= 32;
      store<i8>(digits + i, <i8>(negative ? -digit : digit));
      const before = low;
      low -= <u64>(<i64>digit);
      if (digit < 0 && low < before) {
        middle++;
        if (middle == 0) high++;
      }
      length = i + 1;
    }
    low = (low >> 1) | (middle << 63);
    middle = (middle >> 1) | (high << 63);
    high >>= 1;
  }
  return length;
}

function addDigit(table: usize, digit: i32): void {
  if (digit == 0) return;
  const entry = table + POINT_SIZE * <usize>((abs(digit) - 1) >> 1);
  if (digit > 0) return add(P, P, entry);
  copy(NEGATIVE, entry);
  fpNegate(NEGATIVE + Y, NEGATIVE + Y);
  add(P, P, NEGATIVE);
}

/**
 * 64 bytes of a point → 64 bytes of scalar·point, in place, where scalar = k1 + k2·λ; the point is followed by |k1| and |k2|, 24
 * bytes each, little-endian.
 *
 * @param signs bit 0: k1 < 0, bit 1: k2 < 0
 * @returns 0 for an invalid input
 */
export function bn254Multiply(bytes: usize, signs: i32): i32 {
  if (!read(TABLE1, bytes)) return 0;
  double(Q, TABLE1);
  for (let i: usize = 0; i < 8; i++) {
    const entry = TABLE1 + i * POINT_SIZE;
    if (i > 0) add(entry, entry - POINT_SIZE, Q);
    copy(TABLE2 + i * POINT_SIZE, entry);
    fpMultiply(TABLE2 + i * POINT_SIZE, entry, BETA);
  }
  const length = max(recode(DIGITS1, bytes + 64, (signs & 1) != 0), recode(DIGITS2, bytes + 88, (signs & 2) != 0));
  memory.fill(P, 0, POINT_SIZE);
  for (let i = length - 1; i >= 0; i--) {
    double(P, P);
    addDigit(TABLE1, load<i8>(DIGITS1 + i));
    addDigit(TABLE2, load<i8>(DIGITS2 + i));
  }
  write(bytes, P);
  return 1;
}
