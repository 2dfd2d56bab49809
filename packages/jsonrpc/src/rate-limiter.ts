/** A token bucket: `take(n)` waits until `n` requests are allowed. The bucket holds one burst. */
export interface RateLimiter {
  take(count: number, signal: AbortSignal | undefined): Promise<void>;
}

/**
 * @param perSec 0: no limit
 * @param burst requests that may be sent at once; a larger `take` waits for the full bucket and overdraws it
 */
export function createRateLimiter(perSec: number, burst: number, clockMs: () => number = () => performance.now()): RateLimiter {
  if (perSec <= 0) return { take: () => Promise.resolve() };
  const capacity = Math.max(burst, 1);
  let tokens = capacity;
  let updatedMs = clockMs();
  return {
    async take(count, signal) {
      const nowMs = clockMs();
      tokens = Math.min(capacity, tokens + ((nowMs - updatedMs) / 1000) * perSec);
      updatedMs = nowMs;
      tokens -= count; // may go negative: later callers queue behind this one
      if (tokens < 0) await waitMs((-tokens / perSec) * 1000, signal);
    },
  };
}

function waitMs(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, durationMs);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
