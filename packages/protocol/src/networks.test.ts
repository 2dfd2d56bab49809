import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { blockRules } from "./block-rules.ts";
import { activeOpFork } from "./forks/fork-times.ts";
import { l1ChainConfig } from "./l1-chains.ts";
import { chainConfigOfNetwork, NETWORKS, networkByChainId, networkByName, rollupConfigOfNetwork } from "./networks.ts";
import { rollupConfigFromJson, rollupConfigToJson } from "./rollup-config-json.ts";

describe("named networks", () => {
  it("are all there, each once", () => {
    expect(NETWORKS).toHaveLength(53);
    for (const key of ["name", "l2ChainId"] as const) expect(new Set(NETWORKS.map((network) => network[key])).size).toBe(53);
    expect(new Set(NETWORKS.map(({ genesis }) => genesis.l2.hash)).size).toBe(53);
  });

  it.each(NETWORKS.map(({ name }) => [name]))("%s passes the checks of a rollup config file and survives its JSON", (name) => {
    const config = rollupConfigOfNetwork(name);
    expect(rollupConfigFromJson(JSON.parse(JSON.stringify(rollupConfigToJson(config))))).toEqual(config);
    expect(l1ChainConfig(config.l1ChainId)).toBeDefined();
    const chain = chainConfigOfNetwork(name);
    expect(chain.chainId).toBe(config.l2ChainId);
    for (const time of Object.values(config.forkTimes)) {
      const rules = blockRules(chain, { number: chain.optimism!.bedrockBlock, timestamp: time });
      expect(rules.op).toBe(activeOpFork(config.forkTimes, time));
    }
  });

  it.each<[string, string | undefined]>([
    ["op-mainnet", "op-mainnet"],
    ["OP-Mainnet", "op-mainnet"],
    ["optimism", "op-mainnet"],
    ["optimism_sepolia", "op-sepolia"],
    ["op", "op-mainnet"],
    ["unichain", "unichain-mainnet"],
    ["radius-testnet-sepolia", "radius_testnet-sepolia"],
    ["mainnet", undefined],
    ["", undefined],
  ])("finds %s", (name, found) => {
    expect(networkByName(name)?.name).toBe(found);
  });

  it("knows OP Mainnet's facts", () => {
    const config = rollupConfigOfNetwork("op-mainnet");
    expect(config.genesis.l1.number).toBe(17_422_590);
    expect(config.genesis.l2.number).toBe(105_235_063);
    expect(config.genesis.l2.hash).toMatch(/^0xdbf6a80f.*afd3$/);
    expect(config.forkTimes).toMatchObject({ regolith: 0, canyon: 1704992401, jovian: 1764691201, karst: 1783526401 });
    expect(config).toMatchObject({ seqWindowSize: 3600, maxSequencerDriftSec: 600, channelTimeoutL1Blocks: 300 });
    expect(networkByChainId(10n)?.name).toBe("op-mainnet");
    expect(rollupConfigOfNetwork("op-sepolia").pectraBlobScheduleTime).toBe(1742486400);
  });

  it("refuses an unknown name and lists the known ones", () => {
    expect(() => rollupConfigOfNetwork("op-mainet")).toThrow(/^unknown network op-mainet; known are .*op-mainnet/);
  });

  it("gives the configuration of a public L1 too", () => {
    expect(chainConfigOfNetwork("sepolia").chainId).toBe(11_155_111n);
  });
});

const here = dirname(fileURLToPath(import.meta.url));
const source = resolve(process.env.RNODE_VECTORS ?? resolve(here, "../../../../shared/vectors"), "../networks.json");
describe.skipIf(!existsSync(source))(
  `the table made from ${existsSync(source) ? "networks.json" : "networks.json (missing, not compared)"}`,
  () => {
    it("is up to date", () => {
      const script = resolve(here, "../scripts/generate-networks.mjs");
      expect(execFileSync(process.execPath, [script, source, "--check"], { encoding: "utf8" })).toBe("53 networks\n");
    });
  },
);
