import { describe, expect, test } from "vitest";
import { planOf } from "./plan.ts";
import { runPlan } from "./run-scenario.ts";

const TIMEOUT_MS = 120_000;

/** L1 crosses Amsterdam in the midst, after which slots are empty, heads are replaced, and users deposit. */
const CROSSING_SEEDS = [102, 118];

describe("L1's own forks", () => {
  test.each(CROSSING_SEEDS)(
    "Amsterdam in the midst, seed %i: all nodes derive across it",
    async (seed) => {
      const plan = planOf(seed, { hasUpgradeCode: false });
      const { violations, passed } = await runPlan(plan);
      expect(violations).toEqual([]);
      expect(passed.before).toBeGreaterThan(2);
      expect(passed.since).toBeGreaterThan(5);
      for (const many of [passed.depositsSince, passed.emptySlots, passed.replacedHeads]) expect(many).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
