import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { SyncFacts } from "./sync-status.ts";

export interface StatusLineDeps {
  readonly facts: () => SyncFacts;
  /** why the heads are being looked for; undefined in normal operation */
  readonly resetUnderWay: () => string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const INTERVAL_MS = 10_000;

/** One line every ten seconds: where the node is and, when it does not move, what it waits for. */
export class StatusLine {
  private readonly deps: StatusLineDeps;
  private readonly closing = new AbortController();
  private ended: Promise<void> = Promise.resolve();

  constructor(deps: StatusLineDeps) {
    this.deps = deps;
  }

  start(): void {
    this.ended = this.loop();
  }

  close(): Promise<void> {
    this.closing.abort();
    return this.ended;
  }

  private async loop(): Promise<void> {
    const { clock } = this.deps;
    for (;;) {
      await clock.sleep(INTERVAL_MS, this.closing.signal);
      if (this.closing.signal.aborted) return;
      this.print();
    }
  }

  private print(): void {
    const { facts, resetUnderWay, log } = this.deps;
    const { heads, l1, currentL1 } = facts();
    const waitsFor = resetUnderWay();
    log.info("status", {
      l1Head: l1.head?.number,
      derivedTo: currentL1?.number,
      unsafe: heads?.unsafe.number,
      safe: heads?.safe.number,
      finalized: heads?.finalized.number,
      ...(waitsFor === undefined ? {} : { findingHeadsBecause: waitsFor }),
      ...(l1.head === undefined ? { waitingFor: "the L1 head" } : {}),
    });
  }
}
