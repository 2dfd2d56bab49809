import { setImmediate } from "node:timers/promises";
import type { EvmEngine } from "@rnode/evm";
import { LIMIT_EXCEEDED, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import { formatDurationMs } from "@rnode/program";
import { stepMs, type Work } from "../backend/work.ts";
import { gasCounter } from "../calls/time-limit.ts";

export interface SlotLimits {
  /** maximum number of concurrent executions, each with its own engine */
  readonly maxRunning: number;
  /** limit from a request's arrival to its answer; 0: no limit */
  readonly timeoutMs: number;
  /** how much a request may hold for its answer */
  readonly maxBytes: number;
}

/** The resources of a request while it executes: an engine, and its limits. */
export interface ExecutionSlot extends Work {
  readonly engine: EvmEngine;
  /** how much the request may hold, and how much it holds so far */
  readonly maxBytes: number;
  keptBytes: number;
  /** Yields to other requests if this one has worked for a while. @throws as `check` */
  pause(): Promise<void>;
  /** @throws {RpcError} its time is over. @throws what ends its work */
  check(): void;
}

/** How many requests may wait for each one that executes. */
const WAITING_A_SLOT = 64;
/** How long a request works before it yields. */
const SLICE_MS = 20;

/**
 * Runs long executions, a limited number at once. Each yields to the rest of the program between transactions. Therefore two of them
 * cannot share an engine, which executes one block at a time.
 */
export class ExecutionSlots {
  readonly #limits: SlotLimits;
  readonly #newEngine: () => EvmEngine;
  readonly #nowMs: () => number;
  readonly #idle: EvmEngine[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: SlotLimits, newEngine: () => EvmEngine, nowMs: () => number) {
    this.#limits = limits;
    this.#newEngine = newEngine;
    this.#nowMs = nowMs;
  }

  /** Runs `action` as soon as an engine is free. @throws {RpcError} too many requests wait, it took too long, `work` or `action` threw */
  async run<T>(work: Work, action: (slot: ExecutionSlot) => T | Promise<T>): Promise<T> {
    const { timeoutMs, maxBytes } = this.#limits;
    const endMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : this.#nowMs() + timeoutMs;
    await this.#turn(endMs);
    const engine = this.#idle.pop() ?? this.#newEngine();
    const count = gasCounter(engine, work);
    const check = (stepGas?: bigint): void => {
      count();
      work.check(stepGas);
      if (this.#nowMs() + stepMs(stepGas) > endMs) throw this.#timedOut();
    };
    let sliceStartMs = this.#nowMs();
    engine.setInterrupt(check);
    try {
      return await action({
        engine,
        maxBytes,
        keptBytes: 0,
        check: () => check(),
        burn: (gas) => work.burn(gas),
        pause: async () => {
          check();
          if (this.#nowMs() - sliceStartMs < SLICE_MS) return;
          await setImmediate();
          sliceStartMs = this.#nowMs();
        },
      });
    } finally {
      count();
      engine.setInterrupt(undefined);
      engine.setTracer(undefined);
      this.#idle.push(engine);
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next(); // `next` takes over this slot
    }
  }

  #turn(endMs: number): Promise<void> | undefined {
    const { maxRunning } = this.#limits;
    if (this.#running < maxRunning) {
      this.#running++;
      return undefined;
    }
    const maxWaiting = maxRunning * WAITING_A_SLOT;
    if (this.#waiting.length >= maxWaiting) {
      throw new RpcError(
        LIMIT_EXCEEDED,
        `too many tracing requests: ${maxRunning} run (--rpc.max-tracing-requests) and ${maxWaiting} wait`,
      );
    }
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push(start);
      if (!Number.isFinite(endMs)) return;
      timer = setTimeout(() => {
        const at = this.#waiting.indexOf(start);
        if (at === -1) return;
        this.#waiting.splice(at, 1);
        reject(this.#timedOut());
      }, endMs - this.#nowMs());
      timer.unref();
    });
  }

  #timedOut(): RpcError {
    return new RpcError(SERVER_ERROR, `tracing took longer than ${formatDurationMs(this.#limits.timeoutMs)} (--rpc.tracetimeout)`);
  }
}
