import type { Clock } from "@rnode/primitives";

/** Timers of Node.js count from a time of the event loop, and by `Date.now` some fire a millisecond before they are due. */
const EARLY_MS = 2;

/** Whole milliseconds; the start is far in the past, so that zero is long ago. */
const monotonicMs = (): number => Math.floor(performance.timeOrigin + performance.now());

/** The machine's time. A sleep never ends before either clock has reached its end, unless the time of day was set back meanwhile. */
export const systemClock: Clock = {
  unixMs: () => Date.now(),
  monotonicMs,
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const wake = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const dueUnixMs = Date.now() + Math.max(0, ms);
      const dueMs = monotonicMs() + Math.max(0, ms);
      const ring = (): void => {
        const leftMs = Math.max(dueUnixMs - Date.now(), dueMs - monotonicMs());
        if (leftMs > 0 && leftMs <= EARLY_MS) timer = setTimeout(ring, leftMs);
        else wake();
      };
      let timer = setTimeout(ring, Math.max(0, ms));
      signal?.addEventListener("abort", wake);
    });
  },
};
