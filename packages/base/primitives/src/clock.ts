/**
 * Time as a dependency: tests use a clock that stands still until it is moved. The programs use `systemClock` of
 * `@rnode/program`.
 *
 * The time of day jumps when an operator or NTP sets it. Intervals, deadlines and ages of what this process saw are measured
 * with `monotonicMs`; `scripts/check-clocks.mjs` lists the files that may ask for the time of day.
 */
export interface Clock {
  /** Time of day: milliseconds since the Unix epoch, to compare with timestamps of blocks, tokens and files. May jump both ways. */
  unixMs(): number;
  /** Milliseconds since an arbitrary start. Never goes back and never jumps, also while the time of day is set. */
  monotonicMs(): number;
  /** Resolves after `ms`, or as soon as `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: Abortable): Promise<void>;
}

/** The part of `AbortSignal` that a sleep needs; the platform's own type is not available in the pure packages. */
export interface Abortable {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
