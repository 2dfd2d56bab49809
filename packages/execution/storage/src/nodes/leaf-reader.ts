import { contentAt, isBranch, isLeaf, itemEnd } from "./node-shape.ts";

/**
 * Leaves have no rows among the trie nodes: their keys and values are those of the flat state. A stored node refers to a leaf by its hash; a path that
 * a node refers to and that has no row is that of a leaf.
 */
export interface LeafReader {
  /**
   * The leaf at a path of the head's trie.
   *
   * @param path nibbles, one per byte
   * @param wanted the key that the leaf may have
   * @returns its RLP; `undefined`: no key of the flat state begins with the path
   */
  read(owner: Uint8Array | undefined, path: Uint8Array, wanted?: Uint8Array): Uint8Array | undefined;
  /**
   * The leaf at that path after block `number`.
   *
   * @param later that leaf with any value; `undefined`: it is still at this path
   */
  readAt(number: number, owner: Uint8Array | undefined, path: Uint8Array, later: Uint8Array | undefined): Uint8Array | undefined;
}

export const isLeafNode = (rlp: Uint8Array): boolean => !isBranch(rlp) && isLeaf(rlp);

/** Whether both leaves, which are at one path, have the same key. */
export function isSameKey(a: Uint8Array, b: Uint8Array): boolean {
  const from = contentAt(a, 0);
  const otherFrom = contentAt(b, 0);
  const size = itemEnd(a, from) - from;
  if (itemEnd(b, otherFrom) - otherFrom !== size) return false;
  for (let i = 0; i < size; i++) if (a[from + i] !== b[otherFrom + i]) return false;
  return true;
}
