import type { Abortable, Clock } from "@rnode/primitives";

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** A clock that stands still until it is told to run. Everything that is awaited has to depend on it alone. */
export class SteppedClock implements Clock {
  private now: number;
  private readonly sleepers = new Set<Sleeper>();

  constructor(nowMs: number) {
    this.now = nowMs;
  }

  nowMs(): number {
    return this.now;
  }

  sleep(ms: number, signal?: Abortable): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        this.sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { atMs: this.now + ms, wake };
      this.sleepers.add(sleeper);
      signal?.addEventListener("abort", wake);
    });
  }

  /** Lets time pass, waking one sleeper after the other and letting each do what it wants to do. */
  async run(ms: number): Promise<void> {
    const endMs = this.now + ms;
    for (;;) {
      await settle();
      let next: Sleeper | undefined;
      for (const sleeper of this.sleepers) if (next === undefined || sleeper.atMs < next.atMs) next = sleeper;
      if (next === undefined || next.atMs > endMs) break;
      this.now = Math.max(this.now, next.atMs);
      next.wake();
    }
    this.now = endMs;
  }
}

/** Until nothing is left to do but to wait. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
