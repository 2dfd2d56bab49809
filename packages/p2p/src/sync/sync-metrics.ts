import type { MetricFactory } from "@rnode/observe";

/** Names and labels: docs/protocol/05-services.md#node-metrics */
export function createRequestMetrics(metrics: MetricFactory) {
  const labels = ["p2p_role", "p2p_method", "result_code"] as const;
  type Labels = Record<(typeof labels)[number], string>;
  const duration = metrics.histogram<Labels>(
    "p2p_req_duration_seconds",
    "How long requests between peers took.",
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
    [...labels],
  );
  const total = metrics.counter<Labels>("p2p_req_total", "Requests between peers, by role, method and result.", [...labels]);
  const number = metrics.gauge<{ p2p_role: string }>("p2p_payload_by_number", "The last block that was asked for by number.", [
    "p2p_role",
  ]);
  const quarantined = metrics.gauge(
    "p2p_payloads_quarantine_total",
    "Blocks of peers that wait until a trusted block names them as its parent.",
  );
  const refused = metrics.counter("p2p_req_refused_total", "Requests that were not read because too many were open.");
  const cut = metrics.counter("p2p_req_cut_total", "Answers that were given up because their readers were slow or gone.");
  const record = (role: "client" | "server", block: number, code: number, ms: number): void => {
    const values = { p2p_role: role, p2p_method: "payload_by_number", result_code: String(Math.min(code, 5)) };
    total.inc(values);
    duration.observe(ms / 1_000, values);
    number.set(block, { p2p_role: role });
  };
  return {
    /** @param ms how long it took */
    served: (block: number, code: number, ms: number) => record("server", block, code, ms),
    /** @param code what the peer answered; 1: it did not answer */
    asked: (block: number, code: number, ms: number) => record("client", block, code, ms),
    refused: () => refused.inc(),
    cut: () => cut.inc(),
    quarantined: (count: number) => quarantined.set(count),
  };
}

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;
