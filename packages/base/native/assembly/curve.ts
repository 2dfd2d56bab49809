/**
 * Points of y² = x³ + 7 (secp256k1). Affine: x ‖ y, never infinity. Jacobian: X ‖ Y ‖ Z with x = X/Z², y = Y/Z³; Z = 0 is
 * infinity. scripts/fields.mjs generates `field` and `scalars` during compilation. Formulas: Explicit-Formulas Database,
 * shortw/jacobian-0.
 */
import {
  FP_ONE,
  FP_SIZE,
  fpAdd,
  fpCopy,
  fpDouble,
  fpInvert,
  fpIsZero,
  fpMultiply,
  fpSquare,
  fpSubtract,
  fpSubtractDouble,
  fpSubtractTwo,
  fpTimesEight,
  fpTriple,
} from "./field";

export const Y: usize = FP_SIZE;
export const Z: usize = 2 * FP_SIZE;
export const AFFINE_SIZE: usize = 2 * FP_SIZE;
export const POINT_SIZE: usize = 3 * FP_SIZE;

const A: usize = memory.data(32, 8);
const B: usize = memory.data(32, 8);
const C: usize = memory.data(32, 8);
const D: usize = memory.data(32, 8);
const E: usize = memory.data(32, 8);
const F: usize = memory.data(32, 8);
const G: usize = memory.data(32, 8);

export function setInfinity(p: usize): void {
  memory.fill(p, 0, POINT_SIZE);
}

/** 2 multiplications, 5 squarings; infinity stays infinity */
export function double(out: usize, p: usize): void {
  fpSquare(A, p);
  fpSquare(B, p + Y);
  fpSquare(C, B);
  fpAdd(D, p, B);
  fpSquare(D, D);
  fpSubtractTwo(D, D, A, C);
  fpDouble(D, D);
  fpTriple(E, A);
  fpSquare(F, E);
  fpMultiply(G, p + Y, p + Z);
  fpDouble(out + Z, G);
  fpSubtractDouble(out, F, D);
  fpSubtract(D, D, out);
  fpMultiply(D, E, D);
  fpTimesEight(C, C);
  fpSubtract(out + Y, D, C);
}

/** out ← p + q, q affine, also if they are equal or opposite, or p is infinity; 8 multiplications, 3 squarings */
export function addAffine(out: usize, p: usize, q: usize): void {
  if (fpIsZero(p + Z)) {
    memory.copy(out, q, AFFINE_SIZE);
    fpCopy(out + Z, FP_ONE);
    return;
  }
  fpSquare(A, p + Z);
  fpMultiply(D, q, A);
  fpSubtract(D, D, p); // H
  fpMultiply(A, A, p + Z);
  fpMultiply(A, A, q + Y);
  fpSubtract(A, A, p + Y); // R
  if (fpIsZero(D)) {
    if (fpIsZero(A)) return double(out, p);
    return setInfinity(out);
  }
  fpSquare(E, D);
  fpMultiply(F, E, D);
  fpMultiply(E, E, p);
  fpMultiply(out + Z, p + Z, D);
  fpMultiply(B, p + Y, F);
  fpSquare(G, A);
  fpSubtract(G, G, F);
  fpSubtractDouble(out, G, E);
  fpSubtract(E, E, out);
  fpMultiply(E, E, A);
  fpSubtract(out + Y, E, B);
}

/** x ‖ y of a point that is not infinity */
export function toAffine(out: usize, p: usize): void {
  fpInvert(A, p + Z);
  fpSquare(B, A);
  fpMultiply(out, p, B);
  fpMultiply(B, B, A);
  fpMultiply(out + Y, p + Y, B);
}

/**
 * The affine forms of `count` points, none of them infinity, with one inversion (Montgomery). `products` has room for one
 * coordinate per point.
 */
export function allToAffine(out: usize, points: usize, count: usize, products: usize): void {
  fpCopy(products, points + Z);
  for (let i: usize = 1; i < count; i++) {
    fpMultiply(products + i * FP_SIZE, products + (i - 1) * FP_SIZE, points + i * POINT_SIZE + Z);
  }
  fpInvert(A, products + (count - 1) * FP_SIZE);
  for (let i = <isize>count - 1; i >= 0; i--) {
    const point = points + i * POINT_SIZE;
    const affine = out + i * AFFINE_SIZE;
    if (i > 0) fpMultiply(B, A, products + (i - 1) * FP_SIZE);
    else fpCopy(B, A);
    fpMultiply(A, A, point + Z);
    fpSquare(C, B);
    fpMultiply(affine, point, C);
    fpMultiply(C, C, B);
    fpMultiply(affine + Y, point + Y, C);
  }
}
