import { bytesToHex, CodedError, compareBytes, EMPTY_TRIE_ROOT, equalBytes, keccak256 } from "@rnode/primitives";
import { BranchNode, type Child, decodeNode, ExtensionNode, joinNibbles, LeafNode, refSizeAt, type TrieNode } from "./node.ts";
import { commonNibbles, encodeBranch, encodeExtension, encodeLeaf, hashRef, nibbleAt } from "./node-codec.ts";
import type { TrieErrorCode, TrieNodeChange, TrieNodeReader } from "./node-reader.ts";

export interface TrieChange {
  /** 32 bytes, keccak256 of the address or slot */
  readonly key: Uint8Array;
  /** RLP bytes of the leaf's value; undefined deletes */
  readonly value: Uint8Array | undefined;
}

export interface TrieUpdate {
  readonly root: Uint8Array;
  readonly nodes: readonly TrieNodeChange[];
}

const NO_RLP = new Uint8Array(0);
const MAX_PATH_NIBBLES = 512;

/**
 * Applies changes to the trie with `root` and returns what becomes of its nodes. Reads only nodes on the paths of changed keys, and the
 * remaining child of a branch that collapses. A branch collapses only if one child is left after all changes, so a witness of insertions
 * before deletions is enough.
 *
 * @param owner of the trie, as in `TrieNodeReader`; handed to the reader and copied into `nodes`
 * @param changes in any order; of two with the same key the later one counts
 * @throws {CodedError} trie/missing-node, trie/bad-node
 */
export function updateTrie(
  reader: TrieNodeReader,
  owner: Uint8Array | undefined,
  root: Uint8Array,
  changes: Iterable<TrieChange>,
): TrieUpdate {
  const sorted = sortChanges(changes);
  if (sorted.length === 0) return { root, nodes: [] };
  return new TrieUpdater(reader, owner, sorted).run(root);
}

function sortChanges(changes: Iterable<TrieChange>): TrieChange[] {
  const sorted = [...changes].sort((a, b) => compareBytes(a.key, b.key)); // stable
  let kept = 0;
  for (let i = 0; i < sorted.length; i++) {
    const next = sorted[i + 1];
    if (next !== undefined && equalBytes(sorted[i]!.key, next.key)) continue;
    sorted[kept++] = sorted[i]!;
  }
  sorted.length = kept;
  return sorted;
}

/** A leaf to be: nibble i of its key, counted from the trie's root, is nibble `base + i` of `bytes`. */
interface Item {
  readonly bytes: Uint8Array;
  readonly base: number;
  /** nibbles of the key */
  readonly length: number;
  readonly value: Uint8Array;
}

class TrieUpdater {
  readonly #reader: TrieNodeReader;
  readonly #owner: Uint8Array | undefined;
  readonly #changes: readonly TrieChange[];
  readonly #nodes: TrieNodeChange[] = [];
  /** path of the node at hand; nibbles beyond its depth are stale */
  readonly #path = new Uint8Array(MAX_PATH_NIBBLES);

  constructor(reader: TrieNodeReader, owner: Uint8Array | undefined, changes: readonly TrieChange[]) {
    this.#reader = reader;
    this.#owner = owner;
    this.#changes = changes;
  }

