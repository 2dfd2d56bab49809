import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorText, type Logger, type MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { type WebSocket, WebSocketServer } from "ws";
import { DEFAULT_VHOSTS, INVALID_HOST, isAllowedHost, isAllowedWsOrigin, ORIGIN_NOT_ALLOWED } from "./auth/browser-access.ts";
import { type CheckToken, checkJwt, MACHINE_TIME } from "./auth/jwt.ts";
import { logRefusedTokens } from "./auth/refused-tokens.ts";
import { ClientConnection } from "./http/client-connection.ts";
import type { Probe } from "./http/health.ts";
import { createHttpHandler, type Pages } from "./http/http-listener.ts";
import { IncomingBudget } from "./http/incoming.ts";
import { HEAD_BLOCK, MIN_BLOCK, MinBlockGate, notHereText, readMinBlock, type ServedHead } from "./http/min-block.ts";
import { createPlainHttp, type PlainHttp } from "./http/plain-http.ts";
import { Arrivals } from "./limits/arrivals.ts";
import { ConnectionPlaces } from "./limits/connection-places.ts";
import { ListenerGuard } from "./limits/listener-guard.ts";
import { Turns } from "./limits/turns.ts";
import { createDispatcher, type ReadLarge } from "./methods/dispatcher.ts";
import { guarded, type RequestHandler } from "./methods/request-handler.ts";
import type { RestrictedMethods } from "./methods/restricted-methods.ts";
import { rpcMetricsOf } from "./rpc-metrics.ts";
import { GO_DIALECT, type RpcDialect } from "./wire/dialect.ts";
import type { MethodTable, SubscriptionTable } from "./wire/method-table.ts";
import type { RpcErrorBody } from "./wire/rpc-error.ts";
import { UnsentBudget, type UnsentLimits } from "./wire/unsent.ts";
import { SubscriptionPlaces } from "./ws/subscription-places.ts";
import { serveWsConnection, type WsConnection } from "./ws/ws-connection.ts";

export interface RpcServerLimits extends UnsentLimits {
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
  readonly maxBatchLength: number;
  readonly maxDepth: number;
  /** members of objects and elements of lists, of a request or batch together */
  readonly maxValues: number;
  /** per listener */
  readonly maxConnections: number;
  /** per WebSocket */
  readonly maxSubscriptions: number;
  /** notifications of a WebSocket that wait for its client to read */
  readonly maxBufferedBytes: number;
  /** for receiving a whole request */
  readonly requestTimeoutMs: number;
  /** of all requests together that have not arrived completely */
  readonly maxIncomingBytes: number;
}

export const DEFAULT_RPC_LIMITS: RpcServerLimits = {
  maxRequestBytes: 15 * 1024 * 1024,
  maxResponseBytes: 160 * 1024 * 1024,
  maxBatchLength: 1000,
  maxDepth: 64,
  maxValues: 100_000,
  maxConnections: 500,
  maxSubscriptions: 1024,
  maxBufferedBytes: 16 * 1024 * 1024,
  requestTimeoutMs: 30_000,
  maxUnsentBytes: 256 * 1024 * 1024,
  writeTimeoutMs: 30_000,
  maxIncomingBytes: 64 * 1024 * 1024,
};

export interface HttpListenerOptions {
  readonly host: string;
  /** 0: any free one */
  readonly port: number;
  /** origins of web pages that may call the server, besides its own; others are refused. Default: none */
  readonly cors?: readonly string[] | undefined;
  /** names accepted in the Host header, besides addresses; `*`: all. Default: localhost */
  readonly vhosts?: readonly string[] | undefined;
  /** default: the methods of the server */
  readonly methods?: MethodTable | undefined;
  /** other methods at a path of their own, such as `/901`; restrictions do not concern them */
  readonly paths?: ReadonlyMap<string, MethodTable> | undefined;
  /** a socket that is already bound to host and port, possibly shared with other processes */
  readonly fd?: number | undefined;
}

