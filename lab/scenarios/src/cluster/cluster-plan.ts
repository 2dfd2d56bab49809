import { CLUSTER_FORKS, type Interval } from "../plan.ts";
import { Random } from "../random.ts";

/** Faults of one machine: of its clocks, processes and links. */
const MACHINE_FAULTS = [
  /** the rollup node's time of day is wrong; the engine refuses its tokens if it is wrong by more than a minute */
  "node-clock",
  /** the time of day of all programs of the machine is wrong */
  "machine-clock",
  "machine-stopped",
  "node-stopped",
  "conductor-stopped",
  /** every wait of the rollup node takes longer */
  "starved",
  "gossip-out-lost",
  "gossip-in-lost",
  "gossip-late",
  "gossip-twice",
  "gossip-cut",
  "etcd-answers-lost",
  "etcd-late",
  "etcd-cut",
  "conductor-answers-lost",
  "conductor-late",
  "l1-late",
  "l1-answers-lost",
] as const;

/** Actions of a neighbour with the sequencer's key. */
export const KEYHOLDER_FAULTS = [
  "sibling",
  "far-ahead",
  "wrong-origin",
  "gas-bomb",
  "many-siblings",
  "old-blocks",
  "wrong-deposit",
] as const;

type MachineFault = (typeof MACHINE_FAULTS)[number];
export type KeyholderFault = (typeof KEYHOLDER_FAULTS)[number];
export type ClusterFaultKind = MachineFault | KeyholderFault;
export const CLUSTER_FAULTS: readonly ClusterFaultKind[] = [...MACHINE_FAULTS, ...KEYHOLDER_FAULTS];

export interface ClusterFault extends Interval {
  readonly kind: ClusterFaultKind;
  /** who has it, when it begins; keyholders send to all */
  readonly of: "leader" | "standby" | "follower";
  /** how strong it is, from 0 to below 1 */
  readonly strength: number;
  /** the other way: clocks are behind */
  readonly isBackward: boolean;
}

/** The events of a cluster of sequencers. Everything follows from the seed. */
export interface ClusterPlan {
  readonly seed: number;
  readonly blockTimeSec: number;
  readonly fork: (typeof CLUSTER_FORKS)[number];
  readonly faults: readonly ClusterFault[];
  /** when the last fault has ended */
  readonly faultsMs: number;
}

const WARM_UP_MS = 16_000;

/** All pairs of kinds, each kind with itself as well: of two machines, or one after the other. */
export const FAULT_PAIRS: readonly (readonly [ClusterFaultKind, ClusterFaultKind])[] = CLUSTER_FAULTS.flatMap((first, at) =>
  CLUSTER_FAULTS.slice(at).map((second) => [first, second] as const),
);
/** Coprime to the number of pairs, so that consecutive seeds of that number cover all pairs, well mixed. */
const STRIDE = 89;

/** Each seed has one pair of simultaneous faults, and more before or after it. */
export function clusterPlanOf(seed: number): ClusterPlan {
  const random = new Random(seed, "cluster plan");
  const pair = FAULT_PAIRS[(seed * STRIDE) % FAULT_PAIRS.length]!;
  const faults: ClusterFault[] = [];
  let atMs = WARM_UP_MS + random.below(4_000);
  const add = (kind: ClusterFaultKind, fromMs: number): ClusterFault => {
    const isStop = kind.endsWith("stopped");
    const forMs = isStop && random.chance(0.3) ? random.between(30_000, 90_000) : random.between(5_000, 30_000);
    const fault: ClusterFault = {
      kind,
      of: random.pick(["leader", "leader", "leader", "standby", "follower"] as const),
      strength: random.fraction(),
      isBackward: random.chance(0.5),
      fromMs,
      toMs: fromMs + forMs,
    };
    faults.push(fault);
    return fault;
  };
  if (random.chance(0.4)) atMs = add(random.pick(CLUSTER_FAULTS), atMs).toMs + random.below(8_000);
  const first = add(pair[0], atMs);
  const second = add(pair[1], atMs + random.below(Math.floor((first.toMs - atMs) / 2)));
  if (random.chance(0.3)) add(random.pick(CLUSTER_FAULTS), Math.max(first.toMs, second.toMs) + random.below(8_000));
  return {
    seed,
    blockTimeSec: random.pick([1, 2, 2]),
    fork: random.pick(CLUSTER_FORKS),
    faults,
    faultsMs: Math.max(...faults.map(({ toMs }) => toMs)),
  };
}
