/**
 * Encodes the changed nodes. They are listed from the root down, and encoded from the deepest level up, because the nodes of one
 * level, also of several tries, are hashed together.
 */
import { addMessage, finishHashing, startHashing, writeHash } from "./hashing";
import { hostHasLanes } from "./host";
import { finishWrite, listedAt, listWrite, MAX_DEPTH, queueByDepth, queuedAt, queueEnd, W_COPY, W_DEPTH, W_RLP } from "./listing";
import { allocate, CHILD_REFS, copyBlock, copyBytes, release } from "./memory";
import { follow, PATH } from "./nibbles";
import {
  B_DIRTY,
  B_RESHAPED,
  BRANCH,
  childAt,
  E_CHILD,
  E_REF,
  encodeExtension,
  EXTENSION,
  HASH_REF,
  HASH_REF_SIZE,
  L_FROM,
  L_TO,
  L_VALUE,
  LEAF,
  listSize,
  N_CHANGED,
  N_KIND,
  N_MESSAGE,
  N_RLP,
  N_ROW,
  N_ROW_SIZE,
  N_SIZE,
  N_USED,
  refAt,
  refSize,
  setRefAt,
  setRlp,
  writeListHeader,
} from "./node";

/** Sizes of CHILD_REFS, a u8 each; 0: the reference is in the previous RLP */
const REF_SIZES: u32 = <u32>memory.data(16, 16);
/** bytes for each reference */
@inline const REF_ROOM: u32 = 48;

/** Start of the difference between the two versions of the last encoded node, if they have the same size. */
let differsFrom: u32 = 0;
let differsTo: u32 = 0;

/**
 * Lists the changed node at `depth`, and all changed nodes below it, for `encodeListed`. @param pass stored as the last pass that
 * visited them
 */
export function listChanged(node: u32, depth: u32, pass: u32): void {
  const kind = load<u8>(node, N_KIND);
  const copy = kind == BRANCH && load<u8>(node, B_RESHAPED) == 0 ? copyRlp(node) : 0;
  const listed = listWrite(node, copy, depth, load<u32>(node, N_ROW), load<u32>(node, N_ROW_SIZE));
  if (kind == BRANCH) {
    for (let dirty = load<u32>(node, B_DIRTY); dirty != 0; dirty &= dirty - 1) {
      const nibble = ctz<u32>(dirty);
      store<u8>(PATH + depth, <u8>nibble);
      listChanged(childAt(node, nibble), depth + 1, pass);
    }
  } else if (kind == EXTENSION) {
    const child = load<u32>(node, E_CHILD);
    if (child != 0 && load<u8>(child, N_CHANGED) != 0) {
      const from = <i32>load<u16>(node, L_FROM);
      const to = <i32>load<u16>(node, L_TO);
      follow(depth, load<u32>(node, N_RLP), from, to);
      listChanged(child, depth + <u32>(to - from), pass);
    }
  }
  // PERF: without lanes, the node need not wait for its level.
  if (!hostHasLanes) encode(listedAt(listed), pass);
}

/**
 * PERF: usually only hashes of children have changed, and are replaced in a copy of the RLP. The copy is made on the way down, so
 * it is in the cache when it is patched and hashed (measured: 3 to 8 % of an update without lanes).
 */
function copyRlp(branch: u32): u32 {
  const size = load<u32>(branch, N_SIZE);
  const copy = allocate(size);
  copyBlock(copy, load<u32>(branch, N_RLP), size);
  return copy;
}

/** Encodes and hashes all nodes listed since the last call. */
export function encodeListed(pass: u32): void {
  if (!hostHasLanes) return;
  queueByDepth();
  startHashing();
  let index: u32 = 0;
  for (let depth: i32 = MAX_DEPTH; depth >= 0; depth--) {
    for (const next = queueEnd(depth); index < next; index++) encode(queuedAt(index), pass);
    finishHashing();
  }
}

/** Encodes a listed node. The nodes below it are already encoded. */
function encode(listed: u32, pass: u32): void {
  const node = load<u32>(listed, W_RLP);
  const row = load<u32>(node, N_ROW);
  const rowSize = load<u32>(node, N_ROW_SIZE);
  const kind = load<u8>(node, N_KIND);
  if (kind == LEAF) {
    const size = load<u32>(node, N_SIZE);
    const at = <u32>load<u16>(node, L_VALUE);
    differsFrom = row != 0 && rowSize == size && isSame(row, load<u32>(node, N_RLP), 0, at) ? at : 0;
    differsTo = size;
  } else if (kind == EXTENSION) encodeOverChild(node, pass);
  else encodeBranch(node, load<u32>(listed, W_COPY), pass);
  const size = load<u32>(node, N_SIZE);
  if (row != 0 && rowSize == size && isSame(row, load<u32>(node, N_RLP), differsFrom, differsTo)) {
    // The node was encoded only for its parent. Holders of an earlier listing do not read this block.
    setRlp(node, row, rowSize);
  }
  const rlp = load<u32>(node, N_RLP);
  if (size >= 32 || load<u32>(listed, W_DEPTH) == 0) {
    store<u32>(node, addMessage(rlp, size), N_MESSAGE);
    finishWrite(listed, rlp, size, differsFrom, differsTo);
    store<u32>(node, rlp, N_ROW);
    store<u32>(node, size, N_ROW_SIZE);
  } else {
    finishWrite(listed, 0, 0, 0, 0);
    store<u32>(node, 0, N_ROW); // inside its parent; if it had a row, the row is deleted
  }
  if (row != 0 && row != rlp) release(row, rowSize);
}

