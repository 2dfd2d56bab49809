import { type MetricFactory, noMetrics } from "@rnode/observe";
import type { DropReason } from "./wire/unsent.ts";

/** A server's values at the collection of metrics. */
interface RpcServerGauges {
  readonly unsentBytes: () => number;
  readonly connections: () => number;
  readonly webSockets: () => number;
  readonly subscriptions: () => number;
}

const createRpcMetrics = (m: MetricFactory) => {
  const servers: RpcServerGauges[] = [];
  const total = (read: (server: RpcServerGauges) => number): number => servers.reduce((sum, server) => sum + read(server), 0);
  m.gaugesOf<{ transport: "http" | "ws" }>("rpc_connections", "Open connections, by transport.", ["transport"], () => [
    [{ transport: "http" }, total(({ connections, webSockets }) => Math.max(0, connections() - webSockets()))],
    [{ transport: "ws" }, total(({ webSockets }) => webSockets())],
  ]);
  m.gaugeOf("rpc_subscriptions", "Subscriptions over WebSockets.", () => total(({ subscriptions }) => subscriptions()));
  m.gaugeOf("rpc_unsent_bytes", "Answers and notifications that their clients have not read yet.", () =>
    total(({ unsentBytes }) => unsentBytes()),
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
    addServer: (server: RpcServerGauges): void => void servers.push(server),
  };
};

export type RpcMetrics = ReturnType<typeof createRpcMetrics>;

const metricsOfFactory = new WeakMap<MetricFactory, RpcMetrics>();

/**
 * The servers of one program share their metrics. PERF: `undefined` without metrics, so requests do not pay for labels. A factory that
 * was made from `noMetrics` (a program's) has its functions.
 */
export function rpcMetricsOf(factory: MetricFactory | undefined): RpcMetrics | undefined {
  if (factory === undefined || factory.counter === noMetrics.counter) return undefined;
  let metrics = metricsOfFactory.get(factory);
  if (metrics === undefined) metricsOfFactory.set(factory, (metrics = createRpcMetrics(factory)));
  return metrics;
}
