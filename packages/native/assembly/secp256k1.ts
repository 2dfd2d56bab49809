/** Recovery of public keys from ECDSA signatures on secp256k1 (SEC 1 § 4.1.6). Inputs are written at `buffer()`, outputs are left there. */
import { AFFINE_SIZE, addAffine, allToAffine, double, POINT_SIZE, setInfinity, toAffine, Y, Z } from "./curve";
import {
  BETA, CURVE_B, FP_ONE, FP_SIZE, fpAdd, fpCopy, fpIsOdd, fpIsZero, fpMultiply, fpNegate, fpRead, fpSquare, fpSubtract, fpWrite, GENERATOR,
} from "./field";
import { MAX_DIGITS, recode, split } from "./scalar-digits";
import { fnInvert, fnIsZero, fnMultiply, fnNegate, fnRead, fnReadPlain } from "./scalars";

export function buffer(): usize {
  return (__heap_base + 15) & ~15;
}

export function reserve(bytes: usize): bool {
  return buffer() + bytes <= <usize>memory.size() << 16;
}

const X2: usize = memory.data(32, 8);
const X3: usize = memory.data(32, 8);
const X6: usize = memory.data(32, 8);
const X22: usize = memory.data(32, 8);
const X44: usize = memory.data(32, 8);
const X88: usize = memory.data(32, 8);
const T: usize = memory.data(32, 8);
const U: usize = memory.data(32, 8);

/** out ← a^(2^n) · b */
function raise(out: usize, a: usize, n: i32, b: usize): void {
  fpSquare(U, a);
  for (let i = 1; i < n; i++) fpSquare(U, U);
  fpMultiply(out, U, b);
}

/**
 * out ← a^((p + 1)/4), a square root if there is one. The exponent is 223 ones, a 0, 22 ones, 4 zeros, 2 ones, 2 zeros. Powers of a by n ones: x_n.
 * @returns whether it is one; `out` is not `a`
 */
function root(out: usize, a: usize): bool {
  raise(X2, a, 1, a);
  raise(X3, X2, 1, a);
  raise(X6, X3, 3, X3);
  raise(T, X6, 3, X3); // 9
  raise(T, T, 2, X2); // 11
  raise(X22, T, 11, T);
  raise(X44, X22, 22, X22);
  raise(X88, X44, 44, X44);
  raise(T, X88, 88, X88); // 176
  raise(T, T, 44, X44); // 220
  raise(T, T, 3, X3); // 223
  raise(T, T, 23, X22);
  raise(T, T, 6, X2);
  fpSquare(T, T);
  fpSquare(out, T);
  fpSquare(T, out);
  fpSubtract(T, T, a);
  return fpIsZero(T);
}

/** Widths of the forms of scalars. Tables have the odd multiples below 2^(width − 1). */
const GENERATOR_WIDTH: i32 = 12;
const GENERATOR_ENTRIES: usize = 1 << (GENERATOR_WIDTH - 2);
const POINT_WIDTH: i32 = 5;
const POINT_ENTRIES: usize = 1 << (POINT_WIDTH - 2);

/** Of the generator, and of 2^128 times the generator: affine */
const GENERATOR_TABLES: usize = memory.data(131072, 8);
const POINT_TABLE: usize = memory.data(512, 8);
/** The same by λ */
const MAPPED_TABLE: usize = memory.data(512, 8);
/** Jacobian multiples, and products of their Z, while a table is made */
const MULTIPLES: usize = memory.data(98304, 8);
const PRODUCTS: usize = memory.data(32768, 8);
const TWICE: usize = memory.data(96, 8);
const STEP: usize = memory.data(64, 8);

/** table ← p, 3p, 5p … of an affine p of the curve, whose order is a prime: none of them is infinity */
function fillTable(table: usize, p: usize, entries: usize): void {
  memory.copy(MULTIPLES, p, AFFINE_SIZE);
  fpCopy(MULTIPLES + Z, FP_ONE);
  double(TWICE, MULTIPLES);
  // in coordinates scaled by the Z of 2p, 2p is affine: (X, Y), and p = (x·Z², y·Z³) (the curve becomes an isomorphic one with the same formulas)
  memory.copy(STEP, TWICE, AFFINE_SIZE);
  fpSquare(T, TWICE + Z);
  fpMultiply(MULTIPLES, p, T);
  fpMultiply(T, T, TWICE + Z);
  fpMultiply(MULTIPLES + Y, p + Y, T);
  for (let i: usize = 1; i < entries; i++) {
    const at = MULTIPLES + i * POINT_SIZE;
    addAffine(at, at - POINT_SIZE, STEP);
  }
  for (let i: usize = 0; i < entries; i++) {
    const z = MULTIPLES + i * POINT_SIZE + Z;
    fpMultiply(z, z, TWICE + Z);
  }
  allToAffine(table, MULTIPLES, entries, PRODUCTS);
}

