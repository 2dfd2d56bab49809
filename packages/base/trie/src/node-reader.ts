/**
 * The source of trie nodes. A database looks up nodes by path, a witness by hash; the reader gets both. A trie is the account
 * trie (`owner` undefined) or the storage trie of `owner` = keccak256(address).
 */
export interface TrieNodeReader {
  /**
   * RLP of the node at `path`, whose keccak256 is `hash`.
   *
   * @param owner `undefined` for the account trie, otherwise 32 bytes
   * @param path nibbles from the root, one per byte; only valid during the call, like `hash` and `key`
   * @param key the key that is looked for, 32 bytes. PERF: a reader that makes leaves from the state tries it first
   * @returns bytes that do not change during the operation; `undefined` if the node is missing (the operation then throws
   * trie/missing-node)
   */
  readNode(owner: Uint8Array | undefined, path: Uint8Array, hash: Uint8Array, key?: Uint8Array): Uint8Array | undefined;
}

/**
 * A node that an update writes (its RLP) or deletes (`undefined`). Nodes below 32 bytes are inside their parents and never
 * listed, except for a root.
 */
export interface TrieNodeChange {
  readonly owner: Uint8Array | undefined;
  readonly path: Uint8Array;
  readonly rlp: Uint8Array | undefined;
  /** the previous row at this path; `undefined`: no row. Unknown in a storage trie that was cleared. */
  readonly before: Uint8Array | undefined;
  /**
   * if `rlp` and `before` have the same length, they differ only from here up to `differsTo`; absent: anywhere. PERF: most
   * branches differ in one of sixteen hashes.
   */
  readonly differsFrom?: number;
  readonly differsTo?: number;
}

export type TrieErrorCode =
  /** a node that the operation needs is not in the reader */
  | "trie/missing-node"
  /** bytes that are not a trie node */
  | "trie/bad-node"
  /** a proof that does not lead from the root to the key */
  | "trie/bad-proof"
  /** the keys of a sorted build do not ascend */
  | "trie/unsorted-keys";
