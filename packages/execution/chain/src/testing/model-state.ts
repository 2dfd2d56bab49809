import type { AccountRecord, StateChanges, StateReader } from "@rnode/evm";
import {
  bytesToHex,
  compareBytes,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  type Hex,
  hexToBytes,
  isZeroBytes,
  keccak256,
} from "@rnode/primitives";
import type { GenesisAccount } from "@rnode/protocol";
import { encodeAccount, encodeStorageValue, SortedTrieBuilder } from "@rnode/trie";

export interface ModelAccount extends AccountRecord {
  /** none of them zero */
  readonly storage: ReadonlyMap<Hex, Uint8Array>;
}

/** Roots are computed from all leaves, and cached until the account changes. */
const storageRoots = new WeakMap<ModelAccount, Uint8Array>();

export function storageRootOf(account: ModelAccount): Uint8Array {
  let root = storageRoots.get(account);
  if (root === undefined) {
    root = rootOf(Array.from(account.storage, ([slot, value]) => [hexToBytes(slot), encodeStorageValue(value)]));
    storageRoots.set(account, root);
  }
  return root;
}

function rootOf(leaves: readonly (readonly [key: Uint8Array, value: Uint8Array])[]): Uint8Array {
  const hashed = leaves.map(([key, value]) => ({ key: keccak256(key), value }));
  const builder = new SortedTrieBuilder();
  for (const { key, value } of hashed.sort((a, b) => compareBytes(a.key, b.key))) builder.add(key, value);
  return builder.finish();
}

/** The state after a block, in maps: it depends on no database, no layers and no trie that is updated in place. */
export class ModelState implements StateReader {
  readonly accounts: ReadonlyMap<Hex, ModelAccount>;
  readonly codes: ReadonlyMap<Hex, Uint8Array>;
  readonly readBlockHash: (number: number) => Uint8Array | undefined;
  #root: Uint8Array | undefined;

  constructor(
    accounts: ReadonlyMap<Hex, ModelAccount>,
    codes: ReadonlyMap<Hex, Uint8Array>,
    readBlockHash: (number: number) => Uint8Array | undefined,
  ) {
    this.accounts = accounts;
    this.codes = codes;
    this.readBlockHash = readBlockHash;
  }

  static ofGenesis(alloc: readonly GenesisAccount[]): ModelState {
    const codes = new Map<Hex, Uint8Array>();
    const accounts = alloc.map(({ address, nonce, balance, code, storage }): [Hex, ModelAccount] => {
      const codeHash = code.length === 0 ? EMPTY_KECCAK : keccak256(code);
      codes.set(bytesToHex(codeHash), code);
      const slots = storage.filter(({ value }) => !isZeroBytes(value));
      return [
        bytesToHex(address),
        { nonce, balance, codeHash, storage: new Map(slots.map(({ slot, value }) => [bytesToHex(slot), value])) },
      ];
    });
    return new ModelState(new Map(accounts), codes, () => undefined);
  }

  /** @param readBlockHash of the new block and those before it */
  after(changes: StateChanges, readBlockHash = this.readBlockHash): ModelState {
    const accounts = new Map(this.accounts);
    for (const { address, after, storageCleared, storage } of changes.accounts) {
      const key = bytesToHex(address);
      if (after === undefined) {
        accounts.delete(key);
        continue;
      }
      const slots = new Map(storageCleared ? [] : accounts.get(key)?.storage);
      for (const { slot, after: value } of storage) {
        if (isZeroBytes(value)) slots.delete(bytesToHex(slot));
        else slots.set(bytesToHex(slot), value);
      }
      accounts.set(key, { ...after, storage: slots });
    }
    const added = changes.codes.filter(({ codeHash }) => !this.codes.has(bytesToHex(codeHash)));
    const codes =
      added.length === 0
        ? this.codes
        : new Map([...this.codes, ...added.map(({ codeHash, code }): [Hex, Uint8Array] => [bytesToHex(codeHash), code])]);
    return new ModelState(accounts, codes, readBlockHash);
  }

  get root(): Uint8Array {
    this.#root ??= rootOf(
      Array.from(this.accounts, ([address, account]) => [
        hexToBytes(address),
        encodeAccount({ ...account, storageRoot: storageRootOf(account) }),
      ]),
    );
    return this.#root;
  }

  readAccount(address: Uint8Array): ModelAccount | undefined {
    return this.accounts.get(bytesToHex(address));
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    return this.accounts.get(bytesToHex(address))?.storage.get(bytesToHex(slot));
  }

  hasStorage(address: Uint8Array): boolean {
    return (this.readAccount(address)?.storage.size ?? 0) > 0;
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    const code = this.codes.get(bytesToHex(codeHash));
    if (code === undefined) throw new Error(`no code ${bytesToHex(codeHash)}`);
    return code;
  }

  storageRoot(address: Uint8Array): Uint8Array {
    const account = this.readAccount(address);
    return account === undefined ? EMPTY_TRIE_ROOT : storageRootOf(account);
  }
}
