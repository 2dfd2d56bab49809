import { L1_DATA_PRICINGS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { simChannelConfigs } from "../testing/sim-channels.ts";
import { areBlobsCheaper, fullTransactionCost } from "./da-cost.ts";

const GWEI = 10n ** 9n;
const { blobs, calldata } = simChannelConfigs({ dataAvailabilityType: "auto", targetNumFrames: 3, maxL1TxSizeBytes: 120_000 });
const market = { tip: 1n * GWEI, baseFee: 9n * GWEI, blobBaseFee: 2n * GWEI, dataPricing: L1_DATA_PRICINGS[1] };

describe("fullTransactionCost", () => {
  it.each([
    [0, 16n, 21_000n],
    [1, 40n, 21_000n],
    [2, 64n, 15_000n],
  ])("counts a calldata byte under pricing %i of L1 as %i gas", (pricing, perByte, base) => {
    const then = { ...market, dataPricing: L1_DATA_PRICINGS[pricing]! };
    expect(fullTransactionCost(calldata!, then, GWEI)).toEqual({
      feeWei: (perByte * 120_000n + base) * 10n * GWEI,
      sizeBytes: 120_000n,
    });
    expect(fullTransactionCost(blobs!, then, GWEI).feeWei).toBe(3n * 131_072n * 2n * GWEI + base * 10n * GWEI);
  });

  it("turns to blobs where only the newer price makes calldata dearer", () => {
    const at = (pricing: number, blobGwei: bigint): boolean => {
      const then = { ...market, blobBaseFee: blobGwei * GWEI, dataPricing: L1_DATA_PRICINGS[pricing]! };
      return areBlobsCheaper(fullTransactionCost(blobs!, then, GWEI), fullTransactionCost(calldata!, then, GWEI));
    };
    expect([0, 1, 2].map((pricing) => at(pricing, 500n))).toEqual([false, false, true]);
    expect([0, 1, 2].map((pricing) => at(pricing, 300n))).toEqual([false, true, true]);
    expect([0, 1, 2].map((pricing) => at(pricing, 700n))).toEqual([false, false, false]);
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
