import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "@rnode/observe";

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `GET /metrics`. @throws the listen error (EADDRINUSE…) */
export async function startMetricsServer(
  metrics: Pick<Metrics, "expose">,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    if (request.method !== "GET" || (path !== "/metrics" && path !== "/")) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found: GET /metrics\n");
      return;
    }
    metrics.expose().then(
      ({ contentType, body }) => response.writeHead(200, { "content-type": contentType }).end(body),
      (error: unknown) => response.writeHead(500, { "content-type": "text/plain" }).end(`${String(error)}\n`),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
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
