import { CodedError } from "@rnode/primitives";
import type { Header } from "../blocks/block.ts";
import type { ChainConfig } from "../chains/chain-config.ts";
import { rollupRulesAt } from "../forks/fork-times.ts";
import type { BlobParams } from "../params/blob-params.ts";
import { decodeEip1559ExtraData, type Eip1559Params } from "../params/eip1559-params.ts";
import { blobParamsAt, blockRules } from "./block-rules.ts";

export type BaseFeeErrorCode = "base-fee/missing-blob-params";

/** Base fee of the first London block, wei. */
export const INITIAL_BASE_FEE = 1_000_000_000n;
const ETHEREUM_ELASTICITY = 2;
const ETHEREUM_DENOMINATOR = 8;

/** The fields of the parent's header for the next base fee. */
export type BaseFeeParent = Pick<Header, "gasLimit" | "gasUsed" | "timestamp" | "extraData" | "baseFeePerGas" | "blobGasUsed">;

/**
 * Base fee of the child of `parent`, in wei; on Ethereum chains only from London on. Spec: docs/protocol/01-execution.md#base-fee
 *
 * @throws {CodedError} extra-data/* if the parent's header lacks the EIP-1559 parameters of its fork
 */
export function nextBaseFee(config: ChainConfig, parent: BaseFeeParent, childTimestampSec: number): bigint {
  const baseFee = parent.baseFeePerGas;
  if (baseFee === undefined) return INITIAL_BASE_FEE;
  const { denominator, elasticity, minBaseFee } = baseFeeParams(config, parent, childTimestampSec);
  // On chains with a minimum base fee, the parent's `blobGasUsed` is its DA footprint.
  const daGas = minBaseFee === undefined ? 0n : (parent.blobGasUsed ?? 0n);
  const metered = parent.gasUsed > daGas ? parent.gasUsed : daGas;
  const next = steppedBaseFee(baseFee, parent.gasLimit / BigInt(elasticity), metered, BigInt(denominator));
  return minBaseFee !== undefined && next < minBaseFee ? minBaseFee : next;
}

function steppedBaseFee(baseFee: bigint, target: bigint, metered: bigint, denominator: bigint): bigint {
  if (metered === target || target === 0n) return baseFee;
  if (metered > target) {
    const rise = (baseFee * (metered - target)) / target / denominator;
    return baseFee + (rise > 1n ? rise : 1n);
  }
  const fall = (baseFee * (target - metered)) / target / denominator;
  return fall < baseFee ? baseFee - fall : 0n;
}

function baseFeeParams(config: ChainConfig, parent: BaseFeeParent, childTimestampSec: number): Eip1559Params {
  const { optimism } = config;
  if (optimism === undefined) {
    return { denominator: ETHEREUM_DENOMINATOR, elasticity: ETHEREUM_ELASTICITY, minBaseFee: undefined };
  }
  const { extraDataVersion } = rollupRulesAt(optimism.forkTimes, parent.timestamp);
  if (extraDataVersion !== undefined) {
    const params = decodeEip1559ExtraData(parent.extraData, extraDataVersion);
    // A genesis file may have 0/0, which selects the chain's parameters.
    if (params.denominator !== 0 || params.elasticity !== 0) return params;
    return { ...chainEip1559Params(optimism, childTimestampSec), minBaseFee: params.minBaseFee };
  }
  return chainEip1559Params(optimism, childTimestampSec);
}

/** The chain's own EIP-1559 parameters at a time. */
export function chainEip1559Params(optimism: NonNullable<ChainConfig["optimism"]>, timestampSec: number): Eip1559Params {
  return {
    denominator: optimism[rollupRulesAt(optimism.forkTimes, timestampSec).eip1559DenominatorField],
    elasticity: optimism.eip1559Elasticity,
    minBaseFee: undefined,
  };
}

const MIN_BLOB_BASE_FEE = 1n;
export const GAS_PER_BLOB = 131_072n;
/** EIP-7918: the minimum execution gas per blob. */
const BLOB_BASE_COST = 8192n;

/** Wei per blob gas. @param excessBlobGas of the block's header */
export function blobBaseFee(excessBlobGas: bigint, updateFraction: bigint): bigint {
  return fakeExponential(MIN_BLOB_BASE_FEE, excessBlobGas, updateFraction);
}

/** factor × e^(numerator ÷ denominator), by the integer series of EIP-4844. */
function fakeExponential(factor: bigint, numerator: bigint, denominator: bigint): bigint {
  let sum = 0n;
  let term = factor * denominator;
  for (let i = 1n; term > 0n; i++) {
    sum += term;
    term = (term * numerator) / (denominator * i);
  }
  return sum / denominator;
}

/**
 * `excessBlobGas` of the child of `parent` on an Ethereum chain: EIP-4844, from Osaka with EIP-7918's lower bound.
 *
 * @throws {CodedError} base-fee/missing-blob-params if no blob limits are configured at the child's time
 */
export function nextExcessBlobGas(
  config: ChainConfig,
  parent: Pick<Header, "blobGasUsed" | "excessBlobGas" | "baseFeePerGas">,
  childTimestampSec: number,
): bigint {
  const params = blobParamsAt(config, childTimestampSec);
  if (params === undefined) {
    throw new CodedError<BaseFeeErrorCode>("base-fee/missing-blob-params", { timestampSec: childTimestampSec });
  }
  const used = parent.blobGasUsed ?? 0n;
  const excess = parent.excessBlobGas ?? 0n;
  const target = BigInt(params.target) * GAS_PER_BLOB;
  if (excess + used < target) return 0n;
  const { bindsBlobFeeToBaseFee } = blockRules(config, { number: 0, timestamp: childTimestampSec, isPostMerge: true });
  if (bindsBlobFeeToBaseFee && isBlobCheaperThanExecution(params, excess, parent.baseFeePerGas ?? 0n)) {
    return excess + (used * BigInt(params.max - params.target)) / BigInt(params.max);
  }
  return excess + used - target;
}

function isBlobCheaperThanExecution(params: BlobParams, excess: bigint, baseFee: bigint): boolean {
  return BLOB_BASE_COST * baseFee > GAS_PER_BLOB * blobBaseFee(excess, params.baseFeeUpdateFraction);
}
