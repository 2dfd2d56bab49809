import type { Clock } from "@rnode/primitives";

interface Sleeper {
  readonly wakeMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/** A clock that only advances when everyone sleeps: simulated hours take milliseconds and are reproducible. */
export class SimClock implements Clock {
  #nowMs = 1_800_000_000_000;
  #sleepers: Sleeper[] = [];
  #order = 0;
  #working = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const wake = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper: Sleeper = { wakeMs: this.#nowMs + Math.max(0, ms), order: this.#order++, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  /** Waits for work outside this clock (in a thread pool, for example), during which time stands still. */
  async working<T>(work: Promise<T>): Promise<T> {
    this.#working++;
    try {
      return await work;
    } finally {
      this.#working--;
    }
  }

  /** Lets `ms` pass and wakes the sleepers whose time has come. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await this.#settle();
      const next = this.#sleepers
        .filter(({ wakeMs }) => wakeMs <= endMs)
        .sort((a, b) => a.wakeMs - b.wakeMs || a.order - b.order)[0];
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.wakeMs);
      next.wake();
    }
    this.#nowMs = endMs;
  }

  /** Waits until nothing can happen without time passing. */
  async #settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#working > 0) quiet = 0;
    }
  }
}
