import type { GossipSub, GossipSubComponents, GossipsubOpts } from "@libp2p/gossipsub";
import type { ConnectionGater, Libp2p, ServiceMap } from "@libp2p/interface";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, HashedPayload } from "@rnode/protocol";
import type { Datastore } from "interface-datastore";
import type { Equivocation } from "./equivocation.ts";
import type { Published, UnsafeGap } from "./network.ts";
import type { P2PMetrics } from "./p2p-metrics.ts";
import type { PeerApi } from "./peers/peer-api.ts";

/**
 * Interfaces between the parts of the network, all in one thread. Peer ids are base58 texts here. `host/start-network.ts` creates
 * the parts in this order: peers, gossip, the libp2p node, sync, discovery; no other folder imports a sibling. One function
 * creates each part from its group of the configuration and these:
 */
export interface PartDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** of the whole network: `createP2PMetrics` is called once */
  readonly metrics: P2PMetrics;
}

/** Counts results of request-response with a peer. Spec: docs/protocol/03-p2p.md#peer-scoring */
export interface ResponseScores {
  onValidResponse(peer: string): void;
  onErrorResponse(peer: string): void;
  onRejectedPayload(peer: string): void;
}

/** Takes blocks out of the network. */
export interface PayloadSink {
  accept(envelope: HashedPayload, from: string): void;
}

/** Which peers the operator named. */
export interface StaticPeers {
  has(peer: string): boolean;
}

/** The interface of `peers` before the libp2p node exists, and for creating it. */
export interface PeersPart extends ResponseScores {
  /** for `createLibp2p`; the host adds its limits on inbound connections */
  readonly gater: ConnectionGater;
  /** for `createLibp2p`: a part of the peer store. `close` closes it, after the node has been stopped. */
  readonly datastore: Datastore;
  /** for gossipsub's options, as they are. Spec: docs/protocol/03-p2p.md#peer-scoring */
  readonly gossipScoring: Required<Pick<GossipsubOpts, "scoreParams" | "scoreThresholds">>;
  /** Discovery found a node of the chain. It is stored, and has a higher value when peers are pruned. */
  onDiscovered(peer: string, record: { readonly enr: string; readonly chainId: number }): void;
  /** The sequencer has another key: clears the penalties for blocks that were invalid for the former key. */
  onSignerChanged(): void;
  /** Static, or protected by an operator: never pruned. */
  isProtected(peer: string): boolean;
  /** Starts the parts that need the node: score snapshots, bans, pruning between the tides, `rnodep2p_*`. */
  attach(network: NetworkView): PeerApi;
  close(): Promise<void>;
}

/** The view of `peers` on the other parts. */
interface NetworkView {
  readonly node: Libp2p<ServiceMap>;
  readonly pubsub: GossipSub;
  /** nanoseconds, moving average; 0: unknown */
  latencyNs(peer: string): number;
  /** `undefined`: discovery is off */
  readonly discovery: DiscoveryView | undefined;
  /** heights with two signed blocks, the newest first */
  readonly equivocations: () => readonly Equivocation[];
}

export interface DiscoveryView {
  /** our own record, as text */
  readonly enr: string;
  /** the records in the table, as texts */
  table(): readonly string[];
  /** a peer's record data */
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
  /** heights with two signed blocks, the newest first */
  equivocations(): readonly Equivocation[];
  close(): Promise<void>;
}

/** Requests for missing blocks, as client and as server. */
export interface SyncPart {
  /** Registers the protocol. */
  start(): Promise<void>;
  requestGap(gap: UnsafeGap): void;
  close(): Promise<void>;
}
