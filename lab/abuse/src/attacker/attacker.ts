import { connect, type Socket } from "node:net";
import type { Target } from "./target.ts";

export interface AttackerOptions {
  readonly signal: AbortSignal;
  readonly target: Target;
  /** the loopback address that it connects from */
  readonly from: string;
  /** open at once */
  readonly maxConnections: number;
  /** integers from 0 to below `limit` */
  readonly random: (limit: number) => number;
  /** The system accepted a request that it must refuse. */
  readonly onBreach: (what: string) => void;
}

/** An HTTP answer. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Answers are read up to this size. */
const MAX_ANSWER_BYTES = 64 << 20;

/** The tools of an attack: plain sockets from its own address, never more than its bounds allow. */
export class Attacker {
  readonly target: Target;
  readonly random: (limit: number) => number;
  readonly signal: AbortSignal;
  /** performed actions, for the report */
  readonly counts = new Map<string, number>();
  readonly #options: AttackerOptions;
  readonly #open = new Set<Socket>();
  /** each ends a pause */
  readonly #pauses = new Set<() => void>();

  constructor(options: AttackerOptions) {
    this.#options = options;
    this.target = options.target;
    this.random = options.random;
    this.signal = options.signal;
    // One listener for all: an attack can have hundreds of pauses at once.
    options.signal.addEventListener("abort", () => {
      for (const socket of this.#open) socket.destroy();
      for (const end of this.#pauses) end();
    });
  }

  get openConnections(): number {
    return this.#open.size;
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  breach(what: string): void {
    this.#options.onBreach(what);
  }

  /** A connection, or undefined if it was refused. Errors of the socket are swallowed. */
  connect(port: number, from = this.#options.from): Promise<Socket | undefined> {
    if (this.signal.aborted || this.#open.size >= this.#options.maxConnections) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const socket = connect({ host: this.target.host, port, localAddress: from, noDelay: true });
      this.#open.add(socket);
      const limit = setTimeout(() => socket.destroy(), CONNECT_TIMEOUT_MS);
      socket.on("error", () => this.count("connections lost"));
      socket.on("close", () => {
        clearTimeout(limit);
        this.#open.delete(socket);
        resolve(undefined);
      });
      socket.on("connect", () => {
        clearTimeout(limit);
        this.count("connections");
        resolve(socket);
      });
    });
  }

  /** Sends and does not wait. @returns whether the socket took it without piling it up here */
  send(socket: Socket, data: string | Uint8Array): boolean {
    return !socket.destroyed && socket.write(data);
  }

  /** Sends a request over the connection and reads its answer; undefined if the connection ends first. */
  exchange(socket: Socket, request: string | Uint8Array): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const reader = new AnswerReader();
      const finish = (answer: Answer | undefined): void => {
        socket.off("data", onData);
        socket.off("close", onClose);
        resolve(answer);
      };
      const onClose = (): void => finish(undefined);
      const onData = (chunk: Buffer): void => {
        const answer = reader.read(chunk);
        if (answer === "too large") socket.destroy();
        else if (answer) finish(answer);
      };
      socket.on("data", onData);
      socket.on("close", onClose);
      if (socket.destroyed) finish(undefined);
      else socket.write(request);
      this.count("requests");
    });
  }

  /** Runs `work` repeatedly on this number of connections at once, each time with an open connection, until the time is over. */
  async onConnections(port: number, connections: number, work: (socket: Socket, lane: number) => Promise<unknown>): Promise<void> {
    const lane = async (number: number): Promise<void> => {
      let socket: Socket | undefined;
      while (!this.signal.aborted) {
        if (!socket || socket.destroyed) socket = await this.connect(port);
        if (!socket) {
          await this.pause(50);
          continue;
        }
        await work(socket, number);
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, number) => lane(number)));
  }

  /** Resolves after the time, or when the attack is over. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.signal.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        this.#pauses.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#pauses.add(end);
    });
  }

  /** Until the attack is over. */
  untilOver(): Promise<void> {
    return this.pause(2 ** 31 - 1);
  }
}

/** Finds the end of an HTTP answer. */
class AnswerReader {
  #bytes: Buffer[] = [];
  #size = 0;
  #head: { readonly status: number; readonly bodyAt: number; readonly length: number | "chunked" } | undefined;

  read(chunk: Buffer): Answer | "too large" | undefined {
    this.#bytes.push(chunk);
    this.#size += chunk.length;
    if (this.#size > MAX_ANSWER_BYTES) return "too large";
    if (!this.#head) {
      this.#bytes = [Buffer.concat(this.#bytes)];
      const [all] = this.#bytes;
      const end = all!.indexOf("\r\n\r\n");
      if (end < 0) return undefined;
      const head = all!.toString("latin1", 0, end);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
      this.#head = { status, bodyAt: end + 4, length: length === undefined ? "chunked" : Number(length) };
    }
    const { status, bodyAt, length } = this.#head;
    if (length === "chunked" ? !this.#endsChunked(chunk) : this.#size < bodyAt + length) return undefined;
    return { status, text: Buffer.concat(this.#bytes).toString("utf8", bodyAt) };
  }

  #endsChunked(last: Buffer): boolean {
    const tail = last.length >= 5 ? last : Buffer.concat(this.#bytes);
    return tail.subarray(-5).toString("latin1") === "0\r\n\r\n";
  }
}
