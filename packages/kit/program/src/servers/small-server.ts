import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  clientOf,
  DEFAULT_VHOSTS,
  guarded,
  INVALID_HOST,
  isAllowedHost,
  isAllowedOrigin,
  ORIGIN_NOT_ALLOWED,
  targetOf,
} from "@rnode/jsonrpc/http";

/** Collectors of metrics and people need few connections. */
const MAX_CONNECTIONS = 32;
/** Accepted beyond the maximum for a moment, so that there is a choice of the connection to close. */
const SPARE_CONNECTIONS = 64;
/** A request's head arrives within this time. */
const HEAD_TIMEOUT_MS = 10_000;

/** A server besides the JSON-RPC server: metrics, profiles, dashboard, data, the verifier's page. */
export interface SmallServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface SmallServerOptions {
  readonly addr: string;
  readonly port: number;
  /** names accepted in the Host header, besides addresses; `*`: all. Default: localhost */
  readonly vhosts?: readonly string[] | undefined;
  /** also accepts names that no web page can have: those of containers (`node-1`) and of private domains (`.internal`) */
  readonly acceptsPrivateNames?: boolean;
  /** the option of `vhosts`, for the refusal */
  readonly vhostsOption?: string;
  /** default: GET */
  readonly verbs?: readonly string[];
  /** a connection on which nothing happens for this long is closed */
  readonly idleMs: number;
  /** for receiving a whole request; default: as long as its head may take */
  readonly requestTimeoutMs?: number;
  readonly maxConnections?: number;
  /** gets the errors of `answer`, whose clients get status 500 */
  readonly onFault?: (error: unknown, path: string) => void;
}

/** A request that passed the checks of Host, Origin and method. */
export interface SmallRequest {
  readonly message: IncomingMessage;
  readonly path: string;
  readonly query: URLSearchParams;
}

export type SmallAnswer = (request: SmallRequest, response: ServerResponse) => void | Promise<void>;

/** @throws the listen error (EADDRINUSE…) */
export async function startSmallServer(answer: SmallAnswer, options: SmallServerOptions): Promise<SmallServer> {
  const { addr, port, idleMs, maxConnections = MAX_CONNECTIONS, onFault = () => {} } = options;
  const onRequest = guarded((message, response) => {
    const refusal = refusalOf(message, options);
    if (refusal === undefined) return answer({ message, ...targetOf(message) }, response);
    // the rest of a body is not read
    const headers = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", connection: "close" };
    response.writeHead(refusal.status, headers).end(`${refusal.text}\n`);
    return undefined;
  }, onFault);
  const { requestTimeoutMs = HEAD_TIMEOUT_MS } = options;
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, HEAD_TIMEOUT_MS),
      connectionsCheckingInterval: 1000,
    },
    onRequest,
  );
  server.maxConnections = maxConnections + SPARE_CONNECTIONS;
  server.timeout = idleMs;
  keepPlaces(server, maxConnections);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, addr, () => {
      server.off("error", reject);
      // Without a file descriptor, a connection cannot be accepted: the system tells its client.
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

/** The checks of the JSON-RPC server against pages of other sites and DNS rebinding. */
function refusalOf(
  { method = "", headers }: IncomingMessage,
  { vhosts = DEFAULT_VHOSTS, acceptsPrivateNames = false, vhostsOption, verbs = ["GET"] }: SmallServerOptions,
): { readonly status: number; readonly text: string } | undefined {
  if (!isAllowedHost(headers.host, vhosts) && !(acceptsPrivateNames && isPrivateName(headers.host ?? ""))) {
    return {
      status: 403,
      text: vhostsOption === undefined ? INVALID_HOST : `${INVALID_HOST} (--${vhostsOption} lists the names that are)`,
    };
  }
  if (!isAllowedOrigin(headers, [])) return { status: 403, text: ORIGIN_NOT_ALLOWED };
  return verbs.includes(method) ? undefined : { status: 405, text: `method not allowed: ${verbs.join(" or ")} only` };
}

/** A host name that public DNS never answers: without a dot, or of a domain reserved for private networks (RFC 6762, ICANN's .internal, Kubernetes). */
const isPrivateName = (host: string): boolean => /^[a-z0-9_-]+(?:[a-z0-9._-]*\.(?:internal|local|svc))?(?::\d+)?$/i.test(host);

/** When all places are taken, a newcomer gets that of the oldest connection of the client that has most. */
function keepPlaces(server: Server, most: number): void {
  const byClient = new Map<string, Set<Socket>>();
  let taken = 0;
  server.on("connection", (socket: Socket) => {
    const client = clientOf(socket.remoteAddress ?? "");
    const own = byClient.get(client) ?? new Set();
    byClient.set(client, own.add(socket));
    taken++;
    socket.once("close", () => {
      taken--;
      own.delete(socket);
      if (own.size === 0 && byClient.get(client) === own) byClient.delete(client);
    });
    if (taken <= most) return;
    const [oldest] = [...byClient.values()].reduce((a, b) => (b.size > a.size ? b : a));
    oldest?.destroy();
  });
}
