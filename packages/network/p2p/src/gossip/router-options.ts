import type { GossipsubOpts } from "@libp2p/gossipsub";
import { MAX_MESSAGE_BYTES } from "../wire/gossip-message.ts";

/** milliseconds */
export const HEARTBEAT_MS = 500;

/** Versions that upstream negotiates. Spec: docs/protocol/03-p2p.md#router-parameters */
export const MESH_PROTOCOLS = ["/meshsub/1.1.0", "/meshsub/1.0.0"] as const;

/** What all nodes of the OP Stack's mesh are set to. Spec: docs/protocol/03-p2p.md#router-parameters */
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
    // a peer has four topics, and its messages are those of a few seconds
    maxSubscriptions: 128,
    maxMessages: 256,
    maxControlMessages: 128,
    maxIhaveMessageIDs: 5000,
    maxIwantMessageIDs: 5000,
    maxIdontwantMessageIDs: 512,
    maxPeerInfos: 16,
  },
  // a peer has one stream, and for a moment a second one when it connects anew
  maxInboundStreams: 3,
  maxOutboundStreams: 3,
  // one message of a peer at a time: those behind it stay with the peer
  awaitRpcHandler: true,
  awaitRpcMessageHandler: true,
  // a block that nobody is there to receive is published all the same: it is sent to those who ask for it
  allowPublishToZeroTopicPeers: true,
  ignoreDuplicatePublishError: true,
  batchPublish: true,
});
