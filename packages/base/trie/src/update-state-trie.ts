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
import { adoptStorageRoot, encodeAccount, setStorageRoot } from "./account-codec.ts";
import type { TrieNodeChange, TrieNodeReader } from "./node-reader.ts";
import type { TrieChange } from "./trie-change.ts";
import { updateTrie } from "./update-trie.ts";

/** The change of one account; the EVM's `AccountChange` has this form. */
export interface StateTrieChange {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** `undefined`: the account and its storage were deleted */
  readonly after: { readonly nonce: bigint; readonly balance: bigint; readonly codeHash: Uint8Array } | undefined;
  /** the storage trie starts empty; `storage` lists the slots written afterwards */
  readonly storageCleared: boolean;
  /** 32-byte slot and 32-byte value each; zero deletes the slot */
  readonly storage: readonly { readonly slot: Uint8Array; readonly after: Uint8Array }[];
}

export interface StateTrieUpdate {
  readonly stateRoot: Uint8Array;
  /** new storage roots of the accounts whose storage was cleared or changed, by lower-case hex address */
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
  /**
   * For a cleared storage trie (`storageCleared`, or a deleted account), only the new nodes are listed: before storing them,
   * delete all rows of that owner.
   */
  readonly nodes: readonly TrieNodeChange[];
}

/** RLP of a storage trie's leaf value. @param value 32 bytes, not zero */
export function encodeStorageValue(value: Uint8Array): Uint8Array {
  return encodeRlp(trimBytesLeft(value));
}

/**
 * The state root after the changes of a block, computed from the reader alone. It reads exactly the nodes of a witness.
 * `LinearStateTrie` is faster for consecutive blocks.
 *
 * @param storageRootOf the storage root, before the block, of an account in `changes`; `undefined`: no such account
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
    const value = encodeAccount({ ...after, storageRoot: EMPTY_TRIE_ROOT });
    if (storage.length === 0 && !storageCleared) {
      // PERF: the leaf has the storage root, so no lookup is needed.
      accountChanges.push({ key, value, merge: adoptStorageRoot });
      continue;
    }
    const rootBefore = storageRootOf(address) ?? EMPTY_TRIE_ROOT;
    const update = updateTrie(reader, key, storageCleared ? EMPTY_TRIE_ROOT : rootBefore, storage.map(slotChange));
    for (const node of update.nodes) nodes.push(node);
    // A storage that was cleared and filled again can have the same root as before, but the clearing must be reported.
    if (storageCleared || !equalBytes(update.root, rootBefore)) storageRoots.set(bytesToHex(address), update.root);
    setStorageRoot(value, update.root);
    accountChanges.push({ key, value });
  }
  const update = updateTrie(reader, undefined, parentStateRoot, accountChanges);
  for (const node of update.nodes) nodes.push(node);
  return { stateRoot: update.root, storageRoots, nodes };
}

const slotChange = ({ slot, after }: StateTrieChange["storage"][number]): TrieChange => ({
  key: keccak256(slot),
  value: isZeroBytes(after) ? undefined : encodeStorageValue(after),
});
