import { encodeRlp, rlpUint } from "@rnode/primitives";
import { RlpCursor } from "./rlp-cursor.ts";

export interface Capability {
  readonly name: string;
  readonly version: number;
}

export interface Hello {
  readonly clientId: string;
  readonly capabilities: readonly Capability[];
  /** 0: not announced */
  readonly port: number;
  /** x ‖ y, 64 bytes */
  readonly publicKey: Uint8Array;
}

/** with snappy */
const P2P_VERSION = 5;
const MAX_CAPABILITIES = 64;
const MAX_CLIENT_ID_CHARS = 256;

export const BASE_MESSAGES = { hello: 0x00, disconnect: 0x01, ping: 0x02, pong: 0x03 } as const;
/** Where the messages of the first shared capability begin. */
export const FIRST_ETH_MESSAGE = 0x10;

/** Reasons of a disconnect, by the names that Geth prints. Spec: https://github.com/ethereum/devp2p/blob/master/rlpx.md#disconnect-0x01 */
export const DISCONNECT_REASONS = {
  requested: 0x00,
  "network-error": 0x01,
  "protocol-error": 0x02,
  "useless-peer": 0x03,
  "too-many-peers": 0x04,
  "already-connected": 0x05,
  "incompatible-version": 0x06,
  "invalid-identity": 0x07,
  quitting: 0x08,
  "unexpected-identity": 0x09,
  self: 0x0a,
  timeout: 0x0b,
  "subprotocol-error": 0x10,
} as const;
export type DisconnectReason = keyof typeof DISCONNECT_REASONS;

const disconnectReasonOf = (code: number): DisconnectReason | undefined =>
  (Object.keys(DISCONNECT_REASONS) as DisconnectReason[]).find((reason) => DISCONNECT_REASONS[reason] === code);

export function encodeHello({ clientId, capabilities, port, publicKey }: Hello): Uint8Array {
  return encodeRlp([
    rlpUint(P2P_VERSION),
    Buffer.from(clientId, "utf8"),
    capabilities.map(({ name, version }) => [Buffer.from(name, "ascii"), rlpUint(version)]),
    rlpUint(port),
    publicKey,
  ]);
}

/** @throws {CodedError} rlp/* */
export function decodeHello(bytes: Uint8Array): Hello & { readonly version: number } {
  const fields = RlpCursor.ofMessage(bytes);
  const version = fields.number();
  const clientId = printable(Buffer.from(fields.string()).toString("utf8"));
  const capabilities = fields.list().all((item) => {
    const capability = item.list();
    return { name: printable(Buffer.from(capability.string()).toString("latin1")), version: capability.number() };
  }, MAX_CAPABILITIES);
  return { version, clientId, capabilities, port: fields.number(), publicKey: fields.string(64).slice() };
}

/** A peer's client name is used in logs and answers. */
const printable = (text: string): string => text.slice(0, MAX_CLIENT_ID_CHARS).replace(/[^\x20-\x7e]/g, "?");

/** A disconnect's reason; some peers send it without a list. @returns `undefined`: unknown */
export function decodeDisconnect(bytes: Uint8Array): DisconnectReason | undefined {
  const first = bytes[0];
  if (first === undefined) return undefined;
  const code = first >= 0xc0 ? bytes[1] : first;
  return disconnectReasonOf(code === undefined || code === 0x80 ? 0 : code);
}
