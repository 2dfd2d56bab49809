import { bytesToHex, ZERO_ADDRESS } from "@rnode/primitives";
import { type BlockRules, checkContents, GAS_PER_BLOB } from "@rnode/protocol";
import type { CallRequest } from "../params/call-request.ts";
import type { ContentsDetails, Profile, ValidityFault } from "../profile/profile.ts";

/** The rules of the block in which a call runs, and its fees in wei. */
export interface CallSurroundings {
  readonly rules: BlockRules;
  readonly baseFeePerGas: bigint;
  readonly blobBaseFee: bigint;
}

const addressOf = ({ from }: CallRequest): string => bytesToHex(from ?? ZERO_ADDRESS);

/** The most that a call offers per unit of gas, wei; 0 without fees. */
export function feeCapOf(
  { calls }: Profile,
  { gasPrice, maxFeePerGas, maxPriorityFeePerGas }: CallRequest,
  baseFeeWei: bigint,
): bigint {
  const given = gasPrice ?? maxFeePerGas;
  if (given !== undefined) return given;
  return maxPriorityFeePerGas !== undefined && calls.tipAloneOffersBaseFee ? baseFeeWei + maxPriorityFeePerGas : 0n;
}

/** The price of a call per unit of gas, in wei. */
export function gasPriceOf(profile: Profile, request: CallRequest, baseFeeWei: bigint): bigint {
  const cap = feeCapOf(profile, request, baseFeeWei);
  if (request.gasPrice !== undefined || cap === 0n) return cap;
  const offered = baseFeeWei + (request.maxPriorityFeePerGas ?? 0n);
  return offered < cap ? offered : cap;
}

/**
 * Why the transaction that a call stands for has fees that no block accepts.
 *
 * @param mustPay a call without fees is below the base fee; default: it pays nothing and has no fault
 */
export function feeFault(
  profile: Profile,
  request: CallRequest,
  { baseFeePerGas }: CallSurroundings,
  mustPay = false,
): ValidityFault | undefined {
  const { calls } = profile;
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = request;
  if (gasPrice !== undefined && (maxFeePerGas !== undefined || maxPriorityFeePerGas !== undefined))
    return { kind: "both-fee-models" };
  const address = addressOf(request);
  const cap = feeCapOf(profile, request, baseFeePerGas);
  const tip = gasPrice ?? maxPriorityFeePerGas ?? 0n;
  const isCompared = mustPay || (cap !== 0n && (gasPrice === undefined || calls.comparesGasPrice));
  const isBelowBaseFee = isCompared && cap < baseFeePerGas;
  const belowBaseFee = isBelowBaseFee
    ? ({ kind: "fee-below-base-fee", address, maxFeeWei: cap, baseFeeWei: baseFeePerGas } as const)
    : undefined;
  if (belowBaseFee !== undefined && calls.comparesBaseFeeFirst) return belowBaseFee;
  if (tip > cap) return { kind: "tip-above-fee-cap", address, tipWei: tip, maxFeeWei: cap };
  return belowBaseFee;
}

/**
 * Why no block can contain the transaction that a call stands for, whatever its sender, gas and fees per gas: what `checkTransaction` and the
 * execution of a transaction check of its contents and of its blob fee. An OP Stack chain runs calls with blobs, as its peers do, although no block
 * there contains blob transactions.
 */
export function contentsFault(
  { calls }: Profile,
  request: CallRequest,
  { rules, blobBaseFee }: CallSurroundings,
  mustPay = false,
): ValidityFault | undefined {
  const { accessList, authorizationList, blobVersionedHashes: hashes, maxFeePerBlobGas: blobCap, data } = request;
  const address = addressOf(request);
  if (calls.blobFeeNeedsBlobs && blobCap !== undefined && !hashes?.length) return { kind: "blob-fee-without-blobs" };
  if (accessList !== undefined && !rules.acceptsAccessLists) return { kind: "type-not-supported", field: "access list", address };
  if (hashes !== undefined && !rules.hasBlobGas) return { kind: "type-not-supported", field: "blob", address };
  if (authorizationList !== undefined && !rules.acceptsSetCode) return { kind: "type-not-supported", field: "setcode", address };
  const fault = checkContents(rules, request);
  if (fault !== undefined) {
    const details: ContentsDetails = {
      initcodeBytes: data.length,
      maxInitcodeBytes: rules.maxInitcodeBytes,
      blobs: hashes?.length ?? 0,
      badBlob: hashes?.findIndex((hash) => hash[0] !== 1) ?? -1,
    };
    return { kind: "contents", fault, address, details };
  }
  const isFree = !mustPay && (blobCap === undefined || (calls.ignoresZeroBlobFee && blobCap === 0n));
  const maxFeeWei = blobCap ?? 0n;
  if (hashes === undefined || isFree || maxFeeWei >= blobBaseFee) return undefined;
  return { kind: "blob-fee-too-low", address, maxFeeWei, blobBaseFeeWei: blobBaseFee };
}

/** The most that a call may have to pay for its blobs, wei. */
export const blobCost = ({ blobVersionedHashes, maxFeePerBlobGas }: CallRequest): bigint =>
  BigInt(blobVersionedHashes?.length ?? 0) * GAS_PER_BLOB * (maxFeePerBlobGas ?? 0n);
