import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import {
  SIGNAL_COUNT,
  SIGNAL_GAUGE,
  SIGNAL_REPLIES,
  SIGNAL_STATE,
  STATE_ENDED,
  STATE_SERVES,
  type WorkerReply,
  type WorkerRequest,
  type WorkerStart,
} from "./protocol.ts";

export interface WorkerOptions {
  /** a program that calls `serveWorker` */
  readonly program: URL;
  readonly data: unknown;
  readonly youngGenerationMb?: number | undefined;
  /** a thread that leaves its questions unanswered for this long is ended */
  readonly maxSilenceMs?: number | undefined;
  /** options for Node; default: those of this process */
  readonly execArgv?: readonly string[] | undefined;
}

/** For threads that run another program, or run it differently. */
export type ThreadOverrides = Partial<Pick<WorkerOptions, "program" | "maxSilenceMs" | "execArgv">>;

/** An answer that a caller can wait for without its event loop. */
export interface AwaitedAnswer<A> {
  /** @returns `undefined`: no answer */
  wait(): A | undefined;
}

/** When run from sources (in tests), there is no file that a thread could load. */
export const isCompiled = (moduleUrl: string): boolean => moduleUrl.endsWith(".js");

/** Whether a thread would finish the work sooner. */
export const hasThreads = (moduleUrl: string): boolean => isCompiled(moduleUrl) && availableParallelism() > 1;

/** Enough for a busy machine: whole groups of blocks take some seconds. */
const MAX_SILENCE_MS = 30_000;
/** The delay before replacing a thread that never answered; it doubles with each one in a row. */
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 60_000;

interface Pending<A> {
  settle(reply: WorkerReply<A> | undefined): void;
}

/**
 * A thread that answers requests in order, while the host is open. A thread that exits, throws, or hangs is lost with its pending
 * requests, which get no answer; the next request starts another thread. The thread keeps the process alive only while a caller
 * waits.
 */
export class WorkerHost<Q, A> {
  readonly #options: WorkerOptions;
  #thread: Thread<A> | undefined;
  #lastId = 0;
  #losses = 0;
  /** how many threads in a row never answered */
  #vainStarts = 0;
  #notBeforeMs = 0;
  #isClosed = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Starts the thread, unless it is running or was lost a moment ago. @returns whether it takes questions at once */
  start(): boolean {
    return this.#started()?.isServing ?? false;
  }

  /** The number that the thread reports about itself. */
  get gauge(): number {
    return this.#thread?.gauge ?? 0;
  }

  /** how many times a thread was lost */
  get losses(): number {
    return this.#losses;
  }

  #started(): Thread<A> | undefined {
    if (this.#thread?.hasEnded === true) this.#lose(this.#thread);
    if (this.#thread !== undefined || this.#isClosed || performance.now() < this.#notBeforeMs) return this.#thread;
    const thread = new Thread<A>(this.#options, () => this.#lose(thread));
    this.#thread = thread;
    return thread;
  }

  #lose(thread: Thread<A>): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    void thread.end();
    this.#losses++;
    this.#vainStarts = thread.hasAnswered ? 0 : this.#vainStarts + 1;
    const delayMs = thread.hasAnswered ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#vainStarts - 1));
    this.#notBeforeMs = performance.now() + delayMs;
  }

  /** @param transfer buffers that the caller must not use afterwards. @returns `undefined`: no answer */
  ask(question: Q, transfer: readonly ArrayBuffer[] = []): Promise<A | undefined> {
    const thread = this.#started();
    if (thread === undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      thread.ask({ id: ++this.#lastId, question }, transfer, {
        settle: (reply) => resolve(reply?.kind === "answer" ? reply.answer : undefined),
      });
    });
  }

  /** Like `ask`; an unneeded answer is dropped. @param maxWaitMs after this time, the thread counts as lost */
  askToWait(question: Q, transfer: readonly ArrayBuffer[], maxWaitMs: number): AwaitedAnswer<A> {
    const thread = this.#started();
    let reply: WorkerReply<A> | undefined;
    let isSettled = thread === undefined;
    thread?.ask({ id: ++this.#lastId, question }, transfer, {
      settle(settled) {
        reply = settled;
        isSettled = true;
      },
    });
    return {
      wait: () => {
        if (thread !== undefined && !isSettled && !thread.waitUntil(() => isSettled, maxWaitMs)) this.#lose(thread);
        return reply?.kind === "answer" ? reply.answer : undefined;
      },
    };
  }

