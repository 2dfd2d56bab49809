/**
 * Extensions of the base field of BN254: Fp2 = Fp[u]/(u² + 1), Fp6 = Fp2[v]/(v³ − ξ) with ξ = 9 + u, Fp12 = Fp6[w]/(w² − v). The
 * coefficients of an element are stored consecutively. `out` may be one of the arguments.
 */
import {
  FP_SIZE,
  FROBENIUS,
  fp2Multiply,
  fp2Square,
  fpAdd,
  fpDouble,
  fpInvert,
  fpIsZero,
  fpMultiply,
  fpNegate,
  fpNineMinus,
  fpNinePlus,
  fpSquare,
  fpSubtract,
  fpSubtractTwo,
  fpTripleMinusDouble,
  fpTriplePlusDouble,
  FP_ONE,
  fpCopy,
} from "./bn254-field";

export const FP2_SIZE: usize = 2 * FP_SIZE;
export const FP6_SIZE: usize = 3 * FP2_SIZE;
export const FP12_SIZE: usize = 2 * FP6_SIZE;

/** Scratch memory, each part of one function; none of them is recursive. */
const A: usize = memory.data(72, 8);
const B: usize = memory.data(72, 8);

@inline export function fp2Add(out: usize, a: usize, b: usize): void {
  fpAdd(out, a, b);
  fpAdd(out + FP_SIZE, a + FP_SIZE, b + FP_SIZE);
}

@inline export function fp2Subtract(out: usize, a: usize, b: usize): void {
  fpSubtract(out, a, b);
  fpSubtract(out + FP_SIZE, a + FP_SIZE, b + FP_SIZE);
}

/** a − b − c */
@inline export function fp2SubtractTwo(out: usize, a: usize, b: usize, c: usize): void {
  fpSubtractTwo(out, a, b, c);
  fpSubtractTwo(out + FP_SIZE, a + FP_SIZE, b + FP_SIZE, c + FP_SIZE);
}

@inline export function fp2Double(out: usize, a: usize): void {
  fpDouble(out, a);
  fpDouble(out + FP_SIZE, a + FP_SIZE);
}

@inline export function fp2Negate(out: usize, a: usize): void {
  fpNegate(out, a);
  fpNegate(out + FP_SIZE, a + FP_SIZE);
}

@inline export function fp2Conjugate(out: usize, a: usize): void {
  fpCopy(out, a);
  fpNegate(out + FP_SIZE, a + FP_SIZE);
}

@inline export function fp2Copy(out: usize, a: usize): void {
  memory.copy(out, a, FP2_SIZE);
}

@inline export function fp2IsZero(a: usize): bool {
  return fpIsZero(a) && fpIsZero(a + FP_SIZE);
}

/** Times an element of Fp. */
@inline export function fp2Scale(out: usize, a: usize, b: usize): void {
  fpMultiply(out, a, b);
  fpMultiply(out + FP_SIZE, a + FP_SIZE, b);
}

/** Times ξ: (9 c0 − c1) + (9 c1 + c0)·u */
function fp2TimesXi(out: usize, a: usize): void {
  fpNineMinus(A, a, a + FP_SIZE);
  fpNinePlus(out + FP_SIZE, a + FP_SIZE, a);
  fpCopy(out, A);
}

function fp2Invert(out: usize, a: usize): void {
  fpSquare(A, a);
  fpSquare(B, a + FP_SIZE);
  fpAdd(A, A, B);
  fpInvert(A, A);
  fpMultiply(out, a, A);
  fpNegate(B, a + FP_SIZE);
  fpMultiply(out + FP_SIZE, B, A);
}

@inline function fp6Add(out: usize, a: usize, b: usize): void {
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpAdd(out + i, a + i, b + i);
}

@inline function fp6Subtract(out: usize, a: usize, b: usize): void {
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpSubtract(out + i, a + i, b + i);
}

@inline function fp6Negate(out: usize, a: usize): void {
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpNegate(out + i, a + i);
}

const P0: usize = memory.data(72, 8);
const P1: usize = memory.data(72, 8);
const P2: usize = memory.data(72, 8);
const S0: usize = memory.data(72, 8);
const S1: usize = memory.data(72, 8);
const S2: usize = memory.data(72, 8);

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
  fp2Add(out + 2 * FP2_SIZE, b, b2);
  fp2Multiply(S2, S2, out + 2 * FP2_SIZE);
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
  fp2Add(S0, a1, a2);
  fp2Multiply(S0, S0, b1);
  fp2Subtract(S0, S0, P1);
  fp2TimesXi(S0, S0);
  fp2Add(out, S0, P0);
  fp2Add(S0, a, a1);
  fp2Add(S1, b0, b1);
  fp2Multiply(S0, S0, S1);
  fp2SubtractTwo(out + FP2_SIZE, S0, P0, P1);
  fp2Add(S0, a, a2);
  fp2Multiply(S0, S0, b0);
  fp2Subtract(S0, S0, P0);
  fp2Add(out + 2 * FP2_SIZE, S0, P1);
}