/** Writes the hash of an encoded node to its places. */
export function takeHash(node: u32, out: u32, pass: u32): void {
  writeHash(load<u32>(node, N_MESSAGE), load<u32>(node, N_RLP), load<u32>(node, N_SIZE), out);
  settle(node, pass);
}

/** All references to the node are up to date. */
@inline function settle(node: u32, pass: u32): void {
  store<u8>(node, 0, N_CHANGED);
  store<u32>(node, pass, N_USED);
}

function isSame(a: u32, b: u32, from: u32, to: u32): bool {
  for (let i = from; i < to; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

function encodeOverChild(extension: u32, pass: u32): void {
  const old = load<u32>(extension, N_RLP);
  const from = <i32>load<u16>(extension, L_FROM);
  const to = <i32>load<u16>(extension, L_TO);
  const child = load<u32>(extension, E_CHILD);
  if (child != 0 && load<u8>(child, N_CHANGED) != 0) {
    const size = load<u32>(child, N_SIZE);
    if (size < 32) {
      encodeExtension(extension, old, from, to, load<u32>(child, N_RLP), size);
      settle(child, pass);
    } else {
      encodeExtension(extension, old, from, to, 0, HASH_REF_SIZE);
      takeHash(child, load<u32>(extension, N_RLP) + <u32>load<u16>(extension, E_REF) + 1, pass);
    }
  }
  differsFrom = 0;
  differsTo = load<u32>(extension, N_SIZE);
}

/** @param copy made by `copyRlp`; 0: children were added or removed */
function encodeBranch(branch: u32, copy: u32, pass: u32): void {
  const old = load<u32>(branch, N_RLP);
  const oldSize = load<u32>(branch, N_SIZE);
  const rlp = copy == 0 ? old : copy;
  let isPatch = copy != 0;
  v128.store(REF_SIZES, v128.splat<i32>(0));
  let first: u32 = 0;
  let last: u32 = 0;
  for (let dirty = load<u32>(branch, B_DIRTY); dirty != 0; dirty &= dirty - 1) {
    const nibble = ctz<u32>(dirty);
    const child = childAt(branch, nibble);
    const childSize = load<u32>(child, N_SIZE);
    const at = refAt(branch, nibble);
    if (copy != 0 && childSize >= 32 && load<u8>(rlp + at) == HASH_REF) {
      takeHash(child, rlp + at + 1, pass);
      if (first == 0) first = at + 1;
      last = at + HASH_REF_SIZE;
      continue;
    }
    isPatch = false;
    const ref = CHILD_REFS + nibble * REF_ROOM;
    if (childSize >= 32) {
      store<u8>(ref, HASH_REF);
      takeHash(child, ref + 1, pass);
      store<u8>(REF_SIZES + nibble, HASH_REF_SIZE);
    } else {
      copyBytes(ref, load<u32>(child, N_RLP), childSize);
      settle(child, pass);
      store<u8>(REF_SIZES + nibble, <u8>childSize);
    }
  }
  store<u32>(branch, 0, B_DIRTY);
  store<u8>(branch, 0, B_RESHAPED);
  if (isPatch) {
    differsFrom = load<u32>(branch, N_ROW) == old ? first : 0;
    differsTo = load<u32>(branch, N_ROW) == old ? last : oldSize;
    setRlp(branch, rlp, oldSize);
    return;
  }
  rebuildBranch(branch, rlp);
  if (rlp != old) release(rlp, oldSize);
  differsFrom = 0;
  differsTo = load<u32>(branch, N_SIZE);
}

/** Encodes a branch again, with references from `old` if CHILD_REFS has none, and stores their positions. */
function rebuildBranch(branch: u32, old: u32): void {
  let payload: u32 = 1; // the value
  for (let i: u32 = 0; i < 16; i++) {
    const size = <u32>load<u8>(REF_SIZES + i);
    const at = refAt(branch, i);
    payload += size != 0 ? size : at != 0 ? refSize(old + at) : 1;
  }
  const total = listSize(payload);
  const rlp = allocate(total);
  let next = writeListHeader(rlp, payload);
  for (let i: u32 = 0; i < 16; i++) {
    const given = <u32>load<u8>(REF_SIZES + i);
    const at = refAt(branch, i);
    if (given == 0 && at == 0) {
      store<u8>(next++, 0x80);
      continue;
    }
    const ref = given != 0 ? CHILD_REFS + i * REF_ROOM : old + at;
    const size = given != 0 ? given : refSize(ref);
    copyBytes(next, ref, size);
    setRefAt(branch, i, next - rlp);
    next += size;
  }
  store<u8>(next, 0x80);
  setRlp(branch, rlp, total);
}
