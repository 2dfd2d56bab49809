import { connect, type Socket } from "node:net";
import { AnswerBody } from "./answer-body.ts";

export interface LoadResult {
  /** HTTP requests answered */
  readonly requests: number;
  readonly seconds: number;
  /** of each HTTP request, milliseconds */
  readonly latenciesMs: readonly number[];
  readonly bodyBytes: number;
  readonly errors: number;
}

/** HTTP requests prepared for sending, so each costs only the copy into the socket. */
export function httpRequest(body: string): Buffer {
  const head = `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.from(head + body);
}

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** `undefined`: there are no more */
  readonly next: () => Buffer | undefined;
  readonly durationMs: number;
}

/** The heads of answers are shorter than this. */
const MAX_HEAD_BYTES = 1024;
/** An error appears at the start of an answer. */
const ERROR_WITHIN_BYTES = 128;

/**
 * Sends one request after the other on each of several connections, for some time or while there are requests.
 *
 * PERF: the generator shares the machine with the server, so it must be cheap: all sockets read into one buffer (no streams), and
 * only the status, the length and an error at the start of an answer are parsed.
 */
export async function runLoad({ port, connections, next, durationMs }: LoadOptions): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  let bodyBytes = 0;
  let errors = 0;
  let endMs = 0;
  const buffer = Buffer.allocUnsafe(256 * 1024);

  class Connection {
    readonly socket: Socket;
    readonly opened: Promise<void>;
    readonly done: Promise<void>;
    #finish: () => void = () => {};
    #fail: (error: Error) => void = () => {};
    #sentMs = 0;
    #head = "";
    /** `undefined`: still in the head */
    #body: AnswerBody | undefined;

    constructor() {
      this.done = new Promise((resolve, reject) => {
        this.#finish = resolve;
        this.#fail = reject;
      });
      this.socket = connect({
        port,
        host: "127.0.0.1",
        noDelay: true,
        onread: { buffer, callback: (size) => this.#read(size) },
      });
      this.opened = new Promise((resolve) => this.socket.once("connect", resolve));
      this.socket.on("error", this.#fail);
      this.socket.on("close", () => this.#finish());
    }

    send(): void {
      const nowMs = performance.now();
      const request = nowMs < endMs ? next() : undefined;
      if (request === undefined) {
        this.socket.destroy();
        return;
      }
      this.#sentMs = nowMs;
      this.socket.write(request);
    }

    #read(size: number): boolean {
      let from = 0;
      if (this.#body === undefined) {
        const before = this.#head.length;
        const text = this.#head + buffer.toString("latin1", 0, Math.min(size, MAX_HEAD_BYTES));
        const end = text.indexOf("\r\n\r\n");
        if (end === -1) {
          this.#head = text;
          return true;
        }
        this.#head = "";
        const length = /content-length: *(\d+)/i.exec(text)?.[1];
        if (length === undefined && !/transfer-encoding: *chunked/i.test(text.slice(0, end))) {
          this.#fail(new Error(`answer without a length: ${text.slice(0, end)}`));
          return false;
        }
        const isOk = text.startsWith("HTTP/1.1 200 ");
        const errorAt = isOk ? text.indexOf('"error":', end) : end;
        if (errorAt !== -1 && errorAt < end + ERROR_WITHIN_BYTES) errors++;
        this.#body = new AnswerBody(length === undefined ? undefined : Number(length));
        from = end + 4 - before;
      }
      bodyBytes += size - from;
      if (!this.#body.take(buffer, from, size)) return true;
      this.#body = undefined;
      latenciesMs.push(performance.now() - this.#sentMs);
      this.send();
      return true;
    }
  }

  const all = Array.from({ length: connections }, () => new Connection());
  await Promise.race([Promise.all(all.map(({ opened }) => opened)), Promise.all(all.map(({ done }) => done))]);
  const startMs = performance.now();
  endMs = startMs + durationMs;
  for (const connection of all) connection.send();
  await Promise.all(all.map(({ done }) => done));
  return { requests: latenciesMs.length, seconds: (performance.now() - startMs) / 1000, latenciesMs, bodyBytes, errors };
}

/** @param sorted ascending */
export const percentile = (sorted: Float64Array, share: number): number =>
  sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
