/** The optimal ate pairing of BN254 (EIP-197): G1 on y² = x³ + 3 over Fp, G2 on the twist y² = x³ + 3/ξ over Fp2. */
import {
  CURVE_B,
  FP_SIZE,
  fp2Multiply,
  fp2Square,
  fpAdd,
  fpIsZero,
  fpMultiply,
  fpRead,
  fpSquare,
  fpSubtract,
  fpTriple,
  TWIST_3B,
  TWIST_B,
} from "./bn254-field";
import {
  FP12_SIZE,
  FP2_SIZE,
  fp12Conjugate,
  fp12Copy,
  fp12CyclotomicSquare,
  fp12Frobenius,
  fp12Invert,
  fp12IsOne,
  fp12Multiply,
  fp12Multiply034,
  fp12SetOne,
  fp12Square,
  fp2Add,
  fp2Conjugate,
  fp2Copy,
  fp2Double,
  fp2IsZero,
  fp2Negate,
  fp2Scale,
  fp2Subtract,
  fp2SubtractTwo,
  frobeniusFactor,
} from "./bn254-tower";

/** 6x + 2 in non-adjacent form, highest digit (1) left out; x = 4965661367192848881 */
const LOOP: usize = memory.data<i8>([
  0, -1, 0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 0, -1, 0, 1, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1, 0, 0, -1, 0, 0, 0, 0, -1,
  0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, -1, 0, 1, 0, 1, 0, 0, 0,
]);
const LOOP_LENGTH: i32 = 65;

/** A pair in the Miller loop: x and y of P (Fp), x and y of Q, X, Y and Z of the multiple T of Q (Fp2), whether P is infinity (u32) */
const P_X: usize = 0;
const P_Y: usize = FP_SIZE;
const Q_X: usize = 2 * FP_SIZE;
const Q_Y: usize = Q_X + FP2_SIZE;
const T_X: usize = Q_Y + FP2_SIZE;
const T_Y: usize = T_X + FP2_SIZE;
const T_Z: usize = T_Y + FP2_SIZE;
const SKIP: usize = T_Z + FP2_SIZE;
const PAIR_SIZE: usize = 440;
/** Pairs that share the squarings of one loop; if there are more, they go through the loop in several rounds. */
const MAX_PAIRS: i32 = 16;
const PAIRS: usize = memory.data(7040, 8);

const A: usize = memory.data(72, 8);
const B: usize = memory.data(72, 8);
const C: usize = memory.data(72, 8);
const D: usize = memory.data(72, 8);
const E: usize = memory.data(72, 8);
const F: usize = memory.data(72, 8);
const G: usize = memory.data(72, 8);
/** coefficients of the line: of 1, w and v·w */
const LINE0: usize = memory.data(72, 8);
const LINE3: usize = memory.data(72, 8);
const LINE4: usize = memory.data(72, 8);

const VALUE: usize = memory.data(432, 8);
const RESULT: usize = memory.data(432, 8);

/** x ‖ y, zeros for infinity: 0 not a point, 1 a point, 2 infinity */
export function readG1(x: usize, y: usize, bytes: usize): i32 {
  if (!fpRead(x, bytes) || !fpRead(y, bytes + 32)) return 0;
  if (fpIsZero(x) && fpIsZero(y)) return 2;
  fpSquare(A, x);
  fpMultiply(A, A, x);
  fpAdd(A, A, CURVE_B);
  fpSquare(B, y);
  fpSubtract(A, A, B);
  return fpIsZero(A) ? 1 : 0;
}

/** A point of the twist, of any order, imaginary parts first. */
function readTwist(x: usize, y: usize, bytes: usize): i32 {
  if (!fpRead(x + FP_SIZE, bytes) || !fpRead(x, bytes + 32)) return 0;
  if (!fpRead(y + FP_SIZE, bytes + 64) || !fpRead(y, bytes + 96)) return 0;
  if (fp2IsZero(x) && fp2IsZero(y)) return 2;
  fp2Square(A, x);
  fp2Multiply(A, A, x);
  fp2Add(A, A, TWIST_B);
  fp2Square(B, y);
  fp2Subtract(A, A, B);
  return fp2IsZero(A) ? 1 : 0;
}

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
  fp2Multiply(E, C, TWIST_3B);
  fp2Add(D, y, z);
  fp2Square(D, D);
  fp2SubtractTwo(D, D, B, C); // 2 Y Z
  fp2Subtract(LINE4, E, B);
  fp2Square(C, x);
  fpTriple(LINE3, C);
  fpTriple(LINE3 + FP_SIZE, C + FP_SIZE);
  fp2Negate(LINE0, D);
  fpTriple(F, E);
  fpTriple(F + FP_SIZE, E + FP_SIZE);
  // X = 2 X Y (Y² − 3 E), Y = (Y² + 3 E)² − 12 E², Z = 4 Y² · 2 Y Z
  fp2Subtract(G, B, F);
  fp2Multiply(G, A, G);
  fp2Double(x, G);
  fp2Add(G, B, F);
  fp2Square(G, G);
  fp2Square(E, E);
  fpTriple(E, E);
  fpTriple(E + FP_SIZE, E + FP_SIZE);
  fp2Double(E, E);
  fp2Double(E, E);
  fp2Subtract(y, G, E);
  fp2Multiply(G, B, D);
  fp2Double(G, G);
  fp2Double(z, G);
}

