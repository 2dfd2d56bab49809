/**
 * Time as a dependency: tests use a clock that stands still until it is moved. The programs use `systemClock` of
 * `@rnode/program`.
 */
export interface Clock {
  /** milliseconds since the epoch */
  nowMs(): number;
  /** Resolves after `ms`, or as soon as `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: Abortable): Promise<void>;
}

/** The part of `AbortSignal` that a sleep needs; the platform's own type is not available in the pure packages. */
export interface Abortable {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
