import { tmpdir } from "node:os";
import type { AccountRecord } from "@rnode/evm";
import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  CodedError,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  keccak256,
  trimBytesLeft,
  ZERO_HASH,
} from "@rnode/primitives";
import type { GenesisAccount, GenesisErrorCode, GenesisSlot } from "@rnode/protocol";
import { type GenesisRows, RowSort, type RowSortOptions } from "@rnode/storage";
import { encodeStorageValue, MAX_ACCOUNT_RLP_BYTES, SortedTrieBuilder, writeAccountFields } from "@rnode/trie";
import { CodeList } from "./code-list.ts";
import type { PackedState } from "./packed-rows.ts";
import { Peekable } from "./peekable.ts";
import { ACCOUNT_ROW, SLOT_ROW } from "./row-layout.ts";
import { accountsIn, type SharedState, slotsIn, startsWith } from "./sorted-rows.ts";
import type { SortedState } from "./sorted-state.ts";

/*
 * A state of any size, in a bounded amount of memory: rows are sorted in pieces that fit, in temporary files if there is more than one.
 * Slots and accounts are laid out as `row-layout.ts` says; a sealed account has its storage root, 32 bytes, at the end.
 * Address and slot are zero if only their hashes are known.
 * Tries are built from sorted leaves twice: once to compute their roots, and once more to write their nodes. Nothing is written before the
 * block is known to be the right one.
 */

const HASH_SIZE = 32;
const { valueAt: SLOT_VALUE_AT } = SLOT_ROW;
const { nonceAt: NONCE_AT, balanceAt: BALANCE_AT, codeHashAt: CODE_HASH_AT, bytes: STORAGE_ROOT_AT } = ACCOUNT_ROW;
const SEALED_SIZE = STORAGE_ROOT_AT + HASH_SIZE;

type OnNode = (path: Uint8Array, rlp: Uint8Array) => void;

export interface GenesisStateOptions {
  /** for temporary files of a large state; they have no names, so a kill leaves none behind. Default: that of the system */
  readonly folder?: string | undefined;
  /** of each of the three sorts; default: as in `RowSort` */
  readonly memoryBytes?: number | undefined;
}

/** The state of a genesis block. It is filled in any order, then sealed, then written, then closed. */
export class GenesisState {
  readonly #options: Pick<RowSortOptions, "folder" | "memoryBytes">;
  readonly #slots: RowSort;
  readonly #accounts: RowSort;
  readonly #codes: CodeList;
  #sealed: RowSort | undefined;
  #hasPreimages = false;

  constructor({ folder = tmpdir(), memoryBytes }: GenesisStateOptions = {}) {
    this.#options = { folder, memoryBytes };
    this.#slots = this.#sort(SLOT_VALUE_AT + HASH_SIZE, 2 * HASH_SIZE);
    this.#accounts = this.#sort(STORAGE_ROOT_AT, HASH_SIZE);
    this.#codes = new CodeList(folder);
  }

  static of(alloc: readonly GenesisAccount[]): GenesisState {
    const state = new GenesisState();
    for (const account of alloc) state.add(account);
    return state;
  }

  #sort(rowBytes: number, keyBytes: number): RowSort {
    return new RowSort({ rowBytes, keyBytes, ...this.#options });
  }

  /** Adds a slot of an account, before or after the account; slots with value zero are left out. */
  addSlot(address: Uint8Array, { slot, value }: GenesisSlot): void {
    if (equalBytes(value, ZERO_HASH)) return;
    const row = this.#addSlot(this.#hashOf(address), keccak256(slot), value);
    row.set(slot, 2 * HASH_SIZE);
    this.#hasPreimages = true;
  }

  /** Like `addSlot`, by hashes. @param value 32 bytes, not zero */
  addHashedSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void {
    this.#addSlot(owner, hash, value);
  }

  #addSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): Uint8Array {
    const row = this.#slots.add();
    row.set(owner);
    row.set(hash, HASH_SIZE);
    row.set(value, SLOT_VALUE_AT);
    return row;
  }

  /** PERF: the slots of an account mostly come one after the other. */
  #lastAddress: Uint8Array = new Uint8Array(0);
  #lastHash: Uint8Array = ZERO_HASH;

  #hashOf(address: Uint8Array): Uint8Array {
    if (!equalBytes(address, this.#lastAddress)) {
      this.#lastAddress = address.slice();
      this.#lastHash = keccak256(address);
    }
    return this.#lastHash;
  }

  add({ address, nonce, balance, code, storage }: GenesisAccount): void {
    for (const slot of storage) this.addSlot(address, slot);
    const codeHash = code.length === 0 ? EMPTY_KECCAK : this.addCode(code);
    this.addAccount(address, { nonce, balance, codeHash });
  }

