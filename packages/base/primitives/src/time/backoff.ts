import type { Abortable, Clock } from "./clock.ts";

export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The pause after a number of failures in a row: `firstMs`, then twice as long each time, at most `maxMs`. 0 without failures. */
export const backoffMs = (failures: number, { firstMs, maxMs }: BackoffRange): number =>
  failures === 0 ? 0 : Math.min(maxMs, firstMs * 2 ** (failures - 1));

/** Growing pauses between attempts. */
export class Backoff {
  readonly #range: BackoffRange;
  /** upper bound of the random part of a pause */
  readonly #jitterMs: number;
  readonly #random: () => number;
  #failures = 0;

  /** @param random a number from 0 to 1 */
  constructor(range: BackoffRange, jitterMs = 0, random: () => number = () => 0) {
    this.#range = range;
    this.#jitterMs = jitterMs;
    this.#random = random;
  }

  /** Failed attempts in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failed attempt. @returns the pause that follows it */
  nextMs(): number {
    return backoffMs(++this.#failures, this.#range) + Math.floor(this.#random() * this.#jitterMs);
  }

  reset(): void {
    this.#failures = 0;
  }
}

export interface RetryOptions {
  readonly backoff: Backoff;
  readonly clock: Pick<Clock, "sleep">;
  readonly signal: Abortable;
  /**
   * Throws an error that no retry can resolve.
   * @param failures failed attempts in a row, including this one
   */
  readonly onFailure: (error: unknown, pauseMs: number, failures: number) => void;
}

/** Repeats an attempt until it succeeds. @throws what `onFailure` throws; the last error if the signal is aborted */
export async function retry<T>(attempt: () => Promise<T>, { backoff, clock, signal, onFailure }: RetryOptions): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) throw error;
      const pauseMs = backoff.nextMs();
      onFailure(error, pauseMs, backoff.failures);
      await clock.sleep(pauseMs, signal);
      if (signal.aborted) throw error;
    }
  }
}
