import { hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { OpFork } from "../forks/op-forks.ts";
import { forkRules, rollupRules as rules } from "../forks/rules.ts";
import { daMicrobytesOfFlz, estimatedDaMicrobytes } from "./da-size.ts";
import { flzCompressLength } from "./fastlz.ts";
import { daFootprint, type L1FeeParams, l1Cost, l1FeeParamsFromL1BlockStorage, l1GasUsed, operatorFee } from "./fees.ts";

const T1 = hexToBytes("dd80808094095e7baea6a6c7c4c2dfeb977efac326af552d878080808080");
const T2 = hexToBytes(
  "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb870151bd62fd12adb8" +
    "e41ef24f3f000000000000000000000000000000000000000000000000000000000000006e0000000000000000000000" +
    "00af88d065e77c8cc2239327c5edb3a432268e5831000000000000000000000000000000000000000000000000000000" +
    "000003c1e500000000000000000000000000000000000000000000000000000000000000000000000000000000000000" +
    "0000000000000000000000000000000000000000a0000000000000000000000000000000000000000000000000000000" +
    "00000000148c89ed219d02f1a5be012c689b4f5b731827bebe000000000000000000000000c001a033fd89cb37c31b2c" +
    "ba46b6466e040c61fc9b2a3675a7f5f493ebd5ad77c497f8a07cdf65680e238392693019b4092f610222e71b7cec0644" +
    "9cb922b93b6a12744e",
);
const DEPOSIT = Uint8Array.of(0x7e, 0xc0);

const fill = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);

const params: L1FeeParams = {
  l1BaseFee: 1_000_000_000n,
  blobBaseFee: 10_000_000n,
  baseFeeScalar: 2n,
  blobBaseFeeScalar: 3n,
  overhead: 50n,
  scalar: 7_000_000n,
  operatorFeeScalar: 1000n,
  operatorFeeConstant: 10n,
  daFootprintGasScalar: 400n,
};

describe("flzCompressLength", () => {
  it.each<[string, Uint8Array, number]>([
    ["nothing", new Uint8Array(0), 0],
    ["1000 × 00", fill(0, 1000), 21],
    ["1000 × 01", fill(1, 1000), 21],
    ["1000 × 2a", fill(0x2a, 1000), 21],
    ["facade", hexToBytes("facade"), 4],
    ["a legacy transaction of 30 bytes", T1, 31],
    ["a transaction of OP Mainnet", T2, 202],
  ])("%s", (_, data, length) => {
    expect(flzCompressLength(data)).toBe(length);
  });

  it("does not depend on what was compressed before", () => {
    flzCompressLength(Uint8Array.from({ length: 5000 }, (_, i) => (i * i) & 0xff));
    expect(flzCompressLength(T2)).toBe(202);
  });
});

