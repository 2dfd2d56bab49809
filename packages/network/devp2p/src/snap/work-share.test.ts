import type { Clock } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import { expect, it } from "vitest";
import { WorkShare } from "./work-share.ts";

const never = new AbortController().signal;

it("lets work of all callers take its share of the time, in the order of the calls", async () => {
  const sim = new SimClock();
  let spentMs = 0;
  const clock: Clock = {
    unixMs: () => sim.unixMs(),
    monotonicMs: () => sim.monotonicMs() + spentMs,
    sleep: (ms, signal) => sim.sleep(ms, signal),
  };
  const share = new WorkShare(0.25, clock);
  const firstMs = clock.monotonicMs();
  const starts: (readonly [number, number])[] = [];
  const work = (caller: number) => (): void => {
    starts.push([caller, clock.monotonicMs() - firstMs]);
    spentMs += 50;
  };
  for (let caller = 0; caller < 20; caller++) void share.run(work(caller), never);
  await sim.advance(60_000);
  expect(starts).toEqual(Array.from({ length: 20 }, (_, caller) => [caller, 200 * caller]));
});

it("goes on after work that fails, and leaves out work that is no longer wanted", async () => {
  const clock = new SimClock();
  const share = new WorkShare(0.5, clock);
  const failing = share.run(() => {
    throw new Error("no");
  }, never);
  await expect(failing).rejects.toThrow("no");
  expect(await share.run(() => 1, AbortSignal.abort())).toBeUndefined();
  expect(await share.run(() => 2, never)).toBe(2);
});
