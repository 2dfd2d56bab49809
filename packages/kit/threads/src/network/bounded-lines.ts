import type { LogLine } from "./sent-logger.ts";

/** Beyond, lines are dropped while the process does not get to write them. */
export const MAX_LOG_LINES = 1_000;

/**
 * Sends log lines within a limit: the receiver subtracts processed lines in `shared[index]`, so nothing piles up for a busy
 * process. Lines beyond the limit are dropped, except errors.
 */
export const boundedLines =
  (shared: Int32Array<SharedArrayBuffer>, index: number, send: (line: LogLine) => void) =>
  (line: LogLine): void => {
    if (Atomics.load(shared, index) >= MAX_LOG_LINES && line.level !== "error") return;
    Atomics.add(shared, index, 1);
    send(line);
  };
