import type { GossipSub, GossipSubComponents, GossipsubOpts } from "@libp2p/gossipsub";
import type { ConnectionGater, Libp2p, ServiceMap } from "@libp2p/interface";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { Datastore } from "interface-datastore";
import type { Equivocation } from "./equivocation.ts";
import type { Published, UnsafeGap } from "./network.ts";
import type { P2PMetrics } from "./p2p-metrics.ts";
import type { PeerApi } from "./peers/peer-api.ts";

/**
 * What the parts of the network know of each other, all in one thread. Peer ids are base58 texts here.
 * `host/start-network.ts` puts the parts together, in this order: peers, gossip, the libp2p node, sync, discovery; no other folder
 * imports a sibling. Each part is made by one function that takes its group of the configuration and these:
 */
export interface PartDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** of the whole network: `createP2PMetrics` is called once */
  readonly metrics: P2PMetrics;
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
  /** for `createLibp2p`: a part of the one store of what is known of peers. `close` closes it, after the node has been stopped. */
  readonly datastore: Datastore;
  /** for gossipsub's options, as they are. Spec: docs/protocol/03-p2p.md#peer-scoring */
  readonly gossipScoring: Required<Pick<GossipsubOpts, "scoreParams" | "scoreThresholds">>;
  /** Discovery found a node of our chain. It is remembered, and worth more than others when peers are pruned. */
  onDiscovered(peer: string, record: { readonly enr: string; readonly chainId: number }): void;
  /** The sequencer has another key: blocks that were invalid for the former one count against nobody. */
  onSignerChanged(): void;
  /** Static, or protected by an operator: never pruned. */
  isProtected(peer: string): boolean;
  /** Starts what needs the node: score snapshots, bans, pruning between the tides, `rnodep2p_*`. */
  attach(network: NetworkView): PeerApi;
  close(): Promise<void>;
}

/** What `peers` sees of the others. */
interface NetworkView {
  readonly node: Libp2p<ServiceMap>;
  readonly pubsub: GossipSub;
  /** nanoseconds, moving average; 0: unknown */
  latencyNs(peer: string): number;
  /** undefined: discovery is off */
  readonly discovery: DiscoveryView | undefined;
  /** heights with two signed blocks, the newest first */
  readonly equivocations: () => readonly Equivocation[];
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
  /** heights with two signed blocks, the newest first */
  equivocations(): readonly Equivocation[];
  close(): Promise<void>;
}

/** Requests for missing blocks, asked and answered. */
export interface SyncPart {
  /** Registers the protocol. */
  start(): Promise<void>;
  requestGap(gap: UnsafeGap): void;
  close(): Promise<void>;
}
