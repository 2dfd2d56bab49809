/**
 * Points of y² = x³ + b: of E(Fp) or the twist E'(Fp2), any order. Affine: x ‖ y, never infinity. Jacobian: X ‖ Y ‖ Z with x = X/Z², y = Y/Z³;
 * Z = 0 is infinity. Coordinates stay within ±21p here. Formulas: Explicit-Formulas Database, shortw/jacobian-0.
 */
import {
  add,
  coordinateSize,
  copy,
  curveB,
  invert,
  isZero,
  multiply,
  negate,
  setOne,
  setZero,
  square,
  subtract,
  subtractDouble,
  timesFour,
  triple,
  twice,
} from "./coordinates";

@inline export function affineSize<G>(): usize {
  return 2 * coordinateSize<G>();
}

@inline export function pointSize<G>(): usize {
  return 3 * coordinateSize<G>();
}

const A: usize = memory.data(128, 16);
const B: usize = memory.data(128, 16);
const C: usize = memory.data(128, 16);
const D: usize = memory.data(128, 16);
const E: usize = memory.data(128, 16);
const F: usize = memory.data(128, 16);

export function isOnCurve<G>(p: usize): bool {
  square<G>(A, p);
  multiply<G>(A, A, p);
  add<G>(A, A, curveB<G>());
  square<G>(B, p + coordinateSize<G>());
  subtract<G>(A, A, B);
  return isZero<G>(A);
}

@inline export function isInfinity<G>(p: usize): bool {
  return isZero<G>(p + 2 * coordinateSize<G>());
}

export function setInfinity<G>(out: usize): void {
  setZero<G>(out);
  setZero<G>(out + coordinateSize<G>());
  setZero<G>(out + 2 * coordinateSize<G>());
}

export function copyPoint<G>(out: usize, p: usize): void {
  memory.copy(out, p, pointSize<G>());
}

/** Affine → Jacobian */
export function fromAffine<G>(out: usize, p: usize): void {
  memory.copy(out, p, affineSize<G>());
  setOne<G>(out + 2 * coordinateSize<G>());
}

/** 3 multiplications, 4 squarings; infinity stays infinity */
export function double<G>(out: usize, p: usize): void {
  const y = p + coordinateSize<G>();
  const z = y + coordinateSize<G>();
  square<G>(A, p);
  square<G>(B, y);
  square<G>(C, B);
  multiply<G>(D, p, B);
  multiply<G>(E, y, z);
  twice<G>(out + 2 * coordinateSize<G>(), E);
  timesFour<G>(D, D);
  triple<G>(A, A);
  square<G>(E, A);
  subtractDouble<G>(out, E, D);
  subtract<G>(D, D, out);
  multiply<G>(E, A, D);
  timesFour<G>(C, C);
  subtractDouble<G>(out + coordinateSize<G>(), E, C);
}

/** The end of an addition, with U1 in C, H in D, S1 in B, R in A and Z1·Z2 in F. */
@inline function finishAddition<G>(out: usize): void {
  multiply<G>(out + 2 * coordinateSize<G>(), F, D);
  square<G>(E, D);
  multiply<G>(D, D, E);
  multiply<G>(C, C, E);
  square<G>(E, A);
  subtract<G>(E, E, D);
  subtractDouble<G>(out, E, C);
  subtract<G>(C, C, out);
  multiply<G>(C, C, A);
  multiply<G>(B, B, D);
  subtract<G>(out + coordinateSize<G>(), C, B);
}

/** out ← p + q, also if they are equal or opposite, or one is infinity */
export function addPoints<G>(out: usize, p: usize, q: usize): void {
  const py = p + coordinateSize<G>();
  const pz = py + coordinateSize<G>();
  const qy = q + coordinateSize<G>();
  const qz = qy + coordinateSize<G>();
  if (isZero<G>(pz)) return copyPoint<G>(out, q);
  if (isZero<G>(qz)) return copyPoint<G>(out, p);
  square<G>(A, pz);
  square<G>(B, qz);
  multiply<G>(C, p, B); // U1
  multiply<G>(D, q, A);
  subtract<G>(D, D, C); // H
  multiply<G>(B, B, qz);
  multiply<G>(B, B, py); // S1
  multiply<G>(A, A, pz);
  multiply<G>(A, A, qy);
  subtract<G>(A, A, B); // R
  if (isZero<G>(D)) {
    if (isZero<G>(A)) return double<G>(out, p);
    return setInfinity<G>(out);
  }
  multiply<G>(F, pz, qz);
  finishAddition<G>(out);
}

