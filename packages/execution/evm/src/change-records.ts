import type { AccountChange, AccountRecord } from "./state.ts";

/*
 * The changes of accounts, one record after the other, numbers big-endian:
 *   address 20 ‖ flags 1 ‖ nonce 8 ‖ balance 32 ‖ code hash 32, before ‖ the same, after ‖ number of slots 4
 *   ‖ (slot 32 ‖ value after 32 ‖ value before 32) each
 */

export const RECORD_EXISTED = 1;
export const RECORD_EXISTS = 2;
export const RECORD_STORAGE_CLEARED = 4;

/** Offsets of a record's fields. */
export const RECORD_FLAGS = 20;
export const RECORD_BEFORE = 21;
export const RECORD_AFTER = RECORD_BEFORE + 72;
export const RECORD_SLOTS = RECORD_AFTER + 72;
export const RECORD_SIZE = RECORD_SLOTS + 4;
export const RECORD_SLOT_SIZE = 96;

/**
 * The net effect of a block as bytes. PERF: a block's changes are written to a database and hashed; as objects they were a fifth of
 * the main thread's garbage. A record is identified by its offset, the first one by 0.
 */
export class ChangeRecords {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  /** distance from one slot (slot 32 ‖ value after 32 ‖ value before 32) to the next */
  readonly slotSize = RECORD_SLOT_SIZE;

  /** @param bytes the records; kept, not copied */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Offset of the next record, or of the end. */
  nextAfter(record: number): number {
    return record + RECORD_SIZE + RECORD_SLOT_SIZE * this.slotCountOf(record);
  }

  slotCountOf(record: number): number {
    return this.#view.getUint32(record + RECORD_SLOTS);
  }

  /** Offset of its first slot, or of its end. */
  slotsOf(record: number): number {
    return record + RECORD_SIZE;
  }

  /** Offset of the account after the block: nonce 8 ‖ balance 32 ‖ code hash 32. */
  accountOf(record: number): number {
    return record + RECORD_AFTER;
  }

  /** Whether the account exists after the block. */
  exists(record: number): boolean {
    return (this.bytes[record + RECORD_FLAGS]! & RECORD_EXISTS) !== 0;
  }

  isStorageCleared(record: number): boolean {
    return (this.bytes[record + RECORD_FLAGS]! & RECORD_STORAGE_CLEARED) !== 0;
  }

  /** Whether the account may have had storage that was deleted. */
  clearsStorage(record: number): boolean {
    const flags = this.bytes[record + RECORD_FLAGS]!;
    return (flags & RECORD_EXISTED) !== 0 && ((flags & RECORD_STORAGE_CLEARED) !== 0 || (flags & RECORD_EXISTS) === 0);
  }

  /** The changes as objects, which do not refer to the bytes. */
  toAccountChanges(): AccountChange[] {
    const changes: AccountChange[] = [];
    for (let at = 0; at < this.bytes.length; at = this.nextAfter(at)) changes.push(this.changeAt(at));
    return changes;
  }

  /** A record as an object. @param first index of the first slot to return. @param last index after the last slot to return */
  changeAt(at: number, first = 0, last = this.slotCountOf(at)): AccountChange {
    const { bytes } = this;
    const flags = bytes[at + RECORD_FLAGS]!;
    const storage: AccountChange["storage"][number][] = [];
    const slots = this.slotsOf(at);
    const end = slots + last * RECORD_SLOT_SIZE;
    for (let slot = slots + first * RECORD_SLOT_SIZE; slot < end; slot += RECORD_SLOT_SIZE) {
      storage.push({
        slot: bytes.slice(slot, slot + 32),
        before: bytes.slice(slot + 64, slot + 96),
        after: bytes.slice(slot + 32, slot + 64),
      });
    }
    return {
      address: bytes.slice(at, at + 20),
      before: (flags & RECORD_EXISTED) === 0 ? undefined : this.#accountAt(at + RECORD_BEFORE),
      after: (flags & RECORD_EXISTS) === 0 ? undefined : this.#accountAt(at + RECORD_AFTER),
      storageCleared: (flags & RECORD_STORAGE_CLEARED) !== 0,
      storage,
    };
  }

  #accountAt(at: number): AccountRecord {
    return {
      nonce: this.#view.getBigUint64(at),
      balance: this.#wordAt(at + 8),
      codeHash: this.bytes.slice(at + 40, at + 72),
    };
  }

  #wordAt(at: number): bigint {
    const view = this.#view;
    const a = view.getBigUint64(at + 24);
    const b = view.getBigUint64(at + 16);
    const c = view.getBigUint64(at + 8);
    const d = view.getBigUint64(at);
    if (d === 0n && c === 0n) return b === 0n ? a : (b << 64n) | a;
    return (d << 192n) | (c << 128n) | (b << 64n) | a;
  }
}
