import type { ExecutionPayloadEnvelope, HashedPayload, RollupConfig } from "@rnode/protocol";
import type { PeerApi } from "./peers/peer-api.ts";

/** Start configuration of the network: plain data, because it is sent to the network thread. */
export interface P2PConfig {
  readonly rollup: RollupConfig;
  /** secp256k1, 32 bytes: the identity in libp2p and in discovery */
  readonly networkKey: Uint8Array;
  readonly listen: { readonly ip: string; readonly tcpPort: number; readonly udpPort: number };
  /** the node record's endpoint; `undefined`: that of the listening socket */
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
    /** folder of found records; `undefined`: memory */
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
    /** folder of the peer records; `undefined`: memory */
    readonly path?: string | undefined;
    readonly scoring: "none" | "light";
    readonly ban: { readonly enabled: boolean; readonly threshold: number; readonly durationMs: number };
  };
  readonly gossip: { readonly timestampThresholdMs: number };
  readonly sync: { readonly requestResponse: boolean; readonly onlyRequestToStatic: boolean };
  readonly userAgent: string;
  readonly limits: ConnectionLimits;
}

/** Limits of connections. A connection beyond a limit is closed at once; existing ones are kept. */
export interface ConnectionLimits {
  /** in all, both directions */
  readonly maxConnections: number;
  /** inbound connections that are still being negotiated */
  readonly maxPending: number;
  /** inbound connections of one IPv4 address or IPv6 /64, also while being negotiated */
  readonly maxOfAddress: number;
  /** inbound connections a second of one address */
  readonly acceptsPerSecOfAddress: number;
  /** inbound connections per second in total, with a burst of twice as many: a handshake costs some milliseconds */
  readonly acceptsPerSec: number;
}

/** Room for new peers while others are within their grace period. */
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
  /** with `/p2p/<peer id>`, for dialling */
  readonly addresses: readonly string[];
  /** `undefined`: discovery is off */
  readonly enr?: string | undefined;
  /** listened on */
  readonly tcpPort: number;
  /** why the node may be unreachable at its advertised address; `undefined`: no known reason */
  readonly reachabilityWarning?: string | undefined;
}

/** A block, by number and hash (32 bytes). */
interface BlockPoint {
  readonly number: number;
  readonly hash: Uint8Array;
}

/** Missing blocks between an existing block and one that waits for its ancestors; both ends exclusive. */
export interface UnsafeGap {
  readonly start: BlockPoint;
  readonly end: BlockPoint & { readonly parentHash: Uint8Array };
}

/** The rollup node's callbacks for the network. Calls can come at any time, and never wait for each other. */
export interface P2PHandlers {
  /**
   * A block that passed every rule of gossip, or whose hash a trusted block names as its parent. Bounded by the receiver.
   *
   * @param from peer id
   */
  onUnsafePayload(envelope: HashedPayload, from: string): void;
  /** @returns `undefined`: this node does not have the block. @throws if the engine is not available */
  payloadByNumber(number: number): Promise<ExecutionPayloadEnvelope | undefined>;
}

/**
 * The P2P network's interface for the rollup node, in the same thread or in another. No call blocks, and none fails because of a
 * peer.
 */
export interface P2PNetwork {
  readonly identity: P2PIdentity;
  readonly api: PeerApi;
  /** @param address 20 bytes; all zero: unknown, every block is ignored */
  setUnsafeBlockSigner(address: Uint8Array): void;
  /**
   * Publishes a signed block. It passes the local validation first, like every message.
   *
   * @param signature r ‖ s ‖ y parity, 65 bytes. Spec: docs/protocol/03-p2p.md#message-body
   */
  publish(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<Published>;
  /** Requests missing blocks from peers; they arrive through `onUnsafePayload`, in any order. Repeated requests are free. */
  requestGap(gap: UnsafeGap): void;
  close(): Promise<void>;
}

export type Published =
  /** `peers`: how many it was sent to at once */
  | { readonly kind: "published"; readonly peers: number }
  /** the local validation rejects it, so peers would as well */
  | { readonly kind: "refused"; readonly reason: string };
