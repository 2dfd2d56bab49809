import { EMPTY_REQUESTS_HASH, EMPTY_TRIE_ROOT, exactInteger, hexToBytes, ZERO_HASH } from "@rnode/primitives";
import { type ChainConfig, type Header, nextBaseFee, type OpFork, positionFields } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import type { BlockRule } from "../api.ts";
import { checkHeader } from "./header-validation.ts";
import { rulesOfBlock } from "./rules.ts";

const filled = (byte: number, length = 32) => new Uint8Array(length).fill(byte);

function opConfig(fork: OpFork): ChainConfig {
  const optimism = {
    eip1559Elasticity: 6,
    eip1559Denominator: 50,
    eip1559DenominatorCanyon: 250,
    forkTimes: { [fork]: 0 },
    bedrockBlock: 0,
  };
  return { chainId: 10n, forkBlocks: {}, evmForkTimes: {}, terminalTotalDifficulty: 0n, blobSchedule: [], optimism };
}

const EXTRA_DATA: Partial<Record<OpFork, string>> = {
  holocene: "0x00000000fa00000006",
  isthmus: "0x00000000fa00000006",
  jovian: "0x01000000fa000000060000000000000000",
};

/** A parent and a child that follow every rule of `fork`. */
function validPair(fork: OpFork): { config: ChainConfig; parent: Header; child: Header } {
  const config = opConfig(fork);
  const { evm } = rulesOfBlock(config, { number: 1, timestamp: 1, difficulty: 0n });
  const base: Header = {
    ...headerOf({
      parentHash: filled(1),
      stateRoot: filled(2),
      number: 100,
      gasUsed: 1_000_000n,
      timestamp: 1000,
      mixHash: filled(3),
    }),
    extraData: hexToBytes(EXTRA_DATA[fork] ?? "0x"),
    baseFeePerGas: 1_000_000_000n,
    ...(evm !== "paris" && { withdrawalsRoot: fork === "isthmus" || fork === "jovian" ? filled(5) : EMPTY_TRIE_ROOT }),
    ...((evm === "cancun" || evm === "prague") && { blobGasUsed: 0n, excessBlobGas: 0n, parentBeaconBlockRoot: ZERO_HASH }),
    ...(evm === "prague" && { requestsHash: EMPTY_REQUESTS_HASH }),
  };
  const child = { ...base, number: 101, timestamp: 1002, baseFeePerGas: nextBaseFee(config, base, 1002) };
  return { config, parent: base, child };
}

const without = (field: keyof Header) => (header: Header) => ({ ...header, [field]: undefined });

describe("checkHeader on an OP Stack chain", () => {
  it.each(["bedrock", "regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"] as const)(
    "takes a valid header of %s",
    (fork) => {
      const { config, parent, child } = validPair(fork);
      expect(checkHeader(config, rulesOfBlock(config, child), parent, child)).toBeUndefined();
    },
  );

  it.each<[BlockRule, OpFork, (header: Header) => Header]>([
    ["number-not-consecutive", "canyon", (header) => ({ ...header, number: 102 })],
    ["timestamp-not-after-parent", "canyon", (header) => ({ ...header, timestamp: 1000 })],
    ["gas-used-above-limit", "canyon", (header) => ({ ...header, gasUsed: 30_000_001n })],
    ["gas-limit-out-of-bounds", "canyon", (header) => ({ ...header, gasLimit: 2n ** 63n })],
    ["base-fee-mismatch", "canyon", (header) => ({ ...header, baseFeePerGas: header.baseFeePerGas! + 1n })],
    ["base-fee-presence", "bedrock", without("baseFeePerGas")],
    ["extra-data-form", "granite", (header) => ({ ...header, extraData: filled(0, 1) })],
    ["extra-data-too-long", "holocene", (header) => ({ ...header, extraData: filled(0, 33) })],
    ["extra-data-form", "holocene", (header) => ({ ...header, extraData: new Uint8Array(0) })],
    ["extra-data-form", "holocene", (header) => ({ ...header, extraData: hexToBytes("0x01000000fa00000006") })],
    ["extra-data-form", "holocene", (header) => ({ ...header, extraData: hexToBytes("0x000000000000000006") })],
    ["extra-data-form", "isthmus", (header) => ({ ...header, extraData: hexToBytes("0x00000000fa00000000") })],
    ["extra-data-form", "jovian", (header) => ({ ...header, extraData: hexToBytes("0x00000000fa00000006") })],
    ["difficulty-mismatch", "bedrock", (header) => ({ ...header, difficulty: 1n })],
    ["nonce-not-zero", "bedrock", (header) => ({ ...header, nonce: filled(1, 8) })],
    ["ommers-not-empty", "bedrock", (header) => ({ ...header, ommersHash: filled(1) })],
    ["withdrawals-root-presence", "bedrock", (header) => ({ ...header, withdrawalsRoot: EMPTY_TRIE_ROOT })],
    ["withdrawals-root-presence", "canyon", without("withdrawalsRoot")],
    ["withdrawals-root-mismatch", "holocene", (header) => ({ ...header, withdrawalsRoot: filled(1) })],
    ["blob-gas-presence", "ecotone", without("blobGasUsed")],
    ["blob-gas-presence", "ecotone", without("excessBlobGas")],
    ["blob-gas-used-mismatch", "isthmus", (header) => ({ ...header, blobGasUsed: 1n })],
    ["excess-blob-gas-mismatch", "ecotone", (header) => ({ ...header, excessBlobGas: 1n })],
    ["da-footprint-above-gas-limit", "jovian", (header) => ({ ...header, blobGasUsed: 30_000_001n })],
    ["parent-beacon-root-presence", "ecotone", without("parentBeaconBlockRoot")],
    ["requests-hash-presence", "isthmus", without("requestsHash")],
    ["requests-hash-presence", "holocene", (header) => ({ ...header, requestsHash: EMPTY_REQUESTS_HASH })],
    ["block-access-list-presence", "jovian", (header) => ({ ...header, blockAccessListHash: filled(1), slotNumber: 1n })],
    ["block-access-list-presence", "bedrock", (header) => ({ ...header, blockAccessListHash: filled(1), slotNumber: 1n })],
    ["block-access-list-presence", "jovian", (header) => ({ ...header, slotNumber: 1n })],
    ["requests-hash-mismatch", "isthmus", (header) => ({ ...header, requestsHash: filled(1) })],
  ])("finds %s in %s", (rule, fork, breakRule) => {
    const { config, parent, child } = validPair(fork);
    const broken = breakRule(child);
    expect(checkHeader(config, rulesOfBlock(config, broken), parent, broken)?.rule).toBe(rule);
  });

  it("lets the gas limit jump: the attributes set it", () => {
    const { config, parent, child } = validPair("jovian");
    const jumped = { ...child, gasLimit: 300_000_000n };
    expect(checkHeader(config, rulesOfBlock(config, jumped), parent, jumped)).toBeUndefined();
  });
});

