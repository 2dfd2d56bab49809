/** What somebody may use: `burst` at once, and in the long run `perMs`. */
export interface Rate {
  readonly burst: number;
  readonly perMs: number;
}

/** What somebody who uses something at a limited rate has left of it. */
export class Allowance {
  readonly #rate: Rate;
  /** what may be owed, as it is known only afterwards how much was used */
  readonly #maxDebt: number;
  #left: number;
  #atMs: number;

  constructor(rate: Rate, nowMs: number, maxDebt = Number.POSITIVE_INFINITY) {
    this.#rate = rate;
    this.#maxDebt = maxDebt;
    this.#left = rate.burst;
    this.#atMs = nowMs;
  }

  /** below 0: a debt */
  left(nowMs: number): number {
    const { burst, perMs } = this.#rate;
    this.#left = Math.min(burst, this.#left + (nowMs - this.#atMs) * perMs);
    this.#atMs = nowMs;
    return this.#left;
  }

  isFull(nowMs: number): boolean {
    return this.left(nowMs) === this.#rate.burst;
  }

  use(amount: number): void {
    this.#left = Math.max(-this.#maxDebt, this.#left - amount);
  }
}
