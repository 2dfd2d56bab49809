import type { Equivocation } from "../equivocation.ts";
/** Answers of `rnodep2p_*`. Shapes: docs/protocol/04-rpc.md#namespace-rnodep2p */
export interface PeerInfo {
  readonly peerID: string;
  /** 64 hex digits without prefix */
  readonly nodeID: string;
  /** empty until identify has completed */
  readonly userAgent: string;
  readonly protocolVersion: string;
  /** empty: none known */
  readonly ENR: string;
  /** each with `/p2p/<id>` */
  readonly addresses: readonly string[];
  readonly protocols: readonly string[] | null;
  /** 0 not connected, 1 connected, 2 can connect, 3 cannot connect, 4 limited */
  readonly connectedness: 0 | 1 | 2 | 3 | 4;
  /** 0 unknown, 1 inbound, 2 outbound */
  readonly direction: 0 | 1 | 2;
  readonly protected: boolean;
  /** from the node record; 0: unknown */
  readonly chainID: number;
  /** nanoseconds */
  readonly latency: number;
  readonly gossipBlocks: boolean;
  readonly scores: PeerScores;
}

export interface PeerScores {
  readonly gossip: {
    readonly total: number;
    readonly blocks: {
      readonly timeInMesh: number;
      readonly firstMessageDeliveries: number;
      readonly meshMessageDeliveries: number;
      readonly invalidMessageDeliveries: number;
    };
    readonly IPColocationFactor: number;
    readonly behavioralPenalty: number;
  };
  readonly reqResp: {
    readonly validResponses: number;
    readonly errorResponses: number;
    readonly rejectedPayloads: number;
  };
}

export interface PeerDump {
  readonly totalConnected: number;
  /** by peer id */
  readonly peers: Readonly<Record<string, PeerInfo>>;
  /** blocked by the operator, or banned for their scores until a time to come */
  readonly bannedPeers: readonly string[];
  readonly bannedIPS: readonly string[];
  readonly bannedSubnets: readonly string[];
}

export interface PeerStats {
  readonly connected: number;
  /** records in the discovery table; 0 with discovery off */
  readonly table: number;
  readonly blocksTopic: number;
  readonly blocksTopicV2: number;
  readonly blocksTopicV3: number;
  readonly blocksTopicV4: number;
  readonly banned: number;
  readonly known: number;
}

/** A ban that lasts. */
export interface PeerBan {
  /** a peer id or an IP address */
  readonly banned: string;
  /** unix seconds */
  readonly expiry: number;
  readonly secondsLeft: number;
  /** empty: not recorded */
  readonly reason: string;
}

/**
 * The methods of `rnodep2p_*`. Arguments were parsed: peer ids, IP addresses, CIDR texts and multiaddresses are well-formed.
 * Blocking, unblocking and protecting again changes nothing.
 */
export interface PeerApi {
  self(): Promise<PeerInfo>;
  peers(onlyConnected: boolean): Promise<PeerDump>;
  peerStats(): Promise<PeerStats>;
  /** @returns `undefined`: discovery is off */
  discoveryTable(): Promise<readonly string[] | undefined>;
  blockPeer(peerId: string): Promise<void>;
  unblockPeer(peerId: string): Promise<void>;
  listBlockedPeers(): Promise<readonly string[]>;
  blockAddr(ip: string): Promise<void>;
  unblockAddr(ip: string): Promise<void>;
  listBlockedAddrs(): Promise<readonly string[]>;
  blockSubnet(cidr: string): Promise<void>;
  unblockSubnet(cidr: string): Promise<void>;
  listBlockedSubnets(): Promise<readonly string[]>;
  protectPeer(peerId: string): Promise<void>;
  unprotectPeer(peerId: string): Promise<void>;
  /** Waits for the connection. @throws without one within 30 s */
  connectPeer(multiaddress: string): Promise<void>;
  /** Also deletes the peer's records, and unblocks it. */
  disconnectPeer(peerId: string): Promise<void>;
  /** Not upstream: the bans for scores, which end by themselves and are in no list of blocked peers. */
  listBans(): Promise<readonly PeerBan[]>;
  /** Not upstream: heights at which the chain's signer signed two blocks, with the proof. */
  listEquivocations(): Promise<readonly Equivocation[]>;
}

export type PeerApiMethod = keyof PeerApi;

/** A call of one of the methods. */
export interface PeerApiCall<M extends PeerApiMethod = PeerApiMethod> {
  readonly method: M;
  readonly args: Parameters<PeerApi[M]>;
}

export type PeerApiResult<M extends PeerApiMethod> = Awaited<ReturnType<PeerApi[M]>>;

/** Calls a method by its name. */
export const callPeerApi = <M extends PeerApiMethod>(api: PeerApi, { method, args }: PeerApiCall<M>): Promise<PeerApiResult<M>> =>
  (api[method] as (...args: Parameters<PeerApi[M]>) => Promise<PeerApiResult<M>>).apply(api, args);

/** An API whose calls go through one function: it is in another thread, or does not exist yet. */
export function forwardedPeerApi(forward: <M extends PeerApiMethod>(call: PeerApiCall<M>) => Promise<PeerApiResult<M>>): PeerApi {
  return {
    self: () => forward({ method: "self", args: [] }),
    peers: (onlyConnected) => forward({ method: "peers", args: [onlyConnected] }),
    peerStats: () => forward({ method: "peerStats", args: [] }),
    discoveryTable: () => forward({ method: "discoveryTable", args: [] }),
    blockPeer: (peerId) => forward({ method: "blockPeer", args: [peerId] }),
    unblockPeer: (peerId) => forward({ method: "unblockPeer", args: [peerId] }),
    listBlockedPeers: () => forward({ method: "listBlockedPeers", args: [] }),
    blockAddr: (ip) => forward({ method: "blockAddr", args: [ip] }),
    unblockAddr: (ip) => forward({ method: "unblockAddr", args: [ip] }),
    listBlockedAddrs: () => forward({ method: "listBlockedAddrs", args: [] }),
    blockSubnet: (cidr) => forward({ method: "blockSubnet", args: [cidr] }),
    unblockSubnet: (cidr) => forward({ method: "unblockSubnet", args: [cidr] }),
    listBlockedSubnets: () => forward({ method: "listBlockedSubnets", args: [] }),
    protectPeer: (peerId) => forward({ method: "protectPeer", args: [peerId] }),
    unprotectPeer: (peerId) => forward({ method: "unprotectPeer", args: [peerId] }),
    connectPeer: (multiaddress) => forward({ method: "connectPeer", args: [multiaddress] }),
    disconnectPeer: (peerId) => forward({ method: "disconnectPeer", args: [peerId] }),
    listBans: () => forward({ method: "listBans", args: [] }),
    listEquivocations: () => forward({ method: "listEquivocations", args: [] }),
  };
}
