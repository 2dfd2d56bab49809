/**
 * Applies sorted changes to a trie in one pass. All insertions and deletions below a branch are applied before the decision
 * whether the branch collapses, as in src/update-trie.ts, which reads the same nodes and lists the same changes.
 */
import { CODE_HASH_AND_ROOT, ROOT_FROM_END } from "./account";
import { C_KEEPS_ROOT, C_KEY, C_VALUE, C_VALUE_SIZE, changeAt, changeCount } from "./changes";
import { listChanged, takeHash } from "./encode";
import { hostBadNode, hostReadNode } from "./host";
import { finishTrie, listDeletion, startTrie } from "./listing";
import { allocate, copyBytes, ITEMS, reserve } from "./memory";
import { appendNibbles, commonNibbles, follow, isTailOf, KEY_BYTES, KEY_NIBBLES, nibbleAt, PATH } from "./nibbles";
import {
  BRANCH,
  childAt,
  decodeNode,
  dispose,
  E_CHILD,
  E_REF,
  EXTENSION,
  HASH_REF,
  keepChild,
  L_FROM,
  L_TO,
  L_VALUE,
  L_VALUE_SIZE,
  LEAF,
  markDirty,
  moveRow,
  N_CHANGED,
  N_KIND,
  N_RLP,
  N_ROW,
  N_ROW_SIZE,
  N_USED,
  newBranch,
  newExtension,
  newLeaf,
  refAt,
  refSize,
  setChild,
  setLeafValue,
  setRefAt,
  setRlp,
} from "./node";

// ---- a trie
@inline export const T_ROOT: u32 = 0; // hash, 32 bytes
@inline export const T_NODE: u32 = 32; // root node; 0: not in memory, or none
@inline export const T_OWNER: u32 = 36; // pointer to 32 bytes; 0: the account trie
@inline export const T_CHANGED: u32 = 40; // u32: T_ROOT is not yet the hash of the root node

/** Root of the empty trie. */
export const EMPTY_ROOT: u32 = <u32>(
  memory.data<u8>(
    [
      0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e, 0x5b, 0x48, 0xe0, 0x1b, 0x99,
      0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
    ],
    16,
  )
);

/** Size of the buffer of `hostReadNode`. */
@inline export const ROW_BUFFER_SIZE: u32 = 1024;
export const ROW_BUFFER: u32 = <u32>memory.data(1024, 16);

/** One nibble, as a range from 1 to 2 */
const NIBBLE: u32 = <u32>memory.data(16, 16);
/** Two joined paths */
const JOINED: u32 = <u32>memory.data(48, 16);

/** The trie that is being updated or read, and the number of the update. */
let owner: u32 = 0;
let pass: u32 = 0;
/** The key that nodes are read for; 0: none. */
let target: u32 = 0;

export function isSameHash(a: u32, b: u32): bool {
  return (
    ((load<u64>(a) ^ load<u64>(b)) |
      (load<u64>(a, 8) ^ load<u64>(b, 8)) |
      (load<u64>(a, 16) ^ load<u64>(b, 16)) |
      (load<u64>(a, 24) ^ load<u64>(b, 24))) ==
    0
  );
}

// ---- nodes that are not in memory

function readRow(hash: u32, depth: i32): u32 {
  return decodeNode(ROW_BUFFER, hostReadNode(owner, depth, hash, target), depth, true);
}

/** The node at `depth` of the reference at `ref`. */
function resolve(ref: u32, depth: i32): u32 {
  if (load<u8>(ref) == HASH_REF) return readRow(ref + 1, depth);
  return decodeNode(ref, refSize(ref), depth, false);
}

/** The child of a branch; 0: none. */
function childOf(branch: u32, nibble: u32, depth: i32): u32 {
  const child = childAt(branch, nibble);
  if (child != 0) return child;
  const at = refAt(branch, nibble);
  return at == 0 ? 0 : resolve(load<u32>(branch, N_RLP) + at, depth);
}

