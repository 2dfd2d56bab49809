import { type ChannelOut, createSingularChannelOut, createSpanChannelOut } from "@rnode/compression";
import { FRAME_OVERHEAD_BYTES } from "@rnode/protocol";
import type { ChannelConfig } from "./channel-config.ts";

/** An empty channel. @param id 16 bytes that no other channel has */
export function createChannelOut(config: ChannelConfig, id: Uint8Array): ChannelOut {
  const common = {
    id,
    algorithm: config.algorithm,
    targetOutputBytes: config.targetFrames * (config.maxFrameBytes - FRAME_OVERHEAD_BYTES),
    chain: config.chain,
  };
  return config.batchType === "span"
    ? createSpanChannelOut({ ...common, maxBlocksPerSpanBatch: config.maxBlocksPerSpanBatch })
    : createSingularChannelOut({ ...common, strategy: config.strategy });
}
