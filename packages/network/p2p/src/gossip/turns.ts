interface Waiting {
  readonly sinceMs: number;
  readonly start: (turn: Turn) => void;
}

/** `full`: too many wait already; `late`: it waited too long. Neither is done then. */
export type Turn = "go" | "full" | "late";

export interface TurnLimits {
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/**
 * One piece of work at a time, in the order of arrival, and the event loop gets its turn between two of them. Where every peer has
 * at most one piece of work waiting here, all peers have equal shares.
 */
export class Turns {
  private readonly limits: TurnLimits;
  private readonly nowMs: () => number;
  private readonly queue: Waiting[] = [];
  private isBusy = false;

  constructor(limits: TurnLimits, nowMs: () => number) {
    this.limits = limits;
    this.nowMs = nowMs;
  }

  /** Does the work in its turn, or returns why not. */
  async take(work: () => Promise<void>): Promise<Turn> {
    const turn = await this.wait();
    if (turn !== "go") return turn;
    try {
      await work();
    } finally {
      setImmediate(() => this.next());
    }
    return turn;
  }

  private wait(): Promise<Turn> {
    if (!this.isBusy) {
      this.isBusy = true;
      return Promise.resolve("go");
    }
    if (this.queue.length >= this.limits.maxWaiting) return Promise.resolve("full");
    return new Promise((start) => this.queue.push({ sinceMs: this.nowMs(), start }));
  }

  private next(): void {
    for (let first = this.queue.shift(); first !== undefined; first = this.queue.shift()) {
      const isLate = this.nowMs() - first.sinceMs > this.limits.maxWaitMs;
      first.start(isLate ? "late" : "go");
      if (!isLate) return;
    }
    this.isBusy = false;
  }
}
