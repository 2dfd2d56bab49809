import type { Counter, MetricFactory } from "@rnode/observe";
import type { DropReason } from "@rnode/peering/discv5";

export interface DiscoveryMetrics {
  readonly records: Counter<{ verdict: "peer" | "other" }>;
  readonly packetsDropped: Counter<{ reason: DropReason }>;
}

export function createDiscoveryMetrics(metrics: MetricFactory, tableSize: () => number): DiscoveryMetrics {
  metrics.gaugeOf("p2p_discovery_table_size", "Node records in the discovery table.", tableSize);
  return {
    records: metrics.counter("p2p_discovery_records_total", "Node records received, by whether they lead to peers of this chain.", [
      "verdict",
    ]),
    packetsDropped: metrics.counter(
      "p2p_discovery_packets_dropped_total",
      "Discovery packets that were not looked at, by reason.",
      ["reason"],
    ),
  };
}
