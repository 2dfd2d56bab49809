import { isCodedError } from "@rnode/primitives";
import { createJwt, MACHINE_TIME } from "../auth/jwt.ts";
import { createRateLimiter } from "../limits/rate-limiter.ts";
import { AnswerElements } from "../wire/answer-elements.ts";
import { isDeeperThan } from "../wire/json-depth.ts";
import { MAX_DEPTH, outcomeOf, parseJson, reasonOf, requestOf } from "../wire/rpc-answer.ts";
import type { CallOptions, RpcCall, RpcClient, RpcClientOptions, RpcOutcome } from "../wire/rpc-client-types.ts";
import { type RpcTransportCode, RpcTransportError } from "../wire/rpc-error.ts";
import { createHttpPool } from "./http-pool.ts";
import { createWsRpcClient } from "./ws-client.ts";

const JSON_TYPE = "application/json";

/** A JSON-RPC client over HTTP or a WebSocket. It never retries, because only the caller can tell whether a retry is safe. */
export function createRpcClient(options: RpcClientOptions): RpcClient {
  const { clock = MACHINE_TIME } = options;
  const url = new URL(options.url);
  if (url.protocol === "ws:" || url.protocol === "wss:") return createWsRpcClient(options);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new TypeError(`not an HTTP URL: ${url.protocol}//${url.host}`);
  const endpoint = url.origin;
  const path = url.pathname + url.search;
  const timeoutMs = options.timeoutMs ?? 10_000;
  const maxBatchSize = Math.max(1, options.maxBatchSize ?? 20);
  const maxConcurrency = Math.max(1, options.maxConcurrency ?? 10);
  const maxResponseBytes = options.maxResponseBytes ?? 256 * 1024 * 1024;
  const limiter = createRateLimiter(options.rateLimitPerSec ?? 0, maxBatchSize);
  // The pool queues requests beyond its number of connections: one request per connection at a time.
  const pool = createHttpPool(endpoint, {
    connections: maxConcurrency,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(options.tls && { connect: { ...options.tls, minVersion: "TLSv1.3" } }),
  });
  let connectionsLost = 0;
  pool.on("disconnect", () => {
    connectionsLost++;
  });
  /** functions that stop the requests under way; undefined once closed */
  let underWay: Set<() => void> | undefined = new Set();
  const baseHeaders: Record<string, string> = { "content-type": JSON_TYPE, accept: JSON_TYPE, ...options.headers };
  if (url.username !== "" || url.password !== "") {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    baseHeaders.authorization = `Basic ${Buffer.from(credentials).toString("base64")}`;
  }
  let lastId = 0;

  /** Sends one body and returns the parsed answer. */
  async function post(body: string, method: string, callCount: number, callOptions: CallOptions | undefined): Promise<unknown> {
    const limitMs = callOptions?.timeoutMs ?? timeoutMs;
    const fail = (code: RpcTransportCode, data: Record<string, string | number> = {}, cause?: unknown): RpcTransportError =>
      new RpcTransportError(code, { endpoint, method, ...data }, cause === undefined ? {} : { cause });
    const abort = new AbortController();
    let stopReason: "rpc/timeout" | "rpc/closed" | "rpc/aborted" | undefined;
    const stop = (reason: NonNullable<typeof stopReason>): void => {
      stopReason ??= reason;
      abort.abort();
    };
    const onClose = (): void => stop("rpc/closed");
    const onAbort = (): void => stop("rpc/aborted");
    const timer = setTimeout(() => stop("rpc/timeout"), limitMs);
    let refusal: { readonly error: unknown } | undefined;
    const { onElement } = callOptions ?? {};
    const takeElement =
      onElement &&
      ((element: unknown): void => {
        try {
          onElement(element);
        } catch (error) {
          refusal = { error };
          throw error;
        }
      });
    underWay?.add(onClose);
    callOptions?.signal?.addEventListener("abort", onAbort, { once: true });
    if (underWay === undefined) onClose();
    if (callOptions?.signal?.aborted) onAbort();
    try {
      await limiter.take(callCount, abort.signal);
      const headers =
        options.jwtSecret === undefined
          ? baseHeaders
          : { ...baseHeaders, authorization: `Bearer ${createJwt(options.jwtSecret, Math.floor(clock.unixMs() / 1000))}` };
      const response = await pool.request({ path, method: "POST", headers, body, signal: abort.signal });
      const text = await readText(response.body, maxResponseBytes, fail, takeElement);
      const isOk = response.statusCode >= 200 && response.statusCode < 300;
      // Code that walks a parsed value recurses: its stack would overflow long before the limit in bytes is reached.
      if (isDeeperThan(text, MAX_DEPTH)) throw fail("rpc/bad-response", { reason: `nested deeper than ${MAX_DEPTH}` });
      const parsed = parseJson(text);
      if (!isOk && !(carriesRpcError(parsed) && !GATEWAY_STATUSES.has(response.statusCode))) {
        const retryAfter = response.headers["retry-after"];
        throw fail("rpc/http-status", {
          status: response.statusCode,
          body: text.trim().slice(0, 200),
          ...(typeof retryAfter === "string" ? { retryAfter } : {}),
        });
      }
      if (parsed === undefined) throw fail("rpc/bad-response", { reason: "not JSON", body: text.slice(0, 200) });
      return parsed;
    } catch (error) {
      if (isCodedError(error, "rpc/") || refusal !== undefined) throw error;
      if (stopReason !== undefined) throw fail(stopReason, stopReason === "rpc/timeout" ? { timeoutMs: limitMs } : {});
      throw fail("rpc/unreachable", { reason: reasonOf(error) }, error);
    } finally {
      clearTimeout(timer);
      underWay?.delete(onClose);
      callOptions?.signal?.removeEventListener("abort", onAbort);
    }
  }

  async function sendChunk(calls: readonly RpcCall[], callOptions: CallOptions | undefined): Promise<RpcOutcome[]> {
    const method = calls[0]!.method;
    const firstId = lastId + 1;
    lastId += calls.length;
    const requests = calls.map((call, index) => requestOf(firstId + index, call.method, call.params));
    const parsed = await post(JSON.stringify(requests), method, calls.length, callOptions);
    if (!Array.isArray(parsed)) {
      // A server that refuses the whole batch answers with one error object.
      const refusal = outcomeOf(parsed);
      if (refusal?.kind === "error") return calls.map(() => refusal);
      throw new RpcTransportError("rpc/bad-response", { endpoint, method, reason: "not a batch response" });
    }
    const outcomes = new Map<unknown, RpcOutcome>();
    for (const item of parsed as unknown[]) {
      const outcome = outcomeOf(item);
      if (outcome !== undefined) outcomes.set((item as { id?: unknown }).id, outcome);
    }
    return calls.map((call, index) => {
      const outcome = outcomes.get(firstId + index);
      if (outcome === undefined) {
        throw new RpcTransportError("rpc/bad-response", { endpoint, method: call.method, reason: "no answer in the batch" });
      }
      return outcome;
    });
  }

  return {
    endpoint,
    get connectionsLost() {
      return connectionsLost;
    },
    async call<T>(method: string, params?: readonly unknown[], callOptions?: CallOptions): Promise<T> {
      const id = ++lastId;
      const parsed = await post(JSON.stringify(requestOf(id, method, params)), method, 1, callOptions);
      const outcome = outcomeOf(parsed);
      // Errors that a server finds before it has read the id are sent with id null.
      if (outcome === undefined || ((parsed as { id?: unknown }).id !== id && outcome.kind !== "error")) {
        throw new RpcTransportError("rpc/bad-response", { endpoint, method, reason: "not an answer to this request" });
      }
      if (outcome.kind === "error") throw outcome.error;
      return outcome.result as T;
    },
    async batch(calls, callOptions) {
      const chunks: Promise<RpcOutcome[]>[] = [];
      for (let at = 0; at < calls.length; at += maxBatchSize) {
        chunks.push(sendChunk(calls.slice(at, at + maxBatchSize), callOptions));
      }
      return (await Promise.all(chunks)).flat();
    },
    async close() {
      const stops = underWay ?? [];
      underWay = undefined;
      for (const stop of stops) stop();
      await pool.destroy();
    },
  };
}

