import type { AccountRecord } from "@rnode/evm";
import { bigintToBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, ZERO_HASH } from "@rnode/primitives";
import type { StoredAccount } from "../api.ts";

/*
 * Row of a flat account:
 *   flags 1 (low nibble: bytes of the nonce; 0x10 has code; 0x20 has storage; 0x40 had storage whose root nobody computed) ‖ bytes of the
 *   balance 1 ‖ nonce ‖ balance
 *   ‖ code hash 32, if any ‖ storage root 32, if any
 * In the table of accounts, the last blocks that changed it follow (change-list.ts).
 */

const HAS_CODE = 0x10;
const HAS_STORAGE = 0x20;
const HAD_UNKNOWN_STORAGE = 0x40;

/** The storage root of an old account inside a run of blocks for which only one state root was computed. */
export const UNKNOWN_STORAGE_ROOT = ZERO_HASH;

export function encodeAccountValue(account: StoredAccount): Uint8Array {
  const nonce = bigintToBytes(account.nonce);
  const balance = bigintToBytes(account.balance);
  const hasCode = !equalBytes(account.codeHash, EMPTY_KECCAK);
  const hasStorage = !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  const value = new Uint8Array(2 + nonce.length + balance.length + (hasCode ? 32 : 0) + (hasStorage ? 32 : 0));
  value[0] = nonce.length | (hasCode ? HAS_CODE : 0) | (hasStorage ? HAS_STORAGE : 0);
  value[1] = balance.length;
  value.set(nonce, 2);
  let at = 2 + nonce.length;
  value.set(balance, at);
  at += balance.length;
  if (hasCode) {
    value.set(account.codeHash, at);
    at += 32;
  }
  if (hasStorage) value.set(account.storageRoot, at);
  return value;
}

/** The maximum size of an account without its storage root. */
export const MAX_ACCOUNT_RECORD_BYTES = 2 + 8 + 32 + 32;

const numbers = new Uint8Array(8 + 32);
const numbersView = new DataView(numbers.buffer);
const MASK_64 = (1n << 64n) - 1n;

/** Writes the row of an account with empty storage. PERF: there are several per transaction. @returns its end offset */
export function writeAccountRecord(out: Uint8Array, at: number, { nonce, balance, codeHash }: AccountRecord): number {
  numbersView.setBigUint64(0, nonce);
  if (balance <= MASK_64) {
    for (let i = 8; i < 32; i++) numbers[i] = 0;
    numbersView.setBigUint64(32, balance);
  } else {
    numbersView.setBigUint64(8, balance >> 192n);
    numbersView.setBigUint64(16, (balance >> 128n) & MASK_64);
    numbersView.setBigUint64(24, (balance >> 64n) & MASK_64);
    numbersView.setBigUint64(32, balance & MASK_64);
  }
  let nonceAt = 0;
  while (nonceAt < 8 && numbers[nonceAt] === 0) nonceAt++;
  let balanceAt = 8;
  while (balanceAt < 40 && numbers[balanceAt] === 0) balanceAt++;
  const hasCode = !equalBytes(codeHash, EMPTY_KECCAK);
  out[at] = (8 - nonceAt) | (hasCode ? HAS_CODE : 0);
  out[at + 1] = 40 - balanceAt;
  let next = at + 2;
  for (let i = nonceAt; i < 8; i++) out[next++] = numbers[i]!;
  for (let i = balanceAt; i < 40; i++) out[next++] = numbers[i]!;
  if (hasCode) for (let i = 0; i < 32; i++) out[next++] = codeHash[i]!;
  return next;
}

