/** Encodes the nodes that an update changed, from the root down, and lists those that are stored. */
import { keccak256 } from "../../evm/assembly/keccak";
import { finishWrite, listWrite } from "./listing";
import { allocate, CHILD_REFS, copyBlock, copyBytes, release } from "./memory";
import { follow, PATH } from "./nibbles";
import {
  B_DIRTY, B_RESHAPED, BRANCH, childAt, E_CHILD, E_REF, encodeExtension, EXTENSION, HASH_REF, HASH_REF_SIZE, L_FROM, L_TO, L_VALUE, LEAF, listSize,
  N_CHANGED, N_KIND, N_RLP, N_ROW, N_ROW_SIZE, N_SIZE, N_USED, refAt, refSize, setRefAt, setRlp, writeListHeader,
} from "./node";

/** Sizes of CHILD_REFS, a u8 each; 0: the reference is in the RLP before */
const REF_SIZES: usize = memory.data(64 * 16, 16);
/** bytes for each reference */
@inline const REF_ROOM: u32 = 48;

/** Where the two versions of the node that was just encoded differ, if they have the same size. */
let differsFrom: u32 = 0;
let differsTo: u32 = 0;

/**
 * Encodes the changed node at `depth`, and all changed nodes below it. The parent takes its reference from N_RLP.
 *
 * @param pass noted as the last one that went through it
 */
export function encode(node: u32, depth: u32, pass: u32): void {
  const row = load<u32>(node, N_ROW);
  const rowSize = load<u32>(node, N_ROW_SIZE);
  const listed = listWrite(depth, row, rowSize);
  const kind = load<u8>(node, N_KIND);
  if (kind == LEAF) {
    const size = load<u32>(node, N_SIZE);
    const at = <u32>load<u16>(node, L_VALUE);
    differsFrom = row != 0 && rowSize == size && isSame(row, load<u32>(node, N_RLP), 0, at) ? at : 0;
    differsTo = size;
  } else if (kind == EXTENSION) encodeOverChild(node, depth, pass);
  else encodeBranch(node, depth, pass);
  store<u8>(node, 0, N_CHANGED);
  store<u32>(node, pass, N_USED);
  const size = load<u32>(node, N_SIZE);
  if (row != 0 && rowSize == size && isSame(row, load<u32>(node, N_RLP), differsFrom, differsTo)) {
    // It was encoded for its parent only. Whoever was given the block in an earlier listing may not look at this one.
    setRlp(node, row, rowSize);
  }
  const rlp = load<u32>(node, N_RLP);
  if (size >= 32 || depth == 0) {
    finishWrite(listed, rlp, size, differsFrom, differsTo);
    store<u32>(node, rlp, N_ROW);
    store<u32>(node, size, N_ROW_SIZE);
  } else {
    store<u32>(node, 0, N_ROW); // inside its parent; if it had a row, the row is deleted
  }
  if (row != 0 && row != rlp) release(row, rowSize);
}

function isSame(a: u32, b: u32, from: u32, to: u32): bool {
  for (let i = from; i < to; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

function encodeOverChild(extension: u32, depth: u32, pass: u32): void {
  const old = load<u32>(extension, N_RLP);
  const from = <i32>load<u16>(extension, L_FROM);
  const to = <i32>load<u16>(extension, L_TO);
  const child = load<u32>(extension, E_CHILD);
  if (child != 0 && load<u8>(child, N_CHANGED) != 0) {
    follow(depth, old, from, to);
    encode(child, depth + <u32>(to - from), pass);
    const rlp = load<u32>(child, N_RLP);
    const size = load<u32>(child, N_SIZE);
    if (size < 32) {
      encodeExtension(extension, old, from, to, rlp, size);
    } else {
      encodeExtension(extension, old, from, to, 0, HASH_REF_SIZE);
      keccak256(rlp, size, load<u32>(extension, N_RLP) + <u32>load<u16>(extension, E_REF) + 1);
    }
  }
  differsFrom = 0;
  differsTo = load<u32>(extension, N_SIZE);
}

/** PERF: usually only hashes of children have changed, and are replaced in a copy of the RLP. */
function encodeBranch(branch: u32, depth: u32, pass: u32): void {
  const old = load<u32>(branch, N_RLP);
  const oldSize = load<u32>(branch, N_SIZE);
  const isReshaped = load<u8>(branch, B_RESHAPED) != 0;
  let isPatch = !isReshaped;
  let rlp = old;
  if (isPatch) {
    rlp = allocate(oldSize);
    copyBlock(rlp, old, oldSize);
  }
  const refs = CHILD_REFS + depth * (16 * REF_ROOM);
  const sizes = <u32>REF_SIZES + depth * 16;
  v128.store(sizes, v128.splat<i32>(0));
  let first: u32 = 0;
  let last: u32 = 0;
  for (let dirty = load<u32>(branch, B_DIRTY); dirty != 0; dirty &= dirty - 1) {
    const nibble = ctz<u32>(dirty);
    const child = childAt(branch, nibble);
    store<u8>(PATH + depth, <u8>nibble);
    encode(child, depth + 1, pass);
    const childRlp = load<u32>(child, N_RLP);
    const childSize = load<u32>(child, N_SIZE);
    const at = refAt(branch, nibble);
    if (!isReshaped && childSize >= 32 && load<u8>(rlp + at) == HASH_REF) {
      keccak256(childRlp, childSize, rlp + at + 1);
      if (first == 0) first = at + 1;
      last = at + HASH_REF_SIZE;
      continue;
    }
    isPatch = false;
    const ref = refs + nibble * REF_ROOM;
    if (childSize >= 32) {
      store<u8>(ref, HASH_REF);
      keccak256(childRlp, childSize, ref + 1);
      store<u8>(sizes + nibble, HASH_REF_SIZE);
    } else {
      copyBytes(ref, childRlp, childSize);
      store<u8>(sizes + nibble, <u8>childSize);
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
  rebuildBranch(branch, rlp, refs, sizes);
  if (rlp != old) release(rlp, oldSize);
  differsFrom = 0;
  differsTo = load<u32>(branch, N_SIZE);
}

/** Encodes a branch anew, taking references from `old` where `refs` has none, and notes their positions. */
function rebuildBranch(branch: u32, old: u32, refs: u32, sizes: u32): void {
  let payload: u32 = 1; // the value
  for (let i: u32 = 0; i < 16; i++) {
    const size = <u32>load<u8>(sizes + i);
    const at = refAt(branch, i);
    payload += size != 0 ? size : at != 0 ? refSize(old + at) : 1;
  }
  const total = listSize(payload);
  const rlp = allocate(total);
  let next = writeListHeader(rlp, payload);
  for (let i: u32 = 0; i < 16; i++) {
    const given = <u32>load<u8>(sizes + i);
    const at = refAt(branch, i);
    if (given == 0 && at == 0) {
      store<u8>(next++, 0x80);
      continue;
    }
    const ref = given != 0 ? refs + i * REF_ROOM : old + at;
    const size = given != 0 ? given : refSize(ref);
    copyBytes(next, ref, size);
    setRefAt(branch, i, next - rlp);
    next += size;
  }
  store<u8>(next, 0x80);
  setRlp(branch, rlp, total);
}

/** The hash by which a root is known. */
export function hashRoot(node: u32, out: u32): void {
  keccak256(load<u32>(node, N_RLP), load<u32>(node, N_SIZE), out);
}
