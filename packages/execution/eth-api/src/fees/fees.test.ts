import type { StoredBlock } from "@rnode/chain";
import { bytesToHex, ZERO_HASH } from "@rnode/primitives";
import { encodeEip1559ExtraData, parseChainConfig } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { ReadBackend } from "../backend/backend.ts";
import { UNLIMITED_WORK } from "../backend/work.ts";
import { PROFILE_G } from "../profile/profile-g.ts";
import { PROFILE_R } from "../profile/profile-r.ts";
import { feeTransaction, GWEI, JOVIAN_CONFIG, l1Info, storedBlock } from "../testing/blocks.ts";
import { feeHistory } from "./fee-history.ts";
import { GasPriceOracle } from "./gas-price.ts";

const CONFIG = parseChainConfig({ ...JOVIAN_CONFIG, homesteadBlock: 0, londonBlock: 0 });
const EXTRA_DATA = encodeEip1559ExtraData({ denominator: 250, elasticity: 6, minBaseFee: 0n });

/** A chain of these blocks, numbered from 0. */
function backendOf(blocks: readonly StoredBlock[], profile = PROFILE_R): ReadBackend {
  const head = blocks.at(-1)!;
  const at: ReadBackend["chain"]["resolve"] = (selector) => (selector.kind === "number" ? blocks[selector.number] : head);
  const unused = (): never => {
    throw new Error("not read here");
  };
  return {
    profile,
    chain: {
      config: CONFIG,
      genesis: blocks[0]!,
      head: () => ({ hash: bytesToHex(head.hash), number: head.block.header.number }),
      resolve: at,
      partsOf: unused,
      bodyOf: at,
      headerOf: (selector) => {
        const found = at(selector);
        return found && { header: found.block.header, hash: found.hash };
      },
      stateAt: unused,
      trieNodesAt: unused,
      onHeadChange: () => () => {},
    },
    store: {
      readTransactionLocation: unused,
      readTotalDifficulty: unused,
      blocksWithLogs: unused,
      readCanonicalHash: unused,
      readPreimage: unused,
      retainedHistory: unused,
    },
  };
}

const paying = (tipWei: bigint) => feeTransaction({ maxPriorityFeePerGas: tipWei, maxFeePerGas: 100n * GWEI });
const block = (number: number, tipsWei: readonly bigint[], gas: bigint) =>
  storedBlock([l1Info("jovian"), ...tipsWei.map(paying)], {
    number,
    gas,
    extraData: EXTRA_DATA,
    withdrawalsRoot: ZERO_HASH,
    blobGasUsed: 0n,
    excessBlobGas: 0n,
  });

describe("GasPriceOracle", () => {
  it.each<[string, bigint[], bigint, bigint]>([
    ["with room, the minimum", [5n * GWEI, 6n * GWEI], 7_000_000n, 1_000_000n],
    // 4 × 8 Mgas of 30: no room for another. The tips are 0 (deposit), 1, 2 and 3 gwei, so the median is 2.
    ["full, 110 % of the median tip", [GWEI, 2n * GWEI, 3n * GWEI], 7_500_000n, (2n * GWEI * 11n) / 10n],
    ["full of cheap transactions, the minimum", [1n, 2n, 3n], 7_500_000n, 1_000_000n],
    ["full of dear ones, at most the cap", [90n * GWEI, 95n * GWEI, 99n * GWEI], 7_500_000n, 50n * GWEI],
  ])("suggests %s", (_, tips, gas, expected) => {
    const options = { minSuggestedTipWei: 1_000_000n, maxPriceWei: 50n * GWEI };
    const oracle = new GasPriceOracle(backendOf([block(0, tips, gas)]), options);
    expect(oracle.suggestedTipWei()).toBe(expected);
    expect(oracle.gasPriceWei()).toBe(GWEI + expected);
  });
});

