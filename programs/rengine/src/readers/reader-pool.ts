import { type HeadNotice, type PendingBlock, pendingUpdateOf } from "@rnode/chain";
import type { SyncState } from "@rnode/eth-api";
import type { CollectedMetrics, Logger, MetricFactory } from "@rnode/observe";
import { Backoff } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import type { ReaderStart } from "./messages.ts";
import { ReaderMetrics } from "./reader-metrics.ts";
import { type ReaderMessage, ReaderProcess, type ReaderProcessOptions } from "./reader-process.ts";
import { ReaderRelay, type RelayDependencies } from "./reader-relay.ts";

/** For readers that run only while they are needed. */
export interface OnDemand {
  /** an unused reader ends after this time */
  readonly idleMs: number;
  /**
   * Waits for a connection that no process has accepted. @param onPending called once @returns a function that ends the wait;
   * undefined: this platform does not support it, so a reader must always run
   */
  readonly watch: (onPending: () => void) => (() => void) | undefined;
}

export interface ReaderPoolOptions extends ReaderProcessOptions {
  /** on demand: at most */
  readonly count: number;
  /** undefined: all readers always run */
  readonly onDemand?: OnDemand | undefined;
  /** a reader that does not respond for this long is killed; 0: never */
  readonly hardLimitMs: number;
  /** the start message of every reader, without its number and its sockets */
  readonly start: Omit<ReaderStart, "reader" | "count" | "httpFd" | "wsFd" | "pid" | "version" | "syncing" | "pendingBlock">;
}

export interface ReaderPoolDependencies extends RelayDependencies {
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** A reader has ended, so whatever it held in the database can be reused. */
  readonly onEnd: () => void;
  /** A reader cannot be replaced by another process, so the client should end. */
  readonly onFatal: (reason: string) => void;
}

const PING_INTERVAL_MS = 1000;
const BACKOFF = { firstMs: 100, maxMs: 10_000 };
/** A reader that has run this long is considered healthy. */
const STABLE_MS = 30_000;
/** A reader that is not serving after this long is started again. */
const START_LIMIT_MS = 120_000;

/** When all readers are this busy for several pings, another one starts. */
const BUSY_LOAD = 0.6;
const BUSY_PINGS = 2;

/** The place of a reader in the pool. It remains when the process in it is replaced. */
interface Place {
  readonly number: number;
  process: ReaderProcess | undefined;
  /** whether a process should be here; without one it is about to be started again */
  isWanted: boolean;
  isReady: boolean;
  readonly backoff: Backoff;
  /** consecutive pings that were not answered */
  silentPings: number;
  /** consecutive pings at which the reader was busy, or unused */
  busyPings: number;
  idlePings: number;
  /** its process was started because the others were busy */
  isRelief: boolean;
  /** number of open connections, by listener */
  connections: readonly number[];
}

/**
 * Starts the reader processes and keeps them running. They share listening sockets that stay open in this process, so connections
 * wait while a reader is being replaced. On demand, one reader starts at first, as a test; it ends when it is unused, the next
 * connection starts one again, and further ones start under load.
 */
