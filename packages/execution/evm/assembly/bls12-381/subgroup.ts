/**
 * Tests whether points are in the subgroup of order r, by endomorphisms (Scott, "A note on group membership tests for G1, G2 and GT
 * on BLS pairing-friendly curves", 2021). x is the curve's parameter, which is negative.
 */
import { BETA, FP_SIZE, fpMultiply, PSI } from "./field";
import { FP2_SIZE, fp2Conjugate, fp2Multiply } from "./extension";
import { add, coordinateSize, G1, G2, isZero, multiply, square, subtract } from "./coordinates";
import { addPoints, copyPoint, double, fromAffine } from "./curve";

/** −x */
export const PARAMETER: u64 = 0xd201000000010000;

const BASE: usize = memory.data(384, 16);

/** out ← −x·p, Jacobian */
export function timesParameter<G>(out: usize, p: usize): void {
  copyPoint<G>(BASE, p);
  if (out != p) copyPoint<G>(out, p);
  for (let i = 62; i >= 0; i--) {
    double<G>(out, out);
    if ((PARAMETER >> i) & 1) addPoints<G>(out, out, BASE);
  }
}

/** On coordinates: φ: (x, y) → (βx, y). */
@inline export function phiX(out: usize, x: usize): void {
  fpMultiply(out, x, BETA);
}

/** ψ, the endomorphism of the twist that corresponds to the p-th power map, on x and y coordinates. */
@inline export function psiX(out: usize, x: usize): void {
  fp2Conjugate(out, x);
  fp2Multiply(out, out, PSI);
}

@inline export function psiY(out: usize, y: usize): void {
  fp2Conjugate(out, y);
  fp2Multiply(out, out, PSI + FP2_SIZE);
}

const X: usize = memory.data(128, 16);
const Y: usize = memory.data(128, 16);
const Z: usize = memory.data(128, 16);

/** Whether −p, Jacobian, is the affine point (x, y); p must not be infinity */
function isOpposite<G>(p: usize, x: usize, y: usize): bool {
  const z = p + 2 * coordinateSize<G>();
  if (isZero<G>(z)) return false;
  square<G>(Z, z);
  multiply<G>(x, x, Z);
  multiply<G>(Z, Z, z);
  multiply<G>(y, y, Z);
  subtract<G>(x, x, p);
  add<G>(y, y, p + coordinateSize<G>());
  return isZero<G>(x) && isZero<G>(y);
}

const SQUARED: usize = memory.data(192, 16);

/**
 * p, affine and on the curve: φ(p) = −x²·p.
 *
 * @param times room for −x·p, Jacobian
 */
export function isInG1(p: usize, times: usize): bool {
  fromAffine<G1>(times, p);
  timesParameter<G1>(times, times);
  timesParameter<G1>(SQUARED, times);
  phiX(X, p);
  memory.copy(Y, p + FP_SIZE, FP_SIZE);
  return isOpposite<G1>(SQUARED, X, Y);
}

const TIMES: usize = memory.data(384, 16);

/** p, affine and on the twist: ψ(p) = x·p. */
export function isInG2(p: usize): bool {
  fromAffine<G2>(TIMES, p);
  timesParameter<G2>(TIMES, TIMES);
  psiX(X, p);
  psiY(Y, p + FP2_SIZE);
  return isOpposite<G2>(TIMES, X, Y);
}
