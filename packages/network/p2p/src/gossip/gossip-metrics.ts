import type { Counter, Histogram, MetricFactory } from "@rnode/observe";
import type { BlockFault, BlockVerdict } from "./block-validator.ts";

/** Why a message was dropped before validation. */
export type DropReason = "peer-over-budget" | "queue-full" | "waited-too-long";

export interface GossipMetrics {
  readonly blocks: Counter<{ readonly verdict: BlockVerdict["kind"]; readonly fault: BlockFault | "" }>;
  readonly dropped: Counter<{ readonly reason: DropReason }>;
  readonly equivocations: Counter;
  readonly validationSeconds: Histogram;
}

export const createGossipMetrics = (m: MetricFactory): GossipMetrics => ({
  blocks: m.counter("p2p_gossip_blocks_total", "Blocks received by gossip, by verdict and by the rule that decided.", [
    "verdict",
    "fault",
  ]),
  dropped: m.counter("p2p_gossip_dropped_total", "Messages of gossip that were dropped unread, by reason.", ["reason"]),
  equivocations: m.counter("p2p_equivocations_total", "Signed blocks received at a height that had another signed block already."),
  validationSeconds: m.histogram(
    "p2p_gossip_validation_seconds",
    "Time to judge a block received by gossip.",
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25],
  ),
});
