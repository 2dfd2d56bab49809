import type { MetricFactory } from "@rnode/observe";

type Success = "true" | "false";

/** Under op-conductor's names, as far as it has them. */
export function createConductorMetrics(m: MetricFactory) {
  const success = ["success"] as const;
  const heads = m.gauge("committed_block", "Number of the last block that was committed through this conductor.");
  return {
    healthChecks: m.counter<{ success: Success }>(
      "healthchecks_count",
      "Health checks of the sequencer, by whether it was healthy.",
      success,
    ),
    transfers: m.counter<{ success: Success }>("leader_transfers_count", "Attempts to give leadership to another server.", success),
    starts: m.counter<{ success: Success }>("sequencer_starts_count", "Attempts to start the sequencer.", success),
    stops: m.counter<{ success: Success }>("sequencer_stops_count", "Attempts to stop the sequencer.", success),
    stateChanges: m.counter<{ leader: Success; healthy: Success; active: Success }>(
      "state_changes_count",
      "Changes of leadership, health or activity, by the state after them.",
      ["leader", "healthy", "active"],
    ),
    leader: m.gauge("leader", "1 while this conductor leads."),
    healthy: m.gauge("healthy", "1 while its sequencer is healthy."),
    active: m.gauge("active", "1 while its sequencer makes blocks."),
    commits: m.counter<{ outcome: "committed" | "not-leader" | "not-on-head" | "failed" }>(
      "commits_total",
      "Blocks that the rollup node wanted to release, by whether they were committed.",
      ["outcome"],
    ),
    commitSeconds: m.histogram(
      "commit_seconds",
      "Time to commit a block in etcd.",
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    ),
    committed: (number: number) => heads.set(number),
    etcdRequests: m.counter<{ outcome: "ok" | "failed" }>("etcd_requests_total", "Requests to etcd, by outcome.", ["outcome"]),
    etcdSeconds: m.histogram("etcd_request_seconds", "Time of a request to etcd.", [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5]),
  };
}

export type ConductorMetrics = ReturnType<typeof createConductorMetrics>;