/** T ← T + (qx, qy), and the line through both; Z becomes and stays 0 if T was ± the other point. */
function add(t: usize, qx: usize, qy: usize): void {
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
  fp2Subtract(LINE4, F, G);
  fp2Copy(LINE0, B);
  fp2Negate(LINE3, A);
}

/** VALUE ← VALUE · line(P) */
@inline function evaluate(pair: usize): void {
  if (load<u32>(pair + SKIP)) return;
  fp2Scale(LINE0, LINE0, pair + P_Y);
  fp2Scale(LINE3, LINE3, pair + P_X);
  fp12Multiply034(VALUE, VALUE, LINE0, LINE3, LINE4);
}

const R_X: usize = memory.data(72, 8);
const R_Y: usize = memory.data(72, 8);

/** (x, y) ← π^n (Q) */
@inline function frobenius(pair: usize, n: i32): void {
  if (n & 1) {
    fp2Conjugate(R_X, pair + Q_X);
    fp2Conjugate(R_Y, pair + Q_Y);
  } else {
    fp2Copy(R_X, pair + Q_X);
    fp2Copy(R_Y, pair + Q_Y);
  }
  fp2Multiply(R_X, R_X, frobeniusFactor(n, 2));
  fp2Multiply(R_Y, R_Y, frobeniusFactor(n, 3));
}

/**
 * VALUE ← product of the Miller functions of the pairs.
 *
 * The loop ends with T = [6x+2]Q + π(Q) − π²(Q). Of the points of the twist, exactly those of G2 satisfy [6x+2] + π − π² + π³ = 0,
 * because the norm of that endomorphism and the twist's order have no common divisor except the group's order. T = −π³(Q) is
 * therefore the subgroup check. A T that met ±Q on its way, which never happens for a point of G2, has Z = 0.
 *
 * @returns whether all Q are in the subgroup
 */
function millerLoop(count: i32): bool {
  const end = PAIRS + <usize>count * PAIR_SIZE;
  for (let pair = PAIRS; pair < end; pair += PAIR_SIZE) {
    memory.copy(pair + T_X, pair + Q_X, 2 * FP2_SIZE);
    fp12SetOne(VALUE);
    memory.copy(pair + T_Z, VALUE, FP2_SIZE);
  }
  for (let i = 0; i < LOOP_LENGTH; i++) {
    fp12Square(VALUE, VALUE);
    const digit = <i32>load<i8>(LOOP + i);
    for (let pair = PAIRS; pair < end; pair += PAIR_SIZE) {
      double(pair);
      evaluate(pair);
      if (digit == 0) continue;
      if (digit > 0) {
        add(pair, pair + Q_X, pair + Q_Y);
      } else {
        fp2Negate(R_Y, pair + Q_Y);
        add(pair, pair + Q_X, R_Y);
      }
      evaluate(pair);
    }
  }
  for (let pair = PAIRS; pair < end; pair += PAIR_SIZE) {
    frobenius(pair, 1);
    add(pair, R_X, R_Y);
    evaluate(pair);
    frobenius(pair, 2);
    fp2Negate(R_Y, R_Y);
    add(pair, R_X, R_Y);
    evaluate(pair);
    frobenius(pair, 3);
    if (fp2IsZero(pair + T_Z)) return false;
    fp2Multiply(A, R_X, pair + T_Z);
    fp2Subtract(A, A, pair + T_X);
    fp2Multiply(B, R_Y, pair + T_Z);
    fp2Add(B, B, pair + T_Y);
    if (!fp2IsZero(A) || !fp2IsZero(B)) return false;
  }
  return true;
}

