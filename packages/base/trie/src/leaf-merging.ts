import { BranchNode, ExtensionNode, LeafNode, type TrieNode } from "./node.ts";
import { commonNibbles, nibbleAt } from "./node-codec.ts";
import type { TrieChange } from "./trie-change.ts";

/** A leaf to be inserted: nibble i of its key, counted from the trie's root, is nibble `base + i` of `bytes`. */
export interface NewLeaf {
  readonly bytes: Uint8Array;
  readonly base: number;
  /** number of nibbles of the key */
  readonly length: number;
  readonly value: Uint8Array;
}

/**
 * The leaves to be inserted below one path: those of the changes from `low` up to `high`, and `leaf` unless a change replaces or
 * deletes it.
 *
 * @param depth number of nibbles of that path, with which all keys begin
 * @returns the leaves in the order of their keys
 */
export function mergeLeaves(
  changes: readonly TrieChange[],
  low: number,
  high: number,
  leaf: LeafNode | undefined,
  depth: number,
): NewLeaf[] {
  const items: NewLeaf[] = [];
  let pending: NewLeaf | undefined;
  if (leaf !== undefined) {
    const base = leaf.from - depth;
    pending = { bytes: leaf.bytes, base, length: leaf.to - base, value: leaf.value };
  }
  for (let i = low; i < high; i++) {
    const { key, value: given, merge } = changes[i]!;
    let value = given;
    const length = key.length * 2;
    if (pending !== undefined) {
      const end = pending.base + pending.length;
      const at = depth + commonNibbles(key, depth, length, pending.bytes, pending.base + depth, end);
      if (at === length && at === pending.length) {
        if (value !== undefined && merge !== undefined) value = merge(value, pending.value);
        pending = undefined;
      } else if (at === pending.length) {
        items.push(pending); // a key comes after its prefix
        pending = undefined;
      } else if (at < length && nibbleAt(pending.bytes, pending.base + at) < nibbleAt(key, at)) {
        items.push(pending);
        pending = undefined;
      }
    }
    if (value === undefined) continue;
    items.push({ bytes: key, base: 0, length, value });
  }
  if (pending !== undefined) items.push(pending);
  return items;
}

/**
 * The subtree of the leaves from `low` up to `high`.
 *
 * @param depth number of nibbles of its root's path
 * @param row the database's row at that path
 */
export function buildSubtree(
  leaves: readonly NewLeaf[],
  low: number,
  high: number,
  depth: number,
  row: Uint8Array | undefined,
): TrieNode {
  const first = leaves[low]!;
  const last = leaves[high - 1]!;
  if (high - low === 1) {
    return new LeafNode(first.bytes, first.base + depth, first.base + first.length, first.value, true, row);
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
  const endsHere = first.length === branchDepth;
  const branch = BranchNode.empty(endsHere ? first.value : undefined, shared === 0 ? row : undefined);
  let at = endsHere ? low + 1 : low;
  while (at < high) {
    const nibble = nibbleAt(leaves[at]!.bytes, leaves[at]!.base + branchDepth);
    const groupStart = at;
    do at++;
    while (at < high && nibbleAt(leaves[at]!.bytes, leaves[at]!.base + branchDepth) === nibble);
    branch.set(nibble, buildSubtree(leaves, groupStart, at, branchDepth + 1, undefined));
  }
  return shared === 0 ? branch : new ExtensionNode(first.bytes, firstAt, firstAt + shared, branch, true, row);
}
