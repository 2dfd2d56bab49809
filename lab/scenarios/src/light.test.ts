import { describe, expect, it } from "vitest";
import { scheduleFaults } from "./faults.ts";
import { type Fault, type Plan, planOf, type SourceFault } from "./plan.ts";
import { runPlan } from "./run-scenario.ts";
import { SimNetwork } from "./sim-network.ts";

const TIMEOUT_MS = 120_000;
/** Blobs from the genesis on, and one verifier. */
const BLOB_SEED = 67;
/** Holocene, one verifier, and users who send often. */
const SEED = 27;

const withLight = (seed: number, changes: Partial<Plan> = {}): Plan => ({
  ...planOf(seed, { hasUpgradeCode: false }),
  engine: "simulated",
  hasRefunds: false,
  altDa: undefined,
  late: [],
  light: [{ name: "light-1", follows: "verifier-1" }],
  keepsSafeHeads: [],
  faults: [],
  ...changes,
});

async function running(plan: Plan, during: (network: SimNetwork) => Promise<void>): Promise<void> {
  const network = new SimNetwork(plan, { isLogKept: true });
  try {
    network.start();
    scheduleFaults(network);
    await during(network);
    network.invariants.checkSameChain(network.nodes);
    network.invariants.checkRecords(network.nodes);
    expect(network.violations).toEqual([]);
  } finally {
    await network.remove();
  }
}

const nodeOf = (network: SimNetwork, name: string) => network.nodes.find((node) => node.name === name)!;

describe("a light node in a network", () => {
  it("reads no block of L1 and no blob, and of L1 little more than its head", { timeout: TIMEOUT_MS }, async () => {
    await running(withLight(BLOB_SEED), async (network) => {
      const [deriving, light] = [nodeOf(network, "verifier-1"), nodeOf(network, "light-1")];
      await network.run(30_000);
      for (const { l1Requests } of [deriving, light]) l1Requests.clear();
      await network.run(120_000);
      expect(light.heads!.safe.number).toBeGreaterThan(20);
      expect(light.heads!.finalized.number).toBeGreaterThan(5);
      expect(deriving.heads!.safe.number - light.heads!.safe.number).toBeLessThan(10);
      const all = (of: ReadonlyMap<string, number>): number => [...of.values()].reduce((sum, count) => sum + count, 0);
      const other = (of: ReadonlyMap<string, number>): number => all(of) - (of.get("eth_getBlockByNumber of a label") ?? 0);
      expect([...deriving.l1Requests.keys()]).toEqual(expect.arrayContaining(["blobs", "eth_getBlockByHash full"]));
      for (const request of light.l1Requests.keys()) expect(request).not.toMatch(/full|blobs|eceipts|Raw/);
      expect(other(light.l1Requests)).toBeLessThan(other(deriving.l1Requests) / 10);
    });
  });

  it("derives after a restart, and follows after the next, with the same chain and record", { timeout: TIMEOUT_MS }, async () => {
    await running(
      withLight(SEED, { light: [{ name: "light-1", follows: "sequencer" }], keepsSafeHeads: ["light-1"] }),
      async (network) => {
        const node = nodeOf(network, "light-1");
        const seen: { mode: string; start: number; end: number; safe: string; recorded: number }[] = [];
        for (const mode of ["light", "derives", "light", "derives"]) {
          if (seen.length > 0) {
            node.kill();
            node.changeMode();
            await network.run(3_000);
            node.start();
          }
          await network.run(15_000);
          const start = node.heads!.safe.number;
          await network.run(45_000);
          const { number, hash } = node.heads!.safe;
          expect(network.sequencer.engine.canonicalRef(number)?.hash).toBe(hash);
          const recorded = node.safeHeads?.at(network.l1.head.ref.number)?.safeHead.number ?? 0;
          seen.push({ mode, start, end: number, safe: hash, recorded });
        }
        const [first, second, third, fourth] = seen;
        expect(first!.end).toBeGreaterThan(5);
        expect(second!.end).toBeGreaterThan(first!.end);
        expect(second!.recorded).toBe(second!.end);
        expect(third!.start).toBeGreaterThanOrEqual(second!.end); // labels stay
        expect(third!.end).toBeGreaterThan(third!.start);
        expect(fourth!.end).toBeGreaterThan(third!.end);
        expect(fourth!.recorded).toBe(fourth!.end);
        // The record has no gap: each entry of the time in between is what the sequencer's chain says.
        for (const { ref } of network.l1.blocks) {
          const entry = node.safeHeads?.at(ref.number)?.safeHead;
          if (entry !== undefined) expect(network.sequencer.engine.canonicalRef(entry.number)?.hash).toBe(entry.hash);
        }
      },
    );
  });

  const FAULTS: readonly SourceFault[] = [
    "down",
    "stalls",
    "fails",
    "loses-answers",
    "slow",
    "lies",
    "stale",
    "foreign",
    "disordered",
    "other-fork",
  ];
  it.each(FAULTS)("is only delayed by a source like this: %s", { tags: "long", timeout: TIMEOUT_MS }, async (how) => {
    const faults: Fault[] = [
      { kind: "source", of: "light-1", how, fromMs: 20_000, toMs: 70_000 },
      { kind: "l1-reorg", atMs: 45_000, depth: 4, fate: "returned" },
      { kind: "restart", of: "light-1", atMs: 55_000, waits: 3, downMs: 2_000 },
    ];
    const { violations } = await runPlan(withLight(SEED, { faults, faultsMs: 90_000 }));
    expect(violations).toEqual([]);
  });

  it.each(["kept", "returned", "lost"] as const)(
    "takes back what an L1 reorganisation takes back: transactions are %s",
    { tags: "long", timeout: TIMEOUT_MS },
    async (fate) => {
      for (const depth of [2, 5, 9]) {
        const faults: Fault[] = [30_000, 52_000].map((atMs) => ({ kind: "l1-reorg", atMs, depth, fate }));
        const { violations, replacedL1Blocks } = await runPlan(withLight(SEED, { faults, faultsMs: 80_000, finalDistance: 14 }));
        expect({ depth, violations }).toEqual({ depth, violations: [] });
        expect(replacedL1Blocks).toBeGreaterThan(depth);
      }
    },
  );

  it("sequences, and leaves its chain where L1 has another", { timeout: TIMEOUT_MS }, async () => {
    const light = [{ name: "sequencer", follows: "verifier-1" }];
    const faults: Fault[] = [
      { kind: "inclusion", how: "lost", delayMs: 0, fromMs: 20_000, toMs: 200_000 },
      { kind: "l1-reorg", atMs: 230_000, depth: 6, fate: "lost" },
    ];
    const plan = withLight(SEED, { light, faults, faultsMs: 260_000, seqWindowSize: 8 });
    await running(plan, async (network) => {
      await network.run(260_000);
      const reorgs = network.log.lines.filter((line) => line.includes("our chain differs from the source's"));
      expect(reorgs.length).toBeGreaterThan(0);
    });
    const { violations } = await runPlan(plan);
    expect(violations).toEqual([]);
  });
});
