import type { Clock } from "@rnode/primitives";

/** The machine's time, for tests on real sockets. */
export const runningClock: Clock = {
  unixMs: () => Math.floor(performance.timeOrigin + performance.now()),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(ms, 2 ** 31 - 1));
      signal?.addEventListener("abort", wake);
    }),
};

/** seconds since the epoch */
export const nowSec = (): number => Math.floor(runningClock.unixMs() / 1000);