/** Times v: (ξ c2, c0, c1) */
function fp6TimesV(out: usize, a: usize): void {
  fp2TimesXi(S0, a + 2 * FP2_SIZE);
  memory.copy(out + FP2_SIZE, a, 2 * FP2_SIZE);
  fp2Copy(out, S0);
}

function fp6Invert(out: usize, a: usize): void {
  const a1 = a + FP2_SIZE;
  const a2 = a1 + FP2_SIZE;
  // t0 = a0² − ξ a1 a2, t1 = ξ a2² − a0 a1, t2 = a1² − a0 a2
  fp2Square(P0, a);
  fp2Multiply(S0, a1, a2);
  fp2TimesXi(S0, S0);
  fp2Subtract(P0, P0, S0);
  fp2Square(P1, a2);
  fp2TimesXi(P1, P1);
  fp2Multiply(S0, a, a1);
  fp2Subtract(P1, P1, S0);
  fp2Square(P2, a1);
  fp2Multiply(S0, a, a2);
  fp2Subtract(P2, P2, S0);
  // norm = a0 t0 + ξ (a2 t1 + a1 t2)
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

const L: usize = memory.data(216, 8);
const M: usize = memory.data(216, 8);
const N: usize = memory.data(216, 8);
const O: usize = memory.data(216, 8);

export function fp12SetOne(out: usize): void {
  memory.fill(out, 0, FP12_SIZE);
  fpCopy(out, FP_ONE);
}

@inline export function fp12Copy(out: usize, a: usize): void {
  memory.copy(out, a, FP12_SIZE);
}

export function fp12IsOne(a: usize): bool {
  fpSubtract(A, a, FP_ONE);
  if (!fpIsZero(A)) return false;
  for (let i = FP_SIZE; i < FP12_SIZE; i += FP_SIZE) if (!fpIsZero(a + i)) return false;
  return true;
}

export function fp12Multiply(out: usize, a: usize, b: usize): void {
  fp6Multiply(L, a, b);
  fp6Multiply(M, a + FP6_SIZE, b + FP6_SIZE);
  fp6Add(N, a, a + FP6_SIZE);
  fp6Add(O, b, b + FP6_SIZE);
  fp6Multiply(N, N, O);
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpSubtractTwo(out + FP6_SIZE + i, N + i, L + i, M + i);
  fp6TimesV(M, M);
  fp6Add(out, L, M);
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
    fpSubtractTwo(out + i, M + i, L + i, N + i);
    fpDouble(out + FP6_SIZE + i, L + i);
  }
}

const SUM: usize = memory.data(72, 8);

/** Times the value of a line: b0 + (b3 + b4 v) w */
export function fp12Multiply034(out: usize, a: usize, b0: usize, b3: usize, b4: usize): void {
  const a1 = a + FP6_SIZE;
  fp2Multiply(L, a, b0);
  fp2Multiply(L + FP2_SIZE, a + FP2_SIZE, b0);
  fp2Multiply(L + 2 * FP2_SIZE, a + 2 * FP2_SIZE, b0);
  fp6Multiply01(M, a1, b3, b4);
  fp6Add(N, a, a1);
  fp2Add(SUM, b0, b3);
  fp6Multiply01(O, N, SUM, b4);
  for (let i: usize = 0; i < FP6_SIZE; i += FP_SIZE) fpSubtractTwo(out + FP6_SIZE + i, O + i, L + i, M + i);
  fp6TimesV(M, M);
  fp6Add(out, L, M);
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
  fp6Multiply(out, a, N);
  fp6Negate(M, a1);
  fp6Multiply(out + FP6_SIZE, M, N);
}

/** ξ^(k·(p^n − 1)/6) */
@inline export function frobeniusFactor(n: i32, k: i32): usize {
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

const T0: usize = memory.data(72, 8);
const T1: usize = memory.data(72, 8);
const X: usize = memory.data(72, 8);

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

const Q0: usize = memory.data(72, 8);
const Q1: usize = memory.data(72, 8);
const Q2: usize = memory.data(72, 8);
const Q3: usize = memory.data(72, 8);
const Q4: usize = memory.data(72, 8);
const Q5: usize = memory.data(72, 8);

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
  fp2TimesXi(Q5, Q5);
  triplePlusDouble(out + FP6_SIZE, Q5, a10);
  triplePlusDouble(out + FP6_SIZE + FP2_SIZE, Q1, a11);
  triplePlusDouble(out + FP6_SIZE + 2 * FP2_SIZE, Q3, a12);
}
