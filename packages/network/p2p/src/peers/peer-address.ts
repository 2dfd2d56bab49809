import { type Component, multiaddr } from "@multiformats/multiaddr";
import { canonicalPeerId } from "./peer-id-text.ts";

/** A peer and its address. */
export interface PeerAddress {
  readonly peerId: string;
  /** with `/p2p/<peer id>` */
  readonly multiaddress: string;
}

const MAX_LENGTH = 512;
const HOSTS = new Set(["ip4", "ip6", "dns", "dns4", "dns6"]);

/** @param text `/ip4/192.0.2.1/tcp/9222/p2p/16Uiu2HA…`, or with a host name. @returns `undefined`: invalid */
export function parsePeerAddress(text: string): PeerAddress | undefined {
  const components = componentsOf(text);
  if (components?.length !== 3) return undefined;
  const [host, transport, peer] = components as [Component, Component, Component];
  if (!HOSTS.has(host.name) || transport.name !== "tcp" || peer.name !== "p2p" || peer.value === undefined) return undefined;
  const peerId = canonicalPeerId(peer.value);
  if (peerId === undefined) return undefined;
  return { peerId, multiaddress: `/${host.name}/${host.value}/tcp/${transport.value}/p2p/${peerId}` };
}

function componentsOf(text: string): Component[] | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    return multiaddr(text).getComponents();
  } catch {
    return undefined; // no multiaddress
  }
}
