/** Fees of an L1 transaction, wei a gas. */
export interface TxFees {
  readonly tip: bigint;
  readonly feeCap: bigint;
}

/** What L1 asks at the moment. */
export interface FeeMarket {
  /** suggested priority fee */
  readonly tip: bigint;
  /** of the newest block */
  readonly baseFee: bigint;
}

export interface FeePolicy {
  readonly minTipWei: bigint;
  readonly minBaseFeeWei: bigint;
  /** a replacement may cost so many times what a new transaction would */
  readonly feeLimitMultiplier: bigint;
  /** below this fee cap the multiplier is not looked at */
  readonly feeLimitThresholdWei: bigint;
}

/** Room for the base fee to rise before the transaction is stuck. */
const BASE_FEE_FACTOR = 2n;
/** What L1 clients demand of a replacement. */
const BUMP_PERCENT = 10n;

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const feeCapOf = (tip: bigint, baseFee: bigint): bigint => tip + BASE_FEE_FACTOR * baseFee;

/** Fees of a new transaction. */
export function suggestedFees(market: FeeMarket, policy: FeePolicy): TxFees {
  const tip = max(market.tip, policy.minTipWei);
  return { tip, feeCap: feeCapOf(tip, max(market.baseFee, policy.minBaseFeeWei)) };
}

/** At least a tenth more, rounded up. */
const bumped = (fee: bigint): bigint => fee + (fee * BUMP_PERCENT + 99n) / 100n;

/**
 * Fees that replace a transaction with the same nonce: each at least 10 % above before, and not below what L1 asks now.
 * Spec: docs/protocol/05-services.md#transaction-manager
 */
export function replacementFees(previous: TxFees, market: FeeMarket, policy: FeePolicy): TxFees {
  const suggestion = suggestedFees(market, policy);
  const least: TxFees = { tip: bumped(previous.tip), feeCap: bumped(previous.feeCap) };
  if (suggestion.tip >= least.tip && suggestion.feeCap >= least.feeCap) return suggestion;
  if (suggestion.tip >= least.tip) return { tip: suggestion.tip, feeCap: least.feeCap };
  if (suggestion.feeCap >= least.feeCap) {
    // The tip must rise more than L1 asks for, and the cap with it.
    return { tip: least.tip, feeCap: feeCapOf(least.tip, max(market.baseFee, policy.minBaseFeeWei)) };
  }
  return least;
}

/** Whether a replacement would cost too much: better to wait with the version that is out. */
export function exceedsFeeLimit(fees: TxFees, market: FeeMarket, policy: FeePolicy): boolean {
  if (fees.feeCap <= policy.feeLimitThresholdWei) return false;
  const suggestion = suggestedFees(market, policy);
  return fees.tip > suggestion.tip * policy.feeLimitMultiplier || fees.feeCap > suggestion.feeCap * policy.feeLimitMultiplier;
}
