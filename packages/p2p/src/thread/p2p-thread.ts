import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { CollectedMetrics, Counter, Logger, MetricFactory } from "@rnode/observe";
import { receiveError } from "@rnode/peering";
import { type Clock, CodedError } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { P2PConfig, P2PHandlers, P2PIdentity, P2PNetwork, Published, UnsafeGap } from "../network.ts";
import type { PeerApi } from "../peers/peer-api.ts";
import { P2PSettingError } from "../settings-error.ts";
import { decodeBlock, encodeBlock } from "./encoded-block.ts";
import {
  type FromThread,
  HEARTBEAT,
  LOG_LINES,
  PAYLOAD_BYTES,
  PAYLOADS,
  type PeerApiMethod,
  type Publish,
  SHARED_COUNT,
  type ThreadStart,
  type ToThread,
} from "./messages.ts";

export type P2PThreadErrorCode =
  /** the thread of the network was lost, and is being started again */
  | "p2p/thread-lost"
  /** too many calls wait for the thread */
  | "p2p/busy"
  | "p2p/closed";

const TEXTS: Readonly<Record<P2PThreadErrorCode, string>> = {
  "p2p/thread-lost": "the P2P network is being started again: try again in a moment",
  "p2p/busy": "too many calls wait for the P2P network: try again in a moment",
  "p2p/closed": "the P2P network is closed",
};

export class P2PThreadError extends CodedError<P2PThreadErrorCode> {
  constructor(code: P2PThreadErrorCode, options?: ErrorOptions) {
    super(code, {}, options);
    this.message = TEXTS[code];
  }
}

export interface P2PThreadDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** undefined: the thread keeps no metrics */
  readonly metricsPrefix: string | undefined;
  /** for tests: another program, options of Node */
  readonly overrides?: { readonly program?: URL; readonly execArgv?: readonly string[] } | undefined;
}

const PROGRAM = new URL("./p2p-worker.js", import.meta.url);
/** A thread that is gone is told apart from one that is busy: it may work for so long without a turn of its event loop. */
const MAX_SILENCE_MS = 60_000;
const CHECK_INTERVAL_MS = 10_000;
const LEVEL_INTERVAL_MS = 1_000;
const COLLECT_LIMIT_MS = 2_000;
const CLOSE_LIMIT_MS = 4_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;
/** A thread that ran for so long is started again without delay. */
const SOUND_AFTER_MS = 5 * 60_000;
const MAX_CALLS = 256;
const MAX_QUESTIONS = 16;
/** The heap of the thread. What ends for want of memory is the thread, not the process. */
const MEMORY = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 } as const;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One run of the thread's program. */
class Run {
  readonly worker: Worker;
  readonly urgent: MessagePort;
  readonly shared = new Int32Array(new SharedArrayBuffer(4 * SHARED_COUNT));
  readonly waiting = new Map<number, Waiting>();
  questions = 0;
  heartbeat = 0;
  readonly startedMs: number;
  heardAtMs: number;
  isServing = false;

  constructor(config: P2PConfig, { log, metricsPrefix, overrides }: P2PThreadDeps, nowMs: number) {
    const { port1, port2 } = new MessageChannel();
    this.urgent = port1;
    this.startedMs = nowMs;
    this.heardAtMs = nowMs;
    const start: ThreadStart = { config, level: log.level, metricsPrefix, shared: this.shared, urgent: port2 };
    this.worker = new Worker(overrides?.program ?? PROGRAM, {
      workerData: start,
      transferList: [port2],
      resourceLimits: MEMORY,
      ...(overrides?.execArgv !== undefined && { execArgv: [...overrides.execArgv] }),
    });
  }

