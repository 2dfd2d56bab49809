import { CodedError, type RlpSpan, readRlpSpan } from "@rnode/primitives";
import { nibbleAt } from "./node-codec.ts";
import type { TrieErrorCode } from "./node-reader.ts";

/*
 * Decoded nodes. PERF: decoding a branch makes one array of sixteen small integers (positions in its RLP) and no object a child; a child
 * becomes an object only when an update goes through it.
 */

/**
 * Child of a branch or extension: 0 for none; a position in the RLP that the node was decoded from, where the child's reference lies;
 * a reference (RLP) taken over from another node; or a node that an update made or changed.
 */
export type Child = number | Uint8Array | TrieNode;

export type TrieNode = LeafNode | ExtensionNode | BranchNode;

/** Path of a leaf or extension: nibbles `from` to `to` of `bytes`. */
interface NibbleRange {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

export class LeafNode implements NibbleRange {
  readonly kind = "leaf";
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  value: Uint8Array;
  changed: boolean;
  /** the database has a row at this node's path */
  stored: boolean;

  constructor(bytes: Uint8Array, from: number, to: number, value: Uint8Array, changed: boolean, stored: boolean) {
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.value = value;
    this.changed = changed;
    this.stored = stored;
  }
}

export class ExtensionNode implements NibbleRange {
  readonly kind = "extension";
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  /** not a position: those belong to branches */
  child: Uint8Array | TrieNode;
  changed: boolean;
  stored: boolean;

  constructor(bytes: Uint8Array, from: number, to: number, child: Uint8Array | TrieNode, changed: boolean, stored: boolean) {
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.child = child;
    this.changed = changed;
    this.stored = stored;
  }
}

export class BranchNode {
  readonly kind = "branch";
  /** what positions in `children` refer to */
  readonly rlp: Uint8Array;
  readonly children: Child[];
  value: Uint8Array | undefined;
  changed: boolean;
  stored: boolean;

  constructor(rlp: Uint8Array, children: Child[], value: Uint8Array | undefined, changed: boolean, stored: boolean) {
    this.rlp = rlp;
    this.children = children;
    this.value = value;
    this.changed = changed;
    this.stored = stored;
  }
}

/** Size of the reference (RLP) at `at`: a hash or an inline node. */
export function refSizeAt(rlp: Uint8Array, at: number): number {
  const prefix = rlp[at]!;
  // Inline nodes are below 32 bytes, so their list header is one byte.
  return prefix === 0xa0 ? 33 : prefix - 0xc0 + 1;
}

function badNode(reason: string): CodedError<TrieErrorCode> {
  return new CodedError("trie/bad-node", { reason });
}

/** Checks the reference at `span`. */
function assertRef(rlp: Uint8Array, span: RlpSpan): void {
  const size = span.end - span.start;
  if (span.isList ? size >= 32 : rlp[span.start] !== 0xa0) throw badNode("child is neither a hash nor an inline node");
}

/**
 * Decodes the node whose RLP starts at `at`.
 *
 * @param stored whether the database has a row for it (false for inline nodes)
 * @returns a node whose parts are views into `rlp`
 * @throws {CodedError} trie/bad-node, rlp/*
 */
export function decodeNode(rlp: Uint8Array, at: number, stored: boolean): TrieNode {
  const list = readRlpSpan(rlp, at);
  if (!list.isList) throw badNode("not a list");
  if (stored && list.end !== rlp.length) throw badNode("bytes after the node");
  const first = readRlpSpan(rlp, list.dataStart, list.end);
  const second = readRlpSpan(rlp, first.end, list.end);
  if (second.end === list.end) return decodeShortNode(rlp, first, second, stored);
  const children = new Array<Child>(16);
  let position = list.dataStart;
  for (let i = 0; i < 16; i++) {
    const prefix = rlp[position];
    if (prefix === 0x80) {
      children[i] = 0;
      position++;
    } else if (prefix === 0xa0 && position + 33 <= list.end) {
      children[i] = position;
      position += 33;
    } else {
      const child = readRlpSpan(rlp, position, list.end);
      assertRef(rlp, child);
      children[i] = position;
      position = child.end;
    }
  }
  const value = readRlpSpan(rlp, position, list.end);
  if (value.isList || value.end !== list.end) throw badNode("branch is not 16 children and a string");
  const hasValue = value.dataStart < value.end;
  return new BranchNode(rlp, children, hasValue ? rlp.subarray(value.dataStart, value.end) : undefined, false, stored);
}

function decodeShortNode(rlp: Uint8Array, path: RlpSpan, item: RlpSpan, stored: boolean): TrieNode {
  const flags = rlp[path.dataStart] ?? 0xff;
  if (path.isList || path.dataStart === path.end || flags >= 0x40) throw badNode("path is not hex-prefixed");
  const isOdd = (flags & 0x10) !== 0;
  if (!isOdd && (flags & 0x0f) !== 0) throw badNode("padding of an even path is not zero");
  const from = path.dataStart * 2 + (isOdd ? 1 : 2);
  const to = path.end * 2;
  if ((flags & 0x20) !== 0) {
    if (item.isList || item.dataStart === item.end) throw badNode("leaf value is not a string of a byte or more");
    return new LeafNode(rlp, from, to, rlp.subarray(item.dataStart, item.end), false, stored);
  }
  if (from === to) throw badNode("extension without a path");
  assertRef(rlp, item);
  return new ExtensionNode(rlp, from, to, rlp.subarray(item.start, item.end), false, stored);
}

/** The nibbles of `range` after one nibble more or a whole range, as new bytes; the result starts at nibble 0. */
export function joinNibbles(first: NibbleRange | number, second: NibbleRange): NibbleRange {
  const firstLength = typeof first === "number" ? 1 : first.to - first.from;
  const length = firstLength + second.to - second.from;
  const bytes = new Uint8Array((length + 1) >> 1);
  for (let i = 0; i < length; i++) {
    let nibble: number;
    if (i >= firstLength) nibble = nibbleAt(second.bytes, second.from + i - firstLength);
    else nibble = typeof first === "number" ? first : nibbleAt(first.bytes, first.from + i);
    bytes[i >> 1] = bytes[i >> 1]! | ((i & 1) === 0 ? nibble << 4 : nibble);
  }
  return { bytes, from: 0, to: length };
}
