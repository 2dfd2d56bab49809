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
import { decodeAccount, encodeAccount } from "./account-codec.ts";
import type { TrieNodeChange, TrieNodeReader } from "./node-reader.ts";
import { LiveTrie, type TrieChange } from "./update-trie.ts";

/** What became of one account; the EVM's `AccountChange` fits. */
export interface StateTrieChange {
  /** 20 bytes */
  readonly address: Uint8Array;
  /**
   * Undefined: the account is gone, and its storage with it. PERF: or its RLP (`encodeAccount`) with any storage root, which is
   * overwritten.
   */
  readonly after: { readonly nonce: bigint; readonly balance: bigint; readonly codeHash: Uint8Array } | Uint8Array | undefined;
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

/** Passes whose nodes stay at first when there are too many. */
const PASSES_KEPT = 64;
/** PERF: below the limit by this much, so that not every update has to make room. */
const KEPT_PART = 0.6;

/**
 * The account trie and the storage tries, with their nodes in memory from one block to the next. A block on another state than the last
 * one starts with nothing in memory.
 */
export class LiveStateTrie {
  #accounts = new LiveTrie(undefined, EMPTY_TRIE_ROOT);
  readonly #storage = new Map<Hex, { readonly trie: LiveTrie; usedAt: number }>();
  #pass = 0;

  /**
   * As `updateStateTrie`, except that nodes which an earlier call listed need not be in the reader before `evict`.
   *
   * @param storageRootOf left out: the account's leaf is read
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

  /** Forgets all nodes. */
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
      const key = keccak256(address);
      if (after === undefined) {
        this.#storage.delete(bytesToHex(address));
        accountChanges.push({ key, value: undefined });
        continue;
      }
      if (storage.length === 0 && !storageCleared) {
        // PERF: the leaf has the storage root, no need to ask for it.
        accountChanges.push({ key, value: accountRlp(after, EMPTY_TRIE_ROOT), keepsStorageRoot: true });
        continue;
      }
      const addressHex = bytesToHex(address);
      const rootBefore =
        (storageRootOf === undefined ? this.#storageRootOf(reader, key) : storageRootOf(address)) ?? EMPTY_TRIE_ROOT;
      const trie = this.#storageTrie(addressHex, key, storageCleared ? EMPTY_TRIE_ROOT : rootBefore);
      if (storage.length > 0) for (const node of trie.update(reader, storage.map(toTrieChange), this.#pass).nodes) nodes.push(node);
      const storageRoot = trie.root;
      // Cleared and filled again, it may be what it was: still a root that somebody who cleared the storage has to know.
      if (storageCleared || !equalBytes(storageRoot, rootBefore)) storageRoots.set(addressHex, storageRoot);
      accountChanges.push({ key, value: accountRlp(after, storageRoot) });
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
   * Keeps at most about `maxNodes` nodes in memory, those used last.
   *
   * @param pinned all nodes but those that the last so many updates listed are in the reader from now on
   * @returns how many of the last updates all listed nodes of are still in memory, at least `pinned`; infinity: nothing was forgotten
   */
  evict(maxNodes: number, pinned = 0): number {
    if (this.nodeCount <= maxNodes) return Number.POSITIVE_INFINITY;
    for (let passes = Math.max(PASSES_KEPT, pinned); ; passes = Math.max(passes >> 2, pinned)) {
      const oldest = this.#pass - passes + 1;
      for (const [addressHex, { trie, usedAt }] of this.#storage) {
        if (usedAt < oldest) this.#storage.delete(addressHex);
        else trie.evictBefore(oldest);
      }
      this.#accounts.evictBefore(oldest);
      if (this.nodeCount <= maxNodes * KEPT_PART || passes === pinned) return passes;
    }
  }
}

/** RLP of an account ends with its storage root and its code hash, 33 bytes each. */
const STORAGE_ROOT_FROM_END = 65;

function accountRlp(account: NonNullable<StateTrieChange["after"]>, storageRoot: Uint8Array): Uint8Array {
  if (!(account instanceof Uint8Array)) return encodeAccount({ ...account, storageRoot });
  const rlp = account.slice();
  rlp.set(storageRoot, rlp.length - STORAGE_ROOT_FROM_END);
  return rlp;
}

function toTrieChange({ slot, after }: { readonly slot: Uint8Array; readonly after: Uint8Array }): TrieChange {
  return { key: keccak256(slot), value: isZeroBytes(after) ? undefined : encodeStorageValue(after) };
}
