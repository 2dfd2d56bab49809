import { isCodedError } from "@rnode/primitives";
import { WebSocket } from "ws";
import { createJwt, MACHINE_TIME } from "../auth/jwt.ts";
import { createRateLimiter } from "../limits/rate-limiter.ts";
import { isDeeperThan } from "../wire/json-depth.ts";
import { MAX_DEPTH, outcomeOf, parseJson, reasonOf, requestOf } from "../wire/rpc-answer.ts";
import type { CallOptions, RpcCall, RpcClient, RpcClientOptions, RpcOutcome, RpcSubscription } from "../wire/rpc-client-types.ts";
import { type RpcError, type RpcTransportCode, RpcTransportError } from "../wire/rpc-error.ts";

/** A connection without subscriptions needs no sign of life: its requests have time limits. */
const PING_INTERVAL_MS = 30_000;
/** Notifications that came before the answer that names their subscription. */
const MAX_EARLY_NOTIFICATIONS = 64;

/** One message that was sent, with one call or a batch of them. */
interface Message {
  readonly ids: ReadonlySet<number>;
  readonly isBatch: boolean;
  readonly outcomes: Map<number, RpcOutcome>;
  readonly resolve: (outcomes: ReadonlyMap<number, RpcOutcome>) => void;
  readonly reject: (error: Error) => void;
}

interface Subscriber {
  readonly onNotification: (result: unknown) => void;
  readonly onEnd: () => void;
}

/**
 * A JSON-RPC client over one WebSocket. The first call opens it, and the first call after a loss reopens it. The client never
 * retries, and a subscription ends with its connection: the caller decides what to do then.
 */
