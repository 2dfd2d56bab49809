import { bytesToHex, type Hex, uint64ToBytes } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import { testRollupConfig, testSystemConfig } from "@rnode/protocol/testing";

/** A hash for a number. */
export const hashOf = (seed: number): Hex => `${bytesToHex(uint64ToBytes(seed))}${"ab".repeat(24)}`;

export const testConfig = (over: Partial<RollupConfig>): RollupConfig =>
  testRollupConfig({
    genesis: {
      l1: { hash: hashOf(90), number: 90 },
      l2: { hash: hashOf(49_960), number: 10 },
      l2TimeSec: 940,
      systemConfig: testSystemConfig(),
    },
    channelTimeoutL1Blocks: 10,
    ...over,
  });
