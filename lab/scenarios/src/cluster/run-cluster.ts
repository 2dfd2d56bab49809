import { type ClusterFault, type ClusterPlan, clusterPlanOf, KEYHOLDER_FAULTS, type KeyholderFault } from "./cluster-plan.ts";
import { LEASE_TTL_SEC, type Machine } from "./machine.ts";
import { type ClusterViolation, L1_BLOCK_TIME_SEC, SimCluster } from "./sim-cluster.ts";

export interface ClusterResult {
  readonly plan: ClusterPlan;
  readonly violations: readonly ClusterViolation[];
  readonly log: readonly string[];
  readonly committed: number;
  readonly leaders: number;
  /** from the end of the last fault until blocks are committed again, and until all members have them; `undefined`: never */
  readonly resumedMs: number | undefined;
  readonly followedMs: number | undefined;
}

/** How long everything runs after the last fault, whatever was found. */
const REST_MS = 60_000;
const STEP_MS = 500;
/** A block is in a batch, the batch in L1, and read there. */
const BATCH_MS = 3 * L1_BLOCK_TIME_SEC * 1000;
const ATTACK_INTERVAL_MS = 700;
/** Clocks jump by seconds, minutes or days. */
const JUMPS_SEC = [3, 20, 45, 90, 600, 86_400];

export function runCluster(seed: number, isLogKept = false): Promise<ClusterResult> {
  return runClusterPlan(clusterPlanOf(seed), isLogKept);
}

/** Never rejects: a crash is a violation. */
async function runClusterPlan(plan: ClusterPlan, isLogKept = false): Promise<ClusterResult> {
  const cluster = new SimCluster(plan, isLogKept);
  const onCrash = (reason: unknown): void =>
    cluster.report("crash", reason instanceof Error ? (reason.stack ?? reason.message) : String(reason));
  process.on("unhandledRejection", onCrash);
  let resumedMs: number | undefined;
  let followedMs: number | undefined;
  try {
    cluster.start();
    for (const fault of plan.faults) cluster.clock.after(fault.fromMs, () => begin(cluster, fault));
    await cluster.run(plan.faultsMs + 1);
    const endMs = cluster.clock.unixMs();
    const limitMs = (2 * plan.blockTimeSec + LEASE_TTL_SEC) * 1000;
    for (let passedMs = STEP_MS; passedMs <= REST_MS; passedMs += STEP_MS) {
      await cluster.run(STEP_MS);
      if ((cluster.commits.at(-1)?.atMs ?? 0) > endMs) resumedMs ??= cluster.commits.find(({ atMs }) => atMs > endMs)!.atMs - endMs;
      const doAllFollow = cluster.machines.every((machine) => cluster.follows(machine));
      if (resumedMs !== undefined && doAllFollow) followedMs ??= passedMs;
    }
    const since = (ms: number | undefined): string => (ms === undefined ? `never in ${REST_MS / 1000} s` : `${ms / 1000} s`);
    if (resumedMs === undefined || resumedMs > limitMs)
      cluster.report(
        "liveness",
        `the next block after the last fault: ${since(resumedMs)}, at most ${limitMs / 1000} s are allowed`,
      );
    // A follower with a valid sibling of the sequencer's block keeps it until L1 decides, because simulated execution clients
    // have no peers that could provide the other block.
    const hadSiblings = plan.faults.some(({ kind }) => kind === "sibling" || kind === "many-siblings");
    const followLimitMs = limitMs + (hadSiblings ? BATCH_MS : 0);
    if (followedMs === undefined || followedMs > followLimitMs)
      cluster.report(
        "follows",
        `all nodes have all blocks after the last fault: ${since(followedMs)}, at most ${followLimitMs / 1000} s`,
      );
    cluster.checkNothingLost();
    cluster.checkScores();
  } catch (error) {
    onCrash(error);
  } finally {
    process.off("unhandledRejection", onCrash);
    await cluster.remove();
  }
  return {
    plan,
    violations: cluster.violations,
    log: cluster.log.lines,
    committed: cluster.commits.length,
    leaders: cluster.commits.filter(({ leader }, at) => leader !== cluster.commits[at - 1]?.leader).length,
    resumedMs,
    followedMs,
  };
}

