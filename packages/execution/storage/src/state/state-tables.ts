import type { AccountChange } from "@rnode/evm";
import {
  bytesToHex,
  compareBytes,
  concatBytes,
  EMPTY_TRIE_ROOT,
  equalBytes,
  type Hex,
  hexToBytes,
  trimBytesLeft,
} from "@rnode/primitives";
import type { StatePlace, StateRow, StoredAccount } from "../api.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, writeBlockNumber } from "../database/keys.ts";
import type { Table } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { accountValueEnd, decodeAccountValue, encodeAccountValue } from "./account-value.ts";
import { decodeChangeRow, encodeChangeRow, findOldSlot, type OldSlot, oldAccount, oldSlot } from "./change-row.ts";
import { FlatRows } from "./flat-rows.ts";
import { slotValueAt, slotValueEnd, toWord } from "./slot-value.ts";
import type { StateBatch } from "./state-batch.ts";
import { StateBatchWriter } from "./state-batch-writer.ts";

const ADDRESS_SIZE = 20;
const SLOT_KEY_SIZE = ADDRESS_SIZE + 32;
const NO_PREFIX = new Uint8Array(0);
const NO_VALUE = new Uint8Array(0);

export interface StateTableSet {
  /** address → account, and the last blocks that changed it (account-value.ts) */
  readonly accounts: Table;
  /** address ‖ slot → value, and the last blocks that changed it (slot-value.ts) */
  readonly storage: Table;
  /** block ‖ address → the account before the block (change-row.ts) */
  readonly changes: Table;
  /** address → blocks that changed the account, except for those in its row (flat-rows.ts) */
  readonly accountBlocks: Table;
  /** address ‖ slot → blocks that changed the slot, likewise */
  readonly slotBlocks: Table;
  /** code hash → code; never removed */
  readonly codes: Table;
}

/**
 * The flat state at the head, and earlier states. To read the state after block N, use the old value recorded by the first block
 * after N that changed the account or slot; if there is none, use the head's value.
 */
export class StateTables {
  readonly #tables: StateTableSet;
  readonly #accountRows: FlatRows;
  readonly #slotRows: FlatRows;
  readonly #slotKey = new Uint8Array(SLOT_KEY_SIZE);
  readonly #changeKey = new Uint8Array(BLOCK_NUMBER_SIZE + ADDRESS_SIZE);
  readonly #batchWriter: StateBatchWriter;

  constructor(tables: StateTableSet) {
    this.#tables = tables;
    const { accounts, storage, accountBlocks, slotBlocks } = tables;
    this.#accountRows = new FlatRows("account", ADDRESS_SIZE, { rows: accounts, lists: accountBlocks });
    this.#slotRows = new FlatRows("slot", SLOT_KEY_SIZE, { rows: storage, lists: slotBlocks });
    this.#batchWriter = new StateBatchWriter(tables.changes, this.#accountRows, this.#slotRows);
  }

