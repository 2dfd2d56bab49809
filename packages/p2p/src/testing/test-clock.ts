import type { Abortable, Clock } from "@rnode/primitives";

interface Sleeper {
  readonly wakeMs: number;
  readonly wake: () => void;
}

/** Stands still until it is advanced. */
export class TestClock implements Clock {
  #nowMs: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(nowMs = 1_800_000_000_000) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: Abortable): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper: Sleeper = { wakeMs: this.#nowMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", wake);
    });
  }

  /** Lets `ms` pass. Whoever wakes has a turn of the event loop before time goes on. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const [next] = [...this.#sleepers].filter(({ wakeMs }) => wakeMs <= endMs).sort((a, b) => a.wakeMs - b.wakeMs);
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.wakeMs);
      next.wake();
    }
    this.#nowMs = endMs;
  }
}
