/**
 * The module of the BLS12-381 precompiles (EIP-2537), with its own memory. Inputs and outputs are at `buffer()`. Functions return
 * 0 for an invalid input.
 */
import { G1, G2 } from "./coordinates";
import { addBothAffine, affineSize } from "./curve";
import {
  BAD,
  INFINITY,
  POINT,
  pointBytes,
  readField,
  readField2,
  readPoint,
  writeAffine,
  writeInfinity,
  writePoint,
} from "./encoding";
import { FP_SIZE, fpAdd, fpDouble, fpIsOdd, fpMultiply, fpNegate, fpRead, fpSquare, CURVE_B } from "./field";
import { mapToG1, mapToG2, root } from "./map";
import { multiplyScalars } from "./msm";
import { beginPairing, isPairingOne, MAX_PAIRS, multiplyPairings, PAIR_Q, PAIR_SIZE, PAIR_SKIP, PAIRS } from "./pairing";
import { isInG1 } from "./subgroup";

/** Above the static data (--memoryBase). */
@inline function start(): usize {
  return (__heap_base + 15) & ~15;
}

export function buffer(): usize {
  return start();
}

/** Makes room for `bytes` at `buffer()`. */
export function reserve(bytes: usize): bool {
  const missing = <i32>((start() + bytes + 0xffff) >>> 16) - memory.size();
  return missing <= 0 || memory.grow(missing) >= 0;
}

const P: usize = memory.data(384, 16);
const Q: usize = memory.data(384, 16);
const U: usize = memory.data(128, 16);

function addition<G>(bytes: usize): bool {
  const p = readPoint<G>(P, bytes);
  const q = readPoint<G>(Q, bytes + pointBytes<G>());
  if (p == BAD || q == BAD) return false;
  if (p == INFINITY && q == INFINITY) writeInfinity<G>(bytes);
  else if (q == INFINITY) writeAffine<G>(bytes, P);
  else if (p == INFINITY) writeAffine<G>(bytes, Q);
  else if (addBothAffine<G>(P, P, Q)) writeAffine<G>(bytes, P);
  else writeInfinity<G>(bytes);
  return true;
}

/** Two points → their sum */
export function g1Add(bytes: usize): bool {
  return addition<G1>(bytes);
}

export function g2Add(bytes: usize): bool {
  return addition<G2>(bytes);
}

/** Compressed point (48 bytes, the highest bits: compressed, infinity, the larger y) of any order → point */
export function g1Decompress(bytes: usize): bool {
  const flags = load<u8>(bytes);
  if ((flags & 0x80) == 0) return false;
  store<u8>(bytes, flags & 0x1f);
  if (flags & 0x40) {
    for (let i: usize = 0; i < 48; i += 8) if (load<u64>(bytes + i) != 0) return false;
    writeInfinity<G1>(bytes);
    return (flags & 0x20) == 0;
  }
  if (!fpRead(P, bytes)) return false;
  const y = P + FP_SIZE;
  fpSquare(U, P);
  fpMultiply(U, U, P);
  fpAdd(U, U, CURVE_B);
  if (!root(y, U)) return false;
  // of y and p − y, the larger is the one whose double exceeds p, so that the rest is odd
  fpDouble(U, y);
  if (fpIsOdd(U) != ((flags & 0x20) != 0)) fpNegate(y, y);
  writeAffine<G1>(bytes, P);
  return true;
}

/** `count` times point ‖ scalar → sum of products */
export function g1Msm(bytes: usize, count: usize): bool {
  return multiplyScalars<G1>(bytes, count);
}

export function g2Msm(bytes: usize, count: usize): bool {
  return multiplyScalars<G2>(bytes, count);
}

/** Element → point */
export function mapFpToG1(bytes: usize): bool {
  if (!readField(U, bytes)) return false;
  mapToG1(P, U);
  writePoint<G1>(bytes, P);
  return true;
}

export function mapFp2ToG2(bytes: usize): bool {
  if (!readField2(U, bytes)) return false;
  mapToG2(P, U);
  writePoint<G2>(bytes, P);
  return true;
}

const TIMES: usize = memory.data(192, 16);

/** `count` pairs of points. @returns 2 if the product of the pairings is one, 1 if not, 0 for an invalid input */
export function pairing(bytes: usize, count: i32): i32 {
  beginPairing();
  let used = 0;
  for (let i = 0; i < count; i++) {
    const pair = PAIRS + <usize>used * PAIR_SIZE;
    const p = readPoint<G1>(pair, bytes);
    if (p == BAD || (p == POINT && !isInG1(pair, TIMES))) return 0;
    bytes += pointBytes<G1>();
    const q = readPoint<G2>(pair + PAIR_Q, bytes);
    if (q == BAD) return 0;
    bytes += pointBytes<G2>();
    if (q == POINT) {
      // the Miller loop finds out whether Q is in the subgroup, so a pair with P at infinity takes part
      store<u32>(pair + PAIR_SKIP, <u32>(p == INFINITY));
      used++;
    }
    if (used == MAX_PAIRS || (i == count - 1 && used > 0)) {
      if (!multiplyPairings(used)) return 0;
      used = 0;
    }
  }
  return isPairingOne() ? 2 : 1;
}
