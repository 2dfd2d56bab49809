import type { RequestContext } from "../wire/method-table.ts";
import { FairQueue } from "./fair-queue.ts";

/** Time per turn of the event loop for waiting slices, and for slices that need not wait. */
const TURN_MS = 1;

interface Slice {
  readonly client: RequestContext;
  readonly run: () => void;
  /** its work continues after `run` has returned, in the same turn */
  readonly goesOn: boolean;
}

/**
 * Runs the work of many clients in slices: some in each turn of the event loop, so that new requests are read in between. The
 * order is that of a `FairQueue`: clients with much work wait for clients with little.
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

  /** Resolves when the client's work may continue, for a slice. */
  next(client: RequestContext): Promise<void> {
    return new Promise((resolve) => this.#add({ client, run: resolve, goesOn: true }));
  }

  /** Runs a slice: at once if no other waits and there is time, otherwise when it is the client's turn. */
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
