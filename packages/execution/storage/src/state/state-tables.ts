import type { AccountChange } from "@rnode/evm";
import { bytesToHex, compareBytes, concatBytes, EMPTY_TRIE_ROOT, equalBytes, type Hex, trimBytesLeft } from "@rnode/primitives";
import type { AccountRow, SlotRow, StatePlace, StateRow, StoredAccount } from "../api.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, writeBlockNumber } from "../database/keys.ts";
import type { Table } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { accountValueEnd, decodeAccountValue, encodeAccountValue } from "./account-value.ts";
import { decodeChangeRow, encodeChangeRow, findOldSlot, type OldSlot, oldAccount, oldSlot } from "./change-row.ts";
import { FlatRows } from "./flat-rows.ts";
import { type HashedKeys, StateKeys } from "./hashed-keys.ts";
import { slotValueAt, slotValueEnd, toWord } from "./slot-value.ts";
import type { StateBatch } from "./state-batch.ts";
import { StateBatchWriter } from "./state-batch-writer.ts";

const HASH_SIZE = 32;
const SLOT_KEY_SIZE = 2 * HASH_SIZE;
const NO_PREFIX = new Uint8Array(0);
const NO_VALUE = new Uint8Array(0);

/** Accounts are keyed by keccak256 of their address, slots by that ‖ keccak256 of the slot: the paths of the tries, in their order. */
export interface StateTableSet {
  /** hash of the address → account, and the last blocks that changed it (account-value.ts) */
  readonly accounts: Table;
  /** hash of the address ‖ hash of the slot → value, and the last blocks that changed it (slot-value.ts) */
  readonly storage: Table;
  /** block ‖ hash of the address → the account before the block (change-row.ts) */
  readonly changes: Table;
  /** key of `accounts` → blocks that changed the account, except for those in its row (flat-rows.ts) */
  readonly accountBlocks: Table;
  /** key of `storage` → blocks that changed the slot, likewise */
  readonly slotBlocks: Table;
  /** code hash → code; never removed */
  readonly codes: Table;
  /** hash → the address or slot; empty unless it is asked for; never removed */
  readonly preimages: Table;
}

/**
 * The flat state at the head, and earlier states. To read the state after block N, use the old value recorded by the first block
 * after N that changed the account or slot; if there is none, use the head's value.
 */
export class StateTables {
  readonly #tables: StateTableSet;
  readonly #accountRows: FlatRows;
  readonly #slotRows: FlatRows;
  readonly #keys = new StateKeys();
  readonly #accountKey = new Uint8Array(HASH_SIZE);
  readonly #slotKey = new Uint8Array(SLOT_KEY_SIZE);
  readonly #changeKey = new Uint8Array(BLOCK_NUMBER_SIZE + HASH_SIZE);
  readonly #hash = new Uint8Array(HASH_SIZE);
  readonly #batchWriter: StateBatchWriter;
  readonly #writesPreimages: boolean;

  constructor(tables: StateTableSet, writesPreimages: boolean) {
    this.#tables = tables;
    this.#writesPreimages = writesPreimages;
    const { accounts, storage, accountBlocks, slotBlocks } = tables;
    this.#accountRows = new FlatRows("account", HASH_SIZE, { rows: accounts, lists: accountBlocks });
    this.#slotRows = new FlatRows("slot", SLOT_KEY_SIZE, { rows: storage, lists: slotBlocks });
    this.#batchWriter = new StateBatchWriter(tables.changes, this.#accountRows, this.#slotRows, this.#keys);
  }

