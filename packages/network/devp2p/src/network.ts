import type { ChainConfig } from "@rnode/protocol";
import type { BlockPeers } from "./api.ts";
import type { Announcement } from "./eth/messages.ts";

export type { Announcement } from "./eth/messages.ts";

/** The source of the node's external address. `ip`: a given address; `upnp`: a router with port mappings. */
export type NatSetting = { readonly kind: "none" | "upnp" } | { readonly kind: "ip"; readonly ip: string };

/** Start configuration of the network: plain data, because it is sent to the network thread. */
export interface DevP2PConfig {
  readonly chain: ChainConfig;
  readonly networkId: number;
  /** as peers name it (`networkGenesisHash`) */
  readonly genesisHash: Uint8Array;
  readonly genesisTimeSec: number;
  /** secp256k1, 32 bytes: the identity */
  readonly nodeKey: Uint8Array;
  /** the node's client name */
  readonly clientId: string;
  /** ports 0: any that is free */
  readonly listen: { readonly ip: string; readonly tcpPort: number; readonly udpPort: number };
  readonly nat: NatSetting;
  /** both directions; trusted peers come on top */
  readonly maxPeers: number;
  readonly discovery: {
    readonly enabled: boolean;
    /** `enode://` or `enr:` texts */
    readonly bootnodes: readonly string[];
  };
  /** `enode://` texts: dialled until they are connected, whatever the limits */
  readonly trustedPeers: readonly string[];
  /** folder of the chain's database, which is opened for reading */
  readonly databaseFolder: string;
  /** folder of the peer records; `undefined`: memory */
  readonly folder?: string | undefined;
  /** false: transactions are neither announced nor requested */
  readonly gossipsTransactions: boolean;
}

export interface ReceivedTransaction {
  /** EIP-2718 encoding */
  readonly encoded: Uint8Array;
  /** recovered from the signature, 20 bytes */
  readonly sender: Uint8Array;
}

/** The client's callbacks for the network. Calls can come at any time, and never wait for each other. */
export interface DevP2PHandlers {
  /** Transactions of peers, with valid signatures; bounded in rate. */
  onTransactions(transactions: readonly ReceivedTransaction[]): void;
  /** Transactions of the pool, EIP-2718 encoded. */
  pooledTransactions(hashes: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
}

/** Who this node is on the network. */
export interface DevP2PIdentity {
  /** keccak256 of the public key, 64 hex digits */
  readonly nodeId: string;
  /** 128 hex digits of the public key */
  readonly publicKey: string;
  readonly enode: string;
  /** `undefined`: discovery is off */
  readonly enr?: string | undefined;
  readonly ip: string;
  readonly clientId: string;
  /** listened on */
  readonly tcpPort: number;
  /** 0: discovery is off */
  readonly udpPort: number;
}

/** A connected peer, as operators see it. */
export interface PeerDescription {
  /** 128 hex digits of the public key */
  readonly publicKey: string;
  /** keccak256 of it, 64 hex digits */
  readonly nodeId: string;
  readonly enode: string;
  readonly clientId: string;
  /** `eth/68` */
  readonly capabilities: readonly string[];
  readonly ethVersion: number;
  readonly localAddress: string;
  readonly remoteAddress: string;
  readonly isInbound: boolean;
  readonly isTrusted: boolean;
  readonly isStatic: boolean;
  readonly head: { readonly number: number | undefined; readonly hash: Uint8Array };
  readonly earliestBlock: number | undefined;
  readonly connectedAtMs: number;
}

export interface PeerAdmin {
  peers(): Promise<readonly PeerDescription[]>;
  /** Has a peer dialled until it is connected, and again when it was lost. @throws {DevP2PError} devp2p/bad-enode */
  addPeer(enode: string): Promise<void>;
  /** Disconnects a peer and does not dial it any more. @throws {DevP2PError} devp2p/bad-enode */
  removePeer(enode: string): Promise<void>;
  /** As `addPeer`; its connections count for no limit. @throws {DevP2PError} devp2p/bad-enode */
  addTrustedPeer(enode: string): Promise<void>;
  removeTrustedPeer(enode: string): Promise<void>;
}

/**
 * The network's interface for the execution client, in the same thread or in another. No call blocks, and none fails because of a
 * peer.
 */
export interface DevP2PNetwork extends BlockPeers {
  readonly identity: DevP2PIdentity;
  readonly admin: PeerAdmin;
  /** The pool has these transactions, so peers may request them. */
  announce(transactions: readonly Announcement[]): void;
  close(): Promise<void>;
}
