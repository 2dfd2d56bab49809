import { statusOfHealth } from "@rnode/jsonrpc/http";
import type { Metrics } from "@rnode/observe";
import { type SmallAnswer, type SmallServer, startSmallServer } from "./small-server.ts";

/** The answer to `GET /healthz` or `/readyz`: 200 if healthy, 400 for a bad query, otherwise 503 with reasons. */
export interface Health {
  readonly isHealthy: boolean;
  readonly isBadRequest?: boolean;
  readonly body: { readonly version: string; readonly reasons?: readonly string[] };
}

export interface MetricsServerDeps {
  readonly expose: () => ReturnType<Metrics["expose"]>;
  /** whether the process works */
  readonly health: () => Health;
  /** whether its answers can be relied on */
  readonly ready: (query: URLSearchParams) => Health;
}

/** A connection on which nothing happens for this long is closed; collectors open another one. */
const IDLE_MS = 10_000;
/** Metrics younger than this are returned again, so frequent requests cost nothing. */
const REUSE_MS = 250;

/** Serves `GET /metrics`, `GET /healthz` and `GET /readyz`. @throws the listen error (EADDRINUSE…) */
export function startMetricsServer(
  { expose, health, ready }: MetricsServerDeps,
  { addr, port, vhosts }: { readonly addr: string; readonly port: number; readonly vhosts?: readonly string[] },
): Promise<SmallServer> {
  let last: { readonly fromMs: number; readonly exposed: ReturnType<Metrics["expose"]> } | undefined;
  const exposed = (): ReturnType<Metrics["expose"]> => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.fromMs > REUSE_MS) last = { fromMs: nowMs, exposed: expose() };
    return last.exposed;
  };
  const answer: SmallAnswer = async ({ path, query }, response) => {
    if (path === "/healthz" || path === "/readyz") {
      const answer = path === "/healthz" ? health() : ready(query);
      response.writeHead(statusOfHealth(answer), { "content-type": "application/json" }).end(JSON.stringify(answer.body));
    } else if (path === "/metrics" || path === "/") {
      const { contentType, body } = await exposed();
      response.writeHead(200, { "content-type": contentType }).end(body);
    } else {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found: GET /metrics, /healthz or /readyz\n");
    }
  };
  const access = { vhosts, acceptsPrivateNames: true, vhostsOption: "metrics.vhosts" };
  return startSmallServer(answer, { addr, port, ...access, verbs: ["GET", "HEAD"], idleMs: IDLE_MS });
}
