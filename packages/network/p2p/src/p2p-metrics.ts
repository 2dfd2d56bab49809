import type { Counter, Gauge, Histogram, MetricFactory } from "@rnode/observe";
import { createGossipMetrics, type GossipMetrics } from "./gossip/gossip-metrics.ts";

/** Names of the parts of a score in `peer_scores`. */
const SCORE_TYPES = [
  "total",
  "ipColocation",
  "behavioralPenalty",
  "blocksFirstMessage",
  "blocksTimeInMesh",
  "blocksMessageDeliveries",
  "blocksInvalidMessageDeliveries",
  "reqRespValidResponses",
  "reqRespErrorResponses",
  "reqRespRejectedPayloads",
] as const;
export type ScoreType = (typeof SCORE_TYPES)[number];

/** Events of gossip, under the names that op-node's tracer gives them. */
export type GossipEvent =
  | "PUBLISH_MESSAGE"
  | "REJECT_MESSAGE"
  | "DUPLICATE_MESSAGE"
  | "DELIVER_MESSAGE"
  | "ADD_PEER"
  | "REMOVE_PEER"
  | "GRAFT"
  | "PRUNE";

export type RequestLabels = {
  readonly p2p_role: "client" | "server";
  readonly p2p_method: "payload_by_number";
  /** the first byte of the answer; 1 for failures of the transport, 5 for values above 4 */
  readonly result_code: string;
};

/** All metrics of the network, under the names of op-node's dashboards. Spec: docs/protocol/05-services.md#node-metrics */
export interface P2PMetrics {
  readonly peerCount: Gauge;
  readonly streamCount: Gauge;
  readonly peerScores: Histogram<{ readonly type: ScoreType }>;
  readonly gossipEvents: Counter<{ readonly type: GossipEvent }>;
  readonly gossip: GossipMetrics;
  readonly bandwidthBytes: Counter<{ readonly direction: "in" | "out" }>;
  readonly peerBans: Counter;
  readonly peerUnbans: Counter;
  readonly ipUnbans: Counter;
  readonly peersPruned: Counter;
  readonly dials: Counter<{ readonly allow: "true" | "false" }>;
  readonly accepts: Counter<{ readonly allow: "true" | "false" }>;
  readonly requests: Counter<RequestLabels>;
  readonly requestSeconds: Histogram<RequestLabels>;
  /** number of the last requested block */
  readonly payloadByNumber: Gauge<{ readonly p2p_role: "client" | "server" }>;
  readonly quarantined: Gauge;
  readonly requestsRefused: Counter;
  readonly answersCut: Counter;
}

const SCORE_BUCKETS = [-100, -40, -20, -10, -5, -2, -1, -0.5, -0.05, 0, 0.05, 0.5, 1, 2, 5, 10, 20, 40];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const REQUEST_LABELS = ["p2p_role", "p2p_method", "result_code"] as const;

export const createP2PMetrics = (m: MetricFactory): P2PMetrics => ({
  peerCount: m.gauge("p2p_peer_count", "Connected peers."),
  streamCount: m.gauge("p2p_stream_count", "Open streams of all connections."),
  peerScores: m.histogram("peer_scores", "Scores of connected peers, observed at each snapshot.", SCORE_BUCKETS, ["type"]),
  gossipEvents: m.counter("p2p_gossip_events_total", "Events of gossip, by type.", ["type"]),
  gossip: createGossipMetrics(m),
  bandwidthBytes: m.counter("p2p_bandwidth_bytes_total", "Bytes on the connections of peers.", ["direction"]),
  peerBans: m.counter("p2p_peer_bans", "Peers banned for their score."),
  peerUnbans: m.counter("p2p_peer_unbans", "Bans of peers that have ended."),
  ipUnbans: m.counter("p2p_ip_unbans", "Bans of addresses that have ended."),
  peersPruned: m.counter("p2p_peers_pruned_total", "Peers that were disconnected because there were too many."),
  dials: m.counter("p2p_dials", "Decisions on whether to dial a peer or an address.", ["allow"]),
  accepts: m.counter("p2p_accepts", "Decisions on whether to accept a connection.", ["allow"]),
  requests: m.counter("p2p_req_total", "Requests to peers and by peers, by result.", REQUEST_LABELS),
  requestSeconds: m.histogram("p2p_req_duration_seconds", "Duration of requests, by result.", REQUEST_SECONDS, REQUEST_LABELS),
  payloadByNumber: m.gauge("p2p_payload_by_number", "Number of the block that was requested last.", ["p2p_role"]),
  quarantined: m.gauge("p2p_payloads_quarantine_total", "Blocks from peers that wait to be confirmed by their child."),
  requestsRefused: m.counter("p2p_req_refused_total", "Requests of peers that were not read because too many were open."),
  answersCut: m.counter("p2p_req_cut_total", "Answers to peers that were given up because their readers were slow or gone."),
});
