import { type MetricFactory, noMetrics } from "@rnode/observe";
import type { DropReason } from "./unsent.ts";

const createRpcMetrics = (m: MetricFactory) => {
  const servers: (() => number)[] = [];
  m.gaugeOf("rpc_unsent_bytes", "Answers and notifications that their clients have not read yet.", () =>
    servers.reduce((total, bytes) => total + bytes(), 0),
  );
  return {
    requests: m.counter<{ method: string; outcome: "result" | "error" }>(
      "rpc_requests_total",
      "Requests answered, by method and outcome.",
      ["method", "outcome"],
    ),
    seconds: m.histogram<{ method: string }>(
      "rpc_request_seconds",
      "Time to answer a request, by method.",
      [0.001, 0.01, 0.1, 1, 10],
      ["method"],
    ),
    dropped: m.counter<{ reason: DropReason | "incoming" }>(
      "rpc_clients_dropped_total",
      "Clients disconnected, by reason: they did not read for too long (timeout), unread answers had to make room (budget), too many notifications were unread (backlog), unfinished requests were too large (incoming).",
      ["reason"],
    ),
    /** @param unsentBytes of one server, read when the metrics are collected */
    addServer: (unsentBytes: () => number): void => void servers.push(unsentBytes),
  };
};

export type RpcMetrics = ReturnType<typeof createRpcMetrics>;

const metricsOfFactory = new WeakMap<MetricFactory, RpcMetrics>();

/** The servers of one program share their metrics. PERF: undefined for none; a request should not pay for labels that nobody reads. */
export function rpcMetricsOf(factory: MetricFactory | undefined): RpcMetrics | undefined {
  if (factory === undefined || factory === noMetrics) return undefined;
  let metrics = metricsOfFactory.get(factory);
  if (metrics === undefined) metricsOfFactory.set(factory, (metrics = createRpcMetrics(factory)));
  return metrics;
}
