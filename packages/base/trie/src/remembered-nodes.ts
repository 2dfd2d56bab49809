import { bytesToHex, type Hex } from "@rnode/primitives";
import type { TrieNodeReader } from "./node-reader.ts";

/**
 * A reader that asks another one for each node only once, for work that follows many keys down the same trie: the first nodes are those near the root,
 * which all keys share. It holds at most `maxNodes`.
 */
export function rememberNodes(reader: TrieNodeReader, maxNodes: number): TrieNodeReader {
  const nodes = new Map<Hex, Uint8Array>();
  return {
    readNode(owner, path, hash) {
      const key = bytesToHex(hash);
      const known = nodes.get(key);
      if (known !== undefined) return known;
      const rlp = reader.readNode(owner, path, hash);
      if (rlp !== undefined && nodes.size < maxNodes) nodes.set(key, rlp);
      return rlp;
    },
  };
}
