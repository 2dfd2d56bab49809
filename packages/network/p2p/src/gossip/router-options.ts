import type { GossipsubOpts } from "@libp2p/gossipsub";
import { MAX_MESSAGE_BYTES } from "../wire/gossip-message.ts";

/** milliseconds */
export const HEARTBEAT_MS = 500;

/** Versions that upstream negotiates. Spec: docs/protocol/03-p2p.md#router-parameters */
export const MESH_PROTOCOLS = ["/meshsub/1.1.0", "/meshsub/1.0.0"] as const;

/** The parameters of all nodes of the OP Stack's mesh. Spec: docs/protocol/03-p2p.md#router-parameters */
export const routerOptions = (topics: readonly string[]): Partial<GossipsubOpts> => ({
  globalSignaturePolicy: "StrictNoSign",
  D: 8,
  Dlo: 6,
  Dhi: 12,
  Dlazy: 6,
  Dscore: 4,
  Dout: 2,
  gossipFactor: 0.25,
  heartbeatInterval: HEARTBEAT_MS,
  fanoutTTL: 24_000,
  mcacheLength: 12,
  mcacheGossip: 3,
  seenTTL: 130 * HEARTBEAT_MS,
  pruneBackoff: 60_000,
  unsubcribeBackoff: 10_000,
  graftFloodThreshold: 10_000,
  gossipsubIWantFollowupMs: 3000,
  opportunisticGraftTicks: 60,
  opportunisticGraftPeers: 2,
  floodPublish: false,
  fallbackToFloodsub: false,
  doPX: false,
  emitSelf: false,
  allowedTopics: new Set(topics),
  maxInboundDataLength: MAX_MESSAGE_BYTES,
  decodeRpcLimits: {
    // a peer has four topics, and its messages cover some seconds
    maxSubscriptions: 128,
    maxMessages: 256,
    maxControlMessages: 128,
    maxIhaveMessageIDs: 5000,
    maxIwantMessageIDs: 5000,
    maxIdontwantMessageIDs: 512,
    maxPeerInfos: 16,
  },
  // a peer has one stream, and briefly a second one when it reconnects
  maxInboundStreams: 3,
  maxOutboundStreams: 3,
  // one message per peer at a time: later messages stay with the peer
  awaitRpcHandler: true,
  awaitRpcMessageHandler: true,
  // a block is published even without subscribers: it is sent to peers that request it
  allowPublishToZeroTopicPeers: true,
  ignoreDuplicatePublishError: true,
  batchPublish: true,
});
