import { EMPTY_TRIE_ROOT, equalBytes, keccak256 } from "@rnode/primitives";
import { buildSubtree, mergeLeaves, type NewLeaf } from "./leaf-merging.ts";
import { BranchNode, decodeNode, ExtensionNode, joinNibbles, LeafNode, NO_RLP, refSizeAt, type TrieNode } from "./node.ts";
import { commonNibbles, nibbleAt } from "./node-codec.ts";
import { NodeEncoder } from "./node-encoder.ts";
import type { TrieNodeChange, TrieNodeReader } from "./node-reader.ts";
import { sortChanges, type TrieChange, type TrieUpdate } from "./trie-change.ts";
import { missingNode } from "./trie-errors.ts";

const MAX_PATH_NIBBLES = 512;

/**
 * Applies changes to the trie with `root`, and returns the new root and the changed nodes. Reads only nodes on the paths of
 * changed keys, and the remaining child of a collapsing branch. A branch collapses only if one child is left after all changes,
 * so a witness made for insertions before deletions is sufficient.
 *
 * @param owner of the trie, as in `TrieNodeReader`; passed to the reader and copied into `nodes`
 * @param changes in any order; of several with the same key, the last one counts
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

/** One update of one trie. It changes the decoded nodes in place. */
class TrieUpdater {
  readonly #reader: TrieNodeReader;
  readonly #owner: Uint8Array | undefined;
  readonly #changes: readonly TrieChange[];
  readonly #encoder: NodeEncoder;
  readonly #deletions: TrieNodeChange[] = [];
  /** path of the current node; nibbles beyond its depth are stale */
  readonly #path = new Uint8Array(MAX_PATH_NIBBLES);

  constructor(reader: TrieNodeReader, owner: Uint8Array | undefined, changes: readonly TrieChange[]) {
    this.#reader = reader;
    this.#owner = owner;
    this.#changes = changes;
    this.#encoder = new NodeEncoder(owner, this.#path);
  }

  run(root: Uint8Array): TrieUpdate {
    const before = equalBytes(root, EMPTY_TRIE_ROOT) ? undefined : this.#read(root, 0);
    const node = this.#apply(before, 0, this.#changes.length, 0);
    const rootAfter = node === undefined ? EMPTY_TRIE_ROOT : node.changed ? keccak256(this.#encoder.encode(node, 0)) : root;
    return { root: rootAfter, nodes: this.#encoder.listed(this.#deletions) };
  }

  /** Number of nibbles of a change's key. */
  #keyLength(index: number): number {
    return this.#changes[index]!.key.length * 2;
  }

  #read(hash: Uint8Array, depth: number): TrieNode {
    const path = this.#path.subarray(0, depth);
    const rlp = this.#reader.readNode(this.#owner, path, hash);
    if (rlp === undefined) throw missingNode(this.#owner, path, hash);
    return decodeNode(rlp, 0, true);
  }

  /** The node of the reference at `at` of `rlp`; `depth` is the depth of that node. */
  #resolveRef(rlp: Uint8Array, at: number, depth: number): TrieNode {
    if (rlp[at] === 0xa0) return this.#read(rlp.subarray(at + 1, at + 33), depth);
    return decodeNode(rlp, at, false);
  }

