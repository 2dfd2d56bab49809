import { describe, expect, test } from "vitest";
import { clusterSummaryOf } from "../cli.ts";
import { CLUSTER_FAULTS, clusterPlanOf, FAULT_PAIRS } from "./cluster-plan.ts";
import { runCluster } from "./run-cluster.ts";

/** More, and single ones with all that happened: `npm run scenarios -- --cluster`. */
const SEEDS = 25;
const SEEDS_A_TEST = 12;
/** the seeds that `npm test` runs */
const QUICK_SEEDS = 1;
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

  const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
  for (let at = 0; at < seeds.length; at = at < QUICK_SEEDS ? QUICK_SEEDS : at + SEEDS_A_TEST) {
    const isQuick = at < QUICK_SEEDS;
    const some = seeds.slice(at, isQuick ? QUICK_SEEDS : at + SEEDS_A_TEST);
    const title = `nothing that must hold is broken with seeds ${some[0]} to ${some.at(-1)}`;
    test(title, { tags: isQuick ? [] : "long", timeout: 600_000 }, async () => {
      const broken: string[] = [];
      for (const seed of some) {
        const result = await runCluster(seed);
        if (result.violations.length > 0) broken.push(clusterSummaryOf(seed, result));
      }
      expect(broken).toEqual([]);
    });
  }
});
