import { hexToBytes } from "@rnode/primitives";
import type { RollupConfig, SystemConfig } from "../chains/rollup-config.ts";

/** A system config in which all fields but the given ones have neutral values. */
export const testSystemConfig = (over: Partial<SystemConfig> = {}): SystemConfig => ({
  batcherAddress: new Uint8Array(20).fill(0xba),
  overhead: new Uint8Array(32),
  scalar: new Uint8Array(32),
  gasLimit: 30_000_000n,
  eip1559Params: new Uint8Array(8),
  operatorFeeScalar: 0,
  operatorFeeConstant: 0n,
  minBaseFee: 0n,
  daFootprintGasScalar: 0,
  ...over,
});

/** A rollup config for tests: L2 chain 901 on L1 chain 900, two-second blocks, genesis at 1000 s, only Bedrock active. */
export function testRollupConfig(over: Partial<RollupConfig> = {}): RollupConfig {
  return {
    genesis: {
      l1: { hash: `0x${"a0".repeat(32)}`, number: 10 },
      l2: { hash: `0x${"b0".repeat(32)}`, number: 0 },
      l2TimeSec: 1000,
      systemConfig: testSystemConfig({
        overhead: hexToBytes("bc".padStart(64, "0")),
        scalar: hexToBytes("a6fe0".padStart(64, "0")),
      }),
    },
    blockTimeSec: 2,
    maxSequencerDriftSec: 600,
    seqWindowSize: 20,
    channelTimeoutL1Blocks: 30,
    l1ChainId: 900n,
    l2ChainId: 901n,
    forkTimes: {},
    batchInboxAddress: new Uint8Array(20).fill(0xff),
    depositContractAddress: new Uint8Array(20).fill(0xde),
    l1SystemConfigAddress: new Uint8Array(20).fill(0x5c),
    protocolVersionsAddress: new Uint8Array(20),
    chainOpConfig: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    ...over,
  };
}
