import { EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { ByteArena, NumberList } from "../buffers/growable.ts";
import { sortedKeys, sortKeys } from "../buffers/key-table.ts";
import { BLOCK_NUMBER_SIZE, writeBlockNumber } from "../database/keys.ts";
import type { Table } from "../database/table.ts";
import { accountValueEnd, MAX_ACCOUNT_RECORD_BYTES, markStorage, markUnknownStorage, storageRootAt } from "./account-value.ts";
import { ChangeRowWriter, changeRowSize } from "./change-row.ts";
import type { FlatRows } from "./flat-rows.ts";
import type { StateKeys } from "./hashed-keys.ts";
import { slotValueAt, slotValueEnd } from "./slot-value.ts";
import { NONE, type StateBatch } from "./state-batch.ts";

const ADDRESS_SIZE = 20;
const HASH_SIZE = 32;
const WORD_SIZE = 32;
/** number of the account ‖ slot */
const SLOT_KEY_SIZE = 4 + WORD_SIZE;

/**
 * Writes a batch into the tables of the state. A row that several blocks change is written once, in key order; each block's
 * change rows contain the values before that block. PERF: no objects; everything is built in reused buffers.
 */
export class StateBatchWriter {
  readonly #changes: Table;
  readonly #accounts: FlatRows;
  readonly #slots: FlatRows;
  readonly #keys: StateKeys;
  readonly #accountKey = new Uint8Array(HASH_SIZE);
  readonly #slotKey = new Uint8Array(2 * HASH_SIZE);
  readonly #changeKey = new Uint8Array(BLOCK_NUMBER_SIZE + HASH_SIZE);
  /** of the batch's accounts and slots, in their order */
  readonly #accountHashes = new ByteArena();
  readonly #slotHashes = new ByteArena();
  /** the blocks that changed the current key */
  readonly #numbers: number[] = [];

  /** for each step: its first and its last old slot */
  readonly #firstOld = new NumberList();
  readonly #lastOld = new NumberList();
  /** for each old slot, ascending within a step: the step's next old slot, the slot, and its value before the step */
  readonly #nextOld = new NumberList();
  readonly #oldSlot = new NumberList();
  readonly #oldValueAt = new NumberList();
  readonly #oldValueSize = new NumberList();
  readonly #oldValues = new ByteArena();

  /** rows of the current account: before the batch, and after each step */
  readonly #rows = new ByteArena();

  /** for each block: its first and its last change row */
  readonly #firstChange = new NumberList();
  readonly #lastChange = new NumberList();
  /** for each change row, ascending by key within a block */
  readonly #nextChange = new NumberList();
  readonly #changeAccount = new NumberList();
  readonly #changeAt = new NumberList();
  readonly #changeSize = new NumberList();
  readonly #changeRows = new ByteArena();

  constructor(changes: Table, accounts: FlatRows, slots: FlatRows, keys: StateKeys) {
    this.#changes = changes;
    this.#accounts = accounts;
    this.#slots = slots;
    this.#keys = keys;
  }

  write(batch: StateBatch): void {
    this.#clear();
    for (let step = 0; step < batch.stepBlock.length; step++) {
      this.#firstOld.push(NONE);
      this.#lastOld.push(NONE);
    }
    for (let block = 0; block < batch.numbers.length; block++) {
      this.#firstChange.push(NONE);
      this.#lastChange.push(NONE);
    }
    const { accounts, slots } = batch;
    this.#accountHashes.reserve(accounts.count * HASH_SIZE);
    this.#slotHashes.reserve(slots.count * HASH_SIZE);
    this.#keys.addresses.writeAll(this.#accountHashes.bytes, accounts.bytes, accounts.count, 0, ADDRESS_SIZE);
    this.#keys.slots.writeAll(this.#slotHashes.bytes, slots.bytes, slots.count, SLOT_KEY_SIZE - WORD_SIZE, SLOT_KEY_SIZE);
    for (const account of sortedKeys(this.#accountHashes.bytes, HASH_SIZE, accounts.count)) {
      copy(this.#accountHashes.bytes, account * HASH_SIZE, this.#accountKey, 0, HASH_SIZE);
      if (batch.firstSlot.values[account] !== NONE) this.#writeSlots(batch, account);
      this.#writeAccount(batch, account);
    }
    this.#writeChanges(batch);
  }

  #clear(): void {
    for (const part of [
      this.#firstOld,
      this.#lastOld,
      this.#nextOld,
      this.#oldSlot,
      this.#oldValueAt,
      this.#oldValueSize,
      this.#oldValues,
      this.#firstChange,
      this.#lastChange,
      this.#nextChange,
      this.#changeAccount,
      this.#changeAt,
      this.#changeSize,
      this.#changeRows,
      this.#accountHashes,
      this.#slotHashes,
    ]) {
      part.clear();
    }
  }

  #writeSlots(batch: StateBatch, account: number): void {
    let count = 0;
    for (let slot = batch.firstSlot.values[account]!; slot !== NONE; slot = batch.nextSlotOfAccount.values[slot]!) count++;
    const slots = new Uint32Array(count);
    for (let slot = batch.firstSlot.values[account]!; slot !== NONE; slot = batch.nextSlotOfAccount.values[slot]!)
      slots[--count] = slot;
    sortKeys(slots, this.#slotHashes.bytes, HASH_SIZE);
    this.#slotKey.set(this.#accountKey);
    for (const slot of slots) this.#writeSlot(batch, slot);
  }

  #writeSlot(batch: StateBatch, slot: number): void {
    const key = this.#slotKey;
    copy(this.#slotHashes.bytes, slot * HASH_SIZE, key, HASH_SIZE, HASH_SIZE);
    const stored = this.#slots.seek(key);
    let bytes = this.#oldValues.bytes;
    let at = this.#oldValues.size;
    let size = 0;
    if (stored !== undefined) {
      const storedAt = slotValueAt(stored);
      size = slotValueEnd(stored) - storedAt;
      at = this.#keep(stored, storedAt, size);
      bytes = this.#oldValues.bytes;
    }
    const values = batch.values.bytes;
    const numbers = this.#numbers;
    let changes = 0;
    for (let write = batch.firstWrite.values[slot]!; write !== NONE; write = batch.nextWrite.values[write]!) {
      const end = (write + 1) * WORD_SIZE;
      let nextAt = end - WORD_SIZE;
      while (nextAt < end && values[nextAt] === 0) nextAt++;
      if (isSame(bytes, at, size, values, nextAt, end - nextAt)) continue;
      const step = batch.writeStep.values[write]!;
      this.#noteOld(step, slot, bytes === values ? this.#keep(values, at, size) : at, size);
      numbers[changes++] = batch.numbers[batch.stepBlock.values[step]!]!;
      bytes = values;
      at = nextAt;
      size = end - nextAt;
    }
    if (changes > 0) this.#slots.replace(bytes, at, size, numbers, changes);
  }

  /** @param values only indexed into */
  #keep(values: Uint8Array, at: number, size: number): number {
    const keptAt = this.#oldValues.reserve(size);
    copy(values, at, this.#oldValues.bytes, keptAt, size);
    return keptAt;
  }

  #noteOld(step: number, slot: number, valueAt: number, valueSize: number): void {
    const old = this.#oldSlot.push(slot);
    this.#oldValueAt.push(valueAt);
    this.#oldValueSize.push(valueSize);
    this.#nextOld.push(NONE);
    const last = this.#lastOld.values[step]!;
    if (last === NONE) this.#firstOld.values[step] = old;
    else this.#nextOld.values[last] = old;
    this.#lastOld.values[step] = old;
  }

  #writeAccount(batch: StateBatch, account: number): void {
    const rows = this.#rows;
    rows.clear();
    const stored = this.#accounts.seek(this.#accountKey);
    const storedSize = stored === undefined ? 0 : accountValueEnd(stored);
    rows.reserve(storedSize);
    if (stored !== undefined) copy(stored, 0, rows.bytes, 0, storedSize);
    let at = 0;
    let size = storedSize;
    let changes = 0;
    let isRootUnknown = false;
    for (let step = batch.firstStep.values[account]!; step !== NONE; step = batch.nextStep.values[step]!) {
      const nextAt = rows.size;
      isRootUnknown ||= batch.hasLastRootsOnly && this.#firstOld.values[step] !== NONE;
      if (isRootUnknown && batch.nextStep.values[step] !== NONE) this.#addRecord(batch, step, markUnknownStorage);
      else if (isRootUnknown) this.#addRowAfter(batch, step, 0, storedSize);
      else this.#addRowAfter(batch, step, at, size);
      const nextSize = rows.size - nextAt;
      if (this.#firstOld.values[step] === NONE && isSame(rows.bytes, at, size, rows.bytes, nextAt, nextSize)) {
        rows.size = nextAt;
        continue;
      }
      const block = batch.stepBlock.values[step]!;
      this.#noteChange(block, account, step, at, size);
      this.#numbers[changes++] = batch.numbers[block]!;
      at = nextAt;
      size = nextSize;
    }
    if (changes > 0) this.#accounts.replace(rows.bytes, at, size, this.#numbers, changes);
  }

  /** Adds the account's row after the step, without a storage root. @returns its place */
  #addRecord(batch: StateBatch, step: number, mark?: (row: Uint8Array, at: number) => void): number {
    const rows = this.#rows;
    const at = rows.reserve(MAX_ACCOUNT_RECORD_BYTES + WORD_SIZE);
    const size = batch.stepRowSize.values[step]!;
    copy(batch.rows.bytes, batch.stepRowAt.values[step]!, rows.bytes, at, size);
    rows.size = at + size;
    mark?.(rows.bytes, at);
    return at;
  }

  /** Adds the account's row after the step. If the step has no new storage root, it has that of the row of `size` bytes at `at`. */
  #addRowAfter(batch: StateBatch, step: number, at: number, size: number): void {
    const rows = this.#rows;
    const nextAt = this.#addRecord(batch, step);
    const { bytes } = rows;
    let end = rows.size;
    const newRootAt = batch.stepRootAt.values[step]!;
    let rootAt = NONE;
    let root = bytes;
    if (newRootAt !== NONE) {
      root = batch.roots.bytes;
      if (!isSame(root, newRootAt, WORD_SIZE, EMPTY_TRIE_ROOT, 0, WORD_SIZE)) rootAt = newRootAt;
    } else if (size > 0) {
      rootAt = storageRootAt(bytes, at, size);
    }
    if (rootAt !== NONE) {
      markStorage(bytes, nextAt);
      copy(root, rootAt, bytes, end, WORD_SIZE);
      end += WORD_SIZE;
    }
    rows.size = end;
  }

  #noteChange(block: number, account: number, step: number, rowAt: number, rowSize: number): void {
    let slots = 0;
    let valueBytes = 0;
    for (let old = this.#firstOld.values[step]!; old !== NONE; old = this.#nextOld.values[old]!) {
      slots++;
      valueBytes += this.#oldValueSize.values[old]!;
    }
    const change = this.#changeAccount.push(account);
    this.#nextChange.push(NONE);
    const size = changeRowSize(rowSize, slots, valueBytes);
    const changeAt = this.#changeRows.reserve(size);
    this.#changeAt.push(changeAt);
    this.#changeSize.push(size);
    const row = new ChangeRowWriter(this.#changeRows.bytes, changeAt, this.#rows.bytes, rowAt, rowSize, slots);
    for (let old = this.#firstOld.values[step]!; old !== NONE; old = this.#nextOld.values[old]!) {
      const slotAt = this.#oldSlot.values[old]! * HASH_SIZE;
      row.add(
        this.#slotHashes.bytes,
        slotAt,
        this.#oldValues.bytes,
        this.#oldValueAt.values[old]!,
        this.#oldValueSize.values[old]!,
      );
    }
    const last = this.#lastChange.values[block]!;
    if (last === NONE) this.#firstChange.values[block] = change;
    else this.#nextChange.values[last] = change;
    this.#lastChange.values[block] = change;
  }

  #writeChanges(batch: StateBatch): void {
    const key = this.#changeKey;
    const rows = this.#changeRows.bytes;
    for (const [block, number] of batch.numbers.entries()) {
      writeBlockNumber(key, 0, number);
      for (let change = this.#firstChange.values[block]!; change !== NONE; change = this.#nextChange.values[change]!) {
        copy(this.#accountHashes.bytes, this.#changeAccount.values[change]! * HASH_SIZE, key, BLOCK_NUMBER_SIZE, HASH_SIZE);
        this.#changes.write(key, rows, this.#changeSize.values[change]!, this.#changeAt.values[change]!);
      }
    }
  }
}

function copy(from: Uint8Array, fromAt: number, to: Uint8Array, toAt: number, count: number): void {
  for (let i = 0; i < count; i++) to[toAt + i] = from[fromAt + i]!;
}

function isSame(a: Uint8Array, aAt: number, aSize: number, b: Uint8Array, bAt: number, bSize: number): boolean {
  if (aSize !== bSize) return false;
  for (let i = 0; i < aSize; i++) if (a[aAt + i] !== b[bAt + i]) return false;
  return true;
}
