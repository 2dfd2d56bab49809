/**
 * Recovery of public keys from ECDSA signatures on secp256k1 (SEC 1 § 4.1.6). Inputs and outputs are in the memory at `buffer()`.
 */
import { AFFINE_SIZE, addAffine, allToAffine, double, POINT_SIZE, setInfinity, toAffine, Y, Z } from "./curve";
import {
  CURVE_B,
  FP_ONE,
  fpAdd,
  fpCopy,
  fpIsOdd,
  fpIsZero,
  fpMultiply,
  fpNegate,
  fpRead,
  fpSquare,
  fpSubtract,
  fpWrite,
  GENERATOR,
  lanes,
  multiplyLanes,
} from "./field";
import { MAX_DIGITS, recode, recodeFixed, split } from "./scalar-digits";
import { fnInvert, fnIsZero, fnMultiply, fnNegate, fnRead, fnReadPlain } from "./scalars";

export function buffer(): usize {
  return (__heap_base + 15) & ~15;
}

export function reserve(bytes: usize): bool {
  return buffer() + bytes <= (<usize>memory.size()) << 16;
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
 * out ← a^((p + 1)/4), a square root if there is one. The exponent is 223 ones, a 0, 22 ones, 4 zeros, 2 ones, 2 zeros. x_n is
 * the power of a by n ones.
 * @returns whether `out` is a square root; `out` must not be `a`
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

const BETA: usize = GENERATOR + AFFINE_SIZE;

/**
 * Widths of the scalars' digits. The generator's table has all multiples up to 2^(width − 1); the tables of other points have the
 * odd multiples below it.
 */
const GENERATOR_WIDTH: i32 = 11;
const GENERATOR_ENTRIES: usize = 1 << (GENERATOR_WIDTH - 1);
const POINT_WIDTH: i32 = 5;
const POINT_ENTRIES: usize = 1 << (POINT_WIDTH - 2);
const TABLE_SIZE: usize = POINT_ENTRIES * AFFINE_SIZE;

/** Tables of the generator and of 2^128 times the generator: affine */
const GENERATOR_TABLES: usize = memory.data(131072, 8);
/** Tables of the points of all signatures */
const POINT_TABLES: usize = memory.data(32768, 8);
/** Table of the current point multiplied by λ */
const MAPPED_TABLE: usize = memory.data(512, 8);
/** Jacobian multiples, and products of their Z, during the computation of a table */
const MULTIPLES: usize = memory.data(98304, 8);
const PRODUCTS: usize = memory.data(32768, 8);
const TWICE: usize = memory.data(96, 8);
const STEP: usize = memory.data(64, 8);

/** out ← p, 3p, 5p … (Jacobian) of an affine p. The curve's order is prime, so none of them is infinity */
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

/** table ← p, 2p, 3p …, affine, for the generator and 2^128 times the generator */
function fillGeneratorTable(table: usize, p: usize): void {
  memory.copy(MULTIPLES, p, AFFINE_SIZE);
  fpCopy(MULTIPLES + Z, FP_ONE);
  for (let i: usize = 1; i < GENERATOR_ENTRIES; i++) addAffine(MULTIPLES + i * POINT_SIZE, MULTIPLES + (i - 1) * POINT_SIZE, p);
  allToAffine(table, MULTIPLES, GENERATOR_ENTRIES, PRODUCTS);
}

let hasGeneratorTables: bool = false;
const HIGH: usize = memory.data(96, 8);

function fillGeneratorTables(): void {
  fillGeneratorTable(GENERATOR_TABLES, GENERATOR);
  memory.copy(HIGH, GENERATOR, AFFINE_SIZE);
  fpCopy(HIGH + Z, FP_ONE);
  for (let i = 0; i < 128; i++) double(HIGH, HIGH);
  toAffine(HIGH, HIGH);
  fillGeneratorTable(GENERATOR_TABLES + GENERATOR_ENTRIES * AFFINE_SIZE, HIGH);
  hasGeneratorTables = true;
}

const SUM: usize = memory.data(96, 8);
const NEGATIVE: usize = memory.data(64, 8);

/** Adds or subtracts the entry of a digit other than 0. */
@inline function addEntry(entry: usize, digit: i32): void {
  if (digit > 0) return addAffine(SUM, SUM, entry);
  fpCopy(NEGATIVE, entry);
  fpNegate(NEGATIVE + Y, entry + Y);
  addAffine(SUM, SUM, NEGATIVE);
}

@inline function addMultiple(table: usize, digit: i32): void {
  if (digit != 0) addEntry(table + AFFINE_SIZE * <usize>(abs(digit) - 1), digit);
}

@inline function addOddMultiple(table: usize, digit: i32): void {
  if (digit != 0) addEntry(table + AFFINE_SIZE * <usize>((abs(digit) - 1) >> 1), digit);
}

/** Digits of the lower and upper half of u1, then of the halves of u2's split */
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
    addMultiple(GENERATOR_TABLES, load<i16>(d0 + 2 * i));
    addMultiple(GENERATOR_TABLES + GENERATOR_ENTRIES * AFFINE_SIZE, load<i16>(d1 + 2 * i));
    addOddMultiple(table, load<i16>(d2 + 2 * i));
    addOddMultiple(MAPPED_TABLE, load<i16>(d3 + 2 * i));
  }
}

