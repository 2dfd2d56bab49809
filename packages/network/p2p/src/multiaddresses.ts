import type { Multiaddr } from "@multiformats/multiaddr";

/** The IP address in a multiaddress; `undefined`: none, or a name instead. */
export function ipOf(address: Multiaddr): string | undefined {
  const component = address.getComponents().find(({ name }) => name === "ip4" || name === "ip6");
  return component?.value === undefined ? undefined : withoutMapping(component.value);
}

/** The TCP port in a multiaddress. */
export function tcpPortOf(address: Multiaddr): number | undefined {
  const port = address.getComponents().find(({ name }) => name === "tcp")?.value;
  return port === undefined ? undefined : Number(port);
}

/** The peer id at the end of a multiaddress, base58. */
export function peerIdOf(address: Multiaddr): string | undefined {
  return address.getComponents().findLast(({ name }) => name === "p2p")?.value;
}

export const withPeerId = (address: Multiaddr, peerId: string): Multiaddr =>
  peerIdOf(address) === undefined ? address.encapsulate(`/p2p/${peerId}`) : address;

/** `/ip4/1.2.3.4/tcp/9222` */
export const tcpAddress = (ip: string, port: number): string => `/${ip.includes(":") ? "ip6" : "ip4"}/${ip}/tcp/${port}`;

/** An IPv4 address that came through a socket for both families is the IPv4 address. */
const withoutMapping = (ip: string): string => (/^::ffff:[\d.]+$/i.test(ip) ? ip.slice(7) : ip);
