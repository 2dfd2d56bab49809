import type { ServerResponse } from "node:http";
import { type SmallServer, startSmallServer } from "@rnode/program";
import type { PageFiles } from "./page-files.ts";

/** One page that is open somewhere. */
export interface Viewer {
  /** @param json one line */
  send(event: string, json: string): void;
}

/** The data that a server's pages show. */
export interface DashboardSource {
  /** Sends the current entries, then each change. @returns a function that ends it */
  watch(viewer: Viewer): () => void;
}

export interface DashboardServerOptions {
  readonly addr: string;
  readonly port: number;
  readonly vhosts: readonly string[];
}

/** A page with more unread bytes is disconnected; it reconnects and receives the current entries. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** A connection on which nothing happens for this long is closed. Open pages are sent something each second. */
const IDLE_MS = 30_000;
const RETRY_MS = 2_000;

const HEADERS = {
  "content-security-policy": "default-src 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Serves pages, and at `/feed` what that at `/` shows, as server-sent events. @throws the listen error (EADDRINUSE…) */
export function startDashboardServer(
  { addr, port, vhosts }: DashboardServerOptions,
  pages: PageFiles,
  source: DashboardSource,
): Promise<SmallServer> {
  /** A page below a path prefix is also served without the trailing slash that its relative links need. */
  const isKnown = (path: string): boolean => path === "/feed" || pages.has(path) || pages.has(`${path}/`);
  return startSmallServer(
    ({ path }, response) => {
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
      const file = pages.get(path);
      if (!isKnown(path)) {
        response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
      } else if (path === "/feed") {
        openFeed(response, source);
      } else if (file === undefined) {
        response.writeHead(308, { location: `.${path}/` }).end();
      } else {
        const cacheControl = file.isImmutable ? "max-age=31536000, immutable" : "no-cache";
        const headers = { "content-type": file.type, "content-length": file.body.length, "cache-control": cacheControl };
        response.writeHead(200, { "content-security-policy": file.policy, ...headers }).end(file.body);
      }
    },
    { addr, port, vhosts, vhostsOption: "dashboard.vhosts", idleMs: IDLE_MS },
  );
}

function openFeed(response: ServerResponse, source: DashboardSource): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(`retry: ${RETRY_MS}\n\n`);
  const end = source.watch({
    send: (event, json) => {
      response.write(`event: ${event}\ndata: ${json}\n\n`);
      if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    },
  });
  response.once("close", end);
}
