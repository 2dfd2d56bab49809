import { Worker } from "node:worker_threads";
import type { CollectedMetrics, Counter, Logger, MetricFactory } from "@rnode/observe";
import { receiveError } from "@rnode/peering";
import type { Clock } from "@rnode/primitives";
import type { BlockPeer } from "../api.ts";
import { DevP2PError } from "../errors.ts";
import type { Announcement, DevP2PConfig, DevP2PHandlers, DevP2PIdentity, DevP2PNetwork, PeerAdmin } from "../network.ts";
import {
  type FromThread,
  HEARTBEAT,
  LOG_LINES,
  type PeerRequest,
  SHARED_COUNT,
  type ThreadStart,
  type ToThread,
  TRANSACTION_BYTES,
  TRANSACTIONS,
} from "./messages.ts";
import { RemotePeers } from "./remote-peers.ts";

export interface DevP2PThreadDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** undefined: the thread keeps no metrics */
  readonly metricsPrefix: string | undefined;
}

const PROGRAM = new URL("./devp2p-worker.js", import.meta.url);
/** A thread that is gone is told apart from one that is busy: it may work for so long without a turn of its event loop. */
const MAX_SILENCE_MS = 60_000;
const CHECK_INTERVAL_MS = 10_000;
const COLLECT_LIMIT_MS = 2_000;
const CLOSE_LIMIT_MS = 4_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;
/** A thread that ran for so long is started again without delay. */
const SOUND_AFTER_MS = 5 * 60_000;
const MAX_CALLS = 1_024;
/** The heap of the thread. What ends for want of memory is the thread, not the process. */
const MEMORY = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 16 } as const;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One run of the thread's program. */
class Run {
  readonly worker: Worker;
  readonly shared = new Int32Array(new SharedArrayBuffer(4 * SHARED_COUNT));
  readonly waiting = new Map<number, Waiting>();
  readonly startedMs: number;
  heartbeat = 0;
  heardAtMs: number;
  isServing = false;

  constructor(config: DevP2PConfig, { log, metricsPrefix }: DevP2PThreadDeps, nowMs: number) {
    this.startedMs = nowMs;
    this.heardAtMs = nowMs;
    const start: ThreadStart = { config, level: log.level, metricsPrefix, shared: this.shared };
    this.worker = new Worker(PROGRAM, { workerData: start, resourceLimits: MEMORY, execArgv: [] });
  }

  post(message: ToThread): void {
    this.worker.postMessage(message);
  }

  fail(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/**
 * The network in a thread of its own: what peers send delays neither blocks nor readers. What goes between the threads is bounded by count
 * and bytes. A thread that is lost is started again with the same identity and ports.
 */
export class DevP2PThread implements DevP2PNetwork {
  readonly admin: PeerAdmin;
  readonly #handlers: DevP2PHandlers;
  readonly #deps: DevP2PThreadDeps;
  readonly #losses: Counter;
  readonly #peers: RemotePeers;
  readonly #closing = new AbortController();
  #config: DevP2PConfig;
  #run: Run | undefined;
  #identity: DevP2PIdentity | undefined;
  #lastId = 0;
  #vainStarts = 0;
  #onStarted: Waiting | undefined;
  #watch: NodeJS.Timeout | undefined;

  private constructor(config: DevP2PConfig, handlers: DevP2PHandlers, deps: DevP2PThreadDeps) {
    this.#config = config;
    this.#handlers = handlers;
    this.#deps = deps;
    this.#losses = deps.metrics.counter("devp2p_thread_losses_total", "How often the thread of the network was lost.");
    this.#peers = new RemotePeers({
      request: (peer, request, signal) => this.#request(peer, request, signal),
      report: (peer, fault, detail) => this.#serving?.post({ kind: "report", peer, fault, detail }),
    });
    const call = (method: keyof PeerAdmin) => (text?: string) =>
      this.#ask((run, id) => run.post({ kind: "call", id, method, args: text === undefined ? [] : [text] }));
    this.admin = {
      peers: call("peers") as PeerAdmin["peers"],
      addPeer: call("addPeer") as PeerAdmin["addPeer"],
      removePeer: call("removePeer") as PeerAdmin["removePeer"],
      addTrustedPeer: call("addTrustedPeer") as PeerAdmin["addTrustedPeer"],
      removeTrustedPeer: call("removeTrustedPeer") as PeerAdmin["removeTrustedPeer"],
    };
  }

  /** @throws {DevP2PError} and what else keeps the network from starting */
  static async start(config: DevP2PConfig, handlers: DevP2PHandlers, deps: DevP2PThreadDeps): Promise<DevP2PThread> {
    const thread = new DevP2PThread(config, handlers, deps);
    try {
      await thread.#startRun();
    } catch (error) {
      thread.#closing.abort();
      await thread.#endRun();
      throw error;
    }
    thread.#watch = setInterval(() => thread.#check(), CHECK_INTERVAL_MS);
    thread.#watch.unref();
    return thread;
  }

