import { FairQueue } from "./fair-queue.ts";
import type { RequestContext } from "./method-table.ts";

/**
 * Long work of many clients, in slices: one of them goes on in each turn of the event loop, so that short requests are answered between any
 * two slices. Whose turn it is, is decided as in a `FairQueue`.
 */
export class Turns {
  readonly #waiting = new FairQueue<() => void>({
    maxItems: Number.POSITIVE_INFINITY,
    maxItemsPerNetwork: Number.POSITIVE_INFINITY,
    maxBytes: Number.POSITIVE_INFINITY,
  });

  /** Settles when the client's work may go on. */
  next(client: RequestContext): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(client, resolve, 0);
      if (this.#waiting.size === 1) setImmediate(this.#giveOne);
    });
  }

  /** Counts the time of the slice that began with a turn. */
  charge(client: RequestContext, usedMs: number): void {
    this.#waiting.charge(client, usedMs);
  }

  readonly #giveOne = (): void => {
    this.#waiting.take()?.();
    if (this.#waiting.size > 0) setImmediate(this.#giveOne);
  };
}
