import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import type { TrieNodeReader } from "./node-reader.ts";

/** Finds the nodes of a witness by their hashes. The hashes are computed here, so a wrong node is never returned. */
export function witnessNodeReader(nodes: Iterable<Uint8Array>): TrieNodeReader {
  const byHash = new Map<Hex, Uint8Array>();
  for (const rlp of nodes) byHash.set(bytesToHex(keccak256(rlp)), rlp);
  return {
    readNode(_owner, _path, hash) {
      return byHash.get(bytesToHex(hash));
    },
  };
}
