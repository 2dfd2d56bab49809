import { isIPv6 } from "node:net";
import { type BaseENR, SignableENR } from "@chainsafe/enr";
import { tcpAddress } from "../multiaddresses.ts";
import { decodeOpstackEntry, encodeOpstackEntry, OPSTACK_KEY, OPSTACK_VERSION } from "../wire/opstack-entry.ts";

export interface OwnRecord {
  readonly networkKey: Uint8Array;
  readonly chainId: bigint;
  /** `undefined`: not known (yet) */
  readonly ip?: string | undefined;
  readonly tcpPort: number;
  readonly udpPort: number;
  /** must grow with every record that this key signs */
  readonly sequence: bigint;
}

export function createOwnRecord({ networkKey, chainId, ip, tcpPort, udpPort, sequence }: OwnRecord): SignableENR {
  const record = SignableENR.createV4(networkKey, { [OPSTACK_KEY]: encodeOpstackEntry({ chainId, version: OPSTACK_VERSION }) });
  if (ip !== undefined && isIPv6(ip)) {
    record.ip6 = ip;
    record.tcp6 = tcpPort;
    record.udp6 = udpPort;
  } else {
    if (ip !== undefined) record.ip = ip;
    record.tcp = tcpPort;
    record.udp = udpPort;
  }
  record.seq = sequence;
  return record;
}

/** A peer that a record leads to. */
export interface RecordedPeer {
  /** base58 */
  readonly peerId: string;
  /** with a TCP port */
  readonly address: string;
  readonly ip: string;
  readonly enr: string;
  readonly chainId: bigint;
}

/** The chain of a record. @returns `undefined`: no `opstack` entry of the known version */
export function chainOf(record: BaseENR): bigint | undefined {
  const bytes = record.kvs.get(OPSTACK_KEY);
  const entry = bytes && decodeOpstackEntry(bytes);
  return entry?.version === OPSTACK_VERSION ? entry.chainId : undefined;
}

/** @returns `undefined`: not a node of the chain, or without an address. Spec: docs/protocol/03-p2p.md#discovery */
export function peerOfRecord(record: BaseENR, chainId: bigint): RecordedPeer | undefined {
  if (chainOf(record) !== chainId) return undefined;
  const [ip, port] =
    record.ip !== undefined && record.tcp !== undefined ? [record.ip, record.tcp] : [record.ip6, record.tcp6 ?? record.tcp];
  if (ip === undefined || port === undefined || port === 0) return undefined;
  return { peerId: record.peerId.toString(), address: tcpAddress(ip, port), ip, enr: record.encodeTxt(), chainId };
}
