import { createL1Metrics } from "@rnode/l1";
import type { MetricFactory, NoLabels } from "@rnode/observe";
import type { Ether } from "@rnode/primitives";
import type { DaBytes } from "@rnode/protocol";
import type { BatcherResetReason } from "./channels/channel-manager.ts";
import type { ChannelCloseReason } from "./channels/pending-channel.ts";
import type { Obstacle } from "./l1/obstacle.ts";

export type BatcherMetrics = ReturnType<typeof createBatcherMetrics>;

type ChannelStage = "opened" | "closed" | "fully_submitted" | "timed_out";
type TxStage = "submitted" | "success" | "failed";
type BlockStage = "loaded" | "opened" | "added" | "closed";

/** Under op-batcher's names, as far as it has them. Spec: docs/protocol/05-services.md#throttling */
export const createBatcherMetrics = (m: MetricFactory) => ({
  l1: createL1Metrics(m),
  up: m.gauge("publishing", "1 while the batcher is publishing, 0 while it is stopped."),
  refNumbers: m.gauge<{ layer: "l1" | "l2"; type: string }>("refs_number", "Numbers of heads and of the blocks handled.", [
    "layer",
    "type",
  ]),
  refTimes: m.gauge<{ layer: "l1" | "l2"; type: string }>("refs_time", "Their times, in seconds since 1970.", ["layer", "type"]),
  pendingBlocks: m.gauge<{ stage: BlockStage }>("pending_blocks_count", "L2 blocks that are not in any L1 transaction yet.", [
    "stage",
  ]),
  pendingBytesTotal: m.counter("pending_blocks_bytes_total", "Size of the transactions of all L2 blocks loaded, in bytes."),
  pendingBytes: m.gauge(
    "pending_blocks_bytes_current",
    "Size of the transactions in blocks that are not in any L1 transaction yet.",
  ),
  pendingDaBytes: m.gauge<NoLabels, DaBytes>(
    "pending_da_bytes",
    "Estimated size on L1 of blocks that are not in any L1 transaction yet, in bytes.",
  ),
  unsafeDaBytes: m.gauge<NoLabels, DaBytes>(
    "unsafe_da_bytes",
    "Estimated size on L1 of blocks that are not safe yet, in bytes: the load that throttling goes by.",
  ),
  blocksAdded: m.gauge("blocks_added_count", "L2 blocks in the channel that was closed last."),
  inputBytes: m.gauge<{ stage: "added" | "closed" }>(
    "input_bytes",
    "Size of the batches in a channel before compression, in bytes.",
    ["stage"],
  ),
  readyBytes: m.gauge("ready_bytes", "Compressed bytes of the open channel that could be put into frames now."),
  outputBytes: m.gauge("output_bytes", "Size of the frames of the channel that was closed last, in bytes."),
  inputBytesTotal: m.counter("input_bytes_total", "Size of all batches before compression, in bytes."),
  outputBytesTotal: m.counter("output_bytes_total", "Size of all frames, in bytes."),
  channels: m.counter<{ stage: ChannelStage }>("channel_total", "Channels, by stage.", ["stage"]),
  lastChannel: m.gauge<{ stage: ChannelStage }>(
    "last_channel_unix",
    "Time of the last channel that reached a stage, in seconds since 1970.",
    ["stage"],
  ),
  channelsClosed: m.counter<{ reason: ChannelCloseReason }>(
    "channel_closed_reason_total",
    "Channels closed to further blocks, by reason.",
    ["reason"],
  ),
  channelFrames: m.gauge("channel_num_frames", "Number of frames of the channel that was closed last."),
  channelQueue: m.gauge("channel_queue_length", "Channels in memory."),
  compressionRatio: m.histogram(
    "channel_compr_ratio",
    "Output size of a channel divided by its input size.",
    [0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1],
  ),
  blobUsedBytes: m.histogram(
    "blob_used_bytes",
    "Data in a blob, in bytes.",
    Array.from({ length: 14 }, (_, i) => i * 10_003),
  ),
  transactions: m.counter<{ stage: TxStage }>("batcher_tx_total", "Batcher transactions, by stage.", ["stage"]),
  lastTransaction: m.gauge<{ stage: TxStage }>(
    "last_batcher_tx_unix",
    "Time of the last one that reached a stage, in seconds since 1970.",
    ["stage"],
  ),
  balance: m.gauge<NoLabels, Ether>("balance", "Balance of the batcher's L1 account, in ether."),
  resets: m.counter<{ reason: BatcherResetReason }>("resets_total", "Restarts from the safe head, by reason.", ["reason"]),
  obstacle: m.gauge<{ reason: Obstacle["reason"] }>(
    "obstacle",
    "1 while nothing is published for this reason, although blocks wait.",
    ["reason"],
  ),
  spentHour: m.gauge<NoLabels, Ether>("l1_spend_hour_ether", "Paid to L1 in the last hour, in ether."),
  spentDay: m.gauge<NoLabels, Ether>("l1_spend_day_ether", "Paid to L1 in the last day, in ether."),
  lastInclusion: m.gauge("last_inclusion_l1_block", "Number of the L1 block that contains the latest confirmed transaction."),
});
