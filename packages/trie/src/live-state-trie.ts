import {
  bytesToHex,
  EMPTY_TRIE_ROOT,
  encodeRlp,
  equalBytes,
  type Hex,
  isZeroBytes,
  keccak256,
  trimBytesLeft,
  writeKeccak256,
} from "@rnode/primitives";
import { adoptStorageRoot, decodeAccount, encodeAccount, setStorageRoot } from "./account-codec.ts";
import { LiveTrie, type TrieMemory } from "./live-trie.ts";
import type { TrieNodeChange, TrieNodeReader } from "./node-reader.ts";
import type { LeafMerge, TrieChange } from "./trie-change.ts";

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
  readonly #memory: TrieMemory;
  #accounts: LiveTrie;
  readonly #storage = new Map<Hex, { readonly trie: LiveTrie; usedAt: number }>();
  #pass = 0;
  readonly #changes: ChangeFactory;

  /** @param memory `inPlace`: an account that is given as RLP is kept no longer than `update` takes, too */
  constructor(memory: TrieMemory = {}) {
    this.#memory = memory;
    this.#changes = memory.inPlace === true ? new ReusedChanges() : NEW_CHANGES;
    this.#accounts = new LiveTrie(undefined, EMPTY_TRIE_ROOT, memory);
  }

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
    this.#accounts = new LiveTrie(undefined, stateRoot, this.#memory);
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
    this.#changes.start();
    for (const { address, after, storageCleared, storage } of changes) {
      if (after === undefined) {
        this.#storage.delete(bytesToHex(address));
        accountChanges.push(this.#changes.ofAccount(address, undefined, undefined));
        continue;
      }
      if (storage.length === 0 && !storageCleared) {
        // PERF: the leaf has the storage root, no need to ask for it.
        accountChanges.push(this.#changes.ofAccount(address, after, undefined));
        continue;
      }
      const addressHex = bytesToHex(address);
      const key = keccak256(address);
      const rootBefore =
        (storageRootOf === undefined ? this.#storageRootOf(reader, key) : storageRootOf(address)) ?? EMPTY_TRIE_ROOT;
      const trie = this.#storageTrie(addressHex, key, storageCleared ? EMPTY_TRIE_ROOT : rootBefore);
      if (storage.length > 0) {
        const slotChanges = storage.map(({ slot, after: value }) => this.#changes.ofSlot(slot, value));
        for (const node of trie.update(reader, slotChanges, this.#pass).nodes) nodes.push(node);
      }
      const storageRoot = trie.root;
      // Cleared and filled again, it may be what it was: still a root that somebody who cleared the storage has to know.
      if (storageCleared || !equalBytes(storageRoot, rootBefore)) storageRoots.set(addressHex, storageRoot);
      accountChanges.push(this.#changes.ofAccount(address, after, storageRoot));
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
    const trie = new LiveTrie(owner, root, this.#memory);
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

type AccountAfter = NonNullable<StateTrieChange["after"]>;

/** Makes what tries are told. */
interface ChangeFactory {
  /** Begins an update: what was made for the last one is not needed any more. */
  start(): void;
  ofSlot(slot: Uint8Array, value: Uint8Array): TrieChange;
  /** @param storageRoot undefined: that of the leaf as it is */
  ofAccount(address: Uint8Array, after: AccountAfter | undefined, storageRoot: Uint8Array | undefined): TrieChange;
}

const NEW_CHANGES: ChangeFactory = {
  start: () => undefined,
  ofSlot: (slot, value) => ({ key: keccak256(slot), value: isZeroBytes(value) ? undefined : encodeStorageValue(value) }),
  ofAccount(address, after, storageRoot) {
    const key = keccak256(address);
    if (after === undefined) return { key, value: undefined };
    const value = after instanceof Uint8Array ? after.slice() : encodeAccount({ ...after, storageRoot: EMPTY_TRIE_ROOT });
    if (storageRoot === undefined) return { key, value, merge: adoptStorageRoot };
    setStorageRoot(value, storageRoot);
    return { key, value };
  },
};

/** The same objects for every update. PERF: a block changes some thousand slots and accounts. */
class ReusedChanges implements ChangeFactory {
  readonly #changes: ReusedChange[] = [];
  #used = 0;

  start(): void {
    this.#used = 0;
  }

  #next(): ReusedChange {
    const change = (this.#changes[this.#used] ??= new ReusedChange());
    this.#used++;
    return change;
  }

  ofSlot(slot: Uint8Array, value: Uint8Array): TrieChange {
    const change = this.#next();
    writeKeccak256(change.key, 0, slot);
    change.setSlotValue(value);
    change.merge = undefined;
    return change;
  }

  ofAccount(address: Uint8Array, after: AccountAfter | undefined, storageRoot: Uint8Array | undefined): TrieChange {
    const change = this.#next();
    writeKeccak256(change.key, 0, address);
    change.value =
      after === undefined || after instanceof Uint8Array ? after : encodeAccount({ ...after, storageRoot: EMPTY_TRIE_ROOT });
    change.merge = after !== undefined && storageRoot === undefined ? adoptStorageRoot : undefined;
    if (storageRoot !== undefined && change.value !== undefined) setStorageRoot(change.value, storageRoot);
    return change;
  }
}

class ReusedChange implements TrieChange {
  readonly key = new Uint8Array(32);
  value: Uint8Array | undefined = undefined;
  merge: LeafMerge | undefined = undefined;
  /** RLP of a slot's value, and views of it by size */
  readonly #rlp = new Uint8Array(33);
  readonly #views: Uint8Array[] = [];

  /** As `encodeStorageValue`; zero deletes. */
  setSlotValue(value: Uint8Array): void {
    let start = 0;
    while (start < value.length && value[start] === 0) start++;
    const size = value.length - start;
    if (size === 0) {
      this.value = undefined;
      return;
    }
    const rlp = this.#rlp;
    const dataAt = size === 1 && value[start]! < 0x80 ? 0 : 1;
    if (dataAt === 1) rlp[0] = 0x80 + size;
    for (let i = 0; i < size; i++) rlp[dataAt + i] = value[start + i]!;
    this.value = this.#views[dataAt + size] ??= rlp.subarray(0, dataAt + size);
  }
}
