/**
 * Where trie nodes come from. A database finds them by path, a witness by hash; both are given.
 * A trie is the account trie (`owner` undefined) or the storage trie of `owner` = keccak256(address).
 */
export interface TrieNodeReader {
  /**
   * RLP of the node at `path`, whose keccak256 is `hash`.
   *
   * @param owner undefined for the account trie, else 32 bytes
   * @param path nibbles from the root, one a byte; valid only during the call, like `hash`
   * @returns bytes that stay as they are while the operation lasts; undefined when missing: the operation then throws
   * trie/missing-node
   */
  readNode(owner: Uint8Array | undefined, path: Uint8Array, hash: Uint8Array): Uint8Array | undefined;
}

/**
 * A node written (RLP) or deleted (undefined) by an update. Nodes under 32 bytes are inside their parents and never listed, except a
 * root.
 */
export interface TrieNodeChange {
  readonly owner: Uint8Array | undefined;
  readonly path: Uint8Array;
  readonly rlp: Uint8Array | undefined;
  /** what was at this path before; undefined: no row. Nothing is known of the rows of a storage trie that was cleared. */
  readonly before: Uint8Array | undefined;
  /**
   * Where `rlp` and `before`, if they are equally long, may differ: from here up to `differsTo`; left out: anywhere. PERF: most branches differ
   * in one hash of sixteen.
   */
  readonly differsFrom?: number;
  readonly differsTo?: number;
}

export type TrieErrorCode =
  /** a node that the operation needs is not in the reader */
  | "trie/missing-node"
  /** bytes that are not a trie node */
  | "trie/bad-node"
  /** a proof that does not lead from the root to the key's place */
  | "trie/bad-proof"
  /** keys of a sorted build that do not ascend */
  | "trie/unsorted-keys";
