import { existsSync, rmSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import type { RowCounts, SortedState } from "@rnode/chain";
import { decodeSlimAccount, encodeSlimAccount } from "@rnode/devp2p";
import { bytesToHex, concatBytes, encodeRlp, type Hex, isCodedError, keccak256 } from "@rnode/primitives";
import { Environment, type Table } from "@rnode/storage/environment";
import { encodeAccount, type NodeAt, type TrieAccount, type TrieEntry } from "@rnode/trie";
import type { MixedRows } from "./state-task.ts";

const COMMIT_BYTES = 2 << 20;
const PROGRESS_KEY = Uint8Array.of(0);
const NOTHING = new Uint8Array(0);
const YES = Uint8Array.of(1);
const REMOVED_AT_ONCE = 10_000;
/** A row's overhead in memory, besides key and value. */
const ROW_BYTES = 100;
/** Deeper nodes have few rows. */
const MAX_NIBBLES = 15;

/**
 * The rows of a state that is being fetched, in a database of their own, so that a download continues after a kill:
 *   accounts  keccak256 of the address 32 → slim account, with the root that its slots have, or will have
 *   slots     keccak256 of the address 32 ‖ keccak256 of the slot 32 → value without leading zeros
 *   codes     hash 32 → code
 *   hashes    keccak256 of the address 32, for a storage trie ‖ length of the path 1 ‖ path, a nibble a byte → hash of the node that the rows make
 *   dirty     keccak256 of the address 32 → 1, if the account's slots may be of several states
 *   progress  0 → what is missing, in the same commit as the rows
 */
export class KeptState implements MixedRows {
  readonly #folder: string;
  readonly #commitBytes: number;
  readonly #environment: Environment;
  readonly #accounts: Table;
  readonly #slots: Table;
  readonly #codes: Table;
  readonly #hashes: Table;
  readonly #dirty: Table;
  readonly #progress: Table;
  #waiting: { readonly table: Table; readonly key: Uint8Array; readonly value: Uint8Array | undefined }[] = [];
  #waitingBytes = 0;
  #waitingCounts = { accounts: 0, slots: 0 };
  readonly #waitingCodes = new Set<Hex>();

  private constructor(folder: string, commitBytes: number) {
    this.#folder = folder;
    this.#commitBytes = commitBytes;
    const environment = new Environment(folder, { readOnly: false, mapSizeBytes: undefined, sync: "behind", syncIntervalMs: 0 });
    this.#environment = environment;
    const table = (name: string): Table => environment.openTable(name)!;
    this.#accounts = table("accounts");
    this.#slots = table("slots");
    this.#codes = table("codes");
    this.#hashes = table("hashes");
    this.#dirty = table("dirty");
    this.#progress = table("progress");
  }

  /**
   * Opens what an earlier download kept. If it is damaged, nothing is kept.
   *
   * @param commitBytes of rows in memory, which a kill loses
   * @throws {CodedError} storage/*
   */
  static open(folder: string, commitBytes = COMMIT_BYTES): KeptState {
    try {
      return new KeptState(folder, commitBytes);
    } catch (error) {
      if (!isCodedError(error, "storage/corrupted") || !existsSync(folder)) throw error;
      rmSync(folder, { recursive: true, force: true });
      return new KeptState(folder, commitBytes);
    }
  }

  addAccount(hash: Uint8Array, account: TrieAccount): void {
    this.#write(this.#accounts, hash, encodeSlimAccount(account));
    this.#waitingCounts.accounts++;
  }

  /** @param value without leading zeros, not empty */
  addSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void {
    this.#write(this.#slots, concatBytes(owner, hash), value);
    this.#waitingCounts.slots++;
  }

  addCode(code: Uint8Array): void {
    const hash = keccak256(code);
    this.#waitingCodes.add(bytesToHex(hash));
    this.#write(this.#codes, hash, code);
  }

  hasCode(hash: Uint8Array): boolean {
    return this.#waitingCodes.has(bytesToHex(hash)) || this.#codes.has(hash);
  }

  account(hash: Uint8Array): TrieAccount | undefined {
    const row = this.#accounts.read(hash);
    return row && decodeSlimAccount(row);
  }

  *below(owner: Uint8Array | undefined, path: Uint8Array): Generator<TrieEntry> {
    const prefix = owner ?? NOTHING;
    const start = new Uint8Array(prefix.length + 32);
    start.set(prefix);
    for (const [i, nibble] of path.entries()) start[prefix.length + (i >> 1)]! |= i % 2 === 0 ? nibble << 4 : nibble;
    const table = owner === undefined ? this.#accounts : this.#slots;
    for (const { key, value } of table.range(start)) {
      if (!hasNibbles(key, start, 2 * prefix.length + path.length)) return;
      if (owner === undefined) yield { key, value: encodeAccount(decodeSlimAccount(value)) };
      else yield { key: key.subarray(prefix.length), value: encodeRlp(value) };
    }
  }

  hashAt(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    return path.length > MAX_NIBBLES ? undefined : this.#hashes.read(nodeKey(owner, path));
  }

  remember(owner: Uint8Array | undefined, { path, hash }: NodeAt): void {
    if (path.length <= MAX_NIBBLES) this.#write(this.#hashes, nodeKey(owner, path), hash);
  }

  /** The nodes on the path to a key will be others. */
  #forget(owner: Uint8Array | undefined, key: Uint8Array): void {
    const path = Uint8Array.from({ length: MAX_NIBBLES }, (_, i) => (key[i >> 1]! >> (i % 2 === 0 ? 4 : 0)) & 15);
    for (let length = 0; length <= MAX_NIBBLES; length++)
      this.#write(this.#hashes, nodeKey(owner, path.subarray(0, length)), undefined);
  }

  changeAccount(hash: Uint8Array, account: TrieAccount): void {
    this.#forget(undefined, hash);
    this.addAccount(hash, account);
  }

  changeSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void {
    this.#forget(owner, hash);
    this.addSlot(owner, hash, value);
  }

  removeAccount(hash: Uint8Array): void {
    this.#forget(undefined, hash);
    this.#write(this.#accounts, hash, undefined);
    this.removeSlots(hash);
  }

  removeSlot(owner: Uint8Array, hash: Uint8Array): void {
    this.#forget(owner, hash);
    this.#write(this.#slots, concatBytes(owner, hash), undefined);
  }

  /** At once, because they may be many. The account is marked, because a kill may come before the commit that changes its row. */
  removeSlots(owner: Uint8Array): void {
    for (const table of [this.#hashes, this.#slots]) {
      for (let removed = REMOVED_AT_ONCE; removed === REMOVED_AT_ONCE; ) {
        const keys = [...take(table.keysWithPrefix(owner), REMOVED_AT_ONCE)];
        removed = keys.length;
        if (removed === 0) break;
        this.#environment.atomically(() => {
          for (const key of keys) table.delete(key);
          this.#dirty.write(owner, YES);
        });
      }
    }
  }

  markDirty(hash: Uint8Array): void {
    this.#write(this.#dirty, hash, YES);
  }

  markClean(hash: Uint8Array): void {
    this.#write(this.#dirty, hash, undefined);
  }

  dirty(from: Uint8Array, limit: number): readonly Uint8Array[] {
    return [...take(this.#dirty.keys(from), limit)];
  }

  #write(table: Table, key: Uint8Array, value: Uint8Array | undefined): void {
    this.#waiting.push({ table, key, value });
    this.#waitingBytes += key.length + (value?.length ?? 0) + ROW_BYTES;
  }

  /** Rows, those that are not committed included. */
  get counts(): RowCounts {
    const { accounts, slots } = this.#waitingCounts;
    return { accounts: this.#accounts.stats().entries + accounts, slots: this.#slots.stats().entries + slots };
  }

  /** `undefined`: nothing is kept */
  progress(): unknown {
    const kept = this.#progress.read(PROGRESS_KEY);
    return kept && (deserialize(kept) as unknown);
  }

  /** Enough rows wait for a commit. */
  get isCommitDue(): boolean {
    return this.#waitingBytes >= this.#commitBytes;
  }

  /** Removes everything that is kept. */
  clear(): void {
    const tables = [this.#accounts, this.#slots, this.#codes, this.#hashes, this.#dirty, this.#progress];
    if (tables.every((table) => table.stats().entries === 0)) return;
    this.#environment.atomically(() => {
      for (const table of tables) table.clear();
    });
  }

  /** @param progress plain data, what `progress` gives from then on. @throws {CodedError} storage/* */
  commit(progress: unknown): void {
    const rows = this.#waiting;
    this.#environment.atomically(() => {
      for (const { table, key, value } of rows) {
        if (value === undefined) table.delete(key);
        else table.write(key, value);
      }
      this.#progress.write(PROGRESS_KEY, serialize(progress));
    });
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#waitingCounts = { accounts: 0, slots: 0 };
    this.#waitingCodes.clear();
  }

  /** The committed rows, in the order of the tries. */
  sorted(): SortedState {
    const [accounts, slots, codes] = [this.#accounts, this.#slots, this.#codes];
    return {
      *accounts() {
        for (const { key, value } of accounts.range(NOTHING)) {
          const { nonce, balance, codeHash } = decodeSlimAccount(value);
          yield { addressHash: key, nonce, balance, codeHash };
        }
      },
      *slots() {
        for (const { key, value } of slots.range(NOTHING)) {
          yield { addressHash: key.subarray(0, 32), slotHash: key.subarray(32), value };
        }
      },
      code: (hash) => codes.read(hash),
    };
  }

  close(): Promise<void> {
    return this.#environment.close();
  }

  /** Closes it and removes it. */
  async remove(): Promise<void> {
    await this.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const nodeKey = (owner: Uint8Array | undefined, path: Uint8Array): Uint8Array =>
  concatBytes(owner ?? NOTHING, Uint8Array.of(path.length), path);

function* take<T>(items: Iterable<T>, limit: number): Generator<T> {
  let left = limit;
  for (const item of items) {
    if (left-- === 0) return;
    yield item;
  }
}

/** Whether the first nibbles are the same. */
function hasNibbles(key: Uint8Array, start: Uint8Array, nibbles: number): boolean {
  const bytes = nibbles >> 1;
  for (let i = 0; i < bytes; i++) if (key[i] !== start[i]) return false;
  return nibbles % 2 === 0 || key[bytes]! >> 4 === start[bytes]! >> 4;
}
