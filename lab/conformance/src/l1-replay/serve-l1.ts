import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { INVALID_REQUEST, PARSE_ERROR, RpcError } from "@rnode/jsonrpc";
import { createKzg, type Kzg } from "@rnode/kzg";
import { type BeaconAnswers, beaconAnswers } from "./beacon-answers.ts";
import { type ExecutionAnswers, executionAnswers } from "./execution-answers.ts";
import type { BlockEntry, L1Store } from "./l1-store.ts";

export interface ServeL1Options {
  /** 0 (default): any free one */
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** each answer comes after so long */
  readonly latencyMs?: number | undefined;
  /** the first head; default: the last block */
  readonly head?: number | undefined;
  /** interval of new blocks; default: none */
  readonly blockTimeSec?: number | undefined;
  /** how many blocks `safe` and `finalized` are behind the head; default 0 */
  readonly finalityBlocks?: number | undefined;
}

export interface L1Server {
  /** for `--l1` and for `--l1.beacon` */
  readonly url: string;
  /** number of calls of each method */
  readonly calls: ReadonlyMap<string, number>;
  readonly close: () => Promise<void>;
}

const MAX_REQUEST_BYTES = 16 << 20;

/**
 * Serves the blocks of a store over HTTP: JSON-RPC by POST and the beacon API by GET, on one port.
 *
 * @throws {Error} the head is not in the store, or the port is taken
 */
export async function serveL1(store: L1Store, options: ServeL1Options = {}): Promise<L1Server> {
  const { port = 0, host = "127.0.0.1", latencyMs = 0, finalityBlocks = 0 } = options;
  const head = headOf(store, options);
  let kzg: Kzg | undefined;
  const calls = new Map<string, number>();
  const execution = executionAnswers(store, { head, finalityBlocks });
  const beacon = beaconAnswers(store, { head, kzg: () => (kzg ??= createKzg()) });
  const counted: ExecutionAnswers = (method, params) => {
    calls.set(method, (calls.get(method) ?? 0) + 1);
    return execution(method, params);
  };
  const server = createServer((request, response) => {
    const reply = request.method === "POST" ? answerCalls(request, counted) : answerGet(request, beacon);
    reply
      .then(async ({ status, body }) => {
        if (latencyMs > 0) await sleep(latencyMs);
        send(response, status, body);
      })
      .catch((error: unknown) => send(response, 500, { code: 500, message: String(error) }));
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    calls,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await kzg?.close();
    },
  };
}

function headOf(store: L1Store, { head, blockTimeSec }: ServeL1Options): () => BlockEntry {
  const start = head === undefined ? store.entries.length - 1 : store.entries.findIndex(({ number }) => number === head);
  if (start < 0) throw new Error(`block ${head} is not recorded: ${store.first.number} to ${store.last.number} are`);
  const startMs = performance.now();
  return () => {
    const passed = blockTimeSec === undefined ? 0 : Math.floor((performance.now() - startMs) / (blockTimeSec * 1000));
    return store.entries[Math.min(start + passed, store.entries.length - 1)]!;
  };
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

async function answerGet(request: IncomingMessage, beacon: BeaconAnswers): Promise<Reply> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://l1");
  return beacon(pathname, searchParams);
}

async function answerCalls(request: IncomingMessage, execution: ExecutionAnswers): Promise<Reply> {
  let asked: unknown;
  try {
    asked = JSON.parse(await bodyOf(request));
  } catch (error) {
    return { status: 200, body: errorOf(null, new RpcError(PARSE_ERROR, String(error))) };
  }
  const answer = (call: unknown): object => {
    const { id = null, method, params = [] } = (call ?? {}) as { id?: unknown; method?: unknown; params?: unknown };
    if (typeof method !== "string" || !Array.isArray(params))
      return errorOf(id, new RpcError(INVALID_REQUEST, "no method and list of params"));
    try {
      return { jsonrpc: "2.0", id, result: execution(method, params) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return errorOf(id, error);
    }
  };
  return { status: 200, body: Array.isArray(asked) ? asked.map(answer) : answer(asked) };
}

const errorOf = (id: unknown, error: RpcError): object => ({ jsonrpc: "2.0", id, error: error.toBody() });

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += (part as Buffer).length;
    if (bytes > MAX_REQUEST_BYTES) throw new Error(`the request is larger than ${MAX_REQUEST_BYTES} bytes`);
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString("utf8");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
