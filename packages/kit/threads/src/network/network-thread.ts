import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { CollectedMetrics, Counter, LogFields, Logger, LogLevel } from "@rnode/observe";
import { backoffMs, type Clock } from "@rnode/primitives";
import {
  FIRST_COUNTER,
  type FromThread,
  HEARTBEAT,
  LOG_LINES,
  type NetworkStart,
  type NetworkTypes,
  type ToThread,
} from "./network-messages.ts";
import { receiveError } from "./sent-error.ts";
import type { ThreadHost } from "./thread-host.ts";

/** Why there is no answer. `lost`: the thread crashed, and is being restarted; `busy`: too many calls are pending. */
type NoAnswer = "lost" | "busy" | "closed";

export interface NetworkThreadOptions<N extends NetworkTypes> {
  readonly config: N["config"];
  /** has the thread, which other networks can share */
  readonly host: ThreadHost;
  /** number of the network's own shared counters */
  readonly counters: number;
  /** how many calls may wait for answers */
  readonly maxCalls: number;
  /** `undefined`: no metrics in the thread */
  readonly metricsPrefix: string | undefined;
  readonly texts: { readonly lost: string; readonly again: string };
}

export interface NetworkThreadDeps<N extends NetworkTypes> {
  readonly clock: Clock;
  readonly log: Logger;
  readonly losses: Counter;
  /** A message of the network's own. */
  readonly onMessage: (run: NetworkRun<N>, message: N["from"]) => void;
  /** The thread serves, for the first time or again. @returns the configuration of later starts: with the ports that it has now */
  readonly onServing: (run: NetworkRun<N>, identity: N["identity"], config: N["config"]) => N["config"];
  /** The thread is gone, for good or until its next start. */
  readonly onLost?: () => void;
  readonly noAnswer: (why: NoAnswer, options?: ErrorOptions) => Error;
  /** an error that kept the network from starting, as its callers know it */
  readonly startError?: (error: Error) => Error;
  /** what tells operators this node from others */
  readonly describe: (identity: N["identity"]) => LogFields;
}

/** A thread without messages for this time counts as dead: a busy one can block its event loop for a shorter time. */
const MAX_SILENCE_MS = 60_000;
const CHECK_INTERVAL_MS = 10_000;
const LEVEL_INTERVAL_MS = 1_000;
const COLLECT_LIMIT_MS = 2_000;
const CLOSE_LIMIT_MS = 4_000;
const RESTART_DELAYS = { firstMs: 1_000, maxMs: 60_000 };
/** A thread that ran for so long is started again without delay. */
const SOUND_AFTER_MS = 5 * 60_000;

/** Backoff before a restart, after this number of failed starts. */
export const restartDelayMs = (vainStarts: number): number => backoffMs(vainStarts, RESTART_DELAYS);

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One run of the network in a thread. */
export class NetworkRun<N extends NetworkTypes> {
  readonly port: MessagePort;
  readonly urgent: MessagePort;
  readonly shared: Int32Array<SharedArrayBuffer>;
  /** the network's own: data in flight to the process, which subtracts the processed part */
  readonly counters: Int32Array<SharedArrayBuffer>;
  readonly waiting = new Map<number, Waiting>();
  readonly startedMs: number;
  heartbeat = 0;
  heardAtMs: number;
  level: LogLevel;
  isServing = false;
  /** settles once the network is closed, or lost */
  readonly closed: Promise<void>;
  onClosed!: () => void;
  readonly #leave: () => Promise<void>;

  constructor(
    { host, counters, metricsPrefix }: NetworkThreadOptions<N>,
    config: N["config"],
    { level, nowMs, onLost }: { level: LogLevel; nowMs: number; onLost: (run: NetworkRun<N>, error: Error) => void },
  ) {
    const main = new MessageChannel();
    const urgent = new MessageChannel();
    this.port = main.port1;
    this.urgent = urgent.port1;
    this.urgent.unref();
    this.shared = new Int32Array(new SharedArrayBuffer(4 * (FIRST_COUNTER + counters)));
    this.counters = this.shared.subarray(FIRST_COUNTER);
    this.startedMs = nowMs;
    this.heardAtMs = nowMs;
    this.level = level;
    this.closed = new Promise((resolve) => {
      this.onClosed = resolve;
    });
    const ports = { port: main.port2, urgent: urgent.port2 };
    const start: NetworkStart<N["config"]> = { config, level, metricsPrefix, shared: this.shared, ...ports };
    this.#leave = host.take().open(start, Object.values(ports), (error) => onLost(this, error));
  }

