import type { AccountChange, AccountRecord, ChangeRecords, StateChanges } from "@rnode/evm";
import { type Hex, hexToBytes } from "@rnode/primitives";
import { ByteArena, NumberList } from "../buffers/growable.ts";
import { KeyTable } from "../buffers/key-table.ts";
import { writeUint32 } from "../database/keys.ts";
import { decodeAccountValue, MAX_ACCOUNT_RECORD_BYTES, writeAccountRecord, writeRecordedAccount } from "./account-value.ts";

const ADDRESS_SIZE = 20;
const WORD_SIZE = 32;
const SLOT_KEY_SIZE = 4 + WORD_SIZE;
/** The end of a linked list. */
export const NONE = -1;

/** Whether the change may remove storage. */
export const clearsStorage = ({ before, after, storageCleared }: AccountChange): boolean =>
  before !== undefined && (storageCleared || after === undefined);

/** Whether any of the changes may remove storage. */
export function anyClearsStorage(changes: StateChanges): boolean {
  const { records } = changes;
  if (records === undefined) return changes.accounts.some(clearsStorage);
  for (let at = 0; at < records.bytes.length; at = records.nextAfter(at)) if (records.clearsStorage(at)) return true;
  return false;
}

/** Number of changed accounts and slots. */
export function changeCount(changes: StateChanges): number {
  const { records } = changes;
  let count = 0;
  if (records === undefined) for (const { storage } of changes.accounts) count += 1 + storage.length;
  else for (let at = 0; at < records.bytes.length; at = records.nextAfter(at)) count += 1 + records.slotCountOf(at);
  return count;
}

/** An account that is removed, or whose storage is. */
export interface ClearingChange {
  readonly number: number;
  readonly change: AccountChange;
}

/**
 * The changes of consecutive blocks in accounts and slots, in order, by account and by slot. PERF: a block changes several
 * thousand; here they are numbers and bytes in a few buffers, which are reused for the next group.
 *
 * The changes of an account are its steps, one for each block that changed it. The changes of a slot are its writes.
 */
export class StateBatch {
  /** numbers of the blocks */
  readonly numbers: number[] = [];
  /** changes that remove storage; their block is alone in its batch */
  readonly clearing: ClearingChange[] = [];

  /** address 20 */
  readonly accounts = new KeyTable(ADDRESS_SIZE);
  /** for each account */
  readonly firstStep = new NumberList();
  readonly lastStep = new NumberList();
  readonly firstSlot = new NumberList();

  /**
   * for each step: index of the block in `numbers`, the account's next step, and the account's row after the step, without the
   * storage root (0 bytes: deleted)
   */
  readonly stepBlock = new NumberList();
  readonly nextStep = new NumberList();
  readonly stepRowAt = new NumberList();
  readonly stepRowSize = new NumberList();
  /** offset of the new storage root in `roots`; `NONE`: the storage did not change */
  readonly stepRootAt = new NumberList();
  readonly rows = new ByteArena();
  readonly roots = new ByteArena();
  /** only the storage roots after the last block are known */
  hasLastRootsOnly = false;

  /** number of the account 4 ‖ slot 32 */
  readonly slots = new KeyTable(SLOT_KEY_SIZE);
  /** for each slot */
  readonly firstWrite = new NumberList();
  readonly lastWrite = new NumberList();
  readonly nextSlotOfAccount = new NumberList();

  /** for each write; its value is 32 bytes of `values` */
  readonly writeStep = new NumberList();
  readonly nextWrite = new NumberList();
  readonly values = new ByteArena();

  readonly #address = new Uint8Array(ADDRESS_SIZE);
  readonly #slotKey = new Uint8Array(SLOT_KEY_SIZE);

  /**
   * Adds the next block. A block that clears storage must be alone in its batch, because the rows that it clears must be in the
   * database.
   */
  add(number: number, accounts: readonly AccountChange[]): void {
    if (this.clearing.length > 0) throw new RangeError("a block that clears storage is alone in its batch");
    const block = this.numbers.push(number) - 1;
    for (const change of accounts) {
      if (!clearsStorage(change)) this.#addAccount(block, change);
      else if (block > 0) throw new RangeError("a block that clears storage is alone in its batch");
      else this.clearing.push({ number, change });
    }
  }

