import { describe, expect, it } from "vitest";
import { oldForkKeysIn } from "./fork-keys.ts";
import { rollupConfigFromJson, rollupConfigToJson } from "./rollup-config-json.ts";

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const address = (digit: string): string => `0x${digit.repeat(40)}`;

/** A deep copy with the value at `path` replaced; `undefined` removes it. */
function withValue(json: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(json);
  const keys = path.split(".");
  const last = keys.pop()!;
  const target = keys.reduce((inner, key) => inner[key] as Record<string, unknown>, copy);
  if (value === undefined) delete target[last];
  else target[last] = value;
  return copy;
}

const full: Record<string, unknown> = {
  genesis: {
    l1: { hash: hash("1"), number: 7 },
    l2: { hash: hash("2"), number: 0 },
    l2_time: 1_700_000_000,
    system_config: {
      batcherAddr: address("3"),
      overhead: hash("0"),
      scalar: hash("4"),
      gasLimit: 60_000_000,
      eip1559Params: "0x000000fa00000006",
      operatorFeeParams: `0x${"0".repeat(40)}0000abcd000000000000dcba`,
      minBaseFee: 9,
      daFootprintGasScalar: 400,
    },
  },
  block_time: 2,
  max_sequencer_drift: 600,
  seq_window_size: 3600,
  channel_timeout: 300,
  l1_chain_id: 900,
  l2_chain_id: 901,
  regolith_time: 0,
  canyon_time: 0,
  delta_time: 5,
  ecotone_time: 5,
  fjord_time: 6,
  granite_time: 7,
  holocene_time: 8,
  pectra_blob_schedule_time: 3,
  isthmus_time: 9,
  jovian_time: 9,
  keep_karst_upgrade_gas: true,
  lagoon_preliminary: true,
  batch_inbox_address: address("5"),
  deposit_contract_address: address("6"),
  l1_system_config_address: address("7"),
  protocol_versions_address: address("7"),
  alt_da: {
    da_challenge_contract_address: address("8"),
    da_commitment_type: "KeccakCommitment",
    da_challenge_window: 16,
    da_resolve_window: 17,
  },
  chain_op_config: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
};

