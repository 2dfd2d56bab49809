/**
 * The undo log of a transaction: every change of state appends the replaced value, and a failing frame reverts to its start. A
 * position is a byte offset, because the log moves when it grows.
 *
 * Record, 48 bytes: u32 kind, u32 entry, u64 small old value, word old value.
 */
import {
  A_BALANCE,
  A_CODE_EPOCH,
  A_CODE_HASH,
  A_CREATED,
  A_DESTROYED,
  A_EXISTS,
  A_NONCE,
  A_TOUCHED,
  A_WARM,
  A_ADDRESS,
  S_VALUE,
  S_WARM,
} from "./layout";
import { allocate, enlarge, release } from "./heap";
import { copyWord, fits64 } from "./word";

@inline export const RECORD: u32 = 48;
@inline const INITIAL: u32 = 1 << 16;

@inline export const J_BALANCE: u32 = 1;
@inline export const J_NONCE: u32 = 2;
@inline export const J_CODE: u32 = 3;
@inline export const J_STORAGE: u32 = 4;
@inline export const J_WARM_ACCOUNT: u32 = 5;
@inline export const J_WARM_SLOT: u32 = 6;
@inline export const J_TOUCHED: u32 = 7;
@inline export const J_EXISTS: u32 = 8;
@inline export const J_CREATED: u32 = 9;
@inline export const J_DESTROYED: u32 = 10;

let records: u32 = 0;
let capacity: u32 = 0;
let used: u32 = 0;

/** Whether the precompile 0x03 was touched in a frame that failed: see `revertTo`. */
export let ripemdTouched: bool = false;

/** Position of the end of the log. */
@inline export function journalPosition(): u32 {
  return used;
}

@inline export function journalRecord(position: u32): u32 {
  return records + position;
}

export function journalReset(): void {
  if (capacity > INITIAL << 6) {
    release(records, capacity);
    capacity = 0;
  }
  if (capacity == 0) {
    records = allocate(INITIAL);
    capacity = INITIAL;
  }
  used = 0;
  ripemdTouched = false;
}

/** Appends a record and returns it. */
export function append(kind: u32, entry: u32): u32 {
  if (used + RECORD > capacity) {
    records = enlarge(records, capacity, used, capacity << 1);
    capacity <<= 1;
  }
  const record = records + used;
  used += RECORD;
  store<u32>(record, kind);
  store<u32>(record, entry, 4);
  return record;
}

/** Called before `A_BALANCE` or another word of an entry changes. */
@inline export function appendWord(kind: u32, entry: u32, oldWord: u32): void {
  copyWord(append(kind, entry) + 16, oldWord);
}

@inline export function appendNumber(kind: u32, entry: u32, oldNumber: u64): void {
  store<u64>(append(kind, entry), oldNumber, 8);
}

/** Undoes everything after `position`, last change first. */
export function revertTo(position: u32): void {
  while (used > position) {
    used -= RECORD;
    const record = records + used;
    const entry = load<u32>(record, 4);
    switch (load<u32>(record)) {
      case J_BALANCE:
        copyWord(entry + A_BALANCE, record + 16);
        break;
      case J_NONCE:
        store<u64>(entry, load<u64>(record, 8), A_NONCE);
        break;
      case J_CODE:
        memory.copy(entry + A_CODE_HASH, record + 16, 32);
        store<u32>(entry, 0, A_CODE_EPOCH);
        break;
      case J_STORAGE:
        copyWord(entry + S_VALUE, record + 16);
        break;
      case J_WARM_ACCOUNT:
        store<u32>(entry, 0, A_WARM);
        break;
      case J_WARM_SLOT:
        store<u32>(entry, 0, S_WARM);
        break;
      case J_TOUCHED:
        // Block 2,675,119 of Ethereum deleted the empty account 0x03 although the call that touched it ran out of gas; clients
        // agreed to keep this behaviour for this one address.
        if (fits64(entry + A_ADDRESS) && load<u64>(entry, A_ADDRESS) == 3) ripemdTouched = true;
        store<u32>(entry, 0, A_TOUCHED);
        break;
      case J_EXISTS:
        store<u32>(entry, 0, A_EXISTS);
        break;
      case J_CREATED:
        store<u32>(entry, 0, A_CREATED);
        break;
      case J_DESTROYED:
        store<u32>(entry, 0, A_DESTROYED);
        break;
    }
  }
}
