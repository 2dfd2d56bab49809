/** ECDSA on secp256r1 (EIP-7951, RIP-7212), in Jacobian coordinates: x = X/Z², y = Y/Z³; Z = 0 is infinity. */
import {
  CURVE_B,
  FQ_ONE,
  FQ_SIZE,
  fqAdd,
  fqDouble,
  fqIsZero,
  fqMultiply,
  fqNegate,
  fqRead,
  fqSquare,
  fqSubtract,
  fqSubtractDouble,
  fqTimesEight,
  fqTimesFour,
  fqTriple,
  fqCopy,
  fqInvert,
  GENERATOR,
  ORDER,
} from "./p256-field";
import { fnInvert, fnIsZero, fnMultiply, fnPlain, fnRead, fnReadPlain, fnWords } from "./p256-scalars";

const Y: usize = FQ_SIZE;
const Z: usize = 2 * FQ_SIZE;
const POINT_SIZE: usize = 3 * FQ_SIZE;

const A: usize = memory.data(36, 8);
const B: usize = memory.data(36, 8);
const C: usize = memory.data(36, 8);
const D: usize = memory.data(36, 8);
const E: usize = memory.data(36, 8);
const F: usize = memory.data(36, 8);
const G: usize = memory.data(36, 8);

@inline function copy(out: usize, p: usize): void {
  memory.copy(out, p, POINT_SIZE);
}

/** dbl-2001-b of the Explicit-Formulas Database (a = −3); infinity stays infinity */
function double(out: usize, p: usize): void {
  fqSquare(A, p + Z); // δ
  fqSquare(B, p + Y); // γ
  fqMultiply(C, p, B); // β
  fqSubtract(D, p, A);
  fqAdd(E, p, A);
  fqMultiply(D, D, E);
  fqTriple(D, D); // α
  fqMultiply(E, p + Y, p + Z);
  fqDouble(out + Z, E);
  fqTimesFour(C, C);
  fqSquare(E, D);
  fqSubtractDouble(out, E, C);
  fqSubtract(C, C, out);
  fqMultiply(C, D, C);
  fqSquare(B, B);
  fqTimesEight(B, B);
  fqSubtract(out + Y, C, B);
}

/** out ← p + q, also if they are equal or opposite, or one is infinity */
function add(out: usize, p: usize, q: usize): void {
  if (fqIsZero(p + Z)) return copy(out, q);
  if (fqIsZero(q + Z)) return copy(out, p);
  fqSquare(A, p + Z);
  fqSquare(B, q + Z);
  fqMultiply(C, p, B); // U1
  fqMultiply(D, q, A);
  fqSubtract(D, D, C); // H
  fqMultiply(B, B, q + Z);
  fqMultiply(B, B, p + Y); // S1
  fqMultiply(A, A, p + Z);
  fqMultiply(A, A, q + Y);
  fqSubtract(A, A, B); // R
  if (fqIsZero(D)) {
    if (fqIsZero(A)) return double(out, p);
    memory.fill(out, 0, POINT_SIZE);
    return;
  }
  fqSquare(E, D);
  fqMultiply(F, E, D);
  fqMultiply(E, E, C);
  fqSquare(G, A);
  fqSubtract(G, G, F);
  fqMultiply(C, p + Z, q + Z);
  fqMultiply(out + Z, C, D);
  fqSubtractDouble(out, G, E);
  fqSubtract(E, E, out);
  fqMultiply(E, E, A);
  fqMultiply(B, B, F);
  fqSubtract(out + Y, E, B);
}

