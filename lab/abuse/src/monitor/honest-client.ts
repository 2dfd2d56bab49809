import { Agent, request } from "node:http";

/** One request of the honest client. */
export interface Sample {
  /** when it was sent */
  readonly atMs: number;
  /** so far, if there is no answer yet */
  readonly tookMs: number;
  readonly failure: string | undefined;
}

interface Asked {
  readonly atMs: number;
  outcome: { readonly tookMs: number; readonly failure: string | undefined } | undefined;
}

export interface HonestClientOptions {
  readonly port: number;
  readonly intervalMs: number;
  /** requests, in turn */
  readonly questions: readonly { readonly method: string; readonly params: readonly unknown[] }[];
}

/** An answer that takes longer counts as failed. */
const TIMEOUT_MS = 10_000;
/** One request in this many comes over a new connection, as a new user's would. */
const NEW_CONNECTION_EVERY = 10;

/** Sends cheap requests at regular times, whether or not earlier ones were answered, and notes how long each took. */
export class HonestClient {
  readonly #asked: Asked[] = [];
  readonly #options: HonestClientOptions;
  readonly #kept = new Agent({ keepAlive: true });
  readonly #timer: NodeJS.Timeout;
  #sent = 0;

  constructor(options: HonestClientOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#ask(), options.intervalMs);
  }

  /** @param fromMs including; @param toMs excluding: when they were sent */
  between(fromMs: number, toMs: number): Sample[] {
    const nowMs = performance.now();
    return this.#asked
      .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
      .map(({ atMs, outcome }) => ({ atMs, ...(outcome ?? { tookMs: nowMs - atMs, failure: undefined }) }));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#kept.destroy();
  }

  #ask(): void {
    const { port, questions } = this.#options;
    const number = this.#sent++;
    const question = questions[number % questions.length]!;
    const body = JSON.stringify({ jsonrpc: "2.0", id: number, ...question });
    const asked: Asked = { atMs: performance.now(), outcome: undefined };
    this.#asked.push(asked);
    const done = (failure?: string): void => {
      if (asked.outcome) return;
      clearTimeout(limit);
      asked.outcome = { tookMs: performance.now() - asked.atMs, failure };
    };
    const outgoing = request(
      {
        host: "127.0.0.1",
        port,
        method: "POST",
        localAddress: "127.0.0.1",
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
        agent: number % NEW_CONNECTION_EVERY === 0 ? false : this.#kept,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", (error) => done(error.message));
        response.on("end", () => done(failureOf(response.statusCode, Buffer.concat(chunks).toString("utf8"), number)));
      },
    );
    const limit = setTimeout(() => {
      done(`no answer within ${TIMEOUT_MS / 1000} s`);
      outgoing.destroy();
    }, TIMEOUT_MS);
    outgoing.on("error", (error) => done(error.message));
    outgoing.end(body);
  }
}

function failureOf(status: number | undefined, text: string, id: number): string | undefined {
  if (status !== 200) return `HTTP ${status}: ${text.slice(0, 100)}`;
  try {
    const answer = JSON.parse(text) as { id?: unknown; result?: unknown; error?: { message?: unknown } };
    if (answer.error) return `error ${String(answer.error.message)}`;
    return answer.id === id && answer.result !== undefined && answer.result !== null ? undefined : "the answer to something else";
  } catch {
    return `not JSON: ${text.slice(0, 100)}`;
  }
}
