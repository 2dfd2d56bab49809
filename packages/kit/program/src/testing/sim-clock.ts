import type { Abortable, Clock } from "@rnode/primitives";

interface Sleeper {
  readonly wakeMs: number;
  readonly order: number;
  readonly wake: () => void;
}

const STEPS_A_TURN = 64;
const MONOTONIC_START_MS = 40_000_000_000;

/** A clock that advances only when all tasks sleep: simulated hours take milliseconds, and are deterministic. */
export class SimClock implements Clock {
  #nowMs: number;
  readonly #startMs: number;
  /** by time, then by the order in which they went to sleep */
  readonly #sleepers: Sleeper[] = [];
  #order = 0;
  #settled = 0;
  #working = 0;

  constructor(startMs = 1_800_000_000_000) {
    this.#nowMs = startMs;
    this.#startMs = startMs;
  }

  unixMs(): number {
    return this.#nowMs;
  }

  /** Far from `unixMs`, so that code which mixes both fails. */
  monotonicMs(): number {
    return this.#nowMs - this.#startMs + MONOTONIC_START_MS;
  }

  sleep(ms: number, signal?: Abortable): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const wake = (): void => {
        const at = this.#sleepers.indexOf(sleeper);
        if (at >= 0) this.#sleepers.splice(at, 1);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = this.#add(ms, wake);
      signal?.addEventListener("abort", wake);
    });
  }

  /** Calls `action` once `ms` have passed. */
  after(ms: number, action: () => void): void {
    const sleeper = this.#add(ms, () => {
      this.#sleepers.splice(this.#sleepers.indexOf(sleeper), 1);
      action();
    });
  }

  /** Waits for work outside this clock (in a thread pool, for example), while the simulated time does not advance. */
  async working<T>(work: Promise<T>): Promise<T> {
    this.#working++;
    try {
      return await work;
    } finally {
      this.#working--;
    }
  }

  /** Lets `ms` pass, waking the sleepers whose time has come one after the other. @param each is called after each of them */
  async advance(ms: number, each: () => void = () => {}): Promise<void> {
    const endMs = this.#nowMs + ms;
    await Promise.resolve(); // a tick that is asked for by a tick comes before promises that can continue
    for (;;) {
      await this.#settle();
      each();
      const [next] = this.#sleepers;
      if (next === undefined || next.wakeMs > endMs) break;
      this.#nowMs = Math.max(this.#nowMs, next.wakeMs);
      next.wake();
    }
    this.#nowMs = endMs;
  }

  #add(ms: number, wake: () => void): Sleeper {
    const sleeper: Sleeper = { wakeMs: this.#nowMs + Math.max(0, ms), order: this.#order++, wake };
    let at = this.#sleepers.length;
    while (at > 0 && this.#sleepers[at - 1]!.wakeMs > sleeper.wakeMs) at--;
    this.#sleepers.splice(at, 0, sleeper);
    return sleeper;
  }

  /**
   * Waits until nothing can happen without time passing. Promises that can continue have done so before a tick, and before an
   * immediate.
   *
   * PERF: a tick costs a tenth of a turn of the event loop. The loop has to turn for outside work, and for detection of unhandled
   * rejections.
   */
  async #settle(): Promise<void> {
    const turnsLoop = ++this.#settled % STEPS_A_TURN === 0;
    if (!turnsLoop) await new Promise<void>((resolve) => process.nextTick(resolve));
    if (!turnsLoop && this.#working === 0) return;
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#working > 0);
  }
}
