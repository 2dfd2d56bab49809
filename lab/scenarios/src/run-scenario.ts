import { isPostExecTransaction, type UpgradeArtifactSource } from "@rnode/protocol";
import { scheduleFaults } from "./faults.ts";
import type { Violation } from "./invariants.ts";
import type { L1Passed } from "./l1-traffic.ts";
import { type Plan, planOf } from "./plan.ts";
import type { DaEvents } from "./sim-da.ts";
import { SimNetwork } from "./sim-network.ts";
import type { SimNode } from "./sim-node.ts";

export interface ScenarioOptions {
  readonly isLogKept?: boolean | undefined;
  /** the code of upgrades; `undefined`: no such upgrade in scenarios */
  readonly upgradeArtifact?: UpgradeArtifactSource | undefined;
}

export interface ScenarioResult {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  /** the events, if they were recorded */
  readonly log: readonly string[];
  /** the same whenever the same seed runs */
  readonly fingerprint: string;
  readonly l1Blocks: number;
  readonly safeBlocks: number;
  readonly replacedL1Blocks: number;
  /** the L1 features before all safe heads */
  readonly passed: L1Passed;
  readonly labelsGoneBack: number;
  /** number of blocks that a supernode decided against */
  readonly invalidatedBlocks: number;
  /** number of safe blocks that end with a post-exec transaction */
  readonly refundedBlocks: number;
  /** `undefined`: the data is on L1 */
  readonly da: DaEvents | undefined;
  /** late verifiers: number of finished syncs from peers, and number misled by the sequencer */
  readonly late: { readonly synced: number; readonly misled: number };
}

/** Runs the scenario of a seed. Never rejects: a crash is a violation. */
export function runScenario(seed: number, options: ScenarioOptions = {}): Promise<ScenarioResult> {
  return runPlan(planOf(seed, { hasUpgradeCode: options.upgradeArtifact !== undefined }), options);
}

export async function runPlan(plan: Plan, { isLogKept = false, upgradeArtifact }: ScenarioOptions = {}): Promise<ScenarioResult> {
  const network = new SimNetwork(plan, { isLogKept, upgradeArtifact });
  const onCrash = (reason: unknown): void => {
    const detail = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    network.report({ rule: "crash", detail });
  };
  let fingerprint = "";
  let late = { synced: 0, misled: 0 };
  let passed = network.l1Traffic.passed(0);
  let refundedBlocks = 0;
  process.on("unhandledRejection", onCrash);
  try {
    network.start();
    scheduleFaults(network);
    await network.run(plan.faultsMs);
    if (network.da !== undefined) network.da.areChallenged = false;
    if (network.violations.length === 0) await recover(network);
    network.invariants.checkSameChain(network.nodes);
    network.invariants.checkRecords(network.nodes);
    network.invariants.checkEpochs(network.nodes);
    const { refusedForGas } = network.l1;
    if (refusedForGas > 0)
      network.report({ rule: "gas", detail: `L1 refused transactions ${refusedForGas} times for their gas limit` });
    network.invariants.checkLate(network.late);
  } catch (error) {
    onCrash(error);
  } finally {
    process.off("unhandledRejection", onCrash);
    fingerprint = network.fingerprint;
    late = network.invariants.late(network.nodes);
    passed = network.l1Traffic.passed(Math.min(...network.nodes.map(({ heads }) => heads?.safe.l1Origin.number ?? 0)));
    if (plan.hasRefunds) refundedBlocks = refundedBlocksOf(network.sequencer);
    await network.remove();
  }
  return {
    plan,
    violations: network.violations,
    log: network.log.lines,
    fingerprint,
    l1Blocks: network.l1.blocks.length,
    safeBlocks: network.sequencer.engine.head.number,
    replacedL1Blocks: network.l1.replacedBlocks,
    passed,
    labelsGoneBack: network.invariants.labelsGoneBack,
    invalidatedBlocks: network.invalidated.length,
    refundedBlocks,
    da: network.da?.events,
    late,
  };
}

function refundedBlocksOf({ heads, engine }: SimNode): number {
  let count = 0;
  for (let number = 1; number <= (heads?.safe.number ?? 0); number++) {
    const last = engine.canonicalPayload(number)?.executionPayload.transactions.at(-1);
    if (last !== undefined && isPostExecTransaction(last)) count++;
  }
  return count;
}

/** All faults are over: every node's safe head must pass everything that was sequenced until now, and all must have the same chain. */
async function recover(network: SimNetwork): Promise<void> {
  const { plan, nodes, sequencer, invariants } = network;
  const target = sequencer.engine.head.number;
  const stepMs = plan.l1BlockTimeSec * 1000;
  const isThere = (node: SimNode): boolean =>
    invariants.isMisled(node) || (node.heads !== undefined && node.heads.safe.number > target);
  const isDone = (): boolean => nodes.every(isThere) && invariants.differences(nodes).length === 0;
  for (let passedMs = 0; passedMs < plan.recoveryMs && !isDone(); passedMs += stepMs) {
    await network.run(stepMs);
    if (network.violations.length > 0) return;
  }
  if (nodes.every(isThere)) return;
  const safe = nodes.map(({ name, heads }) => `${name} ${heads?.safe.number ?? "nothing"}`).join(", ");
  network.report({
    rule: "liveness",
    detail: `${plan.recoveryMs / 1000} s after the last fault, the safe heads (${safe}) have not all passed block ${target}`,
  });
}