  #accountKeyOf(address: Uint8Array): Uint8Array {
    this.#keys.addresses.write(this.#accountKey, 0, address);
    return this.#accountKey;
  }

  #slotKeyOf(address: Uint8Array, slot: Uint8Array): Uint8Array {
    this.#keys.addresses.write(this.#slotKey, 0, address);
    this.#keys.slots.write(this.#slotKey, HASH_SIZE, slot);
    return this.#slotKey;
  }

  /** @param key begins with the key of the account */
  #changeKeyOf(number: number, key: Uint8Array): Uint8Array {
    writeBlockNumber(this.#changeKey, 0, number);
    for (let i = 0; i < HASH_SIZE; i++) this.#changeKey[BLOCK_NUMBER_SIZE + i] = key[i]!;
    return this.#changeKey;
  }

  readAccount(address: Uint8Array): StoredAccount | undefined {
    return this.#accountOf(this.#accountKeyOf(address));
  }

  /** The first key from `least` on in the head's table. */
  firstKey(name: "accounts" | "storage", least: Uint8Array): Uint8Array | undefined {
    for (const key of this.#tables[name].keys(least)) return key;
    return undefined;
  }

  /** @param number `undefined`: at the head. @param hash keccak256 of the address */
  accountAt(number: number | undefined, hash: Uint8Array): StoredAccount | undefined {
    return number === undefined ? this.#accountOf(hash) : this.#accountOfAt(number, hash);
  }

  /** @param key hash of the address ‖ hash of the slot. @returns without leading zeros; `undefined`: zero */
  slotAt(number: number | undefined, key: Uint8Array): Uint8Array | undefined {
    const value = number === undefined ? this.#slotOf(key) : this.#slotOfAt(number, key);
    return value && trimBytesLeft(value);
  }

  #accountOf(hash: Uint8Array): StoredAccount | undefined {
    const row = this.#tables.accounts.peek(hash);
    return row === undefined ? undefined : decodeAccountValue(row);
  }

  /** 32 bytes; undefined means zero. */
  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    return this.#slotOf(this.#slotKeyOf(address, slot));
  }

  #slotOf(key: Uint8Array): Uint8Array | undefined {
    const row = this.#tables.storage.peek(key);
    return row === undefined ? undefined : slotWord(row);
  }

  /**
   * The state after a block, from the row after `after` on. No writes are allowed meanwhile.
   *
   * @param number `undefined`: the head
   */
  *rowsAt(number: number | undefined, after: StatePlace | undefined): Generator<StateRow> {
    if (after !== undefined) yield* this.slotsAt(number, after.account, after.slot && afterKey(after.slot));
    for (const row of this.accountsAt(number, after && afterKey(after.account))) {
      yield row;
      if (!equalBytes(row.account.storageRoot, EMPTY_TRIE_ROOT)) yield* this.slotsAt(number, row.hash);
    }
  }

  /** The accounts of `rowsAt`. @param from bytes that no hash before the first one is above */
  *accountsAt(number: number | undefined, from: Uint8Array = NO_PREFIX): Generator<AccountRow> {
    for (const hash of this.#keysAt(number, "accounts", NO_PREFIX, from)) {
      const account = this.accountAt(number, hash);
      if (account !== undefined) yield { kind: "account", hash, account };
    }
  }

  /** The slots of `rowsAt` that an account has. @param from as for `accountsAt` */
  *slotsAt(number: number | undefined, owner: Uint8Array, from: Uint8Array = NO_PREFIX): Generator<SlotRow> {
    for (const key of this.#keysAt(number, "storage", owner, concatBytes(owner, from))) {
      const value = this.slotAt(number, key);
      if (value !== undefined) yield { kind: "slot", owner, hash: key.subarray(HASH_SIZE), value };
    }
  }

  /** Keys with a row in the head's table, and those with one that changed after block `number`; all from `start` on. */
  #keysAt(number: number | undefined, name: "accounts" | "storage", prefix: Uint8Array, start: Uint8Array): Iterable<Uint8Array> {
    const keys = this.#tables[name].keysWithPrefix(prefix, start);
    if (number === undefined) return keys;
    const rows = name === "accounts" ? this.#accountRows : this.#slotRows;
    return mergedKeys(keys, rows.goneKeys(number, prefix, start));
  }

  /** The account after block `number`, which must not be above the head. */
  readAccountAt(number: number, address: Uint8Array): StoredAccount | undefined {
    return this.#accountOfAt(number, this.#accountKeyOf(address));
  }

  #accountOfAt(number: number, hash: Uint8Array): StoredAccount | undefined {
    const row = this.#tables.accounts.peek(hash);
    const changedAt = this.#accountRows.firstChange(number, hash, row);
    if (changedAt === undefined) return row && decodeAccountValue(row);
    return oldAccount(this.#changeRow(changedAt, hash));
  }

  readStorageAt(number: number, address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    return this.#slotOfAt(number, this.#slotKeyOf(address, slot));
  }

  #slotOfAt(number: number, key: Uint8Array): Uint8Array | undefined {
    const row = this.#tables.storage.peek(key);
    const changedAt = this.#slotRows.firstChange(number, key, row);
    if (changedAt === undefined) return row && slotWord(row);
    const changeRow = this.#changeRow(changedAt, key);
    const old = findOldSlot(changeRow, key, HASH_SIZE);
    if (old === undefined) {
      throw storageError("storage/corrupted", { row: `changes ${changedAt} of ${bytesToHex(key)}`, reason: "slot missing" });
    }
    return oldSlot(changeRow, old);
  }

  /** A copy of a block's changes of an account (change-row.ts); `undefined` if there are none. */
  readChangeRow(number: number, address: Uint8Array): Uint8Array | undefined {
    return this.#tables.changes.read(this.#changeKeyOf(number, this.#accountKeyOf(address)));
  }

  /** The slot's old value in such a row, as `findOldSlot` gives it. */
  findOldSlot(changeRow: Uint8Array, slot: Uint8Array): ReturnType<typeof findOldSlot> {
    this.#keys.slots.write(this.#hash, 0, slot);
    return findOldSlot(changeRow, this.#hash);
  }

  #changeRow(number: number, key: Uint8Array): Uint8Array {
    const row = this.#tables.changes.peek(this.#changeKeyOf(number, key));
    if (row === undefined)
      throw storageError("storage/corrupted", { row: `changes ${number} of ${bytesToHex(key)}`, reason: "missing" });
    return row;
  }

  /** @param hash keccak256 of an address or a slot */
  readPreimage(hash: Uint8Array): Uint8Array | undefined {
    return this.#tables.preimages.read(hash);
  }

  /** A copy; `undefined` if no account had this code. */
  findCode(codeHash: Uint8Array): Uint8Array | undefined {
    return this.#tables.codes.read(codeHash);
  }

  /** Returns a copy. @throws {CodedError} storage/missing-code */
  readCode(codeHash: Uint8Array): Uint8Array {
    const code = this.findCode(codeHash);
    if (code === undefined) throw storageError("storage/missing-code", { codeHash: bytesToHex(codeHash) });
    return code;
  }

  writeCodes(codes: Iterable<{ readonly codeHash: Uint8Array; readonly code: Uint8Array }>): void {
    for (const { codeHash, code } of codes) if (!this.#tables.codes.has(codeHash)) this.#tables.codes.write(codeHash, code);
  }

  /** Writes the accounts of an empty database. Nothing is replaced, so nothing is recorded. */
  writeGenesis(accounts: readonly AccountChange[], storageRoots: ReadonlyMap<Hex, Uint8Array>): void {
    for (const change of accounts) {
      const { address, after, storage } = change;
      if (after === undefined) continue;
      if (this.#writesPreimages) this.#writePreimagesOf(change);
      const storageRoot = storageRoots.get(bytesToHex(address)) ?? EMPTY_TRIE_ROOT;
      this.#tables.accounts.write(this.#accountKeyOf(address), encodeAccountValue({ ...after, storageRoot }));
      for (const { slot, after: value } of storage) {
        const trimmed = trimBytesLeft(value);
        if (trimmed.length > 0) this.#tables.storage.write(this.#slotKeyOf(address, slot), trimmed);
      }
    }
  }

  /**
   * Applies the changes of a batch to the flat state, and records the replaced values.
   *
   * @param storageRoots the new ones of each block, or, of a run, those after its last block; keyed by lower-case hex address
   */
  apply(batch: StateBatch, storageRoots: readonly ReadonlyMap<Hex, Uint8Array>[], isRun = false): void {
    for (const { number, change } of batch.clearing) this.#applyClearing(number, change, storageRoots[0]!);
    if (isRun) batch.setLastRoots(storageRoots[0]!);
    else for (const [block, roots] of storageRoots.entries()) batch.setRoots(block, roots);
    this.#batchWriter.write(batch);
    if (this.#writesPreimages) this.#writePreimages(batch);
  }

  #writePreimages({ accounts, slots, clearing }: StateBatch): void {
    for (const key of accounts.all()) this.#writePreimage(this.#keys.addresses, key);
    for (const key of slots.all()) this.#writePreimage(this.#keys.slots, key.subarray(-HASH_SIZE));
    for (const { change } of clearing) this.#writePreimagesOf(change);
  }

  #writePreimagesOf({ address, storage }: AccountChange): void {
    this.#writePreimage(this.#keys.addresses, address);
    for (const { slot } of storage) this.#writePreimage(this.#keys.slots, slot);
  }

  #writePreimage(keys: HashedKeys, key: Uint8Array): void {
    const { preimages } = this.#tables;
    keys.write(this.#hash, 0, key);
    if (!preimages.has(this.#hash)) preimages.write(this.#hash, key);
  }

  /** Applies a change that removes an account or its storage. */
  #applyClearing(number: number, change: AccountChange, storageRoots: ReadonlyMap<Hex, Uint8Array>): void {
    const { address, after } = change;
    const account = this.#accountKeyOf(address).slice();
    const stored = this.#tables.accounts.read(account);
    const before = stored?.subarray(0, accountValueEnd(stored));
    const slots = this.#clearStorage(number, account, change);
    const storageRoot = storageRoots.get(bytesToHex(address)) ?? EMPTY_TRIE_ROOT;
    const row = after === undefined ? undefined : encodeAccountValue({ ...after, storageRoot });
    const isSame = before === undefined || row === undefined ? before === row : equalBytes(before, row);
    if (isSame && slots.length === 0) return;
    this.#tables.changes.write(this.#changeKeyOf(number, account), encodeChangeRow(before, slots));
    this.#accountRows.seek(account);
    this.#accountRows.replace(row ?? NO_VALUE, 0, row?.length ?? 0, [number]);
  }

  /** @returns the slots that changed, with their old values */
  #clearStorage(number: number, owner: Uint8Array, { after, storage }: AccountChange): OldSlot[] {
    const old: OldSlot[] = [];
    const cleared = new Map<Hex, OldSlot>();
    for (const { key, value } of [...this.#tables.storage.withPrefix(owner)]) {
      const slot = key.subarray(HASH_SIZE);
      cleared.set(bytesToHex(slot), { slot, value: value.subarray(slotValueAt(value), slotValueEnd(value)) });
    }
    const written = after === undefined ? [] : storage;
    for (const { slot: preimage, after: value } of written) {
      const slot = new Uint8Array(HASH_SIZE);
      this.#keys.slots.write(slot, 0, preimage);
      const slotHex = bytesToHex(slot);
      const before = cleared.get(slotHex)?.value;
      cleared.delete(slotHex);
      const trimmed = trimBytesLeft(value);
      if (before === undefined ? trimmed.length === 0 : equalBytes(before, trimmed)) continue;
      this.#replaceSlot(owner, slot, trimmed, number);
      old.push({ slot, value: before });
    }
    for (const slot of cleared.values()) {
      this.#replaceSlot(owner, slot.slot, NO_VALUE, number);
      old.push(slot);
    }
    return old;
  }

  #replaceSlot(owner: Uint8Array, slot: Uint8Array, value: Uint8Array, number: number): void {
    this.#slotRows.seek(concatBytes(owner, slot));
    this.#slotRows.replace(value, 0, value.length, [number]);
  }

  /** Undoes the changes of block `number`, which must be the head. */
  unwind(number: number): void {
    const { changes } = this.#tables;
    for (const { key, value } of [...changes.withPrefix(blockNumberKey(number))]) {
      const owner = key.subarray(BLOCK_NUMBER_SIZE);
      const { account, slots } = decodeChangeRow(value);
      this.#accountRows.seek(owner);
      this.#accountRows.restore(account, number);
      for (const { slot, value: old } of slots) {
        this.#slotRows.seek(concatBytes(owner, slot));
        this.#slotRows.restore(old, number);
      }
      changes.delete(key);
    }
  }

  /**
   * For pruning: removes block `number`'s change of an account.
   *
   * @param account its key
   * @param slot hash of the slot; `undefined`: the account itself
   */
  forgetChange(number: number, account: Uint8Array, slot: Uint8Array | undefined): void {
    if (slot === undefined) this.#accountRows.prune(account, number);
    else this.#slotRows.prune(concatBytes(account, slot), number);
  }
}

/** Above all parts of the list of a key (flat-rows.ts), and below the next key. */
const AFTER = new Uint8Array(BLOCK_NUMBER_SIZE + 1).fill(0xff);
const afterKey = (key: Uint8Array): Uint8Array => concatBytes(key, AFTER);

/** The keys of both ascending lists, in ascending order, each once. */
function* mergedKeys(left: Generator<Uint8Array>, right: Generator<Uint8Array>): Generator<Uint8Array> {
  try {
    let a = left.next();
    let b = right.next();
    while (a.done !== true || b.done !== true) {
      const order = a.done === true ? 1 : b.done === true ? -1 : compareBytes(a.value, b.value);
      yield order <= 0 ? (a.value as Uint8Array) : (b.value as Uint8Array);
      if (order <= 0) a = left.next();
      if (order >= 0) b = right.next();
    }
  } finally {
    left.return(undefined);
    right.return(undefined);
  }
}

function slotWord(row: Uint8Array): Uint8Array {
  const at = slotValueAt(row);
  return toWord(row, at, slotValueEnd(row) - at);
}
