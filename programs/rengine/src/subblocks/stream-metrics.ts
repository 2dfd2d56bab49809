import type { PartFault, PartsEnd } from "@rnode/chain";
import type { MetricFactory } from "@rnode/observe";

const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];
const SIZE_BYTES = [1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000];

/** Why a received part was dropped. */
export type DropReason = PartFault | "unreadable" | "conflict" | "gap" | "too-much-waits";

export const createStreamMetrics = (m: MetricFactory) => ({
  readers: m.gauge("subblocks_readers", "Connections that read the stream of subblocks."),
  dropped: m.counter<{ reason: "slow" | "silent" | "limit" | "address-limit" }>(
    "subblocks_readers_dropped_total",
    "Connections to the stream of subblocks that were closed or refused, by reason.",
    ["reason"],
  ),
  sentBytes: m.counter("subblocks_sent_bytes_total", "Bytes of subblocks sent to readers of the stream."),
  size: m.histogram("subblocks_message_bytes", "Size of the message of a subblock that was sent to readers.", SIZE_BYTES),
  publish: m.histogram("subblocks_publish_seconds", "Time to encode and send a subblock that was built here.", LATENCY_SECONDS),
  published: m.counter("subblocks_published_total", "Subblocks of blocks built here."),
  builds: m.counter<{ end: PartsEnd }>("subblocks_builds_total", "Builds that were published in subblocks, by their end.", ["end"]),
  lost: m.counter(
    "subblocks_lost_transactions_total",
    "Transactions of published subblocks that a later build on the same parent could not have.",
  ),
  broken: m.counter<{ how: "missing" | "moved" }>(
    "subblocks_broken_promises_total",
    "Transactions of subblocks shown here that the block with their number does not have, or not at their place.",
    ["how"],
  ),
  received: m.counter<{ place: string }>("subblocks_received_total", "Subblocks received, by their place in the order.", ["place"]),
  execute: m.histogram("subblocks_execute_seconds", "Time to execute a received subblock.", LATENCY_SECONDS),
  refused: m.counter<{ reason: DropReason }>("subblocks_refused_total", "Received subblocks that were dropped, by reason.", [
    "reason",
  ]),
  sources: m.gauge<{ source: string }>("subblocks_source_up", "Whether a source of subblocks is connected.", ["source"]),
});
export type StreamMetrics = ReturnType<typeof createStreamMetrics>;
