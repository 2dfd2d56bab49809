import { describe, expect, it } from "vitest";
import { TracerSwitch } from "./tracer-switch.ts";

const EVENTS = 2000; // more than occur between two checks of the clock

describe("the time of a request that traces", () => {
  const setUp = (ownTimeoutMs: number) => {
    let now = 0;
    const check = (): void => {
      if (now > 100) throw new Error("the request's time is over");
    };
    const watcher = new TracerSwitch(() => now, { maxBytes: 1000, keptBytes: 0, check });
    const ticks = (): void => {
      for (let event = 0; event < EVENTS; event++) watcher.onTick!();
    };
    const pass = (ms: number): void => {
      now += ms;
    };
    return { ticks, pass, watch: () => watcher.watch({ result: () => ({}) }, ownTimeoutMs), rest: () => watcher.rest() };
  };

  it("ends a transaction that has more time of its own", () => {
    const { ticks, pass, watch } = setUp(1000);
    watch();
    ticks();
    pass(101);
    expect(ticks).toThrow("the request's time is over");
  });

  it("ends one that has less by its own", () => {
    const { ticks, pass, watch } = setUp(50);
    watch();
    pass(60);
    expect(ticks).toThrow("execution timeout");
  });

  it("runs while nothing is watched: before, and behind what was", () => {
    const { ticks, pass, watch, rest } = setUp(1000);
    ticks();
    watch();
    rest();
    ticks();
    pass(101);
    expect(ticks).toThrow("the request's time is over");
  });

  it("is looked at with every tick when no steps are reported, by the request while nothing is watched", () => {
    let now = 0;
    const watcher = new TracerSwitch(() => now, { maxBytes: 1000, keptBytes: 0, check: () => {} }, { detail: "messages" });
    expect(watcher.onTick).toBeUndefined();
    watcher.watch({ result: () => ({}) }, 50);
    watcher.onTick!();
    now = 60;
    expect(() => watcher.onTick!()).toThrow("execution timeout");
    watcher.rest();
    expect(watcher.onTick).toBeUndefined();
  });

  it("is not spent on steps that nobody reports", () => {
    const watcher = new TracerSwitch(() => 0, { maxBytes: 1000, keptBytes: 0, check: () => {} }, { detail: "messages" });
    expect(() => watcher.watch({ onStep: () => {}, result: () => ({}) }, 50)).toThrow("wants steps");
  });
});