describe("feeHistory", () => {
  const backend = backendOf([block(0, [], 21_000n), block(1, [GWEI, 2n * GWEI, 3n * GWEI], 1_000_000n)]);
  const latest = { kind: "tag", tag: "latest" } as const;

  it("has tips at percentiles of the gas, deposits paying none", () => {
    const history = feeHistory(backend, UNLIMITED_WORK, 2, latest, [0, 25, 26, 75, 100]);
    expect(history).toMatchObject({
      oldestBlock: "0x0",
      gasUsedRatio: [21_000 / 30_000_000, 4 / 30],
      blobGasUsedRatio: [0, 0],
      baseFeePerBlobGas: ["0x1", "0x1", "0x1"],
    });
    const gwei = (count: number) => `0x${(BigInt(count) * GWEI).toString(16)}`;
    expect(history.reward).toEqual([Array(5).fill("0x0"), ["0x0", "0x0", gwei(1), gwei(2), gwei(3)]]);
  });

  it("counts the DA footprint as a part of Ethereum's blobs, or not at all, as the profile's client does", () => {
    const full = block(0, [GWEI], 21_000n);
    const used = { ...full, block: { ...full.block, header: { ...full.block.header, blobGasUsed: 117_964n } } };
    const ratioOf = (profile: typeof PROFILE_R): unknown =>
      feeHistory(backendOf([used], profile), UNLIMITED_WORK, 1, latest, []).blobGasUsedRatio;
    expect(ratioOf(PROFILE_R)).toEqual([117_964 / 1_179_648]);
    expect(ratioOf(PROFILE_G)).toEqual([0]);
  });

  it("ends with the next base fee by the head's own parameters", () => {
    // 4 Mgas used of a target of 5: the base fee falls by 1/5 ÷ 250.
    const fees = feeHistory(backend, UNLIMITED_WORK, 1, latest, []).baseFeePerGas as string[];
    expect(fees.map(BigInt)).toEqual([GWEI, GWEI - GWEI / 5n / 250n]);
    expect(feeHistory(backend, UNLIMITED_WORK, 1, latest, [])).toHaveProperty("reward", []);
    expect(feeHistory(backend, UNLIMITED_WORK, 1, latest, undefined)).not.toHaveProperty("reward");
    const asGeth = { ...backend, profile: PROFILE_G };
    expect(feeHistory(asGeth, UNLIMITED_WORK, 1, latest, [])).not.toHaveProperty("reward");
    expect(feeHistory(asGeth, UNLIMITED_WORK, 0, latest, [])).toEqual({ oldestBlock: "0x0", gasUsedRatio: null });
  });

  it("counts no further than the chain goes", () => {
    expect((feeHistory(backend, UNLIMITED_WORK, 5000, latest, []).baseFeePerGas as string[]).length).toBe(3);
    expect(feeHistory(backend, UNLIMITED_WORK, 0, latest, [])).toEqual({ oldestBlock: "0x0", gasUsedRatio: [] });
  });

  it.each<[readonly number[], string]>([
    [[-1], "invalid reward percentile: -1"],
    [[101], "invalid reward percentile: 101"],
    [[20, 10], "invalid reward percentile: #0:20 >= #1:10"],
    [Array.from({ length: 101 }, (_, index) => index / 2), "invalid reward percentile: over the query limit 100"],
  ])("refuses percentiles %j", (percentiles, message) => {
    expect(() => feeHistory({ ...backend, profile: PROFILE_G }, UNLIMITED_WORK, 1, latest, percentiles)).toThrow(message);
    expect(() => feeHistory(backend, UNLIMITED_WORK, 1, latest, percentiles)).toThrow(expect.objectContaining({ code: -32602 }));
  });

  it("refuses blocks after the head", () => {
    expect(() => feeHistory({ ...backend, profile: PROFILE_G }, UNLIMITED_WORK, 1, { kind: "number", number: 9 }, [])).toThrow(
      "request beyond head block: requested 9, head 1",
    );
  });
});