  /** The child of a branch; `undefined`: none. */
  #childOf(node: BranchNode, nibble: number, depth: number): TrieNode | undefined {
    const kept = node.nodes?.[nibble];
    if (kept === undefined) {
      const at = node.at[nibble]!;
      return at === 0 ? undefined : this.#resolveRef(node.rlp, at, depth);
    }
    return kept instanceof Uint8Array ? this.#resolveRef(kept, 0, depth) : kept;
  }

  /** If the database has a row at the path of the node at `depth`, lists it as deleted. */
  #forget(node: TrieNode, depth: number): void {
    this.#forgetRow(node.row, depth);
    node.row = undefined;
  }

  #forgetRow(row: Uint8Array | undefined, depth: number): void {
    if (row === undefined) return;
    this.#deletions.push({ owner: this.#owner, path: this.#path.slice(0, depth), rlp: undefined, before: row });
  }

  /**
   * Applies the changes from `low` up to `high`, whose keys all begin with the current path, to the node at that path.
   *
   * @returns the node that replaces it, with `changed` set if it must be encoded again; `undefined`: none
   */
  #apply(node: TrieNode | undefined, low: number, high: number, depth: number): TrieNode | undefined {
    if (node === undefined) return this.#build(this.#leavesOf(low, high, undefined, depth), depth, undefined);
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
    if (high - low === 1 && this.#isKeyOf(leaf, this.#changes[low]!.key, depth)) return this.#replace(leaf, low, depth);
    const items = this.#leavesOf(low, high, leaf, depth);
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
    return this.#build(items, depth, leaf.row);
  }

  #isKeyOf(leaf: LeafNode, key: Uint8Array, depth: number): boolean {
    const { bytes, from, to } = leaf;
    if (key.length * 2 - depth !== to - from) return false;
    for (let i = to - 1, j = key.length * 2 - 1; i >= from; i--, j--) if (nibbleAt(bytes, i) !== nibbleAt(key, j)) return false;
    return true;
  }

  /** PERF: a single change of an existing leaf, by far the most frequent case. */
  #replace(leaf: LeafNode, index: number, depth: number): LeafNode | undefined {
    const { value, merge } = this.#changes[index]!;
    if (value === undefined) {
      this.#forget(leaf, depth);
      return undefined;
    }
    const after = merge === undefined ? value : merge(value, leaf.value);
    if (!equalBytes(after, leaf.value)) {
      leaf.value = after;
      leaf.changed = true;
    }
    return leaf;
  }

  #leavesOf(low: number, high: number, leaf: LeafNode | undefined, depth: number): NewLeaf[] {
    return mergeLeaves(this.#changes, low, high, leaf, depth);
  }

  /** The subtree of `items`; `row` is the database's row at its root's path. */
  #build(items: readonly NewLeaf[], depth: number, row: Uint8Array | undefined): TrieNode | undefined {
    return items.length === 0 ? undefined : buildSubtree(items, 0, items.length, depth, row);
  }

  #applyToExtension(node: ExtensionNode, low: number, high: number, depth: number): TrieNode | undefined {
    const { bytes, from, to } = node;
    const length = to - from;
    // The depth at which the first insertion leaves the path. Deletions that leave the path have no effect.
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
      const child = node.child instanceof Uint8Array ? this.#resolveRef(node.child, 0, childDepth) : node.child;
      const after = this.#apply(child, first, end, childDepth);
      if (after === child) {
        node.child = child;
        if (child.changed) node.changed = true;
        return node;
      }
      return this.#prefix(node, node.to, after, depth, node.row);
    }

    const rest = node.child;
    if (!(rest instanceof Uint8Array)) rest.changed = true; // stays in memory, and is encoded again for its reference
    const branch = BranchNode.empty(undefined, split === 0 ? node.row : undefined);
    branch.set(
      nibbleAt(bytes, from + split),
      split + 1 === length ? rest : new ExtensionNode(bytes, from + split + 1, to, rest, true, undefined),
    );
    const after = this.#applyToBranch(branch, first, end, childDepth);
    return this.#prefix(node, from + split, after, depth, node.row);
  }

  /**
   * Puts the nibbles `range.from` to `to` before `node`, and merges paths if possible.
   *
   * @param depth depth of the result
   * @param row the database's row at its path
   */
  #prefix(
    range: { readonly bytes: Uint8Array; readonly from: number },
    to: number,
    node: TrieNode | undefined,
    depth: number,
    row: Uint8Array | undefined,
  ): TrieNode | undefined {
    const { bytes, from } = range;
    if (from === to) return node;
    if (node === undefined) {
      this.#forgetRow(row, depth);
      return undefined;
    }
    if (node.kind === "branch") return new ExtensionNode(bytes, from, to, node, true, row);
    this.#forget(node, depth + to - from);
    const path = joinNibbles({ bytes, from, to }, node);
    if (node.kind === "leaf") return new LeafNode(path.bytes, path.from, path.to, node.value, true, row);
    const joined = new ExtensionNode(path.bytes, path.from, path.to, node.child, true, row);
    joined.ref = node.ref;
    return joined;
  }

  #applyToBranch(node: BranchNode, low: number, high: number, depth: number): TrieNode | undefined {
    let at = low;
    if (this.#keyLength(at) === depth) {
      const { value } = this.#changes[at]!;
      if (value !== node.value && !(value !== undefined && node.value !== undefined && equalBytes(value, node.value))) {
        node.value = value;
        node.changed = true;
        node.reshaped = true;
      }
      at++;
    }
    while (at < high) {
      const nibble = nibbleAt(this.#changes[at]!.key, depth);
      const groupStart = at;
      do at++;
      while (at < high && nibbleAt(this.#changes[at]!.key, depth) === nibble);
      this.#path[depth] = nibble;
      const before = this.#childOf(node, nibble, depth + 1);
      const after = this.#apply(before, groupStart, at, depth + 1);
      if (after === before) {
        if (after === undefined) continue;
        // A reference that is not in the RLP is kept as long as it is valid.
        if (!after.changed) continue;
        node.keep(nibble, after);
        node.changed = true;
      } else {
        node.set(nibble, after);
        node.changed = true;
      }
    }
    return node.changed ? this.#collapse(node, depth) : node;
  }

  /** Replaces a branch with fewer than two children or values. */
  #collapse(node: BranchNode, depth: number): TrieNode | undefined {
    let nibble = -1;
    for (let i = 0; i < 16; i++) {
      if (!node.has(i)) continue;
      if (nibble >= 0 || node.value !== undefined) return node;
      nibble = i;
    }
    if (nibble < 0) {
      if (node.value !== undefined) return new LeafNode(NO_RLP, 0, 0, node.value, true, node.row);
      this.#forget(node, depth);
      return undefined;
    }
    this.#path[depth] = nibble;
    const at = node.at[nibble]!;
    const kept = node.nodes?.[nibble];
    const resolved = this.#childOf(node, nibble, depth + 1)!;
    if (resolved.kind === "branch" && !resolved.changed) {
      const child = kept ?? node.rlp.slice(at, at + refSizeAt(node.rlp, at));
      if (!(child instanceof Uint8Array)) child.changed = true; // as in a split extension
      return new ExtensionNode(Uint8Array.of(nibble), 1, 2, child, true, node.row);
    }
    return this.#prefix({ bytes: Uint8Array.of(nibble), from: 1 }, 2, resolved, depth, node.row);
  }
}
