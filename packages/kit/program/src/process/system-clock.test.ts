import { describe, expect, it } from "vitest";
import { systemClock } from "./system-clock.ts";

describe("the system's clock", () => {
  // A sleep until a slot begins must not end early, because the work of the previous slot would be repeated. A tenth of Node.js's
  // timers are early.
  it("wakes nobody before the time that was asked for", async () => {
    const early: number[] = [];
    for (let turn = 0; turn < 20; turn++) {
      const sleeps = Array.from({ length: 20 }, async (_, at) => {
        const dueMs = systemClock.unixMs() + 3 + at;
        await systemClock.sleep(dueMs - systemClock.unixMs());
        if (systemClock.unixMs() < dueMs) early.push(dueMs);
      });
      await Promise.all(sleeps);
    }
    expect(early).toEqual([]);
  });

  it("wakes as soon as the signal is aborted", async () => {
    const abort = new AbortController();
    const slept = systemClock.sleep(60_000, abort.signal);
    abort.abort();
    await slept;
    await systemClock.sleep(60_000, abort.signal);
  });
});
