import { ipText, parseIp } from "@rnode/peering";
import {
  bytesToHex,
  concatBytes,
  encodeRlp,
  equalBytes,
  isCodedError,
  keccak256,
  type RlpItem,
  recoverPublicKey,
  rlpUint,
  signHash,
} from "@rnode/primitives";
import { RlpCursor } from "../rlpx/rlp-cursor.ts";

/** A node's advertised endpoint. */
export interface Endpoint {
  readonly ip: string;
  readonly udpPort: number;
  readonly tcpPort: number;
}

export interface V4Node extends Endpoint {
  /** x ‖ y, 64 bytes */
  readonly publicKey: Uint8Array;
}

export type V4Message =
  | { readonly kind: "ping"; readonly from: Endpoint; readonly to: Endpoint; readonly recordSequence?: bigint | undefined }
  | { readonly kind: "pong"; readonly to: Endpoint; readonly pingHash: Uint8Array; readonly recordSequence?: bigint | undefined }
  | { readonly kind: "find-node"; readonly target: Uint8Array }
  | { readonly kind: "neighbours"; readonly nodes: readonly V4Node[] }
  | { readonly kind: "record-request" }
  /** @property record its RLP */
  | { readonly kind: "record"; readonly requestHash: Uint8Array; readonly record: Uint8Array };

export interface V4Packet {
  readonly message: V4Message;
  /** the first 32 bytes, by which answers name it */
  readonly hash: Uint8Array;
  /** of the sender, x ‖ y */
  readonly publicKey: Uint8Array;
}

const TYPES = { ping: 1, pong: 2, "find-node": 3, neighbours: 4, "record-request": 5, record: 6 } as const;
const VERSION = 4;
const HASH_SIZE = 32;
const SIGNATURE_SIZE = 65;
const HEAD_SIZE = HASH_SIZE + SIGNATURE_SIZE;
const MAX_V4_PACKET_BYTES = 1_280;
/** how long a packet is valid */
const EXPIRY_SEC = 20;
const MAX_NEIGHBOURS = 16;
const MAX_RECORD_BYTES = 300;

/** Signs a message. Spec: https://github.com/ethereum/devp2p/blob/master/discv4.md#wire-protocol */
export function encodeV4(
  message: V4Message,
  privateKey: Uint8Array,
  nowSec: number,
): { readonly packet: Uint8Array; readonly hash: Uint8Array } {
  const body = concatBytes(Uint8Array.of(TYPES[message.kind]), encodeRlp(fieldsOf(message, nowSec + EXPIRY_SEC)));
  const { r, s, yParity } = signHash(keccak256(body), privateKey);
  const signed = concatBytes(r, s, Uint8Array.of(yParity), body);
  const hash = keccak256(signed);
  return { packet: concatBytes(hash, signed), hash };
}

function fieldsOf(message: V4Message, expiresSec: number): RlpItem[] {
  const expiry = rlpUint(expiresSec);
  const sequence = (value: bigint | undefined): RlpItem[] => (value === undefined ? [] : [rlpUint(value)]);
  switch (message.kind) {
    case "ping":
      return [
        rlpUint(VERSION),
        endpointItems(message.from),
        endpointItems(message.to),
        expiry,
        ...sequence(message.recordSequence),
      ];
    case "pong":
      return [endpointItems(message.to), message.pingHash, expiry, ...sequence(message.recordSequence)];
    case "find-node":
      return [message.target, expiry];
    case "neighbours":
      return [message.nodes.map((node) => [...endpointItems(node), node.publicKey]), expiry];
    case "record-request":
      return [expiry];
    case "record":
      return [message.requestHash, recordItem(message.record)];
  }
}

const endpointItems = ({ ip, udpPort, tcpPort }: Endpoint): RlpItem[] => [
  parseIp(ip) ?? new Uint8Array(4),
  rlpUint(udpPort),
  rlpUint(tcpPort),
];

