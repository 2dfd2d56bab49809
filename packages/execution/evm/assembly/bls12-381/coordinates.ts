/**
 * Arithmetic on the coordinates of points, which are elements of Fp for G1 and of Fp2 for G2. What curve.ts, subgroup.ts and msm.ts
 * do for both groups is written once, with the group as type parameter.
 */
import {
  CURVE_B,
  FP_ONE,
  FP_SIZE,
  fpAdd,
  fpClear,
  fpCopy,
  fpDouble,
  fpInvert,
  fpIsZero,
  fpMultiply,
  fpNegate,
  fpSquare,
  fpSubtract,
  fpSubtractDouble,
  fpTimesFour,
  fpTriple,
  TWIST_B,
} from "./field";
import {
  FP2_SIZE,
  fp2Add,
  fp2Copy,
  fp2Double,
  fp2Invert,
  fp2IsZero,
  fp2Multiply,
  fp2Negate,
  fp2SetOne,
  fp2Square,
  fp2Subtract,
  fp2SubtractDouble,
  fp2TimesFour,
  fp2Triple,
} from "./extension";

/** Two types of different size, which the compiler can tell apart. They have no other meaning. */
export type G1 = u32;
export type G2 = u64;

@inline export function isG1<G>(): bool {
  return sizeof<G>() == 4;
}

@inline export function coordinateSize<G>(): usize {
  return sizeof<G>() == 4 ? FP_SIZE : FP2_SIZE;
}

@inline export function multiply<G>(out: usize, a: usize, b: usize): void {
  if (sizeof<G>() == 4) fpMultiply(out, a, b);
  else fp2Multiply(out, a, b);
}

@inline export function square<G>(out: usize, a: usize): void {
  if (sizeof<G>() == 4) fpSquare(out, a);
  else fp2Square(out, a);
}

@inline export function add<G>(out: usize, a: usize, b: usize): void {
  if (sizeof<G>() == 4) fpAdd(out, a, b);
  else fp2Add(out, a, b);
}

@inline export function subtract<G>(out: usize, a: usize, b: usize): void {
  if (sizeof<G>() == 4) fpSubtract(out, a, b);
  else fp2Subtract(out, a, b);
}

@inline export function subtractDouble<G>(out: usize, a: usize, b: usize): void {
  if (sizeof<G>() == 4) fpSubtractDouble(out, a, b);
  else fp2SubtractDouble(out, a, b);
}

@inline export function twice<G>(out: usize, a: usize): void {
  if (sizeof<G>() == 4) fpDouble(out, a);
  else fp2Double(out, a);
}

@inline export function triple<G>(out: usize, a: usize): void {
  if (sizeof<G>() == 4) fpTriple(out, a);
  else fp2Triple(out, a);
}

@inline export function timesFour<G>(out: usize, a: usize): void {
  if (sizeof<G>() == 4) fpTimesFour(out, a);
  else fp2TimesFour(out, a);
}

@inline export function negate<G>(out: usize, a: usize): void {
  if (sizeof<G>() == 4) fpNegate(out, a);
  else fp2Negate(out, a);
}

@inline export function invert<G>(out: usize, a: usize): void {
  if (sizeof<G>() == 4) fpInvert(out, a);
  else fp2Invert(out, a);
}

@inline export function isZero<G>(a: usize): bool {
  return sizeof<G>() == 4 ? fpIsZero(a) : fp2IsZero(a);
}

@inline export function copy<G>(out: usize, a: usize): void {
  if (sizeof<G>() == 4) fpCopy(out, a);
  else fp2Copy(out, a);
}

@inline export function setOne<G>(out: usize): void {
  if (sizeof<G>() == 4) fpCopy(out, FP_ONE);
  else fp2SetOne(out);
}

@inline export function setZero<G>(out: usize): void {
  fpClear(out);
  if (sizeof<G>() == 8) fpClear(out + FP_SIZE);
}

/** b of y² = x³ + b */
@inline export function curveB<G>(): usize {
  return sizeof<G>() == 4 ? CURVE_B : TWIST_B;
}
