import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { INVALID_HOST, isAllowedHost, isAllowedOrigin, isListed, ORIGIN_NOT_ALLOWED } from "../auth/browser-access.ts";
import type { CheckToken } from "../auth/jwt.ts";
import type { Dispatcher } from "../methods/dispatcher.ts";
import { failResponse, type RequestHandler, settle, targetOf } from "../methods/request-handler.ts";
import { type RestrictedMethods, withoutRestricted } from "../methods/restricted-methods.ts";
import { type Answer, AnswerBytes } from "../wire/answer-bytes.ts";
import type { RpcDialect } from "../wire/dialect.ts";
import type { MethodTable } from "../wire/method-table.ts";
import { RequestBody } from "../wire/request-body.ts";
import { SLICE_BYTES, type Unsent, type UnsentBudget, writeInSlices } from "../wire/unsent.ts";
import { ClientConnection } from "./client-connection.ts";
import { type Probe, statusOfHealth } from "./health.ts";
import type { IncomingBudget } from "./incoming.ts";
import { HEAD_BLOCK, MIN_BLOCK, type MinBlockGate, notHereText, readMinBlock } from "./min-block.ts";

/** Answers GET requests of certain paths with JSON; `undefined` for other paths. */
export type Pages = (
  path: string,
  query: URLSearchParams,
) => Promise<{ readonly status: number; readonly body: unknown } | undefined>;

export interface HttpHandlerOptions {
  readonly methods: MethodTable;
  /** other methods at a path of their own, such as `/901` */
  readonly paths: ReadonlyMap<string, MethodTable>;
  readonly dispatcher: Dispatcher;
  readonly dialect: RpcDialect;
  readonly maxRequestBytes: number;
  /** origins that browsers may call from, besides the server's own; `*`: all; `local`: pages of this machine and extensions */
  readonly cors: readonly string[];
  /** names accepted in the Host header, besides addresses; `*`: all */
  readonly vhosts: readonly string[];
  /** `undefined`: requests need no token */
  readonly checkToken: CheckToken | undefined;
  /** for requests that name the newest block that their clients have seen; `undefined`: there is no chain */
  readonly gate: MinBlockGate | undefined;
  readonly restricted: RestrictedMethods | undefined;
  /** bounds the answers that wait for clients to read them */
  readonly unsent: Pick<UnsentBudget, "open">;
  /** limits the bytes of incomplete requests */
  readonly incoming: Pick<IncomingBudget, "open">;
  readonly healthz: Probe | undefined;
  readonly readyz: Probe | undefined;
  readonly pages: Pages | undefined;
}

const JSON_TYPE = "application/json";
/** The types that Geth's servers accept. A web page can send none of them to another origin without a preflight. */
const JSON_TYPES = [JSON_TYPE, "application/json-rpc", "application/jsonrequest"];

/** Answers one HTTP request: JSON-RPC by POST, `GET /healthz` and `/readyz`, CORS preflights. */
export function createHttpHandler(options: HttpHandlerOptions): RequestHandler {
  const { methods, dispatcher, dialect, maxRequestBytes, cors, vhosts, checkToken } = options;
  const probes = new Map([
    ["/healthz", options.healthz],
    ["/readyz", options.readyz],
  ]);
  const servesEveryPath = dialect.servesEveryPath && options.pages === undefined && options.paths.size === 0;
  const { restricted } = options;
  const unrestricted = restricted === undefined ? methods : withoutRestricted(methods, restricted);
  const methodsFor = ({ headers, socket }: IncomingMessage): MethodTable =>
    restricted?.isAllowed(headers.authorization, socket.remoteAddress ?? "") === false ? unrestricted : methods;
  const tooLarge = JSON.stringify({ jsonrpc: "2.0", id: null, error: dialect.requestTooLarge(maxRequestBytes) });

  const clients = new WeakMap<Socket, ClientConnection>();
  const connectionOf = (socket: Socket): ClientConnection => {
    let client = clients.get(socket);
    if (client === undefined) {
      const opened = new ClientConnection("http", socket.remoteAddress ?? "");
      clients.set(socket, (client = opened));
      socket.once("end", () => opened.leave());
      socket.once("close", () => opened.leave());
    }
    return client;
  };

  return (request, response) => {
    const { path, query } = targetOf(request);
    if (!isAllowedHost(request.headers.host, vhosts)) return refuse(request, response, 403, INVALID_HOST);
    if (!isAllowedOrigin(request.headers, cors)) return refuse(request, response, 403, ORIGIN_NOT_ALLOWED);
    allowOrigin(request, response, cors);
    if (request.method === "OPTIONS") return preflight(request, response);
    const probe = request.method === "GET" || request.method === "HEAD" ? probes.get(path) : undefined;
    if (probe !== undefined) return sendHealth(probe(query), response);
    if (checkToken !== undefined) {
      const verdict = checkToken(request.headers.authorization);
      if (verdict.kind === "refused") return refuse(request, response, 401, verdict.reason);
    }
    const methodsAtPath = options.paths.get(path);
    if (methodsAtPath === undefined && path !== "/" && !(servesEveryPath && request.method === "POST")) {
      if (options.pages === undefined || request.method !== "GET") return refuse(request, response, 404, "not found");
      return sendPage(options.pages(path, query), request, response, options.unsent);
    }
    // Load balancers probe this way whether the server listens.
    if (request.method === "GET" || request.method === "HEAD") return sendText(response, 200, "");
    if (request.method !== "POST") return refuse(request, response, 405, "method not allowed");
    if (!JSON_TYPES.includes(request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "")) {
      return refuse(request, response, 415, "invalid content type, only application/json is supported");
    }
    if (Number(request.headers["content-length"] ?? 0) > maxRequestBytes)
      return refuse(request, response, 413, tooLarge, JSON_TYPE);
    const seen = options.gate && request.headers[MIN_BLOCK];
    const minBlock = seen === undefined ? undefined : readMinBlock(String(seen));
    if (seen !== undefined && minBlock === undefined) return refuse(request, response, 400, `${MIN_BLOCK} is no block number`);
    const body = new RequestBody();
    const incoming = options.incoming.open(request.socket.remoteAddress ?? "", {
      disconnect: () => request.destroy(),
      pause: () => request.pause(),
      resume: () => request.resume(),
    });
    request.once("close", () => incoming.close());
    request.on("data", (chunk: Buffer) => {
      body.add(chunk);
      incoming.hold(body.bytes);
      if (request.destroyed) return;
      if (body.bytes > maxRequestBytes) {
        request.removeAllListeners("data");
        request.removeAllListeners("end");
        refuse(request, response, 413, tooLarge, JSON_TYPE);
      }
    });
    request.on("error", () => {}); // the connection was lost, so there is no answer
    request.on("end", () => {
      incoming.close();
      const client = connectionOf(request.socket);
      const reply = (given: Answer = dialect.notificationBody): void => {
        if (response.headersSent || response.destroyed) return;
        const unsent = options.unsent.open(client.remoteAddress, () => response.destroy());
        response.once("close", () => unsent.close());
        if (minBlock !== undefined) response.setHeader(HEAD_BLOCK, options.gate!.head);
        sendAnswer(response, given, unsent);
      };
      void settle(
        async () => {
          if (minBlock !== undefined && !(await options.gate!.pass(minBlock, client))) {
            response.statusCode = 503;
            reply(notHereText(minBlock, options.gate!.head));
          } else reply(await dispatcher.handle(body.finish(), methodsAtPath ?? methodsFor(request), client));
        },
        () => failResponse(response),
      );
    });
  };
}

