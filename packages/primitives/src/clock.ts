/** Time as a dependency: tests bring a clock that stands still until it is moved. The programs' own is in `@rnode/program`. */
export interface Clock {
  /** milliseconds since the epoch */
  nowMs(): number;
  /** Resolves after `ms`, or as soon as `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: Abortable): Promise<void>;
}

/** What of an `AbortSignal` a sleep needs; the platform's own type is unknown in the pure packages. */
export interface Abortable {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
