/**
 * Maps field elements to points of the subgroups (EIP-2537; RFC 9380 §6.6.3): first the simplified map of Shallue, van de Woestijne
 * and Ulas to a curve y² = g(x) = x³ + ax + b that has an isogeny to E or E', then the isogeny, then the multiplication by the
 * cofactor. Fractions are not carried along, because inversions are cheap here compared with square roots.
 */
import {
  FP_ONE,
  FP_SIZE,
  fpAdd,
  fpCopy,
  fpIsOdd,
  fpIsZero,
  fpMultiply,
  fpNegate,
  fpSquare,
  fpSubtract,
  HALF,
  ROOT_EXPONENT,
} from "./field";
import { FP2_SIZE, fp2Conjugate, fp2Norm } from "./extension";
import { add, coordinateSize, copy, G1, G2, invert, isG1, isZero, multiply, negate, setOne, square } from "./coordinates";
import { addPoints, double, negatePoint } from "./curve";
import {
  A1,
  A2,
  B1,
  B2,
  B_BY_ZA1,
  B_BY_ZA2,
  MINUS_B_BY_A1,
  MINUS_B_BY_A2,
  ROOT1,
  ROOT2,
  X_DENOMINATOR1,
  X_DENOMINATOR2,
  X_NUMERATOR1,
  X_NUMERATOR2,
  Y_DENOMINATOR1,
  Y_DENOMINATOR2,
  Y_NUMERATOR1,
  Y_NUMERATOR2,
  Z1,
  Z2,
} from "./map-constants";
import { psiX, psiY, timesParameter } from "./subgroup";

/** powers 0 … 15 */
const POWERS: usize = memory.data(1024, 16);
const EXPONENT_BYTES: usize = 48;

/** out ← a^((p − 3)/4); `out` is not `a` */
function powerForRoot(out: usize, a: usize): void {
  fpCopy(POWERS, FP_ONE);
  for (let i: usize = FP_SIZE; i < 16 * FP_SIZE; i += FP_SIZE) fpMultiply(POWERS + i, POWERS + i - FP_SIZE, a);
  fpCopy(out, FP_ONE);
  for (let i: usize = 0; i < EXPONENT_BYTES; i++) {
    const byte = <usize>load<u8>(ROOT_EXPONENT + i);
    for (let half = 4; half >= 0; half -= 4) {
      for (let bit = 0; bit < 4; bit++) fpSquare(out, out);
      const digit = (byte >> half) & 15;
      if (digit != 0) fpMultiply(out, out, POWERS + digit * FP_SIZE);
    }
  }
}

const ROOT_POWER: usize = memory.data(64, 16);
const ROOT_SQUARED: usize = memory.data(64, 16);

/** out² = ± a, ROOT_POWER ← ± 1 / out with the same sign; `out` is not `a`. @returns whether the sign is + */
export function root(out: usize, a: usize): bool {
  powerForRoot(ROOT_POWER, a);
  fpMultiply(out, a, ROOT_POWER);
  fpSquare(ROOT_SQUARED, out);
  fpSubtract(ROOT_SQUARED, ROOT_SQUARED, a);
  return fpIsZero(ROOT_SQUARED);
}

const HALVED: usize = memory.data(64, 16);

/**
 * out² = a in Fp2, for a square whose norm is s². If t = (a0 + s)/2 is a square, a = (√t + a1/(2√t)·u)²; if it is not, −t is one,
 * and a = (a1/(2√−t) + √−t·u)².
 */
function root2(out: usize, a: usize, s: usize): void {
  fpAdd(HALVED, a, s);
  if (fpIsZero(HALVED)) fpSubtract(HALVED, a, s);
  fpMultiply(HALVED, HALVED, HALF);
  const isSquare = root(out, HALVED);
  fpMultiply(HALVED, a + FP_SIZE, HALF);
  fpMultiply(out + FP_SIZE, HALVED, ROOT_POWER);
  if (isSquare) return;
  fpNegate(HALVED, out + FP_SIZE);
  fpCopy(out + FP_SIZE, out);
  fpCopy(out, HALVED);
}

/** sgn0 of RFC 9380 §4.1 */
function isOdd<G>(a: usize): bool {
  if (isG1<G>() || !fpIsZero(a)) return fpIsOdd(a);
  return fpIsOdd(a + FP_SIZE);
}

@inline function constant<G>(first: usize, second: usize): usize {
  return isG1<G>() ? first : second;
}

const T1: usize = memory.data(128, 16);
const T2: usize = memory.data(128, 16);
const GX: usize = memory.data(128, 16);
const X: usize = memory.data(128, 16);
const Y: usize = memory.data(128, 16);
const R: usize = memory.data(64, 16);
const S: usize = memory.data(64, 16);

/** out ← x³ + ax + b; `out` is not `x` */
function curveAt<G>(out: usize, x: usize): void {
  square<G>(out, x);
  add<G>(out, out, constant<G>(A1, A2));
  multiply<G>(out, out, x);
  add<G>(out, out, constant<G>(B1, B2));
}

