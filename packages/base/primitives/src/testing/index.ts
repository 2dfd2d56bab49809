import type { Abortable, Clock } from "../time/clock.ts";

/** Integers from 0 to below `limit`; the same seed gives the same sequence (mulberry32). */
export type Random = (limit: number) => number;

export function createRandom(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  };
}

/** Like `createRandom`, but fractions from 0 to below 1. */
export function createRandomFraction(seed: number): () => number {
  const random = createRandom(seed);
  return () => random(2 ** 32) / 2 ** 32;
}

/** A clock that only tests move. All due sleepers wake at once; those of `SimClock` wake one after the other. */
export class ManualClock implements Clock {
  now: number;
  /** error of the wall clock */
  offsetMs = 0;
  private sleepers: { at: number; wake: () => void }[] = [];

  constructor(now = 0) {
    this.now = now;
  }

  unixMs(): number {
    return this.now + this.offsetMs;
  }

  monotonicMs(): number {
    return this.now;
  }

  sleep(ms: number, signal?: Abortable): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) {
        resolve();
        return;
      }
      const wake = (): void => {
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.sleepers.push({ at: this.now + ms, wake });
      signal?.addEventListener("abort", wake);
    });
  }

  /** The sleepers resume after this call. */
  advance(ms: number): void {
    this.now += ms;
    const due = this.sleepers.filter(({ at }) => at <= this.now);
    this.sleepers = this.sleepers.filter(({ at }) => at > this.now);
    for (const { wake } of due) wake();
  }
}