/**
 * Signatures per batch. One inversion (Montgomery) serves the whole batch: for r, for the points of the tables, and for the keys.
 */
const MAX_SIGNATURES: usize = 64;
/**
 * Input: hash 32 ‖ r 32 ‖ s 32 ‖ 1 if y of the point with x = r is odd. Output: x 32 ‖ y 32 of the key ‖ … ‖ 1 if there is a key
 */
const RECORD: usize = 97;
const FLAG: usize = 96;

/** For each record that can have a key: its address, and elements of 32 bytes or points */
const RECORDS: usize = memory.data(256, 8);
/** whether y of the point is odd, a u8 each */
const ODD: usize = memory.data(64, 8);
const POINTS: usize = memory.data(4096, 8);
const R: usize = memory.data(2048, 8);
const U1: usize = memory.data(2048, 8);
const U2: usize = memory.data(2048, 8);
const SUMS: usize = memory.data(6144, 8);
const KEYS: usize = memory.data(4096, 8);
const SCALAR_PRODUCTS: usize = memory.data(2048, 8);
const INVERSE: usize = memory.data(32, 8);
const S: usize = memory.data(32, 8);

/**
 * Reads a record into the arrays at `place`.
 *
 * @returns false without a key: r or s is 0 or not below the order, or the flag is neither 0 nor 1 (it would reach into other
 * lanes)
 */
function readRecord(record: usize, place: usize): bool {
  if (load<u8>(record + FLAG) > 1) return false;
  const r = R + 32 * place;
  if (!fnRead(r, record + 32) || !fnRead(S, record + 64)) return false;
  if (fnIsZero(r) || fnIsZero(S)) return false;
  if (!fpRead(POINTS + AFFINE_SIZE * place, record + 32)) return false; // r < order < modulus
  store<u32>(RECORDS + 4 * place, <u32>record);
  store<u8>(ODD + place, load<u8>(record + FLAG));
  return true;
}

/** Computes y of the point with x = r. @returns false if there is no such point */
function findPoint(place: usize): bool {
  const point = POINTS + AFFINE_SIZE * place;
  fpSquare(K1, point);
  fpMultiply(K1, K1, point);
  fpAdd(K1, K1, CURVE_B);
  if (!root(point + Y, K1)) return false;
  if (fpIsOdd(point + Y) != (load<u8>(ODD + place) != 0)) fpNegate(point + Y, point + Y);
  return true;
}

/** u1 ← −hash / r, u2 ← s / r, for all records: plain · Montgomery = plain */
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

// ---- one by one, except for the inversions

/**
 * SUMS of the records whose r is the x of a point. Their array entries are moved to the front. @returns the number of these
 * records
 */
function multiplyEach(found: usize): usize {
  let points: usize = 0;
  for (let i: usize = 0; i < found; i++) {
    if (!findPoint(i)) continue;
    move(points, i);
    oddMultiples(MULTIPLES + points * POINT_ENTRIES * POINT_SIZE, POINTS + AFFINE_SIZE * i, POINT_ENTRIES);
    points++;
  }
  if (points == 0) return 0;
  allToAffine(POINT_TABLES, MULTIPLES, points * POINT_ENTRIES, PRODUCTS);
  let keys: usize = 0;
  for (let i: usize = 0; i < points; i++) {
    multiplyBoth(U1 + 32 * i, U2 + 32 * i, POINT_TABLES + TABLE_SIZE * i);
    keys = addKey(keys, i, SUM);
  }
  return keys;
}

/** Moves the inputs of `multiplyBoth` and `addKey` to a lower place. */
function move(to: usize, from: usize): void {
  if (to == from) return;
  memory.copy(U1 + 32 * to, U1 + 32 * from, 32);
  memory.copy(U2 + 32 * to, U2 + 32 * from, 32);
  store<u32>(RECORDS + 4 * to, load<u32>(RECORDS + 4 * from));
}

