/** The changed nodes of an update, by trie, in the order of their paths. */
import { areaAt, DELETIONS, PATHS, QUEUE, reserve, WRITES } from "./memory";
import { PATH } from "./nibbles";

// ---- a listed node: 32 bytes; a u32 each. src/linear/trie-module.ts reads them
@inline export const W_OWNER: u32 = 0; // pointer to 32 bytes; 0: the account trie
@inline export const W_PATH: u32 = 4; // offset in the area of paths; a nibble per byte
@inline export const W_DEPTH: u32 = 8; // number of nibbles
@inline export const W_RLP: u32 = 12; // pointer; 0: the node is not stored. Before it is encoded: the node in memory
@inline export const W_SIZE: u32 = 16;
@inline export const W_COPY: u32 = 16; // before it is encoded: a block for `encode`
@inline export const W_BEFORE: u32 = 20; // pointer to the previous row; 0: there was none
@inline export const W_BEFORE_SIZE: u32 = 24;
@inline export const W_DIFFERS: u32 = 28; // two u16: if both have the same size, they differ only between these positions
@inline export const LISTED_SIZE: u32 = 32;

/** bytes of all listed nodes, of the deletions of the current trie, and of all paths */
let writesSize: u32 = 0;
let deletionsSize: u32 = 0;
let pathsSize: u32 = 0;
let firstOfTrie: u32 = 0;
/** bytes of listed nodes that were queued */
let queuedSize: u32 = 0;
let owner: u32 = 0;

export function listedNodes(): u32 {
  return areaAt(WRITES);
}

export function listedCount(): u32 {
  return writesSize / LISTED_SIZE;
}

export function listedPaths(): u32 {
  return areaAt(PATHS);
}

export function startListing(): void {
  writesSize = 0;
  queuedSize = 0;
  pathsSize = 0;
}

/** @param trieOwner pointer to 32 bytes; 0: the account trie */
export function startTrie(trieOwner: u32): void {
  owner = trieOwner;
  firstOfTrie = writesSize;
  deletionsSize = 0;
}

/**
 * Fills a listing with the values that are known before the node is encoded. The node's path is the first `depth` nibbles of
 * PATH.
 */
function begin(listed: u32, node: u32, depth: u32, row: u32, rowSize: u32): void {
  const path = reserve(PATHS, pathsSize + 64, pathsSize) + pathsSize;
  for (let i: u32 = 0; i < depth; i += 16) v128.store(path + i, v128.load(PATH + i));
  store<u32>(listed, owner, W_OWNER);
  store<u32>(listed, pathsSize, W_PATH);
  store<u32>(listed, depth, W_DEPTH);
  store<u32>(listed, node, W_RLP);
  store<u32>(listed, row, W_BEFORE);
  store<u32>(listed, rowSize, W_BEFORE_SIZE);
  pathsSize += depth;
}

/** Lists the row at the first `depth` nibbles of PATH as deleted. */
export function listDeletion(depth: u32, row: u32, rowSize: u32): void {
  begin(reserve(DELETIONS, deletionsSize + LISTED_SIZE, deletionsSize) + deletionsSize, 0, depth, row, rowSize);
  deletionsSize += LISTED_SIZE;
}

/**
 * Lists the node at the first `depth` nibbles of PATH before the nodes below it, to be encoded from `copy`. @returns an argument
 * for `listedAt`
 */
export function listWrite(node: u32, copy: u32, depth: u32, row: u32, rowSize: u32): u32 {
  const at = writesSize;
  const listed = reserve(WRITES, at + LISTED_SIZE, at) + at;
  begin(listed, node, depth, row, rowSize);
  store<u32>(listed, copy, W_COPY);
  writesSize += LISTED_SIZE;
  return at;
}

/** Address of a listed node, valid until the next node is listed. */
@inline export function listedAt(at: u32): u32 {
  return areaAt(WRITES) + at;
}

/**
 * @param rlp 0: the node is inside its parent
 * @param from start of the bytes that can differ from the row if the sizes are equal; `to` is their end
 */
export function finishWrite(listed: u32, rlp: u32, size: u32, from: u32, to: u32): void {
  store<u32>(listed, rlp, W_RLP);
  store<u32>(listed, size, W_SIZE);
  store<u32>(listed, from | (to << 16), W_DIFFERS);
}

