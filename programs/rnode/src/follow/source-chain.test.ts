import type { RollupConfig } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { testConfig } from "../testing/fake-chain.ts";
import { configDifferences } from "./source-chain.ts";

const NOW_SEC = 1_800_000_000;
const ours = testConfig();
const genesis = ours.genesis;
const other = new Uint8Array(20).fill(9);
const HASH = `0x${"77".repeat(32)}` as const;

describe("the rollup configuration of a source", () => {
  it.each<[string, Partial<RollupConfig>]>([
    ["l2_chain_id", { l2ChainId: 5n }],
    ["l1_chain_id", { l1ChainId: 5n }],
    ["genesis.l1", { genesis: { ...genesis, l1: { ...genesis.l1, hash: HASH } } }],
    ["genesis.l2", { genesis: { ...genesis, l2: { ...genesis.l2, hash: HASH } } }],
    ["genesis.l2_time", { genesis: { ...genesis, l2TimeSec: 1 } }],
    ["block_time", { blockTimeSec: 7 }],
    ["seq_window_size", { seqWindowSize: 7 }],
    ["channel_timeout", { channelTimeoutL1Blocks: 7 }],
    ["chain_op_config", { chainOpConfig: { ...ours.chainOpConfig, eip1559Denominator: 7 } }],
    ["keep_karst_upgrade_gas", { keepKarstUpgradeGas: true }],
    ["batch_inbox_address", { batchInboxAddress: other }],
    ["deposit_contract_address", { depositContractAddress: other }],
    ["l1_system_config_address", { l1SystemConfigAddress: other }],
    ["karst_time", { forkTimes: { ...ours.forkTimes, karst: NOW_SEC } }],
    ["jovian_time", { forkTimes: Object.fromEntries(Object.entries(ours.forkTimes).filter(([fork]) => fork !== "jovian")) }],
    ["jovian_time", { forkTimes: { ...ours.forkTimes, jovian: NOW_SEC + 1 } }],
  ])("differs now: %s", (key, change) => {
    const { now, later } = configDifferences(ours, { ...ours, ...change }, NOW_SEC);
    expect(now.map((text) => text.split(" is ")[0])).toEqual([key]);
    expect(later).toEqual([]);
  });

  it("differs later in a fork that is ahead for both", () => {
    const at = (karst: number): RollupConfig => ({ ...ours, forkTimes: { ...ours.forkTimes, karst } });
    expect(configDifferences(ours, at(NOW_SEC + 1), NOW_SEC)).toEqual({
      now: [],
      later: [`karst_time is ${NOW_SEC + 1}, ours is none`],
    });
    expect(configDifferences(at(NOW_SEC + 5), at(NOW_SEC + 9), NOW_SEC).later).toHaveLength(1);
  });

  it("is the same if forks are active from the genesis on, whatever their times before it", () => {
    const before = { ...ours, forkTimes: { ...ours.forkTimes, jovian: genesis.l2TimeSec - 10 } };
    expect(configDifferences(ours, before, NOW_SEC)).toEqual({ now: [], later: [] });
    expect(configDifferences(ours, { ...ours, protocolVersionsAddress: other }, NOW_SEC)).toEqual({ now: [], later: [] });
  });
});
