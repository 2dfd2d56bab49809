import { setTimeout as wait } from "node:timers/promises";
import { backoffMs, isCodedError } from "@rnode/primitives";
import { fetch, type Response } from "undici";
import { errorCauses } from "./error-causes.ts";
import { type DownloadError, downloadError } from "./errors.ts";
import { proxyAgent } from "./proxies.ts";

export interface DownloadOptions {
  /** first byte that is wanted; default: 0 */
  readonly from?: number | undefined;
  /** of the whole file; a larger one is refused, before anything of it is read where the server says its size */
  readonly maxBytes: number;
  /** how long a server may take for an answer's head, and for each `MIN_BYTES_PER_SEC × idleMs` of its body; default: 30 s */
  readonly idleMs?: number | undefined;
  /** how many attempts in a row may bring less than one such portion; default: 8 */
  readonly maxFailures?: number | undefined;
  /** the first wait between two attempts; each further one is twice as long, up to half a minute. Default: half a second */
  readonly firstWaitMs?: number | undefined;
  /** size of the file, as soon as the server says it */
  readonly onTotal?: ((bytes: number) => void) | undefined;
  readonly onRetry?: ((reason: string, waitMs: number) => void) | undefined;
  /** ends the download; the reason is thrown */
  readonly signal?: AbortSignal | undefined;
}

const IDLE_MS = 30_000;
/** A slower server counts as one that hangs: a byte now and then would hold a download for ever. */
const MIN_BYTES_PER_SEC = 1024;
const MAX_FAILURES = 8;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Of statuses above 400, these say nothing of the next attempt. */
const PASSING_STATUSES = new Set([408, 425, 429]);
const NOT_FOUND = new Set([404, 410]);

/**
 * The bytes of an http(s) URL. After a broken connection, it resumes with a Range request; if the server does not support those,
 * the earlier bytes are read again and dropped.
 *
 * @throws {CodedError} download/failed, download/not-found, download/too-large, download/replaced; the signal's reason
 */
export async function* resumableBody(url: string, options: DownloadOptions): AsyncGenerator<Uint8Array> {
  const { maxFailures = MAX_FAILURES, firstWaitMs = FIRST_WAIT_MS } = options;
  const download = new Download(url, options);
  for (let failures = 0; ; ) {
    const before = download.offset;
    try {
      yield* download.attempt();
      return;
    } catch (cause) {
      if (!(cause instanceof PassingFailure)) throw cause;
      failures = download.offset - before >= download.portion ? 1 : failures + 1;
      if (failures > maxFailures) {
        const reason = `${cause.message}, ${failures} times in a row`;
        throw downloadError("download/failed", { url, reason }, { cause });
      }
      const waitMs = backoffMs(failures, { firstMs: firstWaitMs, maxMs: LONGEST_WAIT_MS });
      options.onRetry?.(cause.message, waitMs);
      await wait(waitMs, undefined, { signal: options.signal }).catch(() => options.signal?.throwIfAborted());
    }
  }
}

/** Another attempt may succeed. */
class PassingFailure extends Error {}

class Download {
  readonly #url: string;
  readonly #options: DownloadOptions;
  /** of the next byte */
  offset: number;
  #total: number | undefined;
  /** the server's identifier of this version of the file */
  #version: string | undefined;

  constructor(url: string, options: DownloadOptions) {
    this.#url = url;
    this.#options = options;
    this.offset = options.from ?? 0;
  }

