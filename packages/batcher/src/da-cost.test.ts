import { describe, expect, it } from "vitest";
import { areBlobsCheaper, fullTransactionCost } from "./da-cost.ts";
import { simChannelConfigs } from "./testing/sim-channels.ts";

const GWEI = 10n ** 9n;
const { blobs, calldata } = simChannelConfigs({ dataAvailabilityType: "auto", targetNumFrames: 3, maxL1TxSizeBytes: 120_000 });
const market = { tip: 1n * GWEI, baseFee: 9n * GWEI, blobBaseFee: 2n * GWEI };

describe("fullTransactionCost", () => {
  it("counts a calldata byte as 16 gas, and as 40 since Prague", () => {
    expect(fullTransactionCost(calldata!, market, GWEI)).toEqual({
      feeWei: (16n * 120_000n + 21_000n) * 10n * GWEI,
      sizeBytes: 120_000n,
    });
    expect(fullTransactionCost(calldata!, { ...market, hasCalldataFloor: true }, GWEI).feeWei).toBe(
      (40n * 120_000n + 21_000n) * 10n * GWEI,
    );
  });

  it("counts whole blobs and the gas of a transaction", () => {
    expect(fullTransactionCost(blobs!, market, GWEI)).toEqual({
      feeWei: 3n * 131_072n * 2n * GWEI + 21_000n * 10n * GWEI,
      sizeBytes: 3n * 130_044n,
    });
  });
});

describe("areBlobsCheaper", () => {
  it.each<[string, bigint, bigint, boolean]>([
    ["cheaper", 1n, 2n, true],
    ["as cheap", 2n, 2n, true],
    ["dearer", 3n, 2n, false],
  ])("%s", (_, blob, call, expected) => {
    expect(areBlobsCheaper({ feeWei: blob, sizeBytes: 10n }, { feeWei: call, sizeBytes: 10n })).toBe(expected);
  });
});
