import type { RequestContext } from "../wire/method-table.ts";
import { FairQueue } from "./fair-queue.ts";

/** How much of each turn of the event loop goes to slices that waited, and how much to those that need not wait. */
const TURN_MS = 1;

interface Slice {
  readonly client: RequestContext;
  readonly run: () => void;
  /** its work goes on after `run` has returned, in the same turn */
  readonly goesOn: boolean;
}

/**
 * The work of many clients, in slices: some go on in each turn of the event loop, so that what arrives is read between them. Whose
 * turn it is, is decided as in a `FairQueue`: a client that has much to do waits for those that have little.
 */
export class Turns {
  readonly #waiting = new FairQueue<Slice>({
    maxItems: Number.POSITIVE_INFINITY,
    maxItemsPerNetwork: Number.POSITIVE_INFINITY,
    maxBytes: Number.POSITIVE_INFINITY,
  });
  readonly #nowMs: () => number;
  readonly #afterwards: (run: () => void) => void;
  /** time that slices had in this turn of the event loop without waiting */
  #usedMs = 0;
  #isScheduled = false;
  #isRunning = false;

  /** @param afterwards runs something in the next turn of the event loop, or in one soon after */
  constructor(nowMs: () => number = () => performance.now(), afterwards: (run: () => void) => void = setImmediate) {
    this.#nowMs = nowMs;
    this.#afterwards = afterwards;
  }

  /** Settles when the client's work may go on, for a slice. */
  next(client: RequestContext): Promise<void> {
    return new Promise((resolve) => this.#add({ client, run: resolve, goesOn: true }));
  }

  /** Runs a slice, which ends by itself: at once if nobody waits and there is time, otherwise when it is the client's turn. */
  run(client: RequestContext, slice: () => void): void {
    if (this.#isRunning || this.#waiting.size > 0 || this.#usedMs >= TURN_MS) {
      this.#add({ client, run: slice, goesOn: false });
      return;
    }
    this.#usedMs += this.#measured(slice);
    this.#schedule();
  }

  /** Counts the time of the slice that began with `next`. */
  charge(client: RequestContext, usedMs: number): void {
    this.#waiting.charge(client, usedMs);
  }

  #add(slice: Slice): void {
    this.#waiting.add(slice.client, slice, 0);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#afterwards(this.#give);
  }

  #measured(slice: () => void): number {
    const startMs = this.#nowMs();
    this.#isRunning = true;
    try {
      slice();
    } finally {
      this.#isRunning = false;
    }
    return this.#nowMs() - startMs;
  }

  readonly #give = (): void => {
    this.#isScheduled = false;
    this.#usedMs = 0;
    for (let leftMs = TURN_MS; leftMs > 0; ) {
      const slice = this.#waiting.take();
      if (slice === undefined) return;
      if (slice.goesOn) {
        slice.run();
        break;
      }
      const usedMs = this.#measured(slice.run);
      this.#waiting.charge(slice.client, usedMs);
      leftMs -= usedMs;
    }
    if (this.#waiting.size > 0) this.#schedule();
  };
}
