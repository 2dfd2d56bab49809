import { createHttpPool } from "@rnode/jsonrpc";
import type { Pool } from "undici";
import { L1Error } from "../l1-error.ts";

export interface BeaconHttpOptions {
  /** http or https; credentials in it are sent as basic authentication, its path and query are kept */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** for a whole request */
  readonly timeoutMs: number;
  /** of an answer */
  readonly maxBytes: number;
}

export type BeaconReply =
  | { readonly kind: "ok"; readonly json: unknown }
  /** the endpoint refuses the request; `message` is its reason */
  | { readonly kind: "refused"; readonly status: number; readonly message: string };

/** Connections to one endpoint; requests beyond them wait. */
const MAX_CONNECTIONS = 4;
const MAX_MESSAGE_CHARS = 200;

/** GET requests to one beacon node or archiver. */
export class BeaconHttp {
  /** for logs: without credentials and path */
  readonly name: string;
  readonly #pool: Pool;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  /** functions that stop the requests under way; undefined once closed */
  #underWay: Set<() => void> | undefined = new Set();

  constructor({ url, headers, timeoutMs, maxBytes }: BeaconHttpOptions) {
    this.#url = new URL(url);
    this.name = this.#url.origin;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
    const { username, password } = this.#url;
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.#headers = {
      accept: "application/json",
      ...(credentials === ":" ? {} : { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` }),
      ...headers,
    };
    this.#pool = createHttpPool(this.name, { connections: MAX_CONNECTIONS, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  }

  /**
   * @param path below the endpoint's own, without a leading slash
   * @param query names may repeat
   * @throws {L1Error} l1/unavailable: no answer, or too large; l1/faulty-answer: not JSON
   */
  async get(
    path: string,
    query: readonly (readonly [name: string, value: string])[] = [],
    maxMs = Number.POSITIVE_INFINITY,
  ): Promise<BeaconReply> {
    const url = new URL(this.#url);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`;
    for (const [name, value] of query) url.searchParams.append(name, value);
    const fail = (reason: string, cause?: unknown): L1Error =>
      new L1Error("l1/unavailable", { endpoint: this.name, what: path, reason }, cause === undefined ? {} : { cause });
    const timeoutMs = Math.min(this.#timeoutMs, maxMs);
    const abort = new AbortController();
    let stopReason: string | undefined;
    const stop = (reason: string): void => {
      stopReason ??= reason;
      abort.abort();
    };
    const onClose = (): void => stop("closed");
    const timer = setTimeout(() => stop(`no answer within ${timeoutMs} ms`), timeoutMs);
    this.#underWay?.add(onClose);
    if (this.#underWay === undefined) onClose();
    try {
      const response = await this.#pool.request({
        path: url.pathname + url.search,
        method: "GET",
        headers: this.#headers,
        signal: abort.signal,
      });
      const text = await readText(response.body, this.#maxBytes);
      if (text === undefined) throw fail(`the answer has more than ${this.#maxBytes} bytes`);
      const { statusCode: status } = response;
      const isOk = status >= 200 && status < 300;
      const json = parseJson(text);
      if (!isOk) return { kind: "refused", status, message: messageOf(json) ?? text.trim().slice(0, MAX_MESSAGE_CHARS) };
      if (json === undefined) throw new L1Error("l1/faulty-answer", { what: path, reason: "not JSON" });
      return { kind: "ok", json };
    } catch (error) {
      if (error instanceof L1Error) throw error;
      throw fail(stopReason ?? reasonOf(error), error);
    } finally {
      clearTimeout(timer);
      this.#underWay?.delete(onClose);
    }
  }

  /** Ends requests in progress. */
  async close(): Promise<void> {
    const stops = this.#underWay ?? [];
    this.#underWay = undefined;
    for (const stop of stops) stop();
    await this.#pool.destroy();
  }
}

/** @returns `undefined` if it is larger */
async function readText(body: AsyncIterable<Uint8Array> & { destroy(): void }, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) {
      body.destroy();
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString("utf8");
}

/** `undefined`: not JSON */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function messageOf(json: unknown): string | undefined {
  const { message } = (typeof json === "object" && json !== null ? json : {}) as { message?: unknown };
  return typeof message === "string" ? message.slice(0, MAX_MESSAGE_CHARS) : undefined;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error.message !== "") return error.message;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
