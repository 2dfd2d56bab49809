/** The tables of storage slots (per block) and of transient storage (per transaction). */
import {
  A_BEFORE_EXISTS,
  A_GENERATION,
  A_SLOTS,
  BERLIN,
  CONSTANTINOPLE,
  ISTANBUL,
  LONDON,
  NOT_LOADED,
  S_ACCOUNT,
  S_BEFORE,
  S_EPOCH,
  S_GENERATION,
  S_KEY,
  S_NEXT,
  S_ORIGINAL,
  S_VALUE,
  S_WARM,
  SLOT_SIZE,
  X_HASH,
} from "./layout";
import { transactionEpoch } from "./accounts";
import { ARENA_SIZE, arenaAllocate, arenaReset } from "./heap";
import { hashWord, INDEX_DESCRIPTOR, indexInsert, indexMask, indexPlaces, indexReset } from "./hash-index";
import { hostLoadStorage } from "./host";
import { append, appendWord, J_STORAGE, J_WARM_SLOT } from "./journal";
import { fork } from "./rules";
import { copyWord, equal, isZero, writeRaw, zeroWord } from "./word";

const INDEX: usize = memory.data(INDEX_DESCRIPTOR, 8);
const ARENA: usize = memory.data(ARENA_SIZE, 8);
const TRANSIENT_INDEX: usize = memory.data(INDEX_DESCRIPTOR, 8);
const TRANSIENT_ARENA: usize = memory.data(ARENA_SIZE, 8);

/** Refund counter of the transaction; a failing frame restores it. */
export let refund: i64 = 0;

@inline export function setRefund(value: i64): void {
  refund = value;
}

export function storageReset(): void {
  indexReset(INDEX);
  arenaReset(ARENA);
  transientReset();
}

let transientUsed: bool = true;

export function transientReset(): void {
  if (!transientUsed) return;
  transientUsed = false;
  indexReset(TRANSIENT_INDEX);
  arenaReset(TRANSIENT_ARENA);
}

/** The entry of a slot; its value may not be loaded or up to date: see `refresh`. */
function findSlotEntry(account: u32, key: u32): u32 {
  const hash = hashWord(key, account);
  const places = indexPlaces(INDEX);
  const mask = indexMask(INDEX);
  let i = hash & mask;
  while (true) {
    const entry = load<u32>(places + (i << 3));
    if (entry == 0) break;
    if (load<u32>(entry, S_ACCOUNT) == account && equal(entry + S_KEY, key)) return entry;
    i = (i + 1) & mask;
  }
  const entry = arenaAllocate(ARENA, SLOT_SIZE);
  copyWord(entry + S_KEY, key);
  store<u32>(entry, account, S_ACCOUNT);
  store<u32>(entry, NOT_LOADED, S_GENERATION);
  store<u32>(entry, load<u32>(account, A_SLOTS), S_NEXT);
  store<u32>(account, entry, A_SLOTS);
  indexInsert(INDEX, hash, entry);
  return entry;
}

function loadSlot(entry: u32, account: u32): void {
  const generation = load<u32>(account, A_GENERATION);
  // An account that is new in this block, or whose storage was cleared, has nothing to load.
  if (load<u32>(entry, S_GENERATION) == NOT_LOADED && generation == 0 && load<u32>(account, A_BEFORE_EXISTS) != 0) {
    writeRaw(X_HASH, entry + S_KEY);
    hostLoadStorage(account, entry + S_VALUE);
    copyWord(entry + S_BEFORE, entry + S_VALUE);
  } else zeroWord(entry + S_VALUE);
  store<u32>(entry, generation, S_GENERATION);
}

/** Updates S_VALUE and S_ORIGINAL for the current transaction. */
@inline function refresh(entry: u32, account: u32): void {
  if (load<u32>(entry, S_GENERATION) != load<u32>(account, A_GENERATION)) loadSlot(entry, account);
  if (load<u32>(entry, S_EPOCH) != transactionEpoch) {
    store<u32>(entry, transactionEpoch, S_EPOCH);
    copyWord(entry + S_ORIGINAL, entry + S_VALUE);
  }
}

/** The entry of a slot, with its current value and its original value in this transaction. */
export function findSlot(account: u32, key: u32): u32 {
  const entry = findSlotEntry(account, key);
  refresh(entry, account);
  return entry;
}

/** Marks a slot as accessed without reading it (access lists). */
export function warmSlotByKey(account: u32, key: u32): void {
  warmSlot(findSlotEntry(account, key));
}

