import { bytesToHex, type Hex } from "@rnode/primitives";
import type { TrieNodeReader } from "./node-reader.ts";

/**
 * A reader that requests each node only once from another reader. It is for work with many keys of the same trie, which share the
 * nodes near the root. It caches the first `maxNodes` nodes.
 */
export function rememberNodes(reader: TrieNodeReader, maxNodes: number): TrieNodeReader {
  const nodes = new Map<Hex, Uint8Array>();
  return {
    readNode(owner, path, hash, key) {
      const name = bytesToHex(hash);
      const known = nodes.get(name);
      if (known !== undefined) return known;
      const rlp = reader.readNode(owner, path, hash, key);
      if (rlp !== undefined && nodes.size < maxNodes) nodes.set(name, rlp);
      return rlp;
    },
  };
}
