import { bytesToHex, type Hex, uint64ToBytes } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import { INBOX, L1_CHAIN_ID, PORTAL, SYSTEM_CONFIG } from "./sim-l1.ts";

/** A hash for a number. */
export const hashOf = (seed: number): Hex => `${bytesToHex(uint64ToBytes(seed))}${"ab".repeat(24)}`;

export function testConfig(over: Partial<RollupConfig>): RollupConfig {
  return {
    genesis: {
      l1: { hash: hashOf(90), number: 90 },
      l2: { hash: hashOf(49_960), number: 10 },
      l2TimeSec: 940,
      systemConfig: {
        batcherAddress: new Uint8Array(20).fill(0xba),
        overhead: new Uint8Array(32),
        scalar: new Uint8Array(32),
        gasLimit: 30_000_000n,
        eip1559Params: new Uint8Array(8),
        operatorFeeScalar: 0,
        operatorFeeConstant: 0n,
        minBaseFee: 0n,
        daFootprintGasScalar: 0,
      },
    },
    blockTimeSec: 2,
    maxSequencerDriftSec: 600,
    seqWindowSize: 20,
    channelTimeoutL1Blocks: 10,
    l1ChainId: L1_CHAIN_ID,
    l2ChainId: 901n,
    forkTimes: {},
    batchInboxAddress: INBOX,
    depositContractAddress: PORTAL,
    l1SystemConfigAddress: SYSTEM_CONFIG,
    protocolVersionsAddress: new Uint8Array(20),
    chainOpConfig: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    ...over,
  };
}