export interface WsListenerOptions {
  readonly host: string;
  /** if host and port equal those of HTTP, one listener serves both */
  readonly port: number;
  /** origins that browsers may connect from; default: pages of this machine */
  readonly origins?: readonly string[] | undefined;
  /** as for HTTP */
  readonly vhosts?: readonly string[] | undefined;
  readonly methods?: MethodTable | undefined;
  readonly subscriptions?: SubscriptionTable | undefined;
  readonly fd?: number | undefined;
}

export interface RpcServerOptions {
  readonly http?: HttpListenerOptions | undefined;
  readonly ws?: WsListenerOptions | undefined;
  /** 32 bytes: every request and every upgrade needs a token */
  readonly jwtSecret?: Uint8Array | undefined;
  /** for the age of tokens; default: the machine's time */
  readonly clock?: Pick<Clock, "unixMs"> | undefined;
  readonly methods: MethodTable;
  /** methods of `methods` for certain callers only; others get an error. HTTP only */
  readonly restricted?: RestrictedMethods | undefined;
  readonly dialect?: RpcDialect | undefined;
  readonly limits?: Partial<RpcServerLimits> | undefined;
  /** file descriptors that its connections may take, all listeners together; default: not limited */
  readonly maxOpenFiles?: number | undefined;
  readonly log: Logger;
  readonly metrics?: MetricFactory | undefined;
  /** reads requests that take long to read, in another thread; default: they are read here */
  readonly readLarge?: ReadLarge | undefined;
  /** turns errors of the application into error objects */
  readonly mapError?: ((error: unknown, method: string) => RpcErrorBody | undefined) | undefined;
  /** of the chain that it serves: makes requests wait that name a newer block in `rnode-min-block` */
  readonly head?: ServedHead | undefined;
  /** serves `GET /healthz`: whether the process works */
  readonly healthz?: Probe | undefined;
  /** serves `GET /readyz`: whether its answers can be relied on */
  readonly readyz?: Probe | undefined;
  /** answers GET requests for other paths, over HTTP and where WebSockets come in */
  readonly pages?: Pages | undefined;
}

export interface RpcServer {
  /** @throws the listen error (EADDRINUSE…) */
  listen(): Promise<{ readonly httpPort: number | undefined; readonly wsPort: number | undefined }>;
  /** Open connections of each listener. */
  connections(): Promise<number[]>;
  /** The number of connections each listener may have from now on, replacing `limits.maxConnections`; open ones are kept. */
  limitConnections(limits: readonly number[]): void;
  /** Closes a share of the connections, each after its next answer: their clients connect again, perhaps to another process. HTTP only. */
  shedConnections(share: number): void;
  /** Accepts no more requests, answers pending ones within a second, then closes all connections. */
  close(): Promise<void>;
}

const CLOSE_GRACE_MS = 1000;
const PING_INTERVAL_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 120_000;
/** For larger bodies, the time spent on HTTP itself does not matter. */
const MAX_PLAIN_BODY_BYTES = 1024 * 1024;
const GOING_AWAY = 1001;
/** The total limit of subscriptions, as a multiple of a connection's limit. */
const CONNECTIONS_OF_SUBSCRIPTIONS = 16;
/** Interval of checks of the bytes received by WebSockets, because ws has no event for it. */
const INCOMING_INTERVAL_MS = 200;

