import { flzCompressLength } from "./fastlz.ts";

declare const unit: unique symbol;

/**
 * Estimated size on L1 in whole bytes. The type is a unit: only the functions here create it, so it cannot be compared with a
 * scaled estimate or another size. Add with `sumDaBytes`.
 */
export type DaBytes = number & { readonly [unit]: "estimated bytes on L1" };

/** The estimate in millionths of a byte, the unit of Fjord's formula. */
export type DaMicrobytes = bigint & { readonly [unit]: "millionths of an estimated byte on L1" };

const MICROBYTES_PER_BYTE = 1_000_000n;
/** Fjord's formula: slope and intercept of a linear regression, and the minimum. */
const MICROBYTES_PER_FLZ_BYTE = 836_500;
const INTERCEPT_MICROBYTES = -42_585_600;
const LEAST_MICROBYTES = 100_000_000;

const estimates = new WeakMap<Uint8Array, DaMicrobytes>();

/**
 * Estimated size of a transaction in a compressed batch (Fjord). Spec: docs/protocol/01-execution.md#transaction-data-metrics
 *
 * PERF: cached per array, because L1 cost, DA footprint, block builder and receipts all need it.
 *
 * @param encodedTx complete EIP-2718 encoding, with the signature
 */
export function estimatedDaMicrobytes(encodedTx: Uint8Array): DaMicrobytes {
  let estimate = estimates.get(encodedTx);
  if (estimate === undefined) {
    estimate = daMicrobytesOfFlz(flzCompressLength(encodedTx));
    estimates.set(encodedTx, estimate);
  }
  return estimate;
}

/** `estimatedDaMicrobytes` from a FastLZ length in bytes. */
export function daMicrobytesOfFlz(flzLength: number): DaMicrobytes {
  return BigInt(Math.max(LEAST_MICROBYTES, MICROBYTES_PER_FLZ_BYTE * flzLength + INTERCEPT_MICROBYTES)) as DaMicrobytes;
}

/** The estimate in whole bytes, rounded down. */
export function estimatedDaBytes(encodedTx: Uint8Array): DaBytes {
  return Number(estimatedDaMicrobytes(encodedTx) / MICROBYTES_PER_BYTE) as DaBytes;
}

/** The estimate as gas: 16 per byte, rounded down once. */
export function estimatedDaGas(encodedTx: Uint8Array): bigint {
  return (estimatedDaMicrobytes(encodedTx) * 16n) / MICROBYTES_PER_BYTE;
}

/** A fee in wei. @param feePerByte wei per byte, times 16 and times 10^6: a base fee with scalars in millionths, for 16 gas a byte */
export function estimatedDaFee(encodedTx: Uint8Array, feePerByte: bigint): bigint {
  return (estimatedDaMicrobytes(encodedTx) * feePerByte) / (MICROBYTES_PER_BYTE * 1_000_000n);
}

/** A size in whole bytes, from an option or an RPC parameter; at most 2^53 − 1. */
export function daBytes(bytes: number | bigint): DaBytes {
  return Math.min(Number(bytes), Number.MAX_SAFE_INTEGER) as DaBytes;
}

export function sumDaBytes(sizes: Iterable<DaBytes>): DaBytes {
  let sum = 0;
  for (const size of sizes) sum += size;
  return sum as DaBytes;
}