/** X, Y ← the point that u maps to */
function simplifiedSwu<G>(u: usize): void {
  square<G>(T1, u);
  multiply<G>(T1, T1, constant<G>(Z1, Z2)); // z u²
  square<G>(T2, T1);
  add<G>(T2, T2, T1);
  if (isZero<G>(T2)) {
    copy<G>(X, constant<G>(B_BY_ZA1, B_BY_ZA2));
  } else {
    invert<G>(T2, T2);
    setOne<G>(X);
    add<G>(X, X, T2);
    multiply<G>(X, X, constant<G>(MINUS_B_BY_A1, MINUS_B_BY_A2));
  }
  curveAt<G>(GX, X);
  // if g(x) is not a square, g(z u² x) = z³ u⁶ g(x) is
  if (isG1<G>()) {
    if (!root(Y, GX)) {
      multiply<G>(X, X, T1);
      square<G>(T1, u);
      multiply<G>(T1, T1, u);
      multiply<G>(Y, Y, T1);
      multiply<G>(Y, Y, ROOT1);
    }
  } else {
    fp2Norm(S, GX);
    if (!root(R, S)) {
      multiply<G>(X, X, T1);
      curveAt<G>(GX, X);
      fp2Norm(S, u);
      fpSquare(T1, S);
      fpMultiply(S, S, T1);
      fpMultiply(R, R, S);
      fpMultiply(R, R, ROOT2);
    }
    root2(Y, GX, R);
  }
  if (isOdd<G>(u) != isOdd<G>(Y)) negate<G>(Y, Y);
}

const XN: usize = memory.data(128, 16);
const XD: usize = memory.data(128, 16);
const YN: usize = memory.data(128, 16);
const YD: usize = memory.data(128, 16);

/** out ← the value at X of the polynomial with `count` coefficients, the constant one first */
function evaluate<G>(out: usize, coefficients: usize, count: usize): void {
  let at = coefficients + (count - 1) * coordinateSize<G>();
  copy<G>(out, at);
  while (at > coefficients) {
    at -= coordinateSize<G>();
    multiply<G>(out, out, X);
    add<G>(out, out, at);
  }
}

/** Jacobian out ← the isogeny's image of (X, Y); zeros of the denominators map to infinity */
function isogeny<G>(out: usize): void {
  evaluate<G>(XN, constant<G>(X_NUMERATOR1, X_NUMERATOR2), isG1<G>() ? 12 : 4);
  evaluate<G>(XD, constant<G>(X_DENOMINATOR1, X_DENOMINATOR2), isG1<G>() ? 11 : 3);
  evaluate<G>(YN, constant<G>(Y_NUMERATOR1, Y_NUMERATOR2), isG1<G>() ? 16 : 4);
  evaluate<G>(YD, constant<G>(Y_DENOMINATOR1, Y_DENOMINATOR2), isG1<G>() ? 16 : 4);
  // Z = xd yd, X = xn/xd Z² = xn xd yd², Y = y yn/yd Z³ = y yn xd³ yd²
  multiply<G>(out + 2 * coordinateSize<G>(), XD, YD);
  square<G>(YD, YD);
  multiply<G>(T1, XD, YD); // xd yd²
  multiply<G>(out, XN, T1);
  square<G>(XD, XD);
  multiply<G>(T1, T1, XD);
  multiply<G>(T1, T1, YN);
  multiply<G>(out + coordinateSize<G>(), T1, Y);
}

const P: usize = memory.data(384, 16);

/** Jacobian out ← the point of G1 for an element of Fp; cofactor 1 − x */
export function mapToG1(out: usize, u: usize): void {
  simplifiedSwu<G1>(u);
  isogeny<G1>(P);
  timesParameter<G1>(out, P);
  addPoints<G1>(out, out, P);
}

const PSI_P: usize = memory.data(384, 16);
const TIMES: usize = memory.data(384, 16);

function psi(out: usize, p: usize): void {
  psiX(out, p);
  psiY(out + FP2_SIZE, p + FP2_SIZE);
  fp2Conjugate(out + 2 * FP2_SIZE, p + 2 * FP2_SIZE);
}

/** Jacobian out ← the point of G2 for an element of Fp2; the cofactor as ψ²(2p) + x·(x·p + ψ(p)) − x·p − ψ(p) − p (RFC 9380 appendix G.3) */
export function mapToG2(out: usize, u: usize): void {
  simplifiedSwu<G2>(u);
  isogeny<G2>(P);
  timesParameter<G2>(TIMES, P);
  negatePoint<G2>(TIMES, TIMES); // x·p
  psi(PSI_P, P);
  addPoints<G2>(TIMES, TIMES, PSI_P); // x·p + ψ(p)
  double<G2>(out, P);
  psi(out, out);
  psi(out, out);
  addPoints<G2>(P, P, TIMES);
  negatePoint<G2>(P, P);
  addPoints<G2>(out, out, P);
  timesParameter<G2>(TIMES, TIMES);
  negatePoint<G2>(TIMES, TIMES);
  addPoints<G2>(out, out, TIMES);
}
