import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { type BlobScheduleFork, knownBlobParams } from "../chains/blob-schedule.ts";
import type { ChainConfig } from "../chains/chain-config.ts";
import type { OpFork } from "../forks/op-forks.ts";
import {
  assertEip1559ExtraData,
  decodeEip1559ExtraData,
  type ExtraDataVersion,
  encodeEip1559ExtraData,
  encodeEip1559Params,
  extraDataFromAttributes,
} from "../params/eip1559-params.ts";
import { type BaseFeeParent, blobBaseFee, GAS_PER_BLOB, nextBaseFee, nextExcessBlobGas } from "./base-fee.ts";

function opChain(forkTimes: Partial<Record<OpFork, number>>): ChainConfig {
  return {
    chainId: 10n,
    forkBlocks: {},
    evmForkTimes: {},
    blobSchedule: [],
    optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250, forkTimes, bedrockBlock: 0 },
  };
}
const ethereum: ChainConfig = { chainId: 1n, forkBlocks: {}, evmForkTimes: {}, blobSchedule: [] };

const parent: BaseFeeParent = {
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  timestamp: 1000,
  extraData: new Uint8Array(0),
  baseFeePerGas: 1_000_000_000n,
};
const jovianExtra = (minBaseFee: bigint): Uint8Array => encodeEip1559ExtraData({ denominator: 250, elasticity: 6, minBaseFee });

describe("nextBaseFee", () => {
  it.each<[bigint, number, bigint | undefined, bigint]>([
    [30_000_000n, 50, undefined, 1_100_000_000n],
    [30_000_000n, 250, undefined, 1_020_000_000n],
    [0n, 50, undefined, 980_000_000n],
    [0n, 250, undefined, 996_000_000n],
    [5_000_000n, 250, undefined, 1_000_000_000n],
    [5_000_001n, 250, 7n, 8n],
    [2_000_000n, 250, 1003n, 1001n],
  ])("metered %i, denominator %i, base %s", (gasUsed, denominator, base, expected) => {
    const child = { ...parent, gasUsed, baseFeePerGas: base ?? 1_000_000_000n };
    expect(nextBaseFee(opChain(denominator === 250 ? { canyon: 0 } : {}), child, 1002)).toBe(expected);
    const holocene = { ...child, extraData: encodeEip1559ExtraData({ denominator, elasticity: 6, minBaseFee: undefined }) };
    expect(nextBaseFee(opChain({ holocene: 0 }), holocene, 1002)).toBe(expected);
  });

  it("takes Canyon's denominator by the child's time, Holocene's parameters by the parent's", () => {
    expect(nextBaseFee(opChain({ canyon: 1002 }), parent, 1002)).toBe(996_000_000n);
    expect(nextBaseFee(opChain({ canyon: 1004 }), parent, 1002)).toBe(980_000_000n);
    expect(nextBaseFee(opChain({ canyon: 0, holocene: 1002 }), parent, 1002)).toBe(996_000_000n);
    expect(() => nextBaseFee(opChain({ holocene: 1000 }), parent, 1002)).toThrow(
      expect.objectContaining({ code: "extra-data/wrong-length" }),
    );
  });

  it("takes the chain's parameters where the parent has 0/0", () => {
    const genesis = { ...parent, extraData: new Uint8Array(9) };
    expect(nextBaseFee(opChain({ holocene: 0 }), genesis, 1002)).toBe(996_000_000n);
  });

  it("keeps Jovian's minimum", () => {
    expect(nextBaseFee(opChain({ jovian: 0 }), { ...parent, extraData: jovianExtra(2_000_000_000n) }, 1002)).toBe(2_000_000_000n);
    expect(nextBaseFee(opChain({ jovian: 0 }), { ...parent, extraData: jovianExtra(0n) }, 1002)).toBe(996_000_000n);
  });

  it("meters the DA footprint from Jovian where it is larger", () => {
    const busy = { ...parent, gasUsed: 1n, blobGasUsed: 30_000_000n, extraData: jovianExtra(0n) };
    expect(nextBaseFee(opChain({ jovian: 0 }), busy, 1002)).toBe(1_020_000_000n);
  });

  it("follows Ethereum's constants elsewhere", () => {
    expect(nextBaseFee(ethereum, { ...parent, gasUsed: 30_000_000n }, 1002)).toBe(1_125_000_000n);
    expect(nextBaseFee(ethereum, { ...parent, baseFeePerGas: undefined }, 1002)).toBe(1_000_000_000n);
  });
});

