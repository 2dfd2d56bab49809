import { scheduleSetFaults } from "./set-faults.ts";
import type { SetViolation } from "./set-invariants.ts";
import { type SetPlan, setPlanOf } from "./set-plan.ts";
import { SimSet } from "./sim-set.ts";

export interface SetResult {
  readonly plan: SetPlan;
  readonly violations: readonly SetViolation[];
  readonly log: readonly string[];
  /** times at which the set was verified */
  readonly rounds: number;
  readonly denials: number;
  /** messages that users had executed, of those at the time of their logs */
  readonly executed: number;
  readonly executedAtOnce: number;
  readonly replacedL1Blocks: number;
  /** the same whenever the same seed runs */
  readonly fingerprint: string;
}

export function runSetScenario(seed: number, isLogKept = false): Promise<SetResult> {
  return runSetPlan(setPlanOf(seed), isLogKept);
}

/** Never rejects: a crash is a violation. */
async function runSetPlan(plan: SetPlan, isLogKept = false): Promise<SetResult> {
  const set = new SimSet(plan, isLogKept);
  const onCrash = (reason: unknown): void =>
    set.report("crash", reason instanceof Error ? (reason.stack ?? reason.message) : String(reason));
  process.on("unhandledRejection", onCrash);
  let fingerprint = "";
  try {
    set.start();
    scheduleSetFaults(set);
    await set.run(plan.faultsMs);
    if (set.violations.length === 0) await recover(set);
    set.invariants.checkSameChains(set.nodes);
    for (const source of set.sources) set.invariants.checkDenials(source);
    if (plan.isCalm) set.invariants.checkNothingLost(set.sources[0]!);
  } catch (error) {
    onCrash(error);
  } finally {
    process.off("unhandledRejection", onCrash);
    ({ fingerprint } = set);
    await set.remove();
  }
  return {
    plan,
    violations: set.violations,
    log: set.log.lines,
    rounds: set.invariants.rounds,
    denials: set.invariants.denials,
    executed: set.traffic.executed,
    executedAtOnce: set.traffic.executedAtOnce,
    replacedL1Blocks: set.l1.replacedBlocks,
    fingerprint,
  };
}

/** All faults are over: every node's safe head must pass everything that was sequenced until now. */
async function recover(set: SimSet): Promise<void> {
  const { plan, chains } = set;
  const targets = new Map(chains.map(({ config, sequencer }) => [config.l2ChainId, sequencer.engine.head.number]));
  const stepMs = plan.l1BlockTimeSec * 1000;
  const missing = () =>
    set.nodes.filter(({ name, heads }) => (heads?.safe.number ?? -1) <= targets.get(BigInt(name.split("-")[0]!))!);
  for (let passedMs = 0; passedMs < plan.recoveryMs && missing().length > 0; passedMs += stepMs) {
    await set.run(stepMs);
    if (set.violations.length > 0) return;
  }
  if (missing().length === 0) return;
  const safe = missing()
    .map(({ name, heads }) => `${name} ${heads?.safe.number ?? "nothing"}`)
    .join(", ");
  const wanted = [...targets].map(([chainId, number]) => `${chainId} ${number}`).join(", ");
  set.report(
    "liveness",
    `${plan.recoveryMs / 1000} s after the last fault, safe heads (${safe}) have not passed those of then (${wanted})`,
  );
}
