import type { Clock } from "@rnode/primitives";

/** Maximum drift of the wall clock from monotonic time between two samples: NTP slews by at most 0.5 ms per second. */
const MAX_DRIFT_MS = 1_000;
/** How late a sample may be before the process counts as stopped. */
const MAX_DELAY_MS = 3_000;
/** How long after a disturbance messages that waited for it may still arrive. */
const SETTLE_MS = 60_000;

/**
 * Detects whether the wall clock and the process can be trusted. The wall clock stepped if it moved by another amount than
 * monotonic time. The process was suspended if a sample is late. A clock that was wrong from the start cannot be detected, so the
 * clock is trusted only after a peer's message agreed with it.
 */
export class ClockWatch {
  readonly #clock: Pick<Clock, "unixMs" | "monotonicMs">;
  readonly #intervalMs: number;
  readonly #onStep: (byMs: number) => void;
  #last: { readonly offsetMs: number; readonly atMs: number };
  #disturbedMs = Number.NEGATIVE_INFINITY;
  #isConfirmed = false;

  /**
   * @param intervalMs longest regular time between two samples
   * @param onStep the time of day was set, by this many milliseconds; negative: back
   */
  constructor(clock: Pick<Clock, "unixMs" | "monotonicMs">, intervalMs: number, onStep: (byMs: number) => void = () => {}) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onStep = onStep;
    this.#last = this.#read();
  }

  /** Call it at each interval, and before each check against the wall clock. */
  sample(): void {
    const now = this.#read();
    const { offsetMs, atMs } = this.#last;
    this.#last = now;
    const stepMs = now.offsetMs - offsetMs;
    const isStep = Math.abs(stepMs) > MAX_DRIFT_MS;
    if (isStep || now.atMs - atMs > this.#intervalMs + MAX_DELAY_MS) {
      this.#disturbedMs = now.atMs;
      this.#isConfirmed = false;
    }
    if (isStep) this.#onStep(stepMs);
  }

  /** A message of another machine agrees with the time of day. */
  confirm(): void {
    this.#isConfirmed = true;
  }

  /** No disturbance for a minute. */
  get isSettled(): boolean {
    return this.#last.atMs - this.#disturbedMs >= SETTLE_MS;
  }

  /** Settled, and confirmed since the last disturbance. */
  get isTrusted(): boolean {
    return this.isSettled && this.#isConfirmed;
  }

  #read() {
    const atMs = this.#clock.monotonicMs();
    return { offsetMs: this.#clock.unixMs() - atMs, atMs };
  }
}
