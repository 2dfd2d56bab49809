import { L1_DATA_PRICINGS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { TxData } from "../channels/channel-manager.ts";
import { costOf } from "./spend-check.ts";

const GWEI = 10n ** 9n;
const market = { tip: 1n * GWEI, baseFee: 9n * GWEI, blobBaseFee: 2n * GWEI, dataPricing: L1_DATA_PRICINGS[1] };
const deps = { l1: { feeMarket: async () => market }, minTipWei: 0n, batchInboxAddress: new Uint8Array(20).fill(0xff) };
const tx = { carrier: "calldata", data: [new Uint8Array(100_000).fill(0xff)] } as unknown as TxData;

describe("what the next transaction costs", () => {
  it("is that of its data, and with alternative DA that of the commitment in its place", async () => {
    expect(await costOf(tx, deps)).toBe((40n * 100_000n + 21_000n) * 10n * GWEI);
    const later = { ...deps, l1: { feeMarket: async () => ({ ...market, dataPricing: L1_DATA_PRICINGS[2] }) } };
    expect(await costOf(tx, later)).toBe((64n * 100_000n + 15_000n) * 10n * GWEI);
    expect(await costOf(tx, { ...deps, commitmentBytes: () => 34 })).toBe((40n * 34n + 21_000n) * 10n * GWEI);
  });
});
