/**
 * Nodes in memory: a cell each, and a block with the node's RLP. A leaf or extension is encoded when it is created, because its
 * path is stored only there. A branch is encoded after all changes of an update.
 *
 *  Node: leaf      [hexPrefix(path, leaf), value]
 *        extension [hexPrefix(path), child]
 *        branch    [child × 16, empty]
 *  Child: the node's RLP itself if it is below 32 bytes, otherwise the string of its keccak256.
 *
 * All keys have 32 bytes, so no branch has a value. Spec: Yellow Paper, appendices C (hex-prefix) and D (trie).
 */
import { hostBadNode } from "./host";
import { allocate, copyBytes, MAX_BLOCK, release } from "./memory";
import { appendNibbles, KEY_NIBBLES, nibbleAt } from "./nibbles";

@inline export const LEAF: u32 = 0;
@inline export const EXTENSION: u32 = 1;
@inline export const BRANCH: u32 = 2;

@inline export const N_KIND: u32 = 0; // u8
@inline export const N_CHANGED: u32 = 1; // u8: it must be encoded (branch) and hashed again; references to it are stale
@inline export const N_USED: u32 = 4; // the last pass that visited it
@inline export const N_MESSAGE: u32 = 4; // from its encoding until its parent's: the message number for `writeHash`
@inline export const N_RLP: u32 = 8; // block; in a changed node: the source of its children's references. 0: none yet
@inline export const N_SIZE: u32 = 12;
@inline export const N_ROW: u32 = 16; // block with the database's row at its path; 0: no row. It can be the block of N_RLP
@inline export const N_ROW_SIZE: u32 = 20;

// ---- leaf: positions in its RLP
@inline export const L_FROM: u32 = 24; // u16: nibbles of the path
@inline export const L_TO: u32 = 26; // u16
@inline export const L_VALUE: u32 = 28; // u16
@inline export const L_VALUE_SIZE: u32 = 30; // u16
@inline const LEAF_SIZE: u32 = 32;

// ---- extension: the path as in a leaf
@inline export const E_REF: u32 = 28; // u16: position of the reference, which is valid unless the child is changed
@inline export const E_CHILD: u32 = 32; // node; 0: not in memory
@inline const EXTENSION_SIZE: u32 = 48;

// ---- branch
@inline export const B_DIRTY: u32 = 24; // u32: bit i: child i is changed
@inline export const B_RESHAPED: u32 = 28; // u8: children were added or removed since the last encoding
@inline export const B_CHILDREN: u32 = 32; // 16 × u32: nodes; 0: not in memory
@inline export const B_REFS: u32 = 96; // 16 × u16: positions of the references in its RLP; 0: none
@inline const BRANCH_SIZE: u32 = 128;

@inline export const HASH_REF: u32 = 0xa0;
@inline export const HASH_REF_SIZE: u32 = 33;

/** nodes in memory */
export let nodeCount: u32 = 0;

function newNode(kind: u32, size: u32): u32 {
  const node = allocate(size);
  for (let i: u32 = 0; i < size; i += 16) v128.store(node + i, v128.splat<i32>(0));
  store<u8>(node, <u8>kind, N_KIND);
  nodeCount++;
  return node;
}

/** Releases a node's cell and blocks. The blocks stay readable until the next update. */
export function dispose(node: u32): void {
  const rlp = load<u32>(node, N_RLP);
  const row = load<u32>(node, N_ROW);
  if (rlp != 0) release(rlp, load<u32>(node, N_SIZE));
  if (row != 0 && row != rlp) release(row, load<u32>(node, N_ROW_SIZE));
  const kind = load<u8>(node, N_KIND);
  release(node, kind == LEAF ? LEAF_SIZE : kind == EXTENSION ? EXTENSION_SIZE : BRANCH_SIZE);
  nodeCount--;
}

/** Releases a node and all nodes below it. */
export function disposeTree(node: u32): void {
  const kind = load<u8>(node, N_KIND);
  if (kind == EXTENSION) {
    const child = load<u32>(node, E_CHILD);
    if (child != 0) disposeTree(child);
  } else if (kind == BRANCH) {
    for (let i: u32 = 0; i < 16; i++) {
      const child = childAt(node, i);
      if (child != 0) disposeTree(child);
    }
  }
  dispose(node);
}