  #slotKeyOf(address: Uint8Array, slot: Uint8Array): Uint8Array {
    this.#slotKey.set(address);
    this.#slotKey.set(slot, ADDRESS_SIZE);
    return this.#slotKey;
  }

  #changeKeyOf(number: number, address: Uint8Array): Uint8Array {
    writeBlockNumber(this.#changeKey, 0, number);
    this.#changeKey.set(address, BLOCK_NUMBER_SIZE);
    return this.#changeKey;
  }

  readAccount(address: Uint8Array): StoredAccount | undefined {
    const row = this.#tables.accounts.peek(address);
    return row === undefined ? undefined : decodeAccountValue(row);
  }

  /** 32 bytes; undefined means zero. */
  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const row = this.#tables.storage.peek(this.#slotKeyOf(address, slot));
    return row === undefined ? undefined : slotWord(row);
  }

  /** All accounts at the head, by ascending address. Nothing may be written meanwhile. */
  *accounts(): Generator<{ readonly address: Uint8Array; readonly account: StoredAccount }> {
    for (const { key, value } of this.#tables.accounts.range(NO_PREFIX)) yield { address: key, account: decodeAccountValue(value) };
  }

  /** All slots of an account at the head, 32 bytes each. Nothing may be written meanwhile. */
  *slots(address: Uint8Array): Generator<{ readonly slot: Uint8Array; readonly value: Uint8Array }> {
    for (const { key, value } of this.#tables.storage.withPrefix(address)) {
      yield { slot: key.subarray(ADDRESS_SIZE), value: slotWord(value) };
    }
  }

  /**
   * The state after a block, from the row after `after` on. No writes are allowed meanwhile.
   *
   * @param number `undefined`: the head
   */
  *rowsAt(number: number | undefined, after: StatePlace | undefined): Generator<StateRow> {
    if (after !== undefined) {
      const account = number === undefined ? this.readAccount(after.address) : this.readAccountAt(number, after.address);
      yield* this.#slotRowsAt(number, after.address, account, after.slot);
    }
    for (const address of this.#keysAt(number, "accounts", NO_PREFIX, after?.address)) {
      const account = number === undefined ? this.readAccount(address) : this.readAccountAt(number, address);
      if (account === undefined) continue;
      yield { kind: "account", address, account };
      yield* this.#slotRowsAt(number, address, account, undefined);
    }
  }

  *#slotRowsAt(
    number: number | undefined,
    address: Uint8Array,
    account: StoredAccount | undefined,
    after: Uint8Array | undefined,
  ): Generator<StateRow> {
    if (account === undefined || equalBytes(account.storageRoot, EMPTY_TRIE_ROOT)) return;
    for (const key of this.#keysAt(number, "storage", address, after && concatBytes(address, after))) {
      const slot = key.subarray(ADDRESS_SIZE);
      const value = number === undefined ? this.readStorage(address, slot) : this.readStorageAt(number, address, slot);
      if (value !== undefined) yield { kind: "slot", address, slot, value: trimBytesLeft(value) };
    }
  }

  /** Keys with a row in the head's table, and those with one that changed after block `number`; all above `after`. */
  #keysAt(
    number: number | undefined,
    name: "accounts" | "storage",
    prefix: Uint8Array,
    after: Uint8Array | undefined,
  ): Iterable<Uint8Array> {
    const start = after === undefined ? prefix : concatBytes(after, AFTER);
    const keys = this.#tables[name].keysWithPrefix(prefix, start);
    if (number === undefined) return keys;
    const rows = name === "accounts" ? this.#accountRows : this.#slotRows;
    return mergedKeys(keys, rows.goneKeys(number, prefix, after));
  }

  /** The account after block `number`, which must not be above the head. */
  readAccountAt(number: number, address: Uint8Array): StoredAccount | undefined {
    const row = this.#tables.accounts.peek(address);
    const changedAt = this.#accountRows.firstChange(number, address, row);
    if (changedAt === undefined) return row && decodeAccountValue(row);
    return oldAccount(this.#changeRow(changedAt, address));
  }

  readStorageAt(number: number, address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const key = this.#slotKeyOf(address, slot);
    const row = this.#tables.storage.peek(key);
    const changedAt = this.#slotRows.firstChange(number, key, row);
    if (changedAt === undefined) return row && slotWord(row);
    const changeRow = this.#changeRow(changedAt, address);
    const old = findOldSlot(changeRow, slot);
    if (old === undefined) {
      throw storageError("storage/corrupted", { row: `changes ${changedAt} ${bytesToHex(address)}`, reason: "slot missing" });
    }
    return oldSlot(changeRow, old);
  }

  /** A copy of a block's changes of an account (change-row.ts); `undefined` if there are none. */
  readChangeRow(number: number, address: Uint8Array): Uint8Array | undefined {
    return this.#tables.changes.read(this.#changeKeyOf(number, address));
  }

  #changeRow(number: number, address: Uint8Array): Uint8Array {
    const row = this.#tables.changes.peek(this.#changeKeyOf(number, address));
    if (row === undefined)
      throw storageError("storage/corrupted", { row: `changes ${number} ${bytesToHex(address)}`, reason: "missing" });
    return row;
  }

  /** Returns a copy. @throws {CodedError} storage/missing-code */
  readCode(codeHash: Uint8Array): Uint8Array {
    const code = this.#tables.codes.read(codeHash);
    if (code === undefined) throw storageError("storage/missing-code", { codeHash: bytesToHex(codeHash) });
    return code;
  }

  writeCodes(codes: Iterable<{ readonly codeHash: Uint8Array; readonly code: Uint8Array }>): void {
    for (const { codeHash, code } of codes) if (!this.#tables.codes.has(codeHash)) this.#tables.codes.write(codeHash, code);
  }

  /** Writes the accounts of an empty database. Nothing is replaced, so nothing is recorded. */
  writeGenesis(accounts: readonly AccountChange[], storageRoots: ReadonlyMap<Hex, Uint8Array>): void {
    for (const { address, after, storage } of sortedByAddress(accounts)) {
      if (after === undefined) continue;
      const storageRoot = storageRoots.get(bytesToHex(address)) ?? EMPTY_TRIE_ROOT;
      this.#tables.accounts.write(address, encodeAccountValue({ ...after, storageRoot }));
      for (const { slot, after: value } of storage) {
        const trimmed = trimBytesLeft(value);
        if (trimmed.length > 0) this.#tables.storage.write(this.#slotKeyOf(address, slot), trimmed);
      }
    }
  }

  /**
   * Applies the changes of a batch to the flat state, and records the replaced values.
   *
   * @param storageRoots the new ones of each block, keyed by lower-case hex address
   */
  apply(batch: StateBatch, storageRoots: readonly ReadonlyMap<Hex, Uint8Array>[]): void {
    for (const { number, change } of batch.clearing) this.#applyClearing(number, change, storageRoots[0]!);
    for (const [block, roots] of storageRoots.entries()) batch.setRoots(block, roots);
    this.#batchWriter.write(batch);
  }

  /** Applies a change that removes an account or its storage. */
  #applyClearing(number: number, change: AccountChange, storageRoots: ReadonlyMap<Hex, Uint8Array>): void {
    const { address, after } = change;
    const stored = this.#tables.accounts.read(address);
    const before = stored?.subarray(0, accountValueEnd(stored));
    const slots = this.#clearStorage(number, change);
    const storageRoot = storageRoots.get(bytesToHex(address)) ?? EMPTY_TRIE_ROOT;
    const row = after === undefined ? undefined : encodeAccountValue({ ...after, storageRoot });
    const isSame = before === undefined || row === undefined ? before === row : equalBytes(before, row);
    if (isSame && slots.length === 0) return;
    this.#tables.changes.write(this.#changeKeyOf(number, address), encodeChangeRow(before, slots));
    this.#accountRows.seek(address);
    this.#accountRows.replace(row ?? NO_VALUE, 0, row?.length ?? 0, [number]);
  }

  /** @returns the slots that changed, with their old values */
  #clearStorage(number: number, { address, after, storage }: AccountChange): OldSlot[] {
    const { storage: table } = this.#tables;
    const old: OldSlot[] = [];
    const cleared = new Map<Hex, Uint8Array>();
    for (const { key, value } of [...table.withPrefix(address)]) {
      cleared.set(bytesToHex(key.subarray(ADDRESS_SIZE)), value.subarray(slotValueAt(value), slotValueEnd(value)));
    }
    const written = after === undefined ? [] : [...storage].sort((a, b) => compareBytes(a.slot, b.slot));
    for (const { slot, after: value } of written) {
      const slotHex = bytesToHex(slot);
      const before = cleared.get(slotHex);
      cleared.delete(slotHex);
      const trimmed = trimBytesLeft(value);
      if (before === undefined ? trimmed.length === 0 : equalBytes(before, trimmed)) continue;
      this.#replaceSlot(address, slot, trimmed, number);
      old.push({ slot, value: before });
    }
    for (const [slotHex, value] of cleared) {
      const slot = hexToBytes(slotHex);
      this.#replaceSlot(address, slot, NO_VALUE, number);
      old.push({ slot, value });
    }
    return old;
  }

  #replaceSlot(address: Uint8Array, slot: Uint8Array, value: Uint8Array, number: number): void {
    this.#slotRows.seek(this.#slotKeyOf(address, slot));
    this.#slotRows.replace(value, 0, value.length, [number]);
  }

  /** Undoes the changes of block `number`, which must be the head. */
  unwind(number: number): void {
    const { changes } = this.#tables;
    for (const { key, value } of [...changes.withPrefix(blockNumberKey(number))]) {
      const address = key.subarray(BLOCK_NUMBER_SIZE);
      const { account, slots } = decodeChangeRow(value);
      this.#accountRows.seek(address);
      this.#accountRows.restore(account, number);
      for (const { slot, value: old } of slots) {
        this.#slotRows.seek(this.#slotKeyOf(address, slot));
        this.#slotRows.restore(old, number);
      }
      changes.delete(key);
    }
  }

  /**
   * For pruning: removes block `number`'s change of an account.
   *
   * @param slot `undefined`: the account itself
   */
  forgetChange(number: number, address: Uint8Array, slot: Uint8Array | undefined): void {
    if (slot === undefined) this.#accountRows.prune(address, number);
    else this.#slotRows.prune(this.#slotKeyOf(address, slot), number);
  }
}

/** Suffix for the next key in key order. */
const AFTER = Uint8Array.of(0);

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

function sortedByAddress(accounts: readonly AccountChange[]): AccountChange[] {
  return [...accounts].sort((a, b) => compareBytes(a.address, b.address));
}
