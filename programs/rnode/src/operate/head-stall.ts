import type { LogFields } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";

/** Ethereum misses single slots now and then; five in a row are worth a word. */
const MIN_STALL_MS = 60_000;

/** Whether an L1 that answers makes no blocks, and since when. */
export class HeadStall {
  private readonly clock: Pick<Clock, "monotonicMs">;
  private changedMs: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.clock = clock;
  }

  /** The head is another one. */
  changed(): void {
    this.changedMs = this.clock.monotonicMs();
  }

  /** Since when the head has been the same; undefined: not for long, or no head is known. */
  get stall(): LogFields | undefined {
    if (this.changedMs === undefined) return undefined;
    const sameMs = this.clock.monotonicMs() - this.changedMs;
    if (sameMs < MIN_STALL_MS) return undefined;
    return { l1StalledSince: new Date(this.changedMs).toISOString(), l1StalledSec: Math.round(sameMs / 1000) };
  }
}