/** Gives the row of `from` to `to`, which replaces it at the same path. */
export function moveRow(from: u32, to: u32): void {
  const row = load<u32>(from, N_ROW);
  store<u32>(to, row, N_ROW);
  store<u32>(to, load<u32>(from, N_ROW_SIZE), N_ROW_SIZE);
  store<u32>(from, 0, N_ROW);
  if (load<u32>(from, N_RLP) == row) store<u32>(from, 0, N_RLP);
}

/** Replaces a node's RLP. The previous block is kept if it is the row. */
export function setRlp(node: u32, block: u32, size: u32): void {
  const old = load<u32>(node, N_RLP);
  if (old != 0 && old != load<u32>(node, N_ROW)) release(old, load<u32>(node, N_SIZE));
  store<u32>(node, block, N_RLP);
  store<u32>(node, size, N_SIZE);
}

// ---- branches

@inline export function childAt(branch: u32, nibble: u32): u32 {
  return load<u32>(branch + (nibble << 2), B_CHILDREN);
}

@inline export function keepChild(branch: u32, nibble: u32, child: u32): void {
  store<u32>(branch + (nibble << 2), child, B_CHILDREN);
}

@inline export function refAt(branch: u32, nibble: u32): u32 {
  return load<u16>(branch + (nibble << 1), B_REFS);
}

@inline export function setRefAt(branch: u32, nibble: u32, at: u32): void {
  store<u16>(branch + (nibble << 1), <u16>at, B_REFS);
}

/** Marks a child as changed. */
@inline export function markDirty(branch: u32, nibble: u32): void {
  store<u32>(branch, load<u32>(branch, B_DIRTY) | ((<u32>1) << nibble), B_DIRTY);
}

/** Sets a child to a changed node; 0 removes it. */
export function setChild(branch: u32, nibble: u32, child: u32): void {
  setRefAt(branch, nibble, 0);
  keepChild(branch, nibble, child);
  store<u8>(branch, 1, B_RESHAPED);
  if (child != 0) markDirty(branch, nibble);
  else store<u32>(branch, load<u32>(branch, B_DIRTY) & ~((<u32>1) << nibble), B_DIRTY);
}

/** An empty branch. */
export function newBranch(): u32 {
  const branch = newNode(BRANCH, BRANCH_SIZE);
  store<u8>(branch, 1, N_CHANGED);
  store<u8>(branch, 1, B_RESHAPED);
  return branch;
}

/**
 * Size of the reference at `ref`: a hash or an inline node. An inline node is below 32 bytes, so the header of its list is one
 * byte.
 */
@inline export function refSize(ref: u32): u32 {
  const prefix = <u32>load<u8>(ref);
  return prefix == HASH_REF ? HASH_REF_SIZE : prefix - 0xbf;
}

// ---- encoding

@inline function headerSize(length: u32): u32 {
  return length < 56 ? 1 : length < 0x100 ? 2 : 3;
}

/** Writes the header of a list. @returns the position after it */
export function writeListHeader(at: u32, length: u32): u32 {
  if (length < 56) {
    store<u8>(at, <u8>(0xc0 + length));
    return at + 1;
  }
  if (length < 0x100) {
    store<u8>(at, 0xf8);
    store<u8>(at, <u8>length, 1);
    return at + 2;
  }
  store<u8>(at, 0xf9);
  store<u8>(at, <u8>(length >> 8), 1);
  store<u8>(at, <u8>length, 2);
  return at + 3;
}

/** Size of a list with its header. */
@inline export function listSize(length: u32): u32 {
  return headerSize(length) + length;
}

@inline function valueHeaderSize(value: u32, size: u32): u32 {
  return size == 1 && load<u8>(value) < 0x80 ? 0 : headerSize(size);
}

@inline function pathSize(nibbles: i32): u32 {
  const size = <u32>(nibbles >> 1) + 1;
  return size == 1 ? 1 : size + 1;
}