const isKeyholder = (kind: string): kind is KeyholderFault => (KEYHOLDER_FAULTS as readonly string[]).includes(kind);

function begin(cluster: SimCluster, fault: ClusterFault): void {
  const { kind, of, fromMs, toMs } = fault;
  const { clock, machines, leader } = cluster;
  const leads = leader ?? machines[0]!;
  const machine =
    of === "leader" ? leads : of === "follower" ? machines.at(-1)! : machines.find((other) => other !== leads && other.conductor)!;
  cluster.log.note("FAULT", `${kind} of ${isKeyholder(kind) ? "the keyholder" : machine.name} for ${(toMs - fromMs) / 1000} s`);
  if (isKeyholder(kind)) {
    const endMs = clock.unixMs() + toMs - fromMs;
    const again = (): void => {
      if (clock.unixMs() >= endMs) return;
      void cluster.attack(kind);
      clock.after(ATTACK_INTERVAL_MS, again);
    };
    again();
    return;
  }
  const end = afflict(machine, fault);
  clock.after(toMs - fromMs, () => {
    cluster.log.note("FAULT", `${kind} of ${machine.name} ends`);
    end();
  });
}

/** Sets a value until the fault ends. Faults of one kind may overlap: then the last to end ends it. */
function set<T, K extends keyof T>(state: T, key: K, value: T[K], sound: T[K]): () => void {
  state[key] = value;
  return () => {
    state[key] = sound;
  };
}

const both =
  (...ends: readonly (() => void)[]) =>
  (): void => {
    for (const end of ends) end();
  };

/** @returns a function that ends the fault */
function afflict(machine: Machine, { kind, strength, isBackward }: ClusterFault): () => void {
  const { node, nodeTime, conductorTime, etcdLink, conductorLink, gossipState } = machine;
  const between = (min: number, max: number): number => Math.round(min + strength * (max - min));
  const jumpMs = JUMPS_SEC[Math.floor(strength * JUMPS_SEC.length)]! * (isBackward ? -1000 : 1000);
  const stop = (...processes: readonly ({ stop(): void; wake(): void } | undefined)[]): (() => void) => {
    for (const process of processes) process?.stop();
    return () => {
      for (const process of processes) process?.wake();
    };
  };
  switch (kind) {
    case "node-clock": {
      const end = set(nodeTime, "offsetMs", jumpMs, 0);
      return Math.abs(jumpMs) > 60_000 ? both(end, set(node.engineState, "isDown", true, false)) : end;
    }
    case "machine-clock":
      return both(set(nodeTime, "offsetMs", jumpMs, 0), set(conductorTime, "offsetMs", jumpMs, 0));
    case "machine-stopped":
      return stop(node.process, machine.conductor?.process);
    case "node-stopped":
      return stop(node.process);
    case "conductor-stopped":
      return stop(machine.conductor?.process);
    case "starved":
      return set(nodeTime, "lagMs", between(10, 200), 0);
    case "gossip-out-lost":
      return set(gossipState, "isOutLost", true, false);
    case "gossip-in-lost":
      return set(gossipState, "isInLost", true, false);
    case "gossip-cut":
      return both(set(gossipState, "isOutLost", true, false), set(gossipState, "isInLost", true, false));
    case "gossip-late":
      return set(gossipState, "delayMs", between(300, 2_000), 0);
    case "gossip-twice":
      return set(gossipState, "isTwice", true, false);
    case "etcd-answers-lost":
      return set(etcdLink, "losesAnswers", true, false);
    case "etcd-late":
      return set(etcdLink, "delayMs", between(300, 2_000), 0);
    case "etcd-cut":
      return set(etcdLink, "isCut", true, false);
    case "conductor-answers-lost":
      return set(conductorLink, "losesAnswers", true, false);
    case "conductor-late":
      return set(conductorLink, "delayMs", between(300, 2_000), 0);
    case "l1-late": {
      const [first, second] = node.l1States;
      const ms = between(300, 2_000);
      return both(set(first, "maxLatencyMs", ms, 5), set(second, "maxLatencyMs", ms, 5));
    }
    case "l1-answers-lost": {
      const [first, second] = node.l1States;
      return both(set(first, "lossRate", 1, 0), set(second, "lossRate", 1, 0));
    }
    default:
      throw new Error(`${kind} is not a fault of a machine`);
  }
}
