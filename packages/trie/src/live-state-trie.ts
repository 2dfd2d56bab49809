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
import { adoptStorageRoot, decodeAccount, encodeAccount, setStorageRoot } from "./account-codec.ts";
import { evictionSteps } from "./eviction.ts";
import { LiveTrie } from "./live-trie.ts";
import type { TrieNodeChange, TrieNodeReader } from "./node-reader.ts";
import type { TrieChange } from "./trie-change.ts";

/** The change of one account; the EVM's `AccountChange` has this form. */
export interface StateTrieChange {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** undefined: the account was deleted, and its storage with it */
  readonly after: { readonly nonce: bigint; readonly balance: bigint; readonly codeHash: Uint8Array } | undefined;
  /** the storage trie starts empty; `storage` lists what was written afterwards */
  readonly storageCleared: boolean;
  /** 32-byte slot and 32-byte value each; zero deletes the slot */
  readonly storage: readonly { readonly slot: Uint8Array; readonly after: Uint8Array }[];
}

export interface StateTrieUpdate {
  readonly stateRoot: Uint8Array;
  /** new storage roots of the accounts whose storage was cleared or changed, by lower-case hex address */
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
  /**
   * For a storage trie that was cleared (`storageCleared`, or the account was deleted), only the new nodes are listed: before
   * storing them, delete everything stored for that owner.
   */
  readonly nodes: readonly TrieNodeChange[];
}

/** RLP of a storage trie's leaf value. @param value 32 bytes, not zero */
export function encodeStorageValue(value: Uint8Array): Uint8Array {
  return encodeRlp(trimBytesLeft(value));
}

/**
 * The account trie and the storage tries, whose nodes stay in memory from one block to the next. A block that does not build on the
 * previous block's state starts with nothing in memory.
 */
export class LiveStateTrie {
  #accounts = new LiveTrie(undefined, EMPTY_TRIE_ROOT);
  readonly #storage = new Map<Hex, { readonly trie: LiveTrie; usedAt: number }>();
  #pass = 0;

  /**
   * Like `updateStateTrie`, but nodes that an earlier call listed need not be in the reader before they are evicted.
   *
   * @param storageRootOf if omitted, the root is read from the account's leaf
   * @throws {CodedError} trie/missing-node, trie/bad-node; the next call then starts with nothing in memory
   */
  update(
    reader: TrieNodeReader,
    parentStateRoot: Uint8Array,
    changes: Iterable<StateTrieChange>,
    storageRootOf?: (address: Uint8Array) => Uint8Array | undefined,
  ): StateTrieUpdate {
    this.#pass++;
    if (!equalBytes(this.#accounts.root, parentStateRoot)) this.#startAt(parentStateRoot);
    try {
      return this.#update(reader, changes, storageRootOf);
    } catch (error) {
      this.#startAt(EMPTY_TRIE_ROOT);
      throw error;
    }
  }

  /** Discards all nodes. */
  clear(): void {
    this.#startAt(EMPTY_TRIE_ROOT);
  }

  #startAt(stateRoot: Uint8Array): void {
    this.#accounts = new LiveTrie(undefined, stateRoot);
    this.#storage.clear();
  }

  #update(
    reader: TrieNodeReader,
    changes: Iterable<StateTrieChange>,
    storageRootOf: ((address: Uint8Array) => Uint8Array | undefined) | undefined,
  ): StateTrieUpdate {
    const storageRoots = new Map<Hex, Uint8Array>();
    const nodes: TrieNodeChange[] = [];
    const accountChanges: TrieChange[] = [];
    for (const { address, after, storageCleared, storage } of changes) {
      if (after === undefined) {
        this.#storage.delete(bytesToHex(address));
        accountChanges.push(accountChange(address, undefined, undefined));
        continue;
      }
      if (storage.length === 0 && !storageCleared) {
        // PERF: the leaf has the storage root, so there is no need to ask for it.
        accountChanges.push(accountChange(address, after, undefined));
        continue;
      }
      const addressHex = bytesToHex(address);
      const key = keccak256(address);
      const rootBefore =
        (storageRootOf === undefined ? this.#storageRootOf(reader, key) : storageRootOf(address)) ?? EMPTY_TRIE_ROOT;
      const trie = this.#storageTrie(addressHex, key, storageCleared ? EMPTY_TRIE_ROOT : rootBefore);
      if (storage.length > 0) {
        const slotChanges = storage.map(({ slot, after: value }) => slotChange(slot, value));
        for (const node of trie.update(reader, slotChanges, this.#pass).nodes) nodes.push(node);
      }
      const storageRoot = trie.root;
      // A storage that was cleared and filled again may have the same root as before, but whoever cleared it must be told.
      if (storageCleared || !equalBytes(storageRoot, rootBefore)) storageRoots.set(addressHex, storageRoot);
      accountChanges.push(accountChange(address, after, storageRoot));
    }
    const update = this.#accounts.update(reader, accountChanges, this.#pass);
    for (const node of update.nodes) nodes.push(node);
    return { stateRoot: update.root, storageRoots, nodes };
  }

  #storageRootOf(reader: TrieNodeReader, key: Uint8Array): Uint8Array | undefined {
    const account = this.#accounts.get(reader, key);
    return account === undefined ? undefined : decodeAccount(account).storageRoot.slice();
  }

  #storageTrie(addressHex: Hex, owner: Uint8Array, root: Uint8Array): LiveTrie {
    const kept = this.#storage.get(addressHex);
    if (kept !== undefined && equalBytes(kept.trie.root, root)) {
      kept.usedAt = this.#pass;
      return kept.trie;
    }
    const trie = new LiveTrie(owner, root);
    this.#storage.set(addressHex, { trie, usedAt: this.#pass });
    return trie;
  }

  get nodeCount(): number {
    let count = this.#accounts.nodeCount;
    for (const { trie } of this.#storage.values()) count += trie.nodeCount + 1;
    return count;
  }

  /**
   * Keeps at most about `maxNodes` nodes in memory, the most recently used ones.
   *
   * @param pinned nodes listed by this many last updates may not be in the reader yet, and stay in memory
   * @returns how many of the last updates still have all their listed nodes in memory, at least `pinned`; infinity: nothing was
   * discarded
   */
  evict(maxNodes: number, pinned = 0): number {
    return evictionSteps(this, maxNodes, pinned, (passes) => {
      const oldest = this.#pass - passes + 1;
      for (const [addressHex, { trie, usedAt }] of this.#storage) {
        if (usedAt < oldest) this.#storage.delete(addressHex);
        else trie.evictBefore(oldest);
      }
      this.#accounts.evictBefore(oldest);
    });
  }
}

/** @param storageRoot undefined: keep that of the leaf */
function accountChange(address: Uint8Array, after: StateTrieChange["after"], storageRoot: Uint8Array | undefined): TrieChange {
  const key = keccak256(address);
  if (after === undefined) return { key, value: undefined };
  const value = encodeAccount({ ...after, storageRoot: EMPTY_TRIE_ROOT });
  if (storageRoot === undefined) return { key, value, merge: adoptStorageRoot };
  setStorageRoot(value, storageRoot);
  return { key, value };
}

const slotChange = (slot: Uint8Array, value: Uint8Array): TrieChange => ({
  key: keccak256(slot),
  value: isZeroBytes(value) ? undefined : encodeStorageValue(value),
});