let hasGeneratorTables: bool = false;
const HIGH: usize = memory.data(96, 8);

function fillGeneratorTables(): void {
  fillTable(GENERATOR_TABLES, GENERATOR, GENERATOR_ENTRIES);
  memory.copy(HIGH, GENERATOR, AFFINE_SIZE);
  fpCopy(HIGH + Z, FP_ONE);
  for (let i = 0; i < 128; i++) double(HIGH, HIGH);
  toAffine(HIGH, HIGH);
  fillTable(GENERATOR_TABLES + GENERATOR_ENTRIES * AFFINE_SIZE, HIGH, GENERATOR_ENTRIES);
  hasGeneratorTables = true;
}

const SUM: usize = memory.data(96, 8);
const NEGATIVE: usize = memory.data(64, 8);

@inline function addDigit(table: usize, digit: i32): void {
  if (digit == 0) return;
  const entry = table + AFFINE_SIZE * <usize>((abs(digit) - 1) >> 1);
  if (digit > 0) return addAffine(SUM, SUM, entry);
  fpCopy(NEGATIVE, entry);
  fpNegate(NEGATIVE + Y, entry + Y);
  addAffine(SUM, SUM, NEGATIVE);
}

/** Of u1: its lower and its upper half; of u2: the halves of its split */
const DIGITS: usize = memory.data(1088, 8);
const K1: usize = memory.data(32, 8);
const K2: usize = memory.data(32, 8);

/** SUM ← u1·G + u2·p for an affine p */
function multiplyBoth(u1: usize, u2: usize, p: usize): void {
  if (!hasGeneratorTables) fillGeneratorTables();
  const d0 = DIGITS;
  const d1 = d0 + 2 * MAX_DIGITS;
  const d2 = d1 + 2 * MAX_DIGITS;
  const d3 = d2 + 2 * MAX_DIGITS;
  const signs = split(K1, K2, u2);
  let length = max(recode(d0, u1, GENERATOR_WIDTH, false), recode(d1, u1 + 16, GENERATOR_WIDTH, false));
  length = max(length, max(recode(d2, K1, POINT_WIDTH, (signs & 1) != 0), recode(d3, K2, POINT_WIDTH, (signs & 2) != 0)));
  fillTable(POINT_TABLE, p, POINT_ENTRIES);
  for (let i: usize = 0; i < POINT_ENTRIES * AFFINE_SIZE; i += AFFINE_SIZE) {
    fpMultiply(MAPPED_TABLE + i, POINT_TABLE + i, BETA);
    fpCopy(MAPPED_TABLE + i + Y, POINT_TABLE + i + Y);
  }
  setInfinity(SUM);
  for (let i = length - 1; i >= 0; i--) {
    double(SUM, SUM);
    addDigit(GENERATOR_TABLES, load<i16>(d0 + 2 * i));
    addDigit(GENERATOR_TABLES + GENERATOR_ENTRIES * AFFINE_SIZE, load<i16>(d1 + 2 * i));
    addDigit(POINT_TABLE, load<i16>(d2 + 2 * i));
    addDigit(MAPPED_TABLE, load<i16>(d3 + 2 * i));
  }
}

const R: usize = memory.data(32, 8);
const S: usize = memory.data(32, 8);
const H: usize = memory.data(32, 8);
const POINT: usize = memory.data(64, 8);

/**
 * hash ‖ r ‖ s, 32 bytes each → the public key, x ‖ y.
 *
 * @param yIsOdd of the point whose x coordinate is r
 * @returns 0: r or s is 0 or not below the order, r is no point's x, or the key would be infinity
 */
export function recover(bytes: usize, yIsOdd: i32): i32 {
  if (!fnRead(R, bytes + 32) || !fnRead(S, bytes + 64)) return 0;
  if (fnIsZero(R) || fnIsZero(S)) return 0;
  if (!fpRead(POINT, bytes + 32)) return 0; // r < order < modulus
  fpSquare(K1, POINT);
  fpMultiply(K1, K1, POINT);
  fpAdd(K1, K1, CURVE_B);
  if (!root(POINT + FP_SIZE, K1)) return 0;
  if (<i32>fpIsOdd(POINT + FP_SIZE) != yIsOdd) fpNegate(POINT + FP_SIZE, POINT + FP_SIZE);
  fnReadPlain(H, bytes);
  fnInvert(R, R);
  fnMultiply(H, H, R); // plain · Montgomery = plain
  fnNegate(H, H);
  fnReadPlain(S, bytes + 64);
  fnMultiply(S, S, R);
  multiplyBoth(H, S, POINT);
  if (fpIsZero(SUM + Z)) return 0;
  toAffine(POINT, SUM);
  fpWrite(bytes, POINT);
  fpWrite(bytes + 32, POINT + Y);
  return 1;
}
