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

/** The change of one account; the EVM's `AccountChange` has this form. */
export interface StateTrieChange {
  /** 20 bytes */
  readonly address: Uint8Array;
  /**
   * Undefined: the account was deleted, and its storage with it. PERF: may also be the account's RLP (`encodeAccount`) with any
   * storage root, which is overwritten.
   */
  readonly after: { readonly nonce: bigint; readonly balance: bigint; readonly codeHash: Uint8Array } | Uint8Array | undefined;
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

/** If there are too many nodes, those of this many last passes are kept at first. */
const PASSES_KEPT = 64;
/** PERF: how far below the limit to go, so that not every update has to evict nodes. */
const KEPT_PART = 0.6;

/**
 * The account trie and the storage tries, whose nodes stay in memory from one block to the next. A block that does not build on the
 * previous block's state starts with nothing in memory.
 */
export class LiveStateTrie {
  readonly #memory: TrieMemory;
  #accounts: LiveTrie;
  readonly #storage = new Map<Hex, { readonly trie: LiveTrie; usedAt: number }>();
  #pass = 0;
  readonly #changes: ChangeFactory;

  /** @param memory with `inPlace`, an account given as RLP is not kept after `update` returns either */
  constructor(memory: TrieMemory = {}) {
    this.#memory = memory;
    this.#changes = memory.inPlace === true ? new ReusedChanges() : NEW_CHANGES;
    this.#accounts = new LiveTrie(undefined, EMPTY_TRIE_ROOT, memory);
  }

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
        // PERF: the leaf has the storage root, so there is no need to ask for it.
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
      // A storage that was cleared and filled again may have the same root as before, but whoever cleared it must be told.
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
   * Keeps at most about `maxNodes` nodes in memory, the most recently used ones.
   *
   * @param pinned nodes listed by this many last updates may not be in the reader yet, and stay in memory
   * @returns how many of the last updates still have all their listed nodes in memory, at least `pinned`; infinity: nothing was
   * discarded
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

/** Creates the changes that are passed to the tries. */
interface ChangeFactory {
  /** Begins an update: the objects created for the last one are not needed any more. */
  start(): void;
  ofSlot(slot: Uint8Array, value: Uint8Array): TrieChange;
  /** @param storageRoot undefined: keep that of the leaf */
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

/** Reuses the same objects for every update. PERF: a block changes some thousand slots and accounts. */
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

  /** Like `encodeStorageValue`; zero deletes the slot. */
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
