import type { Clock } from "@rnode/primitives";

export interface Rate {
  readonly perSec: number;
  readonly burst: number;
}

/** So many at once, and so many a second on the long run. Full at first. */
export class TokenBucket {
  private readonly rate: Rate;
  private readonly clock: Clock;
  /** below zero: a debt that is paid before anybody is let through */
  private tokens: number;
  private atMs: number;

  constructor(rate: Rate, clock: Clock) {
    this.rate = rate;
    this.clock = clock;
    this.tokens = rate.burst;
    this.atMs = clock.monotonicMs();
  }

  /** How long until there is a token; 0: now. */
  get msUntilNext(): number {
    this.refill();
    // a thousandth of a token is what rounding may cost
    return this.tokens >= 0.999 ? 0 : Math.ceil(((1 - this.tokens) / this.rate.perSec) * 1_000);
  }

  /** @returns whether there was a token, which is then taken */
  take(): boolean {
    const hasOne = this.msUntilNext === 0;
    if (hasOne) this.spend();
    return hasOne;
  }

  spend(count = 1): void {
    this.refill();
    this.tokens -= count;
  }

  /** Waits until there is a token, without taking it. @returns false: the signal was aborted first */
  async wait(signal: AbortSignal): Promise<boolean> {
    for (let ms = this.msUntilNext; ms > 0 && !signal.aborted; ms = this.msUntilNext) await this.clock.sleep(ms, signal);
    return !signal.aborted;
  }

  private refill(): void {
    const nowMs = this.clock.monotonicMs();
    // a clock that is set back gives nothing
    const passedMs = Math.max(0, nowMs - this.atMs);
    this.atMs = nowMs;
    this.tokens = Math.min(this.rate.burst, this.tokens + (passedMs * this.rate.perSec) / 1_000);
  }
}
