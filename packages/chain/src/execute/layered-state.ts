import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, type Hex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { StateView, StoredAccount } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import { nodeKey, type StateLayer } from "./executed-block.ts";

/**
 * The state after a block that is not in the database: the changes of the block and of its in-memory ancestors, on top of the state of
 * the canonical block that they build on. A read costs one map look-up per layer.
 */
export class LayeredState implements StateView {
  readonly block: BlockId;
  readonly #base: StateView;
  /** newest first */
  readonly #layers: readonly StateLayer[];

  constructor(block: BlockId, base: StateView, layers: readonly StateLayer[]) {
    this.block = block;
    this.#base = base;
    this.#layers = layers;
  }

  readAccount(address: Uint8Array): StoredAccount | undefined {
    const key = bytesToHex(address);
    for (const layer of this.#layers) {
      const account = layer.accounts.get(key);
      if (account === undefined) continue;
      const { after } = account.change;
      return after === undefined ? undefined : { ...after, storageRoot: this.#storageRoot(key, address) };
    }
    return this.#base.readAccount(address);
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const key = bytesToHex(address);
    const slotKey = bytesToHex(slot);
    for (const layer of this.#layers) {
      const account = layer.accounts.get(key);
      if (account === undefined) continue;
      const value = account.storage.get(slotKey);
      if (value !== undefined) return value;
      if (account.change.storageCleared || account.change.after === undefined) return undefined;
    }
    return this.#base.readStorage(address, slot);
  }

  hasStorage(address: Uint8Array): boolean {
    const account = this.readAccount(address);
    return account !== undefined && !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    const key = bytesToHex(codeHash);
    for (const layer of this.#layers) {
      const code = layer.codes.get(key);
      if (code !== undefined) return code;
    }
    return this.#base.readCode(codeHash);
  }

  readBlockHash(number: number): Uint8Array | undefined {
    for (const layer of this.#layers) if (layer.number === number) return layer.hash;
    return this.#base.readBlockHash(number);
  }

  #storageRoot(key: Hex, address: Uint8Array): Uint8Array {
    for (const layer of this.#layers) {
      const root = layer.storageRoots.get(key);
      if (root !== undefined) return root;
      // The account was destroyed and created again above, so the roots below are those of another storage.
      if (layer.accounts.get(key)?.change.after === undefined && layer.accounts.has(key)) return EMPTY_TRIE_ROOT;
    }
    return this.#base.readAccount(address)?.storageRoot ?? EMPTY_TRIE_ROOT;
  }
}

/**
 * The trie nodes that belong to a `LayeredState`. If a layer cleared a storage trie, its old nodes remain below, but no new root leads
 * to them.
 *
 * @param layers newest first
 */
export function layeredNodes(base: TrieNodeReader, layers: readonly StateLayer[]): TrieNodeReader {
  return {
    readNode(owner, path, hash) {
      const key = nodeKey(owner, path);
      for (const layer of layers) {
        if (layer.nodes.has(key)) return layer.nodes.get(key);
      }
      return base.readNode(owner, path, hash);
    },
  };
}
