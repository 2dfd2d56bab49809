import { expect, it } from "vitest";
import { Backoff, backoffMs, retry } from "./backoff.ts";

const RANGE = { firstMs: 500, maxMs: 3_000 };

it("doubles the pause up to its maximum, also after very many failures", () => {
  expect([0, 1, 2, 3, 4, 5, 5_000].map((failures) => backoffMs(failures, RANGE))).toEqual([
    0, 500, 1_000, 2_000, 3_000, 3_000, 3_000,
  ]);
});

it("counts failures in a row, and adds jitter beyond the maximum", () => {
  const backoff = new Backoff(RANGE, 250, () => 0.5);
  expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([625, 1_125, 2_125, 3_125]);
  expect(backoff.failures).toBe(4);
  backoff.reset();
  expect([backoff.failures, backoff.nextMs()]).toEqual([0, 625]);
});

it("repeats an attempt until it succeeds, the signal is aborted or the error is final", async () => {
  const ending = new AbortController();
  const run = (outcomes: readonly (string | Error)[], abortAfter = Number.POSITIVE_INFINITY) => {
    const pauses: number[] = [];
    let next = 0;
    const attempt = async (): Promise<string> => {
      const outcome = outcomes[next++]!;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    };
    const clock = { sleep: async (ms: number) => void (pauses.push(ms) === abortAfter && ending.abort()) };
    const onFailure = (error: unknown): void => {
      if ((error as Error).message === "final") throw error;
    };
    return retry(attempt, { backoff: new Backoff(RANGE), clock, signal: ending.signal, onFailure }).then(
      (answer) => [answer, pauses],
      (error: Error) => [error.message, pauses],
    );
  };
  expect(await run([new Error("1"), new Error("2"), "yes"])).toEqual(["yes", [500, 1_000]]);
  expect(await run([new Error("1"), new Error("final")])).toEqual(["final", [500]]);
  expect(await run([new Error("1"), new Error("2"), "yes"], 2)).toEqual(["2", [500, 1_000]]);
});
