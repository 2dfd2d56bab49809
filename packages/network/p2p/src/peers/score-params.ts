/**
 * How gossip scores peers with `--p2p.scoring=light`, and with `none`.
 * Spec: docs/protocol/03-p2p.md#peer-scoring
 */

/** The parameters of one topic, as gossipsub takes them; times in milliseconds. */
export interface TopicScoring {
  topicWeight: number;
  timeInMeshWeight: number;
  timeInMeshQuantum: number;
  timeInMeshCap: number;
  firstMessageDeliveriesWeight: number;
  firstMessageDeliveriesDecay: number;
  firstMessageDeliveriesCap: number;
  meshMessageDeliveriesWeight: number;
  meshMessageDeliveriesDecay: number;
  meshMessageDeliveriesCap: number;
  meshMessageDeliveriesThreshold: number;
  meshMessageDeliveriesWindow: number;
  meshMessageDeliveriesActivation: number;
  meshFailurePenaltyWeight: number;
  meshFailurePenaltyDecay: number;
  invalidMessageDeliveriesWeight: number;
  invalidMessageDeliveriesDecay: number;
}

export interface GossipScoreParams {
  topics: Record<string, TopicScoring>;
  topicScoreCap: number;
  readonly appSpecificScore: (peer: string) => number;
  appSpecificWeight: number;
  IPColocationFactorWeight: number;
  IPColocationFactorThreshold: number;
  IPColocationFactorWhitelist: Set<string>;
  behaviourPenaltyWeight: number;
  behaviourPenaltyThreshold: number;
  behaviourPenaltyDecay: number;
  decayInterval: number;
  decayToZero: number;
  retainScore: number;
}

export const SCORE_THRESHOLDS = {
  gossipThreshold: -10,
  publishThreshold: -40,
  graylistThreshold: -40,
  acceptPXThreshold: 20,
  opportunisticGraftThreshold: 0.05,
} as const;

/** Counters below this are zero. */
export const DECAY_TO_ZERO = 0.01;
const SLOTS_PER_EPOCH = 6;
const DEFAULT_SLOT_MS = 2000;
const MAX_TIME_IN_MESH_SCORE = 10;
const MESH_DELIVERIES_WEIGHT = -0.7;

/** Number of peers on one address from which each gets a penalty. */
export const COLOCATION_THRESHOLD = 10;
/** Addresses of local programs and proxies, which are not one attacker. */
export const SHARED_ADDRESSES: ReadonlySet<string> = new Set(["127.0.0.1", "::1"]);

/** The slot is the time between two L2 blocks. @param blockTimeSec 0: two seconds */
export function slotMs(blockTimeSec: number): number {
  return blockTimeSec === 0 ? DEFAULT_SLOT_MS : blockTimeSec * 1000;
}

export const epochsMs = (epochs: number, slot: number): number => epochs * SLOTS_PER_EPOCH * slot;

/** The factor by which a counter falls to a hundredth in `periodMs`, when applied each slot. */
export const scoreDecay = (periodMs: number, slot: number): number => 0.01 ** (1 / Math.floor(periodMs / slot));

export interface LightScoring {
  /** of `slotMs` */
  readonly slot: number;
  /** by version, the first one first */
  readonly topics: readonly string[];
  /** the topic on which blocks are published at present */
  readonly liveTopic: string;
  readonly applicationScore: (peer: string) => number;
}

/**
 * The parameters of `light`. Time in the mesh and deliveries are scored only on the topic of the first version, as in older
 * releases of op-node, so ignored or missing blocks cost peers nothing. Invalid blocks are penalised on all topics, because no
 * honest peer forwards them. op-node scores no topic any more (v1.19.6).
 */
export function lightScoring({ slot, topics, liveTopic, applicationScore }: LightScoring): GossipScoreParams {
  return {
    topics: Object.fromEntries(
      topics.map((topic, index) => [topic, index === 0 ? firstTopic(slot, topic === liveTopic) : otherTopic(slot)]),
    ),
    topicScoreCap: 34,
    appSpecificScore: applicationScore,
    appSpecificWeight: 1,
    IPColocationFactorWeight: -35,
    IPColocationFactorThreshold: COLOCATION_THRESHOLD,
    IPColocationFactorWhitelist: new Set(SHARED_ADDRESSES),
    behaviourPenaltyWeight: -16,
    behaviourPenaltyThreshold: 6,
    behaviourPenaltyDecay: scoreDecay(epochsMs(10, slot), slot),
    decayInterval: slot,
    decayToZero: DECAY_TO_ZERO,
    retainScore: epochsMs(100, slot),
  };
}

function firstTopic(slot: number, isLive: boolean): TopicScoring {
  return {
    ...otherTopic(slot),
    timeInMeshWeight: MAX_TIME_IN_MESH_SCORE / Math.floor(3_600_000 / slot),
    firstMessageDeliveriesWeight: 1,
    ...deliveryWeights(isLive),
  };
}

/** Counts everything, but only invalid blocks have a weight. */
function otherTopic(slot: number): TopicScoring {
  return {
    topicWeight: 0.8,
    timeInMeshWeight: 0,
    timeInMeshQuantum: slot,
    timeInMeshCap: Math.floor(3_600_000 / slot),
    firstMessageDeliveriesWeight: 0,
    firstMessageDeliveriesDecay: scoreDecay(epochsMs(20, slot), slot),
    firstMessageDeliveriesCap: 23,
    ...deliveryWeights(false),
    meshMessageDeliveriesDecay: scoreDecay(epochsMs(5, slot), slot),
    meshMessageDeliveriesCap: 30,
    meshMessageDeliveriesThreshold: 3,
    meshMessageDeliveriesWindow: 2000,
    meshMessageDeliveriesActivation: epochsMs(4, slot),
    meshFailurePenaltyDecay: scoreDecay(epochsMs(5, slot), slot),
    invalidMessageDeliveriesWeight: -140.4475,
    invalidMessageDeliveriesDecay: scoreDecay(epochsMs(50, slot), slot),
  };
}

const deliveryWeights = (isLive: boolean) => {
  const weight = isLive ? MESH_DELIVERIES_WEIGHT : 0;
  return { meshMessageDeliveriesWeight: weight, meshFailurePenaltyWeight: weight };
};

/** Peers are penalized for delivering too little on the first topic, as long as blocks are published there: nothing can be delivered later. */
export function setLiveTopic({ topics }: Pick<GossipScoreParams, "topics">, liveTopic: string): void {
  for (const [topic, scoring] of Object.entries(topics))
    if (scoring.firstMessageDeliveriesWeight > 0) Object.assign(scoring, deliveryWeights(topic === liveTopic));
}

/** The parameters of `none`: every score is zero. gossipsub's own defaults would score addresses and behaviour. */
export function noScoring(slot: number): GossipScoreParams {
  return {
    topics: {},
    topicScoreCap: 0,
    appSpecificScore: () => 0,
    appSpecificWeight: 0,
    IPColocationFactorWeight: 0,
    IPColocationFactorThreshold: 1,
    IPColocationFactorWhitelist: new Set(),
    behaviourPenaltyWeight: 0,
    behaviourPenaltyThreshold: 0,
    behaviourPenaltyDecay: 0.5,
    decayInterval: slot,
    decayToZero: DECAY_TO_ZERO,
    retainScore: 0,
  };
}
