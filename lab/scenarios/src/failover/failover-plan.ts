import { Random } from "../random.ts";

const FAILOVER_FAULTS = [
  /** the leader hands over to another sequencer, in the middle of a block */
  "handover",
  "machine-crash",
  "engine-crash",
  "rnode-crash",
  "machine-pause",
  "engine-pause",
  "rnode-pause",
  /** all its streams are connected anew, and what was under way is lost */
  "streams-drop",
  /** nothing of its stream, or to it, arrives */
  "streams-cut",
  /** one of the streams to it is late, so that those of others overtake it */
  "stream-late",
  "blocks-late",
  "etcd-cut",
  /** streams, blocks and etcd */
  "partition",
] as const;
type FailoverFaultKind = (typeof FAILOVER_FAULTS)[number];

export interface FailoverFault {
  readonly kind: FailoverFaultKind;
  /** who has it, when it begins */
  readonly of: "leader" | "standby" | "follower";
  readonly fromMs: number;
  readonly forMs: number;
}

/** What happens to the sequencers of a chain and to a follower. Everything follows from the seed. */
export interface FailoverPlan {
  readonly seed: number;
  readonly sequencers: 2 | 3;
  readonly blockTimeMs: number;
  readonly intervalMs: number;
  readonly leaseMs: number;
  /** the longest delay of a message of a stream without a fault */
  readonly streamMs: number;
  /** mean time between two transactions of users */
  readonly transactionMs: number;
  /** how often a leader chooses another L1 origin than others would, so that its attributes differ */
  readonly otherOrigin: number;
  /** how often users send different transactions with the same nonce to different sequencers */
  readonly replaced: number;
  readonly faults: readonly FailoverFault[];
  readonly faultsMs: number;
}

const WARM_UP_MS = 2_500;

export function failoverPlanOf(seed: number): FailoverPlan {
  const random = new Random(seed, "failover plan");
  const faults: FailoverFault[] = [];
  let atMs = WARM_UP_MS + random.below(2_000);
  const count = random.between(1, 4);
  for (let n = 0; n < count; n++) {
    const of = random.pick(["leader", "leader", "leader", "standby", "follower"] as const);
    const forMs = random.chance(0.5) ? random.between(50, 1_500) : random.between(1_500, 6_000);
    faults.push({ kind: random.pick(FAILOVER_FAULTS), of, fromMs: atMs, forMs });
    atMs += random.chance(0.4) ? random.below(600) : random.between(600, 4_000);
  }
  return {
    seed,
    sequencers: random.pick([2, 3, 3]),
    blockTimeMs: random.pick([1_000, 2_000]),
    intervalMs: random.pick([200, 250]),
    leaseMs: random.pick([800, 2_000]),
    streamMs: random.pick([5, 40, 250]),
    transactionMs: random.pick([60, 150, 400]),
    otherOrigin: random.pick([0, 0.2]),
    replaced: random.pick([0, 0.1]),
    faults,
    faultsMs: Math.max(...faults.map(({ fromMs, forMs }) => fromMs + forMs)),
  };
}
