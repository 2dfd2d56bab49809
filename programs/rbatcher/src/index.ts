export { BatchSubmitter } from "./batch-submitter.ts";
export { startBatcher } from "./batcher.ts";
export { batcherBlock } from "./batcher-block.ts";
export { createBatcherMetrics } from "./batcher-metrics.ts";
export { channelConfigs } from "./channel-config.ts";
export { createChannelOut } from "./create-channel-out.ts";
export { rbatcherOptions } from "./options.ts";
export { RpcBlockSource } from "./rollup-access.ts";
