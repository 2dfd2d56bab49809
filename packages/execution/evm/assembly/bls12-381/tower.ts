/**
 * Fp6 = Fp2[v]/(v³ − ξ) with ξ = 1 + u, Fp12 = Fp6[w]/(w² − v). The coefficients of an element are stored consecutively. `out` may
 * be one of the arguments. Coefficients of elements of Fp12 are kept between −p and 2p; those of intermediate sums and differences
 * stay below 34p.
 */
import {
  FP_SIZE,
  FROBENIUS,
  FP_ONE,
  fpAdd,
  fpAddReduced,
  fpCopy,
  fpDoubleReduced,
  fpIsZero,
  fpNegate,
  fpSubtract,
  fpSubtractTwo,
  fpSubtractTwoReduced,
  fpTripleMinusDouble,
  fpTriplePlusDouble,
} from "./field";
import {
  FP2_SIZE,
  fp2Add,
  fp2Conjugate,
  fp2Copy,
  fp2Double,
  fp2Invert,
  fp2Multiply,
  fp2Negate,
  fp2Square,
  fp2Subtract,
  fp2SubtractTwo,
  fp2TimesXi,
  fp2TimesXiReduced,
} from "./extension";

export const FP6_SIZE: usize = 3 * FP2_SIZE;
export const FP12_SIZE: usize = 2 * FP6_SIZE;

@inline function fp6Add(out: usize, a: usize, b: usize): void {
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpAdd(out + i, a + i, b + i);
}

@inline function fp6AddReduced(out: usize, a: usize, b: usize): void {
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpAddReduced(out + i, a + i, b + i);
}

@inline function fp6Subtract(out: usize, a: usize, b: usize): void {
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpSubtract(out + i, a + i, b + i);
}

@inline function fp6Negate(out: usize, a: usize): void {
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpNegate(out + i, a + i);
}

const P0: usize = memory.data(128, 16);
const P1: usize = memory.data(128, 16);
const P2: usize = memory.data(128, 16);
const S0: usize = memory.data(128, 16);
const S1: usize = memory.data(128, 16);
const S2: usize = memory.data(128, 16);
const S3: usize = memory.data(128, 16);

function fp6Multiply(out: usize, a: usize, b: usize): void {
  const a1 = a + FP2_SIZE;
  const a2 = a1 + FP2_SIZE;
  const b1 = b + FP2_SIZE;
  const b2 = b1 + FP2_SIZE;
  fp2Multiply(P0, a, b);
  fp2Multiply(P1, a1, b1);
  fp2Multiply(P2, a2, b2);
  // c0 = p0 + ξ((a1 + a2)(b1 + b2) − p1 − p2)
  fp2Add(S0, a1, a2);
  fp2Add(S1, b1, b2);
  fp2Multiply(S0, S0, S1);
  fp2SubtractTwo(S0, S0, P1, P2);
  fp2TimesXi(S0, S0);
  fp2Add(S0, S0, P0);
  // c1 = (a0 + a1)(b0 + b1) − p0 − p1 + ξ p2
  fp2Add(S1, a, a1);
  fp2Add(S2, b, b1);
  fp2Multiply(S1, S1, S2);
  fp2SubtractTwo(S1, S1, P0, P1);
  // c2 = (a0 + a2)(b0 + b2) − p0 − p2 + p1
  fp2Add(S2, a, a2);
  fp2Add(S3, b, b2);
  fp2Multiply(S2, S2, S3);
  fp2SubtractTwo(S2, S2, P0, P2);
  fp2Add(out + 2 * FP2_SIZE, S2, P1);
  fp2TimesXi(P2, P2);
  fp2Add(out + FP2_SIZE, S1, P2);
  fp2Copy(out, S0);
}

/** Times b0 + b1·v; `out` is not `a`. */
function fp6Multiply01(out: usize, a: usize, b0: usize, b1: usize): void {
  const a1 = a + FP2_SIZE;
  const a2 = a1 + FP2_SIZE;
  fp2Multiply(P0, a, b0);
  fp2Multiply(P1, a1, b1);
  fp2Multiply(S0, a2, b1);
  fp2TimesXi(S0, S0);
  fp2Add(out, S0, P0);
  fp2Add(S0, a, a1);
  fp2Add(S1, b0, b1);
  fp2Multiply(S0, S0, S1);
  fp2SubtractTwo(out + FP2_SIZE, S0, P0, P1);
  fp2Multiply(S0, a2, b0);
  fp2Add(out + 2 * FP2_SIZE, S0, P1);
}

