import { type RlpSpan, readRlpSpan } from "@rnode/primitives";
import { nibbleAt } from "./node-codec.ts";
import type { TrieNodeChange } from "./node-reader.ts";
import { badNode } from "./trie-errors.ts";

/*
 * Decoded nodes. PERF: decoding a branch creates one array of sixteen small integers (positions in its RLP) instead of an object
 * per child. A child becomes an object when an update visits it.
 */

/** A child that an update visited or inserted: a node, or a reference (RLP) from another node. */
export type Child = Uint8Array | TrieNode;

export type TrieNode = LeafNode | ExtensionNode | BranchNode;

/** The listing of a node. The node is written, or, if it is inside its parent and never had a row, removed from the list. */
export class NodeWrite implements TrieNodeChange {
  readonly owner: Uint8Array | undefined;
  readonly path: Uint8Array;
  rlp: Uint8Array | undefined = undefined;
  readonly before: Uint8Array | undefined;
  differsFrom = 0;
  differsTo = Number.POSITIVE_INFINITY;

  constructor(owner: Uint8Array | undefined, path: Uint8Array, before: Uint8Array | undefined) {
    this.owner = owner;
    this.path = path;
    this.before = before;
  }
}

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
  /** the database's row at this node's path; `undefined`: no row */
  row: Uint8Array | undefined;

  constructor(bytes: Uint8Array, from: number, to: number, value: Uint8Array, changed: boolean, row: Uint8Array | undefined) {
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.value = value;
    this.changed = changed;
    this.row = row;
  }
}

export class ExtensionNode implements NibbleRange {
  readonly kind = "extension";
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  child: Child;
  /** the reference to the child in the last encoding; `undefined`: none yet */
  ref: Uint8Array | undefined;
  changed: boolean;
  row: Uint8Array | undefined;

  constructor(bytes: Uint8Array, from: number, to: number, child: Child, changed: boolean, row: Uint8Array | undefined) {
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.child = child;
    this.ref = child instanceof Uint8Array ? child : undefined;
    this.changed = changed;
    this.row = row;
  }
}

export class BranchNode {
  readonly kind = "branch";
  /** the last encoding */
  rlp: Uint8Array;
  /** positions of the references to the children in `rlp`; 0: none */
  readonly at: number[];
  /** children that are not only references in `rlp`; `undefined`: none */
  nodes: (Child | undefined)[] | undefined;
  value: Uint8Array | undefined;
  changed: boolean;
  /** whether children or the value were added or removed since `rlp` was encoded */
  reshaped = false;
  row: Uint8Array | undefined;

  constructor(rlp: Uint8Array, at: number[], value: Uint8Array | undefined, changed: boolean, row: Uint8Array | undefined) {
    this.rlp = rlp;
    this.at = at;
    this.nodes = undefined;
    this.value = value;
    this.changed = changed;
    this.row = row;
  }

  /** An empty branch. */
  static empty(value: Uint8Array | undefined, row: Uint8Array | undefined): BranchNode {
    const branch = new BranchNode(NO_RLP, new Array<number>(16).fill(0), value, true, row);
    branch.reshaped = true;
    branch.nodes = new Array<Child | undefined>(16).fill(undefined);
    return branch;
  }

  has(nibble: number): boolean {
    return this.at[nibble] !== 0 || this.nodes?.[nibble] !== undefined;
  }

  /** Replaces a child; `undefined`: none. */
  set(nibble: number, child: Child | undefined): void {
    this.at[nibble] = 0;
    this.reshaped = true;
    this.keep(nibble, child);
  }

  /** Stores the decoded node of a reference in `rlp`. */
  keep(nibble: number, child: Child | undefined): void {
    this.nodes ??= new Array<Child | undefined>(16).fill(undefined);
    this.nodes[nibble] = child;
  }
}

export const NO_RLP = new Uint8Array(0);

/** Size of the reference (RLP) at `at`: a hash or an inline node. */
export function refSizeAt(rlp: Uint8Array, at: number): number {
  const prefix = rlp[at]!;
  // Inline nodes are below 32 bytes, so their list header is one byte.
  return prefix === 0xa0 ? 33 : prefix - 0xc0 + 1;
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
 * @returns a node with views into `rlp`
 * @throws {CodedError} trie/bad-node, rlp/*
 */
export function decodeNode(rlp: Uint8Array, at: number, stored: boolean): TrieNode {
  const list = readRlpSpan(rlp, at);
  if (!list.isList) throw badNode("not a list");
  if (stored && list.end !== rlp.length) throw badNode("bytes after the node");
  const first = readRlpSpan(rlp, list.dataStart, list.end);
  const second = readRlpSpan(rlp, first.end, list.end);
  if (second.end === list.end) return decodeShortNode(rlp, first, second, stored);
  // A branch inside its parent gets its own bytes, because later encodings start as a copy of them.
  if (at > 0) return decodeNode(rlp.slice(at, list.end), 0, stored);
  const children = new Array<number>(16);
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
  const valueSpan = readRlpSpan(rlp, position, list.end);
  if (valueSpan.isList || valueSpan.end !== list.end) throw badNode("branch is not 16 children and a string");
  const value = valueSpan.dataStart < valueSpan.end ? rlp.subarray(valueSpan.dataStart, valueSpan.end) : undefined;
  return new BranchNode(rlp, children, value, false, stored ? rlp : undefined);
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
    return new LeafNode(rlp, from, to, rlp.subarray(item.dataStart, item.end), false, stored ? rlp : undefined);
  }
  if (from === to) throw badNode("extension without a path");
  assertRef(rlp, item);
  return new ExtensionNode(rlp, from, to, rlp.subarray(item.start, item.end), false, stored ? rlp : undefined);
}

/** The nibbles of `range` after a single nibble or another range, as new bytes; the result starts at nibble 0. */
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
