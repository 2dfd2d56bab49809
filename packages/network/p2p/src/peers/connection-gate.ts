import type { ConnectionGater, MultiaddrConnection, PeerId } from "@libp2p/interface";
import type { Multiaddr } from "@multiformats/multiaddr";
import type { Logger } from "@rnode/observe";
import { type IpBytes, ipText, parseIp, type Subnet, subnetContains } from "@rnode/peering";
import type { P2PMetrics } from "../p2p-metrics.ts";
import type { Bandwidth } from "./bandwidth.ts";
import type { PeerRecords } from "./peer-records.ts";

interface GateDeps {
  readonly records: PeerRecords;
  /** empty: any address */
  readonly netrestrict: readonly Subnet[];
  readonly nowSec: () => number;
  readonly metrics: P2PMetrics;
  readonly log: Logger;
  /** tracks every connection */
  readonly bandwidth: Pick<Bandwidth, "track">;
  /** A ban has ended: clears its causes. */
  readonly onPeerUnbanned: (peer: string) => void;
}

/**
 * Decides which connections there may be: by peer and address when dialling, by address when accepting, by peer once the handshake has
 * shown who it is. Connections that are open stay.
 * Spec: docs/protocol/03-p2p.md#connection-gater-and-bans
 */
export class ConnectionGate implements ConnectionGater {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /** Why connections to a peer are refused. @returns `undefined`: they are not */
  peerRefusal(peer: string): "blocked" | "banned" | undefined {
    const { records } = this.#deps;
    if (records.blockedPeers.has(peer)) return "blocked";
    return this.#isPeerBanned(peer) ? "banned" : undefined;
  }

  /** Why connections to an address are refused. @returns `undefined`: they are not */
  addressRefusal(address: IpBytes): "blocked" | "banned" | "outside-netrestrict" | undefined {
    const { records, netrestrict } = this.#deps;
    const isIn = (subnet: Subnet): boolean => subnetContains(subnet, address);
    if (netrestrict.length > 0 && !netrestrict.some(isIn)) return "outside-netrestrict";
    const text = ipText(address);
    if (records.blockedAddrs.has(text)) return "blocked";
    for (const subnet of records.blockedSubnets.values()) if (isIn(subnet)) return "blocked";
    return this.#isIpBanned(text) ? "banned" : undefined;
  }

  // Arrow functions: libp2p calls them without their object.

  readonly denyDialPeer = (peer: PeerId): boolean => this.#dial(this.peerRefusal(peer.toString()), { peer: String(peer) });

  /** A host name is let through: the address that it leads to is checked once it is connected. */
  readonly denyDialMultiaddr = (address: Multiaddr): boolean => {
    const ip = ipOf(address);
    return this.#dial(ip && this.addressRefusal(ip), { address: String(address) });
  };

  readonly denyOutboundConnection = (peer: PeerId, connection: MultiaddrConnection): boolean => {
    this.#deps.bandwidth.track(connection);
    const ip = socketAddress(connection) ?? ipOf(connection.remoteAddr);
    return this.#denies("dial", this.#unknownOr(ip), { peer: String(peer), address: String(connection.remoteAddr) });
  };

  readonly denyOutboundEncryptedConnection = (peer: PeerId): boolean =>
    this.#denies("dial", this.peerRefusal(peer.toString()), { peer: String(peer) });

  readonly denyInboundConnection = (connection: MultiaddrConnection): boolean => {
    this.#deps.bandwidth.track(connection);
    return this.#accept(this.#unknownOr(ipOf(connection.remoteAddr)), { address: String(connection.remoteAddr) });
  };

  readonly denyInboundEncryptedConnection = (peer: PeerId, connection: MultiaddrConnection): boolean =>
    this.#accept(this.peerRefusal(peer.toString()), { peer: String(peer), address: String(connection.remoteAddr) });

  #unknownOr(ip: IpBytes | undefined): string | undefined {
    if (ip !== undefined) return this.addressRefusal(ip);
    return this.#deps.netrestrict.length > 0 ? "outside-netrestrict" : undefined;
  }

  #dial(refusal: string | undefined, of: Readonly<Record<string, string>>): boolean {
    this.#deps.metrics.dials.inc({ allow: refusal === undefined ? "true" : "false" });
    return this.#denies("dial", refusal, of);
  }

  #accept(refusal: string | undefined, of: Readonly<Record<string, string>>): boolean {
    this.#deps.metrics.accepts.inc({ allow: refusal === undefined ? "true" : "false" });
    return this.#denies("connection", refusal, of);
  }

  #denies(what: "dial" | "connection", refusal: string | undefined, of: Readonly<Record<string, string>>): boolean {
    if (refusal === undefined) return false;
    this.#deps.log.debug(`${what} refused`, { because: refusal, ...of });
    return true;
  }

  #isPeerBanned(peer: string): boolean {
    const { records, nowSec, metrics, log, onPeerUnbanned } = this.#deps;
    const ban = records.bans.get(peer);
    if (ban === undefined) return false;
    if (ban.expiry > nowSec()) return true;
    records.bans.delete(peer);
    metrics.peerUnbans.inc();
    onPeerUnbanned(peer);
    log.info("ban of a peer has ended", { peer, reason: ban.reason });
    return false;
  }

  #isIpBanned(ip: string): boolean {
    const { records, nowSec, metrics, log } = this.#deps;
    const ban = records.ipBans.get(ip);
    if (ban === undefined) return false;
    if (ban.expiry > nowSec()) return true;
    records.ipBans.delete(ip);
    metrics.ipUnbans.inc();
    log.info("ban of an address has ended", { ip });
    return false;
  }
}

/** @returns `undefined`: a host name, or not an IP address */
function ipOf(address: Multiaddr): IpBytes | undefined {
  for (const { name, value } of address.getComponents())
    if ((name === "ip4" || name === "ip6") && value !== undefined) return parseIp(value);
  return undefined;
}

/** Where a connection really leads; its multiaddress may contain a host name. */
function socketAddress(connection: MultiaddrConnection): IpBytes | undefined {
  const { socket } = connection as { socket?: { readonly remoteAddress?: unknown } };
  return typeof socket?.remoteAddress === "string" ? parseIp(socket.remoteAddress) : undefined;
}
