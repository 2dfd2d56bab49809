import { encodeRlpListOfEncoded } from "@rnode/primitives";
import type { TrieNodeChange } from "@rnode/trie";
import { applyNodeDelta, encodeNodeDelta } from "./node-delta.ts";
import { branchItems, CHILDREN, contentAt, EMPTY_ITEM, HASH_ITEM, HASH_SIZE, hashItem, isBranch, itemEnd } from "./node-shape.ts";

/*
 * An old version of a trie node, as it was before a block; a first byte says in which form:
 *   0                           there was no node
 *   1 ‖ RLP                     the whole node
 *   2 ‖ delta                   the difference from the version after the block (node-delta.ts)
 *   3 ‖ left out 2 ‖ given 2 ‖ absent 2 ‖ hashes 32 each
 *                               a branch of which these children (one bit each) were different: their hash follows from their own old version, is
 *                               given here in ascending order, or there was no such child
 *   16 + n, 32 + n ‖ hash, 48 + n
 *                               a branch of which only child n was different: its hash is left out, is given, or there was no such child
 *
 * The journal of the head's nodes (node-journal.ts) has the same forms the other way round: later versions, given those before them, and no hashes left out.
 */

const ABSENT = 0;
const WHOLE = 1;
const DELTA = 2;
const BRANCH = 3;
const ONE_LEFT_OUT = 0x10;
const ONE_GIVEN = 0x20;
const ONE_ABSENT = 0x30;

const ABSENT_VERSION = Uint8Array.of(ABSENT);
/** A difference must save at least a quarter. */
const MAX_DELTA_PART = 0.75;

/** The node in a version of the form "whole"; `undefined`: there was no node. */
export const wholeNode = (version: Uint8Array): Uint8Array | undefined => (version[0] === WHOLE ? version.subarray(1) : undefined);

/** Whether a version needs no other one to be restored from. */
export const standsAlone = (version: Uint8Array): boolean => version[0] === ABSENT || version[0] === WHOLE;

/** A version's data about the children of a branch, one bit each. */
export interface ChildChanges {
  /** their hashes follow from the old versions of the children */
  readonly leftOut: number;
  readonly given: number;
  readonly absent: number;
  /** of the given ones, ascending */
  readonly hashes: Uint8Array;
}

export type NodeVersionForm = "absent" | "whole" | "difference" | "children";

export function formOf(version: Uint8Array): NodeVersionForm {
  const kind = version[0]!;
  if (kind >= BRANCH) return "children";
  return kind === ABSENT ? "absent" : kind === WHOLE ? "whole" : "difference";
}

/** Of a version of the form "children". */
export function childChangesOf(version: Uint8Array): ChildChanges {
  const kind = version[0]!;
  if (kind === BRANCH) {
    const mask = (at: number): number => (version[at]! << 8) | version[at + 1]!;
    return { leftOut: mask(1), given: mask(3), absent: mask(5), hashes: version.subarray(7) };
  }
  const bit = 1 << (kind & 0x0f);
  const of = (form: number): number => ((kind & 0xf0) === form ? bit : 0);
  return { leftOut: of(ONE_LEFT_OUT), given: of(ONE_GIVEN), absent: of(ONE_ABSENT), hashes: version.subarray(1) };
}

/** Whether the old version of child `nibble` can differ from the one after the block. */
export function mayChangeChild(version: Uint8Array, nibble: number): boolean {
  if (formOf(version) !== "children") return true;
  const { leftOut, given, absent } = childChangesOf(version);
  return (((leftOut | given | absent) >> nibble) & 1) === 1;
}

/** A buffer in which versions are built. PERF: it is reused, as are views of its first bytes, by size. */
let scratch = new Uint8Array(2048);
let scratchViews: Uint8Array[] = [];

const built = (size: number): Uint8Array => (scratchViews[size] ??= scratch.subarray(0, size));

function reserve(size: number): void {
  if (scratch.length >= size) return;
  scratch = new Uint8Array(2 * size);
  scratchViews = [];
}

/**
 * The version of a node that a block changed.
 *
 * @param isWhole the whole node is wanted
 * @param canLeaveOut children (one bit each) whose old version the history of the same block has
 * @returns a view that the next call may overwrite
 */
export function encodeNodeVersion(node: TrieNodeChange, isWhole: boolean, canLeaveOut: number): Uint8Array {
  const { before: old, rlp: next, differsFrom = 0, differsTo = Number.POSITIVE_INFINITY } = node;
  if (old === undefined) return ABSENT_VERSION;
  reserve(old.length + HASH_SIZE);
  if (next !== undefined && !isWhole) {
    if (isBranch(old) && isBranch(next)) {
      const from = old.length === next.length ? differsFrom : 0;
      const to = old.length === next.length ? differsTo : Number.POSITIVE_INFINITY;
      const size = encodeChildren(old, next, canLeaveOut, from, to);
      if (size > 0) return built(size);
    }
    const end = Math.min(differsTo, old.length);
    const delta = encodeNodeDelta(old, next, 1, Math.floor(old.length * MAX_DELTA_PART), differsFrom, end);
    if (delta !== undefined) {
      delta[0] = DELTA;
      return delta;
    }
  }
  scratch[0] = WHOLE;
  scratch.set(old, 1);
  return built(1 + old.length);
}

