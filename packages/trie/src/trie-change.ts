import { compareBytes, equalBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "./node-reader.ts";

/**
 * What becomes of a leaf's value when a change meets the leaf as it is. It may write into `value`, not into `present`.
 *
 * @param value of the change
 * @param present value of the leaf
 */
export type LeafMerge = (value: Uint8Array, present: Uint8Array) => Uint8Array;

export interface TrieChange {
  /** 32 bytes, keccak256 of the address or slot */
  readonly key: Uint8Array;
  /** RLP bytes of the leaf's value; undefined deletes */
  readonly value: Uint8Array | undefined;
  /** undefined: `value` replaces what is there; a new leaf always takes `value` as it is */
  readonly merge?: LeafMerge | undefined;
}

export interface TrieUpdate {
  readonly root: Uint8Array;
  /** ascending by path, each path once */
  readonly nodes: readonly TrieNodeChange[];
}

/** The changes in the order of their keys; of two with the same key, only the later one. */
export function sortChanges(changes: Iterable<TrieChange>): TrieChange[] {
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
