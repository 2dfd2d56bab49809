import type { Clock } from "@rnode/primitives";
import { ClockWatch } from "../clock-watch.ts";
import type { GossipEvent, P2PMetrics } from "../p2p-metrics.ts";
import { setLiveTopic, type TopicScoring } from "./score-params.ts";

/** Gossip's counters of a peer; times in milliseconds. */
export interface GossipPeerStats {
  readonly knownIPs: ReadonlySet<string>;
  readonly behaviourPenalty: number;
  readonly topics: Readonly<
    Record<
      string,
      {
        readonly inMesh: boolean;
        readonly meshTime: number;
        readonly firstMessageDeliveries: number;
        readonly meshMessageDeliveries: number;
        invalidMessageDeliveries: number;
      }
    >
  >;
}

/** The used part of gossip for scoring and `rnodep2p_*`. */
export interface GossipView {
  subscribers(topic: string): readonly string[];
  /** the total, application part included */
  score(peer: string): number;
  stats(): Readonly<Record<string, GossipPeerStats>>;
  /** Forgets the score of a peer. */
  forget(peer: string): void;
  /** when a block was valid the last time, one of ours included; monotonic milliseconds, −∞: never */
  lastValidMs(): number;
  /** Clears penalties for invalid blocks, because the clock or the signer was wrong. */
  forgiveInvalid(): void;
  /** @param topic the current topic of new blocks */
  setLiveTopic(topic: string): void;
}

/** Dates are wall clock times. */
type KeptStats = Omit<GossipPeerStats, "topics"> & {
  connected: boolean;
  expire: number;
  readonly topics: Readonly<Record<string, GossipPeerStats["topics"][string] & { graftTime?: number }>>;
};

/** The part of gossipsub that keeps scores. Its published type does not have it. */
interface ScoreKeeper {
  readonly params: { readonly topics: Record<string, TopicScoring>; readonly decayInterval: number };
  readonly peerStats: Map<string, KeptStats>;
  readonly scoreCache: Map<string, unknown>;
  refreshScores(): void;
  addPenalty(...args: readonly unknown[]): void;
  addPeer(peer: string): void;
  removePeer(peer: string): void;
  graft(peer: string, topic: string): void;
  prune(peer: string, topic: string): void;
  deliverMessage(...args: readonly unknown[]): void;
  rejectMessage(...args: readonly unknown[]): void;
  rejectInvalidMessage(...args: readonly unknown[]): void;
  duplicateMessage(...args: readonly unknown[]): void;
}

interface ScoredGossip {
  readonly score: ScoreKeeper;
  /** topic → peer → until when the peer is not to be grafted, by the time of day */
  readonly backoff: Map<string, Map<string, number>>;
  getScore(peer: string): number;
  dumpPeerScoreStats(): Readonly<Record<string, GossipPeerStats>>;
  getSubscribers(topic: string): readonly { toString(): string }[];
  publish: (...args: readonly unknown[]) => Promise<unknown>;
}

const EVENTS: Readonly<Partial<Record<keyof ScoreKeeper, GossipEvent>>> = {
  removePeer: "REMOVE_PEER",
  graft: "GRAFT",
  prune: "PRUNE",
  deliverMessage: "DELIVER_MESSAGE",
  rejectMessage: "REJECT_MESSAGE",
  rejectInvalidMessage: "REJECT_MESSAGE",
  duplicateMessage: "DUPLICATE_MESSAGE",
};

/**
 * Reads a gossipsub router, counts its events, and corrects two behaviours. First, the router gives a returning peer a new score,
 * so reconnecting would clear a bad score; here the old score is kept. Second, it measures intervals by the wall clock; here,
 * after a clock step, its dates are shifted, and for a minute no peer is penalised for its timing.
 *
 * @throws TypeError for any router but that of the supported library version
 */
export function gossipView(router: unknown, metrics: P2PMetrics, clock: Pick<Clock, "unixMs" | "monotonicMs">): GossipView {
  const gossip = router as ScoredGossip;
  const keeper = gossip.score;
  const required = ["addPeer", "addPenalty", "refreshScores", ...Object.keys(EVENTS)] as (keyof ScoreKeeper)[];
  const isKnown = keeper?.peerStats instanceof Map && gossip.backoff instanceof Map;
  if (!isKnown || required.some((name) => typeof keeper[name] !== "function"))
    throw new TypeError("gossipsub keeps scores in another way than expected: peers/gossip-view.ts belongs to one version of it");

  const watch = new ClockWatch(clock, keeper.params.decayInterval, (byMs) => moveDates(gossip, byMs));
  const refreshScores = keeper.refreshScores.bind(keeper);
  keeper.refreshScores = () => {
    watch.sample();
    refreshScores();
  };
  const addPenalty = keeper.addPenalty.bind(keeper);
  keeper.addPenalty = (...args) => {
    watch.sample();
    if (watch.isSettled) addPenalty(...args);
  };
  const addPeer = keeper.addPeer.bind(keeper);
  keeper.addPeer = (peer) => {
    metrics.gossipEvents.inc({ type: "ADD_PEER" });
    const kept = keeper.peerStats.get(peer);
    addPeer(peer);
    if (kept === undefined || (!kept.connected && kept.expire < clock.unixMs())) return;
    kept.connected = true;
    keeper.peerStats.set(peer, kept);
  };
  for (const [name, type] of Object.entries(EVENTS) as [keyof ScoreKeeper, GossipEvent][]) {
    const original = (keeper[name] as (...args: readonly unknown[]) => void).bind(keeper);
    Object.assign(keeper, {
      [name]: (...args: readonly unknown[]) => {
        metrics.gossipEvents.inc({ type });
        original(...args);
      },
    });
  }
  let lastValidMs = Number.NEGATIVE_INFINITY;
  const deliverMessage = keeper.deliverMessage.bind(keeper);
  keeper.deliverMessage = (...args) => {
    lastValidMs = clock.monotonicMs();
    deliverMessage(...args);
  };
  const publish = gossip.publish.bind(gossip);
  gossip.publish = (...args) => {
    lastValidMs = clock.monotonicMs();
    metrics.gossipEvents.inc({ type: "PUBLISH_MESSAGE" });
    return publish(...args);
  };
  return {
    subscribers: (topic) => gossip.getSubscribers(topic).map(String),
    score: (peer) => gossip.getScore(peer),
    stats: () => gossip.dumpPeerScoreStats(),
    forget(peer) {
      const stats = keeper.peerStats.get(peer);
      if (stats?.connected === false) stats.expire = 0;
      keeper.scoreCache.delete(peer);
    },
    lastValidMs: () => lastValidMs,
    forgiveInvalid() {
      for (const { topics } of keeper.peerStats.values())
        for (const topic of Object.values(topics)) topic.invalidMessageDeliveries = 0;
      keeper.scoreCache.clear();
    },
    setLiveTopic: (topic) => setLiveTopic(keeper.params, topic),
  };
}

function moveDates({ score, backoff }: ScoredGossip, byMs: number): void {
  for (const stats of score.peerStats.values()) {
    stats.expire += byMs;
    for (const topic of Object.values(stats.topics)) if (topic.graftTime !== undefined) topic.graftTime += byMs;
  }
  for (const peers of backoff.values()) for (const [peer, untilMs] of peers) peers.set(peer, untilMs + byMs);
  score.scoreCache.clear();
}
