import { describe, expect, it } from "vitest";
import type { FeePolicy, TxFees } from "./api.ts";
import { exceedsFeeLimit, replacementFees, suggestedFees } from "./tx-fees.ts";

const GWEI = 10n ** 9n;
const policy: FeePolicy = {
  minTipWei: GWEI,
  minBaseFeeWei: GWEI,
  feeLimitMultiplier: 5,
  feeLimitThresholdWei: 100n * GWEI,
};
const fees = (tip: bigint, feeCap: bigint): TxFees => ({ tip, feeCap });

describe("suggestedFees", () => {
  it.each<[string, bigint, bigint, TxFees]>([
    ["tip and twice the base fee", 2n * GWEI, 10n * GWEI, fees(2n * GWEI, 22n * GWEI)],
    ["the lowest tip", 1n, 10n * GWEI, fees(GWEI, 21n * GWEI)],
    ["the lowest base fee", 2n * GWEI, 7n, fees(2n * GWEI, 4n * GWEI)],
  ])("are %s", (_, tip, baseFee, expected) => {
    expect(suggestedFees({ tip, baseFee }, policy, false)).toEqual(expected);
  });
});

describe("replacementFees", () => {
  it.each<[string, TxFees, bigint, bigint, TxFees]>([
    ["a tenth more on a quiet L1", fees(2n * GWEI, 22n * GWEI), 2n * GWEI, 10n * GWEI, fees(2_200_000_000n, 24_200_000_000n)],
    ["rounded up", fees(5n, 15n), 1n, 1n, fees(GWEI, 3n * GWEI)],
    ["what L1 asks where that is more", fees(2n * GWEI, 22n * GWEI), 3n * GWEI, 20n * GWEI, fees(3n * GWEI, 43n * GWEI)],
    ["L1's tip and a tenth more cap", fees(2n * GWEI, 22n * GWEI), 9n * GWEI, GWEI, fees(9n * GWEI, 24_200_000_000n)],
    ["the cap that goes with a raised tip", fees(2n * GWEI, 22n * GWEI), GWEI, 50n * GWEI, fees(2_200_000_000n, 102_200_000_000n)],
  ])("are %s", (_, previous, tip, baseFee, expected) => {
    expect(replacementFees(previous, { tip, baseFee }, policy, false)).toEqual(expected);
  });

  it("always suffice for a pool that wants a tenth more of both", () => {
    let previous = fees(1_000_000_001n, 3_000_000_007n);
    for (let i = 0; i < 100; i++) {
      const next = replacementFees(
        previous,
        { tip: BigInt((i * 7919) % 100) * GWEI, baseFee: BigInt((i * 104729) % 50) * GWEI },
        policy,
        false,
      );
      expect(next.tip * 100n).toBeGreaterThanOrEqual(previous.tip * 110n);
      expect(next.feeCap * 100n).toBeGreaterThanOrEqual(previous.feeCap * 110n);
      expect(next.feeCap).toBeGreaterThanOrEqual(next.tip);
      previous = next;
    }
  });
});

describe("fees of blobs", () => {
  const market = { tip: 2n * GWEI, baseFee: 10n * GWEI, blobBaseFee: 3n * GWEI };
  const first = { tip: 2n * GWEI, feeCap: 22n * GWEI, blobFeeCap: 6n * GWEI };

  it("are twice the blob base fee, a gwei at least", () => {
    expect(suggestedFees(market, policy, true)).toEqual(first);
    expect(suggestedFees({ ...market, blobBaseFee: 1n }, policy, true).blobFeeCap).toBe(GWEI);
  });

  it("double in a replacement, all three", () => {
    expect(replacementFees(first, market, policy, true)).toEqual({ tip: 4n * GWEI, feeCap: 44n * GWEI, blobFeeCap: 12n * GWEI });
    expect(replacementFees(first, { ...market, blobBaseFee: 9n * GWEI }, policy, true).blobFeeCap).toBe(18n * GWEI);
  });

  it("double where calldata replaces blobs, too", () => {
    expect(replacementFees(first, market, policy, false)).toEqual({ tip: 4n * GWEI, feeCap: 44n * GWEI });
  });

  it("have a limit of their own", () => {
    const dear = { ...first, blobFeeCap: 30n * GWEI };
    const strict = { ...policy, feeLimitThresholdWei: 0n };
    expect(exceedsFeeLimit(dear, market, strict)).toBe(false);
    expect(exceedsFeeLimit({ ...dear, blobFeeCap: dear.blobFeeCap + 1n }, market, strict)).toBe(true);
    expect(exceedsFeeLimit({ ...dear, blobFeeCap: dear.blobFeeCap + 1n }, market, policy)).toBe(false);
  });
});

describe("exceedsFeeLimit", () => {
  const market = { tip: GWEI, baseFee: 10n * GWEI }; // suggests a tip of 1 and a fee cap of 21 gwei
  it.each<[string, TxFees, boolean]>([
    ["five times the suggestion", fees(5n * GWEI, 105n * GWEI), false],
    ["a cap above that", fees(5n * GWEI, 105n * GWEI + 1n), true],
    ["a tip above that", fees(5n * GWEI + 1n, 105n * GWEI), true],
    ["anything below the threshold", fees(90n * GWEI, 100n * GWEI), false],
  ])("%s: %s", (_, asked, expected) => {
    expect(exceedsFeeLimit(asked, market, policy)).toBe(expected);
  });
});
