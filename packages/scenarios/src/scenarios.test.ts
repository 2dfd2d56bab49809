import { describe, expect, test } from "vitest";
import { runScenario } from "./run-scenario.ts";

const SEEDS = Number(process.env.RNODE_SCENARIO_SEEDS ?? 25);

describe("scenarios", () => {
  test(`nothing that must hold is broken with seeds 1 to ${SEEDS}`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violations } = await runScenario(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  }, 300_000);

  test("a seed replays exactly", async () => {
    const first = await runScenario(7, { isLogKept: true });
    const second = await runScenario(7, { isLogKept: true });
    expect(second.fingerprint).toBe(first.fingerprint);
    expect(second.log).toEqual(first.log);
  });
});
