import { isDepositTransaction } from "@rnode/protocol";
import { expect, it } from "vitest";
import { seedsOf } from "./cli.ts";
import { scheduleFaults } from "./faults.ts";
import { planOf } from "./plan.ts";
import { runScenario } from "./run-scenario.ts";
import { SimNetwork } from "./sim-network.ts";

const LIMITS = { hasUpgradeCode: false };
const seedsWithSupernode = (seeds: number, from = 1): number[] => [
  ...seedsOf({ from, seeds, isLate: false, isLight: false, hasSupernode: true }, LIMITS),
];

/** Nobody sees a safe block replaced, although its first form was local-safe. */
async function expectAllHold(seeds: readonly number[]): Promise<void> {
  let invalidated = 0;
  for (const seed of seeds) {
    const { violations, invalidatedBlocks } = await runScenario(seed);
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    invalidated += invalidatedBlocks;
  }
  expect(invalidated).toBeGreaterThan(seeds.length / 2);
}

it("every node of a chain takes the block with which a supernode replaces another", async () => {
  const plan = { ...planOf(seedsWithSupernode(1)[0]!, LIMITS), isInCluster: true };
  const atMs = plan.faultsMs / 2;
  const network = new SimNetwork({ ...plan, faults: [{ kind: "invalidation", of: "verifier-1", atMs }] }, { isLogKept: false });
  try {
    network.start();
    scheduleFaults(network);
    await network.run(plan.faultsMs + plan.recoveryMs);
    const [denied] = network.invalidated;
    for (const { heads, engine } of network.nodes) {
      expect(heads!.safe.number).toBeGreaterThan(denied!.number);
      const { hash } = engine.canonicalRef(denied!.number)!;
      expect(hash).not.toBe(denied!.hash);
      expect(hash).toBe(network.sequencer.engine.canonicalRef(denied!.number)!.hash);
      const { transactions } = engine.canonicalPayload(denied!.number)!.executionPayload;
      expect(transactions.every(isDepositTransaction)).toBe(true);
    }
    expect(network.violations).toEqual([]);
  } finally {
    await network.remove();
  }
});

it("whatever happens at the same time", { tags: "long" }, async () => {
  await expectAllHold(seedsWithSupernode(2));
});

it("whatever happens at the same time, with many seeds", { tags: "long", timeout: 900_000 }, async () => {
  await expectAllHold(seedsWithSupernode(Number(process.env.RNODE_SUPERNODE_SEEDS ?? 40), 1_000));
});