function fp6TimesV(out: usize, a: usize): void {
  fp2TimesXi(S0, a + 2 * FP2_SIZE);
  fp2Copy(out + 2 * FP2_SIZE, a + FP2_SIZE);
  fp2Copy(out + FP2_SIZE, a);
  fp2Copy(out, S0);
}

/** Inverts an element with coefficients within ±24p; `out` is not `a`. */
function fp6Invert(out: usize, a: usize): void {
  const a1 = a + FP2_SIZE;
  const a2 = a1 + FP2_SIZE;
  // a0² − ξ a1 a2, ξ a2² − a0 a1, a1² − a0 a2
  fp2Square(S0, a);
  fp2Multiply(S1, a1, a2);
  fp2TimesXi(S1, S1);
  fp2Subtract(P0, S0, S1);
  fp2Square(S0, a2);
  fp2TimesXi(S0, S0);
  fp2Multiply(S1, a, a1);
  fp2Subtract(P1, S0, S1);
  fp2Square(S0, a1);
  fp2Multiply(S1, a, a2);
  fp2Subtract(P2, S0, S1);
  // norm: a0 p0 + ξ(a2 p1 + a1 p2)
  fp2Multiply(S0, a2, P1);
  fp2Multiply(S1, a1, P2);
  fp2Add(S0, S0, S1);
  fp2TimesXi(S0, S0);
  fp2Multiply(S1, a, P0);
  fp2Add(S0, S0, S1);
  fp2Invert(S0, S0);
  fp2Multiply(out, P0, S0);
  fp2Multiply(out + FP2_SIZE, P1, S0);
  fp2Multiply(out + 2 * FP2_SIZE, P2, S0);
}

const L: usize = memory.data(384, 16);
const M: usize = memory.data(384, 16);
const N: usize = memory.data(384, 16);
const O: usize = memory.data(384, 16);

export function fp12SetOne(out: usize): void {
  memory.fill(out, 0, FP12_SIZE);
  fpCopy(out, FP_ONE);
}

@inline export function fp12Copy(out: usize, a: usize): void {
  memory.copy(out, a, FP12_SIZE);
}

export function fp12IsOne(a: usize): bool {
  fpSubtract(S0, a, FP_ONE);
  if (!fpIsZero(S0)) return false;
  for (let i = FP_SIZE; i < FP12_SIZE; i += FP_SIZE) if (!fpIsZero(a + i)) return false;
  return true;
}

export function fp12Multiply(out: usize, a: usize, b: usize): void {
  fp6Multiply(L, a, b);
  fp6Multiply(M, a + FP6_SIZE, b + FP6_SIZE);
  fp6Add(N, a, a + FP6_SIZE);
  fp6Add(O, b, b + FP6_SIZE);
  fp6Multiply(N, N, O);
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpSubtractTwoReduced(out + FP6_SIZE + i, N + i, L + i, M + i);
  fp6TimesV(M, M);
  fp6AddReduced(out, L, M);
}

/** (c0 + c1 w)²: two multiplications in Fp6 */
export function fp12Square(out: usize, a: usize): void {
  const a1 = a + FP6_SIZE;
  fp6Multiply(L, a, a1);
  fp6Add(M, a, a1);
  fp6TimesV(N, a1);
  fp6Add(N, N, a);
  fp6Multiply(M, M, N);
  fp6TimesV(N, L);
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) {
    fpSubtractTwoReduced(out + i, M + i, L + i, N + i);
    fpDoubleReduced(out + FP6_SIZE + i, L + i);
  }
}

const SUM: usize = memory.data(128, 16);

/** Times the value of a line: b0 + b1 v + b4 v w, whose coefficients are within ±12p */
export function fp12Multiply014(out: usize, a: usize, b0: usize, b1: usize, b4: usize): void {
  const a1 = a + FP6_SIZE;
  fp6Multiply01(L, a, b0, b1);
  // a1·b4 v = ξ a12 b4 + a10 b4 v + a11 b4 v²
  fp2Multiply(M, a1 + 2 * FP2_SIZE, b4);
  fp2TimesXi(M, M);
  fp2Multiply(M + FP2_SIZE, a1, b4);
  fp2Multiply(M + 2 * FP2_SIZE, a1 + FP2_SIZE, b4);
  fp6Add(N, a, a1);
  fp2Add(SUM, b1, b4);
  fp6Multiply01(O, N, b0, SUM);
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpSubtractTwoReduced(out + FP6_SIZE + i, O + i, L + i, M + i);
  fp6TimesV(M, M);
  fp6AddReduced(out, L, M);
}

