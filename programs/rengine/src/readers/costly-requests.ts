import type { CostlyKind } from "@rnode/eth-api";
import {
  CLIENT_GONE,
  clientOf,
  FairQueue,
  type LargeRequest,
  LIMIT_EXCEEDED,
  type QueueRefusal,
  type RequestContext,
  type RequestText,
  RpcError,
  SERVER_ERROR,
  sizeOfRequest,
} from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import { formatDurationMs } from "@rnode/program";
import type { CostlyResult, MessageFromCostly } from "./costly-messages.ts";
import type { CostlyThread, CostlyThreadEvents } from "./costly-thread.ts";
import type { GasBudgets } from "./gas-budgets.ts";
import { type CostlyRunner, errorAnswer } from "./routing.ts";

export interface CostlyLimits {
  /** that wait; one network of clients may have a quarter of them */
  readonly maxWaiting: number;
  /** of the requests that wait */
  readonly maxWaitingBytes: number;
  /** requests that trace at a time */
  readonly maxTraces: number;
  /** a request that runs for longer costs the thread its life; 0: never */
  readonly hardLimitMs: number;
}

export interface CostlyDependencies {
  /** @param givenUp one number for each request that can run at a time */
  readonly startThread: (givenUp: Int32Array, events: CostlyThreadEvents) => CostlyThread;
  /** sends the thread's requests to other processes */
  readonly ask: (text: string, reader?: number) => Promise<string>;
  /** gas budgets of the clients, which decide the order */
  readonly budgets: GasBudgets;
  /** called with the duration of each request */
  readonly learn: (client: RequestContext, workedMs: number) => void;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  readonly nowMs?: (() => number) | undefined;
}

/** `read`: a large request is taken apart */
type JobKind = CostlyKind | "read";

interface Job {
  readonly id: number;
  readonly client: RequestContext;
  readonly kind: JobKind;
  readonly text: RequestText;
  readonly resolve: (result: CostlyResult) => void;
  readonly reject: (error: RpcError) => void;
  readonly stopListening: () => void;
  /** times that the thread was lost while it worked on this */
  losses: number;
}

interface Running {
  readonly job: Job;
  readonly place: number;
  readonly startedMs: number;
  /** when its client left */
  givenUpMs: number | undefined;
}

/** A call does not yield to others. */
const CALLS = 1;
const SEARCHES = 2;
const READS = 1;
const NETWORK_PART = 1 / 4;
/** The thread ends when it has had no request for this long. */
const IDLE_MS = 60_000;
const CHECK_INTERVAL_MS = 250;
/** If an abandoned request runs longer than this (in one long step), its thread gets no further requests and ends after it. */
const GIVEN_UP_LIMIT_MS = 1000;
/** A thread that is not ready after this is replaced. Loading its code takes half a second alone, and tens of seconds on a busy machine. */
const START_LIMIT_MS = 120_000;
/** A thread that is left alone is terminated after this. */
const LEFT_ALONE_LIMIT_MS = 10_000;
/** The same, when the reader ends. */
const CLOSE_LIMIT_MS = 1000;
/** A thread that cannot start is started again after this. */
const RESTART_DELAY_MS = 1000;
const MAX_LOSSES = 2;

const REFUSALS: Readonly<Record<QueueRefusal, string>> = {
  all: "too many costly requests wait already (--rpc.max-waiting-requests)",
  network: "too many costly requests from your address wait already (--rpc.max-waiting-requests)",
  bytes: "costly requests that wait already are too large (--rpc.max-waiting-size)",
};

/**
 * The costly requests of a reader. They run in a separate thread, which starts with the first request and ends after the last,
 * and wait in a queue that is fair to the clients.
 */
export class CostlyRequests implements CostlyRunner {
  readonly #limits: CostlyLimits;
  readonly #dependencies: CostlyDependencies;
  readonly #nowMs: () => number;
  readonly #most: Readonly<Record<JobKind, number>>;
  readonly #queue: FairQueue<Job>;
  /** by id of the job */
  readonly #running = new Map<number, Running>();
  /** were running when the thread was lost: they run alone */
  readonly #again: Job[] = [];
  /** of the current thread, by slot: 1 when the request there was abandoned */
  #givenUp: Int32Array<SharedArrayBuffer>;
  /** threads that are left alone */
  #leftAlone = 0;
  readonly #metrics: ReturnType<typeof createCostlyMetrics>;
  #thread: CostlyThread | undefined;
  #threadStartedMs = 0;
  /** undefined: the thread is still starting */
  #threadReadyMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #notBeforeMs = 0;
  #idleSinceMs = 0;
  /** the time in which anything ran, up to `busySinceMs` if something runs now */
  #busyMs = 0;
  #busySinceMs = 0;
  #lastLoad = { atMs: 0, busyMs: 0 };
  #nextId = 0;
  #isClosed = false;

