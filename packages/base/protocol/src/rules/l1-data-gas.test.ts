import { describe, expect, it } from "vitest";
import { EVM_FORKS } from "../forks/evm-forks.ts";
import { forkRules } from "../forks/rules.ts";
import { floorDataGas, intrinsicGas } from "./intrinsic-gas.ts";
import {
  L1_DATA_PRICINGS,
  l1DataGas,
  l1DataGasLimit,
  l1DataPricing,
  MAX_L1_CALLDATA_BYTES,
  MAX_L1_TRANSACTION_GAS,
} from "./l1-data-gas.ts";

const [WITHOUT_FLOOR, BY_TOKENS, BY_BYTES] = L1_DATA_PRICINGS;
const HASH = new Uint8Array(32);
const ZEROES = new Uint8Array(120_000);
const ONES = new Uint8Array(120_000).fill(1);

describe("l1DataPricing", () => {
  it("follows from the fields of an L1 header", () => {
    expect(l1DataPricing({})).toBe(WITHOUT_FLOOR);
    expect(l1DataPricing({ requestsHash: HASH })).toBe(BY_TOKENS);
    expect(l1DataPricing({ requestsHash: HASH, blockAccessListHash: HASH })).toBe(BY_BYTES);
  });
});

describe("l1DataGas", () => {
  it.each([
    ["zeroes, before", BY_TOKENS, ZEROES, 1_221_000n],
    ["others, before", BY_TOKENS, ONES, 4_821_000n],
    ["zeroes, from Amsterdam on", BY_BYTES, ZEROES, 7_695_000n],
    ["others, from Amsterdam on", BY_BYTES, ONES, 7_695_000n],
    ["none, before", BY_TOKENS, new Uint8Array(0), 21_000n],
    ["none, from Amsterdam on", BY_BYTES, new Uint8Array(0), 15_000n],
  ])("of %s", (_, pricing, data, gas) => {
    expect(l1DataGas(pricing, data)).toBe(gas);
  });

  it("counts the value from Amsterdam on", () => {
    expect(L1_DATA_PRICINGS.map((pricing) => l1DataGas(pricing, new Uint8Array(0), true))).toEqual([21_000n, 21_000n, 21_000n]);
  });

  it("is what the rules of execution ask for, for any mix of bytes", () => {
    for (let size = 0; size <= 400; size += 7) {
      for (let every = 1; every <= 5; every++) {
        const data = Uint8Array.from({ length: size }, (_, i) => (i % every === 0 ? 0 : 0xff));
        const to = new Uint8Array(20);
        const tx = {
          type: 0x02,
          chainId: 1n,
          nonce: 0n,
          maxPriorityFeePerGas: 0n,
          maxFeePerGas: 0n,
          gasLimit: 0n,
          value: 0n,
        } as const;
        for (const [fork, pricing] of [
          ["cancun", WITHOUT_FLOOR],
          ["prague", BY_TOKENS],
          ["osaka", BY_TOKENS],
        ] as const) {
          const rules = forkRules(fork);
          const [intrinsic, floor] = [intrinsicGas(rules, { ...tx, to, data, accessList: [] }), floorDataGas(rules, data)];
          expect(l1DataGas(pricing, data)).toBe(intrinsic > floor ? intrinsic : floor);
        }
        for (const pricing of L1_DATA_PRICINGS) expect(l1DataGasLimit(data)).toBeGreaterThanOrEqual(l1DataGas(pricing, data));
      }
    }
  });
});

describe("l1DataGasLimit", () => {
  it.each([
    ["a few bytes", 54, 21_000n + 40n * 54n],
    ["as many as cost the same", 250, 31_000n],
    ["one more", 251, 15_000n + 64n * 251n],
    ["the most that there is room for", MAX_L1_CALLDATA_BYTES, 16_777_176n],
  ])("is that of the dearer pricing for %s", (_, size, gas) => {
    expect(l1DataGasLimit(new Uint8Array(size).fill(1))).toBe(gas);
  });

  it("leaves room for 261,909 bytes", () => {
    expect(MAX_L1_CALLDATA_BYTES).toBe(261_909);
    expect(l1DataGasLimit(new Uint8Array(MAX_L1_CALLDATA_BYTES + 1))).toBeGreaterThan(BigInt(MAX_L1_TRANSACTION_GAS));
    expect(forkRules(EVM_FORKS.at(-1)!).maxTransactionGas).toBe(BigInt(MAX_L1_TRANSACTION_GAS));
  });
});
