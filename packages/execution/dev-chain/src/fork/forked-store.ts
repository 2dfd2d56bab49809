import { EMPTY_TRIE_ROOT, type ExactInteger } from "@rnode/primitives";
import type { BlockId, Header } from "@rnode/protocol";
import type { ChainStore, StateView, StoredAccount } from "@rnode/storage";
import { LocalChanges } from "./local-changes.ts";
import type { RemoteState } from "./remote-state.ts";

/**
 * The database of a forked chain, whose first block is the fork block: it has what local blocks changed, all else is asked from the endpoint.
 * Its tries have the changed accounts and slots only, so state roots of local blocks are not those that the real chain would have.
 */
export function forkedStore(store: ChainStore, remote: RemoteState): ChainStore {
  const local = new LocalChanges();
  const own: Partial<ChainStore> = {
    stateAt(number) {
      const view = store.stateAt(number);
      return view && new ForkedState(view, number, local, remote);
    },
    commitBlock(commit, ...rest) {
      store.commitBlock(commit, ...rest);
      local.add(commit.block.header.number, commit.changes);
    },
    reorganize(toNumber, commits, ...rest) {
      store.reorganize(toNumber, commits, ...rest);
      local.unwind(toNumber);
      for (const commit of commits) local.add(commit.block.header.number, commit.changes);
    },
  };
  const hidden = new Set<string | symbol>(["folder", "pageReading"]); // threads would read the database without the endpoint
  return new Proxy(store, {
    get(target, key) {
      if (hidden.has(key)) return undefined;
      const value: unknown = Reflect.get(own, key) ?? Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The root of the local tries after a block: the fork block has none yet. */
export const forkedTrieRoot =
  (remote: RemoteState) =>
  ({ number, stateRoot }: Header): Uint8Array =>
    number === remote.block.header.number ? EMPTY_TRIE_ROOT : stateRoot;

class ForkedState implements StateView {
  readonly #view: StateView;
  readonly #number: number;
  readonly #local: LocalChanges;
  readonly #remote: RemoteState;

  constructor(view: StateView, number: number, local: LocalChanges, remote: RemoteState) {
    this.#view = view;
    this.#number = number;
    this.#local = local;
    this.#remote = remote;
  }

  get block(): BlockId {
    return this.#view.block;
  }

  readAccount(address: Uint8Array): StoredAccount | undefined {
    if (this.#local.hasAccount(address, this.#number)) return this.#view.readAccount(address);
    const account = this.#remote.account(address);
    return account && { ...account, storageRoot: EMPTY_TRIE_ROOT };
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    if (this.#local.hasSlot(address, slot, this.#number)) return this.#view.readStorage(address, slot);
    return this.#remote.storage(address, slot);
  }

  hasStorage(address: Uint8Array): boolean {
    if (this.#local.hasAccount(address, this.#number) && this.#view.hasStorage(address)) return true;
    return !this.#local.hasStorage(address, this.#number) && this.#remote.hasStorage(address);
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    return this.#remote.code(codeHash) ?? this.#view.readCode(codeHash);
  }

  readBlockHash(number: ExactInteger): Uint8Array | undefined {
    return number < this.#remote.block.header.number ? this.#remote.blockHash(Number(number)) : this.#view.readBlockHash(number);
  }
}
