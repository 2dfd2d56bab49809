import { bytesToHex, CodedError, compareBytes, equalBytes, type Hex, keccak256 } from "@rnode/primitives";
import type { TrieEntry } from "./iterate.ts";
import { type BranchNode, decodeNode, type ExtensionNode, type LeafNode, refSizeAt, type TrieNode } from "./node.ts";
import { HASH_REF_PREFIX, nibbleAt, nodeRef } from "./node-codec.ts";
import type { NodeAt } from "./node-difference.ts";
import type { TrieErrorCode } from "./node-reader.ts";
import { SortedTrieBuilder } from "./sorted-trie.ts";

/** Consecutive entries of a trie with 32-byte keys, as a peer claims them. */
export interface TrieRange {
  /** 32 bytes; no entry is below it */
  readonly origin: Uint8Array;
  /** ascending: all entries from the origin up to the last one; none: the trie has none from the origin on */
  readonly entries: readonly TrieEntry[];
  /** the nodes on the paths to the origin and to the last entry, in any order; none: the entries are the whole trie */
  readonly proof: readonly Uint8Array[];
}

/** What a range proves beside its entries. */
export interface VerifiedRange {
  /** the trie has entries after the last one */
  readonly hasMore: boolean;
  /** nodes whose entries are all in the range, the largest ones */
  readonly nodes: readonly RangeNode[];
}

interface RangeNode extends NodeAt {
  /** their number */
  readonly entries: number;
}

/**
 * Checks that a trie has exactly these entries in the range.
 *
 * The nodes on both paths come from the proof, each found by its hash. Each child between the paths must be the one that its entries make; children
 * outside of the range are not looked at. So an entry that is missing, added or changed anywhere in the range gives another hash.
 *
 * @throws {CodedError} trie/bad-proof
 */
export function verifyRange(root: Uint8Array, { origin, entries, proof }: TrieRange): VerifiedRange {
  let before: Uint8Array | undefined;
  for (const [index, { key, value }] of entries.entries()) {
    const isInOrder = before === undefined ? compareBytes(key, origin) >= 0 : compareBytes(key, before) > 0;
    if (key.length !== 32 || value.length === 0 || !isInOrder) throw badProof(index, "not an entry of the range, in its order");
    before = key;
  }
  if (proof.length === 0) {
    if (equalBytes(rootOf(entries), root)) return { hasMore: false, nodes: [] };
    throw badProof(0, "the entries are not the whole trie");
  }
  return new RangeCheck(origin, entries, proof).run(root);
}

/** The part of the trie below a node, and its entries. */
interface Part {
  /** of the node's path in nibbles */
  readonly depth: number;
  /** index of the first entry */
  readonly from: number;
  /** index after the last entry */
  readonly to: number;
  /** the node's path begins the origin */
  readonly isLeft: boolean;
  /** the node's path begins the key of the last entry of the range */
  readonly isRight: boolean;
}

class RangeCheck {
  readonly #origin: Uint8Array;
  readonly #entries: readonly TrieEntry[];
  readonly #nodes = new Map<Hex, Uint8Array>();
  readonly #last: Uint8Array | undefined;
  readonly #complete: RangeNode[] = [];
  #hasMore = false;

  constructor(origin: Uint8Array, entries: readonly TrieEntry[], proof: readonly Uint8Array[]) {
    this.#origin = origin;
    this.#entries = entries;
    this.#last = entries.at(-1)?.key;
    for (const rlp of proof) this.#nodes.set(bytesToHex(keccak256(rlp)), rlp);
  }

  run(root: Uint8Array): VerifiedRange {
    this.#check(this.#node(root), { depth: 0, from: 0, to: this.#entries.length, isLeft: true, isRight: this.#last !== undefined });
    return { hasMore: this.#hasMore, nodes: this.#complete };
  }

  #node(hash: Uint8Array): TrieNode {
    const rlp = this.#nodes.get(bytesToHex(hash));
    if (rlp === undefined) throw badProof(0, `the node ${bytesToHex(hash)} is missing`);
    return decode(rlp, 0, true);
  }

