import { OP_FORKS } from "@rnode/protocol";
import { expect, test } from "vitest";
import { type Plan, planOf, refundFaults } from "./plan.ts";
import { Random } from "./random.ts";
import { runPlan } from "./run-scenario.ts";

const SEEDS = Number(process.env.RNODE_SCENARIO_SEEDS ?? 12);
const TIMEOUT_MS = 120_000;

/** Scenarios with rengine on a chain of Lagoon, whose producer refunds gas, and whose batcher also sends invalid refunds. */
function planWithRefunds(seed: number): Plan {
  const random = new Random(seed, "with refunds");
  const plan = planOf(seed, { hasUpgradeCode: false, engine: random.pick(["R", "G"] as const) });
  return {
    ...plan,
    hasRefunds: true,
    forkTimes: Object.fromEntries(OP_FORKS.slice(1).map((fork) => [fork, 0])),
    blobSource: "l1",
    batcherArgs: [...plan.batcherArgs.filter((arg) => !arg.startsWith("--batch-type=")), `--batch-type=${seed % 2}`],
    userIntervalMs: 1_500,
    faults: [...plan.faults, ...refundFaults(random, plan.faultsMs)],
  };
}

async function run(first: number, last: number): Promise<void> {
  let refundedBlocks = 0;
  for (let seed = first; seed <= last; seed++) {
    const result = await runPlan(planWithRefunds(seed));
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    refundedBlocks += result.refundedBlocks;
  }
  expect(refundedBlocks).toBeGreaterThan(5 * (last - first + 1));
}

// Singular batches have even seeds, span batches odd ones.
test(
  "all nodes derive the blocks with gas refunds, and replace those with invalid ones",
  { tags: "long", timeout: TIMEOUT_MS },
  () => run(1, 2),
);
for (let first = 3; first <= SEEDS; first += 5) {
  const last = Math.min(SEEDS, first + 4);
  test(`the same with seeds ${first} to ${last}`, { tags: "long", timeout: 300_000 }, () => run(first, last));
}
