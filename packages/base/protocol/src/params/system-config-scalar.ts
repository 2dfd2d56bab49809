import { bigintToBytes, bytesToBigint, concatBytes, isZeroBytes } from "@rnode/primitives";

const VERSION_BEDROCK = 0;
const VERSION_ECOTONE = 1;

export interface FeeScalars {
  readonly baseFeeScalar: number;
  readonly blobBaseFeeScalar: number;
}

/** Whether SystemConfig.scalar has a known version, and zeros in the bytes that this version does not use. */
export function isFeeScalarValid(scalar: Uint8Array): boolean {
  if (scalar[0] === VERSION_BEDROCK) return isZeroBytes(scalar.subarray(1, 28));
  return scalar[0] === VERSION_ECOTONE && isZeroBytes(scalar.subarray(1, 24));
}

/**
 * The two fee scalars in SystemConfig.scalar, from Ecotone on. A Bedrock scalar becomes the base fee scalar, or the largest value
 * if it does not fit. Spec: docs/protocol/02-derivation.md#l1-info-deposit
 */
export function decodeFeeScalar(scalar: Uint8Array): FeeScalars {
  if (!isFeeScalarValid(scalar)) return { baseFeeScalar: 0xffff_ffff, blobBaseFeeScalar: 0 };
  const blobBaseFeeScalar = scalar[0] === VERSION_BEDROCK ? 0 : Number(bytesToBigint(scalar.subarray(24, 28)));
  return { baseFeeScalar: Number(bytesToBigint(scalar.subarray(28, 32))), blobBaseFeeScalar };
}

/** SystemConfig.scalar for the two fee scalars: version 1, 32 bytes. */
export function encodeFeeScalar({ baseFeeScalar, blobBaseFeeScalar }: FeeScalars): Uint8Array {
  const padding = new Uint8Array(23);
  return concatBytes(
    Uint8Array.of(VERSION_ECOTONE),
    padding,
    bigintToBytes(BigInt(blobBaseFeeScalar), 4),
    bigintToBytes(BigInt(baseFeeScalar), 4),
  );
}
