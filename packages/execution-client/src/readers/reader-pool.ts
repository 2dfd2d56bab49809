import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { HeadNotice } from "@rnode/chain";
import type { RpcErrorBody } from "@rnode/jsonrpc";
import { type CollectedMetrics, errorText, type Logger, type MetricFactory } from "@rnode/observe";
import { UserError } from "@rnode/program";
import type { PooledTransaction } from "@rnode/txpool";
import { VERSION } from "../version.ts";
import { encodeFrames, FrameReader } from "./frames.ts";
import { type MessageToReader, type MessageToWriter, Outbox, type ReaderStart, type Submit, WRITER_FD } from "./messages.ts";
import { errorAnswer } from "./routing.ts";

export interface ReaderPoolOptions {
  readonly count: number;
  /** a reader that does not react for so long is killed; 0: never */
  readonly hardLimitMs: number;
  readonly maxHeapMib: number;
  /** what every reader is told, apart from its number */
  readonly start: Omit<ReaderStart, "reader" | "count" | "httpFd" | "wsFd" | "pid" | "version">;
  /** listening sockets */
  readonly httpFd: number | undefined;
  readonly wsFd: number | undefined;
}

export interface ReaderPoolDependencies {
  /** A JSON-RPC request of a reader that belongs to the writer. Never fails. */
  readonly answer: (text: string) => Promise<string>;
  /** A transaction whose signature a reader has checked. Never fails. @returns its hash, or an error as `answer` gives it */
  readonly submit: (transaction: Submit) => Promise<Uint8Array | string>;
  readonly pending: { onPending(listener: (transactions: readonly PooledTransaction[]) => void): () => void };
  /** a filter was in a reader that is gone */
  readonly filterNotFound: RpcErrorBody;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** A reader has ended: what it held of the database may be used again. */
  readonly onEnd: () => void;
  /** No process can take the place of a reader: the client should end. */
  readonly onFatal: (reason: string) => void;
}

/** stdio of a reader: nothing, output, errors, messages, then its listening sockets */
const FIRST_SOCKET_FD = WRITER_FD + 1;
const PING_INTERVAL_MS = 1000;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 10_000;
/** A reader that lived so long was well. */
const STABLE_MS = 30_000;
/** A reader that does not serve after so long is tried again. */
const START_LIMIT_MS = 120_000;
const CLOSE_LIMIT_MS = 3000;
const METRICS_LIMIT_MS = 500;

interface Relay {
  readonly from: number;
  readonly id: number;
}

/** A reader's place: it stays when the process in it is replaced. */
interface Place {
  readonly number: number;
  child: ChildProcess | undefined;
  outbox: Outbox<MessageToReader> | undefined;
  isReady: boolean;
  isWatching: boolean;
  startedAtMs: number;
  backoffMs: number;
  /** pings without an answer */
  silentPings: number;
  /** open connections, by listener */
  connections: readonly number[];
  /** requests of other readers that its process works on */
  readonly relays: Map<number, Relay>;
  onMetrics: ((values: CollectedMetrics) => void) | undefined;
}

/**
 * Starts the reader processes, keeps them running, and is their way to the chain and to each other. They share listening sockets that stay
 * open here, so that connections wait while a reader is replaced.
 */
