import { type FailoverPlan, failoverPlanOf } from "./failover-plan.ts";
import { type Explanation, type FailoverViolation, SimFailover } from "./sim-failover.ts";

export interface FailoverResult {
  readonly plan: FailoverPlan;
  readonly violations: readonly FailoverViolation[];
  readonly log: readonly string[];
  readonly blocks: number;
  readonly leaders: number;
  readonly parts: number;
  readonly strayParts: number;
  /** transactions that were shown to clients of any machine, and those of them that a block did not keep, by reason */
  readonly promised: number;
  readonly explained: Readonly<Record<Explanation, number>>;
  /** the same whenever the same seed runs */
  readonly fingerprint: string;
}

/** How long everything may take to work again after the last fault: lease, catching up, and blocks in time again. */
const REST_MS = 20_000;
const BLOCKS_AFTERWARDS = 3;

export function runFailover(seed: number, isLogKept = false): FailoverResult {
  const plan = failoverPlanOf(seed);
  const sim = new SimFailover(plan, isLogKept);
  try {
    for (const fault of plan.faults) sim.timeline.after(fault.fromMs, () => sim.begin(fault));
    sim.run(plan.faultsMs + 1);
    recover(sim, plan);
    sim.end();
  } catch (error) {
    sim.report("crash", error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const { violations, log, committed, leaders, parts, strayParts, promised, explained } = sim;
  const fingerprint = `${committed.at(-1)!.hashHex.slice(2, 14)}-${parts}`;
  return {
    plan,
    violations,
    log: log.lines,
    blocks: committed.length - 1,
    leaders,
    parts,
    strayParts,
    promised,
    explained,
    fingerprint,
  };
}

/** Blocks must be committed again, and everybody must have them and show the parts of the next. */
function recover(sim: SimFailover, { blockTimeMs }: FailoverPlan): void {
  const wanted = sim.committed.length + BLOCKS_AFTERWARDS;
  for (let passedMs = 0; passedMs < REST_MS; passedMs += blockTimeMs / 4) {
    sim.run(blockTimeMs / 4);
    if (sim.violations.length > 0 || (sim.committed.length >= wanted && sim.behind.length === 0)) return;
  }
  sim.report("liveness", `${sim.committed.length} blocks, ${wanted} expected; behind: ${sim.behind.join(", ")}`);
}
