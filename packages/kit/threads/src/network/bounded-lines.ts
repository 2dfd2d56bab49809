import type { LogLine } from "./sent-logger.ts";

/** Beyond, lines are dropped while the process does not get to write them. */
export const MAX_LOG_LINES = 1_000;

/**
 * Sends lines within a bound: whoever takes one counts down `shared[index]`, so nothing piles up before a process that is busy. A line more
 * or less is nothing; that the process does not drown in lines is. Errors always go.
 */
export const boundedLines =
  (shared: Int32Array<SharedArrayBuffer>, index: number, send: (line: LogLine) => void) =>
  (line: LogLine): void => {
    if (Atomics.load(shared, index) >= MAX_LOG_LINES && line.level !== "error") return;
    Atomics.add(shared, index, 1);
    send(line);
  };