/** x in non-adjacent form of width 4, highest digit (1) left out */
const X_DIGITS: usize = memory.data<i8>([
  0, 0, 0, 0, 0, 5, 0, 0, 0, 0, -3, 0, 0, 0, 3, 0, 0, 0, 0, 5, 0, 0, 0, -5, 0, 0, 0, -3, 0, 0, 0, 1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 7,
  0, 0, 0, -7, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, -1, 0, 0, 0, 1,
]);
const X_LENGTH: i32 = 62;
/** a, a³, a⁵, a⁷ */
const POWERS: usize = memory.data(1728, 8);
const INVERSE: usize = memory.data(432, 8);

/** out ← a^(−x), in the cyclotomic subgroup, where inversion is free; `out` is not `a` */
function powerMinusX(out: usize, a: usize): void {
  fp12Copy(POWERS, a);
  fp12CyclotomicSquare(INVERSE, a);
  for (let i: usize = 0; i < 3; i++) fp12Multiply(POWERS + (i + 1) * FP12_SIZE, POWERS + i * FP12_SIZE, INVERSE);
  fp12Copy(out, POWERS + 0 * FP12_SIZE);
  for (let i = 0; i < X_LENGTH; i++) {
    fp12CyclotomicSquare(out, out);
    const digit = <i32>load<i8>(X_DIGITS + i);
    if (digit == 0) continue;
    const power = POWERS + <usize>((abs(digit) - 1) >> 1) * FP12_SIZE;
    if (digit > 0) {
      fp12Multiply(out, out, power);
    } else {
      fp12Conjugate(INVERSE, power);
      fp12Multiply(out, out, INVERSE);
    }
  }
  fp12Conjugate(out, out);
}

const Y0: usize = memory.data(432, 8);
const Y1: usize = memory.data(432, 8);
const Y3: usize = memory.data(432, 8);
const Y4: usize = memory.data(432, 8);
const Y6: usize = memory.data(432, 8);

/** a ← a^(k·(p¹² − 1)/r), k not a multiple of r (Fuentes-Castañeda, Knapp, Rodríguez-Henríquez, "Faster Hashing to G2", 2011) */
function finalExponentiation(a: usize): void {
  // a^((p⁶ − 1)(p² + 1))
  fp12Invert(Y0, a);
  fp12Conjugate(a, a);
  fp12Multiply(a, a, Y0);
  fp12Frobenius(Y0, a, 2);
  fp12Multiply(a, a, Y0);
  powerMinusX(Y0, a); // −x
  fp12CyclotomicSquare(Y1, Y0); // −2x
  fp12CyclotomicSquare(Y3, Y1);
  fp12Multiply(Y3, Y3, Y1); // −6x
  powerMinusX(Y4, Y3); // 6x²
  fp12CyclotomicSquare(Y0, Y4); // 12x²
  powerMinusX(Y6, Y0); // −12x³
  fp12Conjugate(Y3, Y3); // 6x
  fp12Conjugate(Y6, Y6); // 12x³
  fp12Multiply(Y6, Y6, Y4);
  fp12Multiply(Y6, Y6, Y3); // 12x³ + 6x² + 6x
  fp12Multiply(Y1, Y6, Y1); // 12x³ + 6x² + 4x
  fp12Multiply(Y4, Y6, Y4);
  fp12Multiply(Y4, Y4, a); // 12x³ + 12x² + 6x + 1
  fp12Frobenius(Y0, Y1, 1);
  fp12Multiply(Y4, Y4, Y0);
  fp12Frobenius(Y0, Y6, 2);
  fp12Multiply(Y4, Y4, Y0);
  fp12Conjugate(a, a);
  fp12Multiply(a, a, Y1); // 12x³ + 6x² + 4x − 1
  fp12Frobenius(a, a, 3);
  fp12Multiply(a, a, Y4);
}

/** @returns 1 if the product of the pairings is one, 0 if not, −1 for an invalid input */
export function pairingCheck(input: usize, pairs: i32): i32 {
  fp12SetOne(RESULT);
  let count = 0;
  for (let i = 0; i < pairs; i++, input += 192) {
    const pair = PAIRS + <usize>count * PAIR_SIZE;
    const p = readG1(pair + P_X, pair + P_Y, input);
    const q = readTwist(pair + Q_X, pair + Q_Y, input + 64);
    if (p == 0 || q == 0) return -1;
    if (q == 1) {
      store<u32>(pair + SKIP, p == 2);
      count++;
    }
    if (count == MAX_PAIRS || (i == pairs - 1 && count > 0)) {
      if (!millerLoop(count)) return -1;
      fp12Multiply(RESULT, RESULT, VALUE);
      count = 0;
    }
  }
  finalExponentiation(RESULT);
  return fp12IsOne(RESULT) ? 1 : 0;
}
