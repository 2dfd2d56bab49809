import type { TrieNodeChange } from "@rnode/trie";
import { startsWith } from "../database/table.ts";
import { isLeafNode, isSameKey } from "./leaf-reader.ts";
import { isSameVersion, type NodeRun } from "./node-runs.ts";
import { HASH_SIZE, isBranch } from "./node-shape.ts";

/*
 * The old hashes that the history of a block can omit, because they follow from the child's old version in the same block's
 * history. A reader restores the child to get the hash. To bound this, the root and the branches of every third level below it
 * keep the hashes of branches below them: a node needs at most two levels of branches and their leaves, few of which change if
 * there are many. A leaf that has a new value only is restored from the flat state.
 */

/** Whether a branch at this depth keeps the hashes of branches below it. */
const keepsBranches = (depth: number): boolean => depth === 0 || depth % 3 === 2;

/** The deepest node of a trie has 64 nibbles. */
const MAX_DEPTH = 65;

/** Whether it was a leaf, and is not there any more. */
const isMovedLeaf = ({ before, rlp }: TrieNodeChange): boolean =>
  isLeafNode(before!) && (rlp === undefined || !isLeafNode(rlp) || !isSameKey(before!, rlp));

export class RecoverableChildren {
  /** of each node of the run, one bit for each child */
  #masks = new Uint16Array(1024);
  #from = 0;
  /** by depth: the last node there */
  readonly #parents = new Int32Array(MAX_DEPTH + 1);

  /** Looks at the nodes of a trie that a block changed. */
  look({ nodes, from, to }: NodeRun): void {
    const count = to - from;
    if (this.#masks.length < count) this.#masks = new Uint16Array(2 * count);
    this.#from = from;
    this.#masks.fill(0, 0, count);
    const parents = this.#parents.fill(-1);
    for (let i = from; i < to; i++) {
      const node = nodes[i]!;
      const { path, before } = node;
      const depth = path.length;
      parents[depth] = i;
      const parent = depth === 0 ? -1 : parents[depth - 1]!;
      if (parent < 0 || before === undefined || before.length < HASH_SIZE || !startsWith(path, nodes[parent]!.path)) continue;
      if (isSameVersion(node) || (isBranch(before) ? keepsBranches(depth - 1) : isMovedLeaf(node))) continue;
      this.#masks[parent - from]! |= 1 << path[depth - 1]!;
    }
  }

  /** The children of node `index` of the run, one bit each, whose old hash can be left out. */
  of(index: number): number {
    return this.#masks[index - this.#from]!;
  }
}