  /** Adds an account whose code and slots are added by themselves, before or after it. */
  addAccount(address: Uint8Array, account: AccountRecord): void {
    this.#addAccount(keccak256(address), account).set(address, HASH_SIZE);
    this.#hasPreimages = true;
  }

  /** Like `addAccount`, by the hash of the address. */
  addHashedAccount(hash: Uint8Array, account: AccountRecord): void {
    this.#addAccount(hash, account);
  }

  #addAccount(hash: Uint8Array, { nonce, balance, codeHash }: AccountRecord): Uint8Array {
    const row = this.#accounts.add();
    row.set(hash);
    viewOf(row).setBigUint64(NONCE_AT, nonce);
    row.set(bigintToBytes(balance, 32), BALANCE_AT);
    row.set(codeHash, CODE_HASH_AT);
    return row;
  }

  /** Adds code that accounts may have. @returns its hash */
  addCode(code: Uint8Array): Uint8Array {
    return this.#codes.add(code);
  }

  /** The rows that were added, in the order of the tries. They can be read again; nothing can be added afterwards. */
  sorted(): SortedState {
    return {
      accounts: () => accountsIn(this.#accounts.sorted(), this.#hasPreimages),
      slots: () => slotsIn(this.#slots.sorted(), this.#hasPreimages),
      code: (codeHash) => this.#codes.get(codeHash),
    };
  }

  /** The rows for `sharedState` in another thread, if there are more than fit into memory. Nothing can be added afterwards. */
  share(hasPreimages: boolean): SharedState | undefined {
    if (!this.#slots.isOnDisk && !this.#accounts.isOnDisk) return undefined;
    return { accounts: this.#accounts.share(), slots: this.#slots.share(), hasPreimages: hasPreimages && this.#hasPreimages };
  }

  /**
   * Computes the state root and the storage root of one account. Nothing can be added afterwards.
   *
   * @throws {CodedError} genesis/duplicate-account, genesis/duplicate-slot, storage/disk-full, storage/io
   */
  seal(account: Uint8Array): { readonly stateRoot: Uint8Array; readonly storageRoot: Uint8Array } {
    const sealed = this.#sort(SEALED_SIZE, HASH_SIZE);
    const accountHash = keccak256(account);
    let storageRoot: Uint8Array = EMPTY_TRIE_ROOT;
    const builder = new SortedAccountTrie();
    const tries = this.#storageTries();
    let trie = tries.next();
    for (const row of this.#accounts.sorted()) {
      const hash = row.subarray(0, HASH_SIZE);
      const address = row.subarray(HASH_SIZE, NONCE_AT);
      if (builder.isLast(hash)) throw duplicate("account", { address: bytesToHex(address) });
      let root: Uint8Array = EMPTY_TRIE_ROOT;
      if (trie.done !== true && equalBytes(trie.value.owner, hash)) {
        root = toEnd(trie.value.build(address));
        trie = tries.next();
      }
      const sealedRow = sealed.add();
      sealedRow.set(row);
      sealedRow.set(root, STORAGE_ROOT_AT);
      builder.add(sealedRow);
      if (equalBytes(hash, accountHash)) storageRoot = root;
    }
    if (trie.done !== true) {
      throw new TypeError(`slots were added without their account, whose address has the hash ${bytesToHex(trie.value.owner)}`);
    }
    this.#accounts.close();
    this.#sealed = sealed;
    return { stateRoot: builder.finish(), storageRoot };
  }

  /** The storage tries by ascending owners; each must be built before the next one is taken. */
  *#storageTries(): Generator<StorageTrie> {
    const rows = new Peekable(this.#slots.sorted());
    while (rows.current !== undefined) yield new StorageTrie(rows, rows.current.slice(0, HASH_SIZE));
  }

  /** Yields all rows in the key order of the tables, a few per step. Call it after `seal`. */
  *rowsInto(rows: GenesisRows): Generator<void> {
    if (this.#sealed === undefined) throw new TypeError("seal() comes first");
    for (const { codeHash, code } of this.#codes.all()) yield rows.code(codeHash, code);
    const accounts = new SortedAccountTrie((path, rlp) => rows.node(undefined, path, rlp));
    for (const row of this.#sealed.sorted()) {
      const hash = row.slice(0, HASH_SIZE);
      rows.account(hash, {
        nonce: viewOf(row).getBigUint64(NONCE_AT),
        balance: bytesToBigint(trimBytesLeft(row.subarray(BALANCE_AT, CODE_HASH_AT))),
        codeHash: row.subarray(CODE_HASH_AT, STORAGE_ROOT_AT),
        storageRoot: row.subarray(STORAGE_ROOT_AT),
      });
      if (this.#hasPreimages) rows.preimage(hash, row.slice(HASH_SIZE, NONCE_AT));
      yield accounts.add(row);
    }
    accounts.finish();
    for (const trie of this.#storageTries()) {
      const { owner } = trie;
      const onSlot = (row: Uint8Array): void => {
        const hash = row.slice(HASH_SIZE, 2 * HASH_SIZE);
        rows.slot(owner, hash, trimBytesLeft(row.subarray(SLOT_VALUE_AT)));
        if (this.#hasPreimages) rows.preimage(hash, row.slice(2 * HASH_SIZE, SLOT_VALUE_AT));
      };
      yield* trie.build(undefined, { onNode: (path, rlp) => rows.node(owner, path, rlp), onSlot });
    }
  }

  /** Adds rows whose addresses and slots are known. @returns the slots that are open: `addSlots` takes them with their account */
  addPacked({ accounts, slots, codes, openSlots }: PackedState): Uint8Array {
    const end = slots.length - openSlots * SLOT_ROW.bytes;
    this.#hasPreimages = true;
    this.#accounts.addAll(accounts);
    this.#slots.addAll(slots.subarray(0, end));
    for (const { codeHash, code } of codes) this.#codes.add(code, codeHash);
    return slots.subarray(end);
  }

  /** Adds packed slots of one account. @param rows are changed. @param owner hash of its address */
  addSlots(rows: Uint8Array, owner: Uint8Array): void {
    for (let at = 0; at < rows.length; at += SLOT_ROW.bytes) rows.set(owner, at);
    this.#slots.addAll(rows);
  }

  /** Gives temporary files back. */
  close(): void {
    for (const part of [this.#slots, this.#accounts, this.#codes]) part.close();
    this.#sealed?.close();
  }
}

/** The account trie of rows of sealed accounts, by ascending hash. */
class SortedAccountTrie {
  readonly #builder: SortedTrieBuilder;
  // PERF: the builder holds a key and a value until the next ones, so two buffers take turns.
  readonly #keys = [new Uint8Array(HASH_SIZE), new Uint8Array(HASH_SIZE)] as const;
  readonly #values = [new Uint8Array(MAX_ACCOUNT_RLP_BYTES), new Uint8Array(MAX_ACCOUNT_RLP_BYTES)] as const;
  #turn: 0 | 1 = 0;
  #count = 0;

  constructor(onNode?: OnNode) {
    this.#builder = new SortedTrieBuilder(onNode);
  }

  /** Whether the account added last has this hash. */
  isLast(hash: Uint8Array): boolean {
    return this.#count > 0 && equalBytes(this.#keys[this.#turn], hash);
  }

  add(row: Uint8Array): void {
    this.#turn = this.#turn === 0 ? 1 : 0;
    this.#count++;
    const key = this.#keys[this.#turn];
    const value = this.#values[this.#turn];
    key.set(row.subarray(0, HASH_SIZE));
    const size = writeAccountFields(value, 0, row, NONCE_AT, row.subarray(STORAGE_ROOT_AT));
    this.#builder.add(key, value.subarray(0, size));
  }

  finish(): Uint8Array {
    return this.#builder.finish();
  }
}

/** One trie among the sorted slots. */
class StorageTrie {
  readonly #rows: Peekable<Uint8Array>;
  readonly owner: Uint8Array;

  constructor(rows: Peekable<Uint8Array>, owner: Uint8Array) {
    this.#rows = rows;
    this.owner = owner;
  }

  /**
   * Builds it from its rows, one per step.
   *
   * @param address of the account, for errors
   * @returns its root
   */
  *build(
    address: Uint8Array | undefined,
    { onNode, onSlot }: { readonly onNode?: OnNode; readonly onSlot?: (row: Uint8Array) => void } = {},
  ): Generator<void, Uint8Array> {
    const builder = new SortedTrieBuilder(onNode);
    const keys = [new Uint8Array(HASH_SIZE), new Uint8Array(HASH_SIZE)] as const;
    for (let count = 0; ; count++) {
      const row = this.#rows.current;
      if (row === undefined || !startsWith(row, this.owner)) return builder.finish();
      const key = keys[count % 2 === 0 ? 0 : 1];
      const last = keys[count % 2 === 0 ? 1 : 0];
      key.set(row.subarray(HASH_SIZE, 2 * HASH_SIZE));
      if (count > 0 && equalBytes(key, last)) {
        const slot = bytesToHex(row.subarray(2 * HASH_SIZE, SLOT_VALUE_AT));
        throw duplicate("slot", { address: bytesToHex(address ?? this.owner), slot });
      }
      builder.add(key, encodeStorageValue(row.slice(SLOT_VALUE_AT)));
      onSlot?.(row);
      this.#rows.advance();
      yield;
    }
  }
}

function duplicate(what: "account" | "slot", data: Readonly<Record<string, string>>): Error {
  return new CodedError<GenesisErrorCode>(`genesis/duplicate-${what}`, data);
}

/** Runs a generator to its end, and returns its result. */
function toEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const viewOf = (row: Uint8Array): DataView => new DataView(row.buffer, row.byteOffset, row.byteLength);