/** out ← p + q, q affine: 8 multiplications, 3 squarings */
function addAffine(out: usize, p: usize, q: usize): void {
  if (fqIsZero(p + Z)) {
    memory.copy(out, q, Z);
    fqCopy(out + Z, FQ_ONE);
    return;
  }
  fqSquare(A, p + Z);
  fqMultiply(D, q, A);
  fqSubtract(D, D, p); // H
  fqMultiply(A, A, p + Z);
  fqMultiply(A, A, q + Y);
  fqSubtract(A, A, p + Y); // R
  if (fqIsZero(D)) {
    if (fqIsZero(A)) return double(out, p);
    memory.fill(out, 0, POINT_SIZE);
    return;
  }
  fqSquare(E, D);
  fqMultiply(F, E, D);
  fqMultiply(E, E, p);
  fqMultiply(out + Z, p + Z, D);
  fqMultiply(B, p + Y, F);
  fqSquare(G, A);
  fqSubtract(G, G, F);
  fqSubtractDouble(out, G, E);
  fqSubtract(E, E, out);
  fqMultiply(E, E, A);
  fqSubtract(out + Y, E, B);
}

/** Widths of the non-adjacent forms of the two scalars; the generator's table of 64 points is computed once. */
const GENERATOR_WIDTH = 8;
const KEY_WIDTH = 5;
const GENERATOR_TABLE: usize = memory.data(6912, 8);
const KEY_TABLE: usize = memory.data(864, 8);
const MAX_DIGITS: i32 = 264;
const GENERATOR_DIGITS: usize = memory.data(264);
const KEY_DIGITS: usize = memory.data(264);
let hasGeneratorTable: bool = false;

/** Products of the Z of a table's points up to each of them */
const PRODUCTS: usize = memory.data(2304, 8);

/** table ← p, 3p, 5p … with Z = 1. None of them is infinity, as the order is a prime. */
function fillTable(table: usize, p: usize, count: i32): void {
  copy(table, p);
  double(SUM, p);
  for (let i = 1; i < count; i++) add(table + POINT_SIZE * <usize>i, table + POINT_SIZE * <usize>(i - 1), SUM);
  fqCopy(PRODUCTS, table + Z);
  for (let i: usize = 1; i < <usize>count; i++)
    fqMultiply(PRODUCTS + FQ_SIZE * i, PRODUCTS + FQ_SIZE * (i - 1), table + POINT_SIZE * i + Z);
  fqInvert(A, PRODUCTS + FQ_SIZE * <usize>(count - 1)); // 1 / product of all Z so far
  for (let i = <isize>count - 1; i >= 0; i--) {
    const at = table + POINT_SIZE * i;
    if (i > 0) fqMultiply(B, A, PRODUCTS + FQ_SIZE * (i - 1));
    else fqCopy(B, A);
    fqMultiply(A, A, at + Z);
    fqSquare(C, B);
    fqMultiply(at, at, C);
    fqMultiply(C, C, B);
    fqMultiply(at + Y, at + Y, C);
  }
}

/** Four words and a 0; bits are read a word further than they reach */
const SCALAR: usize = memory.data(40, 8);

/** `count` bits from position `from` on */
@inline function bitsOf(scalar: usize, from: i32, count: i32): i32 {
  const word = scalar + ((<usize>from >> 6) << 3);
  const by = <u64>(from & 63);
  // shifted twice, as by = 0 takes nothing of the next word
  const bits = (load<u64>(word) >> by) | ((load<u64>(word, 8) << 1) << (63 - by));
  return <i32>bits & ((1 << count) - 1);
}

/** Digits of `width` bits, lowest first, odd or zero, of a scalar, out of Montgomery form. @returns their number */
function recode(digits: usize, scalar: usize, width: i32): i32 {
  memory.fill(digits, 0, MAX_DIGITS);
  fnWords(SCALAR, scalar);
  let length = 0;
  let carry = 0;
  for (let i = 0; i <= 256; ) {
    if (bitsOf(SCALAR, i, 1) == carry) {
      i++;
      continue;
    }
    let digit = bitsOf(SCALAR, i, width) + carry;
    carry = digit >> (width - 1);
    digit -= carry << width;
    store<i8>(digits + i, <i8>digit);
    length = i + 1;
    i += width;
  }
  return length;
}

