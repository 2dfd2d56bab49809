import { describe, expect, it } from "vitest";
import { oncePerRun } from "./once-per-run.ts";

describe("once per run", () => {
  it("is once for all that one run asks, and again in the next, also of the same turn of the event loop", async () => {
    let times = 0;
    const action = oncePerRun(() => times++);
    const perRun: number[] = [];
    const run = (): void => {
      for (let request = 0; request < 3; request++) action();
      perRun.push(times);
    };
    run();
    await Promise.resolve();
    expect(perRun).toEqual([1]);
    // Node ends a synchronous run after each callback of a turn, and after each socket that it reads.
    await new Promise<void>((resolve) => {
      setImmediate(run);
      setImmediate(run);
      setImmediate(resolve);
    });
    expect(perRun).toEqual([1, 2, 3]);
  });

  it("is done for what comes later in a request's work", async () => {
    const seen: string[] = [];
    const action = oncePerRun(() => seen.push("look"));
    const request = async (): Promise<void> => {
      action();
      await Promise.resolve();
      action();
    };
    await request();
    expect(seen).toEqual(["look", "look"]);
  });
});
