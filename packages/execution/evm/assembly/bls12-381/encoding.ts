/** Field elements and points in the encoding of EIP-2537: 64 bytes per field element, big-endian, the first 16 being zero. */
import { FP_SIZE, fpRead, fpWrite } from "./field";
import { coordinateSize, isG1, isZero } from "./coordinates";
import { affineSize, isOnCurve, toAffine } from "./curve";

export const FIELD_BYTES: usize = 64;
const PADDING: usize = 16;

/** @returns whether it is below the modulus and the padding is zero */
export function readField(out: usize, bytes: usize): bool {
  return (load<u64>(bytes) | load<u64>(bytes, 8)) == 0 && fpRead(out, bytes + PADDING);
}

export function readField2(out: usize, bytes: usize): bool {
  return readField(out, bytes) && readField(out + FP_SIZE, bytes + FIELD_BYTES);
}

function writeField(bytes: usize, a: usize): void {
  store<u64>(bytes, 0);
  store<u64>(bytes, 0, 8);
  fpWrite(bytes + PADDING, a);
}

@inline export function pointBytes<G>(): usize {
  return isG1<G>() ? 2 * FIELD_BYTES : 4 * FIELD_BYTES;
}

export const BAD: i32 = 0;
export const POINT: i32 = 1;
export const INFINITY: i32 = 2;

/** A point on the curve, affine, of any order; infinity is zeros. @returns BAD, POINT or INFINITY */
export function readPoint<G>(out: usize, bytes: usize): i32 {
  for (let i: usize = 0, from = bytes; i < affineSize<G>(); i += FP_SIZE, from += FIELD_BYTES) {
    if (!readField(out + i, from)) return BAD;
  }
  if (isZero<G>(out) && isZero<G>(out + coordinateSize<G>())) return INFINITY;
  return isOnCurve<G>(out) ? POINT : BAD;
}

export function writeAffine<G>(bytes: usize, p: usize): void {
  for (let i: usize = 0; i < affineSize<G>(); i += FP_SIZE, bytes += FIELD_BYTES) writeField(bytes, p + i);
}

export function writeInfinity<G>(bytes: usize): void {
  memory.fill(bytes, 0, pointBytes<G>());
}

const AFFINE: usize = memory.data(256, 16);

/** p Jacobian */
export function writePoint<G>(bytes: usize, p: usize): void {
  if (toAffine<G>(AFFINE, p)) writeAffine<G>(bytes, AFFINE);
  else writeInfinity<G>(bytes);
}
