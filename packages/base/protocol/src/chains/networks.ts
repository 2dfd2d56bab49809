import { CodedError } from "@rnode/primitives";
import { evmForkTimesOf } from "../forks/fork-times.ts";
import networksTable from "../networks-table.json" with { type: "json" };
import type { ChainConfig } from "./chain-config.ts";
import { type DependencySet, MESSAGE_EXPIRY_WINDOW_SEC } from "./dependency-set.ts";
import { ALL_FORKS_AT_GENESIS, L1_CHAINS, type L1ChainName } from "./l1-chains.ts";
import type { Network, NetworksTable } from "./network.ts";
import { isNameOf, networkName } from "./network-names.ts";
import { readRegistryChain } from "./registry-chain.ts";
import type { RollupConfig } from "./rollup-config.ts";
import { rollupConfigOf } from "./rollup-of-network.ts";

export type NetworkErrorCode =
  | "network/unknown"
  /** removed from upstream's registry */
  | "network/removed"
  /** it left the OP Stack */
  | "network/left";

const NETWORKS_TABLE: NetworksTable = networksTable;

/** Source of the table of networks: a commit of the superchain registry, its date, and the date of the newest added facts. */
export const NETWORKS_SOURCE = { ...NETWORKS_TABLE.registry, amendedDay: NETWORKS_TABLE.amendedDay };

/** All named networks, in the order of the table. PERF: 2 ms in each thread that imports this; tests check the configurations. */
export const NETWORKS: readonly Network[] = Object.entries(NETWORKS_TABLE.chains).map(([path, facts]) => {
  const [superchain = ""] = path.split("/");
  return readRegistryChain(path, facts, NETWORKS_TABLE.superchains[superchain] ?? 0);
});

const OLD_AFTER_MONTHS = 6;

/** Whether the table is older than six months, so it can lack scheduled forks. */
export function isNetworksTableOld(nowSec: number): boolean {
  const day = new Date(NETWORKS_SOURCE.day);
  return nowSec * 1_000 > day.setUTCMonth(day.getUTCMonth() + OLD_AFTER_MONTHS);
}

/** Chains that left the OP Stack. */
const LEFT_CHAINS: Readonly<Record<string, { readonly title: string; readonly names: readonly string[]; readonly when: string }>> =
  {
    8453: { title: "Base", names: ["base", "base-mainnet", "mainnet/base"], when: "28 May 2026" },
    84532: { title: "Base Sepolia", names: ["base-sepolia", "sepolia/base"], when: "20 April 2026" },
  };

/** Why OP Stack clients cannot follow this chain; `undefined` if they can. Spec: docs/protocol/05-services.md#base */
export function whyNoClientFollows(l2ChainId: bigint): string | undefined {
  const left = LEFT_CHAINS[String(l2ChainId)];
  if (left === undefined) return undefined;
  return `${left.title} (chain ${l2ChainId}) follows Base's own protocol since its upgrade Azul of ${left.when}: no client of the OP Stack can follow it. Run base-reth-node and base-consensus (github.com/base/node)`;
}

/** A network by its name, in any case: `op-mainnet`, `settlus-mainnet-mainnet`, `mainnet/op`, an alias, or `unichain`. */
export const networkByName = (name: string): Network | undefined => NETWORKS.find(({ path }) => isNameOf(name, path));

export function networkByChainId(l2ChainId: bigint): Network | undefined {
  return NETWORKS.find((network) => BigInt(network.l2ChainId) === l2ChainId);
}

/** @throws {CodedError} network/unknown, with the known names; network/removed, network/left, with the remedy */
export function expectNetwork(name: string): Network {
  const network = networkByName(name);
  if (network !== undefined) return network;
  const wanted = name.toLowerCase().replaceAll("_", "-");
  const left = Object.entries(LEFT_CHAINS).find(([, { names }]) => names.includes(wanted));
  if (left !== undefined) {
    const reason = whyNoClientFollows(BigInt(left[0])) ?? "";
    throw new CodedError<NetworkErrorCode>("network/left", { name, reason }, { sentence: "{reason}" });
  }
  const removed = Object.keys(NETWORKS_TABLE.removed).find((path) => isNameOf(name, path));
  if (removed !== undefined) {
    const sentence =
      "{name} was removed from the superchain registry by {day}: give its own configuration files, or its file superchain/configs/{path}.toml of an older registry";
    const data = { name: networkName(removed), day: NETWORKS_SOURCE.amendedDay, path: removed };
    throw new CodedError<NetworkErrorCode>("network/removed", data, { sentence });
  }
  const expected = NETWORKS.map((known) => known.name).join(", ");
  throw new CodedError<NetworkErrorCode>(
    "network/unknown",
    { name, expected },
    { sentence: "unknown network {name}; known are {expected}" },
  );
}

/** @throws {CodedError} network/unknown, network/removed, network/left */
export const rollupConfigOfNetwork = (name: string): RollupConfig => rollupConfigOf(expectNetwork(name));

/** The chains whose messages a network may execute; by default only itself. */
export function dependencySetOf({ l2ChainId, dependencies = [l2ChainId] }: Network): DependencySet {
  return { chainIds: dependencies.map(BigInt), expiryWindowSec: MESSAGE_EXPIRY_WINDOW_SEC };
}

/**
 * The execution client's configuration for a rollup or a public L1 (`mainnet`, `sepolia` …).
 *
 * @throws {CodedError} network/unknown, network/removed, network/left
 */
export function chainConfigOfNetwork(name: string): ChainConfig {
  const l1 = L1_CHAINS[name.toLowerCase() as L1ChainName];
  return l1 ?? chainConfigOf(expectNetwork(name));
}

/** OP Mainnet started with another client. Of the forks of that time, only Berlin is in its fork id. */
const OP_MAINNET_BERLIN_BLOCK = 3_950_000;
const OP_MAINNET_CHAIN_ID = 10n;

/** The execution client's configuration of a network. */
export const chainConfigOf = (network: Network): ChainConfig => chainConfigOfRollup(rollupConfigOf(network));

/** The execution client's configuration for a rollup configuration. */
export function chainConfigOfRollup({ genesis, l2ChainId, forkTimes, chainOpConfig }: RollupConfig): ChainConfig {
  const bedrockBlock = genesis.l2.number;
  const isOpMainnet = l2ChainId === OP_MAINNET_CHAIN_ID;
  return {
    chainId: l2ChainId,
    forkBlocks: {
      ...ALL_FORKS_AT_GENESIS,
      ...(isOpMainnet && { berlin: OP_MAINNET_BERLIN_BLOCK }),
      london: bedrockBlock,
      paris: bedrockBlock,
    },
    evmForkTimes: evmForkTimesOf(forkTimes),
    terminalTotalDifficulty: 0n,
    blobSchedule: [],
    optimism: { ...chainOpConfig, forkTimes, bedrockBlock },
  };
}
