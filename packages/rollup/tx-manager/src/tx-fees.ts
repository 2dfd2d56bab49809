import type { L1FeeMarket } from "@rnode/l1";
import type { FeePolicy, TxFees } from "./api.ts";

type FeeLevels = Omit<L1FeeMarket, "dataPricing">;

/** Room for the base fee to rise before the transaction is stuck. */
const BASE_FEE_FACTOR = 2n;
const MIN_BLOB_FEE_CAP_WEI = 10n ** 9n;
/** The increase that L1 clients demand of a replacement. */
const BUMP_PERCENT = 10n;
/** The same if blobs are involved, for all of the fees. */
const BLOB_BUMP_PERCENT = 100n;

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const feeCapOf = (tip: bigint, baseFee: bigint): bigint => tip + BASE_FEE_FACTOR * baseFee;

/** L1's price that is above the operator's limit; `undefined` if none is. */
export function priceAboveLimit(
  { tip, baseFee }: L1FeeMarket,
  { maxTipWei = 0n, maxBaseFeeWei = 0n }: FeePolicy,
): string | undefined {
  if (maxTipWei > 0n && tip > maxTipWei) return `priority fee ${tip} wei, --txmgr.max-tip-cap is ${maxTipWei} wei`;
  if (maxBaseFeeWei > 0n && baseFee > maxBaseFeeWei) return `base fee ${baseFee} wei, --txmgr.max-basefee is ${maxBaseFeeWei} wei`;
  return undefined;
}

/** Fees of a new transaction. */
export function suggestedFees(market: FeeLevels, policy: FeePolicy, carriesBlobs: boolean): TxFees {
  const tip = max(market.tip, policy.minTipWei);
  const fees = { tip, feeCap: feeCapOf(tip, max(market.baseFee, policy.minBaseFeeWei)) };
  return carriesBlobs ? { ...fees, blobFeeCap: max(BASE_FEE_FACTOR * (market.blobBaseFee ?? 0n), MIN_BLOB_FEE_CAP_WEI) } : fees;
}

/** The fee increased by at least this percentage, rounded up. */
const bumped = (fee: bigint, percent: bigint): bigint => fee + (fee * percent + 99n) / 100n;

/**
 * Fees that replace a transaction with the same nonce: each at least 10 % higher than before (100 % if either has blobs), and not
 * below L1's current prices. Spec: docs/protocol/05-services.md#transaction-manager
 */
export function replacementFees(previous: TxFees, market: FeeLevels, policy: FeePolicy, carriesBlobs: boolean): TxFees {
  const suggestion = suggestedFees(market, policy, carriesBlobs);
  const percent = carriesBlobs || previous.blobFeeCap !== undefined ? BLOB_BUMP_PERCENT : BUMP_PERCENT;
  const fees = replacementGasFees(previous, suggestion, percent, max(market.baseFee, policy.minBaseFeeWei));
  if (suggestion.blobFeeCap === undefined) return fees;
  return { ...fees, blobFeeCap: max(suggestion.blobFeeCap, bumped(previous.blobFeeCap ?? 0n, percent)) };
}

function replacementGasFees(previous: TxFees, suggestion: TxFees, percent: bigint, baseFee: bigint): TxFees {
  const least = { tip: bumped(previous.tip, percent), feeCap: bumped(previous.feeCap, percent) };
  const { tip, feeCap } = suggestion;
  if (tip >= least.tip) return { tip, feeCap: max(feeCap, least.feeCap) };
  // The tip must rise more than L1 requires, and the cap with it.
  return { tip: least.tip, feeCap: feeCap >= least.feeCap ? feeCapOf(least.tip, baseFee) : least.feeCap };
}

/** Whether a replacement is too expensive, so the published version is kept. */
export function exceedsFeeLimit(fees: TxFees, market: FeeLevels, policy: FeePolicy): boolean {
  const suggestion = suggestedFees(market, policy, fees.blobFeeCap !== undefined);
  const multiplier = BigInt(policy.feeLimitMultiplier);
  const isTooMuch = (fee: bigint, suggested: bigint): boolean => fee > suggested * multiplier;
  const isAboveThreshold = fees.feeCap > policy.feeLimitThresholdWei;
  if (isAboveThreshold && (isTooMuch(fees.tip, suggestion.tip) || isTooMuch(fees.feeCap, suggestion.feeCap))) return true;
  const { blobFeeCap } = fees;
  if (blobFeeCap === undefined || suggestion.blobFeeCap === undefined) return false;
  return blobFeeCap > policy.feeLimitThresholdWei && isTooMuch(blobFeeCap, suggestion.blobFeeCap);
}