export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #dependencies: ReaderPoolDependencies;
  readonly #places: readonly Place[];
  readonly #relay: ReaderRelay;
  readonly #readerMetrics = new ReaderMetrics();
  readonly #restarts: ReturnType<typeof createPoolMetrics>["restarts"];
  readonly #timers = new Set<NodeJS.Timeout>();
  #pings: NodeJS.Timeout | undefined;
  #isClosing = false;
  #syncing: SyncState | undefined;
  #pendingBlock: PendingBlock | undefined;
  #stopWatch: (() => void) | undefined;
  #canWatch = true;
  #onFirstReady: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(options: ReaderPoolOptions, dependencies: ReaderPoolDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#relay = new ReaderRelay(dependencies);
    this.#places = Array.from({ length: options.count }, (_, number) => ({
      number,
      process: undefined,
      isWanted: options.onDemand === undefined || number === 0,
      isReady: false,
      backoff: new Backoff(BACKOFF),
      silentPings: 0,
      busyPings: 0,
      idlePings: 0,
      isRelief: false,
      connections: [],
    }));
    this.#restarts = createPoolMetrics(dependencies.metrics, () => this.#places.filter(({ isReady }) => isReady).length).restarts;
  }

  /** Resolves when all readers that are to run from the start are serving. @throws {UserError} a reader cannot start */
  start(): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      this.#onFirstReady = { resolve, reject };
    });
    for (const place of this.#places) if (place.isWanted) this.#spawn(place);
    this.#pings = setInterval(() => this.#ping(), PING_INTERVAL_MS);
    this.#pings.unref();
    return started;
  }

  announceHead(notice: HeadNotice): void {
    for (const { process } of this.#places) process?.outbox.push({ kind: "head", notice });
  }

  announceSync(state: SyncState | undefined): void {
    this.#syncing = state;
    for (const { process } of this.#places) process?.outbox.push({ kind: "syncing", state });
  }

  /** @param pending the block under construction, after its newest part; undefined: there is none any more */
  announcePart(pending: PendingBlock | undefined): void {
    const update = pending && pendingUpdateOf(pending, this.#pendingBlock);
    this.#pendingBlock = pending;
    for (const { process } of this.#places) process?.outbox.push({ kind: "part", update });
  }

  /** The metrics of the readers that answer in time. */
  async collectMetrics(): Promise<CollectedMetrics[]> {
    const collected = await Promise.all(
      this.#places.flatMap(({ number, process, isReady }) =>
        isReady && process !== undefined ? [this.#readerMetrics.ask(number, process.outbox)] : [],
      ),
    );
    return collected.filter((values) => values !== undefined);
  }

  /** Pids of the processes that are serving. */
  pids(): number[] {
    return this.#places.flatMap(({ process, isReady }) => (isReady && process?.pid !== undefined ? [process.pid] : []));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#stopWatch?.();
    clearInterval(this.#pings);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#relay.close();
    await Promise.all(this.#places.flatMap(({ process }) => process?.close() ?? []));
  }

  #spawn(place: Place): void {
    const { start, count } = this.#options;
    place.isWanted = true;
    place.silentPings = place.busyPings = place.idlePings = 0;
    const pendingBlock = this.#pendingBlock && pendingUpdateOf(this.#pendingBlock, undefined);
    const now = { syncing: this.#syncing, pendingBlock };
    place.process = new ReaderProcess({ ...start, ...now, reader: place.number, count }, this.#options, {
      onMessage: (message) => this.#receive(place, message),
      onEnd: (reason, isFatal) => this.#onEnd(place, reason, isFatal),
    });
    this.#relay.connect(place.number, place.process.outbox);
  }

  #onEnd(place: Place, reason: string, isFatal: boolean): void {
    const { process } = place;
    if (process === undefined) return;
    const { log, onEnd, onFatal } = this.#dependencies;
    place.process = undefined;
    place.isReady = false;
    place.connections = [];
    this.#readerMetrics.onAnswer(place.number, undefined);
    this.#relay.disconnect(place.number);
    onEnd();
    if (this.#isClosing) return;
    if (!place.isWanted) {
      this.#dependencies.log.debug("reader ended: nobody used it", { reader: place.number + 1, pid: process.pid });
      this.#awaitDemand();
      return;
    }
    if (this.#onFirstReady !== undefined) {
      this.#onFirstReady.reject(new UserError(`a reader process cannot start: ${reason}`));
      this.#onFirstReady = undefined;
      return;
    }
    if (isFatal) {
      onFatal(reason);
      return;
    }
    if (performance.now() - process.startedAtMs > STABLE_MS) place.backoff.reset();
    const inMs = place.backoff.nextMs();
    log.warn("reader ended, another takes its place", {
      reader: place.number + 1,
      pid: process.pid,
      reason,
      inMs,
    });
    this.#restarts.inc();
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#spawn(place);
    }, inMs);
    this.#timers.add(timer);
  }

  #receive(place: Place, message: ReaderMessage): void {
    switch (message.kind) {
      case "ready":
        place.isReady = true;
        this.#dependencies.log.debug("reader is ready", { reader: place.number + 1, pid: place.process?.pid });
        if (this.#places.every(({ isReady, isWanted }) => isReady || !isWanted)) {
          this.#onFirstReady?.resolve();
          this.#onFirstReady = undefined;
        }
        if (place.isRelief) this.#shareConnections(place);
        return;
      case "stays":
        place.isWanted = true;
        place.idlePings = 0;
        return;
      case "pong":
        place.silentPings = 0;
        place.connections = message.connections;
        place.busyPings = message.load >= BUSY_LOAD ? place.busyPings + 1 : 0;
        place.idlePings = message.isIdle ? place.idlePings + 1 : 0;
        return;
      case "metrics":
        this.#readerMetrics.onAnswer(place.number, message.values);
        return;
      default:
        this.#relay.receive(place.number, message);
    }
  }

  /** Counts pings instead of measuring time: while this process was busy, the answers were waiting to be read. */
  #ping(): void {
    const { hardLimitMs } = this.#options;
    for (const place of this.#places) {
      const { process } = place;
      if (process === undefined) continue;
      if (!place.isReady) {
        if (performance.now() - process.startedAtMs > START_LIMIT_MS) process.kill();
        continue;
      }
      if (hardLimitMs > 0 && place.silentPings * PING_INTERVAL_MS >= hardLimitMs) {
        this.#dependencies.log.error("reader does not react: killed", { reader: place.number + 1, pid: process.pid, hardLimitMs });
        process.kill();
        continue;
      }
      place.silentPings++;
      process.outbox.push({ kind: "ping", elsewhere: this.#connectionsBeside(place) });
    }
    if (this.#options.onDemand !== undefined) this.#followDemand(this.#options.onDemand);
  }

  #followDemand({ idleMs }: OnDemand): void {
    const running = this.#places.filter(({ isWanted }) => isWanted);
    for (const place of running) {
      const isLast = this.#places.every((other) => other === place || other.process === undefined);
      if (!place.isReady || place.idlePings * PING_INTERVAL_MS < idleMs || (isLast && !this.#canWatch)) continue;
      place.isWanted = false;
      place.process?.outbox.push({ kind: "retire" });
    }
    // A reader that does not answer works on one request.
    const isBusy = ({ isReady, busyPings, silentPings }: Place): boolean =>
      isReady && (busyPings >= BUSY_PINGS || silentPings > BUSY_PINGS);
    if (running.length > 0 && running.every(isBusy)) this.#startAnother(true);
  }

  /** When no reader runs, the next connection starts one. */
  #awaitDemand(): void {
    if (this.#places.some(({ isWanted }) => isWanted)) return;
    this.#stopWatch = this.#options.onDemand?.watch(() => {
      this.#stopWatch = undefined;
      this.#startAnother(false);
    });
    if (this.#stopWatch !== undefined) return;
    this.#canWatch = false;
    this.#startAnother(false);
  }

  /** @param isRelief takes over connections of the others */
  #startAnother(isRelief: boolean): void {
    const place = this.#places.find(({ isWanted, process }) => !isWanted && process === undefined);
    if (place === undefined || this.#isClosing) return;
    place.isRelief = isRelief;
    this.#spawn(place);
  }

  #shareConnections(relief: Place): void {
    relief.isRelief = false;
    const others = this.#places.filter((place) => place !== relief && place.isReady);
    for (const { process } of others) process?.outbox.push({ kind: "shed", share: 1 / (others.length + 1) });
  }

  /** Number of connections of the other readers, by listener. */
  #connectionsBeside(place: Place): readonly number[] {
    const others = this.#places.filter((other) => other !== place);
    return place.connections.map((_, listener) => sum(others.map(({ connections }) => connections[listener] ?? 0)));
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const createPoolMetrics = (m: MetricFactory, readers: () => number) => {
  m.gaugeOf("readers", "Reader processes that serve requests.", readers);
  return { restarts: m.counter("reader_restarts_total", "Reader processes that ended and were replaced.") };
};
