import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

/**
 * What the parts of the network know of each other, all in one thread. Peer ids are base58 texts here.
 * `host` puts the parts together; no other folder imports a sibling.
 */

/** Counts what request-response says about a peer. Spec: docs/protocol/03-p2p.md#peer-scoring */
export interface ResponseScores {
  onValidResponse(peer: string): void;
  onErrorResponse(peer: string): void;
  onRejectedPayload(peer: string): void;
}

/** Takes blocks out of the network. */
export interface PayloadSink {
  accept(envelope: ExecutionPayloadEnvelope, from: string): void;
}

/** Which peers the operator named. */
export interface StaticPeers {
  has(peer: string): boolean;
}
