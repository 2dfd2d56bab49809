import {
  bytesToHex,
  EMPTY_TRIE_ROOT,
  encodeRlp,
  equalBytes,
  type Hex,
  isZeroBytes,
  keccak256,
  trimBytesLeft,
} from "@rnode/primitives";
import { encodeAccount } from "./account-codec.ts";
import type { TrieNodeChange, TrieNodeReader } from "./node-reader.ts";
import { type TrieChange, updateTrie } from "./update-trie.ts";

/** What became of one account; the EVM's `AccountChange` fits. */
export interface StateTrieChange {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** undefined: the account is gone, and its storage with it */
  readonly after: { readonly nonce: bigint; readonly balance: bigint; readonly codeHash: Uint8Array } | undefined;
  /** the storage trie starts empty; `storage` lists what was written after */
  readonly storageCleared: boolean;
  /** 32-byte slot and 32-byte value each; zero deletes */
  readonly storage: readonly { readonly slot: Uint8Array; readonly after: Uint8Array }[];
}

export interface StateTrieUpdate {
  readonly stateRoot: Uint8Array;
  /** new storage roots of the accounts whose storage was cleared or changed, by lower-case hex address */
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
  /**
   * Of a storage trie that was cleared (`storageCleared`, or the account is gone) only the new nodes are listed: whoever keeps nodes
   * first drops all that it has of that owner.
   */
  readonly nodes: readonly TrieNodeChange[];
}

/** RLP of a storage trie's leaf value. @param value 32 bytes, not zero */
export function encodeStorageValue(value: Uint8Array): Uint8Array {
  return encodeRlp(trimBytesLeft(value));
}

/**
 * State root after the changes of a block.
 *
 * @param storageRootOf storage root before the block of an account that `changes` lists; undefined: no such account
 * @throws {CodedError} trie/missing-node, trie/bad-node
 */
export function updateStateTrie(
  reader: TrieNodeReader,
  parentStateRoot: Uint8Array,
  changes: Iterable<StateTrieChange>,
  storageRootOf: (address: Uint8Array) => Uint8Array | undefined,
): StateTrieUpdate {
  const storageRoots = new Map<Hex, Uint8Array>();
  const nodes: TrieNodeChange[] = [];
  const accountChanges: TrieChange[] = [];
  for (const { address, after, storageCleared, storage } of changes) {
    const key = keccak256(address);
    if (after === undefined) {
      accountChanges.push({ key, value: undefined });
      continue;
    }
    const rootBefore = storageRootOf(address) ?? EMPTY_TRIE_ROOT;
    let storageRoot = storageCleared ? EMPTY_TRIE_ROOT : rootBefore;
    if (storage.length > 0) {
      const update = updateTrie(reader, key, storageRoot, storage.map(toTrieChange));
      storageRoot = update.root;
      for (const node of update.nodes) nodes.push(node);
    }
    if (!equalBytes(storageRoot, rootBefore)) storageRoots.set(bytesToHex(address), storageRoot);
    accountChanges.push({ key, value: encodeAccount({ ...after, storageRoot }) });
  }
  const update = updateTrie(reader, undefined, parentStateRoot, accountChanges);
  for (const node of update.nodes) nodes.push(node);
  return { stateRoot: update.root, storageRoots, nodes };
}

function toTrieChange({ slot, after }: { readonly slot: Uint8Array; readonly after: Uint8Array }): TrieChange {
  return { key: keccak256(slot), value: isZeroBytes(after) ? undefined : encodeStorageValue(after) };
}
