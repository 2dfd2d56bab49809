/** Recovery of public keys from ECDSA signatures on secp256k1 (SEC 1 § 4.1.6). Inputs are written at `buffer()`, outputs are left there. */
import { AFFINE_SIZE, addAffine, allToAffine, double, POINT_SIZE, setInfinity, toAffine, Y, Z } from "./curve";
import {
  BETA, CURVE_B, FP_ONE, fpAdd, fpCopy, fpIsOdd, fpIsZero, fpMultiply, fpNegate, fpRead, fpSquare, fpSubtract, fpWrite, GENERATOR,
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
const TABLE_SIZE: usize = POINT_ENTRIES * AFFINE_SIZE;

/** Of the generator, and of 2^128 times the generator: affine */
const GENERATOR_TABLES: usize = memory.data(131072, 8);
/** Of the points of all signatures */
const POINT_TABLES: usize = memory.data(32768, 8);
/** Of the one that is being computed, by λ */
const MAPPED_TABLE: usize = memory.data(512, 8);
/** Jacobian multiples, and products of their Z, while a table is made */
const MULTIPLES: usize = memory.data(98304, 8);
const PRODUCTS: usize = memory.data(32768, 8);
const TWICE: usize = memory.data(96, 8);
const STEP: usize = memory.data(64, 8);

/** out ← p, 3p, 5p … (Jacobian) of an affine p of the curve, whose order is a prime: none of them is infinity */
function oddMultiples(out: usize, p: usize, entries: usize): void {
  memory.copy(out, p, AFFINE_SIZE);
  fpCopy(out + Z, FP_ONE);
  double(TWICE, out);
  // in coordinates scaled by the Z of 2p, 2p is affine: (X, Y), and p = (x·Z², y·Z³) (the curve becomes an isomorphic one with the same formulas)
  memory.copy(STEP, TWICE, AFFINE_SIZE);
  fpSquare(T, TWICE + Z);
  fpMultiply(out, p, T);
  fpMultiply(T, T, TWICE + Z);
  fpMultiply(out + Y, p + Y, T);
  for (let i: usize = 1; i < entries; i++) {
    const at = out + i * POINT_SIZE;
    addAffine(at, at - POINT_SIZE, STEP);
  }
  for (let i: usize = 0; i < entries; i++) {
    const z = out + i * POINT_SIZE + Z;
    fpMultiply(z, z, TWICE + Z);
  }
}

/** table ← p, 3p, 5p …, affine */
function fillTable(table: usize, p: usize, entries: usize): void {
  oddMultiples(MULTIPLES, p, entries);
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

/** SUM ← u1·G + u2·p. @param table the odd multiples of p */
function multiplyBoth(u1: usize, u2: usize, table: usize): void {
  if (!hasGeneratorTables) fillGeneratorTables();
  const d0 = DIGITS;
  const d1 = d0 + 2 * MAX_DIGITS;
  const d2 = d1 + 2 * MAX_DIGITS;
  const d3 = d2 + 2 * MAX_DIGITS;
  const signs = split(K1, K2, u2);
  let length = max(recode(d0, u1, GENERATOR_WIDTH, false), recode(d1, u1 + 16, GENERATOR_WIDTH, false));
  length = max(length, max(recode(d2, K1, POINT_WIDTH, (signs & 1) != 0), recode(d3, K2, POINT_WIDTH, (signs & 2) != 0)));
  for (let i: usize = 0; i < TABLE_SIZE; i += AFFINE_SIZE) {
    fpMultiply(MAPPED_TABLE + i, table + i, BETA);
    fpCopy(MAPPED_TABLE + i + Y, table + i + Y);
  }
  setInfinity(SUM);
  for (let i = length - 1; i >= 0; i--) {
    double(SUM, SUM);
    addDigit(GENERATOR_TABLES, load<i16>(d0 + 2 * i));
    addDigit(GENERATOR_TABLES + GENERATOR_ENTRIES * AFFINE_SIZE, load<i16>(d1 + 2 * i));
    addDigit(table, load<i16>(d2 + 2 * i));
    addDigit(MAPPED_TABLE, load<i16>(d3 + 2 * i));
  }
}

/**
 * Signatures that are recovered together. What has to be inverted is inverted once for all of them (Montgomery): r, the points of the tables,
 * and the keys.
 */
const MAX_SIGNATURES: usize = 64;
/** hash 32 ‖ r 32 ‖ s 32 ‖ whether y of the point whose x is r is odd 1; then x 32 ‖ y 32 of the key ‖ … ‖ whether there is one 1 */
const RECORD: usize = 97;
const FLAG: usize = 96;

/** Of those that may have a key: their records, and elements of 32 bytes or points of each */
const RECORDS: usize = memory.data(256, 8);
const POINTS: usize = memory.data(4096, 8);
const R: usize = memory.data(2048, 8);
const U1: usize = memory.data(2048, 8);
const U2: usize = memory.data(2048, 8);
const SUMS: usize = memory.data(6144, 8);
const KEYS: usize = memory.data(4096, 8);
const SCALAR_PRODUCTS: usize = memory.data(2048, 8);
const INVERSE: usize = memory.data(32, 8);
const S: usize = memory.data(32, 8);

/** Reads a record into the arrays at `place`. @returns false: r or s is 0 or not below the order, or r is no point's x */
function readRecord(record: usize, place: usize): bool {
  const r = R + 32 * place;
  const point = POINTS + AFFINE_SIZE * place;
  if (!fnRead(r, record + 32) || !fnRead(S, record + 64)) return false;
  if (fnIsZero(r) || fnIsZero(S)) return false;
  if (!fpRead(point, record + 32)) return false; // r < order < modulus
  fpSquare(K1, point);
  fpMultiply(K1, K1, point);
  fpAdd(K1, K1, CURVE_B);
  if (!root(point + Y, K1)) return false;
  if (fpIsOdd(point + Y) != (load<u8>(record + FLAG) != 0)) fpNegate(point + Y, point + Y);
  store<u32>(RECORDS + 4 * place, <u32>record);
  return true;
}

/** u1 ← −hash / r, u2 ← s / r, for all: plain · Montgomery = plain */
function findScalars(count: usize): void {
  for (let i: usize = 0; i < count; i++) {
    const product = SCALAR_PRODUCTS + 32 * i;
    if (i == 0) memory.copy(product, R, 32);
    else fnMultiply(product, product - 32, R + 32 * i);
  }
  fnInvert(INVERSE, SCALAR_PRODUCTS + 32 * (count - 1));
  for (let i = <isize>count - 1; i >= 0; i--) {
    const r = R + 32 * i;
    const inverse = U1 + 32 * i;
    if (i > 0) fnMultiply(inverse, INVERSE, SCALAR_PRODUCTS + 32 * (i - 1));
    else memory.copy(inverse, INVERSE, 32);
    fnMultiply(INVERSE, INVERSE, r);
    const record = <usize>load<u32>(RECORDS + 4 * i);
    fnReadPlain(U2 + 32 * i, record + 64);
    fnMultiply(U2 + 32 * i, U2 + 32 * i, inverse);
    fnReadPlain(S, record);
    fnMultiply(inverse, S, inverse);
    fnNegate(inverse, inverse);
  }
}

/**
 * `count` records → their public keys. A record has none if r or s is 0 or not below the order, if r is no point's x, or if the key would be
 * infinity.
 *
 * @returns 0: there are too many
 */
export function recover(records: usize, count: u32): i32 {
  if (count > <u32>MAX_SIGNATURES) return 0;
  let found: usize = 0;
  for (let i: usize = 0; i < count; i++) if (readRecord(records + RECORD * i, found)) found++;
  for (let i: usize = 0; i < count; i++) store<u8>(records + RECORD * i, 0, FLAG);
  if (found == 0) return 1;
  findScalars(found);
  for (let i: usize = 0; i < found; i++) {
    oddMultiples(MULTIPLES + i * POINT_ENTRIES * POINT_SIZE, POINTS + AFFINE_SIZE * i, POINT_ENTRIES);
  }
  allToAffine(POINT_TABLES, MULTIPLES, found * POINT_ENTRIES, PRODUCTS);
  let keys: usize = 0;
  for (let i: usize = 0; i < found; i++) {
    multiplyBoth(U1 + 32 * i, U2 + 32 * i, POINT_TABLES + TABLE_SIZE * i);
    if (fpIsZero(SUM + Z)) continue;
    memory.copy(SUMS + POINT_SIZE * keys, SUM, POINT_SIZE);
    store<u32>(RECORDS + 4 * keys, load<u32>(RECORDS + 4 * i));
    keys++;
  }
  if (keys == 0) return 1;
  allToAffine(KEYS, SUMS, keys, PRODUCTS);
  for (let i: usize = 0; i < keys; i++) {
    const record = <usize>load<u32>(RECORDS + 4 * i);
    fpWrite(record, KEYS + AFFINE_SIZE * i);
    fpWrite(record + 32, KEYS + AFFINE_SIZE * i + Y);
    store<u8>(record, 1, FLAG);
  }
  return 1;
}