/** Writes a hex-prefixed path, and stores the position of its nibbles in L_FROM and L_TO. @returns the position after it */
function writePath(node: u32, rlp: u32, at: u32, bytes: u32, from: i32, to: i32, leafFlag: u32): u32 {
  const nibbles = to - from;
  const size = <u32>(nibbles >> 1) + 1;
  if (size > 1) store<u8>(at++, <u8>(0x80 + size));
  const isOdd = (nibbles & 1) == 1;
  const first = <i32>(at - rlp) * 2 + (isOdd ? 1 : 2);
  store<u8>(at, <u8>(isOdd ? leafFlag | 0x10 | nibbleAt(bytes, from) : leafFlag));
  appendNibbles(rlp, <i32>(at - rlp) * 2 + 2, bytes, isOdd ? from + 1 : from, to);
  store<u16>(node, <u16>first, L_FROM);
  store<u16>(node, <u16>(first + nibbles), L_TO);
  return at + size;
}

/** A changed leaf with the nibbles `from` to `to` of `bytes`. */
export function newLeaf(bytes: u32, from: i32, to: i32, value: u32, size: u32): u32 {
  const leaf = newNode(LEAF, LEAF_SIZE);
  store<u8>(leaf, 1, N_CHANGED);
  encodeLeaf(leaf, bytes, from, to, value, size);
  return leaf;
}

function encodeLeaf(leaf: u32, bytes: u32, from: i32, to: i32, value: u32, size: u32): void {
  const header = valueHeaderSize(value, size);
  const payload = pathSize(to - from) + header + size;
  const total = listSize(payload);
  const rlp = allocate(total);
  let at = writePath(leaf, rlp, writeListHeader(rlp, payload), bytes, from, to, 0x20);
  if (header == 1) store<u8>(at, <u8>(0x80 + size));
  if (header == 2) {
    store<u8>(at, 0xb8);
    store<u8>(at, <u8>size, 1);
  }
  at += header;
  copyBytes(at, value, size);
  setRlp(leaf, rlp, total);
  store<u16>(leaf, <u16>(at - rlp), L_VALUE);
  store<u16>(leaf, <u16>size, L_VALUE_SIZE);
}

/** PERF: usually the size is the same, so the bytes before the value are kept. */
export function setLeafValue(leaf: u32, value: u32, size: u32): void {
  const old = load<u32>(leaf, N_RLP);
  const at = <u32>load<u16>(leaf, L_VALUE);
  if (size == <u32>load<u16>(leaf, L_VALUE_SIZE) && size > 1) {
    const total = load<u32>(leaf, N_SIZE);
    const rlp = allocate(total);
    copyBytes(rlp, old, at);
    copyBytes(rlp + at, value, size);
    setRlp(leaf, rlp, total);
  } else {
    encodeLeaf(leaf, old, load<u16>(leaf, L_FROM), load<u16>(leaf, L_TO), value, size);
  }
  store<u8>(leaf, 1, N_CHANGED);
}

/**
 * A changed extension with the nibbles `from` to `to` of `bytes`.
 *
 * @param child 0: not in memory
 * @param ref the child's reference; 0: the child is changed, and its encoding sets the reference
 */
export function newExtension(bytes: u32, from: i32, to: i32, child: u32, ref: u32): u32 {
  const extension = newNode(EXTENSION, EXTENSION_SIZE);
  store<u8>(extension, 1, N_CHANGED);
  store<u32>(extension, child, E_CHILD);
  encodeExtension(extension, bytes, from, to, ref, ref == 0 ? HASH_REF_SIZE : refSize(ref));
  return extension;
}

/** @param ref 0: leaves room for a hash */
export function encodeExtension(extension: u32, bytes: u32, from: i32, to: i32, ref: u32, size: u32): void {
  const payload = pathSize(to - from) + size;
  const total = listSize(payload);
  const rlp = allocate(total);
  const at = writePath(extension, rlp, writeListHeader(rlp, payload), bytes, from, to, 0);
  if (ref != 0) copyBytes(at, ref, size);
  else store<u8>(at, HASH_REF);
  setRlp(extension, rlp, total);
  store<u16>(extension, <u16>(at - rlp), E_REF);
}

// ---- decoding

function bad(): void {
  hostBadNode();
  unreachable();
}

/** Set by `readItem`: position of the item's content, whether it is a list, and the position after it. */
let itemData: u32 = 0;
let itemIsList: bool = false;
let itemEnd: u32 = 0;

