import { OP_FORKS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { scheduleFaults } from "./faults.ts";
import { type Fault, type LateVerifier, type Plan, planOf } from "./plan.ts";
import { SimNetwork } from "./sim-network.ts";

const START_MS = 30_000;
const LATE: LateVerifier = {
  name: "late-1",
  startMs: START_MS,
  syncsAs: "geth",
  peers: { latencyMs: 300, itemMs: 120 },
  strangers: [
    { how: "altered", rate: 1 },
    { how: "altered", rate: 1, about: "bodies" },
    { how: "stall", rate: 1 },
  ],
};
const PLAN: Plan = {
  ...planOf(1, { hasUpgradeCode: false }),
  l1BlockTimeSec: 4,
  blockTimeSec: 1,
  verifiers: 1,
  late: [LATE],
  keepsSafeHeads: [],
  maxLatencyMs: 0,
  sequencerConfs: 0,
  verifierConfs: 0,
  forkTimes: Object.fromEntries(OP_FORKS.slice(1, OP_FORKS.indexOf("holocene") + 1).map((fork) => [fork, 0])),
  usesBlobs: false,
  blobSource: "l1",
  hasRoom: true,
  engine: "R",
  faults: [],
};

/** @returns the result of `look` after this time */
async function run<T>(changes: Partial<Plan>, ms: number, look: (network: SimNetwork) => T): Promise<T> {
  const network = new SimNetwork({ ...PLAN, ...changes }, { isLogKept: true });
  try {
    network.start();
    scheduleFaults(network);
    await network.run(ms);
    network.invariants.checkLate(network.late);
    return look(network);
  } finally {
    await network.remove();
  }
}

describe("a verifier that joins late with --syncmode=execution-layer", () => {
  it("gets the chain from the others' databases, past liars and stops of node and engine, then derives", {
    tags: "long",
  }, async () => {
    const faults: Fault[] = [
      { kind: "engine-restart", of: "late-1", atMs: START_MS + 3_500, downMs: 700 },
      { kind: "restart", of: "late-1", atMs: START_MS + 5_000, waits: 3, downMs: 1_000 },
      { kind: "peer", of: "late-1", peer: "sequencer", how: "leaves", fromMs: START_MS, toMs: START_MS + 12_000 },
    ];
    await run({ faults }, 95_000, ({ sequencer, late: [late], violations, invariants, nodes, log }) => {
      const { node, engine, peers } = late!;
      expect(violations).toEqual([]);
      expect(invariants.late(nodes)).toEqual({ synced: 1, misled: 0 });
      const { safe, finalized } = node.heads!;
      expect(safe.number).toBeGreaterThan(finalized.number); // derived, above the block to which it synced
      for (const { number, hash } of [safe, finalized]) expect(hash).toBe(sequencer.engine.canonicalRef(number)!.hash);
      expect(finalized.number).toBeGreaterThan(START_MS / 1_000);
      expect(engine.isSyncing).toBe(false);
      const [, , stalling] = peers.strangers;
      for (const { reports } of peers.strangers.slice(0, 2)) expect(reports.map(({ fault }) => fault)).toContain("lied");
      expect(stalling!.given).toBe(0);
      expect(peers.honest.get("verifier-1")!.given).toBeGreaterThan(15);
      const text = log.lines.join("\n");
      expect(text).toContain("its engine is restarted while it syncs");
      expect(text).toMatch(/late-1 +killed/);
      expect(text).toContain("execution-layer sync is finished");
    });
  });

  it("is excused where the sequencer made other blocks after it had trusted one, and only then", { tags: "long" }, async () => {
    const faults: Fault[] = [{ kind: "l1-reorg", atMs: START_MS + 10_000, depth: 12, fate: "lost" }];
    await run({ faults }, 62_000, ({ violations, invariants, nodes }) => {
      expect(invariants.late(nodes)).toEqual({ synced: 1, misled: 1 });
      expect(violations).toEqual([]);
    });
  });

  it("changes nothing for the others, and replays exactly", { tags: "long" }, async () => {
    const look = ({ sequencer, nodes, fingerprint }: SimNetwork) => {
      const heads = nodes.slice(0, 2).map((node) => [node.engine.head.hash, node.heads!.safe.hash]);
      return { sequenced: sequencer.engine.head.number, heads, fingerprint };
    };
    const first = await run({}, 50_000, look);
    const without = await run({ late: [] }, 50_000, look);
    expect({ ...without, fingerprint: "" }).toEqual({ ...first, fingerprint: "" });
    expect(await run({}, 50_000, look)).toEqual(first);
  });
});
