import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Metrics } from "@rnode/observe";

/** The answer to `GET /healthz`: 200 if healthy, otherwise 503. */
export interface Health {
  readonly isHealthy: boolean;
  readonly body: { readonly version: string };
}

export interface MetricsServerDeps {
  readonly expose: () => ReturnType<Metrics["expose"]>;
  readonly health: () => Health;
}

/** Collectors are few. */
const MAX_CONNECTIONS = 32;
/** Accepted beyond that for a moment, so that there is a choice which one is closed. */
const SPARE_CONNECTIONS = 64;
/** A connection on which nothing happens for this long is closed; collectors open another one. */
const IDLE_MS = 10_000;
/** Metrics that were read this long ago are given again: whoever asks more often learns nothing, and costs nothing. */
const REUSE_MS = 250;

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `GET /metrics` and `GET /healthz`. @throws the listen error (EADDRINUSE…) */
export async function startMetricsServer(
  { expose, health }: MetricsServerDeps,
  { addr, port }: { readonly addr: string; readonly port: number },
): Promise<MetricsServer> {
  let last: { readonly fromMs: number; readonly exposed: ReturnType<Metrics["expose"]> } | undefined;
  const exposed = (): ReturnType<Metrics["expose"]> => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.fromMs > REUSE_MS) last = { fromMs: nowMs, exposed: expose() };
    return last.exposed;
  };
  const server = createServer((request, response) => {
    const path = request.method === "GET" ? request.url?.split("?")[0] : undefined;
    if (path === "/healthz") {
      const { isHealthy, body } = health();
      response.writeHead(isHealthy ? 200 : 503, { "content-type": "application/json" }).end(JSON.stringify(body));
    } else if (path === "/metrics" || path === "/") {
      exposed().then(
        ({ contentType, body }) => response.writeHead(200, { "content-type": contentType }).end(body),
        (error: unknown) => response.writeHead(500, { "content-type": "text/plain" }).end(`${String(error)}\n`),
      );
    } else {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found: GET /metrics or /healthz\n");
    }
  });
  server.maxConnections = MAX_CONNECTIONS + SPARE_CONNECTIONS;
  server.timeout = IDLE_MS;
  keepPlaces(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, addr, () => {
      server.off("error", reject);
      // A connection could not be accepted, for want of file descriptors: its client is told by the system, and tries again.
      server.on("error", () => {});
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** When all places are taken, a newcomer gets that of the oldest connection of the address that has most. */
function keepPlaces(server: Server): void {
  const byAddress = new Map<string, Set<Socket>>();
  let taken = 0;
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    const own = byAddress.get(address) ?? new Set();
    byAddress.set(address, own.add(socket));
    taken++;
    socket.once("close", () => {
      taken--;
      own.delete(socket);
      if (own.size === 0 && byAddress.get(address) === own) byAddress.delete(address);
    });
    if (taken <= MAX_CONNECTIONS) return;
    const [oldest] = [...byAddress.values()].reduce((most, sockets) => (sockets.size > most.size ? sockets : most));
    oldest?.destroy();
  });
}
