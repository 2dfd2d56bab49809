import type { ChannelOut } from "@rnode/compression";
import { uint64ToBytes } from "@rnode/primitives";
import type { SimClock } from "@rnode/program/testing";
import { type ChannelConfig, type ChannelConfigs, type ChannelOptions, channelConfigs } from "../channels/channel-config.ts";
import { createChannelOut } from "../channels/create-channel-out.ts";
import { awaitedChannel } from "./awaited-channel.ts";
import { simRollupConfig } from "./sim-rollup.ts";

export const CHANNEL_OPTIONS: ChannelOptions = {
  batchType: 1,
  compressionAlgo: "zlib",
  compressor: "shadow",
  approxComprRatio: 0.6,
  maxL1TxSizeBytes: 2000,
  targetNumFrames: 1,
  maxBlocksPerSpanBatch: 0,
  maxChannelDuration: 0,
  subSafetyMargin: 10,
  dataAvailabilityType: "calldata",
};

export const simChannelConfigs = (options: Partial<ChannelOptions> = {}, rollup = simRollupConfig()): ChannelConfigs =>
  channelConfigs({ ...CHANNEL_OPTIONS, ...options }, rollup, 1_800_000_000);

export const simChannelConfig = (options: Partial<ChannelOptions> = {}): ChannelConfig => {
  const { blobs, calldata } = simChannelConfigs(options);
  return (blobs ?? calldata)!;
};

/** Creates channels with ids 0, 1, 2…; their compression counts as work for the clock. */
export function simChannelOuts(clock?: SimClock, firstId = 0): (config: ChannelConfig) => ChannelOut {
  let id = firstId;
  return (config) => {
    const idBytes = new Uint8Array(16);
    idBytes.set(uint64ToBytes(id++), 8);
    const out = createChannelOut(config, idBytes);
    return clock === undefined ? out : awaitedChannel(out, (work) => clock.working(work));
  };
}
