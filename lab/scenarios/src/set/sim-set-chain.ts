import { bytesToHex, keccak256, privateKeyToAddress, uint64ToBytes } from "@rnode/primitives";
import { forksUpTo, type L1BlockRef, OP_FORKS, type RollupConfig } from "@rnode/protocol";
import { testRollupConfig, testSystemConfig } from "@rnode/protocol/testing";
import { genesisPayload } from "../sim-engine.ts";
import type { ChainPlan } from "./set-plan.ts";

export const L1_CHAIN_ID = 900n;

const keyed = (chainId: bigint, what: number): Uint8Array => keccak256(uint64ToBytes(Number(chainId)), Uint8Array.of(what));

export const batcherKeyOf = (chainId: bigint): Uint8Array => keyed(chainId, 0);

/** The configuration of a chain of a set, with addresses of its own on L1. */
export function configOfChain(plan: ChainPlan, l1Genesis: L1BlockRef): RollupConfig {
  const { chainId } = plan;
  const address = (what: number): Uint8Array => keyed(chainId, what).subarray(0, 20);
  const config = testRollupConfig({
    genesis: {
      l1: { hash: l1Genesis.hash, number: l1Genesis.number },
      l2: { hash: `0x${"00".repeat(32)}`, number: 0 },
      l2TimeSec: l1Genesis.timestamp,
      systemConfig: testSystemConfig({
        batcherAddress: privateKeyToAddress(batcherKeyOf(chainId)),
        scalar: new Uint8Array(32).fill(1, 0, 1),
      }),
    },
    blockTimeSec: plan.blockTimeSec,
    maxSequencerDriftSec: 1_800,
    seqWindowSize: plan.seqWindowSize,
    channelTimeoutL1Blocks: plan.channelTimeout,
    l1ChainId: L1_CHAIN_ID,
    l2ChainId: chainId,
    forkTimes: forksUpTo(OP_FORKS.at(-1)!),
    batchInboxAddress: address(1),
    depositContractAddress: address(2),
    l1SystemConfigAddress: address(3),
  });
  const hash = bytesToHex(genesisPayload(config).executionPayload.blockHash);
  return { ...config, genesis: { ...config.genesis, l2: { hash, number: 0 } } };
}