/** @returns the size in `scratch`; 0: the form does not fit */
function encodeChildren(old: Uint8Array, next: Uint8Array, canLeaveOut: number, from: number, to: number): number {
  let oldAt = contentAt(old, 0);
  let nextAt = contentAt(next, 0);
  let leftOut = 0;
  let given = 0;
  let absent = 0;
  let size = 7;
  for (let nibble = 0; nibble < CHILDREN; nibble++) {
    const oldEnd = itemEnd(old, oldAt);
    const nextEnd = itemEnd(next, nextAt);
    if (oldEnd > from && oldAt < to && !isSameItem(old, oldAt, oldEnd, next, nextAt, nextEnd)) {
      const bit = 1 << nibble;
      if (old[oldAt] === EMPTY_ITEM) {
        absent |= bit;
      } else if (old[oldAt] !== HASH_ITEM) {
        return 0; // a node inside the branch
      } else if ((canLeaveOut & bit) !== 0) {
        leftOut |= bit;
      } else {
        given |= bit;
        for (let i = 1; i <= HASH_SIZE; i++) scratch[size++] = old[oldAt + i]!;
      }
    }
    oldAt = oldEnd;
    nextAt = nextEnd;
  }
  if (old[oldAt] !== EMPTY_ITEM || next[nextAt] !== EMPTY_ITEM) return 0; // no key of a state trie ends at a branch
  const all = leftOut | given | absent;
  if ((all & (all - 1)) !== 0 || all === 0) {
    scratch[0] = BRANCH;
    for (const [index, mask] of [leftOut, given, absent].entries()) {
      scratch[1 + 2 * index] = mask >> 8;
      scratch[2 + 2 * index] = mask;
    }
    return size;
  }
  const nibble = 31 - Math.clz32(all);
  scratch[0] = (leftOut !== 0 ? ONE_LEFT_OUT : given !== 0 ? ONE_GIVEN : ONE_ABSENT) | nibble;
  if (given === 0) return 1;
  scratch.copyWithin(1, 7, size);
  return 1 + HASH_SIZE;
}

function isSameItem(old: Uint8Array, oldAt: number, oldEnd: number, next: Uint8Array, nextAt: number, nextEnd: number): boolean {
  if (oldEnd - oldAt !== nextEnd - nextAt) return false;
  for (let i = 0; i < oldEnd - oldAt; i++) if (old[oldAt + i] !== next[nextAt + i]) return false;
  return true;
}

const EMPTY = Uint8Array.of(EMPTY_ITEM);

/** A branch while its old version is put together. */
export class BranchRestoring {
  readonly #items: Uint8Array[];

  /** @param next a version that it is to be restored from */
  constructor(next: Uint8Array) {
    this.#items = branchItems(next);
  }

  /** Applies a version, except for omitted hashes. */
  apply({ given, absent, hashes }: ChildChanges): void {
    let hashAt = 0;
    for (let nibble = 0; nibble < CHILDREN; nibble++) {
      if (((absent >> nibble) & 1) === 1) this.#items[nibble] = EMPTY;
      if (((given >> nibble) & 1) === 0) continue;
      this.setHash(nibble, hashes.subarray(hashAt, hashAt + HASH_SIZE));
      hashAt += HASH_SIZE;
    }
  }

  setHash(nibble: number, hash: Uint8Array): void {
    this.#items[nibble] = hashItem(hash);
  }

  encoded(): Uint8Array {
    return encodeRlpListOfEncoded(this.#items);
  }
}

/**
 * Applies versions one after the other, each to the result of the previous one, without omitted hashes.
 *
 * @param base the base of the first one; required unless the first one is complete
 */
export function applyVersions(versions: readonly Uint8Array[], base: Uint8Array | undefined): Uint8Array | undefined {
  let node = base;
  let branch: BranchRestoring | undefined;
  for (const version of versions) {
    const form = formOf(version);
    if (form === "children") {
      branch ??= new BranchRestoring(node!);
      branch.apply(childChangesOf(version));
      continue;
    }
    if (branch !== undefined) node = branch.encoded();
    branch = undefined;
    if (form === "absent" || form === "whole") node = wholeNode(version);
    else node = applyNodeDelta(version, 1, node!);
  }
  return branch === undefined ? node : branch.encoded();
}
