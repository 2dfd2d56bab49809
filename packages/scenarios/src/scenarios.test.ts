import { isDepositTransaction } from "@rnode/protocol";
import { describe, expect, test } from "vitest";
import { planOf } from "./plan.ts";
import { runScenario } from "./run-scenario.ts";
import { SimNetwork } from "./sim-network.ts";

const SEEDS = Number(process.env.RNODE_SCENARIO_SEEDS ?? 25);

/** Its execution clients are rengine. */
const REAL_ENGINE_SEED = 128;

describe("scenarios", () => {
  test(`nothing that must hold is broken with seeds 1 to ${SEEDS}`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violations } = await runScenario(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  }, 300_000);

  test.each([
    ["a simulated engine", 7, "simulated"],
    ["rengine", REAL_ENGINE_SEED, "R"],
  ])("a seed replays exactly, with %s", async (_, seed, engine) => {
    const first = await runScenario(seed, { isLogKept: true });
    const second = await runScenario(seed, { isLogKept: true });
    expect(first.plan.engine).toBe(engine);
    expect(second.fingerprint).toBe(first.fingerprint);
    expect(second.log).toEqual(first.log);
  });

  test("users' transactions are executed by rengine, and become safe on all nodes", async () => {
    const network = new SimNetwork({ ...planOf(REAL_ENGINE_SEED, { hasUpgradeCode: false }), faults: [] }, { isLogKept: false });
    network.start();
    await network.run(200_000);
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
  });
});