describe("checkHeader above 2^53", () => {
  const { config, parent, child } = validPair("jovian");
  const MAX = 2n ** 64n - 1n;
  const judge = (of: readonly [bigint, bigint], by: readonly [bigint, bigint]) => {
    const header = { ...child, ...positionFields(...by) };
    return checkHeader(config, rulesOfBlock(config, header), { ...parent, ...positionFields(...of) }, header);
  };
  const late = 2n ** 53n;

  it.each([late - 2n, late - 1n, late, late + 1n, 2n ** 63n, MAX - 1n])("only number and time above %i follow it", (at) => {
    expect(judge([at, at], [at + 1n, at + 1n])).toBeUndefined();
    expect(judge([at, at], [at + 1n, MAX])).toBeUndefined();
    for (const number of [0n, at - 1n, at, at + 2n]) {
      expect(judge([at, at], [number, at + 1n])).toEqual({
        rule: "number-not-consecutive",
        data: { expected: exactInteger(at + 1n), got: exactInteger(number) },
      });
    }
    for (const time of [0n, at - 1n, at]) {
      expect(judge([at, at], [at + 1n, time])).toEqual({
        rule: "timestamp-not-after-parent",
        data: { parent: exactInteger(at), got: exactInteger(time) },
      });
    }
  });

  it("nothing follows the last number or the last second", () => {
    for (const number of [0n, MAX - 1n, MAX]) expect(judge([MAX, 1n], [number, 2n])?.rule).toBe("number-not-consecutive");
    for (const time of [0n, MAX]) expect(judge([1n, MAX], [2n, time])?.rule).toBe("timestamp-not-after-parent");
  });
});

describe("checkHeader on an Ethereum chain", () => {
  const config: ChainConfig = {
    chainId: 1n,
    forkBlocks: { london: 101 },
    evmForkTimes: {},
    blobSchedule: [],
  };
  const parent: Header = { ...validPair("bedrock").parent, baseFeePerGas: undefined, difficulty: 2_048_000n };
  const difficulty = 2_049_000n; // two seconds after its parent: 1/2048 more
  const child: Header = {
    ...parent,
    number: 101,
    timestamp: 1002,
    difficulty,
    gasLimit: 60_000_000n,
    baseFeePerGas: 1_000_000_000n,
  };

  it("doubles the gas limit and starts the base fee in the London block", () => {
    expect(checkHeader(config, rulesOfBlock(config, child), parent, child)).toBeUndefined();
  });

  it.each<[string, bigint, boolean]>([
    ["1/1024 more", 60_000_000n + 60_000_000n / 1024n, false],
    ["just less than 1/1024 more", 60_000_000n + 60_000_000n / 1024n - 1n, true],
    ["1/1024 less", 60_000_000n - 60_000_000n / 1024n, false],
    ["below 5000", 4999n, false],
  ])("bounds the gas limit: %s", (_, gasLimit, isValid) => {
    const changed = { ...child, gasLimit, gasUsed: 0n };
    const fault = checkHeader(config, rulesOfBlock(config, changed), parent, changed);
    expect(fault?.rule).toBe(isValid ? undefined : "gas-limit-out-of-bounds");
  });
});