describe("rollupConfigFromJson", () => {
  it("leaves protocol_versions_address out unless it is set", () => {
    const { protocol_versions_address: given, ...without } = full;
    expect(rollupConfigToJson(rollupConfigFromJson(without))).toEqual(without);
    expect(rollupConfigToJson(rollupConfigFromJson({ ...full, protocol_versions_address: address("0") }))).toEqual(without);
    expect(given).toBe(address("7"));
  });

  it("reads every field", () => {
    const config = rollupConfigFromJson(full);
    expect(rollupConfigToJson(config)).toEqual(full);
    expect(config).toMatchObject({
      blockTimeSec: 2,
      l2ChainId: 901n,
      forkTimes: { regolith: 0, canyon: 0, delta: 5, ecotone: 5, fjord: 6, granite: 7, holocene: 8, isthmus: 9, jovian: 9 },
      pectraBlobScheduleTime: 3,
      keepKarstUpgradeGas: true,
      lagoonPreliminary: true,
      genesis: { systemConfig: { operatorFeeScalar: 0xabcd, operatorFeeConstant: 0xdcban, minBaseFee: 9n, gasLimit: 60_000_000n } },
    });
  });

  it("fills in what older files lack", () => {
    let old = full;
    for (const key of [
      "chain_op_config",
      "alt_da",
      "genesis.system_config.eip1559Params",
      "genesis.system_config.operatorFeeParams",
    ]) {
      old = withValue(old, key, undefined);
    }
    const config = rollupConfigFromJson(old);
    expect(config.chainOpConfig).toEqual({ eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 });
    expect(config.genesis.systemConfig).toMatchObject({ eip1559Params: new Uint8Array(8), operatorFeeScalar: 0 });
  });

  it("reads the old key of a fork's time, and writes the new one", () => {
    const { karst_time, ...old } = { ...full, karst_time: 9, interop_time: 10 };
    const config = rollupConfigFromJson({ ...old, karst_time });
    expect(config.forkTimes.lagoon).toBe(10);
    expect(rollupConfigToJson(config)).toEqual({ ...full, karst_time, lagoon_time: 10 });
    expect(oldForkKeysIn({ ...old, karst_time })).toEqual([{ key: "interop_time", use: "lagoon_time" }]);
    expect(oldForkKeysIn(rollupConfigToJson(config))).toEqual([]);
    expect(oldForkKeysIn({ ...full, interop_time: null })).toEqual([]);
    expect(() => rollupConfigFromJson(old)).toThrow(/^lagoon_time: expected not set, because karst_time is not set/);
  });

  it("takes both keys of a fork's time only if they agree", () => {
    const both = (lagoon_time: unknown, interop_time: unknown) =>
      rollupConfigFromJson({ ...full, karst_time: 9, lagoon_time, interop_time }).forkTimes.lagoon;
    expect(both(10, 10)).toBe(10);
    expect(both(null, 11)).toBe(11);
    expect(both(12, null)).toBe(12);
    for (const [now, old] of [
      [10, 11],
      [11, 10],
    ]) {
      expect(() => both(now, old)).toThrow(
        `interop_time: expected the time of lagoon_time (${now}), or no such key: it is the old name of lagoon_time, got ${old}`,
      );
    }
  });

  it("lets the drift go where Fjord is active at genesis", () => {
    const atGenesis = { ...full, delta_time: 0, ecotone_time: 0, fjord_time: 0 };
    expect(rollupConfigFromJson(withValue(atGenesis, "max_sequencer_drift", undefined)).maxSequencerDriftSec).toBe(0);
  });

  it("takes the keys that kona writes", () => {
    expect(() =>
      rollupConfigFromJson({ ...full, granite_channel_timeout: 50, superchain_config_address: address("9") }),
    ).not.toThrow();
  });

  it("refuses every time of a fork that is none", () => {
    const keys = Object.keys(full).filter((key) => key.endsWith("_time") && key !== "block_time");
    expect(keys.length).toBeGreaterThan(9);
    for (const key of [...keys, "karst_time", "interop_time", "lagoon_time"]) {
      for (const value of [-5, -1, 0.5, 1.5, 1e300, 2 ** 60, Number.NaN, "5", "-5", "", true, [], {}]) {
        expect(() => rollupConfigFromJson({ ...full, [key]: value }), `${key} ${JSON.stringify(value)}`).toThrow(key);
      }
    }
  });

  it.each<[string, string, unknown, string]>([
    ["an unknown key", "blocktime", 2, "no such key"],
    ["an unknown inner key", "genesis.system_config.gaslimit", 2, "no such key"],
    ["an unknown fork", "ecotone2_time", 2, "a fork that this version knows"],
    ["no genesis", "genesis", undefined, "an object"],
    ["a block time of 0", "block_time", 0, "an integer above 0"],
    ["a block time in text", "block_time", "2", "an integer above 0"],
    ["no block time", "block_time", undefined, "an integer above 0"],
    ["a channel timeout of 0", "channel_timeout", 0, "an integer above 0"],
    ["a sequencing window of 1", "seq_window_size", 1, "2 L1 blocks or more"],
    ["no drift", "max_sequencer_drift", undefined, "an integer above 0"],
    ["a drift of 0", "max_sequencer_drift", 0, "an integer above 0"],
    ["a zero L1 genesis hash", "genesis.l1.hash", hash("0"), "a hash that is not zero"],
    ["a zero L2 genesis hash", "genesis.l2.hash", hash("0"), "a hash that is not zero"],
    ["a short hash", "genesis.l2.hash", "0x12", "32 bytes"],
    ["equal genesis hashes", "genesis.l2.hash", hash("1"), "another hash"],
    ["a genesis time of 0", "genesis.l2_time", 0, "an integer above 0"],
    ["a zero batcher", "genesis.system_config.batcherAddr", address("0"), "not zero"],
    ["a zero scalar", "genesis.system_config.scalar", hash("0"), "not all zero"],
    ["a gas limit of 0", "genesis.system_config.gasLimit", 0, "an integer above 0"],
    ["a zero inbox", "batch_inbox_address", address("0"), "not zero"],
    ["a zero deposit contract", "deposit_contract_address", address("0"), "not zero"],
    ["no L1 chain id", "l1_chain_id", undefined, "an integer above 0"],
    ["a negative L2 chain id", "l2_chain_id", -1, "an integer above 0"],
    ["equal chain ids", "l2_chain_id", 900, "a chain id other than"],
    ["forks out of order", "fjord_time", 4, "at least ecotone_time (5)"],
    ["a skipped fork", "ecotone_time", undefined, "not set, because ecotone_time is not set"],
    ["a fractional fork time", "jovian_time", 9.5, "an integer"],
    ["a challenge window of 0", "alt_da.da_challenge_window", 0, "an integer above 0"],
    ["a resolve window of 0", "alt_da.da_resolve_window", 0, "an integer above 0"],
    ["an unknown commitment type", "alt_da.da_commitment_type", "Keccak", "one of KeccakCommitment, GenericCommitment"],
    ["Keccak commitments without contract", "alt_da.da_challenge_contract_address", address("0"), "KeccakCommitment needs one"],
    ["generic commitments with contract", "alt_da.da_commitment_type", "GenericCommitment", "the zero address"],
    ["an elasticity of 0", "chain_op_config.eip1559Elasticity", 0, "an integer above 0"],
  ])("refuses %s, naming key, value and expectation", (_, path, value, expected) => {
    let message = "";
    try {
      rollupConfigFromJson(withValue(full, path, value));
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain(": expected ");
    expect(message).toContain(expected);
    if (value !== undefined && !expected.startsWith("the zero")) {
      expect(message).toContain(`${path}: `);
      expect(message).toContain(JSON.stringify(value).slice(0, 60));
    }
  });

  it("names unknown keys where asked to, and refuses only unknown forks", () => {
    const unknown: string[] = [];
    const parse = (more: object): unknown =>
      rollupConfigFromJson({ ...full, ...more }, { unknownKeys: (key) => unknown.push(key) });
    const genesis = { ...(full.genesis as object), colour: "red" };
    expect(parse({ block_time_ms: 200, blocktime: 1, genesis, future_time: null })).toEqual(parse({}));
    expect(unknown).toEqual(["block_time_ms", "blocktime", "future_time", "genesis.colour"]);
    for (const time of [0, 9, "9", -1, true, {}])
      expect(() => parse({ future_time: time })).toThrow(/^future_time: expected a fork that/);
  });

  it("refuses a fork from Jovian on that shares its first block with another", () => {
    const late = { ...full, isthmus_time: 2_000_000_000, jovian_time: 2_000_000_000 };
    expect(() => rollupConfigFromJson(late)).toThrow(/^jovian_time: expected later than isthmus_time \(2000000000\)/);
    expect(() => rollupConfigFromJson({ ...late, jovian_time: 2_000_000_001 })).not.toThrow();
  });

  it("ignores unknown keys of another node's answer where asked to", () => {
    expect(() => rollupConfigFromJson({ ...full, new_key: 1 }, { unknownKeys: "ignore" })).not.toThrow();
  });
});
