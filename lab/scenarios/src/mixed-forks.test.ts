import { FORK_FACTS, isDepositTransaction, OP_FORKS, type OpFork } from "@rnode/protocol";
import { missingUpgradeFiles } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import { upgradeArtifactsOf } from "./cli.ts";
import { GENESIS_TIME_SEC, NO_L1_FORKS, type Plan, planOf } from "./plan.ts";
import { SimNetwork } from "./sim-network.ts";

/** The operator's folder of published artifacts, as for the node; the code that Ecotone and later forks deploy is not in this repository. */
const upgradeArtifact = upgradeArtifactsOf(process.env.RNODE_ROLLUP_UPGRADES_DIR);
const forksBetween = (first: OpFork, last: OpFork): readonly OpFork[] =>
  OP_FORKS.slice(OP_FORKS.indexOf(first) + 1, OP_FORKS.indexOf(last) + 1);
const lacks = (first: OpFork, last: OpFork): boolean =>
  missingUpgradeFiles(forksBetween(first, last), upgradeArtifact, true).length > 0;
const SECONDS_BETWEEN_FORKS = 25;

/** A chain that starts with `first` and goes through every fork up to `last`, without faults. */
async function cross(first: OpFork, last: OpFork, args: readonly string[], isInCluster = false) {
  const forks = OP_FORKS.slice(0, OP_FORKS.indexOf(last) + 1);
  const begun = OP_FORKS.indexOf(first);
  const times = forks.map((fork, i) => [fork, i <= begun ? 0 : GENESIS_TIME_SEC + (i - begun) * SECONDS_BETWEEN_FORKS] as const);
  const crossed = times.filter(([, time]) => time > 0);
  const plan: Plan = {
    ...planOf(1, { hasUpgradeCode: true }),
    l1BlockTimeSec: 6,
    l1Forks: NO_L1_FORKS,
    blockTimeSec: 2,
    seqWindowSize: 20,
    channelTimeout: 10,
    maxSequencerDriftSec: 600,
    verifiers: 2,
    maxLatencyMs: 0,
    sequencerConfs: 0,
    verifierConfs: 0,
    forkTimes: Object.fromEntries(times.slice(1)),
    isInCluster,
    usesBlobs: true,
    batcherArgs: ["--poll-interval=1s", "--max-channel-duration=2", "--sub-safety-margin=2", "--num-confirmations=1", ...args],
    hasRoom: true,
    userIntervalMs: 1500,
    engine: "simulated",
    blobSource: "l1",
    faults: [],
  };
  const network = new SimNetwork(plan, { isLogKept: false, upgradeArtifact });
  network.start();
  await network.run((crossed.length * SECONDS_BETWEEN_FORKS + 80) * 1000);
  const lastTime = crossed.at(-1)![1];
  for (const { name, heads, engine } of network.nodes) {
    expect({ name, isPast: heads !== undefined && heads.safe.timestamp > lastTime }).toEqual({ name, isPast: true });
    expect(engine.canonicalRef(heads!.safe.number)?.hash).toBe(network.sequencer.engine.canonicalRef(heads!.safe.number)?.hash);
  }
  expect(network.violations).toEqual([]);
  await network.remove();
  /** number of deposits in a fork's first block beyond the L1 attributes */
  const upgradesOf = (fork: OpFork): number => {
    const at = crossed.find(([name]) => name === fork)![1];
    const number = Math.ceil((at - GENESIS_TIME_SEC) / plan.blockTimeSec);
    const { transactions } = network.sequencer.engine.canonicalPayload(number)!.executionPayload;
    return transactions.filter(isDepositTransaction).length - 1;
  };
  return { network, crossed: crossed.map(([fork]) => fork), upgradesOf };
}

function dataOf(network: SimNetwork, forkTime: number): { before: Set<number>; since: Set<number> } {
  const types = { before: new Set<number>(), since: new Set<number>() };
  for (const { ref, stored } of network.l1.blocks) {
    for (const { type } of stored.block.transactions) types[ref.timestamp < forkTime ? "before" : "since"].add(type);
  }
  return types;
}

function expectedUpgrades(fork: OpFork, isInCluster = false): number {
  const { upgrade } = FORK_FACTS[fork].firstBlock;
  if (upgrade.kind !== "bundle") return upgrade.kind === "steps" ? upgrade.steps.length : 0;
  const { transactions, ofCluster } = "preliminary" in upgrade ? upgrade.preliminary : upgrade.bundle;
  return transactions + (isInCluster && ofCluster !== undefined ? ofCluster.before.length + ofCluster.after.length : 0);
}

describe("a chain that changes its rules while it runs", () => {
  it("goes from Bedrock to Delta", async () => {
    const { crossed } = await cross("bedrock", "delta", ["--batch-type=0"]);
    expect(crossed).toEqual(["regolith", "canyon", "delta"]);
  });

  it("goes from Fjord to Holocene, with span batches and brotli", async () => {
    const { crossed } = await cross("fjord", "holocene", ["--batch-type=1", "--compression-algo=brotli-9"]);
    expect(crossed).toEqual(["granite", "holocene"]);
  });

  it.skipIf(lacks("bedrock", "fjord"))("goes from Bedrock to Fjord, and from calldata to blobs at Ecotone", async () => {
    const { network, crossed, upgradesOf } = await cross("bedrock", "fjord", ["--batch-type=0"]);
    for (const fork of crossed) expect({ fork, upgrades: upgradesOf(fork) }).toEqual({ fork, upgrades: expectedUpgrades(fork) });
    const { before, since } = dataOf(network, network.plan.forkTimes.ecotone!);
    expect([...before]).toEqual([2]);
    expect([...since]).toContain(3);
  });

  it.skipIf(lacks("fjord", "jovian"))("goes from Fjord to Jovian", async () => {
    const { crossed, upgradesOf } = await cross("fjord", "jovian", ["--batch-type=1"]);
    expect(crossed).toEqual(["granite", "holocene", "isthmus", "jovian"]);
    for (const fork of crossed) expect({ fork, upgrades: upgradesOf(fork) }).toEqual({ fork, upgrades: expectedUpgrades(fork) });
  });

  it.skipIf(lacks("jovian", "lagoon")).each([false, true])(
    "goes from Jovian to Lagoon, whose first block depends on the dependency set (other chains: %s)",
    async (isInCluster) => {
      const { network, crossed, upgradesOf } = await cross("jovian", "lagoon", ["--batch-type=1"], isInCluster);
      expect(crossed).toEqual(["karst", "lagoon"]);
      for (const fork of crossed) {
        expect({ fork, upgrades: upgradesOf(fork) }).toEqual({ fork, upgrades: expectedUpgrades(fork, isInCluster) });
      }
      expect(upgradesOf("lagoon")).toBe(isInCluster ? 30 : 28);
      const { blockTimeSec, forkTimes } = network.plan;
      const first = Math.ceil((forkTimes.lagoon! - GENESIS_TIME_SEC) / blockTimeSec);
      const [before, at, after] = [-1, 0, 1].map(
        (i) => network.sequencer.engine.canonicalPayload(first + i)!.executionPayload.gasLimit,
      );
      expect([at! - before!, after! - before!]).toEqual([60_653_172n, 0n]);
    },
  );

  const missing = missingUpgradeFiles(OP_FORKS, upgradeArtifact, true);
  if (missing.length > 0) console.log(`not run: forks of which RNODE_ROLLUP_UPGRADES_DIR lacks the code: ${missing.join(", ")}`);
});
