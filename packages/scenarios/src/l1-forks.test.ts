import { describe, expect, test } from "vitest";
import { planOf } from "./plan.ts";
import { runPlan } from "./run-scenario.ts";

const TIMEOUT_MS = 120_000;

/** L1 crosses Amsterdam in the midst, after which slots are empty, heads are replaced, and users deposit. */
const CROSSING_SEEDS = [102, 118];
/** After Amsterdam, L1 brings transactions of type 0x06: with a foreign receipt; and where endpoints have no raw methods at first, with a 24th field. */
const NEXT_FORK_SEEDS = [
  { seed: 11, wanted: { receipts: "foreign", hasHeaderField: false, isRawLater: false } },
  { seed: 13, wanted: { receipts: "known", hasHeaderField: true, isRawLater: false } },
  { seed: 56, wanted: { receipts: "foreign", hasHeaderField: true, isRawLater: true } },
];

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

  test.each(NEXT_FORK_SEEDS)(
    "a transaction type that no program knows, seed $seed: all nodes derive across it",
    async ({ seed, wanted }) => {
      const plan = planOf(seed, { hasUpgradeCode: false });
      const { receipts, hasHeaderField, rawMethodsSec, atSec } = plan.l1Forks.next!;
      expect({ receipts, hasHeaderField, isRawLater: rawMethodsSec > atSec }).toEqual(wanted);
      const { violations, passed } = await runPlan(plan);
      expect(violations).toEqual([]);
      expect(passed.unknownTransactions).toBeGreaterThan(0);
      expect(passed.unknownFields > 0).toBe(hasHeaderField);
    },
    TIMEOUT_MS,
  );
});
