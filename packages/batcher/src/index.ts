export { BatchSubmitter, type BatchSubmitterDeps, type BatchSubmitterOptions } from "./batch-submitter.ts";
export { type Batcher, type BatcherDeps, startBatcher } from "./batcher.ts";
export { type BatcherBlock, batcherBlock } from "./batcher-block.ts";
export { BatcherError, type BatcherErrorCode } from "./batcher-error.ts";
export { createBatcherMetrics } from "./batcher-metrics.ts";
export { type ChannelConfig, type ChannelConfigs, type ChannelOptions, channelConfigs } from "./channel-config.ts";
export { createChannelOut } from "./create-channel-out.ts";
export { type RbatcherOptions, rbatcherOptions } from "./options.ts";
export { RpcBlockSource } from "./rollup-access.ts";