/** A JSON-RPC server over HTTP and WebSocket. Nothing listens before `listen()`. */
export function createRpcServer(options: RpcServerOptions): RpcServer {
  const limits = { ...DEFAULT_RPC_LIMITS, ...options.limits };
  const dialect = options.dialect ?? GO_DIALECT;
  const { log, jwtSecret, http, ws, clock = MACHINE_TIME } = options;
  const checkToken =
    jwtSecret &&
    logRefusedTokens((authorization?: string) => checkJwt(jwtSecret, authorization, clock.unixMs() / 1000), {
      log,
      nowMs: () => performance.now(),
    });
  const metrics = rpcMetricsOf(options.metrics);
  const unsent = new UnsentBudget(limits, {
    log,
    onDrop: (reason) => metrics?.dropped.inc({ reason }),
    nowMs: () => performance.now(),
  });
  // one request of the largest size always has room
  const maxIncomingBytes = Math.max(limits.maxIncomingBytes, 2 * limits.maxRequestBytes);
  const incoming = new IncomingBudget(maxIncomingBytes, { log, onDrop: () => metrics?.dropped.inc({ reason: "incoming" }) });
  const gate = options.head && new MinBlockGate(options.head);
  const arrivals = new Arrivals();
  const turns = new Turns(undefined, arrivals.afterwards);
  const subscriptionPlaces = new SubscriptionPlaces(limits.maxSubscriptions * CONNECTIONS_OF_SUBSCRIPTIONS);
  const { metrics: factory, mapError, readLarge } = options;
  const dispatcher = createDispatcher({ dialect, limits, log, metrics: factory, unsent, turns, mapError, readLarge });
  const servers: Server[] = [];
  const guard = new ListenerGuard({
    log,
    maxOpenFiles: options.maxOpenFiles,
    listeners: http === undefined || ws === undefined || isSharedBy(http, ws) ? 1 : 2,
    closeLongestIdle: () => plain?.closeLongestIdle(),
  });
  const places = new Map<Server, ConnectionPlaces>();
  const sockets = new Set<WebSocket>();
  let pings: NodeJS.Timeout | undefined;
  let plain: PlainHttp | undefined;
  metrics?.addServer({
    unsentBytes: () => unsent.bytes,
    connections: () => [...places.values()].reduce((sum, { taken }) => sum + taken, 0),
    webSockets: () => sockets.size,
    subscriptions: () => subscriptionPlaces.taken,
  });
  const headTimeoutMs = Math.min(limits.requestTimeoutMs, 10_000);

  const onFault = (error: unknown, path: string): void =>
    log.error("a request could not be answered", { path, error: errorText(error) });

  function newServer(onRequest?: RequestHandler): Server {
    const server = createServer({
      requestTimeout: limits.requestTimeoutMs,
      headersTimeout: headTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
    });
    const answer = onRequest ?? ((_, response) => void response.writeHead(426, { upgrade: "websocket" }).end());
    server.on("request", guarded(answer, onFault));
    server.on("request", ({ socket }) => places.get(server)?.asked(socket));
    server.on("clientError", ({ code }: NodeJS.ErrnoException, socket) => {
      const status = code === "ERR_HTTP_REQUEST_TIMEOUT" ? "408 Request Timeout" : "400 Bad Request";
      if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n`);
      else socket.destroy();
    });
    servers.push(server);
    return server;
  }

  /** Puts the fast path in front of node:http. */
  function addPlainHttp(server: Server, methods: MethodTable, vhosts: readonly string[]): void {
    const [toHttp, ...others] = server.listeners("connection") as ((socket: Duplex) => void)[];
    if (toHttp === undefined || others.length > 0) return; // an unknown version of node:http: it serves all requests
    const quick = createPlainHttp({
      answer: (text, client) => dispatcher.handle(text, methods, client),
      emptyBody: dialect.notificationBody,
      isAllowedHost: (host) => isAllowedHost(host, vhosts),
      gate,
      maxBodyBytes: Math.min(limits.maxRequestBytes, MAX_PLAIN_BODY_BYTES),
      handOver: (socket) => toHttp.call(server, socket),
      afterwards: arrivals.afterwards,
      onFirstRequest: (socket) => places.get(server)?.asked(socket),
      unsent,
      incoming,
      headTimeoutMs,
      requestTimeoutMs: limits.requestTimeoutMs,
      keepAliveTimeoutMs: KEEP_ALIVE_TIMEOUT_MS,
    });
    server.removeAllListeners("connection").on("connection", (socket: Socket) => quick.serve(socket));
    plain = quick;
  }

  function addWebSockets(server: Server, listener: WsListenerOptions): void {
    const upgrader = new WebSocketServer({
      noServer: true,
      maxPayload: limits.maxRequestBytes,
      perMessageDeflate: false,
      // One message, ping or pong of a connection in each turn of the event loop, however many have arrived.
      allowSynchronousEvents: false,
    });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on("error", () => socket.destroy());
      places.get(server)?.asked(socket);
      const refusal = refusalOfUpgrade(request, listener, checkToken);
      if (refusal !== undefined) refuseUpgrade(socket, refusal);
      else void whyNotHere(request).then((behind) => (behind ? refuseUpgrade(socket, behind) : accept(request, socket, head)));
    });
    upgrader.on("headers", (headers, request) => {
      if (gate !== undefined && request.headers[MIN_BLOCK] !== undefined) headers.push(`${HEAD_BLOCK}: ${gate.head}`);
    });
    const accept = (request: IncomingMessage, socket: Duplex, head: Buffer): void =>
      upgrader.handleUpgrade(request, socket, head, (webSocket) => {
        sockets.add(webSocket);
        webSocket.on("close", () => sockets.delete(webSocket));
        const connection = serveWsConnection(webSocket, request.socket.remoteAddress ?? "", {
          methods: listener.methods ?? options.methods,
          subscriptions: listener.subscriptions ?? {},
          dispatcher,
          dialect,
          maxSubscriptions: limits.maxSubscriptions,
          places: subscriptionPlaces,
          maxConcurrency: 64,
          maxBufferedBytes: limits.maxBufferedBytes,
          unsent,
          turns,
          together(sending) {
            socket.cork();
            sending();
            socket.uncork();
          },
        });
        countIncoming(webSocket, request.socket, connection);
      });
  }

  /** Waits for the block that the client of a new WebSocket has seen. @returns undefined: it is here */
  async function whyNotHere({ headers, socket }: IncomingMessage): Promise<Refusal | undefined> {
    const seen = headers[MIN_BLOCK];
    if (gate === undefined || seen === undefined) return undefined;
    const minBlock = readMinBlock(String(seen));
    if (minBlock === undefined) return { status: "400 Bad Request", reason: `${MIN_BLOCK} is no block number` };
    const client = new ClientConnection("ws", socket.remoteAddress ?? "");
    socket.once("close", () => client.leave());
    const isHere = await gate.pass(minBlock, client);
    return isHere ? undefined : { status: "503 Service Unavailable", reason: notHereText(minBlock, gate.head) };
  }

  /** Counts queued messages, and the bytes received since the last complete one, including pings. */
  function countIncoming(webSocket: WebSocket, socket: Socket, connection: WsConnection): void {
    const held = incoming.open(socket.remoteAddress ?? "", { disconnect: () => webSocket.terminate() });
    let readBytes = socket.bytesRead;
    webSocket.on("message", () => {
      readBytes = socket.bytesRead;
    });
    const timer = setInterval(() => {
      const unfinished = webSocket.isPaused ? 0 : socket.bytesRead - readBytes;
      held.hold(connection.waitingBytes + unfinished);
    }, INCOMING_INTERVAL_MS);
    timer.unref();
    webSocket.on("close", () => {
      clearInterval(timer);
      held.close();
    });
  }

  /** Detects dead connections. */
  function startPings(): NodeJS.Timeout {
    const silent = new WeakSet<WebSocket>();
    const timer = setInterval(() => {
      for (const socket of sockets) {
        if (socket.isPaused) continue; // its pong would not be read; the time for reading an answer is limited
        if (silent.has(socket)) {
          socket.terminate();
          continue;
        }
        silent.add(socket);
        socket.once("pong", () => silent.delete(socket));
        socket.ping();
      }
    }, PING_INTERVAL_MS);
    timer.unref();
    return timer;
  }

  return {
    async listen() {
      const onRequest =
        http &&
        createHttpHandler({
          methods: http.methods ?? options.methods,
          paths: http.paths ?? new Map(),
          dispatcher,
          dialect,
          maxRequestBytes: limits.maxRequestBytes,
          cors: http.cors ?? [],
          vhosts: http.vhosts ?? DEFAULT_VHOSTS,
          checkToken,
          gate,
          restricted: options.restricted,
          unsent,
          incoming,
          healthz: options.healthz,
          readyz: options.readyz,
          pages: options.pages,
        });
      let httpServer: Server | undefined;
      let wsServer: Server | undefined;
      if (http !== undefined) {
        httpServer = newServer(onRequest);
        if (jwtSecret === undefined && options.restricted === undefined)
          addPlainHttp(httpServer, http.methods ?? options.methods, http.vhosts ?? DEFAULT_VHOSTS);
      }
      if (ws !== undefined) {
        wsServer = httpServer !== undefined && isSharedBy(http, ws) ? httpServer : newServer();
        addWebSockets(wsServer, ws);
        pings = startPings();
      }
      for (const server of servers) {
        server.prependListener("connection", () => arrivals.accepted());
        const sharing = {
          spareFor: (most: number) => guard.spareFor(most),
          closeIdle: (client: string) => plain?.closeLongestIdle(client) ?? 0,
          onRefused: () => guard.refuse(server),
        };
        places.set(server, new ConnectionPlaces(server, guard.limitOf(limits.maxConnections), sharing));
      }
      try {
        if (http !== undefined) await listenOn(httpServer!, http);
        if (ws !== undefined && wsServer !== httpServer) await listenOn(wsServer!, ws);
        for (const server of servers) guard.watch(server);
      } catch (error) {
        await this.close();
        throw error;
      }
      return { httpPort: httpServer && portOf(httpServer), wsPort: wsServer && portOf(wsServer) };
    },

    connections: () => Promise.all(servers.map(connectionsOf)),

    limitConnections(most) {
      for (const [index, server] of servers.entries()) {
        const limit = most[index] ?? limits.maxConnections;
        places.get(server)?.limit(guard.limitOf(limit > 0 ? limit : -1)); // 0 would be no limit
      }
    },

    shedConnections: (share) => plain?.shed(share),

    async close() {
      clearInterval(pings);
      const closed = servers.map((server) =>
        server.listening
          ? new Promise<void>((resolve) => {
              server.close(() => resolve());
              server.closeIdleConnections();
            })
          : Promise.resolve(),
      );
      plain?.closeIdle();
      for (const socket of sockets) socket.close(GOING_AWAY, "server is shutting down");
      const grace = setTimeout(() => {
        for (const socket of sockets) socket.terminate();
        for (const server of servers) server.closeAllConnections();
        plain?.closeAll();
      }, CLOSE_GRACE_MS);
      await Promise.all(closed);
      clearTimeout(grace);
      gate?.close();
      unsent.close();
    },
  };
}

interface Refusal {
  readonly status: string;
  readonly reason: string;
}

function refuseUpgrade(socket: Duplex, { status, reason }: Refusal): void {
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(reason) + 1}\r\n\r\n${reason}\n`,
  );
}

function refusalOfUpgrade(
  { headers }: IncomingMessage,
  { origins = [], vhosts = DEFAULT_VHOSTS }: WsListenerOptions,
  checkToken: CheckToken | undefined,
): Refusal | undefined {
  if (!isAllowedHost(headers.host, vhosts)) return { status: "403 Forbidden", reason: INVALID_HOST };
  if (checkToken === undefined)
    return isAllowedWsOrigin(headers, origins) ? undefined : { status: "403 Forbidden", reason: ORIGIN_NOT_ALLOWED };
  const verdict = checkToken(headers.authorization);
  return verdict.kind === "refused" ? { status: "401 Unauthorized", reason: verdict.reason } : undefined;
}

const isSharedBy = (http: HttpListenerOptions | undefined, ws: WsListenerOptions): boolean =>
  http !== undefined && http.host === ws.host && http.port === ws.port;

const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve) => server.getConnections((_, count) => resolve(count ?? 0)));

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

function listenOn(server: Server, { host, port, fd }: Pick<HttpListenerOptions, "host" | "port" | "fd">): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(fd === undefined ? { host, port } : { fd }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