const SUM: usize = memory.data(108, 8);
const NEGATIVE: usize = memory.data(108, 8);

function addDigit(table: usize, digit: i32): void {
  if (digit == 0) return;
  const entry = table + POINT_SIZE * <usize>((abs(digit) - 1) >> 1);
  if (digit > 0) return addAffine(SUM, SUM, entry);
  copy(NEGATIVE, entry);
  fqNegate(NEGATIVE + Y, NEGATIVE + Y);
  addAffine(SUM, SUM, NEGATIVE);
}

/** p − n, lowest word first: r + n is the x coordinate of a point only if r is below it */
const MODULUS_MINUS_ORDER: usize = memory.data<u64>([0x0c46353d039cdaae, 0x4319055358e8617b, 0, 0], 8);

function isBelowWords(a: usize, b: usize): bool {
  for (let i = 24; i >= 0; i -= 8) {
    const x = load<u64>(a + i);
    const y = load<u64>(b + i);
    if (x != y) return x < y;
  }
  return false;
}

const R: usize = memory.data(36, 8);
const S: usize = memory.data(36, 8);
const H: usize = memory.data(36, 8);
const R_PLAIN: usize = memory.data(36, 8);
const KEY: usize = memory.data(108, 8);

/** hash ‖ r ‖ s ‖ x ‖ y: returns 1 if the signature is valid for the key. */
export function p256Verify(bytes: usize): i32 {
  if (!fnRead(R, bytes + 32) || !fnRead(S, bytes + 64)) return 0;
  if (fnIsZero(R) || fnIsZero(S)) return 0;
  if (!fqRead(KEY, bytes + 96) || !fqRead(KEY + Y, bytes + 128)) return 0;
  // y² = x³ − 3x + b; zeros, which would stand for infinity, are not on the curve
  fqSquare(A, KEY);
  fqMultiply(A, A, KEY);
  fqTriple(B, KEY);
  fqSubtract(A, A, B);
  fqAdd(A, A, CURVE_B);
  fqSquare(B, KEY + Y);
  fqSubtract(A, A, B);
  if (!fqIsZero(A)) return 0;
  fqCopy(KEY + Z, FQ_ONE);
  fnReadPlain(H, bytes);
  fnPlain(R_PLAIN, R);
  // plain · Montgomery = plain
  fnInvert(S, S);
  fnMultiply(H, H, S);
  fnMultiply(R, R_PLAIN, S);
  if (!hasGeneratorTable) {
    fillTable(GENERATOR_TABLE, GENERATOR, 64);
    hasGeneratorTable = true;
  }
  fillTable(KEY_TABLE, KEY, 8);
  const length = max(recode(GENERATOR_DIGITS, H, GENERATOR_WIDTH), recode(KEY_DIGITS, R, KEY_WIDTH));
  memory.fill(SUM, 0, POINT_SIZE);
  for (let i = length - 1; i >= 0; i--) {
    double(SUM, SUM);
    addDigit(GENERATOR_TABLE, load<i8>(GENERATOR_DIGITS + i));
    addDigit(KEY_TABLE, load<i8>(KEY_DIGITS + i));
  }
  if (fqIsZero(SUM + Z)) return 0;
  // X/Z² ≡ r modulo the order: X = r·Z² or, if r + order is a valid coordinate, X = (r + order)·Z²
  if (!fqRead(A, bytes + 32)) return 0; // r < order < modulus
  fqSquare(B, SUM + Z);
  fqMultiply(C, A, B);
  fqSubtract(C, C, SUM);
  if (fqIsZero(C)) return 1;
  fnWords(SCALAR, R_PLAIN);
  if (!isBelowWords(SCALAR, MODULUS_MINUS_ORDER)) return 0;
  fqAdd(A, A, ORDER);
  fqMultiply(C, A, B);
  fqSubtract(C, C, SUM);
  return fqIsZero(C) ? 1 : 0;
}
