import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { brotliCompressSync, constants } from "node:zlib";
import { clientOf } from "@rnode/jsonrpc";
import { type WebSocket, WebSocketServer } from "ws";
import type { StreamMetrics } from "./stream-metrics.ts";

export interface StreamServerOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  /** for one address; of IPv6, for a /64 network */
  readonly maxConnectionsPerAddress: number;
  /** sends brotli in binary messages; otherwise JSON in text messages */
  readonly isCompressed: boolean;
}

/** A reader that has this much unread data is dropped. The data is shared among all readers. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;
/** Readers have nothing to say. */
const MAX_MESSAGE_BYTES = 1024;
const PING_INTERVAL_MS = 15_000;
/** for the request that opens a WebSocket */
const REQUEST_LIMIT_MS = 5_000;
/** Connections that may be accepted beyond the limit, so that their refusal can be told. */
const SPARE_CONNECTIONS = 16;
/** A reader that sends it gets the parts of the block under construction first, if there are any. */
export const RESUME_HEADER = "x-flashblocks-resume";
/** PERF: a higher quality takes several times as long for a few percent */
const BROTLI_QUALITY = 3;

/** Sends the messages of a stream to all readers. A slow reader is dropped, never waited for. */
export class StreamServer {
  readonly #options: StreamServerOptions;
  readonly #metrics: StreamMetrics;
  readonly #missed: () => readonly Buffer[];
  readonly #http: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false });
  /** connections by client: those that read the stream, and all */
  readonly #clients = new Map<string, number>();
  readonly #connections = new Map<string, number>();
  #pings: NodeJS.Timeout | undefined;

  /** @param missed the messages of the block under construction */
  constructor(options: StreamServerOptions, metrics: StreamMetrics, missed: () => readonly Buffer[] = () => []) {
    this.#options = options;
    this.#metrics = metrics;
    this.#missed = missed;
    this.#http = createServer({ requestTimeout: REQUEST_LIMIT_MS, headersTimeout: REQUEST_LIMIT_MS }, (_, response) => {
      response.writeHead(426, { connection: "close", "content-type": "text/plain" });
      response.end("This is a WebSocket stream of flashblocks.\n");
    });
    this.#http.maxConnections = options.maxConnections + SPARE_CONNECTIONS;
    this.#http.on("connection", (socket) => this.#limit(socket));
    this.#http.on("upgrade", (request, socket, head) => this.#upgrade(request, socket as Socket, head));
  }

  get readers(): number {
    return this.#sockets.clients.size;
  }

  /** @returns the port. @throws errors of listening */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#http.once("error", reject);
      this.#http.listen(port, host === "" ? undefined : host, () => {
        this.#http.off("error", reject);
        resolve();
      });
    });
    this.#pings = setInterval(() => this.#ping(), PING_INTERVAL_MS);
    this.#pings.unref();
    return (this.#http.address() as AddressInfo).port;
  }

  /** The message of a part, as readers get it. */
  encode(text: string): Buffer {
    return this.#options.isCompressed ? compress(text) : Buffer.from(text, "utf8");
  }

  send(message: Buffer): void {
    this.#metrics.size.observe(message.length);
    for (const socket of this.#sockets.clients) {
      if (socket.readyState !== socket.OPEN) continue;
      if (socket.bufferedAmount > MAX_BACKLOG_BYTES) {
        this.#metrics.dropped.inc({ reason: "slow" });
        socket.terminate();
        continue;
      }
      this.#sendTo(socket, message);
    }
  }

  #sendTo(socket: WebSocket, message: Buffer): void {
    socket.send(message, { binary: this.#options.isCompressed });
    this.#metrics.sentBytes.add(message.length);
  }

  async close(): Promise<void> {
    clearInterval(this.#pings);
    for (const socket of this.#sockets.clients) socket.terminate();
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    this.#http.closeAllConnections();
    await closed;
  }

  /** Connections that have not asked for the stream yet must not take the places of other clients. */
  #limit(socket: Socket): void {
    const client = clientOf(socket.remoteAddress ?? "");
    count(this.#connections, client, socket);
    if (this.#connections.get(client)! <= this.#options.maxConnectionsPerAddress + SPARE_CONNECTIONS / 2) return;
    this.#metrics.dropped.inc({ reason: "address-limit" });
    socket.destroy();
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const client = clientOf(socket.remoteAddress ?? "");
    const own = this.#clients.get(client) ?? 0;
    const { maxConnections, maxConnectionsPerAddress } = this.#options;
    socket.on("error", () => {}); // a close follows
    if (own >= maxConnectionsPerAddress || this.readers >= maxConnections) {
      this.#metrics.dropped.inc({ reason: own >= maxConnectionsPerAddress ? "address-limit" : "limit" });
      socket.end("HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    count(this.#clients, client, socket);
    this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#welcome(opened, RESUME_HEADER in request.headers));
  }

  #welcome(socket: WebSocket, resumes: boolean): void {
    alive.add(socket);
    this.#metrics.readers.set(this.readers);
    socket.once("close", () => this.#metrics.readers.set(this.readers));
    socket.on("pong", () => alive.add(socket));
    socket.on("error", () => {}); // too large a message; a close follows
    if (resumes) for (const message of this.#missed()) this.#sendTo(socket, message);
  }

  #ping(): void {
    for (const socket of this.#sockets.clients) {
      if (alive.delete(socket)) socket.ping();
      else {
        this.#metrics.dropped.inc({ reason: "silent" });
        socket.terminate();
      }
    }
  }
}

/** Counts an open connection. */
function count(connections: Map<string, number>, client: string, socket: Socket): void {
  connections.set(client, (connections.get(client) ?? 0) + 1);
  socket.once("close", () => {
    const left = connections.get(client)! - 1;
    if (left === 0) connections.delete(client);
    else connections.set(client, left);
  });
}

/** connections that have answered the last ping */
const alive = new WeakSet<WebSocket>();

const compress = (text: string): Buffer =>
  brotliCompressSync(text, {
    params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
  });
