import { beforeEach, describe, expect, it } from "vitest";
import { type Rate, TokenBucket } from "./token-bucket.ts";

describe("a token bucket", () => {
  let nowMs: number;
  const clock = { monotonicMs: () => nowMs, sleep: async (ms: number) => void (nowMs += ms) };
  const bucket = (rate: Rate): TokenBucket => new TokenBucket(rate, clock);
  beforeEach(() => {
    nowMs = 1_000;
  });

  it("gives a burst, then its rate, and is never fuller than the burst", () => {
    const tokens = bucket({ perSec: 2, burst: 3 });
    expect([1, 2, 3, 4].map(() => tokens.take())).toEqual([true, true, true, false]);
    expect(tokens.msUntilNext).toBe(500);
    nowMs += 500;
    expect([tokens.take(), tokens.take()]).toEqual([true, false]);
    nowMs += 1_000_000;
    expect([tokens.left, tokens.isFull]).toEqual([3, true]);
  });

  it("owes what was spent beyond, up to its limit", () => {
    const tokens = bucket({ perSec: 10, burst: 5, maxDebt: 20 });
    tokens.spend(15);
    expect([tokens.left, tokens.msOfDebt, tokens.msUntilNext]).toEqual([-10, 1_000, 1_100]);
    tokens.spend(Number.POSITIVE_INFINITY);
    expect(tokens.left).toBe(-20);
    nowMs += 3_000;
    expect([tokens.left, tokens.msOfDebt]).toEqual([5, 0]);
  });

  it("gets nothing from a clock that is set back", () => {
    const tokens = bucket({ perSec: 1, burst: 1 });
    tokens.spend();
    nowMs = 0;
    expect(tokens.left).toBe(0);
  });

  it("waits for a token without taking it, or until the signal is aborted", async () => {
    const tokens = bucket({ perSec: 4, burst: 1 });
    tokens.spend();
    const running = new AbortController();
    expect([await tokens.wait(clock, running.signal), nowMs, tokens.take()]).toEqual([true, 1_250, true]);
    running.abort();
    expect([await tokens.wait(clock, running.signal), nowMs]).toEqual([false, 1_250]);
  });
});