function sendAnswer(response: ServerResponse, answer: NonNullable<Answer>, unsent: Unsent): void {
  if (typeof answer === "string" && answer.length <= SLICE_BYTES) {
    unsent.add(answer.length);
    send(response, response.statusCode, JSON_TYPE, answer);
    return;
  }
  const { pieces, byteLength } = typeof answer === "string" ? new AnswerBytes([Buffer.from(answer, "utf8")]) : answer;
  response.writeHead(response.statusCode, { "content-type": JSON_TYPE, "content-length": byteLength });
  unsent.add(byteLength);
  writeInSlices(pieces, (slice, isLast, onTaken) => {
    const onWritten = (error?: Error | null): void => {
      if (error) return;
      unsent.sent(slice.length);
      onTaken();
    };
    if (isLast) response.end(slice, onWritten);
    else response.write(slice, onWritten);
  });
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  if (response.headersSent || response.destroyed) return;
  // PERF: a string is sent together with the head in one write; a buffer would need a second one.
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text, "utf8") }).end(text, "utf8");
}

async function sendHealth(report: ReturnType<Probe>, response: ServerResponse): Promise<void> {
  const answer = await report;
  send(response, statusOfHealth(answer), JSON_TYPE, JSON.stringify(answer.body));
}

const sendText = (response: ServerResponse, status: number, text: string): void =>
  send(response, status, "text/plain; charset=utf-8", text === "" ? "" : `${text}\n`);

async function sendPage(
  answer: ReturnType<Pages>,
  request: IncomingMessage,
  response: ServerResponse,
  budget: Pick<UnsentBudget, "open">,
): Promise<void> {
  const page = await answer;
  if (page === undefined) return refuse(request, response, 404, "not found");
  const unsent = budget.open(request.socket.remoteAddress ?? "", () => response.destroy());
  response.once("close", () => unsent.close());
  response.statusCode = page.status;
  sendAnswer(response, JSON.stringify(page.body), unsent);
}

/** Answers without reading the body and ends the connection. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number, text: string, type?: string): void {
  response.setHeader("connection", "close");
  response.once("finish", () => request.destroy());
  if (type === undefined) sendText(response, status, text);
  else send(response, status, type, text);
}

function allowOrigin(request: IncomingMessage, response: ServerResponse, cors: readonly string[]): void {
  const { origin } = request.headers;
  if (origin === undefined || cors.length === 0) return;
  response.setHeader("vary", "origin");
  if (cors.includes("*")) response.setHeader("access-control-allow-origin", "*");
  else if (isListed(origin, cors)) response.setHeader("access-control-allow-origin", origin);
}

function preflight(request: IncomingMessage, response: ServerResponse): void {
  if (response.hasHeader("access-control-allow-origin")) {
    response.setHeader("access-control-allow-methods", "POST, GET");
    response.setHeader("access-control-allow-headers", request.headers["access-control-request-headers"] ?? "content-type");
    response.setHeader("access-control-max-age", "600");
  }
  response.writeHead(204).end();
}
