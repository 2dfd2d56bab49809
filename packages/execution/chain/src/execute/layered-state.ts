import type { AccountChange } from "@rnode/evm";
import { bytesToHex, EMPTY_TRIE_ROOT, type ExactInteger, equalBytes, type Hex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { StateView, StoredAccount } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import { nodeKey, type StateLayer } from "./executed-block.ts";

/** The value in a layer; the lowest layer has depth 1. */
interface Version<T> {
  readonly depth: number;
  readonly value: T;
}

/** The versions of one account, lowest layer first. */
interface AccountVersions {
  readonly changes: Version<AccountChange>[];
  readonly storageRoots: Version<Uint8Array>[];
  readonly slots: Map<Hex, Version<Uint8Array>[]>;
}

/**
 * Stacked layers of one branch. PERF: a read needs one look-up, however many layers there are. Readers of a lower depth do not
 * see layers that are added later.
 */
export class StateLayers {
  readonly #layers: StateLayer[] = [];
  readonly #accounts = new Map<Hex, AccountVersions>();
  readonly #codes = new Map<Hex, Uint8Array>();

  /** @param layers lowest first */
  constructor(layers: Iterable<StateLayer> = []) {
    for (const layer of layers) this.add(layer);
  }

  /** how many layers there are */
  get depth(): number {
    return this.#layers.length;
  }

  /** Puts a layer on top. */
  add(layer: StateLayer): void {
    this.#layers.push(layer);
    const { depth } = this;
    for (const [key, { change, storage }] of layer.accounts) {
      const account = this.#versionsOf(key);
      account.changes.push({ depth, value: change });
      for (const [slot, value] of storage) {
        const versions = account.slots.get(slot);
        if (versions === undefined) account.slots.set(slot, [{ depth, value }]);
        else versions.push({ depth, value });
      }
    }
    for (const [key, value] of layer.storageRoots) this.#versionsOf(key).storageRoots.push({ depth, value });
    for (const [key, code] of layer.codes) this.#codes.set(key, code); // a reader with the hash may have the code
  }

  account(key: Hex): AccountVersions | undefined {
    return this.#accounts.get(key);
  }

  code(key: Hex): Uint8Array | undefined {
    return this.#codes.get(key);
  }

  /** The layers up to a depth, newest first. */
  *newestFirst(depth: number): Generator<StateLayer> {
    for (let at = depth - 1; at >= 0; at--) yield this.#layers[at]!;
  }

  #versionsOf(key: Hex): AccountVersions {
    let account = this.#accounts.get(key);
    if (account === undefined) {
      account = { changes: [], storageRoots: [], slots: new Map() };
      this.#accounts.set(key, account);
    }
    return account;
  }
}

/** The newest version up to a depth of which something holds. */
function newest<T>(versions: readonly Version<T>[], depth: number, holds?: (value: T) => boolean): Version<T> | undefined {
  for (let at = versions.length - 1; at >= 0; at--) {
    const version = versions[at]!;
    if (version.depth <= depth && (holds === undefined || holds(version.value))) return version;
  }
  return undefined;
}

const isGone = ({ after }: AccountChange): boolean => after === undefined;
const clearsStorage = (change: AccountChange): boolean => change.storageCleared || isGone(change);

/**
 * The state after a block that is not in the database: the changes of the block and of its in-memory ancestors, on top of the state of
 * the canonical block that they build on.
 */
export class LayeredState implements StateView {
  readonly block: BlockId;
  readonly #base: StateView;
  readonly #layers: StateLayers;
  readonly #depth: number;

  /** @param depth how many of the layers are below this state */
  constructor(block: BlockId, base: StateView, layers: StateLayers, depth = layers.depth) {
    this.block = block;
    this.#base = base;
    this.#layers = layers;
    this.#depth = depth;
  }

  readAccount(address: Uint8Array): StoredAccount | undefined {
    const account = this.#layers.account(bytesToHex(address));
    const change = account && newest(account.changes, this.#depth);
    if (account === undefined || change === undefined) return this.#base.readAccount(address);
    const { after } = change.value;
    return after === undefined ? undefined : { ...after, storageRoot: this.#storageRoot(account, address) };
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const account = this.#layers.account(bytesToHex(address));
    if (account === undefined) return this.#base.readStorage(address, slot);
    const versions = account.slots.get(bytesToHex(slot));
    const written = versions && newest(versions, this.#depth);
    const cleared = newest(account.changes, this.#depth, clearsStorage);
    if (written !== undefined && written.depth >= (cleared?.depth ?? 0)) return written.value;
    return cleared === undefined ? this.#base.readStorage(address, slot) : undefined;
  }

  hasStorage(address: Uint8Array): boolean {
    const account = this.readAccount(address);
    return account !== undefined && !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    return this.#layers.code(bytesToHex(codeHash)) ?? this.#base.readCode(codeHash);
  }

  readBlockHash(number: ExactInteger): Uint8Array | undefined {
    for (const layer of this.#layers.newestFirst(this.#depth)) if (layer.number === number) return layer.hash;
    return this.#base.readBlockHash(number);
  }

  #storageRoot({ changes, storageRoots }: AccountVersions, address: Uint8Array): Uint8Array {
    const root = newest(storageRoots, this.#depth);
    const gone = newest(changes, this.#depth, isGone);
    if (root !== undefined && root.depth >= (gone?.depth ?? 0)) return root.value;
    // If the account was destroyed and created again, the roots below are those of another storage.
    return gone === undefined ? (this.#base.readAccount(address)?.storageRoot ?? EMPTY_TRIE_ROOT) : EMPTY_TRIE_ROOT;
  }
}

/**
 * The trie nodes that belong to a `LayeredState`. If a layer cleared a storage trie, its old nodes remain below, but no new root leads
 * to them.
 */
export function layeredNodes(base: TrieNodeReader, layers: StateLayers, depth = layers.depth): TrieNodeReader {
  return {
    readNode(owner, path, hash, key) {
      const place = nodeKey(owner, path);
      for (const layer of layers.newestFirst(depth)) {
        if (layer.nodes.has(place)) return layer.nodes.get(place);
      }
      return base.readNode(owner, path, hash, key);
    },
  };
}
