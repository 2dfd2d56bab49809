import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OP_FORKS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type Plan, planOf, USER_ADDRESS } from "./plan.ts";
import { RealEngine } from "./real-engine.ts";
import { SimNetwork } from "./sim-network.ts";
import type { SimNode } from "./sim-node.ts";

const folder = mkdtempSync(join(tmpdir(), "scenario-snapshot-"));
/** Six blocks an L1 block, as on public networks, in span batches of four L1 blocks. */
const PLAN: Plan = {
  ...planOf(1, { hasUpgradeCode: false }),
  l1BlockTimeSec: 12,
  blockTimeSec: 2,
  seqWindowSize: 100,
  channelTimeout: 300,
  maxSequencerDriftSec: 600,
  verifiers: 1,
  keepsSafeHeads: [],
  maxLatencyMs: 0,
  sequencerConfs: 0,
  verifierConfs: 0,
  finalDistance: 8,
  forkTimes: Object.fromEntries(OP_FORKS.slice(1, OP_FORKS.indexOf("holocene") + 1).map((fork) => [fork, 0])),
  usesBlobs: false,
  blobSource: "l1",
  batcherArgs: [
    ...["--batch-type=1", "--poll-interval=1s", "--max-channel-duration=4"],
    ...["--sub-safety-margin=2", "--num-confirmations=1"],
  ],
  hasRoom: true,
  userIntervalMs: 5_000,
  engine: "R",
  faults: [],
};

/**
 * A verifier that starts with a snapshot of a block within a span batch.
 *
 * @param chainMs age of the chain; @param blocks of the snapshot
 * @returns the node, after a number of L1 blocks or when its safe head is beyond the span batch
 */
async function startInTheMidst(network: SimNetwork, chainMs: number, blocks?: number) {
  network.start();
  await network.run(chainMs);
  const [sequencer, verifier] = network.nodes;
  // one step makes exactly one span batch safe
  const before = verifier!.heads!.safe.number;
  while (verifier!.heads!.safe.number === before) await network.run(500);
  const after = verifier!.heads!.safe.number;
  expect(after - before).toBeGreaterThan(4);
  const number = before + Math.floor((after - before) / 2);
  const file = join(folder, `of-${number}-${blocks}`);
  const made = await (sequencer!.engine as RealEngine).snapshot(file, number, blocks);
  const { rollup } = network.derivation;
  const engine = await RealEngine.restored(file, rollup, network.clock, { user: USER_ADDRESS, profile: "R" });
  expect(engine.head.hash).toBe(sequencer!.engine.canonicalRef(number)!.hash);
  const node = network.join("restored", engine);
  // Rengine's work takes no simulated time, and simulated time does not wait for it.
  for (let turn = 0; turn < 60 && (node.heads?.safe.number ?? 0) <= after; turn++) await network.run(12_000);
  return { node, made, number, after };
}

async function withNetwork(run: (network: SimNetwork) => Promise<void>, isLogKept = false): Promise<void> {
  const network = new SimNetwork(PLAN, { isLogKept });
  try {
    await run(network);
  } finally {
    await network.remove();
  }
}

function expectFollows(network: SimNetwork, { node, after }: { readonly node: SimNode; readonly after: number }): void {
  const { number, hash } = node.heads!.safe;
  expect(number).toBeGreaterThan(after);
  expect(hash).toBe(network.sequencer.engine.canonicalRef(number)!.hash);
  expect(network.violations).toEqual([]);
}

describe("a rollup node on an engine that began with a snapshot", () => {
  it("starts in the midst of a span batch, and derives the chain that the others have", { tags: "long" }, () =>
    withNetwork(async (network) => expectFollows(network, await startInTheMidst(network, 110_000))),
  );

  // RNODE_SNAPSHOT_SCENARIOS=1: chains that are older than a channel timeout of fifty L1 blocks
  const isLong = process.env.RNODE_SNAPSHOT_SCENARIOS !== undefined;
  it.runIf(isLong)("finds in the snapshot what it reads of the blocks before it", () =>
    withNetwork(async (network) => {
      const late = await startInTheMidst(network, 750_000);
      expect(late.made.blocks).toBeGreaterThan(300);
      expectFollows(network, late);
    }),
  );

  it.runIf(isLong)("could not start with 256 blocks, the least that execution needs", () =>
    withNetwork(async (network) => {
      const { node, made, number } = await startInTheMidst(network, 750_000, 256);
      expect(made.blocks).toBe(256);
      expect(node.heads!.safe.number).toBe(number);
      expect(network.log.lines.join("\n")).toMatch(
        new RegExp(`deriving from safe block ${number} begins at a block whose L1 origin is 50 L1 blocks older`),
      );
    }, true),
  );
});
