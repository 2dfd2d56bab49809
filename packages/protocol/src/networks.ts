import { CodedError, hexToBytes, ZERO_ADDRESS } from "@rnode/primitives";
import type { ChainConfig } from "./chain-config.ts";
import { evmForkTimesOf } from "./forks/fork-times.ts";
import { ALL_FORKS_AT_GENESIS, L1_CHAINS, type L1ChainName } from "./l1-chains.ts";
import type { Network } from "./network.ts";
import { NETWORKS_TABLE } from "./networks-table.ts";
import type { AltDaConfig, RollupConfig } from "./rollup-config.ts";

export type NetworkErrorCode = "network/unknown";

/** Every named network, in the order of the table. */
export const NETWORKS: readonly Network[] = NETWORKS_TABLE;

/** Names that others use for networks of the table. */
const ALIASES: Readonly<Record<string, string>> = {
  optimism: "op-mainnet",
  "optimism-mainnet": "op-mainnet",
  "optimism-sepolia": "op-sepolia",
};

/** The channel timeout before Granite, the same on every named network. */
const CHANNEL_TIMEOUT_L1_BLOCKS = 300;
/** OP Mainnet began as another client's chain; of the forks of that time, only Berlin enters its fork id. */
const OP_MAINNET_BERLIN_BLOCK = 3_950_000;
const OP_MAINNET_CHAIN_ID = 10;

/** A network by its name, in any case: `op-mainnet`, an alias, or the name without `-mainnet` (`unichain`). */
export function networkByName(name: string): Network | undefined {
  const wanted = name.toLowerCase().replaceAll("_", "-");
  const canonical = ALIASES[wanted] ?? wanted;
  return NETWORKS.find((network) => {
    const own = network.name.replaceAll("_", "-");
    return own === canonical || own === `${canonical}-mainnet`;
  });
}

export function networkByChainId(l2ChainId: bigint): Network | undefined {
  return NETWORKS.find((network) => BigInt(network.l2ChainId) === l2ChainId);
}

function expectNetwork(name: string): Network {
  const network = networkByName(name);
  if (network === undefined) {
    const expected = NETWORKS.map((known) => known.name).join(", ");
    const sentence = "unknown network {name}; known are {expected}";
    throw new CodedError<NetworkErrorCode>("network/unknown", { name, expected }, { sentence });
  }
  return network;
}

/** @throws {CodedError} network/unknown, which lists the known names */
export function rollupConfigOfNetwork(name: string): RollupConfig {
  const network = expectNetwork(name);
  const { genesis } = network;
  return {
    genesis: {
      l1: { hash: genesis.l1.hash, number: genesis.l1.number },
      l2: { hash: genesis.l2.hash, number: genesis.l2.number },
      l2TimeSec: genesis.l2TimeSec,
      systemConfig: {
        batcherAddress: hexToBytes(genesis.batcherAddress),
        overhead: hexToBytes(genesis.overhead),
        scalar: hexToBytes(genesis.scalar),
        gasLimit: BigInt(genesis.gasLimit),
        eip1559Params: new Uint8Array(8),
        operatorFeeScalar: 0,
        operatorFeeConstant: 0n,
        minBaseFee: 0n,
        daFootprintGasScalar: 0,
      },
    },
    blockTimeSec: network.blockTimeSec,
    maxSequencerDriftSec: network.maxSequencerDriftSec,
    seqWindowSize: network.seqWindowSize,
    channelTimeoutL1Blocks: CHANNEL_TIMEOUT_L1_BLOCKS,
    l1ChainId: BigInt(network.l1ChainId),
    l2ChainId: BigInt(network.l2ChainId),
    forkTimes: { regolith: 0, ...network.forkTimes },
    pectraBlobScheduleTime: network.pectraBlobScheduleTime,
    batchInboxAddress: hexToBytes(network.batchInboxAddress),
    depositContractAddress: hexToBytes(network.depositContractAddress),
    l1SystemConfigAddress: hexToBytes(network.l1SystemConfigAddress),
    protocolVersionsAddress: ZERO_ADDRESS,
    altDa: altDaOf(network),
    chainOpConfig: {
      eip1559Elasticity: network.eip1559.elasticity,
      eip1559Denominator: network.eip1559.denominator,
      eip1559DenominatorCanyon: network.eip1559.denominatorCanyon,
    },
  };
}

function altDaOf({ altDa }: Network): AltDaConfig | undefined {
  if (altDa === undefined) return undefined;
  const { commitmentType } = altDa;
  return {
    daChallengeContractAddress: commitmentType === "GenericCommitment" ? undefined : hexToBytes(altDa.challengeContractAddress),
    daCommitmentType: commitmentType,
    daChallengeWindow: altDa.challengeWindow,
    daResolveWindow: altDa.resolveWindow,
  };
}

/** The execution client's configuration for a rollup or a public L1 (`mainnet`, `sepolia` …). @throws {CodedError} network/unknown */
export function chainConfigOfNetwork(name: string): ChainConfig {
  const l1 = L1_CHAINS[name.toLowerCase() as L1ChainName];
  return l1 ?? chainConfigOfRollup(expectNetwork(name));
}

function chainConfigOfRollup(network: Network): ChainConfig {
  const bedrockBlock = network.genesis.l2.number;
  const forkTimes = { regolith: 0, ...network.forkTimes };
  const isOpMainnet = network.l2ChainId === OP_MAINNET_CHAIN_ID;
  return {
    chainId: BigInt(network.l2ChainId),
    forkBlocks: {
      ...ALL_FORKS_AT_GENESIS,
      ...(isOpMainnet && { berlin: OP_MAINNET_BERLIN_BLOCK }),
      london: bedrockBlock,
      paris: bedrockBlock,
    },
    evmForkTimes: evmForkTimesOf(forkTimes),
    terminalTotalDifficulty: 0n,
    blobSchedule: [],
    optimism: {
      eip1559Elasticity: network.eip1559.elasticity,
      eip1559Denominator: network.eip1559.denominator,
      eip1559DenominatorCanyon: network.eip1559.denominatorCanyon,
      forkTimes,
      bedrockBlock,
    },
  };
}
