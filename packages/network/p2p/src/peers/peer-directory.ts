import { defaultCrypto } from "@chainsafe/enr";
import { parseIp, parseSubnet } from "@rnode/peering";
import type { Equivocation } from "../equivocation.ts";
import type { DiscoveryView } from "../parts.ts";
import type { ConnectionGate } from "./connection-gate.ts";
import type { GossipView } from "./gossip-view.ts";
import type { PeerApi, PeerBan, PeerDump, PeerInfo, PeerStats } from "./peer-api.ts";
import { PeerApiError } from "./peer-api-error.ts";
import { type KnownPeer, MAX_KNOWN_PEERS, type PeerConnection, type PeerHost } from "./peer-host.ts";
import { secp256k1KeyOf } from "./peer-id-text.ts";
import type { PeerProtection } from "./peer-protection.ts";
import { MAX_BLOCKED, type PeerRecords } from "./peer-records.ts";
import { type Ban, NO_SCORES } from "./record-json.ts";
import type { RecordTable } from "./record-table.ts";

interface DirectoryDeps {
  readonly host: PeerHost;
  readonly gossip: GossipView;
  /** `undefined`: discovery is off */
  readonly discovery: DiscoveryView | undefined;
  /** 0: unknown */
  readonly latencyNs: (peer: string) => number;
  readonly records: PeerRecords;
  readonly gate: ConnectionGate;
  readonly protection: PeerProtection;
  /** topics of blocks, by version: the first is v1 */
  readonly topics: readonly [string, string, string, string];
  readonly chainId: number;
  readonly nowSec: () => number;
  readonly onPeerUnbanned: (peer: string) => void;
  readonly equivocations: () => readonly Equivocation[];
}

const CONNECT_TIMEOUT_MS = 30_000;
const ADDRESS_REFUSALS = {
  blocked: "blocked: unblock it or its network first",
  banned: "banned: unblock it first",
  "outside-netrestrict": "outside the networks of --p2p.netrestrict",
} as const;
/** Of peers whose key is of another kind. */
const NO_NODE_ID = "0".repeat(64);