/** A record's RLP as an item, so its encoding does not change. */
function recordItem(record: Uint8Array): RlpItem[] {
  const fields = RlpCursor.ofMessage(record);
  return fields.all((field) => (field.isListNext ? nested(field.list()) : field.string()), 64);
}
const nested = (list: RlpCursor): RlpItem[] => list.all((field) => (field.isListNext ? nested(field.list()) : field.string()), 64);

/** Whether a datagram has the form of this protocol: its first bytes are the hash of the rest. */
export const isV4Packet = (data: Uint8Array): boolean =>
  data.length > HEAD_SIZE &&
  data.length <= MAX_V4_PACKET_BYTES &&
  equalBytes(data.subarray(0, HASH_SIZE), keccak256(data.subarray(HASH_SIZE)));

/**
 * Decodes a datagram for which `isV4Packet` is true.
 *
 * @returns `undefined`: malformed, badly signed, expired, or of an unknown type
 */
export function decodeV4(data: Uint8Array, nowSec: number): V4Packet | undefined {
  try {
    const body = data.subarray(HEAD_SIZE);
    const message = readMessage(body[0]!, RlpCursor.ofPrefix(body.subarray(1)), nowSec);
    if (message === undefined) return undefined;
    const [r, s] = [data.subarray(HASH_SIZE, HASH_SIZE + 32), data.subarray(HASH_SIZE + 32, HASH_SIZE + 64)];
    const publicKey = recoverPublicKey(keccak256(body), r, s, data[HEAD_SIZE - 1]!);
    return { message, hash: data.slice(0, HASH_SIZE), publicKey };
  } catch (error) {
    if (isCodedError(error, "rlp/") || isCodedError(error, "secp256k1/")) return undefined;
    throw error;
  }
}

function readMessage(type: number, fields: RlpCursor, nowSec: number): V4Message | undefined {
  // Nodes in Go read a time as a signed number: one above is long past.
  const isLate = (): boolean => BigInt.asIntN(64, fields.uint()) < nowSec;
  const sequence = (): bigint | undefined => (fields.isAtEnd ? undefined : fields.uint());
  switch (type) {
    case TYPES.ping: {
      fields.string(); // its version: any is accepted
      const from = readEndpoint(fields.list());
      const to = readEndpoint(fields.list());
      return isLate() ? undefined : { kind: "ping", from, to, recordSequence: sequence() };
    }
    case TYPES.pong: {
      const to = readEndpoint(fields.list());
      const pingHash = fields.string(HASH_SIZE).slice();
      return isLate() ? undefined : { kind: "pong", to, pingHash, recordSequence: sequence() };
    }
    case TYPES["find-node"]: {
      const target = fields.string(64).slice();
      return isLate() ? undefined : { kind: "find-node", target };
    }
    case TYPES.neighbours: {
      const nodes = fields.list().all((item) => {
        const node = item.list();
        const endpoint = readEndpoint(node);
        return { ...endpoint, publicKey: node.string(64).slice() };
      }, MAX_NEIGHBOURS);
      return isLate() ? undefined : { kind: "neighbours", nodes };
    }
    case TYPES["record-request"]:
      return isLate() ? undefined : { kind: "record-request" };
    case TYPES.record: {
      const requestHash = fields.string(HASH_SIZE).slice();
      const record = fields.encoded();
      return record.length > MAX_RECORD_BYTES ? undefined : { kind: "record", requestHash, record };
    }
    default:
      return undefined;
  }
}

function readEndpoint(fields: RlpCursor): Endpoint {
  const ip = fields.string();
  const udpPort = fields.number();
  return { ip: ip.length === 4 || ip.length === 16 ? ipText(ip) : "", udpPort, tcpPort: fields.isAtEnd ? 0 : fields.number() };
}

export const idOf = (publicKey: Uint8Array): string => bytesToHex(publicKey).slice(2);
