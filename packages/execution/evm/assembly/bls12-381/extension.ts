/** Fp2 = Fp[u]/(u² + 1): c0 ‖ c1. `out` may be one of the arguments. Bounds of elements: see scripts/lazy-field.mjs. */
import {
  FP_ONE,
  FP_SIZE,
  fpAdd,
  fpAddRaw,
  fpAddReduced,
  fpClear,
  fpCopy,
  fpDouble,
  fpInvert,
  fpIsZero,
  fpMultiply,
  fpNegate,
  fpReduce,
  fpSquare,
  fpSubtract,
  fpSubtractDouble,
  fpSubtractReduced,
  fpSubtractTwo,
  fpTimesFour,
  fpTriple,
  fpWide,
  fpWideCombine,
} from "./field";

export const FP2_SIZE: usize = 2 * FP_SIZE;

/** Scratch memory, each part of one function; none of them is recursive. */
const A: usize = memory.data(64, 16);
const B: usize = memory.data(64, 16);
const C: usize = memory.data(64, 16);
const LOW: usize = memory.data(224, 16);
const HIGH: usize = memory.data(224, 16);
const MIDDLE: usize = memory.data(224, 16);

/** Three products, two reductions */
export function fp2Multiply(out: usize, a: usize, b: usize): void {
  fpAddRaw(A, a, a + FP_SIZE);
  fpAddRaw(B, b, b + FP_SIZE);
  fpWide(LOW, a, b);
  fpWide(HIGH, a + FP_SIZE, b + FP_SIZE);
  fpWide(MIDDLE, A, B);
  fpWideCombine(LOW, HIGH, MIDDLE);
  fpReduce(out, LOW);
  fpReduce(out + FP_SIZE, MIDDLE);
}

/** (c0 + c1)(c0 − c1) + 2 c0 c1 u */
export function fp2Square(out: usize, a: usize): void {
  fpAddRaw(A, a, a + FP_SIZE);
  fpSubtract(B, a, a + FP_SIZE);
  fpAddRaw(C, a, a);
  fpMultiply(out + FP_SIZE, C, a + FP_SIZE);
  fpMultiply(out, A, B);
}

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

/** a − 2b */
@inline export function fp2SubtractDouble(out: usize, a: usize, b: usize): void {
  fpSubtractDouble(out, a, b);
  fpSubtractDouble(out + FP_SIZE, a + FP_SIZE, b + FP_SIZE);
}

@inline export function fp2Double(out: usize, a: usize): void {
  fpDouble(out, a);
  fpDouble(out + FP_SIZE, a + FP_SIZE);
}

@inline export function fp2Triple(out: usize, a: usize): void {
  fpTriple(out, a);
  fpTriple(out + FP_SIZE, a + FP_SIZE);
}

@inline export function fp2TimesFour(out: usize, a: usize): void {
  fpTimesFour(out, a);
  fpTimesFour(out + FP_SIZE, a + FP_SIZE);
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
  fpCopy(out, a);
  fpCopy(out + FP_SIZE, a + FP_SIZE);
}

@inline export function fp2SetOne(out: usize): void {
  fpCopy(out, FP_ONE);
  fpClear(out + FP_SIZE);
}

@inline export function fp2IsZero(a: usize): bool {
  return fpIsZero(a) && fpIsZero(a + FP_SIZE);
}

/** Times an element of Fp. */
@inline export function fp2Scale(out: usize, a: usize, b: usize): void {
  fpMultiply(out, a, b);
  fpMultiply(out + FP_SIZE, a + FP_SIZE, b);
}

/** Times ξ = 1 + u: (c0 − c1) + (c0 + c1)·u */
export function fp2TimesXi(out: usize, a: usize): void {
  fpSubtract(A, a, a + FP_SIZE);
  fpAdd(out + FP_SIZE, a, a + FP_SIZE);
  fpCopy(out, A);
}

export function fp2TimesXiReduced(out: usize, a: usize): void {
  fpSubtractReduced(A, a, a + FP_SIZE);
  fpAddReduced(out + FP_SIZE, a, a + FP_SIZE);
  fpCopy(out, A);
}

/** c0² + c1² */
export function fp2Norm(out: usize, a: usize): void {
  fpSquare(A, a);
  fpSquare(B, a + FP_SIZE);
  fpAdd(out, A, B);
}

/** 1 / a; 0 for 0 */
export function fp2Invert(out: usize, a: usize): void {
  fp2Norm(A, a);
  fpInvert(A, A);
  fpNegate(B, a + FP_SIZE);
  fpMultiply(out, a, A);
  fpMultiply(out + FP_SIZE, B, A);
}