function childOfExtension(extension: u32, depth: i32): u32 {
  const child = load<u32>(extension, E_CHILD);
  return child != 0 ? child : resolve(load<u32>(extension, N_RLP) + load<u16>(extension, E_REF), depth);
}

function rootOf(trie: u32): u32 {
  const node = load<u32>(trie, T_NODE);
  return node != 0 || isSameHash(trie + T_ROOT, EMPTY_ROOT) ? node : readRow(trie + T_ROOT, 0);
}

// ---- leaves to be inserted: u32 pointer to bytes, i32 base, u32 pointer to the value, u32 its size. Nibble i of the key is nibble base + i of the bytes

@inline const ITEM_SIZE: u32 = 16;
let items: u32 = 0;
let itemCount: i32 = 0;

@inline function itemAt(index: i32): u32 {
  return items + <u32>index * ITEM_SIZE;
}

function addItem(bytes: u32, base: i32, value: u32, size: u32): void {
  const item = itemAt(itemCount++);
  store<u32>(item, bytes);
  store<i32>(item, base, 4);
  store<u32>(item, value, 8);
  store<u32>(item, size, 12);
}

@inline function nibbleOfItem(index: i32, depth: i32): u32 {
  const item = itemAt(index);
  return nibbleAt(load<u32>(item), load<i32>(item, 4) + depth);
}

/** The value of a change to an existing leaf. */
function mergeValue(change: u32, present: u32, presentSize: u32): void {
  if (load<u32>(change, C_KEEPS_ROOT) == 0) return;
  if (presentSize < CODE_HASH_AND_ROOT) badAccount();
  const to = load<u32>(change, C_VALUE) + load<u32>(change, C_VALUE_SIZE) - ROOT_FROM_END;
  copyBytes(to, present + presentSize - ROOT_FROM_END, 32);
}

function badAccount(): void {
  hostBadNode();
  unreachable();
}

/** Collects the leaves of the changes from `low` up to `high`, and `leaf` (0: none) unless a change replaces or deletes it. */
function mergeLeaves(low: i32, high: i32, leaf: u32, depth: i32): void {
  items = reserve(ITEMS, <u32>(high - low + 1) * ITEM_SIZE, 0);
  itemCount = 0;
  let isPending = leaf != 0;
  let bytes: u32 = 0;
  let base = 0;
  let leafValue: u32 = 0;
  let leafValueSize: u32 = 0;
  if (isPending) {
    bytes = load<u32>(leaf, N_RLP);
    base = <i32>load<u16>(leaf, L_FROM) - depth;
    leafValue = bytes + load<u16>(leaf, L_VALUE);
    leafValueSize = load<u16>(leaf, L_VALUE_SIZE);
  }
  for (let i = low; i < high; i++) {
    const change = changeAt(i);
    const value = load<u32>(change, C_VALUE);
    if (isPending) {
      const at = depth + commonNibbles(change, depth, bytes, base + depth, KEY_NIBBLES - depth);
      if (at == KEY_NIBBLES) {
        if (value != 0) mergeValue(change, leafValue, leafValueSize);
        isPending = false;
      } else if (nibbleAt(bytes, base + at) < nibbleAt(change, at)) {
        addItem(bytes, base, leafValue, leafValueSize);
        isPending = false;
      }
    }
    if (value != 0) addItem(change + C_KEY, 0, value, load<u32>(change, C_VALUE_SIZE));
  }
  if (isPending) addItem(bytes, base, leafValue, leafValueSize);
}

/** The subtree of the items from `low` up to `high`, at least one; `depth` is that of its root. */
function build(low: i32, high: i32, depth: i32): u32 {
  const first = itemAt(low);
  const bytes = load<u32>(first);
  const base = load<i32>(first, 4);
  if (high - low == 1) return newLeaf(bytes, base + depth, base + KEY_NIBBLES, load<u32>(first, 8), load<u32>(first, 12));
  const last = itemAt(high - 1);
  const shared = commonNibbles(bytes, base + depth, load<u32>(last), load<i32>(last, 4) + depth, KEY_NIBBLES - depth);
  const branchDepth = depth + shared;
  const branch = newBranch();
  for (let at = low; at < high; ) {
    const nibble = nibbleOfItem(at, branchDepth);
    const start = at;
    do at++;
    while (at < high && nibbleOfItem(at, branchDepth) == nibble);
    setChild(branch, nibble, build(start, at, branchDepth + 1));
  }
  return shared == 0 ? branch : newExtension(bytes, base + depth, base + branchDepth, branch, 0);
}

