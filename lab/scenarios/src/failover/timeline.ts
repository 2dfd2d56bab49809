interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly action: () => void;
}

/** Actions at simulated times, in the order of their times, then of their scheduling. PERF: without promises, which take most of a seed's time. */
export class Timeline {
  nowMs: number;
  #order = 0;
  /** by time, the next one last */
  readonly #events: Event[] = [];

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  after(delayMs: number, action: () => void): { readonly cancel: () => void } {
    const event: Event = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, action };
    let at = this.#events.length;
    while (at > 0 && this.#events[at - 1]!.atMs <= event.atMs) at--;
    this.#events.splice(at, 0, event);
    return {
      cancel: () => {
        const found = this.#events.indexOf(event);
        if (found >= 0) this.#events.splice(found, 1);
      },
    };
  }

  run(untilMs: number): void {
    for (let next = this.#events.at(-1); next !== undefined && next.atMs <= untilMs; next = this.#events.at(-1)) {
      this.#events.pop();
      this.nowMs = next.atMs;
      next.action();
    }
    this.nowMs = untilMs;
  }
}

/** A part of a machine. What happens while it is paused happens when it is resumed, in the same order; what it had planned ends with a crash. */
export class Component {
  readonly #timeline: Timeline;
  #pausedUntilMs = 0;
  #life = 0;
  isUp = true;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  get isPaused(): boolean {
    return this.#timeline.nowMs < this.#pausedUntilMs;
  }

  after(delayMs: number, action: () => void): { readonly cancel: () => void } {
    const life = this.#life;
    let isCancelled = false;
    const fire = (): void => {
      if (isCancelled || !this.isUp || life !== this.#life) return;
      if (this.isPaused) this.#timeline.after(this.#pausedUntilMs - this.#timeline.nowMs, fire);
      else action();
    };
    const timer = this.#timeline.after(delayMs, fire);
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#timeline.nowMs + forMs);
  }

  crash(): void {
    this.isUp = false;
    this.#life++;
    this.#pausedUntilMs = 0;
  }
}
