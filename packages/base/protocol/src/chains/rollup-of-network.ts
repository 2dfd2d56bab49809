import { hexToBytes, ZERO_ADDRESS } from "@rnode/primitives";
import type { Network } from "./network.ts";
import type { AltDaConfig, RollupConfig } from "./rollup-config.ts";

/** The channel timeout before Granite, the same on every named network. */
const CHANNEL_TIMEOUT_L1_BLOCKS = 300;

/** The rollup configuration of a network. */
export function rollupConfigOf(network: Network): RollupConfig {
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
    keepKarstUpgradeGas: network.keepKarstUpgradeGas,
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