  /** Like `add`, for a block that clears no storage. */
  addRecords(number: number, records: ChangeRecords): void {
    if (this.clearing.length > 0) throw new RangeError("a block that clears storage is alone in its batch");
    const block = this.numbers.push(number) - 1;
    const { bytes } = records;
    for (let at = 0, end = 0; at < bytes.length; at = end) {
      end = records.nextAfter(at);
      if (!records.exists(at)) continue; // it existed neither before nor after
      for (let i = 0; i < ADDRESS_SIZE; i++) this.#address[i] = bytes[at + i]!;
      const account = this.accounts.add(this.#address);
      const rowAt = this.rows.reserve(MAX_ACCOUNT_RECORD_BYTES);
      this.rows.size = writeRecordedAccount(this.rows.bytes, rowAt, bytes, records.accountOf(at));
      const step = this.#addStep(block, account, rowAt);
      const slotsAt = records.slotsOf(at);
      if (slotsAt < end) writeUint32(this.#slotKey, 0, account);
      for (let slot = slotsAt; slot < end; slot += records.slotSize) {
        for (let i = 0; i < WORD_SIZE; i++) this.#slotKey[4 + i] = bytes[slot + i]!;
        const valueAt = this.#addWrite(account, step);
        const values = this.values.bytes;
        for (let i = 0; i < WORD_SIZE; i++) values[valueAt + i] = bytes[slot + WORD_SIZE + i]!;
      }
    }
  }

  #addAccount(block: number, { address, after, storage }: AccountChange): void {
    if (after === undefined) return; // it existed neither before nor after
    const account = this.accounts.add(address);
    const rowAt = this.rows.reserve(MAX_ACCOUNT_RECORD_BYTES);
    this.rows.size = writeAccountRecord(this.rows.bytes, rowAt, after);
    const step = this.#addStep(block, account, rowAt);
    if (storage.length === 0) return;
    writeUint32(this.#slotKey, 0, account);
    for (const { slot, after: value } of storage) {
      for (let i = 0; i < WORD_SIZE; i++) this.#slotKey[4 + i] = slot[i]!;
      const at = this.#addWrite(account, step);
      const { bytes } = this.values;
      const zeros = WORD_SIZE - value.length;
      for (let i = 0; i < WORD_SIZE; i++) bytes[at + i] = i < zeros ? 0 : value[i - zeros]!;
    }
  }

  /** Adds the next step of an account, whose row is the last of `rows`. */
  #addStep(block: number, account: number, rowAt: number): number {
    const step = this.stepBlock.push(block);
    this.nextStep.push(NONE);
    this.stepRootAt.push(NONE);
    this.stepRowAt.push(rowAt);
    this.stepRowSize.push(this.rows.size - rowAt);
    if (account === this.firstStep.length) {
      this.firstStep.push(step);
      this.lastStep.push(step);
      this.firstSlot.push(NONE);
    } else {
      this.nextStep.values[this.lastStep.values[account]!] = step;
      this.lastStep.values[account] = step;
    }
    return step;
  }

  /** Records a write to the slot in `#slotKey`. @returns the offset in `values` for its 32-byte value */
  #addWrite(account: number, step: number): number {
    const id = this.slots.add(this.#slotKey);
    const write = this.writeStep.push(step);
    this.nextWrite.push(NONE);
    const at = this.values.reserve(WORD_SIZE);
    if (id === this.firstWrite.length) {
      this.firstWrite.push(write);
      this.lastWrite.push(write);
      this.nextSlotOfAccount.push(this.firstSlot.values[account]!);
      this.firstSlot.values[account] = id;
    } else {
      this.nextWrite.values[this.lastWrite.values[id]!] = write;
      this.lastWrite.values[id] = write;
    }
    return at;
  }

  /** Sets the storage roots after the last block, keyed by lower-case hex address; those between the blocks are unknown. */
  setLastRoots(storageRoots: ReadonlyMap<Hex, Uint8Array>): void {
    this.hasLastRootsOnly = true;
    for (const [addressHex, root] of storageRoots) {
      const account = this.accounts.find(hexToBytes(addressHex));
      if (account !== NONE) this.stepRootAt.values[this.lastStep.values[account]!] = this.roots.append(root);
    }
  }

  /** Sets the new storage roots of a block, keyed by lower-case hex address. */
  setRoots(block: number, storageRoots: ReadonlyMap<Hex, Uint8Array>): void {
    for (const [addressHex, root] of storageRoots) {
      const account = this.accounts.find(hexToBytes(addressHex));
      if (account === NONE) continue;
      let step = this.firstStep.values[account]!;
      while (step !== NONE && this.stepBlock.values[step]! < block) step = this.nextStep.values[step]!;
      if (step !== NONE && this.stepBlock.values[step] === block) this.stepRootAt.values[step] = this.roots.append(root);
    }
  }

  /** The account after the last block, without its storage root; undefined if no block has changed it. */
  account(address: Uint8Array): AccountRecord | undefined {
    const account = this.accounts.find(address);
    return account === NONE
      ? undefined
      : decodeAccountValue(this.rows.bytes, this.stepRowAt.values[this.lastStep.values[account]!]!);
  }

  /** The slot after the last block, as 32 bytes that are valid until the batch grows; undefined if no block has changed it. */
  slot(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const account = this.accounts.find(address);
    if (account === NONE || this.firstSlot.values[account] === NONE) return undefined;
    writeUint32(this.#slotKey, 0, account);
    for (let i = 0; i < WORD_SIZE; i++) this.#slotKey[4 + i] = slot[i]!;
    const id = this.slots.find(this.#slotKey);
    if (id === NONE) return undefined;
    const at = this.lastWrite.values[id]! * WORD_SIZE;
    return this.values.bytes.subarray(at, at + WORD_SIZE);
  }

  clear(): void {
    this.numbers.length = 0;
    this.clearing.length = 0;
    this.hasLastRootsOnly = false;
    for (const part of [
      this.accounts,
      this.firstStep,
      this.lastStep,
      this.firstSlot,
      this.stepBlock,
      this.nextStep,
      this.stepRowAt,
      this.stepRowSize,
      this.stepRootAt,
      this.rows,
      this.roots,
      this.slots,
      this.firstWrite,
      this.lastWrite,
      this.nextSlotOfAccount,
      this.writeStep,
      this.nextWrite,
      this.values,
    ]) {
      part.clear();
    }
  }
}