export function createWsRpcClient(options: RpcClientOptions): RpcClient {
  const { clock = MACHINE_TIME } = options;
  const endpoint = new URL(options.url).origin;
  const timeoutMs = options.timeoutMs ?? 10_000;
  const maxBatchSize = Math.max(1, options.maxBatchSize ?? 20);
  const maxConcurrency = Math.max(1, options.maxConcurrency ?? 10);
  const maxResponseBytes = options.maxResponseBytes ?? 256 * 1024 * 1024;
  const limiter = createRateLimiter(options.rateLimitPerSec ?? 0, maxBatchSize);
  const byId = new Map<number, Message>();
  const subscribers = new Map<string, Subscriber>();
  let early: { readonly subscription: string; readonly result: unknown }[] = [];
  let socket: Promise<WebSocket> | undefined;
  let current: WebSocket | undefined;
  let connectionsLost = 0;
  let isClosed = false;
  let lastId = 0;
  let underWay = 0;
  const waiting: (() => void)[] = [];

  const failure = (code: RpcTransportCode, method: string, data: Record<string, string | number> = {}, cause?: unknown) =>
    new RpcTransportError(code, { endpoint, method, ...data }, cause === undefined ? {} : { cause });

  function connect(): Promise<WebSocket> {
    const authorization =
      options.jwtSecret === undefined
        ? {}
        : { authorization: `Bearer ${createJwt(options.jwtSecret, Math.floor(clock.unixMs() / 1000))}` };
    const opened = new WebSocket(options.url, {
      headers: { ...options.headers, ...authorization },
      handshakeTimeout: timeoutMs,
      maxPayload: maxResponseBytes,
      perMessageDeflate: false,
    });
    current = opened;
    let isSilent = false;
    const pings = setInterval(() => {
      if (subscribers.size === 0 || opened.readyState !== WebSocket.OPEN) return;
      if (isSilent) opened.terminate();
      isSilent = true;
      opened.ping();
    }, PING_INTERVAL_MS);
    pings.unref();
    const hasLife = (): void => {
      isSilent = false;
    };
    opened.on("pong", hasLife);
    opened.on("message", (data) => {
      hasLife();
      receive((data as Buffer).toString("utf8"));
    });
    return new Promise((resolve, reject) => {
      let lastError: unknown;
      opened.on("open", () => resolve(opened));
      opened.on("unexpected-response", (_, response) => {
        lastError = failure("rpc/http-status", "connect", { status: response.statusCode ?? 0, body: response.statusMessage ?? "" });
        opened.terminate();
      });
      opened.on("error", (error) => {
        lastError ??= error;
      });
      opened.on("close", (code) => {
        clearInterval(pings);
        socket = undefined;
        connectionsLost++;
        const error = isCodedError(lastError)
          ? lastError
          : failure(
              isClosed ? "rpc/closed" : "rpc/unreachable",
              "connection",
              { reason: reasonOf(lastError ?? `closed with ${code}`) },
              lastError,
            );
        reject(error);
        for (const message of new Set(byId.values())) message.reject(error);
        byId.clear();
        early = [];
        const ended = [...subscribers.values()];
        subscribers.clear();
        for (const { onEnd } of ended) onEnd();
      });
    });
  }

  function receive(text: string): void {
    const parsed = isDeeperThan(text, MAX_DEPTH) ? undefined : parseJson(text);
    for (const item of Array.isArray(parsed) ? (parsed as unknown[]) : [parsed]) {
      if (typeof item !== "object" || item === null) continue;
      const { id, method, params } = item as { id?: unknown; method?: unknown; params?: unknown };
      if (typeof method === "string") notify(params);
      else answer(id, outcomeOf(item));
    }
  }

  function notify(params: unknown): void {
    const { subscription, result } = (params ?? {}) as { subscription?: unknown; result?: unknown };
    if (typeof subscription !== "string") return;
    const subscriber = subscribers.get(subscription);
    if (subscriber !== undefined) subscriber.onNotification(result);
    else if (early.length < MAX_EARLY_NOTIFICATIONS) early.push({ subscription, result });
  }

  function answer(id: unknown, outcome: RpcOutcome | undefined): void {
    if (outcome === undefined) return;
    if (id === null || id === undefined) {
      // errors that a server finds before it has read the ids: it refuses a message, most likely a batch
      const refused = [...byId.values()].find(({ isBatch }) => isBatch) ?? [...byId.values()][0];
      if (refused === undefined || outcome.kind !== "error") return;
      for (const each of refused.ids) settle(refused, each, outcome);
      return;
    }
    const message = byId.get(Number(id));
    if (message !== undefined) settle(message, Number(id), outcome);
  }

  function settle(message: Message, id: number, outcome: RpcOutcome): void {
    message.outcomes.set(id, outcome);
    byId.delete(id);
    if (message.outcomes.size === message.ids.size) message.resolve(message.outcomes);
  }

  /** Waits for one of the places for messages under way. */
  async function place(signal: AbortSignal): Promise<void> {
    if (underWay < maxConcurrency) {
      underWay++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(new Error("aborted"));
      };
      waiting.push(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  function release(): void {
    const next = waiting.shift();
    if (next === undefined) underWay--;
    else next();
  }

  async function send(calls: readonly RpcCall[], isBatch: boolean, callOptions: CallOptions | undefined): Promise<RpcOutcome[]> {
    const { method } = calls[0]!;
    const limitMs = callOptions?.timeoutMs ?? timeoutMs;
    const abort = new AbortController();
    let stopped: "rpc/timeout" | "rpc/aborted" | "rpc/closed" | undefined;
    const stop = (reason: NonNullable<typeof stopped>): void => {
      stopped ??= reason;
      abort.abort();
    };
    const onAbort = (): void => stop("rpc/aborted");
    const timer = setTimeout(() => stop("rpc/timeout"), limitMs);
    callOptions?.signal?.addEventListener("abort", onAbort, { once: true });
    if (callOptions?.signal?.aborted) onAbort();
    if (isClosed) stop("rpc/closed");
    const ids = calls.map(() => ++lastId);
    let hasPlace = false;
    try {
      if (stopped !== undefined) throw new Error("stopped");
      await place(abort.signal);
      hasPlace = true;
      await limiter.take(calls.length, abort.signal);
      socket ??= connect();
      const opened = await Promise.race([socket, untilAborted(abort.signal)]);
      const requests = calls.map((call, index) => requestOf(ids[index]!, call.method, call.params));
      const outcomes = await new Promise<ReadonlyMap<number, RpcOutcome>>((resolve, reject) => {
        const message: Message = { ids: new Set(ids), isBatch, outcomes: new Map(), resolve, reject };
        for (const id of ids) byId.set(id, message);
        abort.signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
        opened.send(JSON.stringify(isBatch ? requests : requests[0]), (error) => {
          if (error) reject(error);
        });
      });
      return ids.map((id) => outcomes.get(id)!);
    } catch (error) {
      if (stopped !== undefined) throw failure(stopped, method, stopped === "rpc/timeout" ? { timeoutMs: limitMs } : {});
      if (isCodedError(error, "rpc/"))
        throw new RpcTransportError(error.code as RpcTransportCode, { ...error.data, method }, { cause: error });
      throw failure("rpc/unreachable", method, { reason: reasonOf(error) }, error);
    } finally {
      for (const id of ids) byId.delete(id);
      if (hasPlace) release();
      clearTimeout(timer);
      callOptions?.signal?.removeEventListener("abort", onAbort);
    }
  }

  async function call<T>(method: string, params?: readonly unknown[], callOptions?: CallOptions): Promise<T> {
    const [outcome] = await send([{ method, params }], false, callOptions);
    if (outcome!.kind === "error") throw outcome!.error as RpcError;
    return outcome!.result as T;
  }

  return {
    endpoint,
    get connectionsLost() {
      return connectionsLost;
    },
    call,
    async batch(calls, callOptions) {
      const chunks: Promise<RpcOutcome[]>[] = [];
      for (let at = 0; at < calls.length; at += maxBatchSize) {
        chunks.push(send(calls.slice(at, at + maxBatchSize), true, callOptions));
      }
      return (await Promise.all(chunks)).flat();
    },
    async subscribe(params, onNotification): Promise<RpcSubscription> {
      const id = await call("eth_subscribe", params);
      if (typeof id !== "string") throw failure("rpc/bad-response", "eth_subscribe", { reason: "no subscription id" });
      let onEnd = (): void => {};
      const ended = new Promise<void>((resolve) => {
        onEnd = resolve;
      });
      subscribers.set(id, { onNotification, onEnd });
      const before = early.filter(({ subscription }) => subscription === id);
      early = early.filter(({ subscription }) => subscription !== id);
      for (const { result } of before) onNotification(result);
      return {
        ended,
        close: () => {
          if (subscribers.delete(id)) call("eth_unsubscribe", [id]).catch(() => {}); // the connection may already be closed
          onEnd();
        },
      };
    },
    async close() {
      isClosed = true;
      if (current === undefined || current.readyState === WebSocket.CLOSED) return;
      const ended = new Promise((resolve) => current?.once("close", resolve));
      current.terminate();
      await ended;
    },
  };
}

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(new Error("stopped"));
    else signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
  });
