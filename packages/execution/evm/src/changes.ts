import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  ChangeRecords,
  RECORD_AFTER,
  RECORD_BEFORE,
  RECORD_EXISTED,
  RECORD_EXISTS,
  RECORD_FLAGS,
  RECORD_SIZE,
  RECORD_SLOT_SIZE,
  RECORD_SLOTS,
  RECORD_STORAGE_CLEARED,
} from "./change-records.ts";
import type { EngineInstance } from "./engine/host.ts";
import {
  A_BALANCE,
  A_BEFORE_BALANCE,
  A_BEFORE_CODE_HASH,
  A_BEFORE_EXISTS,
  A_BEFORE_NONCE,
  A_CODE_HASH,
  A_EXISTS,
  A_GENERATION,
  A_LOADED,
  A_NEXT,
  A_NONCE,
  A_RAW_ADDRESS,
  A_SLOTS,
  NOT_LOADED,
  S_BEFORE,
  S_GENERATION,
  S_KEY,
  S_NEXT,
  S_VALUE,
} from "./engine/layout.ts";
import type { EngineMemory } from "./engine/memory.ts";
import type { AccountChange } from "./state.ts";
import type { StateChanges } from "./state-changes.ts";

/** Reads the net effect of the block from the engine's tables. */
export function collectChanges(instance: EngineInstance): StateChanges {
  const { memory, exports, newCodes } = instance;
  const codes = new Map<Hex, { codeHash: Uint8Array; code: Uint8Array }>();
  size = 0;
  for (let entry = exports.firstAccount(); entry !== 0; entry = memory.u32(entry + A_NEXT)) {
    if (memory.u32(entry + A_LOADED) === 0 || !writeRecord(instance, entry)) continue;
    const keepsCode = memory.u32(entry + A_BEFORE_EXISTS) !== 0 && isSame(memory, entry + A_BEFORE_CODE_HASH, entry + A_CODE_HASH);
    if (keepsCode || memory.u32(entry + A_EXISTS) === 0) continue;
    const codeHash = memory.slice(entry + A_CODE_HASH, 32);
    const hashHex = bytesToHex(codeHash);
    const code = newCodes.get(hashHex);
    if (code !== undefined) codes.set(hashHex, { codeHash, code });
  }
  return recordedChanges(new ChangeRecords(scratch.slice(0, size)), [...codes.values()]);
}

/**
 * Objects are created on first access. A copy (`{ ...changes }`) has the objects but not the records, so the two cannot
 * contradict each other.
 */
export function recordedChanges(records: ChangeRecords, codes: StateChanges["codes"]): StateChanges {
  let accounts: readonly AccountChange[] | undefined;
  const changes: StateChanges = {
    get accounts() {
      accounts ??= records.toAccountChanges();
      return accounts;
    },
    codes,
  };
  return Object.defineProperty(changes, "records", { value: records });
}

/** The records while they are being written. */
let scratch = new Uint8Array(1 << 16);
let size = 0;

/** Makes room for `count` bytes. @returns their offset */
function reserve(count: number): number {
  const at = size;
  size += count;
  if (size > scratch.length) {
    const larger = new Uint8Array(2 * size);
    larger.set(scratch.subarray(0, at));
    scratch = larger;
  }
  return at;
}