/** Like `writeAccountRecord`, for an account in the form of `ChangeRecords`: nonce 8 ‖ balance 32 ‖ code hash 32, at `from`. */
export function writeRecordedAccount(out: Uint8Array, at: number, bytes: Uint8Array, from: number): number {
  const balanceFrom = from + 8;
  const codeHashAt = balanceFrom + 32;
  let nonceAt = from;
  while (nonceAt < balanceFrom && bytes[nonceAt] === 0) nonceAt++;
  let balanceAt = balanceFrom;
  while (balanceAt < codeHashAt && bytes[balanceAt] === 0) balanceAt++;
  let hasCode = false;
  for (let i = 0; i < 32 && !hasCode; i++) hasCode = bytes[codeHashAt + i] !== EMPTY_KECCAK[i];
  out[at] = (balanceFrom - nonceAt) | (hasCode ? HAS_CODE : 0);
  out[at + 1] = codeHashAt - balanceAt;
  let next = at + 2;
  for (let i = nonceAt; i < balanceFrom; i++) out[next++] = bytes[i]!;
  const end = hasCode ? codeHashAt + 32 : codeHashAt;
  for (let i = balanceAt; i < end; i++) out[next++] = bytes[i]!;
  return next;
}

/** The reverse of `writeRecordedAccount`. @param fields is overwritten */
export function readRecordedAccount(row: Uint8Array, at: number, fields: Uint8Array): void {
  const nonceSize = row[at]! & 0x0f;
  const balanceSize = row[at + 1]!;
  const hasCode = (row[at]! & HAS_CODE) !== 0;
  fields.fill(0, 0, 40);
  let next = at + 2;
  for (let i = 8 - nonceSize; i < 8; i++) fields[i] = row[next++]!;
  for (let i = 40 - balanceSize; i < 40; i++) fields[i] = row[next++]!;
  for (let i = 0; i < 32; i++) fields[40 + i] = hasCode ? row[next + i]! : EMPTY_KECCAK[i]!;
}

/** End of the account's row, where the list starts. Only indexes into `row`. */
export function accountValueEnd(row: Uint8Array): number {
  const flags = row[0]!;
  return 2 + (flags & 0x0f) + row[1]! + ((flags & HAS_CODE) === 0 ? 0 : 32) + ((flags & HAS_STORAGE) === 0 ? 0 : 32);
}

/** The offset of the storage root in the row of `size` bytes at `at`; −1: the storage is empty. */
export function storageRootAt(row: Uint8Array, at: number, size: number): number {
  return (row[at]! & HAS_STORAGE) === 0 ? -1 : at + size - 32;
}

/** Marks a row without a storage root as having one, which follows. */
export function markStorage(row: Uint8Array, at: number): void {
  row[at]! |= HAS_STORAGE;
}

/** Marks a row without a storage root: there was storage, but nobody computed its root. */
export function markUnknownStorage(row: Uint8Array, at: number): void {
  row[at]! |= HAD_UNKNOWN_STORAGE;
}

/** Decodes the account at `at`. Nothing in the result refers to `bytes`. */
export function decodeAccountValue(bytes: Uint8Array, at = 0): StoredAccount {
  const flags = bytes[at]!;
  const nonceSize = flags & 0x0f;
  const balanceSize = bytes[at + 1]!;
  let next = at + 2;
  const nonce = readUint(bytes, next, nonceSize);
  next += nonceSize;
  const balance = readUint(bytes, next, balanceSize);
  next += balanceSize;
  let codeHash = EMPTY_KECCAK;
  if ((flags & HAS_CODE) !== 0) {
    codeHash = copyHash(bytes, next);
    next += 32;
  }
  const noRoot = (flags & HAD_UNKNOWN_STORAGE) === 0 ? EMPTY_TRIE_ROOT : UNKNOWN_STORAGE_ROOT;
  const storageRoot = (flags & HAS_STORAGE) === 0 ? noRoot : copyHash(bytes, next);
  return { nonce, balance, codeHash, storageRoot };
}

function readUint(bytes: Uint8Array, at: number, size: number): bigint {
  let value = 0n;
  let i = 0;
  while (i < size) {
    // PERF: six bytes at a time fit into a number; a single bigint operation costs more than all of them.
    const step = Math.min(6, size - i);
    let part = 0;
    for (let j = 0; j < step; j++) part = part * 256 + bytes[at + i + j]!;
    value = i === 0 ? BigInt(part) : (value << BigInt(step * 8)) | BigInt(part);
    i += step;
  }
  return value;
}

function copyHash(bytes: Uint8Array, at: number): Uint8Array {
  const hash = new Uint8Array(32);
  for (let i = 0; i < 32; i++) hash[i] = bytes[at + i]!;
  return hash;
}