describe("blob base fee", () => {
  const params = (fork: BlobScheduleFork) => knownBlobParams(fork)!;
  const [cancun, prague] = [params("cancun"), params("prague")];
  it.each<[bigint, (bigint | undefined)[]]>([
    [0n, [1n, 1n, 1n, 1n]],
    [2_314_057n, [1n, 1n, 1n, 1n]],
    [2_314_058n, [2n, undefined, undefined, undefined]],
    [10_000_000n, [19n, 7n, 3n, 2n]],
    [100_000_000n, [10_203_769_476_395n, 470_442_149n, 159_773n, 5_209n]],
  ])("excess %i", (excess, expected) => {
    [cancun, prague, params("bpo1"), params("bpo2")].forEach(({ baseFeeUpdateFraction }, i) => {
      if (expected[i] !== undefined) expect(blobBaseFee(excess, baseFeeUpdateFraction)).toBe(expected[i]);
    });
  });

  const chain = (osaka: number | undefined): ChainConfig => ({
    ...ethereum,
    evmForkTimes: osaka === undefined ? {} : { osaka },
    blobSchedule: [
      { timeSec: 0, params: cancun },
      { timeSec: 100, params: prague },
    ],
  });
  it.each<[string, number | undefined, number, bigint, bigint, bigint, bigint]>([
    ["stays 0 below the target", undefined, 50, 0n, 2n, 7n, 0n],
    ["grows above the target", undefined, 50, 0n, 6n, 7n, 3n * GAS_PER_BLOB],
    ["takes the child's limits", undefined, 100, GAS_PER_BLOB, 6n, 7n, GAS_PER_BLOB],
    ["falls slower in Osaka while blobs are cheap", 0, 100, 10n * GAS_PER_BLOB, 3n, 1_000_000_000n, 11n * GAS_PER_BLOB],
    ["falls as before in Osaka while blobs are dear", 0, 100, 10n * GAS_PER_BLOB, 3n, 1n, 7n * GAS_PER_BLOB],
  ])("excess %s", (_, osaka, time, excessBlobGas, blobs, baseFeePerGas, expected) => {
    expect(nextExcessBlobGas(chain(osaka), { excessBlobGas, blobGasUsed: blobs * GAS_PER_BLOB, baseFeePerGas }, time)).toBe(
      expected,
    );
  });
});

describe("extraData", () => {
  it.each<[string, string, bigint | undefined, string]>([
    ["given parameters", "0x0000000800000008", undefined, "0x000000000800000008"],
    ["the chain's", "0x0000000000000000", undefined, "0x00000000500000003c"],
    ["Jovian", "0x0000000800000008", 257n, "0x0100000008000000080000000000000101"],
  ])("from attributes: %s", (_, eip1559Params, minBaseFee, expected) => {
    const extraData = extraDataFromAttributes(hexToBytes(eip1559Params), { denominator: 80, elasticity: 60 }, minBaseFee);
    expect(bytesToHex(extraData)).toBe(expected);
    expect(encodeEip1559ExtraData(decodeEip1559ExtraData(extraData, minBaseFee === undefined ? 0 : 1))).toEqual(extraData);
  });

  it.each<[string, number, number, string]>([
    ["denominator", 0, 6, "extra-data/zero-denominator"],
    ["elasticity", 250, 0, "extra-data/zero-elasticity"],
  ])("refuses a zero %s", (_, denominator, elasticity, code) => {
    expect(() =>
      extraDataFromAttributes(encodeEip1559Params(denominator, elasticity), { denominator: 1, elasticity: 1 }, undefined),
    ).toThrow(expect.objectContaining({ code }));
    const extraData = encodeEip1559ExtraData({ denominator, elasticity, minBaseFee: undefined });
    expect(() => assertEip1559ExtraData(extraData, 0)).toThrow(expect.objectContaining({ code }));
  });

  it.each<[string, string, ExtraDataVersion, string]>([
    ["too short", "0x0000000008000000", 0, "extra-data/wrong-length"],
    ["Holocene's form at Jovian", "0x000000000800000008", 1, "extra-data/wrong-length"],
    ["version 1 at Holocene", "0x010000000800000008", 0, "extra-data/wrong-version"],
    ["version 0 at Jovian", "0x0000000008000000080000000000000101", 1, "extra-data/wrong-version"],
  ])("refuses %s", (_, extraData, version, code) => {
    expect(() => assertEip1559ExtraData(hexToBytes(extraData), version)).toThrow(expect.objectContaining({ code }));
  });
});
