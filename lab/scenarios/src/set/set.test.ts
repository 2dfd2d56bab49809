import { expect, it } from "vitest";
import { setSummaryOf } from "../cli.ts";
import { runSetScenario, type SetResult } from "./run-set.ts";

// More, and single ones with all that happened: `npm run scenarios -- --set`.

const seedsFrom = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);

async function expectAllHold(seeds: readonly number[]): Promise<readonly SetResult[]> {
  const results: SetResult[] = [];
  for (const seed of seeds) {
    const result = await runSetScenario(seed);
    if (result.violations.length > 0) expect.fail(setSummaryOf(seed, result));
    results.push(result);
  }
  return results;
}

const sum = (results: readonly SetResult[], of: (result: SetResult) => number): number =>
  results.reduce((total, result) => total + of(result), 0);

it("no node calls a block safe with an unmet message, and all go on, whatever happens at the same time", {
  tags: "long",
}, async () => {
  const results = await expectAllHold(seedsFrom(1, 3));
  expect(sum(results, ({ rounds }) => rounds)).toBeGreaterThan(100);
  expect(sum(results, ({ executedAtOnce }) => executedAtOnce)).toBeGreaterThan(3);
  expect(sum(results, ({ denials }) => denials)).toBeGreaterThan(3);
});

it("no block is safe with an unmet message, with one seed", async () => {
  const results = await expectAllHold([1]);
  expect(sum(results, ({ executedAtOnce, denials }) => executedAtOnce + denials)).toBeGreaterThan(0);
});

it("a seed is always the same scenario", { tags: "long" }, async () => {
  const [first, second] = [await runSetScenario(1), await runSetScenario(1)];
  expect(second.fingerprint).toBe(first.fingerprint);
});

it("whatever happens at the same time, with many seeds", { tags: "long", timeout: 900_000 }, async () => {
  const results = await expectAllHold(seedsFrom(1_000, Number(process.env.RNODE_SET_SEEDS ?? 30)));
  expect(sum(results, ({ denials }) => denials)).toBeGreaterThan(results.length);
});