  run(root: Uint8Array): TrieUpdate {
    const before = equalBytes(root, EMPTY_TRIE_ROOT) ? undefined : this.#read(root, 0);
    const after = this.#apply(before, 0, this.#changes.length, 0);
    if (after === undefined) return { root: EMPTY_TRIE_ROOT, nodes: this.#nodes };
    if (!after.changed) return { root, nodes: this.#nodes };
    return { root: keccak256(this.#encode(after, 0)), nodes: this.#nodes };
  }

  /** Number of nibbles of the key of a change. */
  #keyLength(index: number): number {
    return this.#changes[index]!.key.length * 2;
  }

  #read(hash: Uint8Array, depth: number): TrieNode {
    const path = this.#path.subarray(0, depth);
    const rlp = this.#reader.readNode(this.#owner, path, hash);
    if (rlp === undefined) {
      throw new CodedError<TrieErrorCode>("trie/missing-node", {
        owner: this.#owner === undefined ? "accounts" : bytesToHex(this.#owner),
        path: bytesToHex(path),
        hash: bytesToHex(hash),
      });
    }
    return decodeNode(rlp, 0, true);
  }

  /** The node that a reference at `at` of `rlp` stands for; `depth` is the node's. */
  #resolveRef(rlp: Uint8Array, at: number, depth: number): TrieNode {
    if (rlp[at] === 0xa0) return this.#read(rlp.subarray(at + 1, at + 33), depth);
    return decodeNode(rlp, at, false);
  }

  #resolve(child: Child, parentRlp: Uint8Array, depth: number): TrieNode {
    if (typeof child === "number") return this.#resolveRef(parentRlp, child, depth);
    if (child instanceof Uint8Array) return this.#resolveRef(child, 0, depth);
    return child;
  }

