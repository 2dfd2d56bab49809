/** The table of the accounts that a block has accessed, and the operations on them. An entry does not move until the next block. */
import {
  A_ADDRESS,
  A_BALANCE,
  A_BEFORE_BALANCE,
  A_BEFORE_CODE_HASH,
  A_BEFORE_EXISTS,
  A_BEFORE_NONCE,
  A_CODE,
  A_CODE_EPOCH,
  A_CODE_HASH,
  A_CREATED,
  A_DESTROYED,
  A_EXISTS,
  A_GENERATION,
  A_LOADED,
  A_NEXT,
  A_NONCE,
  A_RAW_ADDRESS,
  A_TOUCHED,
  A_WARM,
  ACCOUNT_SIZE,
  BERLIN,
  SCRATCH_ADDRESS,
  SPURIOUS_DRAGON,
} from "./layout";
import { ARENA_SIZE, arenaAllocate, arenaReset } from "./heap";
import { hashWord, INDEX_DESCRIPTOR, indexInsert, indexMask, indexPlaces, indexReset } from "./hash-index";
import { hostLoadAccount } from "./host";
import {
  append,
  appendNumber,
  appendWord,
  J_BALANCE,
  J_CREATED,
  J_DESTROYED,
  J_EXISTS,
  J_NONCE,
  J_TOUCHED,
  J_WARM_ACCOUNT,
  journalPosition,
  journalRecord,
  journalReset,
  RECORD,
  ripemdTouched,
} from "./journal";
import { fork, isPrecompile } from "./rules";
import { add, copyWord, isZero, subtract, zeroWord } from "./word";

const INDEX: usize = memory.data(INDEX_DESCRIPTOR, 8);
const ARENA: usize = memory.data(ARENA_SIZE, 8);

/** keccak256 of no bytes */
export const EMPTY_CODE_HASH: usize = memory.data<u8>([
  0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0, 0xe5, 0x00, 0xb6, 0x53, 0xca,
  0x82, 0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
]);

let first: u32 = 0;

/** Number of the current transaction in its block, from 1; the marks for warm, touched, created and destroyed hold this number. */
export let transactionEpoch: u32 = 0;

export function accountsReset(): void {
  indexReset(INDEX);
  arenaReset(ARENA);
  first = 0;
  transactionEpoch = 0;
}

export function nextTransactionEpoch(): void {
  transactionEpoch++;
}

/** First entry in the list of all accounts of the block. */
export function firstAccount(): u32 {
  return first;
}

/**
 * The entry of the account whose address is in the lower 160 bits of the word. It may not be loaded yet, because the warm check
 * comes before the state read, and the state is not read if the gas does not suffice.
 */
export function findEntry(word: u32): u32 {
  const a0 = load<u64>(word);
  const a1 = load<u64>(word, 8);
  const a2: u64 = load<u32>(word, 16);
  store<u64>(SCRATCH_ADDRESS, a0);
  store<u64>(SCRATCH_ADDRESS, a1, 8);
  store<u64>(SCRATCH_ADDRESS, a2, 16);
  store<u64>(SCRATCH_ADDRESS, 0, 24);
  const hash = hashWord(SCRATCH_ADDRESS, 0);
  const places = indexPlaces(INDEX);
  const mask = indexMask(INDEX);
  let i = hash & mask;
  while (true) {
    const entry = load<u32>(places + (i << 3));
    if (entry == 0) break;
    if (load<u64>(entry) == a0 && load<u64>(entry, 8) == a1 && load<u64>(entry, 16) == a2) return entry;
    i = (i + 1) & mask;
  }
  const entry = arenaAllocate(ARENA, ACCOUNT_SIZE);
  copyWord(entry + A_ADDRESS, SCRATCH_ADDRESS);
  for (let byte: u32 = 0; byte < 20; byte++) {
    store<u8>(entry + A_RAW_ADDRESS + byte, load<u8>(SCRATCH_ADDRESS + 19 - byte));
  }
  store<u32>(entry, first, A_NEXT);
  first = entry;
  indexInsert(INDEX, hash, entry);
  return entry;
}

function loadEntry(entry: u32): void {
  store<u32>(entry, 1, A_LOADED);
  memory.copy(entry + A_CODE_HASH, EMPTY_CODE_HASH, 32);
  hostLoadAccount(entry);
  copyWord(entry + A_BEFORE_BALANCE, entry + A_BALANCE);
  store<u64>(entry, load<u64>(entry, A_NONCE), A_BEFORE_NONCE);
  memory.copy(entry + A_BEFORE_CODE_HASH, entry + A_CODE_HASH, 32);
  store<u32>(entry, load<u32>(entry, A_EXISTS), A_BEFORE_EXISTS);
}

/** Loads the account from the host on first use. */
@inline export function ensureLoaded(entry: u32): void {
  if (load<u32>(entry, A_LOADED) == 0) loadEntry(entry);
}

/** `findEntry`, loaded. */
export function findAccount(word: u32): u32 {
  const entry = findEntry(word);
  ensureLoaded(entry);
  return entry;
}

