import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { activeOpFork } from "../forks/fork-times.ts";
import { blockRules } from "../rules/block-rules.ts";
import { l1ChainConfig } from "./l1-chains.ts";
import {
  chainConfigOf,
  chainConfigOfNetwork,
  dependencySetOf,
  isNetworksTableOld,
  NETWORKS,
  NETWORKS_SOURCE,
  networkByChainId,
  networkByName,
  rollupConfigOfNetwork,
  whyNoClientFollows,
} from "./networks.ts";
import { rollupConfigFromJson, rollupConfigToJson } from "./rollup-config-json.ts";

describe("named networks", () => {
  it("are all there, each once", () => {
    for (const key of ["name", "path", "l2ChainId"] as const) {
      expect(new Set(NETWORKS.map((network) => network[key])).size).toBe(NETWORKS.length);
    }
    expect(new Set(NETWORKS.map(({ genesis }) => genesis.l2.hash)).size).toBe(NETWORKS.length);
  });

  it.each(NETWORKS.map(({ name }) => [name]))("%s passes the checks of a rollup config file and survives its JSON", (name) => {
    const config = rollupConfigOfNetwork(name);
    expect(rollupConfigFromJson(JSON.parse(JSON.stringify(rollupConfigToJson(config))))).toEqual(config);
    expect(l1ChainConfig(config.l1ChainId)).toBeDefined();
    const chain = chainConfigOf(networkByName(name)!);
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
    ["settlus-mainnet", "settlus-mainnet"],
    ["settlus-mainnet-mainnet", "settlus-mainnet"],
    ["settlus", "settlus-mainnet"],
    ["settlus-sepolia-sepolia", "settlus-sepolia"],
    ["silent-data-mainnet-mainnet", "silent-data-mainnet"],
    ["sepolia-devnet-2-sepolia-devnet-2", "sepolia-devnet-2"],
    ["sepolia-devnet-3", "sepolia-devnet-3"],
    ["giwa-sepolia", "giwa-sepolia"],
    ["mainnet/op", "op-mainnet"],
    ["sepolia/radius_testnet", "radius_testnet-sepolia"],
    ["mainnet", undefined],
    ["sepolia", undefined],
    ["op-mainnet-mainnet", undefined],
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

  it.each(["automata", "lisk-mainnet", "lisk-sepolia", "mint", "polynomial", "redstone", "sseed", "xterio-eth-mainnet"])(
    "says that %s was removed upstream",
    (name) => {
      expect(() => rollupConfigOfNetwork(name)).toThrow(
        /was removed from the superchain registry by 2026-11-25.*configs\/\w+\/[\w-]+\.toml/,
      );
      expect(networkByName(name)).toBeUndefined();
    },
  );

  it.each(["base", "base-mainnet", "BASE_SEPOLIA", "mainnet/base"])("says why no client follows %s", (name) => {
    expect(() => chainConfigOfNetwork(name)).toThrow(/^Base.* since its upgrade Azul of .* Run base-reth-node and base-consensus/);
  });

  it("knows the chains that left by their id", () => {
    expect(whyNoClientFollows(8453n)).toMatch(/^Base \(chain 8453\)/);
    expect(whyNoClientFollows(84532n)).toMatch(/^Base Sepolia \(chain 84532\)/);
    for (const { l2ChainId } of NETWORKS) expect(whyNoClientFollows(BigInt(l2ChainId))).toBeUndefined();
  });

  // docs/protocol/05-services.md#registry-data
  it("keep the gas of Karst's upgrade on twelve networks", () => {
    const keeping = NETWORKS.filter(({ keepKarstUpgradeGas }) => keepKarstUpgradeGas).map(({ name }) => name);
    expect(keeping.sort()).toEqual([
      "ink-mainnet",
      "ink-sepolia",
      "metal-sepolia",
      "mode-sepolia",
      "op-mainnet",
      "op-sepolia",
      "soneium-mainnet",
      "soneium-minato-sepolia",
      "unichain-mainnet",
      "unichain-sepolia",
      "zora-sepolia",
    ]); // and lisk-sepolia, which was removed
    expect(rollupConfigOfNetwork("op-mainnet").keepKarstUpgradeGas).toBe(true);
    expect(rollupConfigOfNetwork("zora-mainnet").keepKarstUpgradeGas).toBeUndefined();
  });

  it("have what upstream's releases added", () => {
    expect(networkByName("worldchain-mainnet")?.forkTimes.karst).toBe(1_789_992_000);
    expect(networkByName("worldchain-sepolia")?.forkTimes.karst).toBe(1_788_868_800);
    expect(networkByChainId(91_342n)).toMatchObject({ name: "giwa-sepolia", blockTimeSec: 1, forkTimes: { karst: 1_783_317_600 } });
    expect(networkByChainId(420_130_018n)?.name).toBe("sepolia-devnet-3");
  });

  // release notes of op-reth v2.10.0, read on 2026-11-27
  it("know when Lagoon begins, and which chains execute messages of each other", () => {
    const times = Object.fromEntries(
      NETWORKS.flatMap(({ name, forkTimes }) => (forkTimes.lagoon ? [[name, forkTimes.lagoon]] : [])),
    );
    expect(times).toEqual({
      "ink-mainnet": 1_799_683_201,
      "op-mainnet": 1_799_683_201,
      "soneium-mainnet": 1_799_683_201,
      "unichain-mainnet": 1_799_683_201,
      "ink-sepolia": 1_796_918_401,
      "op-sepolia": 1_796_918_401,
      "soneium-minato-sepolia": 1_796_918_401,
      "unichain-sepolia": 1_796_918_401,
    });
    const pairs: Readonly<Record<string, readonly bigint[]>> = {
      "op-mainnet": [10n, 130n],
      "unichain-mainnet": [10n, 130n],
      "op-sepolia": [1301n, 11_155_420n],
      "unichain-sepolia": [1301n, 11_155_420n],
    };
    for (const network of NETWORKS) {
      const chainIds = pairs[network.name] ?? [BigInt(network.l2ChainId)];
      expect(dependencySetOf(network)).toEqual({ chainIds, expiryWindowSec: 604_800 });
    }
  });

  it("are old six months after the registry's day", () => {
    expect(NETWORKS_SOURCE.day).toBe("2026-08-04");
    expect(isNetworksTableOld(Date.parse("2027-02-04T00:00:00Z") / 1000)).toBe(false);
    expect(isNetworksTableOld(Date.parse("2027-02-04T00:00:01Z") / 1000)).toBe(true);
  });

  it("gives the configuration of a public L1 too", () => {
    expect(chainConfigOfNetwork("sepolia").chainId).toBe(11_155_111n);
  });
});

const here = dirname(fileURLToPath(import.meta.url));
const facts = resolve(process.env.RNODE_VECTORS ?? resolve(here, "../../../../../shared/vectors"), "../networks.json");
/** Another reading of the same registry. */
interface KnownFacts {
  readonly name: string;
  readonly l2_chain_id: number;
  readonly batch_inbox_address: string;
  readonly genesis: { readonly l2: { readonly hash: string }; readonly system_config: { readonly scalar: string } };
  readonly hardforks: Readonly<Record<string, number>>;
}
describe.skipIf(!existsSync(facts))(`networks.json${existsSync(facts) ? "" : " (missing, not compared)"}`, () => {
  it("has the same facts, but for what is newer", () => {
    const known = JSON.parse(readFileSync(facts, "utf8")) as KnownFacts[];
    const networks = known.flatMap((entry) => {
      const network = networkByName(entry.name);
      return network === undefined ? [] : [{ entry, network }];
    });
    expect(networks).toHaveLength(known.length - 8);
    for (const { entry, network } of networks) {
      const { pectra_blob_schedule: pectraBlobScheduleTime, ...forks } = entry.hardforks;
      expect(network).toMatchObject({
        name: entry.name,
        l2ChainId: entry.l2_chain_id,
        batchInboxAddress: entry.batch_inbox_address.toLowerCase(),
        genesis: { l2: { hash: entry.genesis.l2.hash }, scalar: entry.genesis.system_config.scalar },
      });
      expect(network.pectraBlobScheduleTime).toBe(pectraBlobScheduleTime);
      expect(network.forkTimes).toEqual({
        ...forks,
        ...(entry.name.startsWith("worldchain-") && { karst: expect.any(Number) as number }),
      });
    }
  });
});

const registry = process.env.RNODE_REGISTRY;
describe.skipIf(registry === undefined)(
  `the table made from ${registry ?? "a registry (RNODE_REGISTRY is not set, not compared)"}`,
  () => {
    it("is up to date", () => {
      const script = resolve(here, "../scripts/generate-networks.mjs");
      const output = execFileSync(process.execPath, [script, registry!, "--check"], { encoding: "utf8" });
      expect(output).toBe(`${NETWORKS.length} networks\n`);
    });
  },
);