describe("l1Cost and l1GasUsed", () => {
  it.each<[OpFork, bigint, bigint]>([
    ["bedrock", 1618n, 11_326_000_000_000n],
    ["regolith", 530n, 3_710_000_000_000n],
    ["canyon", 530n, 3_710_000_000_000n],
    ["delta", 530n, 3_710_000_000_000n],
    ["ecotone", 480n, 960_900n],
    ["fjord", 1600n, 3_203_000n],
    ["granite", 1600n, 3_203_000n],
    ["jovian", 1600n, 3_203_000n],
  ])("of a small transaction at %s", (fork, gas, fee) => {
    expect(l1GasUsed(rules(fork), params, T1)).toBe(gas);
    expect(l1Cost(rules(fork), params, T1)).toBe(fee);
  });

  it("of Fjord's example", () => {
    const estimate = daMicrobytesOfFlz(235);
    expect((estimate * 16n) / 1_000_000n).toBe(2463n);
    expect((estimate * (16n * 2_000_000n * 20n + 3_000_000n * 15n)) / 10n ** 12n).toBe(105_484n);
  });

  it("of a transaction of OP Mainnet with all parameters 1000", () => {
    const thousands = { ...params, l1BaseFee: 1000n, blobBaseFee: 1000n, baseFeeScalar: 1000n, blobBaseFeeScalar: 1000n };
    expect(estimatedDaMicrobytes(T2)).toBe(126_387_400n);
    expect(l1GasUsed(rules("fjord"), thousands, T2)).toBe(2022n);
    expect(l1Cost(rules("fjord"), thousands, T2)).toBe(2148n);
  });

  it("of the blocks of OP Mainnet", () => {
    // Only the counts matter: 153 × 16 + 2 × 4.
    const gas2456 = Uint8Array.of(...fill(1, 153), ...fill(0, 2));
    const ecotone = {
      ...params,
      l1BaseFee: 47036678951n,
      baseFeeScalar: 1368n,
      blobBaseFee: 57422457042n,
      blobBaseFeeScalar: 810949n,
    };
    expect(l1GasUsed(rules("ecotone"), ecotone, gas2456)).toBe(2456n);
    expect(l1Cost(rules("ecotone"), ecotone, gas2456)).toBe(7_306_020_222_001n);
  });

  it("counts bytes of the data gas vector", () => {
    const data = hexToBytes("FA00CA00DE");
    const noOverhead = { ...params, overhead: 0n };
    expect(l1GasUsed(rules("bedrock"), noOverhead, data)).toBe(1144n);
    expect(l1GasUsed(rules("regolith"), noOverhead, data)).toBe(56n);
    expect(l1GasUsed(rules("fjord"), noOverhead, data)).toBe(1600n);
  });

  it("uses Bedrock's formula in the activation block of Ecotone and Fjord", () => {
    const activation = { ...params, blobBaseFee: 0n, baseFeeScalar: 0n, blobBaseFeeScalar: 0n };
    for (const fork of ["ecotone", "fjord"] as const) {
      expect(l1Cost(rules(fork), activation, T1)).toBe(3_710_000_000_000n);
      expect(l1GasUsed(rules(fork), activation, T1)).toBe(530n);
    }
  });

  it("are 0 for deposits and on Ethereum chains", () => {
    for (const [where, tx] of [[rules("jovian"), DEPOSIT] as const, [forkRules("osaka"), T1] as const]) {
      expect(l1Cost(where, params, tx)).toBe(0n);
      expect(l1GasUsed(where, params, tx)).toBe(0n);
      expect(daFootprint(where, params, tx)).toBe(0n);
    }
  });
});

describe("operatorFee", () => {
  it.each<[OpFork, bigint, bigint]>([
    ["holocene", 1000n, 0n],
    ["isthmus", 1000n, 11n],
    ["jovian", 1000n, 100_000_010n],
    ["karst", 1000n, 100_000_010n],
  ])("at %s", (fork, gas, fee) => {
    expect(operatorFee(rules(fork), params, gas)).toBe(fee);
  });

  it("refunds what unused gas paid", () => {
    const doubled = { ...params, operatorFeeScalar: 2000n };
    expect(operatorFee(rules("isthmus"), doubled, 100_000n) - operatorFee(rules("isthmus"), doubled, 50_000n)).toBe(100n);
  });

  it("saturates", () => {
    const huge = { ...params, operatorFeeScalar: 2n ** 32n - 1n };
    expect(operatorFee(rules("jovian"), huge, 2n ** 250n)).toBe(2n ** 256n - 1n);
  });
});

describe("daFootprint", () => {
  it.each<[string, Uint8Array, OpFork, bigint]>([
    ["the smallest transaction", T1, "jovian", 40_000n],
    ["a transaction of OP Mainnet", T2, "jovian", 50_400n],
    ["before Jovian", T2, "isthmus", 0n],
    ["a deposit", DEPOSIT, "jovian", 0n],
  ])("%s", (_, tx, fork, gas) => {
    expect(daFootprint(rules(fork), params, tx)).toBe(gas);
  });
});

describe("l1FeeParamsFromL1BlockStorage", () => {
  it("cuts the packed words", () => {
    const words: Record<number, string> = {
      1: "0x77",
      3: `0x${"ff".repeat(16)}0000055800${"0c5fc5"}${"ff".repeat(8)}`,
      5: "0xbc",
      6: "0xa6fe0",
      7: "0x09",
      8: `0x${"ee".repeat(18)}0190${"0000abcd"}${"000000000000dcba"}`,
    };
    expect(l1FeeParamsFromL1BlockStorage((slot) => BigInt(words[slot] ?? 0))).toEqual({
      l1BaseFee: 0x77n,
      blobBaseFee: 9n,
      baseFeeScalar: 1368n,
      blobBaseFeeScalar: 810949n,
      overhead: 0xbcn,
      scalar: 0xa6fe0n,
      operatorFeeScalar: 0xabcdn,
      operatorFeeConstant: 0xdcban,
      daFootprintGasScalar: 400n,
    });
  });
});
