import type { P2PMetrics, ScoreType } from "../p2p-metrics.ts";
import type { GossipPeerStats } from "./gossip-view.ts";
import type { PeerScores } from "./peer-api.ts";
import type { PeerRecords } from "./peer-records.ts";
import { NO_SCORES } from "./record-json.ts";
import { COLOCATION_THRESHOLD, SHARED_ADDRESSES } from "./score-params.ts";

interface ScoreSource {
  score(peer: string): number;
  stats(): Readonly<Record<string, GossipPeerStats>>;
}

interface SnapshotDeps {
  readonly records: PeerRecords;
  readonly metrics: P2PMetrics;
}

/** Writes the scores of connected peers to the score records, and observes them. */
export function takeSnapshot(connected: readonly string[], gossip: ScoreSource, nowSec: number, deps: SnapshotDeps): void {
  const stats = gossip.stats();
  const peersAt = peersByAddress(stats);
  for (const peer of connected) {
    const ofPeer = stats[peer];
    const total = gossip.score(peer);
    const { reqResp } = deps.records.scores.get(peer)?.peerScores ?? NO_SCORES;
    const scores: PeerScores = {
      gossip: {
        total,
        blocks: blocksOf(ofPeer),
        IPColocationFactor: colocation(ofPeer, peersAt),
        behavioralPenalty: ofPeer?.behaviourPenalty ?? 0,
      },
      reqResp,
    };
    deps.records.setScores(peer, scores, nowSec);
    observe(scores, deps.metrics);
  }
}

/** Over all topics: deliveries added up, and the longest time in a mesh, in seconds. */
function blocksOf(stats: GossipPeerStats | undefined): PeerScores["gossip"]["blocks"] {
  const topics = Object.values(stats?.topics ?? {});
  const sum = (of: (topic: (typeof topics)[number]) => number): number => topics.reduce((total, topic) => total + of(topic), 0);
  return {
    timeInMesh: Math.max(0, ...topics.map(({ inMesh, meshTime }) => (inMesh ? meshTime / 1000 : 0))),
    firstMessageDeliveries: sum(({ firstMessageDeliveries }) => firstMessageDeliveries),
    meshMessageDeliveries: sum(({ meshMessageDeliveries }) => meshMessageDeliveries),
    invalidMessageDeliveries: sum(({ invalidMessageDeliveries }) => invalidMessageDeliveries),
  };
}

function peersByAddress(stats: Readonly<Record<string, GossipPeerStats>>): ReadonlyMap<string, number> {
  const peers = new Map<string, number>();
  for (const { knownIPs } of Object.values(stats)) for (const ip of knownIPs) peers.set(ip, (peers.get(ip) ?? 0) + 1);
  return peers;
}

/** The square of how many peers too many there are at an address, as in gossipsub's score P6 before its weight. */
function colocation(stats: GossipPeerStats | undefined, peersAt: ReadonlyMap<string, number>): number {
  let factor = 0;
  for (const ip of stats?.knownIPs ?? []) {
    if (SHARED_ADDRESSES.has(ip)) continue;
    factor += Math.max(0, (peersAt.get(ip) ?? 0) - COLOCATION_THRESHOLD) ** 2;
  }
  return factor;
}

function observe({ gossip, reqResp }: PeerScores, { peerScores }: P2PMetrics): void {
  const parts: Readonly<Record<ScoreType, number>> = {
    total: gossip.total,
    ipColocation: gossip.IPColocationFactor,
    behavioralPenalty: gossip.behavioralPenalty,
    blocksFirstMessage: gossip.blocks.firstMessageDeliveries,
    blocksTimeInMesh: gossip.blocks.timeInMesh,
    blocksMessageDeliveries: gossip.blocks.meshMessageDeliveries,
    blocksInvalidMessageDeliveries: gossip.blocks.invalidMessageDeliveries,
    reqRespValidResponses: reqResp.validResponses,
    reqRespErrorResponses: reqResp.errorResponses,
    reqRespRejectedPayloads: reqResp.rejectedPayloads,
  };
  for (const [type, value] of Object.entries(parts)) peerScores.observe(value, { type: type as ScoreType });
}

/** The largest penalties of a score, as text. */
export function scoreInWords({ gossip, reqResp }: PeerScores): string {
  const rounded = (value: number): string => String(Math.round(value * 100) / 100);
  const counts = [
    ["invalid blocks", gossip.blocks.invalidMessageDeliveries],
    ["behavioural penalty", gossip.behavioralPenalty],
    ["too many peers at its address", gossip.IPColocationFactor],
    ["rejected payloads", reqResp.rejectedPayloads],
    ["failed responses", reqResp.errorResponses],
  ] as const;
  const weighing = counts.filter(([, value]) => value > 0).map(([name, value]) => `${name} ${rounded(value)}`);
  return weighing.length === 0 ? "too few blocks delivered" : weighing.join(", ");
}