  get #idleMs(): number {
    return this.#options.idleMs ?? IDLE_MS;
  }

  /** bytes that must arrive within `idleMs` */
  get portion(): number {
    return Math.ceil((MIN_BYTES_PER_SEC * this.#idleMs) / 1000);
  }

  #failed(reason: string, code: DownloadError["code"] = "download/failed"): DownloadError {
    return downloadError(code, { url: this.#url, reason });
  }

  async *attempt(): AsyncGenerator<Uint8Array> {
    this.#options.signal?.throwIfAborted();
    const patience = new Patience(this.#idleMs, this.portion);
    const giveUp = (): void => patience.end();
    this.#options.signal?.addEventListener("abort", giveUp);
    try {
      const response = await this.#request(patience.signal);
      const start = this.#startOf(response);
      if (start === undefined) return;
      yield* this.#read(response, start, patience);
    } catch (cause) {
      this.#options.signal?.throwIfAborted();
      if (patience.isOver) throw new PassingFailure(`${patience.complaint} for ${this.#idleMs} ms`, { cause });
      throw cause;
    } finally {
      this.#options.signal?.removeEventListener("abort", giveUp);
      patience.end();
    }
  }

  async #request(signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { "accept-encoding": "identity" };
    if (this.offset > 0) headers.range = `bytes=${this.offset}-`;
    const dispatcher = this.#agent();
    try {
      return await fetch(this.#url, { signal, headers, ...(dispatcher === undefined ? {} : { dispatcher }) });
    } catch (cause) {
      if (cause instanceof TypeError && /invalid url|unknown scheme/i.test(errorCauses(cause)))
        throw this.#failed(errorCauses(cause));
      throw new PassingFailure(errorCauses(cause), { cause });
    }
  }

  #agent(): ReturnType<typeof proxyAgent> {
    try {
      return proxyAgent();
    } catch (cause) {
      throw this.#failed((cause as Error).message);
    }
  }

  /** @returns the position of the body's first byte in the file; `undefined`: there are no more bytes */
  #startOf({ status, headers }: Response): number | undefined {
    const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers.get("content-range") ?? "");
    if (status === 416 && range?.[2] === String(this.offset)) return undefined;
    if (status === 416) throw this.#failed(`the file has no byte ${this.offset}`, "download/replaced");
    if (status >= 500 || PASSING_STATUSES.has(status)) throw new PassingFailure(`HTTP status ${status}`);
    if (status !== 200 && status !== 206) throw this.#failed(`HTTP status ${status}`, this.#codeOf(status));
    const version = headers.get("etag") ?? headers.get("last-modified") ?? undefined;
    if (this.#version !== undefined && version !== this.#version)
      throw this.#failed("the file was replaced during the download", "download/replaced");
    this.#version = version;
    if (status === 206 && range?.[1] !== String(this.offset))
      throw this.#failed("the server sends another range than was asked for", "download/replaced");
    const length = status === 206 ? range![2] : headers.get("content-length");
    if (typeof length === "string" && /^\d+$/.test(length) && !headers.has("content-encoding")) this.#setTotal(Number(length));
    return status === 206 ? this.offset : 0;
  }

  #codeOf(status: number): DownloadError["code"] {
    if (NOT_FOUND.has(status)) return "download/not-found";
    // Some servers refuse a range that the file does not have in this way.
    return this.offset > 0 ? "download/replaced" : "download/failed";
  }

  #setTotal(total: number): void {
    if (this.#total !== undefined && this.#total !== total)
      throw this.#failed("the file was replaced during the download", "download/replaced");
    this.#assertSize(total, "");
    if (this.#total === undefined) this.#options.onTotal?.(total);
    this.#total = total;
  }

  #assertSize(bytes: number, atLeast = "at least "): void {
    const { maxBytes } = this.#options;
    if (bytes > maxBytes) throw this.#failed(`it has ${atLeast}${bytes} bytes, allowed are ${maxBytes}`, "download/too-large");
  }

  async *#read(response: Response, start: number, patience: Patience): AsyncGenerator<Uint8Array> {
    let position = start;
    try {
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        patience.received(chunk.length);
        position += chunk.length;
        if (position <= this.offset) continue;
        this.#assertSize(position);
        const bytes = chunk.subarray(Math.max(0, chunk.length - (position - this.offset)));
        this.offset = position;
        patience.pause(); // the one who takes the bytes may take its time
        yield bytes;
        patience.resume();
      }
    } catch (cause) {
      if (isCodedError(cause, "download/")) throw cause;
      throw new PassingFailure(errorCauses(cause), { cause });
    }
    if (this.#total !== undefined && position < this.#total) throw new PassingFailure("the connection ended early");
  }
}

/** Aborts a request in which too little happens. */
class Patience {
  readonly #abort = new AbortController();
  readonly #idleMs: number;
  readonly #portion: number;
  #timer: NodeJS.Timeout | undefined;
  #startedMs = 0;
  /** the rest of `idleMs` for the current chunk */
  #leftMs: number;
  #missing: number;
  #hasBytes = false;
  isOver = false;

  constructor(idleMs: number, portion: number) {
    this.#idleMs = idleMs;
    this.#portion = portion;
    this.#leftMs = idleMs;
    this.#missing = portion;
    this.resume();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get complaint(): string {
    return this.#hasBytes ? `less than ${this.#portion} bytes came` : "nothing came";
  }

  /** A whole portion has come, or more: the next one may take as long. */
  received(bytes: number): void {
    this.#hasBytes = true;
    this.#missing -= bytes;
    if (this.#missing > 0) return;
    this.#missing = this.#portion;
    this.#hasBytes = false;
    this.pause();
    this.#leftMs = this.#idleMs;
    this.resume();
  }

  pause(): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedMs;
  }

  resume(): void {
    this.#startedMs = performance.now();
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#abort.abort();
    }, this.#leftMs);
  }

  /** Gives the connection up, if it is still open. */
  end(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }
}