  #child(rlp: Uint8Array, at: number): TrieNode {
    return rlp[at] === 0xa0 ? this.#node(rlp.subarray(at + 1, at + 33)) : decode(rlp, at, false);
  }

  /** Checks a node at a boundary of the range against the entries below it. */
  #check(node: TrieNode, part: Part): void {
    if (part.depth > 64) throw badProof(part.from, "a path of more than 64 nibbles");
    if (node.kind === "branch") this.#checkBranch(node, part);
    else this.#checkShort(node, part);
  }

  #checkBranch(node: BranchNode, { depth, from, to, isLeft, isRight }: Part): void {
    if (node.value !== undefined || depth === 64) throw badProof(from, "a branch has a value");
    const left = isLeft ? nibbleAt(this.#origin, depth) : -1;
    const right = isRight ? nibbleAt(this.#last!, depth) : 16;
    let next = from;
    for (let nibble = 0; nibble < 16; nibble++) {
      const first = next;
      while (next < to && nibbleAt(this.#entries[next]!.key, depth) === nibble) next++;
      const at = node.at[nibble]!;
      const below = { depth: depth + 1, from: first, to: next, isLeft: nibble === left, isRight: nibble === right };
      if (nibble > right && at !== 0) this.#hasMore = true;
      if (nibble < left || nibble > right || at === 0) expectNone(below);
      else if (below.isLeft || below.isRight) this.#check(this.#child(node.rlp, at), below);
      else this.#expect(node.rlp.subarray(at, at + refSizeAt(node.rlp, at)), below);
    }
  }

  #checkShort(node: LeafNode | ExtensionNode, part: Part): void {
    const { depth, from, to } = part;
    const end = depth + node.to - node.from;
    if (node.kind === "leaf" ? end !== 64 : end >= 64) throw badProof(from, "a path of another length than 64 nibbles");
    const toLeft = part.isLeft ? this.#compare(node, depth, this.#origin) : 1;
    const toRight = part.isRight ? this.#compare(node, depth, this.#last!) : -1;
    if (toLeft < 0 || toRight > 0) {
      this.#hasMore ||= toRight > 0;
      expectNone(part);
      return;
    }
    // They ascend, so all of them have the node's path if the first and the last one have it.
    const hasPath = (index: number): boolean => this.#compare(node, depth, this.#entries[index]!.key) === 0;
    if (from < to && !(hasPath(from) && hasPath(to - 1))) throw badProof(from, "an entry is not below its node");
    const below = { depth: end, from, to, isLeft: toLeft === 0, isRight: toRight === 0 };
    if (node.kind === "leaf") {
      const isSame = to - from === 1 && equalBytes(node.value, this.#entries[from]!.value);
      if (!isSame) throw badProof(from, "an entry is missing, or has another value");
      return;
    }
    const child = node.child as Uint8Array; // a decoded extension holds the reference to its child
    if (below.isLeft || below.isRight) this.#check(this.#child(child, 0), below);
    else this.#expect(child, below);
  }

  /** The order of a node's own path and that part of a key. */
  #compare({ bytes, from, to }: LeafNode | ExtensionNode, depth: number, key: Uint8Array): number {
    for (let i = from; i < to; i++) {
      const difference = nibbleAt(bytes, i) - nibbleAt(key, depth + i - from);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Compares a reference with that of the trie that the entries make below `depth`. */
  #expect(ref: Uint8Array, { depth, from, to }: Part): void {
    if (from === to) throw badProof(from, "entries are missing");
    const builder = new SortedTrieBuilder(undefined, undefined, depth);
    for (let i = from; i < to; i++) builder.add(this.#entries[i]!.key, this.#entries[i]!.value);
    if (!equalBytes(nodeRef(builder.finishNode()), ref)) throw badProof(from, "entries have another hash");
    if (ref[0] !== HASH_REF_PREFIX) return;
    const path = Uint8Array.from({ length: depth }, (_, i) => nibbleAt(this.#entries[from]!.key, i));
    this.#complete.push({ path, hash: ref.slice(1), entries: to - from });
  }
}

function rootOf(entries: readonly TrieEntry[]): Uint8Array {
  const builder = new SortedTrieBuilder();
  for (const { key, value } of entries) builder.add(key, value);
  return builder.finish();
}

function expectNone({ from, to }: Part): void {
  if (from < to) throw badProof(from, "an entry is not in the trie");
}

/** @throws {CodedError} trie/bad-proof */
function decode(rlp: Uint8Array, at: number, isStored: boolean): TrieNode {
  try {
    return decodeNode(rlp, at, isStored);
  } catch (cause) {
    throw new CodedError<TrieErrorCode>("trie/bad-proof", { reason: "not a node" }, { cause });
  }
}

const badProof = (entry: number, reason: string): CodedError<TrieErrorCode> =>
  new CodedError<TrieErrorCode>("trie/bad-proof", { entry, reason });