// ---- changing nodes. Each function releases its argument if it returns another node

/** Lists the row of the node at `depth`, if there is one, as deleted. */
function forgetRow(node: u32, depth: i32): void {
  const row = load<u32>(node, N_ROW);
  if (row != 0) listDeletion(depth, row, load<u32>(node, N_ROW_SIZE));
}

/** Removes the node. */
function remove(node: u32, depth: i32): u32 {
  forgetRow(node, depth);
  dispose(node);
  return 0;
}

/** Replaces a node at the same path. */
function replace(node: u32, other: u32): u32 {
  moveRow(node, other);
  dispose(node);
  return other;
}

/**
 * Applies the changes from `low` up to `high`, whose keys all begin with the current path, to the node (0: none) at that path.
 *
 * @returns the node that replaces it, with N_CHANGED set if it must be encoded again; 0: none
 */
function apply(node: u32, low: i32, high: i32, depth: i32): u32 {
  if (node == 0) {
    mergeLeaves(low, high, 0, depth);
    return itemCount == 0 ? 0 : build(0, itemCount, depth);
  }
  store<u32>(node, pass, N_USED);
  const kind = load<u8>(node, N_KIND);
  if (kind == LEAF) return applyToLeaf(node, low, high, depth);
  return kind == BRANCH ? applyToBranch(node, low, high, depth) : applyToExtension(node, low, high, depth);
}

function applyToLeaf(leaf: u32, low: i32, high: i32, depth: i32): u32 {
  const rlp = load<u32>(leaf, N_RLP);
  const to = <i32>load<u16>(leaf, L_TO);
  // PERF: a single change of an existing leaf is by far the most frequent case.
  if (high - low == 1 && isTailOf(rlp, to, changeAt(low), depth)) return changeLeaf(leaf, changeAt(low), depth);
  mergeLeaves(low, high, leaf, depth);
  if (itemCount == 0) return remove(leaf, depth);
  if (itemCount == 1) {
    const item = itemAt(0);
    if (load<u32>(item) == rlp) return leaf;
    if (isTailOf(rlp, to, load<u32>(item), depth)) {
      setValue(leaf, load<u32>(item, 8), load<u32>(item, 12));
      return leaf;
    }
  }
  return replace(leaf, build(0, itemCount, depth));
}

function changeLeaf(leaf: u32, change: u32, depth: i32): u32 {
  const value = load<u32>(change, C_VALUE);
  if (value == 0) return remove(leaf, depth);
  mergeValue(change, load<u32>(leaf, N_RLP) + load<u16>(leaf, L_VALUE), load<u16>(leaf, L_VALUE_SIZE));
  setValue(leaf, value, load<u32>(change, C_VALUE_SIZE));
  return leaf;
}

/** Changes the value of a leaf, unless it is the same. */
function setValue(leaf: u32, value: u32, size: u32): void {
  if (size == load<u16>(leaf, L_VALUE_SIZE)) {
    const present = load<u32>(leaf, N_RLP) + load<u16>(leaf, L_VALUE);
    let i: u32 = 0;
    while (i < size && load<u8>(present + i) == load<u8>(value + i)) i++;
    if (i == size) return;
  }
  setLeafValue(leaf, value, size);
}

