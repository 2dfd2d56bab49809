import { createL1Metrics } from "@rnode/l1";
import type { MetricFactory } from "@rnode/observe";
import type { BatcherResetReason } from "./channel-manager.ts";
import type { ChannelCloseReason } from "./pending-channel.ts";

export type BatcherMetrics = ReturnType<typeof createBatcherMetrics>;

export const createBatcherMetrics = (m: MetricFactory) => ({
  l1: createL1Metrics(m),
  up: m.gauge("up", "1 while the batcher is publishing, 0 while it is stopped."),
  blocksLoaded: m.counter("blocks_added_total", "L2 blocks read from the execution client."),
  pendingBlocks: m.gauge("pending_blocks_count", "L2 blocks that are not in any L1 transaction yet."),
  pendingBytes: m.gauge("pending_blocks_bytes", "Size of the transactions in these blocks, in bytes."),
  channelsOpened: m.counter("channels_opened_total", "Channels opened."),
  channelsClosed: m.counter<{ reason: ChannelCloseReason }>(
    "channels_closed_total",
    "Channels closed to further blocks, by reason.",
    ["reason"],
  ),
  channelsConfirmed: m.counter("channels_confirmed_total", "Channels whose frames are all on L1."),
  channelFrames: m.histogram("channel_frames", "Number of frames in a channel.", [1, 2, 4, 8, 16, 32]),
  compressionRatio: m.histogram(
    "channel_compression_ratio",
    "Output size of a channel divided by its input size.",
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  ),
  inputBytes: m.counter("input_bytes_total", "Size of the batches before compression, in bytes."),
  outputBytes: m.counter("output_bytes_total", "Size of the frames, in bytes."),
  transactions: m.counter<{ stage: "submitted" | "confirmed" | "failed" | "nonce-consumed" }>(
    "transactions_total",
    "Batcher transactions, by stage.",
    ["stage"],
  ),
  balance: m.gauge("balance_ether", "Balance of the batcher's L1 account, in ether."),
  resets: m.counter<{ reason: BatcherResetReason }>("resets_total", "Restarts from the safe head, by reason.", ["reason"]),
  l1Head: m.gauge("refs_l1_head", "Number of the L1 head."),
  l2Unsafe: m.gauge("refs_l2_unsafe", "Number of the unsafe L2 head."),
  l2Safe: m.gauge("refs_l2_safe", "Number of the safe L2 head."),
  lastInclusion: m.gauge("last_inclusion_l1_block", "Number of the L1 block that contains the latest confirmed transaction."),
});