/** Reads the header of the RLP item at `at`, which must be canonical and end by `end`. */
function readItem(at: u32, end: u32): void {
  if (at >= end) bad();
  const prefix = <u32>load<u8>(at);
  itemIsList = prefix >= 0xc0;
  if (prefix < 0x80) {
    itemData = at;
    itemEnd = at + 1;
    return;
  }
  const short = prefix - (itemIsList ? 0xc0 : 0x80);
  if (short < 56) {
    itemData = at + 1;
    itemEnd = at + 1 + short;
    if (itemEnd > end || (prefix == 0x81 && load<u8>(at, 1) < 0x80)) bad();
    return;
  }
  if (short > 57 || at + 1 + short - 55 > end) bad();
  const length = short == 56 ? <u32>load<u8>(at, 1) : ((<u32>load<u8>(at, 1)) << 8) | <u32>load<u8>(at, 2);
  itemData = at + 1 + short - 55;
  itemEnd = itemData + length;
  if (length < 56 || (short == 57 && length < 0x100) || itemEnd > end) bad();
}

/** Whether the last read item, at `at`, is a reference to a child. */
@inline function isRef(at: u32): bool {
  return itemIsList ? itemEnd - at < 32 : load<u8>(at) == HASH_REF;
}

/**
 * Decodes a node.
 *
 * @param from position of its RLP, which is copied
 * @param isRow whether the database has a row for it; false if it is inside its parent
 */
export function decodeNode(from: u32, size: u32, depth: i32, isRow: bool): u32 {
  if (size == 0 || size > MAX_BLOCK) bad();
  const rlp = allocate(size);
  copyBytes(rlp, from, size);
  readItem(rlp, rlp + size);
  const end = rlp + size;
  if (!itemIsList || itemEnd != end) bad();
  const first = itemData;
  readItem(first, end);
  const pathData = itemData;
  const pathEnd = itemEnd;
  const pathIsList = itemIsList;
  const second = itemEnd;
  readItem(second, end);
  let node: u32;
  if (itemEnd == end) {
    if (pathIsList || pathData == pathEnd) bad();
    node = decodeShort(rlp, pathData, pathEnd, second, depth);
  } else {
    node = decodeBranch(rlp, first, end);
  }
  store<u32>(node, rlp, N_RLP);
  store<u32>(node, size, N_SIZE);
  if (isRow) {
    store<u32>(node, rlp, N_ROW);
    store<u32>(node, size, N_ROW_SIZE);
  }
  return node;
}

/** A leaf or an extension. Its second item was read last. */
function decodeShort(rlp: u32, pathData: u32, pathEnd: u32, second: u32, depth: i32): u32 {
  const flags = <u32>load<u8>(pathData);
  const isOdd = (flags & 0x10) != 0;
  if (flags >= 0x40 || (!isOdd && (flags & 0x0f) != 0)) bad();
  const from = <i32>(pathData - rlp) * 2 + (isOdd ? 1 : 2);
  const to = <i32>(pathEnd - rlp) * 2;
  const isLeaf = (flags & 0x20) != 0;
  let node: u32;
  if (isLeaf) {
    if (itemIsList || itemData == itemEnd || itemEnd - itemData > 0xff || depth + to - from != KEY_NIBBLES) bad();
    node = newNode(LEAF, LEAF_SIZE);
    store<u16>(node, <u16>(itemData - rlp), L_VALUE);
    store<u16>(node, <u16>(itemEnd - itemData), L_VALUE_SIZE);
  } else {
    if (from == to || depth + to - from >= KEY_NIBBLES || !isRef(second)) bad();
    node = newNode(EXTENSION, EXTENSION_SIZE);
    store<u16>(node, <u16>(second - rlp), E_REF);
  }
  store<u16>(node, <u16>from, L_FROM);
  store<u16>(node, <u16>to, L_TO);
  return node;
}

function decodeBranch(rlp: u32, first: u32, end: u32): u32 {
  const branch = newNode(BRANCH, BRANCH_SIZE);
  let at = first;
  for (let i: u32 = 0; i < 16; i++) {
    if (at < end && load<u8>(at) == 0x80) {
      at++;
      continue;
    }
    readItem(at, end);
    if (!isRef(at)) bad();
    setRefAt(branch, i, at - rlp);
    at = itemEnd;
  }
  if (at + 1 != end || load<u8>(at) != 0x80) bad();
  return branch;
}

/** Call it when all memory is released. */
export function forgetNodes(): void {
  nodeCount = 0;
}
