import type { Abortable, Clock } from "./clock.ts";

export interface Rate {
  readonly perSec: number;
  /** tokens available at once */
  readonly burst: number;
  /** maximum debt, for work whose cost is known only afterwards; unlimited by default */
  readonly maxDebt?: number;
}

/** A rate limit. The bucket is full at first. */
export class TokenBucket {
  readonly #rate: Rate;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #tokens: number;
  #atMs: number;

  constructor(rate: Rate, clock: Pick<Clock, "monotonicMs">) {
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = rate.burst;
    this.#atMs = clock.monotonicMs();
  }

  /** The available tokens; below 0, a debt. */
  get left(): number {
    const nowMs = this.#clock.monotonicMs();
    // no tokens if the clock goes back
    const passedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs = nowMs;
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + (passedMs * this.#rate.perSec) / 1_000);
    return this.#tokens;
  }

  get isFull(): boolean {
    return this.left === this.#rate.burst;
  }

  /** Time until a token is available; 0 if one is. */
  get msUntilNext(): number {
    const { left } = this;
    // 0.999: tolerates a rounding error of a thousandth of a token
    return left >= 0.999 ? 0 : Math.ceil(((1 - left) / this.#rate.perSec) * 1_000);
  }

  /** Time until a debt is paid; 0 if there is none. */
  get msOfDebt(): number {
    return (Math.max(0, -this.left) / this.#rate.perSec) * 1_000;
  }

  /** Takes a token. @returns whether one was available */
  take(): boolean {
    const hasOne = this.msUntilNext === 0;
    if (hasOne) this.spend();
    return hasOne;
  }

  spend(count = 1): void {
    this.#tokens = Math.max(-(this.#rate.maxDebt ?? Number.POSITIVE_INFINITY), this.left - count);
  }

  /** Waits until a token is available, without taking it. @returns false if the signal was aborted first */
  async wait(clock: Pick<Clock, "sleep">, signal: Abortable): Promise<boolean> {
    for (let ms = this.msUntilNext; ms > 0 && !signal.aborted; ms = this.msUntilNext) await clock.sleep(ms, signal);
    return !signal.aborted;
  }
}