export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #dependencies: ReaderPoolDependencies;
  readonly #places: Place[];
  readonly #restarts: ReturnType<typeof createReaderMetrics>["restarts"];
  readonly #timers = new Set<NodeJS.Timeout>();
  #pings: NodeJS.Timeout | undefined;
  #stopPending: (() => void) | undefined;
  #nextRelay = 0;
  #isClosing = false;
  #onFirstReady: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(options: ReaderPoolOptions, dependencies: ReaderPoolDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#places = Array.from({ length: options.count }, (_, number) => ({
      number,
      child: undefined,
      outbox: undefined,
      isReady: false,
      isWatching: false,
      startedAtMs: 0,
      backoffMs: FIRST_BACKOFF_MS,
      silentPings: 0,
      connections: [],
      relays: new Map(),
      onMetrics: undefined,
    }));
    this.#restarts = createReaderMetrics(dependencies.metrics, () => this.#places.filter(({ isReady }) => isReady).length).restarts;
  }

  /** Resolves when all readers serve. @throws {UserError} one cannot start */
  start(): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      this.#onFirstReady = { resolve, reject };
    });
    for (const place of this.#places) this.#spawn(place);
    this.#pings = setInterval(() => this.#ping(), PING_INTERVAL_MS);
    this.#pings.unref();
    return started;
  }

  announceHead(notice: HeadNotice): void {
    for (const { outbox } of this.#places) outbox?.push({ kind: "head", notice });
  }

  /** Of the readers that answer in time. */
  async collectMetrics(): Promise<CollectedMetrics[]> {
    const collected = await Promise.all(this.#places.map((place) => this.#metricsOf(place)));
    return collected.filter((values) => values !== undefined);
  }

  /** Pids of the processes that serve. */
  pids(): number[] {
    return this.#places.flatMap(({ child, isReady }) => (isReady && child?.pid !== undefined ? [child.pid] : []));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#pings);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#stopPending?.();
    await Promise.all(this.#places.map((place) => this.#end(place)));
  }

  #spawn(place: Place): void {
    const { start, count, httpFd, wsFd, maxHeapMib } = this.#options;
    const fds = [...new Set([httpFd, wsFd].filter((fd) => fd !== undefined))];
    const child = spawn(process.execPath, [`--max-old-space-size=${maxHeapMib}`, readerProgram()], {
      stdio: ["ignore", "inherit", "inherit", "pipe", ...fds],
      env: process.env,
    });
    place.child = child;
    place.startedAtMs = performance.now();
    place.silentPings = 0;
    // undefined: it could not be started
    const socket = (child.stdio as ChildProcess["stdio"] | undefined)?.[WRITER_FD] as Socket | null | undefined;
    socket?.on("error", () => {}); // its end follows
    const outbox = new Outbox<MessageToReader>((batch) => {
      if (socket?.writable === true) socket.write(encodeFrames(batch));
    });
    place.outbox = outbox;
    const inChild = (fd: number | undefined): number | undefined =>
      fd === undefined ? undefined : FIRST_SOCKET_FD + fds.indexOf(fd);
    outbox.push({
      kind: "start",
      start: {
        ...start,
        reader: place.number,
        count,
        httpFd: inChild(httpFd),
        wsFd: inChild(wsFd),
        pid: process.pid,
        version: VERSION,
      },
    });
    let failure: string | undefined;
    let isFatal = false;
    const frames = new FrameReader<MessageToWriter>((message) => {
      if (message.kind === "failed") ({ reason: failure, isFatal } = message);
      else if (place.child === child) this.#receive(place, message);
    });
    socket?.on("data", (bytes: Buffer) => {
      try {
        frames.read(bytes);
      } catch (error) {
        failure = errorText(error); // of another version, or of nobody knows what: not a reason to end here
        child.kill("SIGKILL");
      }
    });
    child.once("error", (error) => {
      failure = error.message;
      if (child.pid === undefined) this.#onEnd(place, child, failure, isFatal);
    });
    child.once("exit", (code, signal) => this.#onEnd(place, child, failure ?? `ended with ${signal ?? code}`, isFatal));
  }

  #onEnd(place: Place, child: ChildProcess, reason: string, isFatal: boolean): void {
    if (place.child !== child) return;
    const { log, onEnd, filterNotFound } = this.#dependencies;
    place.child = undefined;
    place.outbox = undefined;
    place.isReady = false;
    place.isWatching = false;
    place.connections = [];
    place.onMetrics?.([]);
    for (const { from, id } of place.relays.values()) {
      this.#places[from]?.outbox?.push({ kind: "answer", id, text: errorAnswer(filterNotFound) });
    }
    place.relays.clear();
    this.#followPending();
    onEnd();
    if (this.#isClosing) return;
    if (this.#onFirstReady !== undefined) {
      this.#onFirstReady.reject(new UserError(`a reader process cannot start: ${reason}`));
      this.#onFirstReady = undefined;
      return;
    }
    if (isFatal) {
      this.#dependencies.onFatal(reason);
      return;
    }
    const lived = performance.now() - place.startedAtMs;
    if (lived > STABLE_MS) place.backoffMs = FIRST_BACKOFF_MS;
    log.warn("reader ended, another takes its place", { reader: place.number + 1, pid: child.pid, reason, inMs: place.backoffMs });
    this.#restarts.inc();
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#spawn(place);
    }, place.backoffMs);
    this.#timers.add(timer);
    place.backoffMs = Math.min(MAX_BACKOFF_MS, place.backoffMs * 2);
  }

  #receive(place: Place, message: Exclude<MessageToWriter, { kind: "failed" }>): void {
    switch (message.kind) {
      case "ready":
        place.isReady = true;
        this.#dependencies.log.debug("reader is ready", { reader: place.number + 1, pid: place.child?.pid });
        if (this.#places.every(({ isReady }) => isReady)) {
          this.#onFirstReady?.resolve();
          this.#onFirstReady = undefined;
        }
        return;
      case "pong":
        place.silentPings = 0;
        place.connections = message.connections;
        return;
      case "metrics":
        place.onMetrics?.(message.values);
        return;
      case "watch":
        place.isWatching = message.isOn;
        this.#followPending();
        place.outbox?.push({ kind: "answer", id: message.id, text: "" });
        return;
      case "answer": {
        const relay = place.relays.get(message.id);
        place.relays.delete(message.id);
        if (relay !== undefined) this.#places[relay.from]?.outbox?.push({ kind: "answer", id: relay.id, text: message.text });
        return;
      }
      case "submit": {
        const { outbox } = place;
        const { id } = message;
        void this.#dependencies.submit(message).then((given) => {
          outbox?.push(typeof given === "string" ? { kind: "answer", id, text: given } : { kind: "accepted", id, hash: given });
        });
        return;
      }
      case "call":
        this.#onCall(place, message);
        return;
    }
  }

  #onCall(place: Place, { id, text, reader }: Extract<MessageToWriter, { kind: "call" }>): void {
    const { outbox } = place; // an answer to a process that is gone is lost with it
    if (reader === undefined) {
      void this.#dependencies.answer(text).then((answer) => outbox?.push({ kind: "answer", id, text: answer }));
      return;
    }
    const owner = this.#places[reader];
    if (owner?.outbox === undefined) {
      outbox?.push({ kind: "answer", id, text: errorAnswer(this.#dependencies.filterNotFound) });
      return;
    }
    const relay = this.#nextRelay++ >>> 0;
    owner.relays.set(relay, { from: place.number, id });
    owner.outbox.push({ kind: "call", id: relay, text });
  }

  /** Listens to the pool while a reader wants it. */
  #followPending(): void {
    const isWanted = !this.#isClosing && this.#places.some(({ isWatching }) => isWatching);
    if (isWanted) {
      this.#stopPending ??= this.#dependencies.pending.onPending((transactions) => {
        for (const { isWatching, outbox } of this.#places) if (isWatching) outbox?.push({ kind: "pending", transactions });
      });
    } else {
      this.#stopPending?.();
      this.#stopPending = undefined;
    }
  }

  /** Counts pings, not time: when this process was busy, the answers were waiting. */
  #ping(): void {
    const { hardLimitMs } = this.#options;
    for (const place of this.#places) {
      if (!place.isReady) {
        if (performance.now() - place.startedAtMs > START_LIMIT_MS) place.child?.kill("SIGKILL");
        continue;
      }
      if (hardLimitMs > 0 && place.silentPings * PING_INTERVAL_MS >= hardLimitMs) {
        this.#dependencies.log.error("reader does not react: killed", {
          reader: place.number + 1,
          pid: place.child?.pid,
          hardLimitMs,
        });
        place.child?.kill("SIGKILL");
        continue;
      }
      place.silentPings++;
      const others = this.#places.filter((other) => other !== place);
      const elsewhere = place.connections.map((_, listener) => sum(others.map(({ connections }) => connections[listener] ?? 0)));
      place.outbox?.push({ kind: "ping", elsewhere });
    }
  }

  #metricsOf(place: Place): Promise<CollectedMetrics | undefined> {
    const { outbox } = place;
    if (outbox === undefined || !place.isReady) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), METRICS_LIMIT_MS);
      place.onMetrics = (values) => {
        clearTimeout(timer);
        resolve(values);
      };
      outbox.push({ kind: "metrics" });
    });
  }

  async #end({ child, outbox }: Place): Promise<void> {
    if (child === undefined || outbox === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
    });
    const cutOff = setTimeout(() => child.kill("SIGKILL"), CLOSE_LIMIT_MS);
    outbox.push({ kind: "close" });
    await ended;
    clearTimeout(cutOff);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const createReaderMetrics = (m: MetricFactory, readers: () => number) => {
  m.gaugeOf("readers", "Reader processes that serve.", readers);
  return { restarts: m.counter("reader_restarts_total", "Reader processes that ended and were replaced.") };
};

/** Compiled; run from sources (tests), the client still needs it built. @throws {UserError} */
function readerProgram(): string {
  for (const place of ["./reader-main.js", "../../dist/readers/reader-main.js"]) {
    const path = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(path)) return path;
  }
  throw new UserError("the reader program is missing: build the package (npm run build)");
}