  /** Lists the row at the path of the node of `depth` as deleted, if there is one. */
  #forget(node: TrieNode, depth: number): void {
    if (node.stored) this.#nodes.push({ owner: this.#owner, path: this.#path.slice(0, depth), rlp: undefined });
  }

  /**
   * Applies the changes from `low` up to `high`, whose keys all begin with the path so far, to the node at that path.
   *
   * @returns the node in its place, with `changed` set where it must be encoded anew; undefined for none
   */
  #apply(node: TrieNode | undefined, low: number, high: number, depth: number): TrieNode | undefined {
    if (node === undefined) return this.#build(this.#insertions(low, high, undefined, depth), depth, false);
    switch (node.kind) {
      case "leaf":
        return this.#applyToLeaf(node, low, high, depth);
      case "extension":
        return this.#applyToExtension(node, low, high, depth);
      case "branch":
        return this.#applyToBranch(node, low, high, depth);
    }
  }

  #applyToLeaf(leaf: LeafNode, low: number, high: number, depth: number): TrieNode | undefined {
    const items = this.#insertions(low, high, leaf, depth);
    if (items.length === 0) {
      this.#forget(leaf, depth);
      return undefined;
    }
    const only = items[0]!;
    if (items.length === 1 && only.length - depth === leaf.to - leaf.from) {
      const shared = commonNibbles(only.bytes, only.base + depth, only.base + only.length, leaf.bytes, leaf.from, leaf.to);
      if (shared === leaf.to - leaf.from) {
        if (only.value !== leaf.value && !equalBytes(only.value, leaf.value)) {
          leaf.value = only.value;
          leaf.changed = true;
        }
        return leaf;
      }
    }
    return this.#build(items, depth, leaf.stored);
  }

  /** Insertions among the changes, and `leaf` unless a change replaces or deletes it, in the order of their keys. */
  #insertions(low: number, high: number, leaf: LeafNode | undefined, depth: number): Item[] {
    const items: Item[] = [];
    let pending: Item | undefined;
    if (leaf !== undefined) {
      const base = leaf.from - depth;
      pending = { bytes: leaf.bytes, base, length: leaf.to - base, value: leaf.value };
    }
    for (let i = low; i < high; i++) {
      const { key, value } = this.#changes[i]!;
      const length = key.length * 2;
      if (pending !== undefined) {
        const end = pending.base + pending.length;
        const at = depth + commonNibbles(key, depth, length, pending.bytes, pending.base + depth, end);
        if (at === length && at === pending.length) {
          pending = undefined;
        } else if (at === pending.length) {
          items.push(pending); // a prefix of the key comes first
          pending = undefined;
        } else if (at < length && nibbleAt(pending.bytes, pending.base + at) < nibbleAt(key, at)) {
          items.push(pending);
          pending = undefined;
        }
      }
      if (value !== undefined) items.push({ bytes: key, base: 0, length, value });
    }
    if (pending !== undefined) items.push(pending);
    return items;
  }

  /** The subtree of `items`; `stored` tells whether its root takes the place of a stored node. */
  #build(items: readonly Item[], depth: number, stored: boolean): TrieNode | undefined {
    return items.length === 0 ? undefined : buildSubtree(items, 0, items.length, depth, stored);
  }

  #applyToExtension(node: ExtensionNode, low: number, high: number, depth: number): TrieNode | undefined {
    const { bytes, from, to } = node;
    const length = to - from;
    // Where the first insertion leaves the path; deletions that leave it find nothing to delete.
    let split = length;
    let first = high;
    let end = low;
    for (let i = low; i < high; i++) {
      const { key, value } = this.#changes[i]!;
      const shared = commonNibbles(key, depth, key.length * 2, bytes, from, to);
      if (shared < length && value === undefined) continue;
      if (shared < split) split = shared;
      if (first === high) first = i;
      end = i + 1;
    }
    if (first >= end) return node;
    for (let i = 0; i < split; i++) this.#path[depth + i] = nibbleAt(bytes, from + i);
    const childDepth = depth + split;

    if (split === length) {
      const child = this.#resolve(node.child, NO_RLP, childDepth);
      const after = this.#apply(child, first, end, childDepth);
      if (after === child && !child.changed) return node;
      return this.#prefix(node, node.to, after, depth, node.stored);
    }

    const children = new Array<Child>(16).fill(0);
    const rest = split + 1 === length ? node.child : new ExtensionNode(bytes, from + split + 1, to, node.child, true, false);
    children[nibbleAt(bytes, from + split)] = rest;
    const branch = new BranchNode(NO_RLP, children, undefined, true, split === 0 && node.stored);
    const after = this.#applyToBranch(branch, first, end, childDepth);
    return this.#prefix(node, from + split, after, depth, node.stored);
  }

  /**
   * Puts the nibbles `range.from` to `to` in front of `node`, merging with what it is.
   *
   * @param depth of the result; `stored` tells whether there is a row at its path
   */
  #prefix(
    range: { readonly bytes: Uint8Array; readonly from: number },
    to: number,
    node: TrieNode | undefined,
    depth: number,
    stored: boolean,
  ): TrieNode | undefined {
    const { bytes, from } = range;
    if (from === to) return node;
    if (node === undefined) {
      if (stored) this.#nodes.push({ owner: this.#owner, path: this.#path.slice(0, depth), rlp: undefined });
      return undefined;
    }
    if (node.kind === "branch") return new ExtensionNode(bytes, from, to, node, true, stored);
    this.#forget(node, depth + to - from);
    const path = joinNibbles({ bytes, from, to }, node);
    if (node.kind === "leaf") return new LeafNode(path.bytes, path.from, path.to, node.value, true, stored);
    return new ExtensionNode(path.bytes, path.from, path.to, node.child, true, stored);
  }

  #applyToBranch(node: BranchNode, low: number, high: number, depth: number): TrieNode | undefined {
    let at = low;
    if (this.#keyLength(at) === depth) {
      const { value } = this.#changes[at]!;
      if (value !== node.value && !(value !== undefined && node.value !== undefined && equalBytes(value, node.value))) {
        node.value = value;
        node.changed = true;
      }
      at++;
    }
    while (at < high) {
      const nibble = nibbleAt(this.#changes[at]!.key, depth);
      const groupStart = at;
      do at++;
      while (at < high && nibbleAt(this.#changes[at]!.key, depth) === nibble);
      this.#path[depth] = nibble;
      const child = node.children[nibble]!;
      const before = child === 0 ? undefined : this.#resolve(child, node.rlp, depth + 1);
      const after = this.#apply(before, groupStart, at, depth + 1);
      if (after === before && !after?.changed) continue;
      node.children[nibble] = after ?? 0;
      node.changed = true;
    }
    return node.changed ? this.#collapse(node, depth) : node;
  }

  /** What a branch becomes when less than two things are left in it. */
  #collapse(node: BranchNode, depth: number): TrieNode | undefined {
    let nibble = -1;
    for (let i = 0; i < 16; i++) {
      if (node.children[i] === 0) continue;
      if (nibble >= 0 || node.value !== undefined) return node;
      nibble = i;
    }
    if (nibble < 0) {
      if (node.value !== undefined) return new LeafNode(NO_RLP, 0, 0, node.value, true, node.stored);
      this.#forget(node, depth);
      return undefined;
    }
    this.#path[depth] = nibble;
    const child = node.children[nibble]!;
    const resolved = this.#resolve(child, node.rlp, depth + 1);
    if (resolved.kind === "branch" && !resolved.changed) {
      const ref = typeof child === "number" ? node.rlp.slice(child, child + refSizeAt(node.rlp, child)) : child;
      return new ExtensionNode(Uint8Array.of(nibble), 1, 2, ref, true, node.stored);
    }
    return this.#prefix({ bytes: Uint8Array.of(nibble), from: 1 }, 2, resolved, depth, node.stored);
  }

  /** RLP of the node at `depth`, after listing it and all changed nodes below it. */
  #encode(node: TrieNode, depth: number): Uint8Array {
    const rlp = this.#encodeKind(node, depth);
    if (rlp.length >= 32 || depth === 0) this.#nodes.push({ owner: this.#owner, path: this.#path.slice(0, depth), rlp });
    else this.#forget(node, depth); // now inside its parent
    return rlp;
  }

  #encodeKind(node: TrieNode, depth: number): Uint8Array {
    switch (node.kind) {
      case "leaf":
        return encodeLeaf(node.bytes, node.from, node.to, node.value);
      case "extension": {
        const { bytes, from, to } = node;
        for (let i = 0; i < to - from; i++) this.#path[depth + i] = nibbleAt(bytes, from + i);
        return encodeExtension(bytes, from, to, this.#childRef(node.child, NO_RLP, depth + to - from));
      }
      case "branch": {
        const refs = new Array<Uint8Array | undefined>(16);
        for (let i = 0; i < 16; i++) {
          const child = node.children[i]!;
          this.#path[depth] = i;
          refs[i] = child === 0 ? undefined : this.#childRef(child, node.rlp, depth + 1);
        }
        return encodeBranch(refs, node.value);
      }
    }
  }

  #childRef(child: Child, parentRlp: Uint8Array, depth: number): Uint8Array {
    if (typeof child === "number") return parentRlp.subarray(child, child + refSizeAt(parentRlp, child));
    if (child instanceof Uint8Array) return child;
    const rlp = this.#encode(child, depth);
    return rlp.length < 32 ? rlp : hashRef(keccak256(rlp));
  }
}

