import type { Clock } from "@rnode/primitives";

/**
 * Bounds the CPU time of synchronous work to a share of one core: after each piece, the next one waits in proportion to the time that the piece took.
 * Pieces of all callers run in their order, one at a time.
 */
export class WorkShare {
  readonly #share: number;
  readonly #clock: Clock;
  #nextMs = 0;
  #last: Promise<void> = Promise.resolve();

  /** @param share above 0, at most 1 */
  constructor(share: number, clock: Clock) {
    this.#share = share;
    this.#clock = clock;
  }

  /** @returns `undefined`: the signal was aborted before the work's turn */
  run<T>(work: () => T, signal: AbortSignal): Promise<T | undefined> {
    const turn = this.#last.then(() => this.#run(work, signal));
    this.#last = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async #run<T>(work: () => T, signal: AbortSignal): Promise<T | undefined> {
    if (signal.aborted) return undefined;
    const waitMs = this.#nextMs - this.#clock.monotonicMs();
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    if (signal.aborted) return undefined;
    const startMs = this.#clock.monotonicMs();
    try {
      return work();
    } finally {
      const endMs = this.#clock.monotonicMs();
      this.#nextMs = endMs + (endMs - startMs) * (1 / this.#share - 1);
    }
  }
}