/** @param sum if it is infinity, there is no key @returns the number of keys so far */
function addKey(keys: usize, place: usize, sum: usize): usize {
  if (fpIsZero(sum + Z)) return keys;
  memory.copy(SUMS + POINT_SIZE * keys, sum, POINT_SIZE);
  store<u32>(RECORDS + 4 * keys, load<u32>(RECORDS + 4 * place));
  return keys + 1;
}

// ---- several at once, in SIMD lanes

/** Digits of a scalar's halves */
const LANE_GENERATOR_DIGITS: i32 = 12;
const LANE_POINT_DIGITS: i32 = 26;
/** For each of at most eight lanes: digits of the halves of u1, then of the halves of u2, 16 bits each */
const LANE_DIGITS_SIZE: usize = 152;
const LANE_DIGITS: usize = memory.data(1216, 8);
const LANE_SUMS: usize = memory.data(768, 8);

function multiplyInLanes(found: usize, laneCount: u32): usize {
  if (!hasGeneratorTables) fillGeneratorTables();
  let keys: usize = 0;
  for (let first: usize = 0; first < found; first += laneCount) {
    const size = min(<usize>laneCount, found - first);
    if (size == 1) {
      keys = multiplyAlone(keys, first); // faster for a single record
      break;
    }
    let odd: u32 = 0;
    for (let i: usize = 0; i < size; i++) {
      const digits = LANE_DIGITS + LANE_DIGITS_SIZE * i;
      const u1 = U1 + 32 * (first + i);
      const signs = split(K1, K2, U2 + 32 * (first + i));
      recodeFixed(digits, u1, GENERATOR_WIDTH, LANE_GENERATOR_DIGITS, false);
      recodeFixed(digits + 2 * LANE_GENERATOR_DIGITS, u1 + 16, GENERATOR_WIDTH, LANE_GENERATOR_DIGITS, false);
      recodeFixed(digits + 4 * LANE_GENERATOR_DIGITS, K1, POINT_WIDTH, LANE_POINT_DIGITS, (signs & 1) != 0);
      recodeFixed(digits + 4 * LANE_GENERATOR_DIGITS + 2 * LANE_POINT_DIGITS, K2, POINT_WIDTH, LANE_POINT_DIGITS, (signs & 2) != 0);
      odd |= (<u32>load<u8>(ODD + first + i)) << (<u32>i);
    }
    const points = multiplyLanes(laneCount, POINTS + AFFINE_SIZE * first, odd, LANE_DIGITS, GENERATOR, GENERATOR_TABLES, LANE_SUMS);
    for (let i: usize = 0; i < size; i++) {
      if (((points >> <u32>i) & 1) == 0) continue;
      const sum = LANE_SUMS + POINT_SIZE * i;
      // the addition formula met equal or opposite points, which only crafted signatures cause
      keys = fpIsZero(sum + Z) ? multiplyAlone(keys, first + i) : addKey(keys, first + i, sum);
    }
  }
  return keys;
}

function multiplyAlone(keys: usize, place: usize): usize {
  if (!findPoint(place)) return keys;
  oddMultiples(MULTIPLES, POINTS + AFFINE_SIZE * place, POINT_ENTRIES);
  allToAffine(POINT_TABLES, MULTIPLES, POINT_ENTRIES, PRODUCTS);
  multiplyBoth(U1 + 32 * place, U2 + 32 * place, POINT_TABLES);
  return addKey(keys, place, SUM);
}

/**
 * Recovers the public keys of `count` records. A record has no key if r or s is 0 or not below the order, if no point has x = r,
 * or if the key would be infinity.
 *
 * @returns 0 if `count` is too large
 */
export function recover(records: usize, count: u32): i32 {
  return recoverAll(records, count, lanes());
}

/** The maximum number of lanes of the processor: 8 (AVX-512), 4 (AVX2) or 0. */
export function laneCount(): u32 {
  return lanes();
}

/** `recover` in 8, 4 or 0 lanes. @returns 0 if the processor lacks the lanes */
export function recoverInLanes(records: usize, count: u32, laneCount: u32): i32 {
  if (laneCount > lanes() || (laneCount != 0 && laneCount != 4 && laneCount != 8)) return 0;
  return recoverAll(records, count, laneCount);
}

function recoverAll(records: usize, count: u32, laneCount: u32): i32 {
  if (count > <u32>MAX_SIGNATURES) return 0;
  let found: usize = 0;
  for (let i: usize = 0; i < count; i++) if (readRecord(records + RECORD * i, found)) found++;
  for (let i: usize = 0; i < count; i++) store<u8>(records + RECORD * i, 0, FLAG);
  if (found == 0) return 1;
  findScalars(found);
  const keys = laneCount != 0 ? multiplyInLanes(found, laneCount) : multiplyEach(found);
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
