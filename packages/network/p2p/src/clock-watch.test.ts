import { describe, expect, it } from "vitest";
import { ClockWatch } from "./clock-watch.ts";

const INTERVAL_MS = 500;
const DAY_MS = 86_400_000;

function setUp() {
  const time = { unixMs: 1_700_000_000_000, monotonicMs: 5_000 };
  const steps: number[] = [];
  const watch = new ClockWatch({ unixMs: () => time.unixMs, monotonicMs: () => time.monotonicMs }, INTERVAL_MS, (byMs) =>
    steps.push(byMs),
  );
  const pass = (ms: number): void => {
    time.unixMs += ms;
    time.monotonicMs += ms;
  };
  /** Samples as a running process does. */
  const run = (ms: number): void => {
    for (let at = 0; at < ms; at += INTERVAL_MS) {
      pass(INTERVAL_MS);
      watch.sample();
    }
  };
  return { time, steps, watch, pass, run };
}

function trusted() {
  const harness = setUp();
  harness.run(10_000);
  harness.watch.confirm();
  expect(harness.watch.isTrusted).toBe(true);
  return harness;
}

describe("the clock", () => {
  it("is not trusted before something has agreed with it, since it may be wrong from the start", () => {
    const { watch, run } = setUp();
    run(3_600_000);
    expect([watch.isSettled, watch.isTrusted]).toEqual([true, false]);
    watch.confirm();
    expect(watch.isTrusted).toBe(true);
  });

  it.each([-DAY_MS, -600_000, -15_000, -1_500, 1_500, 15_000, 600_000, DAY_MS])(
    "is not trusted once it was set by %i ms, until a minute has passed and something has agreed with it",
    (byMs) => {
      const { time, steps, watch, run } = trusted();
      time.unixMs += byMs;
      watch.sample();
      expect([steps, watch.isSettled, watch.isTrusted]).toEqual([[byMs], false, false]);
      run(120_000);
      expect([watch.isSettled, watch.isTrusted]).toEqual([true, false]);
      time.unixMs -= byMs; // it is set right
      watch.sample();
      expect(steps).toEqual([byMs, -byMs]);
      watch.confirm();
      run(59_000);
      expect(watch.isTrusted).toBe(false);
      run(1_000);
      expect(watch.isTrusted).toBe(true);
    },
  );

  it.each([4_000, 15_000, 75_000, 90_000, DAY_MS])("is not trusted after the process stood still for %i ms", (ms) => {
    const { steps, watch, pass } = trusted();
    pass(ms);
    watch.sample();
    expect([steps, watch.isSettled, watch.isTrusted]).toEqual([[], false, false]);
  });

  it("is trusted while samples are a little late, and while NTP slews it by 0.5 ms a second for a day", () => {
    const { time, steps, watch, pass } = trusted();
    for (let second = 0; second < 86_400; second++) {
      pass(second % 100 === 0 ? 3_000 : 1_000);
      time.unixMs += 0.5;
      watch.sample();
    }
    expect([steps, watch.isTrusted]).toEqual([[], true]);
  });
});
