/**
 * Time as a dependency: the clock of a test moves only when the test moves it. The programs use `systemClock` of
 * `@rnode/program`.
 *
 * The wall clock jumps when an operator or NTP sets it. So intervals, deadlines and ages are measured with `monotonicMs`.
 * `scripts/check-clocks.mjs` lists the files that may read the wall clock.
 */
export interface Clock {
  /**
   * Wall clock: milliseconds since the Unix epoch, to compare with timestamps of blocks, tokens and files. May jump both ways.
   */
  unixMs(): number;
  /** Milliseconds since an arbitrary start. Never goes back and never jumps, even while the wall clock is set. */
  monotonicMs(): number;
  /** Resolves after `ms`, or as soon as `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: Abortable): Promise<void>;
}

/** The part of `AbortSignal` that a sleep needs; the platform's type is not available in the pure packages. */
export interface Abortable {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
