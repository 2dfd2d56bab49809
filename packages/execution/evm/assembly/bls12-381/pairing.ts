/** The ate pairing of BLS12-381 (EIP-2537): G1 on y² = x³ + 4 over Fp, G2 on the twist y² = x³ + 4ξ over Fp2. */
import { FP_SIZE, fpSubtractReduced } from "./field";
import {
  FP2_SIZE,
  fp2Add,
  fp2Copy,
  fp2Double,
  fp2IsZero,
  fp2Multiply,
  fp2Negate,
  fp2Scale,
  fp2SetOne,
  fp2Square,
  fp2Subtract,
  fp2SubtractTwo,
  fp2TimesFour,
  fp2TimesXiReduced,
  fp2Triple,
} from "./extension";
import { PARAMETER, psiX, psiY } from "./subgroup";
import {
  FP12_SIZE,
  fp12Conjugate,
  fp12Copy,
  fp12CyclotomicSquare,
  fp12Frobenius,
  fp12Invert,
  fp12IsOne,
  fp12Multiply,
  fp12Multiply014,
  fp12SetOne,
  fp12Square,
} from "./tower";

/** A pair in the Miller loop: P, Q (both affine), X, Y and Z of the multiple T of Q, and whether P is infinity (u32) */
export const PAIR_Q: usize = 2 * FP_SIZE;
const Q_Y: usize = PAIR_Q + FP2_SIZE;
const T_X: usize = Q_Y + FP2_SIZE;
const T_Y: usize = T_X + FP2_SIZE;
const T_Z: usize = T_Y + FP2_SIZE;
export const PAIR_SKIP: usize = T_Z + FP2_SIZE;
export const PAIR_SIZE: usize = PAIR_SKIP + 16;
/** Pairs that share the squarings of one loop. */
export const MAX_PAIRS: i32 = 16;
/** MAX_PAIRS of PAIR_SIZE */
export const PAIRS: usize = memory.data(12544, 16);

const A: usize = memory.data(128, 16);
const B: usize = memory.data(128, 16);
const C: usize = memory.data(128, 16);
const D: usize = memory.data(128, 16);
const E: usize = memory.data(128, 16);
const F: usize = memory.data(128, 16);
const G: usize = memory.data(128, 16);
/** coefficients of the line: of 1, v and v·w */
const LINE0: usize = memory.data(128, 16);
const LINE1: usize = memory.data(128, 16);
const LINE4: usize = memory.data(128, 16);

const VALUE: usize = memory.data(768, 16);
const RESULT: usize = memory.data(768, 16);

/**
 * T ← 2 T in homogeneous coordinates, and the tangent as line (Costello, Lange, Naehrig, "Faster Pairing Computations on Curves
 * with High-Degree Twists", 2010; with coordinates four times theirs, which saves the halving).
 */
function double(t: usize): void {
  const x = t + T_X;
  const y = t + T_Y;
  const z = t + T_Z;
  fp2Multiply(A, x, y);
  fp2Square(B, y);
  fp2Square(C, z);
  // E = 12 ξ Z²
  fp2TimesXiReduced(E, C);
  fp2Triple(E, E);
  fp2TimesFour(E, E);
  fpSubtractReduced(E, E, ZERO);
  fpSubtractReduced(E + FP_SIZE, E + FP_SIZE, ZERO);
  fp2Add(D, y, z);
  fp2Square(D, D);
  fp2SubtractTwo(D, D, B, C); // 2 Y Z
  fp2Subtract(LINE0, E, B);
  fp2Square(C, x);
  fp2Triple(LINE1, C);
  fp2Negate(LINE4, D);
  fp2Triple(F, E);
  // X = 2 X Y (Y² − 3 E), Y = (Y² + 3 E)² − 12 E², Z = 4 Y² · 2 Y Z
  fp2Subtract(G, B, F);
  fp2Multiply(G, A, G);
  fp2Double(x, G);
  fp2Add(G, B, F);
  fp2Square(G, G);
  fp2Square(E, E);
  fp2Triple(E, E);
  fp2TimesFour(E, E);
  fp2Subtract(y, G, E);
  fp2Multiply(G, B, D);
  fp2TimesFour(z, G);
}

/** T ← T + Q, and the line through both; Z becomes and stays 0 if T was ±Q. */
function add(t: usize): void {
  const qx = t + PAIR_Q;
  const qy = t + Q_Y;
  const x = t + T_X;
  const y = t + T_Y;
  const z = t + T_Z;
  fp2Multiply(A, qy, z);
  fp2Subtract(A, y, A); // θ
  fp2Multiply(B, qx, z);
  fp2Subtract(B, x, B); // λ
  fp2Square(C, A);
  fp2Square(D, B);
  fp2Multiply(E, B, D);
  fp2Multiply(F, z, C);
  fp2Multiply(G, x, D);
  fp2Add(F, E, F);
  fp2SubtractTwo(F, F, G, G);
  fp2Multiply(x, B, F);
  fp2Subtract(G, G, F);
  fp2Multiply(G, A, G);
  fp2Multiply(F, E, y);
  fp2Subtract(y, G, F);
  fp2Multiply(z, z, E);
  fp2Multiply(F, A, qx);
  fp2Multiply(G, B, qy);
  fp2Subtract(LINE0, F, G);
  fp2Copy(LINE4, B);
  fp2Negate(LINE1, A);
}

