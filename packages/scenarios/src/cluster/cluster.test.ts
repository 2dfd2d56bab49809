import { describe, expect, test } from "vitest";
import { CLUSTER_FAULTS, clusterPlanOf, FAULT_PAIRS } from "./cluster-plan.ts";
import { runCluster } from "./run-cluster.ts";

/** `RNODE_CLUSTER_SEEDS=1000 npx vitest run packages/scenarios/src/cluster`; `RNODE_CLUSTER_SEED=7` replays one and prints it. */
const { RNODE_CLUSTER_SEEDS: SEEDS = "24", RNODE_CLUSTER_FROM: FROM = "1", RNODE_CLUSTER_SEED: ONE } = process.env;
const SEEDS_A_TEST = 12;
describe("clusters with hostile neighbours", () => {
  test("each fault, and each pair of faults at once, comes within as many seeds as there are pairs", () => {
    const met = new Set<string>();
    for (let seed = 1; seed <= FAULT_PAIRS.length; seed++) {
      const { faults } = clusterPlanOf(seed);
      for (const [at, first] of faults.entries()) {
        for (const second of faults.slice(at + 1)) {
          if (first.fromMs >= second.toMs || second.fromMs >= first.toMs) continue;
          met.add(`${first.kind} ${second.kind}`);
          met.add(`${second.kind} ${first.kind}`);
        }
      }
    }
    expect(FAULT_PAIRS.filter(([first, second]) => !met.has(`${first} ${second}`))).toEqual([]);
    expect(CLUSTER_FAULTS.length ** 2).toBe(met.size);
  });

  if (ONE !== undefined) {
    test("one seed", { timeout: 600_000 }, async () => {
      const { plan, log, violations, ...rest } = await runCluster(Number(ONE), true);
      console.log([...plan.faults.map((fault) => JSON.stringify(fault)), ...log].join("\n"));
      console.log(rest, violations);
      expect(violations).toEqual([]);
    });
    return;
  }
  const seeds: number[] = [];
  for (let seed = Number(FROM); seeds.length < Number(SEEDS); seed++) seeds.push(seed);
  for (let at = 0; at < seeds.length; at += SEEDS_A_TEST) {
    const some = seeds.slice(at, at + SEEDS_A_TEST);
    test(`nothing that must hold is broken with seeds ${some[0]} to ${some.at(-1)}`, { timeout: 600_000 }, async () => {
      const broken: unknown[] = [];
      for (const seed of some) {
        const { violations, plan, resumedMs, followedMs, committed, leaders } = await runCluster(seed);
        if (violations.length === 0) continue;
        const faults = plan.faults.map(({ kind, of, fromMs, toMs, strength, isBackward }) =>
          [kind, of, `${fromMs / 1000}–${toMs / 1000}`, strength.toFixed(2), isBackward].join(" "),
        );
        broken.push({ seed, violations, faults, resumedMs, followedMs, committed, leaders });
      }
      expect(broken).toEqual([]);
    });
  }
});