/** a to the power p⁶: the inverse of elements of the cyclotomic subgroup */
export function fp12Conjugate(out: usize, a: usize): void {
  if (out != a) memory.copy(out, a, FP6_SIZE);
  fp6Negate(out + FP6_SIZE, a + FP6_SIZE);
}

export function fp12Invert(out: usize, a: usize): void {
  const a1 = a + FP6_SIZE;
  fp6Multiply(L, a, a);
  fp6Multiply(M, a1, a1);
  fp6TimesV(M, M);
  fp6Subtract(L, L, M);
  fp6Invert(N, L);
  fp6Multiply(L, a1, N);
  fp6Multiply(M, a, N);
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) {
    fpSubtractTwoReduced(out + i, M + i, ZERO, ZERO);
    fpSubtractTwoReduced(out + FP6_SIZE + i, ZERO, L + i, ZERO);
  }
}

const ZERO: usize = memory.data(64, 16);

/** ξ^(k·(p^n − 1)/6) */
@inline function frobeniusFactor(n: i32, k: i32): usize {
  return FROBENIUS + FP2_SIZE * <usize>(5 * (n - 1) + k - 1);
}

/** a to the power p^n, n = 1 … 3 */
export function fp12Frobenius(out: usize, a: usize, n: i32): void {
  for (let k = 0; k < 6; k++) {
    // coefficient of w^k
    const at = (k & 1 ? FP6_SIZE : 0) + <usize>(k >> 1) * FP2_SIZE;
    if (n & 1) fp2Conjugate(out + at, a + at);
    else fp2Copy(out + at, a + at);
    if (k > 0) fp2Multiply(out + at, out + at, frobeniusFactor(n, k));
  }
}

const T0: usize = memory.data(128, 16);
const T1: usize = memory.data(128, 16);
const X: usize = memory.data(128, 16);

/** (x + y s)² in Fp4 = Fp2[s]/(s² − ξ): square ← x² + ξ y², twice ← 2 x y */
@inline function fp4Square(square: usize, twice: usize, x: usize, y: usize): void {
  fp2Multiply(X, x, y);
  fp2TimesXi(T0, y);
  fp2Add(T0, T0, x);
  fp2Add(T1, x, y);
  fp2Multiply(T0, T0, T1);
  fp2TimesXi(T1, X);
  fp2SubtractTwo(square, T0, X, T1);
  fp2Double(twice, X);
}

const Q0: usize = memory.data(128, 16);
const Q1: usize = memory.data(128, 16);
const Q2: usize = memory.data(128, 16);
const Q3: usize = memory.data(128, 16);
const Q4: usize = memory.data(128, 16);
const Q5: usize = memory.data(128, 16);

@inline function tripleMinusDouble(out: usize, t: usize, z: usize): void {
  fpTripleMinusDouble(out, t, z);
  fpTripleMinusDouble(out + FP_SIZE, t + FP_SIZE, z + FP_SIZE);
}

@inline function triplePlusDouble(out: usize, t: usize, z: usize): void {
  fpTriplePlusDouble(out, t, z);
  fpTriplePlusDouble(out + FP_SIZE, t + FP_SIZE, z + FP_SIZE);
}

/** Square of an element of the cyclotomic subgroup (Granger and Scott, 2009). */
export function fp12CyclotomicSquare(out: usize, a: usize): void {
  const a01 = a + FP2_SIZE;
  const a02 = a + 2 * FP2_SIZE;
  const a10 = a + FP6_SIZE;
  const a11 = a10 + FP2_SIZE;
  const a12 = a10 + 2 * FP2_SIZE;
  fp4Square(Q0, Q1, a, a11);
  fp4Square(Q2, Q3, a10, a02);
  fp4Square(Q4, Q5, a01, a12);
  tripleMinusDouble(out, Q0, a);
  tripleMinusDouble(out + FP2_SIZE, Q2, a01);
  tripleMinusDouble(out + 2 * FP2_SIZE, Q4, a02);
  fp2TimesXiReduced(Q5, Q5);
  triplePlusDouble(out + FP6_SIZE, Q5, a10);
  triplePlusDouble(out + FP6_SIZE + FP2_SIZE, Q1, a11);
  triplePlusDouble(out + FP6_SIZE + 2 * FP2_SIZE, Q3, a12);
}
