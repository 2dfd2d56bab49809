import type { Clock } from "@rnode/primitives";

/** Timers of Node.js count from a time of the event loop, and by `Date.now` some fire a millisecond before they are due. */
const EARLY_MS = 2;

/** The machine's time. Nobody is woken before `nowMs` has reached the time that was asked for, unless the clock was set back meanwhile. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
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
      const dueMs = Date.now() + Math.max(0, ms);
      const ring = (): void => {
        const leftMs = dueMs - Date.now();
        if (leftMs > 0 && leftMs <= EARLY_MS) timer = setTimeout(ring, leftMs);
        else wake();
      };
      let timer = setTimeout(ring, Math.max(0, ms));
      signal?.addEventListener("abort", wake);
    });
  },
};
