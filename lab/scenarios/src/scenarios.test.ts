import { isDepositTransaction } from "@rnode/protocol";
import { describe, expect, test } from "vitest";
import { scheduleFaults } from "./faults.ts";
import { type BlobLie, type EngineKind, type Fault, type Plan, planOf } from "./plan.ts";
import { runPlan, runScenario } from "./run-scenario.ts";
import { SimNetwork } from "./sim-network.ts";

const SEEDS = Number(process.env.RNODE_SCENARIO_SEEDS ?? 100);
const SEEDS_A_TEST = 20;
/** the seeds that `npm test` runs */
const QUICK_SEEDS = 1;

/** Holocene, one verifier, and users who send often. */
const REPLAYED_SEED = 27;
const TIMEOUT_MS = 120_000;
/** Its batcher uses blobs from the genesis on. */
const BLOB_SEED = 67;

/** Simulated execution clients have no peers to sync from. */
function withEngine(plan: Plan, engine: EngineKind): Plan {
  if (engine !== "simulated") return { ...plan, engine };
  const late = new Set(plan.late.map(({ name }) => name));
  return { ...plan, engine, late: [], faults: plan.faults.filter((fault) => !("of" in fault) || !late.has(fault.of)) };
}

describe("scenarios", () => {
  const runSeeds = async (first: number, last: number): Promise<void> => {
    for (let seed = first; seed <= last; seed++) {
      const { violations } = await runScenario(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  };
  test(`nothing that must hold is broken with seeds 1 to ${QUICK_SEEDS}`, { timeout: TIMEOUT_MS }, () => runSeeds(1, QUICK_SEEDS));
  for (let first = QUICK_SEEDS + 1; first <= SEEDS; first += SEEDS_A_TEST) {
    const last = Math.min(SEEDS, first + SEEDS_A_TEST - 1);
    test(`nothing that must hold is broken with seeds ${first} to ${last}`, { tags: "long", timeout: 300_000 }, () =>
      runSeeds(first, last),
    );
  }

  describe.each(["simulated", "R", "G"] as const)("with this engine: %s", (engine) => {
    test("a scenario replays exactly", { tags: engine === "simulated" ? [] : "long", timeout: TIMEOUT_MS }, async () => {
      const plan = withEngine(planOf(REPLAYED_SEED, { hasUpgradeCode: false }), engine);
      const first = await runPlan(plan, { isLogKept: true });
      const second = await runPlan(plan, { isLogKept: true });
      expect(first.violations).toEqual([]);
      expect(second.fingerprint).toBe(first.fingerprint);
      expect(second.log).toEqual(first.log);
    });
  });

  test.each(["beacon", "beacon-since-fulu"] as const)(
    "blobs come from an archiver while a beacon node is wrong: %s",
    { tags: "long", timeout: TIMEOUT_MS },
    async (blobSource) => {
      const during = (how: BlobLie, fromMs: number): Fault => ({
        kind: "blobs",
        of: "verifier-1",
        how,
        fromMs,
        toMs: fromMs + 25_000,
      });
      const plan: Plan = {
        ...planOf(BLOB_SEED, { hasUpgradeCode: false }),
        blobSource,
        faults: [during("missing", 5_000), during("withheld", 30_000), during("wrong", 55_000)],
      };
      expect(plan.usesBlobs).toBe(true);
      const network = new SimNetwork(plan, { isLogKept: true });
      network.start();
      scheduleFaults(network);
      await network.run(90_000);
      const { lines } = network.log;
      const blobs = lines.filter((line) => line.includes("verifier-1") && line.includes("source=blob"));
      expect(blobs.length).toBeGreaterThan(5);
      expect(network.beacon!.told.lies).toBeGreaterThan(3);
      expect(network.beacon!.told.byArchiver).toBeGreaterThanOrEqual(network.beacon!.told.lies);
      const [sequencer, verifier] = network.nodes;
      const { number, hash } = verifier!.heads!.safe;
      expect(number).toBeGreaterThan(10);
      expect(sequencer!.engine.canonicalRef(number)?.hash).toBe(hash);
      expect(network.violations).toEqual([]);
      await network.remove();
    },
  );

  test(
    "users' transactions are executed by rengine, and become safe on all nodes",
    async () => {
      const network = new SimNetwork(
        { ...planOf(REPLAYED_SEED, { hasUpgradeCode: false }), engine: "R", late: [], faults: [] },
        { isLogKept: false },
      );
      network.start();
      await network.run(80_000);
      const [first, ...others] = network.nodes.map(({ engine, heads }) => {
        const refs = Array.from({ length: heads!.safe.number }, (_unused, number) => engine.canonicalRef(number)!.hash);
        const users = refs.flatMap((_hash, number) => engine.canonicalPayload(number)!.executionPayload.transactions);
        return { refs, users: users.filter((encoded) => !isDepositTransaction(encoded)).length };
      });
      expect(first!.users).toBeGreaterThan(10);
      for (const { refs } of others) {
        const common = Math.min(refs.length, first!.refs.length);
        expect(common).toBeGreaterThan(20);
        expect(refs.slice(0, common)).toEqual(first!.refs.slice(0, common));
      }
      expect(network.violations).toEqual([]);
      await network.remove();
    },
    TIMEOUT_MS,
  );
});
