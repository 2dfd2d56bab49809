import type { RollupBlockRules } from "../forks/op-forks.ts";
import { isDepositTransaction } from "../transactions/deposits.ts";
import { isPostExecTransaction } from "../transactions/post-exec.ts";
import { estimatedDaBytes, estimatedDaFee, estimatedDaGas } from "./da-size.ts";

/** Fee parameters of one L2 block, as its L1Block contract has them after the first deposit. Fields that a fork lacks are 0. */
export interface L1FeeParams {
  /** wei */
  readonly l1BaseFee: bigint;
  /** wei; from Ecotone */
  readonly blobBaseFee: bigint;
  /** Ecotone's scalars, with six decimals */
  readonly baseFeeScalar: bigint;
  readonly blobBaseFeeScalar: bigint;
  /** before Ecotone */
  readonly overhead: bigint;
  /** before Ecotone; with six decimals */
  readonly scalar: bigint;
  /** from Isthmus */
  readonly operatorFeeScalar: bigint;
  readonly operatorFeeConstant: bigint;
  /** from Jovian; 0 if the attributes have an older layout */
  readonly daFootprintGasScalar: bigint;
}

const FEE_SLOTS = { l1BaseFee: 1, scalars: 3, overhead: 5, scalar: 6, blobBaseFee: 7, operatorFee: 8 } as const;
const U64 = (1n << 64n) - 1n;
const U32 = (1n << 32n) - 1n;
const U16 = (1n << 16n) - 1n;

export type FeeRules = Pick<
  RollupBlockRules,
  | "acceptsDeposits"
  | "l1FeeSignatureBytes"
  | "l1FeeCountsBlobs"
  | "l1FeeEstimatesCompression"
  | "hasOperatorFee"
  | "operatorFeeFactor"
  | "hasDaFootprint"
>;

/**
 * Fee parameters from the storage of the L1Block predeploy. Spec: docs/protocol/01-execution.md#where-parameters-are-read
 *
 * @param readSlot the value of a storage slot (0 to 8) as an unsigned integer
 * @param rules only the slots of the block's fork are read, because a witness has no others; the rest is 0. Without rules all
 * slots are read.
 */
export function l1FeeParamsFromL1BlockStorage(readSlot: (slot: number) => bigint, rules?: FeeRules): L1FeeParams {
  // Bits are counted from the end of a word: byte 31 has bits 0 to 7.
  const countsBlobs = rules?.l1FeeCountsBlobs ?? true;
  const hasOperatorFee = rules?.hasOperatorFee ?? true;
  const scalars = countsBlobs ? readSlot(FEE_SLOTS.scalars) : 0n;
  const operatorFee = hasOperatorFee ? readSlot(FEE_SLOTS.operatorFee) : 0n;
  const params = {
    l1BaseFee: readSlot(FEE_SLOTS.l1BaseFee),
    blobBaseFee: countsBlobs ? readSlot(FEE_SLOTS.blobBaseFee) : 0n,
    baseFeeScalar: (scalars >> 96n) & U32, // bytes 16–19
    blobBaseFeeScalar: (scalars >> 64n) & U32, // bytes 20–23
    overhead: 0n,
    scalar: 0n,
    operatorFeeScalar: (operatorFee >> 64n) & U32, // bytes 20–23
    operatorFeeConstant: operatorFee & U64, // bytes 24–31
    daFootprintGasScalar: (operatorFee >> 96n) & U16, // bytes 18–19
  };
  if (rules !== undefined && !usesOneScalar(rules, params)) return params;
  return { ...params, overhead: readSlot(FEE_SLOTS.overhead), scalar: readSlot(FEE_SLOTS.scalar) };
}

/** Only rollups accept deposits, and only they have these fees. */
const paysNothing = (rules: FeeRules, encodedTx: Uint8Array): boolean => !rules.acceptsDeposits || isDepositTransaction(encodedTx);

function calldataGas(rules: FeeRules, encodedTx: Uint8Array): bigint {
  let zeroes = 0;
  for (let i = 0; i < encodedTx.length; i++) if (encodedTx[i] === 0) zeroes++;
  const nonzeroes = encodedTx.length - zeroes + rules.l1FeeSignatureBytes;
  return BigInt(4 * zeroes + 16 * nonzeroes);
}

/** Ecotone's activation block has Bedrock's L1 attributes, so all of Ecotone's parameters are 0. */
function usesOneScalar(rules: FeeRules, params: L1FeeParams): boolean {
  if (!rules.l1FeeCountsBlobs) return true;
  return params.blobBaseFee === 0n && params.baseFeeScalar === 0n && params.blobBaseFeeScalar === 0n;
}

/**
 * The L1 data fee of a transaction in wei; 0 for deposits and on Ethereum chains. Spec: docs/protocol/01-execution.md#l1-cost
 *
 * @param encodedTx complete EIP-2718 encoding, with the signature
 */
export function l1Cost(rules: FeeRules, params: L1FeeParams, encodedTx: Uint8Array): bigint {
  if (paysNothing(rules, encodedTx)) return 0n;
  if (usesOneScalar(rules, params)) {
    return ((calldataGas(rules, encodedTx) + params.overhead) * params.l1BaseFee * params.scalar) / 1_000_000n;
  }
  const feeScaled = 16n * params.l1BaseFee * params.baseFeeScalar + params.blobBaseFee * params.blobBaseFeeScalar;
  if (!rules.l1FeeEstimatesCompression) return (calldataGas(rules, encodedTx) * feeScaled) / 16_000_000n;
  return estimatedDaFee(encodedTx, feeScaled);
}

/** The `l1GasUsed` of receipts. */
export function l1GasUsed(rules: FeeRules, params: L1FeeParams, encodedTx: Uint8Array): bigint {
  if (paysNothing(rules, encodedTx)) return 0n;
  if (usesOneScalar(rules, params)) return calldataGas(rules, encodedTx) + params.overhead;
  if (!rules.l1FeeEstimatesCompression) return calldataGas(rules, encodedTx);
  return estimatedDaGas(encodedTx);
}

const UINT256_MAX = (1n << 256n) - 1n;

/** The operator's fee in wei for an amount of gas; the caller exempts deposits. Spec: docs/protocol/01-execution.md#operator-fee */
export function operatorFee(rules: FeeRules, params: L1FeeParams, gas: bigint): bigint {
  if (!rules.hasOperatorFee) return 0n;
  const { multiplier, divisor } = rules.operatorFeeFactor;
  const fee = (gas * params.operatorFeeScalar * multiplier) / divisor + params.operatorFeeConstant;
  return fee > UINT256_MAX ? UINT256_MAX : fee;
}

/**
 * The DA footprint of one transaction in gas; 0 for deposits and post-exec transactions. The header's `blobGasUsed` is the sum over the block from Jovian on. Spec:
 * docs/protocol/01-execution.md#da-footprint
 */
export function daFootprint(rules: FeeRules, params: L1FeeParams, encodedTx: Uint8Array): bigint {
  if (paysNothing(rules, encodedTx) || isPostExecTransaction(encodedTx) || !rules.hasDaFootprint) return 0n;
  return daFootprintOf(params, encodedTx);
}

/** The footprint of any transaction, even if the rules define none for it. */
export function daFootprintOf({ daFootprintGasScalar }: Pick<L1FeeParams, "daFootprintGasScalar">, encodedTx: Uint8Array): bigint {
  return BigInt(estimatedDaBytes(encodedTx)) * daFootprintGasScalar;
}
