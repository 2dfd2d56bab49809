import { TokenBucket } from "@rnode/primitives";

export interface RateLimiter {
  /** Waits until `count` requests are allowed. Later callers queue behind earlier ones. */
  take(count: number, signal: AbortSignal | undefined): Promise<void>;
}

/**
 * @param perSec 0: no limit
 * @param burst requests that may be sent at once; a larger `take` waits for the full bucket and overdraws it
 */
export function createRateLimiter(perSec: number, burst: number): RateLimiter {
  if (perSec <= 0) return { take: () => Promise.resolve() };
  const bucket = new TokenBucket({ perSec, burst: Math.max(burst, 1) }, { monotonicMs: () => performance.now() });
  return {
    async take(count, signal) {
      bucket.spend(count);
      const { msOfDebt } = bucket;
      if (msOfDebt > 0) await waitMs(msOfDebt, signal);
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