function applyToExtension(node: u32, low: i32, high: i32, depth: i32): u32 {
  const bytes = load<u32>(node, N_RLP);
  const from = <i32>load<u16>(node, L_FROM);
  const to = <i32>load<u16>(node, L_TO);
  const length = to - from;
  // The depth at which the first insertion leaves the path. Deletions that leave the path have no effect.
  let split = length;
  let first = high;
  let end = low;
  for (let i = low; i < high; i++) {
    const change = changeAt(i);
    const shared = commonNibbles(change, depth, bytes, from, length);
    if (shared < length && load<u32>(change, C_VALUE) == 0) continue;
    if (shared < split) split = shared;
    if (first == high) first = i;
    end = i + 1;
  }
  if (first >= end) return node;
  follow(depth, bytes, from, from + split);
  if (split == length) {
    target = changeAt(first) + C_KEY;
    const child = childOfExtension(node, depth + length);
    const after = apply(child, first, end, depth + length);
    if (after == child) {
      store<u32>(node, child, E_CHILD);
      if (load<u8>(child, N_CHANGED) != 0) store<u8>(node, 1, N_CHANGED);
      return node;
    }
    return replaceByPrefixed(node, bytes, from, to, after, depth);
  }
  const rest = load<u32>(node, E_CHILD);
  const ref = bytes + load<u16>(node, E_REF);
  if (rest != 0) store<u8>(rest, 1, N_CHANGED); // it is encoded again for its reference
  const branch = newBranch();
  const nibble = nibbleAt(bytes, from + split);
  if (split + 1 < length) setChild(branch, nibble, newExtension(bytes, from + split + 1, to, rest, rest == 0 ? ref : 0));
  else if (rest != 0) setChild(branch, nibble, rest);
  else setOnlyRef(branch, nibble, ref);
  if (split == 0) moveRow(node, branch);
  store<u32>(branch, pass, N_USED);
  const after = applyToBranch(branch, first, end, depth + split);
  if (split > 0) return replaceByPrefixed(node, bytes, from, from + split, after, depth);
  dispose(node);
  return after;
}

/** Makes a child that is not in memory the first one of a new branch. */
function setOnlyRef(branch: u32, nibble: u32, ref: u32): void {
  const size = refSize(ref);
  const block = allocate(1 + size); // at 1, because position 0 means none
  copyBytes(block + 1, ref, size);
  setRlp(branch, block, 1 + size);
  setRefAt(branch, nibble, 1);
}

/**
 * The replacement of `node`: the nibbles `from` to `to` of `bytes` before `after`, which is changed. The paths are merged.
 *
 * @param after 0: nothing is left
 */
function replaceByPrefixed(node: u32, bytes: u32, from: i32, to: i32, after: u32, depth: i32): u32 {
  if (after == 0) return remove(node, depth);
  const kind = load<u8>(after, N_KIND);
  if (kind == BRANCH) return replace(node, newExtension(bytes, from, to, after, 0));
  forgetRow(after, depth + to - from);
  const rlp = load<u32>(after, N_RLP);
  const innerFrom = <i32>load<u16>(after, L_FROM);
  const innerTo = <i32>load<u16>(after, L_TO);
  const length = to - from + innerTo - innerFrom;
  appendNibbles(JOINED, 0, bytes, from, to);
  appendNibbles(JOINED, to - from, rlp, innerFrom, innerTo);
  const joined =
    kind == LEAF
      ? newLeaf(JOINED, 0, length, rlp + load<u16>(after, L_VALUE), load<u16>(after, L_VALUE_SIZE))
      : newExtension(JOINED, 0, length, load<u32>(after, E_CHILD), rlp + load<u16>(after, E_REF));
  dispose(after);
  return replace(node, joined);
}

function applyToBranch(node: u32, low: i32, high: i32, depth: i32): u32 {
  for (let at = low; at < high; ) {
    const nibble = nibbleAt(changeAt(at), depth);
    const start = at;
    do at++;
    while (at < high && nibbleAt(changeAt(at), depth) == nibble);
    store<u8>(PATH + depth, <u8>nibble);
    target = changeAt(start) + C_KEY;
    const before = childOf(node, nibble, depth + 1);
    const after = apply(before, start, at, depth + 1);
    if (after == before) {
      if (after == 0) continue;
      keepChild(node, nibble, after);
      if (load<u8>(after, N_CHANGED) == 0) continue;
      markDirty(node, nibble);
    } else {
      setChild(node, nibble, after);
    }
    store<u8>(node, 1, N_CHANGED);
  }
  return load<u8>(node, N_CHANGED) == 0 ? node : collapse(node, depth);
}