/** Statuses of proxies and load balancers: regardless of the body, the server behind may not have received the request. */
const GATEWAY_STATUSES = new Set([401, 403, 407, 408, 413, 429, 502, 503, 504]);

const carriesRpcError = (parsed: unknown): boolean =>
  Array.isArray(parsed)
    ? parsed.length > 0 && parsed.every((item) => outcomeOf(item) !== undefined)
    : outcomeOf(parsed)?.kind === "error";

const ELEMENT_FAULTS = { "too-deep": `nested deeper than ${MAX_DEPTH}`, "not-json": "not JSON" } as const;

/** @param onElement takes the elements of the list `result`, which are then left out of the text */
async function readText(
  body: AsyncIterable<Uint8Array> & { destroy(): void },
  maxBytes: number,
  fail: (code: RpcTransportCode, data: Record<string, number | string>) => RpcTransportError,
  onElement: ((element: unknown) => void) | undefined,
): Promise<string> {
  const elements = onElement && new AnswerElements({ maxBytes }, onElement);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    const fault = elements?.add(chunk);
    if (elements === undefined) {
      size += chunk.length;
      chunks.push(chunk);
    }
    if (size > maxBytes || fault === "too-large") {
      body.destroy();
      throw fail("rpc/response-too-large", { maxBytes });
    }
    if (fault !== undefined) {
      body.destroy();
      throw fail("rpc/bad-response", { reason: ELEMENT_FAULTS[fault] });
    }
  }
  return elements?.rest() ?? Buffer.concat(chunks, size).toString("utf8");
}