@inline function sameBytes32(a: usize, b: usize): bool {
  return (
    load<u64>(a) == load<u64>(b) &&
    load<u64>(a, 8) == load<u64>(b, 8) &&
    load<u64>(a, 16) == load<u64>(b, 16) &&
    load<u64>(a, 24) == load<u64>(b, 24)
  );
}

@inline export function hasCode(account: u32): bool {
  return !sameBytes32(account + A_CODE_HASH, EMPTY_CODE_HASH);
}

/** EIP-161: no nonce, no balance, no code (an account that does not exist is empty too) */
@inline export function isEmpty(account: u32): bool {
  return load<u64>(account, A_NONCE) == 0 && isZero(account + A_BALANCE) && !hasCode(account);
}

/** "Dead" as the rules about new accounts define it: before EIP-161 an account that does not exist, from then on one that is empty. */
@inline export function isDead(account: u32): bool {
  return fork >= SPURIOUS_DRAGON ? isEmpty(account) : load<u32>(account, A_EXISTS) == 0;
}

/** Marks as accessed; returns whether it was cold (EIP-2929). Precompiles are always warm. */
export function warmAccount(account: u32): bool {
  if (load<u32>(account, A_WARM) == transactionEpoch) return false;
  store<u32>(account, transactionEpoch, A_WARM);
  append(J_WARM_ACCOUNT, account);
  return !isPrecompile(account + A_ADDRESS);
}

/** Gas in addition to the warm access, which is part of the opcode's static cost. */
@inline export function accessCost(account: u32): i64 {
  return fork >= BERLIN && warmAccount(account) ? 2500 : 0;
}

/** Makes the account exist. From EIP-161 on, an empty account is deleted at the end of the transaction. */
export function touch(account: u32): void {
  if (load<u32>(account, A_EXISTS) == 0) {
    append(J_EXISTS, account);
    store<u32>(account, 1, A_EXISTS);
  }
  if (load<u32>(account, A_TOUCHED) != transactionEpoch) {
    append(J_TOUCHED, account);
    store<u32>(account, transactionEpoch, A_TOUCHED);
  }
}

export function increaseBalance(account: u32, amount: u32): void {
  touch(account);
  if (isZero(amount)) return;
  appendWord(J_BALANCE, account, account + A_BALANCE);
  add(account + A_BALANCE, amount, account + A_BALANCE);
}

/** The caller has checked that the balance is sufficient. */
export function decreaseBalance(account: u32, amount: u32): void {
  if (isZero(amount)) return;
  touch(account);
  appendWord(J_BALANCE, account, account + A_BALANCE);
  subtract(account + A_BALANCE, amount, account + A_BALANCE);
}

export function clearBalance(account: u32): void {
  appendWord(J_BALANCE, account, account + A_BALANCE);
  zeroWord(account + A_BALANCE);
}

export function setNonce(account: u32, nonce: u64): void {
  touch(account);
  appendNumber(J_NONCE, account, load<u64>(account, A_NONCE));
  store<u64>(account, nonce, A_NONCE);
}

export function markCreated(account: u32): void {
  append(J_CREATED, account);
  store<u32>(account, transactionEpoch, A_CREATED);
}

@inline export function isCreatedNow(account: u32): bool {
  return load<u32>(account, A_CREATED) == transactionEpoch;
}

@inline export function isDestroyed(account: u32): bool {
  return load<u32>(account, A_DESTROYED) == transactionEpoch;
}

export function markDestroyed(account: u32): void {
  append(J_DESTROYED, account);
  store<u32>(account, transactionEpoch, A_DESTROYED);
}

/** Deletes the account and its storage. */
export function deleteAccount(account: u32): void {
  store<u32>(account, 0, A_EXISTS);
  store<u64>(account, 0, A_NONCE);
  zeroWord(account + A_BALANCE);
  memory.copy(account + A_CODE_HASH, EMPTY_CODE_HASH, 32);
  store<u32>(account, 0, A_CODE);
  store<u32>(account, 0, A_CODE_EPOCH);
  store<u32>(account, load<u32>(account, A_GENERATION) + 1, A_GENERATION);
}

/**
 * Ends the transaction, whose remaining changes are in the journal: deletes the accounts that self-destructed and, from EIP-161 on,
 * the touched ones that are empty.
 */
export function settleTransaction(): void {
  const end = journalPosition();
  for (let at: u32 = 0; at < end; at += RECORD) {
    const record = journalRecord(at);
    const kind = load<u32>(record);
    const account = load<u32>(record, 4);
    if (kind == J_DESTROYED) deleteAccount(account);
    else if (kind == J_TOUCHED && fork >= SPURIOUS_DRAGON && load<u32>(account, A_EXISTS) != 0 && isEmpty(account))
      deleteAccount(account);
  }
  if (ripemdTouched && fork >= SPURIOUS_DRAGON) {
    zeroWord(SCRATCH_ADDRESS);
    store<u64>(SCRATCH_ADDRESS, 3);
    const ripemd = findAccount(SCRATCH_ADDRESS);
    if (load<u32>(ripemd, A_EXISTS) != 0 && isEmpty(ripemd)) deleteAccount(ripemd);
  }
  journalReset();
}
