/**
 * L1's gas for a transaction to an account without code that is not its sender, with only data, value or blobs. By the time of
 * its block: EIP-2028, EIP-7623 (Prague), EIP-2780 with EIP-7976 (Amsterdam). Spec: docs/protocol/05-services.md#channel-building
 */
export interface L1DataPricing {
  readonly baseGas: number;
  /** in addition, if the transaction carries value */
  readonly valueGas: number;
  /** minimum gas of a zero byte and of a non-zero byte; both 0: there is no floor */
  readonly floorGasPerZero: number;
  readonly floorGasPerNonzero: number;
}

const GAS_PER_ZERO = 4;
const GAS_PER_NONZERO = 16;

/** In the order of L1's forks. */
const WITHOUT_FLOOR: L1DataPricing = { baseGas: 21_000, valueGas: 0, floorGasPerZero: 0, floorGasPerNonzero: 0 };
const FLOOR_BY_TOKENS: L1DataPricing = { baseGas: 21_000, valueGas: 0, floorGasPerZero: 10, floorGasPerNonzero: 40 };
const FLOOR_BY_BYTES: L1DataPricing = { baseGas: 15_000, valueGas: 6000, floorGasPerZero: 64, floorGasPerNonzero: 64 };
export const L1_DATA_PRICINGS = [WITHOUT_FLOOR, FLOOR_BY_TOKENS, FLOOR_BY_BYTES] as const;

/** EIP-7825: the maximum of intrinsic gas and floor. */
export const MAX_L1_TRANSACTION_GAS = 16_777_216;

/** The current pricing, by the fields of an L1 header. */
export function l1DataPricing(header: {
  readonly requestsHash?: Uint8Array | undefined;
  readonly blockAccessListHash?: Uint8Array | undefined;
}): L1DataPricing {
  if (header.blockAccessListHash !== undefined) return FLOOR_BY_BYTES;
  return header.requestsHash === undefined ? WITHOUT_FLOOR : FLOOR_BY_TOKENS;
}

/** The gas of a transaction with this data. */
export function l1DataGas(pricing: L1DataPricing, data: Uint8Array, hasValue = false): bigint {
  let zeroes = 0;
  for (let i = 0; i < data.length; i++) if (data[i] === 0) zeroes++;
  const nonzeroes = data.length - zeroes;
  const intrinsic = zeroes * GAS_PER_ZERO + nonzeroes * GAS_PER_NONZERO;
  const floor = zeroes * pricing.floorGasPerZero + nonzeroes * pricing.floorGasPerNonzero;
  return BigInt(pricing.baseGas + (hasValue ? pricing.valueGas : 0) + Math.max(intrinsic, floor));
}

/** A gas limit that suffices under every pricing. Unused gas is refunded. */
export function l1DataGasLimit(data: Uint8Array, hasValue = false): bigint {
  let most = 0n;
  for (const pricing of L1_DATA_PRICINGS) {
    const gas = l1DataGas(pricing, data, hasValue);
    if (gas > most) most = gas;
  }
  return most;
}

/** The maximum number of bytes, of any value, that a transaction can have under every pricing. */
export const MAX_L1_CALLDATA_BYTES = Math.min(
  ...L1_DATA_PRICINGS.map(({ baseGas, floorGasPerNonzero }) =>
    Math.floor((MAX_L1_TRANSACTION_GAS - baseGas) / Math.max(GAS_PER_NONZERO, floorGasPerNonzero)),
  ),
);