  constructor(limits: CostlyLimits, dependencies: CostlyDependencies) {
    this.#limits = limits;
    this.#dependencies = dependencies;
    this.#nowMs = dependencies.nowMs ?? (() => performance.now());
    this.#most = { call: CALLS, search: SEARCHES, read: READS, trace: limits.maxTraces };
    this.#givenUp = placesOf(limits);
    const { budgets } = dependencies;
    this.#queue = new FairQueue(
      {
        maxItems: limits.maxWaiting,
        maxItemsPerNetwork: Math.max(1, limits.maxWaiting * NETWORK_PART),
        maxBytes: limits.maxWaitingBytes,
      },
      {
        isNetworkLast: (network) => budgets.isAddressSpent(network),
        isConnectionLast: (client) => budgets.isConnectionSpent(client),
      },
    );
    this.#metrics = createCostlyMetrics(dependencies.metrics, {
      waiting: () => this.#queue.size,
      waitingBytes: () => this.#queue.bytes,
      running: () => this.#running.size,
    });
  }

  /** @throws {RpcError} there is no room for it, its client has gone, or it could not be finished */
  async run(client: RequestContext, kind: CostlyKind, text: RequestText): Promise<string | Uint8Array<ArrayBuffer>> {
    return (await this.#do(client, kind, text)) as string | Uint8Array<ArrayBuffer>;
  }

  /** Takes a large request apart. @throws {RpcError} as `run` */
  async read(client: RequestContext, text: RequestText): Promise<LargeRequest> {
    return (await this.#do(client, "read", text)) as LargeRequest;
  }

  #do(client: RequestContext, kind: JobKind, text: RequestText): Promise<CostlyResult> {
    return new Promise((resolve, reject) => {
      if (client.isGone || this.#isClosed) {
        reject(gone());
        return;
      }
      const job: Job = {
        id: this.#nextId++,
        client,
        kind,
        text,
        resolve,
        reject,
        stopListening: client.onGone(() => this.#giveUp(job)),
        losses: 0,
      };
      const size = sizeOfRequest(text);
      let refusal = this.#queue.add(client, job, size);
      while (refusal !== undefined && this.#makeRoom(client, refusal)) refusal = this.#queue.add(client, job, size);
      if (refusal === undefined) this.#startDue();
      else this.#refuse(job, refusal);
    });
  }

  /**
   * Rejects a waiting request of a client with an exhausted budget in favour of a new request of a client with budget left. If
   * the queue is full for the address of the new request, only connections of that address are compared, otherwise all addresses.
   */
  #makeRoom(newcomer: RequestContext, refusal: QueueRefusal): boolean {
    const { budgets } = this.#dependencies;
    const network = clientOf(newcomer.remoteAddress);
    const isOwn = refusal === "network";
    if (isOwn ? budgets.isConnectionSpent(newcomer) : budgets.isAddressSpent(network)) return false;
    const refused = this.#queue.removeLast(({ client }) => {
      const other = clientOf(client.remoteAddress);
      return isOwn ? other === network && budgets.isConnectionSpent(client) : budgets.isAddressSpent(other);
    });
    if (refused === undefined) return false;
    this.#refuse(refused, refusal);
    return true;
  }

  #refuse({ client, stopListening, reject }: Job, refusal: QueueRefusal): void {
    stopListening();
    const shortage = this.#dependencies.budgets.shortage(client);
    this.#metrics.refused.inc({ limit: shortage === undefined ? refusal : "gas" });
    reject(
      new RpcError(
        LIMIT_EXCEEDED,
        shortage === undefined ? `${REFUSALS[refusal]}: try again later` : `${REFUSALS[refusal]}; ${shortage}`,
      ),
    );
  }

  /** The part of the time since the last call in which the thread had work. */
  loadSinceLast(): number {
    const atMs = this.#nowMs();
    this.#countBusy(atMs);
    const { atMs: lastMs, busyMs } = this.#lastLoad;
    this.#lastLoad = { atMs, busyMs: this.#busyMs };
    return atMs > lastMs ? (this.#busyMs - busyMs) / (atMs - lastMs) : 0;
  }

  /** Called before `#running` changes. */
  #countBusy(nowMs: number): void {
    if (this.#running.size > 0) this.#busyMs += nowMs - this.#busySinceMs;
    this.#busySinceMs = nowMs;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const thread = this.#thread;
    this.#thread = undefined;
    this.#giveUpAll();
    for (const { job } of this.#running.values()) job.reject(gone());
    for (let job = this.#next(); job !== undefined; job = this.#next()) job.reject(gone());
    this.#running.clear();
    await thread?.end(CLOSE_LIMIT_MS);
  }

  #next(): Job | undefined {
    return this.#again.shift() ?? this.#queue.take();
  }

  #startDue(): void {
    if (this.#isClosed || this.#nowMs() < this.#notBeforeMs) return;
    const [again] = this.#again;
    if (again !== undefined) {
      if (this.#running.size === 0) this.#begin(this.#again.shift()!);
      return;
    }
    for (let job = this.#queue.take(this.#mayBegin); job !== undefined; job = this.#queue.take(this.#mayBegin)) this.#begin(job);
  }

  readonly #mayBegin = ({ kind, client }: Job): boolean => {
    let same = 0;
    let ofNetwork = 0;
    const network = clientOf(client.remoteAddress);
    for (const { job } of this.#running.values()) {
      if (job.kind !== kind) continue;
      same++;
      if (clientOf(job.client.remoteAddress) === network) ofNetwork++;
    }
    const most = this.#most[kind];
    // Requests that yield to each other share the thread: one client gains nothing from having several at work.
    return same < most && (most === 1 || ofNetwork < Math.ceil(most / 2));
  };

  #begin(job: Job): void {
    this.#thread ??= this.#startThread();
    this.#timer ??= setInterval(() => this.#check(), CHECK_INTERVAL_MS).unref();
    const taken = new Set([...this.#running.values()].map(({ place }) => place));
    const place = this.#givenUp.findIndex((_, index) => !taken.has(index));
    Atomics.store(this.#givenUp, place, 0);
    const startedMs = this.#nowMs();
    this.#countBusy(startedMs);
    this.#running.set(job.id, { job, place, startedMs, givenUpMs: undefined });
    this.#thread.post({ kind: job.kind === "read" ? "read" : "run", id: job.id, place, text: job.text });
  }

  #startThread(): CostlyThread {
    this.#givenUp = placesOf(this.#limits); // one that is left alone has its own
    this.#threadStartedMs = this.#nowMs();
    this.#threadReadyMs = undefined;
    const thread = this.#dependencies.startThread(this.#givenUp, {
      onReady: () => {
        if (this.#thread === thread) this.#threadReadyMs = this.#nowMs();
      },
      onMessage: (message) => {
        if (this.#thread === thread) this.#receive(thread, message);
      },
      onEnd: (reason) => {
        if (this.#thread !== thread) return;
        this.#notBeforeMs = this.#nowMs() + RESTART_DELAY_MS;
        this.#lose(reason);
      },
    });
    return thread;
  }

  #receive(thread: CostlyThread, message: Parameters<CostlyThreadEvents["onMessage"]>[0]): void {
    if (message.kind === "call") {
      void this.#dependencies
        .ask(message.text, message.reader)
        .catch((error: unknown) =>
          errorAnswer(error instanceof RpcError ? error.toBody() : { code: SERVER_ERROR, message: "no answer" }),
        )
        .then((text) => thread.post({ kind: "answer", id: message.id, text }));
      return;
    }
    this.#finish(message);
  }

  #finish({ id, result, workedMs, gas }: Extract<MessageFromCostly, { kind: "done" }>): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    const { job, givenUpMs } = running;
    this.#countBusy(this.#nowMs());
    this.#running.delete(id);
    this.#queue.charge(job.client, workedMs);
    this.#dependencies.budgets.charge(job.client, gas);
    this.#metrics.gas.add(gas);
    if (job.kind !== "read") this.#dependencies.learn(job.client, workedMs);
    if (givenUpMs === undefined) {
      job.stopListening();
      job.resolve(result);
    }
    this.#startDue();
    if (this.#running.size === 0) this.#idleSinceMs = this.#nowMs();
  }

  #giveUp(job: Job): void {
    this.#metrics.givenUp.inc();
    const running = this.#running.get(job.id);
    if (running === undefined) {
      this.#queue.remove(job.client, job);
      const at = this.#again.indexOf(job);
      if (at !== -1) this.#again.splice(at, 1);
    } else {
      running.givenUpMs = this.#nowMs();
      Atomics.store(this.#givenUp, running.place, 1);
    }
    job.reject(gone());
  }

  /** Ends a thread that does not come back from one request, and one that has had nothing to do for long. */
  #check(): void {
    const nowMs = this.#nowMs();
    const { hardLimitMs } = this.#limits;
    const readyMs = this.#threadReadyMs;
    if (readyMs === undefined) {
      // A start continues even if its request ends: the next request would have to start the thread again, and wait as long.
      if (this.#thread !== undefined && nowMs - this.#threadStartedMs > START_LIMIT_MS) this.#lose("it does not start");
      return;
    }
    for (const { job, startedMs, givenUpMs } of this.#running.values()) {
      const isTooLong = hardLimitMs > 0 && nowMs - Math.max(startedMs, readyMs) > hardLimitMs;
      const isStuck = givenUpMs !== undefined && nowMs - Math.max(givenUpMs, readyMs) > GIVEN_UP_LIMIT_MS && this.#leftAlone === 0;
      if (!isTooLong && !isStuck) continue;
      this.#running.delete(job.id);
      this.#queue.charge(job.client, nowMs - startedMs);
      this.#dependencies.budgets.charge(job.client, Number.POSITIVE_INFINITY); // the burned gas is unknown
      if (givenUpMs === undefined) {
        job.stopListening();
        job.reject(new RpcError(SERVER_ERROR, `took longer than ${formatDurationMs(hardLimitMs)} (--rpc.workertimeout)`));
      }
      this.#lose(isTooLong ? "one request took too long" : "one request does not end after its client has gone");
      return;
    }
    if (this.#running.size > 0) return;
    this.#startDue();
    if (this.#running.size > 0 || this.#queue.size > 0 || nowMs - this.#idleSinceMs < IDLE_MS) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#thread?.post({ kind: "close" });
    this.#thread = undefined;
  }

  #leaveAlone(): void {
    const thread = this.#thread;
    if (thread === undefined) return;
    this.#thread = undefined;
    this.#giveUpAll();
    this.#leftAlone++;
    void thread.end(LEFT_ALONE_LIMIT_MS).finally(() => this.#leftAlone--);
  }

  #giveUpAll(): void {
    for (let place = 0; place < this.#givenUp.length; place++) Atomics.store(this.#givenUp, place, 1);
  }

  /**
   * Restarts the requests of a lost thread in another one, except a request that was lost twice, and a large one, whose text was
   * transferred.
   */
  #lose(reason: string): void {
    this.#leaveAlone();
    this.#metrics.restarts.inc();
    this.#dependencies.log.warn("the thread for costly requests is replaced", { reason });
    for (const { job, givenUpMs } of this.#running.values()) {
      if (givenUpMs !== undefined) continue;
      if (++job.losses < MAX_LOSSES && typeof job.text === "string") {
        this.#again.push(job);
        continue;
      }
      this.#dependencies.budgets.charge(job.client, Number.POSITIVE_INFINITY);
      job.stopListening();
      job.reject(new RpcError(SERVER_ERROR, `not finished: the thread that worked on it ended (${reason})`));
    }
    this.#running.clear();
    this.#startDue();
  }
}

const placesOf = ({ maxTraces }: CostlyLimits): Int32Array<SharedArrayBuffer> =>
  new Int32Array(new SharedArrayBuffer(4 * (CALLS + SEARCHES + READS + maxTraces)));

const gone = (): RpcError => new RpcError(SERVER_ERROR, CLIENT_GONE);

const createCostlyMetrics = (
  m: MetricFactory,
  gauges: { readonly waiting: () => number; readonly waitingBytes: () => number; readonly running: () => number },
) => {
  m.gaugeOf("rpc_costly_waiting", "Costly requests that wait for their turn.", gauges.waiting);
  m.gaugeOf("rpc_costly_waiting_bytes", "Size of the costly requests that wait for their turn.", gauges.waitingBytes);
  m.gaugeOf("rpc_costly_running", "Costly requests in progress.", gauges.running);
  return {
    refused: m.counter<{ limit: QueueRefusal | "gas" }>(
      "rpc_costly_refused_total",
      "Costly requests refused, by the limit of the queue that was reached; gas: their client had used up its budget, too.",
      ["limit"],
    ),
    gas: m.counter("rpc_costly_gas_total", "Gas that costly requests have burned in the thread for them."),
    givenUp: m.counter("rpc_costly_given_up_total", "Costly requests given up because their clients had closed the connection."),
    restarts: m.counter("rpc_costly_restarts_total", "Threads for costly requests that were replaced."),
  };
};