  /** Nothing happens if the thread is gone. */
  send(message: N["to"], transfer: readonly ArrayBuffer[] = []): void {
    this.post({ kind: "own", message }, transfer);
  }

  post(message: ToThread<N["to"]>, transfer: readonly ArrayBuffer[] = []): void {
    this.port.postMessage(message, [...transfer]);
  }

  /** Resolves once the thread has ended, if no other network is in it. */
  end(): Promise<void> {
    this.onClosed();
    this.port.close();
    this.urgent.close();
    return this.#leave();
  }

  fail(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/**
 * A network in a separate thread, so that peers' data delays nothing else. The numbers of pending calls and of log lines are
 * bounded. A crashed thread is restarted with backoff.
 */
export class NetworkThread<N extends NetworkTypes> {
  readonly #options: NetworkThreadOptions<N>;
  readonly #deps: NetworkThreadDeps<N>;
  readonly #closing = new AbortController();
  #config: N["config"];
  #run: NetworkRun<N> | undefined;
  #identity: N["identity"] | undefined;
  #lastId = 0;
  #vainStarts = 0;
  #onStarted: Waiting | undefined;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(options: NetworkThreadOptions<N>, deps: NetworkThreadDeps<N>) {
    this.#options = options;
    this.#deps = deps;
    this.#config = options.config;
  }

  /** @throws {Error} what keeps the network from starting, by `startError` */
  async start(): Promise<void> {
    try {
      await this.#startRun();
    } catch (error) {
      this.#closing.abort();
      await this.#endRun();
      throw error;
    }
    this.#watch();
  }

  /** Known from the first start on. */
  get identity(): N["identity"] {
    return this.#identity!;
  }

  /** `undefined`: the thread is being restarted, or closed */
  get serving(): NetworkRun<N> | undefined {
    return this.#run?.isServing === true ? this.#run : undefined;
  }

  /** The thread's answer to the message that `send` sends with this id. @throws {Error} of `noAnswer`, or the thread's error */
  ask(send: (run: NetworkRun<N>, id: number) => void): Promise<unknown> {
    const run = this.serving;
    const { noAnswer } = this.#deps;
    if (run === undefined) return Promise.reject(noAnswer(this.#closing.signal.aborted ? "closed" : "lost"));
    if (run.waiting.size >= this.#options.maxCalls) return Promise.reject(noAnswer("busy"));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      run.waiting.set(id, { resolve, reject });
      send(run, id);
    });
  }

  /** The thread's metrics; none if it does not answer in time. */
  async collect(): Promise<readonly CollectedMetrics[]> {
    if (this.#options.metricsPrefix === undefined) return [];
    const limit = new AbortController();
    const late = this.#deps.clock.sleep(COLLECT_LIMIT_MS, limit.signal).then(() => undefined);
    const values = this.ask((run, id) => run.post({ kind: "collect", id })).catch(() => undefined);
    const collected = (await Promise.race([values, late])) as CollectedMetrics | undefined;
    limit.abort();
    return collected === undefined ? [] : [collected];
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    for (const timer of this.#timers) clearInterval(timer);
    const run = this.#run;
    if (run !== undefined) {
      if (run.isServing) run.post({ kind: "close" });
      const limit = new AbortController();
      await Promise.race([run.closed, this.#deps.clock.sleep(run.isServing ? CLOSE_LIMIT_MS : 0, limit.signal)]);
      limit.abort();
    }
    await this.#endRun();
  }

  #startRun(): Promise<void> {
    const { clock, log } = this.#deps;
    const run = new NetworkRun<N>(this.#options, this.#config, {
      level: log.level,
      nowMs: clock.monotonicMs(),
      onLost: (lost, error) => this.#lose(lost, error),
    });
    this.#run = run;
    return new Promise((resolve, reject) => {
      this.#onStarted = { resolve: () => resolve(), reject };
      run.port.on("message", (message: FromThread<N["from"], N["identity"]>) => this.#take(run, message));
    });
  }

  #take(run: NetworkRun<N>, message: FromThread<N["from"], N["identity"]>): void {
    if (run !== this.#run) return;
    const { log, onMessage, onServing, startError } = this.#deps;
    switch (message.kind) {
      case "own":
        onMessage(run, message.message);
        return;
      case "started":
        this.#identity = message.identity;
        run.isServing = true;
        this.#config = onServing(run, message.identity, this.#config);
        this.#onStarted?.resolve(undefined);
        this.#onStarted = undefined;
        return;
      case "identity":
        this.#identity = message.identity;
        return;
      case "failed": {
        const error = receiveError(message.error);
        this.#lose(run, startError?.(error) ?? error);
        return;
      }
      case "closed":
        run.onClosed();
        return;
      case "result":
        this.#waiting(run, message.id)?.resolve(message.value);
        return;
      case "error":
        this.#waiting(run, message.id)?.reject(receiveError(message.error));
        return;
      case "log":
        Atomics.sub(run.shared, LOG_LINES, 1);
        log[message.level](message.text, message.fields);
        return;
    }
  }

  #waiting(run: NetworkRun<N>, id: number): Waiting | undefined {
    const waiting = run.waiting.get(id);
    run.waiting.delete(id);
    return waiting;
  }

  /** The thread is gone, or has to go. */
  #lose(run: NetworkRun<N>, error: Error): void {
    if (run !== this.#run) return;
    const { log, clock, losses, noAnswer, onLost } = this.#deps;
    this.#run = undefined;
    run.fail(noAnswer(this.#closing.signal.aborted ? "closed" : "lost", { cause: error }));
    void run.end();
    onLost?.();
    const onStarted = this.#onStarted;
    this.#onStarted = undefined;
    onStarted?.reject(error);
    if (this.#closing.signal.aborted || this.#identity === undefined) return; // the first start reports its own failure
    losses.inc();
    this.#options.host.split();
    this.#vainStarts = run.isServing && clock.monotonicMs() - run.startedMs > SOUND_AFTER_MS ? 0 : this.#vainStarts + 1;
    const delayMs = restartDelayMs(this.#vainStarts);
    log.error(this.#options.texts.lost, { error, inMs: delayMs });
    void this.#restart(delayMs);
  }

  async #restart(delayMs: number): Promise<void> {
    const { clock, log, describe } = this.#deps;
    await clock.sleep(delayMs, this.#closing.signal);
    if (this.#closing.signal.aborted) return;
    try {
      await this.#startRun();
      log.info(this.#options.texts.again, describe(this.identity));
    } catch {
      // said where it was lost
    }
  }

  #watch(): void {
    this.#timers.push(
      setInterval(() => this.#tellLevel(), LEVEL_INTERVAL_MS),
      setInterval(() => this.#checkHeartbeat(), CHECK_INTERVAL_MS),
    );
    for (const timer of this.#timers) timer.unref();
  }

  #tellLevel(): void {
    const { level } = this.#deps.log;
    const run = this.serving;
    if (run === undefined || run.level === level) return;
    run.level = level;
    run.post({ kind: "level", level });
  }

  #checkHeartbeat(): void {
    const { clock } = this.#deps;
    const run = this.#run;
    if (run === undefined) return;
    const heartbeat = Atomics.load(run.shared, HEARTBEAT);
    if (heartbeat !== run.heartbeat) {
      run.heartbeat = heartbeat;
      run.heardAtMs = clock.monotonicMs();
    } else if (clock.monotonicMs() - run.heardAtMs > MAX_SILENCE_MS) {
      this.#lose(run, new Error(`the thread has not come back to its event loop for ${MAX_SILENCE_MS / 1_000} s`));
    }
  }

  async #endRun(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    run.fail(this.#deps.noAnswer("closed"));
    this.#deps.onLost?.();
    await run.end();
  }
}