  /** Sends the thread something that needs no answer. @returns false: there is no thread to send it to */
  tell(question: Q, transfer: readonly ArrayBuffer[] = []): boolean {
    const thread = this.#started();
    thread?.post({ id: 0, question }, transfer);
    return thread !== undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.end();
  }
}

/** One thread, from start to end. */
class Thread<A> {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #signals = new Int32Array(new SharedArrayBuffer(4 * SIGNAL_COUNT));
  readonly #pending = new Map<number, Pending<A>>();
  readonly #maxSilenceMs: number;
  readonly #onLoss: () => void;
  #silence: NodeJS.Timeout | undefined;
  hasAnswered = false;

  constructor({ program, data, youngGenerationMb, maxSilenceMs = MAX_SILENCE_MS, execArgv }: WorkerOptions, onLoss: () => void) {
    const { port1, port2 } = new MessageChannel();
    const start: WorkerStart = { port: port2, signals: this.#signals, data };
    this.#maxSilenceMs = maxSilenceMs;
    this.#onLoss = onLoss;
    this.#port = port1;
    this.#worker = new Worker(program, {
      workerData: start,
      transferList: [port2],
      ...(execArgv !== undefined && { execArgv: [...execArgv] }),
      ...(youngGenerationMb !== undefined && { resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb } }),
    });
    this.#worker.on("error", onLoss);
    this.#worker.on("exit", onLoss);
    this.#port.on("message", (reply: WorkerReply<A>) => this.#settle(reply));
    this.#setWaiting();
  }

  get isServing(): boolean {
    return Atomics.load(this.#signals, SIGNAL_STATE) === STATE_SERVES;
  }

  get hasEnded(): boolean {
    return Atomics.load(this.#signals, SIGNAL_STATE) === STATE_ENDED;
  }

  get gauge(): number {
    return Atomics.load(this.#signals, SIGNAL_GAUGE);
  }

  post(request: WorkerRequest<unknown>, transfer: readonly ArrayBuffer[]): void {
    this.#port.postMessage(request, [...transfer]);
  }

  ask(request: WorkerRequest<unknown>, transfer: readonly ArrayBuffer[], pending: Pending<A>): void {
    this.#pending.set(request.id, pending);
    this.post(request, transfer);
    if (this.#pending.size === 1) this.#setWaiting();
  }

  #settle(reply: WorkerReply<A>): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    this.hasAnswered = true;
    this.#setWaiting();
    pending?.settle(reply);
  }

  /** A caller waits: the process must not exit meanwhile, and the thread must not hang. */
  #setWaiting(): void {
    clearTimeout(this.#silence);
    if (this.#pending.size === 0) {
      this.#worker.unref();
      this.#port.unref();
      return;
    }
    this.#worker.ref();
    this.#port.ref();
    this.#silence = setTimeout(() => this.#onSilence(), this.#maxSilenceMs);
  }

  /** If the caller itself was busy for that long, replies have arrived. */
  #onSilence(): void {
    if (!this.#takeReplies()) this.#onLoss();
  }

  #takeReplies(): boolean {
    let hasAny = false;
    for (;;) {
      const received = receiveMessageOnPort(this.#port) as { message: WorkerReply<A> } | undefined;
      if (received === undefined) return hasAny;
      this.#settle(received.message);
      hasAny = true;
    }
  }

  /** Receives replies without the event loop. @returns false: the thread has ended, or took too long */
  waitUntil(isSettled: () => boolean, maxWaitMs: number): boolean {
    const deadlineMs = performance.now() + maxWaitMs;
    for (;;) {
      const replies = Atomics.load(this.#signals, SIGNAL_REPLIES);
      const { hasEnded } = this;
      this.#takeReplies();
      if (isSettled()) return true;
      const leftMs = deadlineMs - performance.now();
      if (hasEnded || leftMs <= 0) return false;
      Atomics.wait(this.#signals, SIGNAL_REPLIES, replies, leftMs);
    }
  }

  /** Ends the thread; open questions get no answer. */
  async end(): Promise<void> {
    clearTimeout(this.#silence);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#port.close();
    for (const each of pending) each.settle(undefined);
    await this.#worker.terminate();
  }
}
