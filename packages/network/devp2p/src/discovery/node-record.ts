import { ECDH } from "node:crypto";
import { isIPv6 } from "node:net";
import { type BaseENR, SignableENR } from "@chainsafe/enr";
import { bytesToHex, rlpUint } from "@rnode/primitives";
import type { ForkId } from "@rnode/protocol";
import type { Enode } from "../enode.ts";

/** Keys of the fork id in records: op-geth and most others use `eth`, OP Stack nodes built on reth use `opel`. */
const FORK_KEYS = ["eth", "opel"] as const;
/** Geth announces with an empty list that it serves states; lists of nodes for snap sync are made by it. */
const SNAP_KEY = "snap";

type RecordValue = Parameters<SignableENR["set"]>[1];

/** The library's type has no lists, which its encoding does have. */
const forkEntry = ({ hash, next }: ForkId): RecordValue => [[hash, rlpUint(next)]] as unknown as RecordValue;

export function createOwnRecord(nodeKey: Uint8Array, forkId: ForkId, sequence: bigint): SignableENR {
  const entry = forkEntry(forkId);
  const forks = FORK_KEYS.map((key) => [key, entry] as const);
  const record = SignableENR.createV4(nodeKey, Object.fromEntries([...forks, [SNAP_KEY, [] as unknown as RecordValue]]));
  record.seq = sequence;
  return record;
}

export function setForkId(record: SignableENR, forkId: ForkId): void {
  for (const key of FORK_KEYS) record.set(key, forkEntry(forkId));
}

export function setEndpoint(record: SignableENR, ip: string | undefined, tcpPort: number, udpPort: number): void {
  if (ip !== undefined && isIPv6(ip)) {
    record.ip6 = ip;
    record.tcp6 = tcpPort;
    record.udp6 = udpPort;
    return;
  }
  if (ip !== undefined) record.ip = ip;
  record.tcp = tcpPort;
  record.udp = udpPort;
}

/** @returns `undefined`: the record has no fork id */
export function forkIdOf(record: BaseENR): ForkId | undefined {
  for (const key of FORK_KEYS) {
    const value: unknown = record.kvs.get(key);
    const entry = Array.isArray(value) && Array.isArray(value[0]) ? (value[0] as unknown[]) : value;
    if (!Array.isArray(entry)) continue;
    const [hash, next] = entry as unknown[];
    if (!(hash instanceof Uint8Array) || hash.length !== 4 || !(next instanceof Uint8Array) || next.length > 8) continue;
    const number = Number(`0x${Buffer.from(next).toString("hex") || "0"}`);
    return { hash, next: Math.min(number, Number.MAX_SAFE_INTEGER) };
  }
  return undefined;
}

/** @returns `undefined`: no address, or no key that is a point of the curve */
export function enodeOfRecord(record: BaseENR): Enode | undefined {
  const [host, tcpPort, udpPort] =
    record.ip !== undefined
      ? [record.ip, record.tcp, record.udp]
      : [record.ip6, record.tcp6 ?? record.tcp, record.udp6 ?? record.udp];
  if (host === undefined || tcpPort === undefined || tcpPort === 0) return undefined;
  try {
    const point = ECDH.convertKey(record.publicKey, "secp256k1", undefined, undefined, "uncompressed") as Buffer;
    const publicKey = new Uint8Array(point.subarray(1));
    return { publicKey, id: bytesToHex(publicKey).slice(2), host, tcpPort, udpPort: udpPort ?? tcpPort };
  } catch {
    return undefined;
  }
}
