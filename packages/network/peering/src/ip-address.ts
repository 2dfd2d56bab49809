import { isIP, isIPv4 } from "node:net";

/**
 * IP addresses and networks. An IPv4 address that is mapped into IPv6 (`::ffff:192.0.2.1`) is the IPv4 address, in whatever form it
 * is written.
 */

/** 4 or 16 bytes. */
export type IpBytes = Uint8Array;

export interface Subnet {
  /** canonical: the network's first address and the length of the prefix */
  readonly text: string;
  readonly network: IpBytes;
  readonly prefixLength: number;
}

const isMapped = (bytes: Uint8Array): boolean =>
  bytes.length === 16 && bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;

/** @param text an address; a zone (`%eth0`) is removed. @returns `undefined`: not an address */
export function parseIp(text: string): IpBytes | undefined {
  const withoutZone = text.split("%", 1)[0]!;
  if (isIP(withoutZone) === 0) return undefined;
  const bytes = isIPv4(withoutZone) ? ipv4Bytes(withoutZone) : ipv6Bytes(withoutZone);
  return isMapped(bytes) ? bytes.slice(12) : bytes;
}

const ipv4Bytes = (text: string): Uint8Array => Uint8Array.from(text.split("."), Number);

function ipv6Bytes(text: string): Uint8Array {
  const lastColon = text.lastIndexOf(":");
  const tail = text.slice(lastColon + 1);
  // The last 32 bits may be written as an IPv4 address.
  const words = tail.includes(".") ? text.slice(0, lastColon + 1) + hexWords(ipv4Bytes(tail)) : text;
  const [head = "", rest] = words.split("::");
  const groups = (part: string): number[] => (part === "" ? [] : part.split(":").map((word) => Number.parseInt(word, 16)));
  const before = groups(head);
  const after = groups(rest ?? "");
  const all = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Uint8Array.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}

const hexWords = ([a, b, c, d]: Uint8Array): string => `${((a! << 8) | b!).toString(16)}:${((c! << 8) | d!).toString(16)}`;

/** The canonical text (RFC 5952 for IPv6). */
export function ipText(bytes: IpBytes): string {
  if (bytes.length === 4) return bytes.join(".");
  const words = Array.from({ length: 8 }, (_, index) => (bytes[index * 2]! << 8) | bytes[index * 2 + 1]!);
  let longest = { start: 0, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (words[start + length] === 0) length++;
    if (length > longest.length) longest = { start, length };
  }
  const hex = (part: number[]): string => part.map((word) => word.toString(16)).join(":");
  if (longest.length === 1) return hex(words);
  return `${hex(words.slice(0, longest.start))}::${hex(words.slice(longest.start + longest.length))}`;
}

/** @returns `undefined`: not an address */
export function canonicalIp(text: string): string | undefined {
  const bytes = parseIp(text);
  return bytes && ipText(bytes);
}

/** @param text CIDR, `192.0.2.0/24`; bits after the prefix are cleared. @returns `undefined`: not a network */
export function parseSubnet(text: string): Subnet | undefined {
  const match = /^([^/%]+)\/(\d{1,3})$/.exec(text);
  if (match === null) return undefined;
  const [, address, length] = match as unknown as [string, string, string];
  const bytes = parseIp(address);
  if (bytes === undefined) return undefined;
  // The prefix of a mapped address counts from the start of the IPv6 form.
  const prefixLength = Number(length) - (bytes.length === 4 && address.includes(":") ? 96 : 0);
  if (prefixLength < 0 || prefixLength > bytes.length * 8) return undefined;
  const network = bytes.map((byte, index) => byte & maskByte(prefixLength, index));
  return { text: `${ipText(network)}/${prefixLength}`, network, prefixLength };
}

/** The bits of byte `index` that belong to the prefix. */
const maskByte = (prefixLength: number, index: number): number => {
  const bits = Math.min(Math.max(prefixLength - index * 8, 0), 8);
  return (0xff << (8 - bits)) & 0xff;
};

/** Networks of one family contain no address of the other. */
export function subnetContains({ network, prefixLength }: Subnet, address: IpBytes): boolean {
  return (
    address.length === network.length && address.every((byte, index) => (byte & maskByte(prefixLength, index)) === network[index])
  );
}

/** Not reachable from other networks. */
export const isPrivateIp = (ip: string): boolean =>
  /^(?:10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/.test(ip) ||
  /^(?:::1$|f[cd]|fe[89ab])/i.test(ip);

/** Addresses that no node has: unspecified, multicast, broadcast, documentation, benchmarks and other reserved networks (IANA registries). */
const SPECIAL_NETWORKS = [
  ...["0.0.0.0/8", "192.0.0.0/29", "192.0.0.9/32", "192.0.0.170/31", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"],
  ...["192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  ...["::/128", "100::/64", "2001::/32", "2001:1::1/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:5::/32"],
  ...["2001:10::/28", "2001:20::/28", "2001:db8::/32", "2002::/16", "ff00::/8"],
].map((text) => parseSubnet(text)!);

const isLinkLocalIp = (ip: string): boolean => /^169\.254\./.test(ip) || /^fe[89ab]/i.test(ip);
const isLoopbackIp = (ip: string): boolean => /^127\./.test(ip) || ip === "::1";

/**
 * Whether a node at `teller` may name `told` as the address of another node. Special addresses are never accepted. Loopback and
 * private addresses are accepted only from nodes of the same kind, so a remote node cannot direct packets into the local network.
 * Source: `CheckRelayAddr` of go-ethereum's p2p/netutil.
 */
export function isRelayable(told: string, teller: string): boolean {
  const address = parseIp(told);
  if (address === undefined || SPECIAL_NETWORKS.some((network) => subnetContains(network, address))) return false;
  const [toldIp, tellerIp] = [canonicalIp(told)!, canonicalIp(teller) ?? ""];
  if (isLoopbackIp(toldIp)) return isLoopbackIp(tellerIp);
  if (isLinkLocalIp(toldIp)) return false;
  return !isPrivateIp(toldIp) || isPrivateIp(tellerIp);
}
