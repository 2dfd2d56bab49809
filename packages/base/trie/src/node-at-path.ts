import { EMPTY_TRIE_ROOT, equalBytes } from "@rnode/primitives";
import { decodeNode, type TrieNode } from "./node.ts";
import { nibbleAt } from "./node-codec.ts";
import type { TrieNodeReader } from "./node-reader.ts";
import { missingNode } from "./trie-errors.ts";

/**
 * The node at exactly that path, found from the root down.
 *
 * @param path nibbles, one per byte
 * @returns its RLP; `undefined` if no node has that path, or if it is inside its parent
 * @throws {CodedError} trie/missing-node, trie/bad-node
 */
export function nodeAtPath(
  reader: TrieNodeReader,
  owner: Uint8Array | undefined,
  root: Uint8Array,
  path: Uint8Array,
): Uint8Array | undefined {
  if (equalBytes(root, EMPTY_TRIE_ROOT)) return undefined;
  /** a hash, or a node inside its parent */
  let next: Uint8Array | TrieNode = root;
  for (let depth = 0; ; ) {
    let node: TrieNode;
    if (next instanceof Uint8Array) {
      const rlp = reader.readNode(owner, path.subarray(0, depth), next);
      if (rlp === undefined) throw missingNode(owner, path.subarray(0, depth), next);
      if (depth === path.length) return rlp;
      node = decodeNode(rlp, 0, true);
    } else {
      if (depth === path.length) return undefined;
      node = next;
    }
    if (node.kind === "leaf") return undefined;
    if (node.kind === "branch") {
      const child: number = node.at[path[depth]!] ?? 0;
      if (child === 0) return undefined;
      depth++;
      next = childAt(node.rlp, child);
    } else {
      for (let i = node.from; i < node.to; i++) if (path[depth++] !== nibbleAt(node.bytes, i)) return undefined;
      next = childAt(node.child as Uint8Array, 0); // a decoded extension holds the reference to its child
    }
  }
}

const childAt = (rlp: Uint8Array, at: number): Uint8Array | TrieNode =>
  rlp[at] === 0xa0 ? rlp.subarray(at + 1, at + 33) : decodeNode(rlp, at, false);
