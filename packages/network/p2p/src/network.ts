import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import type { PeerApi } from "./peers/peer-api.ts";

/** What the network is told at its start. Plain data: it crosses to the thread of the network. */
export interface P2PConfig {
  readonly rollup: RollupConfig;
  /** secp256k1, 32 bytes: the identity in libp2p and in discovery */
  readonly networkKey: Uint8Array;
  readonly listen: { readonly ip: string; readonly tcpPort: number; readonly udpPort: number };
  /** what the node record says; undefined: what is known of the listening socket */
  readonly advertise: {
    readonly ip?: string | undefined;
    readonly tcpPort?: number | undefined;
    readonly udpPort?: number | undefined;
  };
  readonly nat: boolean;
  readonly discovery: {
    readonly enabled: boolean;
    /** `enr:` or `enode://` texts */
    readonly bootnodes: readonly string[];
    /** folder of the records found; undefined: memory */
    readonly path?: string | undefined;
  };
  /** multiaddresses with `/p2p/<peer id>` */
  readonly staticPeers: readonly string[];
  /** CIDR texts; empty: any address */
  readonly netrestrict: readonly string[];
  readonly peers: {
    readonly low: number;
    readonly high: number;
    readonly graceMs: number;
    /** folder of what is known of peers; undefined: memory */
    readonly path?: string | undefined;
    readonly scoring: "none" | "light";
    readonly ban: { readonly enabled: boolean; readonly threshold: number; readonly durationMs: number };
  };
  readonly gossip: { readonly timestampThresholdMs: number };
  readonly sync: { readonly requestResponse: boolean; readonly onlyRequestToStatic: boolean };
  readonly userAgent: string;
  readonly limits: ConnectionLimits;
}

/** What connections may cost. A connection beyond a limit is closed at once; those that exist are not touched. */
export interface ConnectionLimits {
  /** in all, both directions */
  readonly maxConnections: number;
  /** inbound connections that are still being negotiated */
  readonly maxPending: number;
  /** inbound connections of one IPv4 address or IPv6 /64, also while being negotiated */
  readonly maxOfAddress: number;
  /** inbound connections a second of one address */
  readonly acceptsPerSecOfAddress: number;
  /** inbound connections a second in all, and twice as many at once: a handshake costs some milliseconds */
  readonly acceptsPerSec: number;
}

/** Room for peers that come while others are still within their grace. */
export const connectionLimits = (peersHigh: number): ConnectionLimits => ({
  maxConnections: 2 * peersHigh + 32,
  maxPending: 32,
  maxOfAddress: 8,
  acceptsPerSecOfAddress: 5,
  acceptsPerSec: 30,
});

/** Who this node is on the network. */
export interface P2PIdentity {
  /** base58, `16Uiu2HA…` */
  readonly peerId: string;
  /** with `/p2p/<peer id>`, as others can dial them */
  readonly addresses: readonly string[];
  /** undefined: discovery is off */
  readonly enr?: string | undefined;
  /** listened on */
  readonly tcpPort: number;
  /** why others may not be able to reach the node as advertised; undefined: nothing speaks against it */
  readonly reachabilityWarning?: string | undefined;
}

/** A block, by number and hash (32 bytes). */
interface BlockPoint {
  readonly number: number;
  readonly hash: Uint8Array;
}

/** Blocks that are missing between a block that is there and one that waits for its ancestors; both ends exclusive. */
export interface UnsafeGap {
  readonly start: BlockPoint;
  readonly end: BlockPoint & { readonly parentHash: Uint8Array };
}

/** What the network needs of the rollup node. Calls may come at any time, and never wait for one another. */
export interface P2PHandlers {
  /**
   * A block that passed every rule of gossip, or whose hash a trusted block names as its parent. Bounded by the receiver.
   *
   * @param from peer id
   */
  onUnsafePayload(envelope: ExecutionPayloadEnvelope, from: string): void;
  /** @returns undefined: this node does not have the block. @throws when the engine cannot be asked */
  payloadByNumber(number: number): Promise<ExecutionPayloadEnvelope | undefined>;
}

/**
 * The P2P network as the rollup node sees it, in the same thread or in another. No call blocks, and none fails because of what a
 * peer does.
 */
export interface P2PNetwork {
  readonly identity: P2PIdentity;
  readonly api: PeerApi;
  /** @param address 20 bytes; all zero: unknown, every block is ignored */
  setUnsafeBlockSigner(address: Uint8Array): void;
  /**
   * Hands a signed block to the mesh. It passes our own validation first, as every message does.
   *
   * @param signature r ‖ s ‖ y parity, 65 bytes. Spec: docs/protocol/03-p2p.md#message-body
   */
  publish(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<Published>;
  /** Asks peers for missing blocks; they arrive through `onUnsafePayload`, in any order. Asking again costs nothing. */
  requestGap(gap: UnsafeGap): void;
  close(): Promise<void>;
}

export type Published =
  /** `peers`: how many it was sent to at once */
  | { readonly kind: "published"; readonly peers: number }
  /** our own validation says that no peer would take it */
  | { readonly kind: "refused"; readonly reason: string };
