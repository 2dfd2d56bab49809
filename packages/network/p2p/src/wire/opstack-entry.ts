/**
 * The entry `opstack` of a node record: uvarint chain id ‖ uvarint version. In the record it is an RLP byte string, which the library for
 * records adds and removes.
 *
 * Spec: docs/protocol/03-p2p.md#discovery
 */
export interface OpstackEntry {
  readonly chainId: bigint;
  readonly version: bigint;
}

export const OPSTACK_KEY = "opstack";
export const OPSTACK_VERSION = 0n;
/** an unsigned integer of 64 bits */
const MAX_UVARINT_BYTES = 10;

export function encodeOpstackEntry({ chainId, version }: OpstackEntry): Uint8Array {
  return Uint8Array.from([...uvarint(chainId), ...uvarint(version)]);
}

/** Bytes after the two numbers are ignored. @returns `undefined`: not an entry */
export function decodeOpstackEntry(bytes: Uint8Array): OpstackEntry | undefined {
  const chainId = readUvarint(bytes, 0);
  const version = chainId && readUvarint(bytes, chainId.end);
  return version && { chainId: chainId.value, version: version.value };
}

function uvarint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}

function readUvarint(bytes: Uint8Array, start: number): { readonly value: bigint; readonly end: number } | undefined {
  let value = 0n;
  for (let i = 0; i < MAX_UVARINT_BYTES; i++) {
    const byte = bytes[start + i];
    if (byte === undefined) return undefined;
    value |= BigInt(byte & 0x7f) << BigInt(7 * i);
    if (byte < 0x80) return value >> 64n === 0n ? { value, end: start + i + 1 } : undefined;
  }
  return undefined;
}
