import { CodedError, uint64ToBytes } from "@rnode/primitives";

export type ExtraDataErrorCode =
  | "extra-data/wrong-length"
  | "extra-data/wrong-version"
  | "extra-data/zero-denominator"
  | "extra-data/zero-elasticity";

/** EIP-1559 parameters of one block; `minBaseFee` is in wei and undefined before the fork that introduces it. */
export interface Eip1559Params {
  readonly denominator: number;
  readonly elasticity: number;
  readonly minBaseFee: bigint | undefined;
}

/** First byte of a header's extraData. */
export type ExtraDataVersion = 0 | 1;
const LENGTH_BYTES: Readonly<Record<ExtraDataVersion, number>> = { 0: 9, 1: 17 };

export const extraDataBytes = (version: ExtraDataVersion): number => LENGTH_BYTES[version];

/** Whether extraData of this version holds the minimum base fee. */
export const hasMinBaseFee = (version: ExtraDataVersion | undefined): boolean => version === 1;

/**
 * A header's extraData: version 0 is `00 ‖ denominator u32 ‖ elasticity u32`, version 1 `01 ‖ … ‖ minBaseFee u64`.
 * Spec: docs/protocol/01-execution.md#base-fee
 */
export function encodeEip1559ExtraData({ denominator, elasticity, minBaseFee }: Eip1559Params): Uint8Array {
  const extraData = new Uint8Array(LENGTH_BYTES[minBaseFee === undefined ? 0 : 1]);
  const view = new DataView(extraData.buffer);
  view.setUint32(1, denominator);
  view.setUint32(5, elasticity);
  if (minBaseFee !== undefined) {
    extraData[0] = 1;
    extraData.set(uint64ToBytes(minBaseFee), 9);
  }
  return extraData;
}

/**
 * Decodes the parameters without validation, because a genesis can have 0/0.
 *
 * @throws {CodedError} extra-data/wrong-length, extra-data/wrong-version
 */
export function decodeEip1559ExtraData(extraData: Uint8Array, version: ExtraDataVersion): Eip1559Params {
  const length = LENGTH_BYTES[version];
  if (extraData.length !== length) {
    throw new CodedError<ExtraDataErrorCode>("extra-data/wrong-length", { expected: length, got: extraData.length });
  }
  if (extraData[0] !== version) {
    throw new CodedError<ExtraDataErrorCode>("extra-data/wrong-version", { expected: version, got: extraData[0]! });
  }
  const view = new DataView(extraData.buffer, extraData.byteOffset, extraData.byteLength);
  return {
    denominator: view.getUint32(1),
    elasticity: view.getUint32(5),
    minBaseFee: hasMinBaseFee(version) ? view.getBigUint64(9) : undefined,
  };
}

/** Rejects parameters that the specification does not allow in a block. @throws {CodedError} extra-data/* */
export function assertEip1559ExtraData(extraData: Uint8Array, version: ExtraDataVersion): void {
  const { denominator, elasticity } = decodeEip1559ExtraData(extraData, version);
  if (denominator === 0) throw new CodedError<ExtraDataErrorCode>("extra-data/zero-denominator");
  if (elasticity === 0) throw new CodedError<ExtraDataErrorCode>("extra-data/zero-elasticity");
}

/** `eip1559Params` of payload attributes and of the system config: denominator u32 ‖ elasticity u32. */
export function decodeEip1559Params(params: Uint8Array): { denominator: number; elasticity: number } {
  if (params.length !== 8) throw new CodedError<ExtraDataErrorCode>("extra-data/wrong-length", { expected: 8, got: params.length });
  const view = new DataView(params.buffer, params.byteOffset, params.byteLength);
  return { denominator: view.getUint32(0), elasticity: view.getUint32(4) };
}

/** The inverse of `decodeEip1559Params`. */
export function encodeEip1559Params(denominator: number, elasticity: number): Uint8Array {
  const params = new Uint8Array(8);
  const view = new DataView(params.buffer);
  view.setUint32(0, denominator);
  view.setUint32(4, elasticity);
  return params;
}

/**
 * The extraData of a block with the attributes' `eip1559Params`; if both are zero, the chain's own parameters apply.
 *
 * @param minBaseFee `undefined`: version 0
 * @throws {CodedError} extra-data/wrong-length, extra-data/zero-denominator, extra-data/zero-elasticity (only one of the two is
 * 0)
 */
export function extraDataFromAttributes(
  eip1559Params: Uint8Array,
  chainParams: Pick<Eip1559Params, "denominator" | "elasticity">,
  minBaseFee: bigint | undefined,
): Uint8Array {
  const given = decodeEip1559Params(eip1559Params);
  if (given.denominator === 0 && given.elasticity === 0) {
    return encodeEip1559ExtraData({ denominator: chainParams.denominator, elasticity: chainParams.elasticity, minBaseFee });
  }
  if (given.denominator === 0) throw new CodedError<ExtraDataErrorCode>("extra-data/zero-denominator");
  if (given.elasticity === 0) throw new CodedError<ExtraDataErrorCode>("extra-data/zero-elasticity");
  return encodeEip1559ExtraData({ ...given, minBaseFee });
}
