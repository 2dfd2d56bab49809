import type { GossipSub, GossipSubComponents } from "@libp2p/gossipsub";
import type { ConnectionGater, Libp2p, ServiceMap } from "@libp2p/interface";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { Published, UnsafeGap } from "./network.ts";
import type { PeerApi } from "./peers/peer-api.ts";

/**
 * What the parts of the network know of each other, all in one thread. Peer ids are base58 texts here.
 * `host/start-network.ts` puts the parts together, in this order: peers, gossip, the libp2p node, sync, discovery; no other folder
 * imports a sibling. Each part is made by one function that takes its group of the configuration and these:
 */
export interface PartDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
}

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

/** What `peers` does before there is a libp2p node, and for it. */
export interface PeersPart extends ResponseScores {
  /** for `createLibp2p`; the host adds its limits on inbound connections */
  readonly gater: ConnectionGater;
  /** the application's part of a peer's score. Spec: docs/protocol/03-p2p.md#peer-scoring */
  appScore(peer: string): number;
  /** Static, or protected by an operator: never pruned. */
  isProtected(peer: string): boolean;
  /** Starts what needs the node: score snapshots, bans, `rnodep2p_*`. */
  attach(network: NetworkView): PeerApi;
  close(): Promise<void>;
}

/** What `peers` sees of the others. */
export interface NetworkView {
  readonly node: Libp2p<ServiceMap>;
  readonly pubsub: GossipSub;
  /** nanoseconds, moving average; 0: unknown */
  latencyNs(peer: string): number;
  /** undefined: discovery is off */
  readonly discovery: DiscoveryView | undefined;
}

export interface DiscoveryView {
  /** our own record, as text */
  readonly enr: string;
  /** the records in the table, as texts */
  table(): readonly string[];
  /** what is known of a peer from its record */
  recordOf(peer: string): { readonly enr: string; readonly chainId: number } | undefined;
}

/** The mesh of the block topics. */
export interface GossipPart {
  /** for `services` of `createLibp2p` */
  readonly service: (components: GossipSubComponents) => GossipSub;
  /** Subscribes; called once the node has been started. */
  start(): void;
  setUnsafeBlockSigner(address: Uint8Array): void;
  publish(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<Published>;
  close(): Promise<void>;
}

/** Requests for missing blocks, asked and answered. */
export interface SyncPart {
  /** Registers the protocol. */
  start(): Promise<void>;
  requestGap(gap: UnsafeGap): void;
  close(): Promise<void>;
}