/** Replaces a branch with fewer than two children. */
function collapse(node: u32, depth: i32): u32 {
  let nibble: i32 = -1;
  for (let i = 0; i < 16; i++) {
    if (refAt(node, i) == 0 && childAt(node, i) == 0) continue;
    if (nibble >= 0) return node;
    nibble = i;
  }
  if (nibble < 0) return remove(node, depth);
  store<u8>(PATH + depth, <u8>nibble);
  store<u8>(NIBBLE, <u8>nibble);
  const kept = childAt(node, nibble);
  target = 0;
  const child = childOf(node, nibble, depth + 1);
  if (load<u8>(child, N_KIND) != BRANCH || load<u8>(child, N_CHANGED) != 0)
    return replaceByPrefixed(node, NIBBLE, 1, 2, child, depth);
  if (kept != 0) {
    store<u8>(kept, 1, N_CHANGED); // as in a split extension
    return replace(node, newExtension(NIBBLE, 1, 2, kept, 0));
  }
  dispose(child);
  return replace(node, newExtension(NIBBLE, 1, 2, 0, load<u32>(node, N_RLP) + refAt(node, nibble)));
}

// ---- tries

/** Applies the last sorted changes, and lists the nodes. Call `encodeListed` and `finishRoot` afterwards. */
export function updateTrie(trie: u32, number: u32): void {
  if (changeCount == 0) return;
  owner = load<u32>(trie, T_OWNER);
  pass = number;
  startTrie(owner);
  target = changeAt(0) + C_KEY;
  const node = apply(rootOf(trie), 0, changeCount, 0);
  store<u32>(trie, node, T_NODE);
  if (node == 0) {
    copyBytes(trie + T_ROOT, EMPTY_ROOT, KEY_BYTES);
  } else if (load<u8>(node, N_CHANGED) != 0) {
    listChanged(node, 0, pass);
    store<u32>(trie, 1, T_CHANGED);
  }
  finishTrie();
}

/** Sets T_ROOT to the new root. */
export function finishRoot(trie: u32): void {
  if (load<u32>(trie, T_CHANGED) == 0) return;
  takeHash(load<u32>(trie, T_NODE), trie + T_ROOT, pass);
  store<u32>(trie, 0, T_CHANGED);
}

/** The leaf of a key; 0: none. The read nodes stay in memory. */
export function findLeaf(trie: u32, key: u32, number: u32): u32 {
  owner = load<u32>(trie, T_OWNER);
  target = key;
  let node = rootOf(trie);
  store<u32>(trie, node, T_NODE);
  for (let depth = 0; node != 0; ) {
    store<u32>(node, number, N_USED);
    const kind = load<u8>(node, N_KIND);
    if (kind == LEAF) return isTailOf(load<u32>(node, N_RLP), load<u16>(node, L_TO), key, depth) ? node : 0;
    if (kind == EXTENSION) {
      const bytes = load<u32>(node, N_RLP);
      const from = <i32>load<u16>(node, L_FROM);
      const length = <i32>load<u16>(node, L_TO) - from;
      if (commonNibbles(key, depth, bytes, from, length) < length) return 0;
      follow(depth, bytes, from, from + length);
      depth += length;
      const child = childOfExtension(node, depth);
      store<u32>(node, child, E_CHILD);
      node = child;
    } else {
      const nibble = nibbleAt(key, depth);
      store<u8>(PATH + depth, <u8>nibble);
      depth++;
      const child = childOf(node, nibble, depth);
      if (child != 0) keepChild(node, nibble, child);
      node = child;
    }
  }
  return 0;
}