// ---- pointers to the nodes to be encoded, of all tries listed since the last call, deepest first

/** End of the nodes of each depth in the queue, as an index. From the deepest to the root */
const DEPTH_ENDS: u32 = <u32>memory.data(65 * 4, 16);
/** The depth of a leaf that differs from its sibling in the last nibble. */
@inline export const MAX_DEPTH: u32 = 64;

/** Queues the listed nodes. The listing must not move until they are encoded. */
export function queueByDepth(): void {
  const listing = areaAt(WRITES);
  const first = listing + queuedSize;
  const end = listing + writesSize;
  queuedSize = writesSize;
  memory.fill(DEPTH_ENDS, 0, (MAX_DEPTH + 1) * 4);
  let count: u32 = 0;
  for (let at = first; at < end; at += LISTED_SIZE) {
    if (load<u32>(at, W_RLP) == 0) continue; // a deletion
    const place = DEPTH_ENDS + (load<u32>(at, W_DEPTH) << 2);
    store<u32>(place, load<u32>(place) + 1);
    count++;
  }
  const queue = reserve(QUEUE, max<u32>(1, count) << 2, 0);
  let start: u32 = 0;
  for (let depth: i32 = MAX_DEPTH; depth >= 0; depth--) {
    const place = DEPTH_ENDS + ((<u32>depth) << 2);
    const nodes = load<u32>(place);
    store<u32>(place, start);
    start += nodes;
  }
  for (let at = first; at < end; at += LISTED_SIZE) {
    if (load<u32>(at, W_RLP) == 0) continue;
    const place = DEPTH_ENDS + (load<u32>(at, W_DEPTH) << 2);
    const index = load<u32>(place);
    store<u32>(queue + (index << 2), at);
    store<u32>(place, index + 1);
  }
}

@inline export function queueEnd(depth: u32): u32 {
  return load<u32>(DEPTH_ENDS + (depth << 2));
}

@inline export function queuedAt(index: u32): u32 {
  return load<u32>(areaAt(QUEUE) + (index << 2));
}

/** the order of two paths; never 0, because no path is listed twice */
function isBefore(a: u32, b: u32): bool {
  const paths = areaAt(PATHS);
  const left = paths + load<u32>(a, W_PATH);
  const right = paths + load<u32>(b, W_PATH);
  const leftDepth = load<u32>(a, W_DEPTH);
  const rightDepth = load<u32>(b, W_DEPTH);
  const shared = min(leftDepth, rightDepth);
  for (let i: u32 = 0; i < shared; i++) {
    const difference = <i32>load<u8>(left + i) - <i32>load<u8>(right + i);
    if (difference != 0) return difference < 0;
  }
  return leftDepth < rightDepth;
}

@inline function copyListed(to: u32, from: u32): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
}

/** Moves the deletions to their places among the written nodes of the trie. */
export function finishTrie(): void {
  if (deletionsSize == 0) return;
  // PERF: the nodes are nearly sorted (only a node comes after those below it), so insertion sort is fast.
  const moved = reserve(DELETIONS, deletionsSize + LISTED_SIZE, deletionsSize) + deletionsSize;
  const deletions = areaAt(DELETIONS);
  for (let at = deletions + LISTED_SIZE; at < moved; at += LISTED_SIZE) {
    copyListed(moved, at);
    let place = at;
    for (; place > deletions && isBefore(moved, place - LISTED_SIZE); place -= LISTED_SIZE) copyListed(place, place - LISTED_SIZE);
    copyListed(place, moved);
  }
  const writes = reserve(WRITES, writesSize + deletionsSize, writesSize);
  const first = writes + firstOfTrie;
  let write = writes + writesSize;
  let deletion = moved;
  writesSize += deletionsSize;
  for (let to = writes + writesSize; deletion > deletions; ) {
    to -= LISTED_SIZE;
    if (write > first && isBefore(deletion - LISTED_SIZE, write - LISTED_SIZE)) copyListed(to, (write -= LISTED_SIZE));
    else copyListed(to, (deletion -= LISTED_SIZE));
  }
}