/** Marks a slot as accessed; returns whether it was cold (EIP-2929). */
export function warmSlot(slot: u32): bool {
  if (load<u32>(slot, S_WARM) == transactionEpoch) return false;
  store<u32>(slot, transactionEpoch, S_WARM);
  append(J_WARM_SLOT, slot);
  return true;
}

/** SLOAD: reads the value into `to`; returns the gas left; negative: not enough, and nothing was read. */
export function loadStorage(account: u32, key: u32, to: u32, gas: i64): i64 {
  const slot = findSlotEntry(account, key);
  let left = gas;
  if (fork >= BERLIN && warmSlot(slot)) {
    left -= 2000;
    if (left < 0) return left;
  }
  refresh(slot, account);
  copyWord(to, slot + S_VALUE);
  return left;
}

/** Sets a slot and journals the old value. */
@inline export function writeSlot(slot: u32, value: u32): void {
  appendWord(J_STORAGE, slot, slot + S_VALUE);
  copyWord(slot + S_VALUE, value);
}

/** SSTORE: returns the gas and updates the refund counter. */
export function storeStorage(account: u32, key: u32, value: u32): i64 {
  const slot = findSlot(account, key);
  const current = slot + S_VALUE;
  const same = equal(current, value);
  const cost = fork >= ISTANBUL || fork == CONSTANTINOPLE ? netGasCost(slot, value, same) : simpleGasCost(slot, value);
  if (!same) writeSlot(slot, value);
  return cost;
}

/** Frontier to Byzantium, and Petersburg */
function simpleGasCost(slot: u32, value: u32): i64 {
  if (isZero(slot + S_VALUE)) return isZero(value) ? 5000 : 20000;
  if (isZero(value)) refund += 15000;
  return 5000;
}

/**
 * EIP-1283 (Constantinople) and EIP-2200 (Istanbul on), with the prices of EIP-2929 (Berlin) and EIP-3529 (London): the cost
 * depends on the value before the transaction, the current and the new one.
 */
function netGasCost(slot: u32, value: u32, same: bool): i64 {
  let cost: i64 = 0;
  let sload: i64 = fork >= ISTANBUL ? 800 : 200;
  let update: i64 = 5000;
  if (fork >= BERLIN) {
    sload = 100;
    update = 2900;
    if (warmSlot(slot)) cost = 2100;
  }
  if (same) return cost + sload;
  const clearRefund: i64 = fork >= LONDON ? 4800 : 15000;
  const current = slot + S_VALUE;
  const original = slot + S_ORIGINAL;
  const originalIsZero = isZero(original);
  if (equal(original, current)) {
    if (originalIsZero) return cost + 20000;
    if (isZero(value)) refund += clearRefund;
    return cost + update;
  }
  if (!originalIsZero) {
    if (isZero(current)) refund -= clearRefund;
    else if (isZero(value)) refund += clearRefund;
  }
  if (equal(original, value)) {
    if (originalIsZero) refund += 20000 - sload;
    else refund += (fork >= BERLIN ? 5000 - 2100 : update) - sload;
  }
  return cost + sload;
}

/** The entry of a transient slot (EIP-1153); 0 if it was never written and `create` is false. */
function findTransient(account: u32, key: u32, create: bool): u32 {
  if (!transientUsed) {
    if (!create) return 0;
    transientUsed = true;
  }
  const hash = hashWord(key, account);
  const places = indexPlaces(TRANSIENT_INDEX);
  const mask = indexMask(TRANSIENT_INDEX);
  let i = hash & mask;
  while (true) {
    const entry = load<u32>(places + (i << 3));
    if (entry == 0) break;
    if (load<u32>(entry, S_ACCOUNT) == account && equal(entry + S_KEY, key)) return entry;
    i = (i + 1) & mask;
  }
  if (!create) return 0;
  const entry = arenaAllocate(TRANSIENT_ARENA, SLOT_SIZE);
  copyWord(entry + S_KEY, key);
  store<u32>(entry, account, S_ACCOUNT);
  indexInsert(TRANSIENT_INDEX, hash, entry);
  return entry;
}

export function loadTransient(account: u32, key: u32, to: u32): void {
  const slot = findTransient(account, key, false);
  if (slot == 0) zeroWord(to);
  else copyWord(to, slot + S_VALUE);
}

export function storeTransient(account: u32, key: u32, value: u32): void {
  writeSlot(findTransient(account, key, true), value);
}