/** Answers `rnodep2p_*`. Spec: docs/protocol/04-rpc.md#namespace-rnodep2p */
export class PeerDirectory implements PeerApi {
  readonly #deps: DirectoryDeps;

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
  }

  async self(): Promise<PeerInfo> {
    const { host, discovery, chainId } = this.#deps;
    const known = await host.knownPeer(host.peerId);
    return {
      peerID: host.peerId,
      nodeID: nodeIdOf(host.peerId),
      userAgent: known?.userAgent ?? "",
      protocolVersion: known?.protocolVersion ?? "",
      ENR: discovery?.enr ?? "",
      addresses: host.addresses(),
      protocols: host.protocols(),
      connectedness: 0,
      direction: 0,
      protected: false,
      chainID: chainId,
      latency: 0,
      gossipBlocks: true,
      scores: NO_SCORES,
    };
  }

  async peers(onlyConnected: boolean): Promise<PeerDump> {
    const { host, gossip, topics, records } = this.#deps;
    const connections = host.connections();
    const subscribers = new Set(topics.flatMap((topic) => gossip.subscribers(topic)));
    const peers: Record<string, PeerInfo> = {};
    for (const [peer, ofPeer] of connections) peers[peer] = this.#info(peer, await host.knownPeer(peer), ofPeer, subscribers);
    if (!onlyConnected) {
      for (const known of await host.knownPeers(MAX_KNOWN_PEERS)) peers[known.id] ??= this.#info(known.id, known, [], subscribers);
    }
    return {
      totalConnected: connections.size,
      peers,
      bannedPeers: this.#refused(records.blockedPeers, records.bans),
      bannedIPS: this.#refused(records.blockedAddrs, records.ipBans),
      bannedSubnets: records.blockedSubnets.keys(),
    };
  }

  /** The operator's blocks, and the current bans for scores. */
  #refused(blocked: RecordTable<unknown>, bans: RecordTable<Ban>): readonly string[] {
    const now = this.#deps.nowSec();
    const banned = [...bans.entries()].flatMap(([key, { expiry }]) => (expiry > now ? [key] : []));
    return [...new Set([...blocked.keys(), ...banned])];
  }

  #info(
    peer: string,
    known: KnownPeer | undefined,
    connections: readonly PeerConnection[],
    subscribers: ReadonlySet<string>,
  ): PeerInfo {
    const { records, protection, latencyNs, discovery, nowSec } = this.#deps;
    const stored = records.metadata.get(peer)?.peerMetadata;
    const record = discovery?.recordOf(peer) ?? (stored && { enr: stored.enr, chainId: stored.opStackID });
    const [connection] = connections;
    const addresses = known !== undefined && known.addresses.length > 0 ? known.addresses : connections.map((c) => c.remoteAddress);
    return {
      peerID: peer,
      nodeID: nodeIdOf(peer),
      userAgent: known?.userAgent ?? "",
      protocolVersion: known?.protocolVersion ?? "",
      ENR: record?.enr ?? "",
      addresses: addresses.map((address) => `${address}/p2p/${peer}`),
      protocols: known === undefined || known.protocols.length === 0 ? null : known.protocols,
      connectedness: connection === undefined ? 0 : 1,
      direction: connection === undefined ? 0 : connection.direction === "inbound" ? 1 : 2,
      protected: protection.isProtected(peer),
      chainID: record?.chainId ?? 0,
      latency: connection === undefined ? 0 : latencyNs(peer),
      gossipBlocks: subscribers.has(peer),
      scores: records.scoresOf(peer, nowSec()) ?? NO_SCORES,
    };
  }

  async peerStats(): Promise<PeerStats> {
    const { host, gossip, discovery, records, topics } = this.#deps;
    const [v1, v2, v3, v4] = topics.map((topic) => gossip.subscribers(topic).length) as [number, number, number, number];
    return {
      connected: host.connections().size,
      table: discovery?.table().length ?? 0,
      blocksTopic: v1,
      blocksTopicV2: v2,
      blocksTopicV3: v3,
      blocksTopicV4: v4,
      banned: this.#refused(records.blockedPeers, records.bans).length,
      known: await host.countKnown(),
    };
  }

  async discoveryTable(): Promise<readonly string[] | undefined> {
    return this.#deps.discovery?.table();
  }

  async blockPeer(peer: string): Promise<void> {
    const { blockedPeers } = this.#deps.records;
    if (blockedPeers.has(peer)) return;
    assertRoom(blockedPeers, "blocked peers");
    blockedPeers.set(peer, peer);
    await this.#deps.records.written();
  }

  async unblockPeer(peer: string): Promise<void> {
    const { records, onPeerUnbanned } = this.#deps;
    records.blockedPeers.delete(peer);
    if (records.bans.delete(peer)) onPeerUnbanned(peer);
    await records.written();
  }

  async listBlockedPeers(): Promise<readonly string[]> {
    return this.#deps.records.blockedPeers.keys();
  }

  async blockAddr(ip: string): Promise<void> {
    const { blockedAddrs } = this.#deps.records;
    if (blockedAddrs.has(ip)) return;
    assertRoom(blockedAddrs, "blocked addresses");
    blockedAddrs.set(ip, ip);
    await this.#deps.records.written();
  }

  async unblockAddr(ip: string): Promise<void> {
    const { records } = this.#deps;
    records.blockedAddrs.delete(ip);
    records.ipBans.delete(ip);
    await records.written();
  }

  async listBlockedAddrs(): Promise<readonly string[]> {
    return this.#deps.records.blockedAddrs.keys();
  }

  async blockSubnet(cidr: string): Promise<void> {
    const { blockedSubnets } = this.#deps.records;
    const subnet = parseSubnet(cidr);
    if (subnet === undefined || blockedSubnets.has(subnet.text)) return;
    assertRoom(blockedSubnets, "blocked subnets");
    blockedSubnets.set(subnet.text, subnet);
    await this.#deps.records.written();
  }

  async unblockSubnet(cidr: string): Promise<void> {
    const { records } = this.#deps;
    const subnet = parseSubnet(cidr);
    if (subnet !== undefined) records.blockedSubnets.delete(subnet.text);
    await records.written();
  }

  async listBlockedSubnets(): Promise<readonly string[]> {
    return this.#deps.records.blockedSubnets.keys();
  }

  async protectPeer(peer: string): Promise<void> {
    const { protection, records } = this.#deps;
    if (!records.protectedPeers.has(peer)) assertRoom(records.protectedPeers, "protected peers");
    protection.protect(peer);
    await records.written();
  }

  async unprotectPeer(peer: string): Promise<void> {
    this.#deps.protection.unprotect(peer);
    await this.#deps.records.written();
  }

  async connectPeer(multiaddress: string): Promise<void> {
    const { host, gate } = this.#deps;
    const peer = multiaddress.slice(multiaddress.lastIndexOf("/") + 1);
    const refusal = gate.peerRefusal(peer);
    if (refusal !== undefined) throw new PeerApiError("peer-api/refused", `peer ${peer} is ${refusal}: unblock it first`, { peer });
    const [, kind, address] = multiaddress.split("/");
    const ip = kind === "ip4" || kind === "ip6" ? parseIp(address ?? "") : undefined;
    const addressRefusal = ip && gate.addressRefusal(ip);
    if (addressRefusal !== undefined)
      throw new PeerApiError("peer-api/refused", `address ${address} is ${ADDRESS_REFUSALS[addressRefusal]}`, { peer });
    try {
      await host.dial(multiaddress, AbortSignal.timeout(CONNECT_TIMEOUT_MS));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new PeerApiError("peer-api/not-connected", `peer ${peer} cannot be reached: ${reason}`, { peer }, { cause });
    }
  }

  async disconnectPeer(peer: string): Promise<void> {
    const { host } = this.#deps;
    await host.disconnect(peer);
    await host.forget(peer);
    await this.unblockPeer(peer);
  }

  async listEquivocations(): Promise<readonly Equivocation[]> {
    return this.#deps.equivocations();
  }

  async listBans(): Promise<readonly PeerBan[]> {
    const { records, nowSec } = this.#deps;
    const now = nowSec();
    return [...records.bans.entries(), ...records.ipBans.entries()]
      .filter(([, { expiry }]) => expiry > now)
      .map(([banned, { expiry, reason }]) => ({ banned, expiry, secondsLeft: expiry - now, reason }));
  }
}

function assertRoom({ isFull }: { readonly isFull: boolean }, what: string): void {
  if (isFull)
    throw new PeerApiError("peer-api/too-many", `there are ${MAX_BLOCKED} ${what}, as many as are kept: remove one first`, {
      max: MAX_BLOCKED,
    });
}

/** The node id of discovery: keccak256 of the public key, as hex digits without prefix. */
function nodeIdOf(peer: string): string {
  const key = secp256k1KeyOf(peer);
  if (key === undefined) return NO_NODE_ID;
  try {
    return defaultCrypto.nodeId(key);
  } catch {
    return NO_NODE_ID; // 33 bytes that are no point of the curve
  }
}
