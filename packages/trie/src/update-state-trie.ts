import { LiveStateTrie, type StateTrieChange, type StateTrieUpdate } from "./live-state-trie.ts";
import type { TrieNodeReader } from "./node-reader.ts";

/**
 * The state root after the changes of a block.
 *
 * @param storageRootOf the storage root, before the block, of an account in `changes`; undefined: no such account
 * @throws {CodedError} trie/missing-node, trie/bad-node
 */
export function updateStateTrie(
  reader: TrieNodeReader,
  parentStateRoot: Uint8Array,
  changes: Iterable<StateTrieChange>,
  storageRootOf: (address: Uint8Array) => Uint8Array | undefined,
): StateTrieUpdate {
  return new LiveStateTrie().update(reader, parentStateRoot, changes, storageRootOf);
}
