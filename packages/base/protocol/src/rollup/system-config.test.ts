import { bytesToHex, concatBytes, type Hex, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { RollupConfig, SystemConfig } from "../chains/rollup-config.ts";
import { decodeFeeScalar, encodeFeeScalar } from "../params/system-config-scalar.ts";
import { badConfigUpdates } from "../testing/contract-logs.ts";
import { testRollupConfig } from "../testing/rollup-config.ts";
import type { Log, Receipt } from "../transactions/receipt.ts";
import { encodeTransaction } from "../transactions/transaction-codec.ts";
import { type L1OriginFacts, l1InfoDeposit } from "./l1-attributes.ts";
import {
  applySystemConfigUpdates,
  CONFIG_UPDATE_TOPIC,
  encodeOperatorFeeParams,
  l2BlockRefFromPayload,
  systemConfigFromPayload,
} from "./system-config.ts";

const word = (hex: string) => hexToBytes(hex.padStart(64, "0"));
const config = testRollupConfig({ forkTimes: { regolith: 0, canyon: 0, delta: 0, ecotone: 5000 } });
const initial = config.genesis.systemConfig;

const update = (type: number, ...payload: string[]): Log => ({
  address: config.l1SystemConfigAddress,
  topics: [CONFIG_UPDATE_TOPIC, word("0"), word(type.toString(16))],
  data: concatBytes(word("20"), word((payload.length * 32).toString(16)), ...payload.map(word)),
});
const receipt = (logs: Log[], status: 0 | 1 = 1): Receipt => ({
  type: 2,
  status,
  cumulativeGasUsed: 0n,
  bloom: new Uint8Array(256),
  logs,
});
const applyAll = (logs: Log[], l1Time = 1000) => applySystemConfigUpdates(config, initial, [receipt(logs)], l1Time);
const apply = (logs: Log[], l1Time?: number) => applyAll(logs, l1Time).systemConfig;
const ecotoneScalar = (blob: string, base: string) => `01${"00".repeat(23)}${blob}${base}`;

describe("SystemConfig updates", () => {
  it.each<[string, Log, Partial<SystemConfig>, number?]>([
    ["0: batcher", update(0, "11".repeat(20)), { batcherAddress: hexToBytes("11".repeat(20)) }],
    ["1 before Ecotone: overhead and scalar", update(1, "babe", "beef"), { overhead: word("babe"), scalar: word("beef") }],
    [
      "1 from Ecotone: scalar only",
      update(1, "babe", ecotoneScalar("00000007", "00000008")),
      { overhead: word("0"), scalar: hexToBytes(ecotoneScalar("00000007", "00000008")) },
      5000,
    ],
    ["1 from Ecotone with a Bedrock scalar", update(1, "babe", "beef"), { overhead: word("0"), scalar: word("beef") }, 5000],
    ["2: gas limit", update(2, "ffffffffffffffff"), { gasLimit: 0xffff_ffff_ffff_ffffn }],
    ["3: unsafe block signer", update(3, "11".repeat(20)), {}],
    ["4: EIP-1559", update(4, "000000fa00000006"), { eip1559Params: hexToBytes("000000fa00000006") }],
    ["4: EIP-1559, the chain's own", update(4, "00"), { eip1559Params: new Uint8Array(8) }],
    ["5: operator fee", update(5, "0000abcd000000000000dcba"), { operatorFeeScalar: 0xabcd, operatorFeeConstant: 0xdcban }],
    ["6: minimum base fee", update(6, "3b9aca00"), { minBaseFee: 1_000_000_000n }],
    ["7: DA footprint", update(7, "0190"), { daFootprintGasScalar: 400 }],
  ])("type %s", (_, log, expected, l1Time) => {
    expect(apply([log], l1Time)).toEqual({ ...initial, ...expected });
  });

  it("take two zeros for the chain's own EIP-1559 parameters, also after others", () => {
    const { systemConfig, skipped } = applyAll([update(4, "000000fa00000006"), update(4, "00")]);
    expect([systemConfig.eip1559Params, skipped]).toEqual([new Uint8Array(8), []]);
  });

  it("apply in order", () => {
    expect(apply([update(2, "01"), update(0, "22".repeat(20)), update(2, "02")])).toMatchObject({
      gasLimit: 2n,
      batcherAddress: hexToBytes("22".repeat(20)),
    });
  });

  it("of other contracts, other events and failed transactions are none", () => {
    const log = update(2, "01");
    const foreign = { ...log, address: new Uint8Array(20) };
    const other = { ...log, topics: [word("1"), ...log.topics.slice(1)] };
    expect(apply([foreign, other, { ...log, topics: [] }])).toEqual(initial);
    expect(applySystemConfigUpdates(config, initial, [receipt([log], 0)], 1000)).toEqual({ systemConfig: initial, skipped: [] });
  });

  const patched = (log: Log, at: number, byte: number) => {
    const data = log.data.slice();
    data[at] = byte;
    return { ...log, data };
  };
  it.each<[string, Log, string, number?]>([
    ["a bad Bedrock scalar from Ecotone on", update(1, "babe", "100000000"), "system-config/bad-scalar", 5000],
    ["a bad version 1 scalar from Ecotone on", update(1, "babe", `0101${"00".repeat(30)}`), "system-config/bad-scalar", 5000],
    ["a version 2 scalar from Ecotone on", update(1, "babe", `02${"00".repeat(31)}`), "system-config/bad-scalar", 5000],
    ["a denominator of 0", update(4, "0000000000000006"), "system-config/bad-eip1559-params"],
    ["an elasticity of 0", update(4, "000000fa00000000"), "system-config/bad-eip1559-params"],
    ["an unknown type", update(8, "01"), "system-config/unknown-update-type"],
    [
      "a type above 2^64",
      { ...update(2, "01"), topics: [CONFIG_UPDATE_TOPIC, word("0"), word(`1${"0".repeat(40)}`)] },
      "system-config/unknown-update-type",
    ],
    [
      "another version",
      { ...update(2, "01"), topics: [CONFIG_UPDATE_TOPIC, word("1"), word("2")] },
      "system-config/unknown-version",
    ],
    ["two topics", { ...update(2, "01"), topics: update(2, "01").topics.slice(0, 2) }, "system-config/wrong-topics"],
    ["two words for one", update(2, "01", "02"), "system-config/bad-update"],
    ["one word for two", update(1, "01"), "system-config/bad-update"],
    [
      "a byte after the payload",
      { ...update(2, "01"), data: concatBytes(update(2, "01").data, Uint8Array.of(0)) },
      "system-config/bad-update",
    ],
    ["another offset", patched(update(2, "01"), 31, 0x40), "system-config/bad-update"],
    ["another length", patched(update(2, "01"), 63, 0x21), "system-config/bad-update"],
    ["an address above 20 bytes", update(0, `01${"11".repeat(20)}`), "system-config/bad-update"],
    ["a gas limit above 64 bits", update(2, "010000000000000000"), "system-config/bad-update"],
    ["a DA footprint scalar above 16 bits", update(7, "010000"), "system-config/bad-update"],
  ])("skip %s, and keep its neighbours", (_, log, reason, l1Time) => {
    const skipped = [{ logIndex: 1, reason }];
    const systemConfig = { ...initial, gasLimit: 7n, minBaseFee: 8n };
    expect(applyAll([update(2, "07"), log, update(6, "08")], l1Time)).toEqual({ systemConfig, skipped });
  });

  it("read the low bytes of EIP-1559 and operator fee parameters, whatever is before them", () => {
    expect(apply([update(4, "ff000000fa00000006")]).eip1559Params).toEqual(hexToBytes("000000fa00000006"));
    expect(apply([update(5, `01000000020000000000000003`)])).toMatchObject({ operatorFeeScalar: 2, operatorFeeConstant: 3n });
  });

  it("skip every form that has no effect, and keep its neighbours", () => {
    const bad = badConfigUpdates(config.l1SystemConfigAddress);
    const systemConfig = { ...initial, gasLimit: 7n, minBaseFee: 8n };
    const wrong = bad.filter((malformed) => {
      const got = applyAll([update(2, "07"), malformed, update(6, "08")]);
      const isSkipped = got.skipped.length === 1 && got.skipped[0]!.logIndex === 1;
      const isKept = (Object.keys(systemConfig) as (keyof SystemConfig)[]).every(
        (key) => got.systemConfig[key] === systemConfig[key],
      );
      return !isSkipped || !isKept;
    });
    expect(wrong).toEqual([]);
    expect(bad.length).toBeGreaterThan(10_000);
  });
});

describe("an L2 payload", () => {
  const origin: L1OriginFacts = {
    number: 77,
    hash: new Uint8Array(32).fill(0x77),
    timestamp: 990,
    baseFeePerGas: 7n,
    blobBaseFee: 9n,
  };
  const systemConfig: SystemConfig = {
    ...initial,
    batcherAddress: new Uint8Array(20).fill(0x33),
    operatorFeeScalar: 5,
    operatorFeeConstant: 6n,
  };
  const payload = (
    rollup: RollupConfig,
    over: { system?: SystemConfig; timestamp?: number; extraData?: Hex; gasLimit?: bigint } = {},
  ) => {
    const timestamp = over.timestamp ?? 1010;
    return {
      blockHash: new Uint8Array(32).fill(5),
      parentHash: new Uint8Array(32).fill(4),
      blockNumber: 5,
      timestamp,
      gasLimit: over.gasLimit ?? 12_345n,
      extraData: hexToBytes(over.extraData ?? "0x"),
      transactions: [encodeTransaction(l1InfoDeposit(rollup, origin, over.system ?? systemConfig, 3, timestamp))],
    };
  };

  it("gives its block reference", () => {
    expect(l2BlockRefFromPayload(config, payload(config))).toEqual({
      hash: `0x${"05".repeat(32)}`,
      number: 5,
      parentHash: `0x${"04".repeat(32)}`,
      timestamp: 1010,
      l1Origin: { hash: `0x${"77".repeat(32)}`, number: 77 },
      sequenceNumber: 3,
    });
  });

  it("gives the SystemConfig before Ecotone", () => {
    const expected = { ...initial, batcherAddress: systemConfig.batcherAddress, gasLimit: 12_345n };
    expect(systemConfigFromPayload(config, payload(config))).toEqual(expected);
  });

  it("gives the SystemConfig of each later fork", () => {
    const scalar = encodeFeeScalar({ baseFeeScalar: 4, blobBaseFeeScalar: 5 });
    const system = { ...systemConfig, scalar };
    const all = { regolith: 0, canyon: 0, delta: 0, ecotone: 0, fjord: 0, granite: 0 };
    const base = { ...initial, batcherAddress: systemConfig.batcherAddress, gasLimit: 12_345n, overhead: word("0"), scalar };
    const ecotone = testRollupConfig({ forkTimes: all });
    expect(systemConfigFromPayload(ecotone, payload(ecotone, { system }))).toEqual(base);

    const holocene = testRollupConfig({ forkTimes: { ...all, holocene: 0 } });
    const eip1559Params = hexToBytes("000000fa00000006");
    expect(systemConfigFromPayload(holocene, payload(holocene, { system, extraData: "0x00000000fa00000006" }))).toEqual({
      ...base,
      eip1559Params,
    });

    const isthmus = testRollupConfig({ forkTimes: { ...all, holocene: 0, isthmus: 0 } });
    expect(systemConfigFromPayload(isthmus, payload(isthmus, { system, extraData: "0x00000000fa00000006" }))).toEqual({
      ...base,
      eip1559Params,
      operatorFeeScalar: 5,
      operatorFeeConstant: 6n,
    });

    const jovian = testRollupConfig({ forkTimes: { ...all, holocene: 0, isthmus: 0, jovian: 0 } });
    const extraData = "0x01000000fa000000060000000000000101";
    expect(systemConfigFromPayload(jovian, payload(jovian, { system, extraData }))).toEqual({
      ...base,
      eip1559Params,
      operatorFeeScalar: 5,
      operatorFeeConstant: 6n,
      minBaseFee: 257n,
      daFootprintGasScalar: 400,
    });
    expect(() => systemConfigFromPayload(jovian, payload(jovian, { extraData: "0x00000000fa00000006" }))).toThrow(
      expect.objectContaining({ code: "system-config/bad-extra-data" }),
    );
  });

  it("takes Karst's upgrade gas off again, unless the chain keeps it", () => {
    const forkTimes = {
      regolith: 0,
      canyon: 0,
      delta: 0,
      ecotone: 0,
      fjord: 0,
      granite: 0,
      holocene: 0,
      isthmus: 0,
      jovian: 0,
      karst: 2000,
    };
    const extraData = "0x01000000fa000000060000000000000000";
    const gasLimit = 30_000_000n + 55_370_657n;
    const limitAt = (rollup: RollupConfig, timestamp: number) =>
      systemConfigFromPayload(rollup, payload(rollup, { timestamp, extraData, gasLimit })).gasLimit;
    const karst = testRollupConfig({ forkTimes });
    expect(limitAt(karst, 2000)).toBe(30_000_000n);
    expect(limitAt(karst, 2002)).toBe(gasLimit);
    expect(limitAt(testRollupConfig({ forkTimes, keepKarstUpgradeGas: true }), 2000)).toBe(gasLimit);
  });

  it("of the genesis is known from the config", () => {
    const genesis = { ...payload(config), blockNumber: 0, transactions: [], blockHash: hexToBytes(config.genesis.l2.hash) };
    expect(systemConfigFromPayload(config, genesis)).toBe(initial);
    expect(l2BlockRefFromPayload(config, genesis)).toMatchObject({ l1Origin: config.genesis.l1, sequenceNumber: 0 });
    const other = { ...genesis, blockHash: new Uint8Array(32) };
    expect(() => l2BlockRefFromPayload(config, other)).toThrow(expect.objectContaining({ code: "system-config/wrong-genesis" }));
    expect(() => systemConfigFromPayload(config, other)).toThrow(expect.objectContaining({ code: "system-config/wrong-genesis" }));
  });

  it("must begin with the L1 info deposit", () => {
    expect(() => l2BlockRefFromPayload(config, { ...payload(config), transactions: [] })).toThrow(
      expect.objectContaining({ code: "l1-info/missing" }),
    );
    expect(() => l2BlockRefFromPayload(config, { ...payload(config), transactions: [hexToBytes("02c0")] })).toThrow(
      expect.objectContaining({ code: "deposit/not-a-deposit" }),
    );
  });
});

it("fee scalars round-trip", () => {
  expect(bytesToHex(encodeFeeScalar({ baseFeeScalar: 1368, blobBaseFeeScalar: 810_949 }))).toBe(
    `0x${ecotoneScalar("000c5fc5", "00000558")}`,
  );
  expect(decodeFeeScalar(hexToBytes(ecotoneScalar("000c5fc5", "00000558")))).toEqual({
    baseFeeScalar: 1368,
    blobBaseFeeScalar: 810_949,
  });
});

it("operator fee parameters are one word", () => {
  const params = encodeOperatorFeeParams({ operatorFeeScalar: 0xabcd, operatorFeeConstant: 0xdcban });
  expect(bytesToHex(params)).toBe(`0x${"0000abcd000000000000dcba".padStart(64, "0")}`);
});
