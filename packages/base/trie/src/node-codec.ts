import { writeKeccak256 } from "@rnode/primitives";

/*
 * Encoding of trie nodes. Nibble ranges are never copied to arrays: a range is (bytes, from, to), where nibble i of `bytes` is
 * the high half of byte i/2 if i is even.
 *
 *  Node: leaf      [hexPrefix(path, leaf), value]
 *        extension [hexPrefix(path), child]
 *        branch    [child × 16, value]
 *  Child: the node's RLP itself if it is below 32 bytes, otherwise the string of its keccak256.
 *
 * Spec: Yellow Paper, appendices C (hex-prefix) and D (trie).
 */

export const HASH_REF_SIZE = 33;
export const HASH_REF_PREFIX = 0xa0;
/** PERF: for this many bytes or fewer, a loop is faster than `set`. */
const SHORT = 40;

export function nibbleAt(bytes: Uint8Array, index: number): number {
  const byte = bytes[index >> 1]!;
  return (index & 1) === 0 ? byte >> 4 : byte & 15;
}

/** Length of the shared prefix of two nibble ranges. */
export function commonNibbles(a: Uint8Array, aFrom: number, aTo: number, b: Uint8Array, bFrom: number, bTo: number): number {
  const limit = Math.min(aTo - aFrom, bTo - bFrom);
  let shared = 0;
  while (shared < limit && nibbleAt(a, aFrom + shared) === nibbleAt(b, bFrom + shared)) shared++;
  return shared;
}

function lengthHeaderSize(length: number): number {
  if (length < 56) return 1;
  if (length < 0x100) return 2;
  if (length < 0x10000) return 3;
  if (length < 0x1000000) return 4;
  return 5;
}

function writeLengthHeader(out: Uint8Array, at: number, length: number, offset: 0x80 | 0xc0): number {
  if (length < 56) {
    out[at] = offset + length;
    return at + 1;
  }
  const size = lengthHeaderSize(length) - 1;
  out[at] = offset + 55 + size;
  let rest = length;
  for (let i = size; i > 0; i--) {
    out[at + i] = rest & 0xff;
    rest >>>= 8;
  }
  return at + 1 + size;
}

function stringSize(value: Uint8Array): number {
  if (value.length === 1 && value[0]! < 0x80) return 1;
  return lengthHeaderSize(value.length) + value.length;
}

function writeString(out: Uint8Array, at: number, value: Uint8Array): number {
  if (value.length === 1 && value[0]! < 0x80) {
    out[at] = value[0]!;
    return at + 1;
  }
  const { length } = value;
  const dataAt = writeLengthHeader(out, at, length, 0x80);
  if (length <= SHORT) for (let i = 0; i < length; i++) out[dataAt + i] = value[i]!;
  else out.set(value, dataAt);
  return dataAt + length;
}

/** Size of the RLP string of a hex-prefixed path; a path of one byte is below 0x40 and needs no header. */
function pathSize(nibbles: number): number {
  const bytes = (nibbles >> 1) + 1;
  return bytes === 1 ? 1 : bytes + lengthHeaderSize(bytes);
}

function writePath(out: Uint8Array, at: number, bytes: Uint8Array, from: number, to: number, leafFlag: 0x20 | 0): number {
  const nibbles = to - from;
  const size = (nibbles >> 1) + 1;
  let next = size === 1 ? at : writeLengthHeader(out, at, size, 0x80);
  let index = from;
  if ((nibbles & 1) === 1) {
    out[next++] = leafFlag | 0x10 | nibbleAt(bytes, index);
    index++;
  } else {
    out[next++] = leafFlag;
  }
  if ((index & 1) === 0) {
    for (let i = index >> 1; i < to >> 1; i++) out[next++] = bytes[i]!;
  } else {
    for (; index < to; index += 2) out[next++] = ((bytes[index >> 1]! & 15) << 4) | (bytes[(index >> 1) + 1]! >> 4);
  }
  return next;
}

/**
 * RLP of the leaf with the nibbles `from` to `to` of `bytes` and `value`.
 *
 * @param scratch holds the result if it is large enough; saves an allocation
 */
export function encodeLeaf(bytes: Uint8Array, from: number, to: number, value: Uint8Array, scratch?: Uint8Array): Uint8Array {
  const payload = pathSize(to - from) + stringSize(value);
  const size = lengthHeaderSize(payload) + payload;
  const out = scratch !== undefined && size <= scratch.length ? scratch.subarray(0, size) : new Uint8Array(size);
  const pathAt = writeLengthHeader(out, 0, payload, 0xc0);
  writeString(out, writePath(out, pathAt, bytes, from, to, 0x20), value);
  return out;
}

/** RLP of the extension with the nibbles `from` to `to` of `bytes` to the child whose reference (RLP) is `childRef`. */
export function encodeExtension(bytes: Uint8Array, from: number, to: number, childRef: Uint8Array): Uint8Array {
  const payload = pathSize(to - from) + childRef.length;
  const out = new Uint8Array(lengthHeaderSize(payload) + payload);
  const pathAt = writeLengthHeader(out, 0, payload, 0xc0);
  out.set(childRef, writePath(out, pathAt, bytes, from, to, 0));
  return out;
}

/**
 * RLP of a branch.
 *
 * @param children the 16 references, each as RLP; `undefined`: no child
 * @param value the value of the key that ends here; `undefined`: no value
 */
export function encodeBranch(children: readonly (Uint8Array | undefined)[], value: Uint8Array | undefined): Uint8Array {
  let payload = value === undefined ? 1 : stringSize(value);
  for (let i = 0; i < 16; i++) payload += children[i]?.length ?? 1;
  const out = new Uint8Array(lengthHeaderSize(payload) + payload);
  let at = writeLengthHeader(out, 0, payload, 0xc0);
  for (let i = 0; i < 16; i++) {
    const child = children[i];
    if (child === undefined) {
      out[at++] = 0x80;
    } else {
      out.set(child, at);
      at += child.length;
    }
  }
  if (value === undefined) out[at] = 0x80;
  else writeString(out, at, value);
  return out;
}

/** Size of the header of a branch's RLP. */
export function branchHeaderSize(rlp: Uint8Array): number {
  return rlp[0]! < 0xf8 ? 1 : rlp[0]! - 0xf6;
}

/** The reference to a node in its parent: the node itself if below 32 bytes, otherwise its hash. */
export function nodeRef(rlp: Uint8Array): Uint8Array {
  if (rlp.length < 32) return rlp;
  const ref = new Uint8Array(HASH_REF_SIZE);
  ref[0] = HASH_REF_PREFIX;
  writeKeccak256(ref, 1, rlp);
  return ref;
}