  post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    this.worker.postMessage(message, [...transfer]);
  }

  fail(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/**
 * The network in a thread of its own: a flood of messages does not delay the node. What goes between the threads is bounded by count and
 * bytes, and blocks to publish overtake everything else. A thread that is lost is started again with the same identity and ports.
 */
export class P2PThread implements P2PNetwork {
  readonly api: PeerApi;
  readonly #handlers: P2PHandlers;
  readonly #deps: P2PThreadDeps;
  readonly #losses: Counter;
  readonly #closing = new AbortController();
  #config: P2PConfig;
  #run: Run | undefined;
  #identity: P2PIdentity | undefined;
  #signer: Uint8Array | undefined;
  #lastId = 0;
  #vainStarts = 0;
  #onStarted: Waiting | undefined;
  readonly #timers: NodeJS.Timeout[] = [];

  private constructor(config: P2PConfig, handlers: P2PHandlers, deps: P2PThreadDeps) {
    this.#config = config;
    this.#handlers = handlers;
    this.#deps = deps;
    this.#losses = deps.metrics.counter("p2p_thread_losses_total", "How often the thread of the network was lost.");
    this.api = this.#remoteApi();
  }

  /** @throws {P2PSettingError}, or what else keeps the network from starting */
  static async start(config: P2PConfig, handlers: P2PHandlers, deps: P2PThreadDeps): Promise<P2PThread> {
    const thread = new P2PThread(config, handlers, deps);
    try {
      await thread.#startRun();
    } catch (error) {
      thread.#closing.abort();
      await thread.#endRun();
      throw error;
    }
    thread.#watch();
    return thread;
  }

  get identity(): P2PIdentity {
    return this.#identity!; // known since the first start
  }

  setUnsafeBlockSigner(address: Uint8Array): void {
    this.#signer = address;
    this.#serving?.post({ kind: "signer", address });
  }

  async publish(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<Published> {
    const block = encodeBlock(this.#config.rollup.forkTimes, envelope);
    return (await this.#ask((run, id) => {
      const message: Publish = { id, block, signature };
      run.urgent.postMessage(message, [block.bytes.buffer]);
    })) as Published;
  }

  requestGap(gap: UnsafeGap): void {
    this.#serving?.post({ kind: "gap", gap });
  }

  /** What the thread counts; nothing if it does not answer in time. */
  async collect(): Promise<readonly CollectedMetrics[]> {
    if (this.#deps.metricsPrefix === undefined) return [];
    const limit = new AbortController();
    const late = this.#deps.clock.sleep(COLLECT_LIMIT_MS, limit.signal).then(() => undefined);
    const values = this.#ask((run, id) => run.post({ kind: "collect", id })).catch(() => undefined);
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
      const ended = new Promise<void>((resolve) => run.worker.once("exit", () => resolve()));
      if (run.isServing) run.post({ kind: "close" });
      const limit = new AbortController();
      await Promise.race([ended, this.#deps.clock.sleep(run.isServing ? CLOSE_LIMIT_MS : 0, limit.signal)]);
      limit.abort();
    }
    await this.#endRun();
  }

  get #serving(): Run | undefined {
    return this.#run?.isServing === true ? this.#run : undefined;
  }

  #ask(send: (run: Run, id: number) => void): Promise<unknown> {
    const run = this.#serving;
    if (run === undefined)
      return Promise.reject(new P2PThreadError(this.#closing.signal.aborted ? "p2p/closed" : "p2p/thread-lost"));
    if (run.waiting.size >= MAX_CALLS) return Promise.reject(new P2PThreadError("p2p/busy"));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      run.waiting.set(id, { resolve, reject });
      send(run, id);
    });
  }

  #remoteApi(): PeerApi {
    const call =
      (method: PeerApiMethod) =>
      (...args: unknown[]): Promise<unknown> =>
        this.#ask((run, id) => run.post({ kind: "call", id, method, args }));
    return new Proxy({} as PeerApi, {
      get: (_, name) => (typeof name === "string" && name !== "then" ? call(name as PeerApiMethod) : undefined),
    });
  }

  #startRun(): Promise<void> {
    const { clock } = this.#deps;
    const run = new Run(this.#config, this.#deps, clock.nowMs());
    this.#run = run;
    return new Promise((resolve, reject) => {
      this.#onStarted = { resolve: () => resolve(), reject };
      run.worker.on("message", (message: FromThread) => this.#take(run, message));
      run.worker.on("error", (error) => this.#lose(run, error));
      run.worker.on("exit", (code) => this.#lose(run, new Error(`the thread ended with code ${code}`)));
      run.urgent.unref();
    });
  }

  #take(run: Run, message: FromThread): void {
    if (run !== this.#run) return;
    switch (message.kind) {
      case "started": {
        const { identity } = message;
        this.#identity = identity;
        const { listen } = this.#config;
        this.#config = { ...this.#config, listen: { ...listen, tcpPort: identity.tcpPort } };
        run.isServing = true;
        if (this.#signer !== undefined) run.post({ kind: "signer", address: this.#signer });
        this.#onStarted?.resolve(undefined);
        this.#onStarted = undefined;
        return;
      }
      case "identity":
        this.#identity = message.identity;
        return;
      case "failed": {
        const { setting, error } = message;
        const cause = receiveError(error);
        this.#lose(run, setting === undefined ? cause : new P2PSettingError(setting, error.message, { cause }));
        return;
      }
      case "payload":
        Atomics.sub(run.shared, PAYLOAD_BYTES, message.block.bytes.length);
        Atomics.sub(run.shared, PAYLOADS, 1);
        this.#handlers.onUnsafePayload(decodeBlock(message.block), message.from);
        return;
      case "ask":
        void this.#answer(run, message.id, message.number);
        return;
      case "result":
        this.#settle(run, message.id, message.value);
        return;
      case "published":
        this.#settle(run, message.id, message.published);
        return;
      case "metrics":
        this.#settle(run, message.id, message.values);
        return;
      case "error": {
        const waiting = run.waiting.get(message.id);
        run.waiting.delete(message.id);
        waiting?.reject(receiveError(message.error));
        return;
      }
      case "log":
        Atomics.sub(run.shared, LOG_LINES, 1);
        this.#deps.log[message.level](message.text, message.fields);
        return;
      case "closed":
        return;
    }
  }

  #settle(run: Run, id: number, value: unknown): void {
    const waiting = run.waiting.get(id);
    run.waiting.delete(id);
    waiting?.resolve(value);
  }

  async #answer(run: Run, id: number, number: number): Promise<void> {
    if (run.questions >= MAX_QUESTIONS) return run.post({ kind: "block", id, error: "too many questions" });
    run.questions++;
    try {
      const envelope = await this.#handlers.payloadByNumber(number);
      const block = envelope && encodeBlock(this.#config.rollup.forkTimes, envelope);
      if (run === this.#run) run.post({ kind: "block", id, block }, block === undefined ? [] : [block.bytes.buffer]);
    } catch (error) {
      if (run === this.#run) run.post({ kind: "block", id, error: error instanceof Error ? error.message : String(error) });
    } finally {
      run.questions--;
    }
  }

  /** The thread is gone, or has to go. */
  #lose(run: Run, error: Error): void {
    if (run !== this.#run) return;
    this.#run = undefined;
    run.fail(new P2PThreadError("p2p/thread-lost", { cause: error }));
    run.urgent.close();
    void run.worker.terminate();
    const onStarted = this.#onStarted;
    this.#onStarted = undefined;
    onStarted?.reject(error);
    if (this.#closing.signal.aborted || this.#identity === undefined) return; // the first start reports its own failure
    const { log, clock } = this.#deps;
    this.#losses.inc();
    this.#vainStarts = run.isServing && clock.nowMs() - run.startedMs > SOUND_AFTER_MS ? 0 : this.#vainStarts + 1;
    const delayMs = this.#vainStarts === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#vainStarts - 1));
    log.error("the thread of the P2P network was lost: it is started again", { error, inMs: delayMs });
    void this.#restart(delayMs);
  }

  async #restart(delayMs: number): Promise<void> {
    const { clock, log } = this.#deps;
    await clock.sleep(delayMs, this.#closing.signal);
    if (this.#closing.signal.aborted) return;
    try {
      await this.#startRun();
      log.info("the P2P network runs again", { peerId: this.identity.peerId });
    } catch {
      // said where it was lost
    }
  }

  #watch(): void {
    const { clock, log } = this.#deps;
    let { level } = log;
    this.#timers.push(
      setInterval(() => {
        if (log.level === level) return;
        level = log.level;
        this.#serving?.post({ kind: "level", level });
      }, LEVEL_INTERVAL_MS),
      setInterval(() => {
        const run = this.#run;
        if (run === undefined) return;
        const heartbeat = Atomics.load(run.shared, HEARTBEAT);
        if (heartbeat !== run.heartbeat) {
          run.heartbeat = heartbeat;
          run.heardAtMs = clock.nowMs();
        } else if (clock.nowMs() - run.heardAtMs > MAX_SILENCE_MS) {
          this.#lose(run, new Error(`the thread has not come back to its event loop for ${MAX_SILENCE_MS / 1_000} s`));
        }
      }, CHECK_INTERVAL_MS),
    );
    for (const timer of this.#timers) timer.unref();
  }

  async #endRun(): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    run?.fail(new P2PThreadError("p2p/closed"));
    run?.urgent.close();
    await run?.worker.terminate();
  }
}
