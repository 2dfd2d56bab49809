export { BatchSubmitter } from "./batch-submitter.ts";
export { startBatcher } from "./batcher.ts";
export { createBatcherMetrics } from "./batcher-metrics.ts";
export { batcherBlock } from "./channels/batcher-block.ts";
export { channelConfigs } from "./channels/channel-config.ts";
export { createChannelOut } from "./channels/create-channel-out.ts";
export { rbatcherOptions } from "./options.ts";
export { RpcBlockSource } from "./rollup/rollup-access.ts";
