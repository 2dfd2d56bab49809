import { compareBytes, equalBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "./node-reader.ts";

/**
 * Combines a change's value with the existing leaf. It may write into `value`, but not into `present`.
 *
 * @param value the value of the change
 * @param present the value of the leaf
 */
type LeafMerge = (value: Uint8Array, present: Uint8Array) => Uint8Array;

export interface TrieChange {
  /** 32 bytes, keccak256 of the address or slot */
  readonly key: Uint8Array;
  /** RLP bytes of the leaf's value; `undefined` deletes the leaf */
  readonly value: Uint8Array | undefined;
  /** `undefined`: `value` replaces the present value. A new leaf always gets `value` */
  readonly merge?: LeafMerge | undefined;
}

export interface TrieUpdate {
  readonly root: Uint8Array;
  /** ascending by path, each path once */
  readonly nodes: readonly TrieNodeChange[];
}

/** The changes in the order of their keys; of several with the same key, only the last one. */
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
