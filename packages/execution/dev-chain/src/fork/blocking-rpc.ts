import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What an endpoint answers to one call. */
export type RpcOutcome =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly code: number; readonly message: string };

/** Asks an endpoint while this thread waits, as the EVM does for the state. */
export interface BlockingRpc {
  /** host and port; the path may hold a key */
  readonly host: string;
  /** HTTP requests so far */
  readonly requests: number;
  /** In one request. @throws {RpcError} the endpoint does not answer, or refuses the whole request */
  batch(calls: readonly RpcCall[]): RpcOutcome[];
  close(): Promise<void>;
}

/** The thread only carries bytes. It is a text, so that it runs from sources as well as from the build. */
const CARRIER = `
const { workerData: { port, signal, url, maxBytes } } = require("node:worker_threads");
const textOf = async (answer) => {
  const chunks = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Error("it answers with more than " + maxBytes + " bytes");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};
const once = async ({ body, timeoutMs }) => {
  try {
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body, signal: AbortSignal.timeout(timeoutMs) });
    return { status: answer.status, text: await textOf(answer) };
  } catch (error) {
    return { status: 0, text: String((error && error.cause && (error.cause.code || error.cause.message)) || (error && error.name !== "Error" && error.name) || error) };
  }
};
const isBusy = ({ status, text }) => status === 429 || status >= 500 || text === "ECONNRESET" || text === "UND_ERR_SOCKET";
port.on("message", async (asked) => {
  let answer = await once(asked);
  for (let wait = 250; isBusy(answer) && wait <= 1000; wait *= 2) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    answer = await once(asked);
  }
  port.postMessage(answer);
  Atomics.store(signal, 0, 1);
  Atomics.notify(signal, 0);
});
`;

const TIMEOUT_MS = 30_000;
/** The same after an endpoint did not answer in that time. */
const STALLED_TIMEOUT_MS = 2_000;
/** Of one answer. A batch of proofs of a busy contract takes some megabytes. */
const MAX_ANSWER_BYTES = 64 << 20;
const ATTEMPTS = 3;
/** More than the pauses between attempts take. */
const PAUSES_MS = 5_000;
/** in one request; providers refuse more */
const MAX_BATCH = 100;

const RATE_LIMIT = /rate limit|too many requests|(?:requests|units) per second/i;
const isRateLimited = (outcome: RpcOutcome): boolean =>
  outcome.kind === "error" && (outcome.code === 429 || RATE_LIMIT.test(outcome.message));

/** @param url http or https */
export function openBlockingRpc(url: string, limits: Partial<CarryLimits> = {}): BlockingRpc {
  return new CarriedRpc(url, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES, ...limits });
}

interface CarryLimits {
  /** of one attempt; there are three */
  readonly timeoutMs: number;
  /** of one answer */
  readonly maxBytes: number;
}

class CarriedRpc implements BlockingRpc {
  readonly host: string;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #signal = new Int32Array(new SharedArrayBuffer(4));
  requests = 0;

  readonly #limitMs: number;
  /** of the next attempt */
  #timeoutMs: number;

  constructor(url: string, { timeoutMs, maxBytes }: CarryLimits) {
    this.host = new URL(url).host;
    this.#limitMs = timeoutMs;
    this.#timeoutMs = timeoutMs;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData = { port: port2, signal: this.#signal, url, maxBytes };
    this.#worker = new Worker(CARRIER, { eval: true, workerData, transferList: [port2], execArgv: [] });
    this.#worker.unref();
    port1.unref();
  }

  batch(calls: readonly RpcCall[]): RpcOutcome[] {
    const outcomes: RpcOutcome[] = [];
    for (let from = 0; from < calls.length; from += MAX_BATCH) outcomes.push(...this.#batch(calls.slice(from, from + MAX_BATCH)));
    return outcomes;
  }

  /** Some endpoints limit rates call by call. */
  #batch(calls: readonly RpcCall[]): RpcOutcome[] {
    for (let waitMs = 250; ; waitMs *= 2) {
      const outcomes = this.#once(calls);
      if (waitMs > 1000 || !outcomes.some(isRateLimited)) return outcomes;
      Atomics.wait(this.#signal, 0, Atomics.load(this.#signal, 0), waitMs);
    }
  }

  #once(calls: readonly RpcCall[]): RpcOutcome[] {
    const body = JSON.stringify(calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params })));
    const answers = this.#post(body);
    if (!Array.isArray(answers)) {
      const { error } = (answers ?? {}) as { error?: { message?: unknown } };
      throw this.#failure(`answered a batch with ${error === undefined ? "no list" : `"${String(error.message)}"`}`);
    }
    return calls.map(({ method }, id) => {
      const answer = answers.find((each: unknown) => (each as { id?: unknown } | null)?.id === id) as
        | { readonly result?: unknown; readonly error?: { readonly code?: unknown; readonly message?: unknown } }
        | undefined;
      if (answer === undefined) throw this.#failure(`did not answer ${method} of a batch`);
      return answer.error === undefined
        ? { kind: "result", result: answer.result }
        : { kind: "error", code: Number(answer.error.code), message: String(answer.error.message) };
    });
  }

  #post(body: string): unknown {
    this.requests++;
    Atomics.store(this.#signal, 0, 0);
    const waitMs = ATTEMPTS * this.#timeoutMs + PAUSES_MS;
    this.#port.postMessage({ body, timeoutMs: this.#timeoutMs });
    Atomics.wait(this.#signal, 0, 0, waitMs);
    const received = receiveMessageOnPort(this.#port) as
      | { readonly message: { readonly status: number; readonly text: string } }
      | undefined;
    if (received === undefined) throw this.#failure(`did not answer within ${waitMs / 1000} s`);
    const { status, text } = received.message;
    // Every request of the chain waits for this one: those after a timeout do not wait as long, until the endpoint answers again.
    this.#timeoutMs = text === "TimeoutError" && status === 0 ? Math.min(this.#limitMs, STALLED_TIMEOUT_MS) : this.#limitMs;
    if (status === 0) throw this.#failure(`cannot be reached (${text})`);
    if (status === 429)
      throw this.#failure("limits the rate of requests (HTTP 429), three times in a row: wait, or use another endpoint");
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      throw this.#failure(`answered with HTTP ${status} and no JSON`);
    }
    return answer;
  }

  #failure(what: string): RpcError {
    return new RpcError(SERVER_ERROR, `the endpoint of --fork-url, ${this.host}, ${what}`);
  }

  async close(): Promise<void> {
    this.#port.close();
    await this.#worker.terminate();
  }
}