/** VALUE ← VALUE · line(P) */
@inline function evaluate(pair: usize): void {
  if (load<u32>(pair + PAIR_SKIP)) return;
  fp2Scale(LINE1, LINE1, pair);
  fp2Scale(LINE4, LINE4, pair + FP_SIZE);
  fp12Multiply014(VALUE, VALUE, LINE0, LINE1, LINE4);
}

/**
 * VALUE ← product of the Miller functions of the pairs, inverted, as the parameter is negative.
 *
 * At the end T = −xQ. Of the points of the twist, exactly those of G2 satisfy ψ(Q) = xQ (subgroup.ts). A T that met ±Q on its way,
 * which never happens for a point of G2, has Z = 0.
 *
 * @returns whether all Q are in the subgroup
 */
function millerLoop(count: i32): bool {
  const end = PAIRS + <usize>count * PAIR_SIZE;
  fp12SetOne(VALUE);
  for (let pair = PAIRS; pair < end; pair += PAIR_SIZE) {
    memory.copy(pair + T_X, pair + PAIR_Q, 2 * FP2_SIZE);
    fp2SetOne(pair + T_Z);
  }
  for (let i = 62; i >= 0; i--) {
    if (i < 62) fp12Square(VALUE, VALUE);
    for (let pair = PAIRS; pair < end; pair += PAIR_SIZE) {
      double(pair);
      evaluate(pair);
      if ((PARAMETER >> i) & 1) {
        add(pair);
        evaluate(pair);
      }
    }
  }
  for (let pair = PAIRS; pair < end; pair += PAIR_SIZE) {
    if (fp2IsZero(pair + T_Z)) return false;
    psiX(A, pair + PAIR_Q);
    fp2Multiply(A, A, pair + T_Z);
    fp2Subtract(A, A, pair + T_X);
    psiY(B, pair + Q_Y);
    fp2Multiply(B, B, pair + T_Z);
    fp2Add(B, B, pair + T_Y);
    if (!fp2IsZero(A) || !fp2IsZero(B)) return false;
  }
  return true;
}

/** out ← a^x, in the cyclotomic subgroup, where inversion is free; `out` is not `a` */
function powerX(out: usize, a: usize): void {
  fp12Copy(out, a);
  for (let i = 62; i >= 0; i--) {
    fp12CyclotomicSquare(out, out);
    if ((PARAMETER >> i) & 1) fp12Multiply(out, out, a);
  }
  fp12Conjugate(out, out);
}

const Y0: usize = memory.data(768, 16);
const Y1: usize = memory.data(768, 16);
const Y2: usize = memory.data(768, 16);

/**
 * a ← a^(3(p¹² − 1)/r), the exponent's last part being (x − 1)²(x + p)(x² + p² − 1) + 3 (Hayashida, Hayasaka, Teruya, "Efficient Final
 * Exponentiation via Cyclotomic Structure for Pairings over Families of Elliptic Curves", 2020)
 */
function finalExponentiation(a: usize): void {
  // a^((p⁶ − 1)(p² + 1))
  fp12Invert(Y0, a);
  fp12Conjugate(a, a);
  fp12Multiply(a, a, Y0);
  fp12Frobenius(Y0, a, 2);
  fp12Multiply(a, a, Y0);
  for (let i = 0; i < 2; i++) {
    // to the power x − 1
    const base = i == 0 ? a : Y0;
    powerX(Y1, base);
    fp12Conjugate(Y2, base);
    fp12Multiply(Y0, Y1, Y2);
  }
  powerX(Y1, Y0);
  fp12Frobenius(Y0, Y0, 1);
  fp12Multiply(Y0, Y0, Y1); // to the power x + p
  powerX(Y1, Y0);
  powerX(Y2, Y1);
  fp12Frobenius(Y1, Y0, 2);
  fp12Multiply(Y1, Y1, Y2);
  fp12Conjugate(Y0, Y0);
  fp12Multiply(Y0, Y0, Y1); // to the power x² + p² − 1
  fp12CyclotomicSquare(Y1, a);
  fp12Multiply(a, a, Y1);
  fp12Multiply(a, a, Y0);
}

const ZERO: usize = memory.data(64, 16);

export function beginPairing(): void {
  fp12SetOne(RESULT);
}

/** Multiplies the pairings of the first `count` of PAIRS. @returns whether all their Q are in the subgroup */
export function multiplyPairings(count: i32): bool {
  if (!millerLoop(count)) return false;
  fp12Multiply(RESULT, RESULT, VALUE);
  return true;
}

export function isPairingOne(): bool {
  finalExponentiation(RESULT);
  return fp12IsOne(RESULT);
}
