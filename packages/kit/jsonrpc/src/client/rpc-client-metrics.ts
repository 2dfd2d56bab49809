import type { MetricFactory } from "@rnode/observe";
import type { RpcClient } from "../wire/rpc-client-types.ts";
import { RpcError } from "../wire/rpc-error.ts";

/** The server of a request. */
export type RpcServerName = "l1" | "l2" | "conductor" | "follow-source";
type Failure = "<nil>" | "rpc" | "transport";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A batch counts once under this method, and once for each of its calls. */
const BATCH = "<batch>";

export interface RpcClientMetrics {
  /** The same client, whose requests are counted and timed. */
  counting(client: RpcClient, server: RpcServerName): RpcClient;
}

/** Under the names that op-node exports. Spec: docs/protocol/05-services.md#node-metrics */
export function createRpcClientMetrics(m: MetricFactory): RpcClientMetrics {
  const requests = m.counter<{ method: string; server: RpcServerName }>("rpc_client_requests_total", "Requests sent, by method.", [
    "method",
    "server",
  ]);
  const seconds = m.histogram<{ method: string; server: RpcServerName }>(
    "rpc_client_request_duration_seconds",
    "Time until a request was answered, by method.",
    SECONDS,
    ["method", "server"],
  );
  const responses = m.counter<{ method: string; server: RpcServerName; error: Failure }>(
    "rpc_client_responses_total",
    "Requests that came to an end, by method; error: <nil> for a result, rpc for the server's own error, transport for none.",
    ["method", "server", "error"],
  );
  const failureOf = (error: unknown): Failure => (error instanceof RpcError ? "rpc" : "transport");
  return {
    counting: (client, server) => ({
      get endpoint() {
        return client.endpoint;
      },
      get connectionsLost() {
        return client.connectionsLost;
      },
      async call<T>(...[method, ...rest]: Parameters<RpcClient["call"]>): Promise<T> {
        requests.inc({ method, server });
        const stop = seconds.time({ method, server });
        try {
          const result = await client.call<T>(method, ...rest);
          responses.inc({ method, server, error: "<nil>" });
          return result;
        } catch (error) {
          responses.inc({ method, server, error: failureOf(error) });
          throw error;
        } finally {
          stop();
        }
      },
      async batch(calls, options) {
        requests.inc({ method: BATCH, server });
        for (const { method } of calls) requests.inc({ method, server });
        const stop = seconds.time({ method: BATCH, server });
        try {
          const outcomes = await client.batch(calls, options);
          responses.inc({ method: BATCH, server, error: "<nil>" });
          for (const [index, { kind }] of outcomes.entries())
            responses.inc({ method: calls[index]!.method, server, error: kind === "result" ? "<nil>" : "rpc" });
          return outcomes;
        } catch (error) {
          for (const method of [BATCH, ...calls.map((call) => call.method)])
            responses.inc({ method, server, error: failureOf(error) });
          throw error;
        } finally {
          stop();
        }
      },
      ...(client.subscribe && { subscribe: client.subscribe.bind(client) }),
      close: () => client.close(),
    }),
  };
}