function buildSubtree(items: readonly Item[], low: number, high: number, depth: number, stored: boolean): TrieNode {
  const first = items[low]!;
  const last = items[high - 1]!;
  if (high - low === 1) {
    return new LeafNode(first.bytes, first.base + depth, first.base + first.length, first.value, true, stored);
  }
  const firstAt = first.base + depth;
  const shared = commonNibbles(
    first.bytes,
    firstAt,
    first.base + first.length,
    last.bytes,
    last.base + depth,
    last.base + last.length,
  );
  const branchDepth = depth + shared;
  const children = new Array<Child>(16).fill(0);
  const endsHere = first.length === branchDepth;
  let at = endsHere ? low + 1 : low;
  while (at < high) {
    const nibble = nibbleAt(items[at]!.bytes, items[at]!.base + branchDepth);
    const groupStart = at;
    do at++;
    while (at < high && nibbleAt(items[at]!.bytes, items[at]!.base + branchDepth) === nibble);
    children[nibble] = buildSubtree(items, groupStart, at, branchDepth + 1, false);
  }
  const branch = new BranchNode(NO_RLP, children, endsHere ? first.value : undefined, true, shared === 0 && stored);
  return shared === 0 ? branch : new ExtensionNode(first.bytes, firstAt, firstAt + shared, branch, true, stored);
}