/** out ← p + q, q affine; 8 multiplications, 3 squarings */
export function addAffine<G>(out: usize, p: usize, q: usize): void {
  const py = p + coordinateSize<G>();
  const pz = py + coordinateSize<G>();
  const qy = q + coordinateSize<G>();
  if (isZero<G>(pz)) return fromAffine<G>(out, q);
  square<G>(A, pz);
  multiply<G>(D, q, A);
  subtract<G>(D, D, p); // H
  multiply<G>(A, A, pz);
  multiply<G>(A, A, qy);
  subtract<G>(A, A, py); // R
  if (isZero<G>(D)) {
    if (isZero<G>(A)) return double<G>(out, p);
    return setInfinity<G>(out);
  }
  copy<G>(C, p);
  copy<G>(B, py);
  copy<G>(F, pz);
  finishAddition<G>(out);
}

@inline export function negatePoint<G>(out: usize, p: usize): void {
  if (out != p) copyPoint<G>(out, p);
  negate<G>(out + coordinateSize<G>(), p + coordinateSize<G>());
}

/** @returns whether there is an affine form, which infinity does not have */
export function toAffine<G>(out: usize, p: usize): bool {
  const z = p + 2 * coordinateSize<G>();
  if (isZero<G>(z)) return false;
  invert<G>(A, z);
  square<G>(B, A);
  multiply<G>(out, p, B);
  multiply<G>(B, B, A);
  multiply<G>(out + coordinateSize<G>(), p + coordinateSize<G>(), B);
  return true;
}

/**
 * The affine forms of `count` points, none of them infinity, with a single inversion (Montgomery). `products` has room for one
 * coordinate per point. Points and affine forms are stored consecutively.
 */
export function allToAffine<G>(out: usize, points: usize, count: usize, products: usize): void {
  const z = points + 2 * coordinateSize<G>();
  copy<G>(products, z);
  for (let i: usize = 1; i < count; i++) {
    const product = products + i * coordinateSize<G>();
    multiply<G>(product, product - coordinateSize<G>(), z + i * pointSize<G>());
  }
  invert<G>(A, products + (count - 1) * coordinateSize<G>()); // 1 / product of all z so far
  for (let i = <isize>count - 1; i >= 0; i--) {
    const point = points + i * pointSize<G>();
    const affine = out + i * affineSize<G>();
    if (i > 0) multiply<G>(B, A, products + (i - 1) * coordinateSize<G>());
    else copy<G>(B, A);
    multiply<G>(A, A, point + 2 * coordinateSize<G>());
    square<G>(C, B);
    multiply<G>(affine, point, C);
    multiply<G>(C, C, B);
    multiply<G>(affine + coordinateSize<G>(), point + coordinateSize<G>(), C);
  }
}

/** Affine out ← affine p + affine q. @returns whether the sum is not infinity */
export function addBothAffine<G>(out: usize, p: usize, q: usize): bool {
  const py = p + coordinateSize<G>();
  const qy = q + coordinateSize<G>();
  subtract<G>(A, q, p);
  subtract<G>(B, qy, py);
  if (isZero<G>(A)) {
    if (!isZero<G>(B)) return false;
    square<G>(B, p);
    triple<G>(B, B);
    twice<G>(A, py); // not zero: the orders of both curves are odd
  }
  invert<G>(A, A);
  multiply<G>(A, A, B); // slope
  square<G>(B, A);
  subtract<G>(B, B, p);
  subtract<G>(B, B, q);
  subtract<G>(C, p, B);
  multiply<G>(C, C, A);
  subtract<G>(out + coordinateSize<G>(), C, py);
  copy<G>(out, B);
  return true;
}
