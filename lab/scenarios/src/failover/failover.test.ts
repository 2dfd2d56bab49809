import { expect, it } from "vitest";
import { failoverSummaryOf } from "../cli.ts";
import { type FailoverResult, runFailover } from "./run-failover.ts";

// More, and single ones with all that happened: `npm run scenarios -- --subblocks`.

const QUICK_SEEDS = 40;

function expectAllHold(from: number, count: number): readonly FailoverResult[] {
  return Array.from({ length: count }, (_, at) => {
    const result = runFailover(from + at);
    if (result.violations.length > 0) expect.fail(failoverSummaryOf(from + at, result));
    return result;
  });
}

it("a new leader keeps what was promised to it, and every other broken promise is counted and has a reason", () => {
  const results = expectAllHold(1, QUICK_SEEDS);
  const sum = (of: (result: FailoverResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  expect(sum(({ leaders }) => leaders)).toBeGreaterThan(1.5 * QUICK_SEEDS);
  expect(sum(({ promised }) => promised)).toBeGreaterThan(50 * QUICK_SEEDS);
  expect(sum(({ strayParts }) => strayParts)).toBeGreaterThan(0);
  expect(sum(({ explained }) => Object.values(explained).reduce((total, count) => total + count))).toBeGreaterThan(0);
});

it("a seed is always the same scenario", () => {
  expect(runFailover(3).fingerprint).toBe(runFailover(3, true).fingerprint);
});

it("many failovers", { tags: "long", timeout: 600_000 }, () => {
  expectAllHold(1_000, Number(process.env.RNODE_FAILOVER_SEEDS ?? 600));
});