  get identity(): DevP2PIdentity {
    return this.#identity!; // known since the first start
  }

  list(): readonly BlockPeer[] {
    return this.#peers.list();
  }

  onChange(listener: () => void): () => void {
    return this.#peers.onChange(listener);
  }

  announce(transactions: readonly Announcement[]): void {
    this.#serving?.post({ kind: "announce", transactions });
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
    clearInterval(this.#watch);
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
      return Promise.reject(new DevP2PError(this.#closing.signal.aborted ? "devp2p/closed" : "devp2p/thread-lost"));
    if (run.waiting.size >= MAX_CALLS) return Promise.reject(new DevP2PError("devp2p/busy"));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      run.waiting.set(id, { resolve, reject });
      send(run, id);
    });
  }

  async #request(peer: string, request: PeerRequest, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    if (signal.aborted) throw new DevP2PError("devp2p/request-aborted");
    let abort = (): void => {};
    try {
      return (await this.#ask((run, id) => {
        abort = () => run.post({ kind: "abort", id });
        signal.addEventListener("abort", abort);
        run.post({ kind: "request", id, peer, request });
      })) as readonly Uint8Array[];
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #startRun(): Promise<void> {
    const run = new Run(this.#config, this.#deps, this.#deps.clock.nowMs());
    this.#run = run;
    return new Promise((resolve, reject) => {
      this.#onStarted = { resolve: () => resolve(), reject };
      run.worker.on("message", (message: FromThread) => this.#take(run, message));
      run.worker.on("error", (error) => this.#lose(run, error));
      run.worker.on("exit", (code) => this.#lose(run, new Error(`the thread ended with code ${code}`)));
    });
  }

  #take(run: Run, message: FromThread): void {
    if (run !== this.#run) return;
    switch (message.kind) {
      case "started": {
        const { identity } = message;
        this.#identity = identity;
        const { listen } = this.#config;
        this.#config = {
          ...this.#config,
          listen: { ...listen, tcpPort: identity.tcpPort, udpPort: identity.udpPort || listen.udpPort },
        };
        run.isServing = true;
        this.#onStarted?.resolve(undefined);
        this.#onStarted = undefined;
        return;
      }
      case "identity":
        this.#identity = message.identity;
        return;
      case "failed":
        this.#lose(run, receiveError(message.error));
        return;
      case "peers":
        this.#peers.set(message.peers);
        return;
      case "result":
        this.#settle(run, message.id, message.value);
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
      case "transactions":
        Atomics.sub(run.shared, TRANSACTIONS, message.transactions.length);
        Atomics.sub(run.shared, TRANSACTION_BYTES, message.bytes);
        this.#handlers.onTransactions(message.transactions);
        return;
      case "ask-pooled":
        void this.#handlers
          .pooledTransactions(message.hashes)
          .catch(() => [])
          .then((transactions) => {
            if (run === this.#run) run.post({ kind: "pooled", id: message.id, transactions });
          });
        return;
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

  /** The thread is gone, or has to go. */
  #lose(run: Run, error: Error): void {
    if (run !== this.#run) return;
    this.#run = undefined;
    run.fail(new DevP2PError("devp2p/thread-lost", {}, { cause: error }));
    void run.worker.terminate();
    this.#peers.set([]);
    const onStarted = this.#onStarted;
    this.#onStarted = undefined;
    onStarted?.reject(error);
    if (this.#closing.signal.aborted || this.#identity === undefined) return; // the first start reports its own failure
    const { log, clock } = this.#deps;
    this.#losses.inc();
    this.#vainStarts = run.isServing && clock.nowMs() - run.startedMs > SOUND_AFTER_MS ? 0 : this.#vainStarts + 1;
    const delayMs = this.#vainStarts === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#vainStarts - 1));
    log.error("the thread of the network of peers was lost: it is started again", { error, inMs: delayMs });
    void this.#restart(delayMs);
  }

  async #restart(delayMs: number): Promise<void> {
    const { clock, log } = this.#deps;
    await clock.sleep(delayMs, this.#closing.signal);
    if (this.#closing.signal.aborted) return;
    try {
      await this.#startRun();
      log.info("the network of peers runs again", { enode: this.identity.enode });
    } catch {
      // said where it was lost
    }
  }

  #check(): void {
    const { clock, log } = this.#deps;
    const run = this.#run;
    if (run === undefined) return;
    if (run.isServing) run.post({ kind: "level", level: log.level });
    const heartbeat = Atomics.load(run.shared, HEARTBEAT);
    if (heartbeat !== run.heartbeat) {
      run.heartbeat = heartbeat;
      run.heardAtMs = clock.nowMs();
    } else if (clock.nowMs() - run.heardAtMs > MAX_SILENCE_MS) {
      this.#lose(run, new Error(`the thread has not come back to its event loop for ${MAX_SILENCE_MS / 1_000} s`));
    }
  }

  async #endRun(): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    run?.fail(new DevP2PError("devp2p/closed"));
    await run?.worker.terminate();
  }
}