/** @returns whether the account changed; if not, nothing is written */
function writeRecord(instance: EngineInstance, entry: number): boolean {
  const { memory } = instance;
  const existed = memory.u32(entry + A_BEFORE_EXISTS) !== 0;
  const exists = memory.u32(entry + A_EXISTS) !== 0;
  if (!existed && !exists) return false;
  const isCleared = existed && memory.u32(entry + A_GENERATION) !== 0;
  const at = reserve(RECORD_SIZE);
  const slots = !exists ? 0 : isCleared ? writeSlotsOfCleared(instance, entry) : writeSlots(memory, entry);
  const isUnchanged =
    existed &&
    exists &&
    !isCleared &&
    slots === 0 &&
    memory.u32(entry + A_BEFORE_NONCE) === memory.u32(entry + A_NONCE) &&
    memory.u32(entry + A_BEFORE_NONCE + 4) === memory.u32(entry + A_NONCE + 4) &&
    isSame(memory, entry + A_BEFORE_BALANCE, entry + A_BALANCE) &&
    isSame(memory, entry + A_BEFORE_CODE_HASH, entry + A_CODE_HASH);
  if (isUnchanged) {
    size = at;
    return false;
  }
  const { bytes } = memory;
  for (let i = 0; i < 20; i++) scratch[at + i] = bytes[entry + A_RAW_ADDRESS + i]!;
  scratch[at + RECORD_FLAGS] =
    (existed ? RECORD_EXISTED : 0) | (exists ? RECORD_EXISTS : 0) | (isCleared ? RECORD_STORAGE_CLEARED : 0);
  writeAccount(bytes, at + RECORD_BEFORE, entry + A_BEFORE_NONCE, entry + A_BEFORE_BALANCE, entry + A_BEFORE_CODE_HASH);
  writeAccount(bytes, at + RECORD_AFTER, entry + A_NONCE, entry + A_BALANCE, entry + A_CODE_HASH);
  for (let i = 0; i < 4; i++) scratch[at + RECORD_SLOTS + i] = slots >>> (24 - 8 * i);
  return true;
}

/** Converts from little-endian numbers. */
function writeAccount(bytes: Uint8Array, to: number, nonce: number, balance: number, codeHash: number): void {
  for (let i = 0; i < 8; i++) scratch[to + i] = bytes[nonce + 7 - i]!;
  writeWord(bytes, to + 8, balance);
  for (let i = 0; i < 32; i++) scratch[to + 40 + i] = bytes[codeHash + i]!;
}

function writeWord(bytes: Uint8Array, to: number, from: number): void {
  for (let i = 0; i < 32; i++) scratch[to + i] = bytes[from + 31 - i]!;
}

function isSame(memory: EngineMemory, a: number, b: number): boolean {
  for (let i = 0; i < 32; i += 4) if (memory.u32(a + i) !== memory.u32(b + i)) return false;
  return true;
}

/** @returns the number of changed slots */
function writeSlots(memory: EngineMemory, entry: number): number {
  const generation = memory.u32(entry + A_GENERATION);
  const { bytes } = memory;
  let count = 0;
  for (let slot = memory.u32(entry + A_SLOTS); slot !== 0; slot = memory.u32(slot + S_NEXT)) {
    const slotGeneration = memory.u32(slot + S_GENERATION);
    // never read, or not since the storage was cleared: zero, which the clearing already implies
    if (slotGeneration === NOT_LOADED || slotGeneration !== generation || isSame(memory, slot + S_VALUE, slot + S_BEFORE)) continue;
    const at = reserve(RECORD_SLOT_SIZE);
    writeWord(bytes, at, slot + S_KEY);
    writeWord(bytes, at + 32, slot + S_VALUE);
    writeWord(bytes, at + 64, slot + S_BEFORE);
    count++;
  }
  return count;
}

/** @returns the number of slots, all of which were written since the storage was cleared */
function writeSlotsOfCleared({ memory, reader }: EngineInstance, entry: number): number {
  const generation = memory.u32(entry + A_GENERATION);
  const address = memory.slice(entry + A_RAW_ADDRESS, 20);
  let count = 0;
  for (let slot = memory.u32(entry + A_SLOTS); slot !== 0; slot = memory.u32(slot + S_NEXT)) {
    const slotGeneration = memory.u32(slot + S_GENERATION);
    if (slotGeneration === NOT_LOADED || slotGeneration !== generation || isZeroWord(memory, slot + S_VALUE)) continue;
    // Execution did not need the previous value, so it may not be loaded.
    const stored = reader.readStorage(address, memory.rawWord(slot + S_KEY));
    const at = reserve(RECORD_SLOT_SIZE);
    writeWord(memory.bytes, at, slot + S_KEY);
    writeWord(memory.bytes, at + 32, slot + S_VALUE);
    scratch.fill(0, at + 64, at + 96);
    if (stored !== undefined) scratch.set(stored, at + 96 - stored.length);
    count++;
  }
  return count;
}

function isZeroWord(memory: EngineMemory, at: number): boolean {
  for (let i = 0; i < 32; i += 4) if (memory.u32(at + i) !== 0) return false;
  return true;
}
