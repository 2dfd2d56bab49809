import { bytesToHex, equalBytes, type Hex, isZeroBytes } from "@rnode/primitives";
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
import type { AccountChange, AccountRecord, StateChanges } from "./state.ts";

type StorageChange = AccountChange["storage"][number];

/** Reads the net effect of the block out of the engine's tables. */
export function collectChanges(instance: EngineInstance): StateChanges {
  const { memory, exports, newCodes } = instance;
  const accounts: AccountChange[] = [];
  const codes = new Map<Hex, { codeHash: Uint8Array; code: Uint8Array }>();
  for (let entry = exports.firstAccount(); entry !== 0; entry = memory.u32(entry + A_NEXT)) {
    if (memory.u32(entry + A_LOADED) === 0) continue;
    const change = accountChange(instance, entry);
    if (change === undefined) continue;
    accounts.push(change);
    const { before, after } = change;
    if (after === undefined || (before !== undefined && equalBytes(before.codeHash, after.codeHash))) continue;
    const hashHex = bytesToHex(after.codeHash);
    const code = newCodes.get(hashHex);
    if (code !== undefined) codes.set(hashHex, { codeHash: after.codeHash, code });
  }
  return { accounts, codes: [...codes.values()] };
}

function accountChange(instance: EngineInstance, entry: number): AccountChange | undefined {
  const { memory } = instance;
  const existedBefore = memory.u32(entry + A_BEFORE_EXISTS) !== 0;
  const exists = memory.u32(entry + A_EXISTS) !== 0;
  if (!existedBefore && !exists) return undefined;
  const storageCleared = existedBefore && memory.u32(entry + A_GENERATION) !== 0;
  const storage = exists ? storageChanges(instance, entry, storageCleared) : [];
  const isSame =
    existedBefore &&
    exists &&
    !storageCleared &&
    storage.length === 0 &&
    memory.u64(entry + A_BEFORE_NONCE) === memory.u64(entry + A_NONCE) &&
    sameBytes(memory, entry + A_BEFORE_BALANCE, entry + A_BALANCE) &&
    sameBytes(memory, entry + A_BEFORE_CODE_HASH, entry + A_CODE_HASH);
  if (isSame) return undefined;
  return {
    address: memory.slice(entry + A_RAW_ADDRESS, 20),
    before: existedBefore
      ? record(memory, entry + A_BEFORE_NONCE, entry + A_BEFORE_BALANCE, entry + A_BEFORE_CODE_HASH)
      : undefined,
    after: exists ? record(memory, entry + A_NONCE, entry + A_BALANCE, entry + A_CODE_HASH) : undefined,
    storageCleared,
    storage,
  };
}

const record = (memory: EngineMemory, nonce: number, balance: number, codeHash: number): AccountRecord => ({
  nonce: memory.u64(nonce),
  balance: memory.word(balance),
  codeHash: memory.slice(codeHash, 32),
});

function sameBytes(memory: EngineMemory, a: number, b: number): boolean {
  for (let i = 0; i < 32; i += 8) if (memory.u64(a + i) !== memory.u64(b + i)) return false;
  return true;
}

function storageChanges(instance: EngineInstance, entry: number, storageCleared: boolean): StorageChange[] {
  const { memory, reader } = instance;
  const generation = memory.u32(entry + A_GENERATION);
  const changes: StorageChange[] = [];
  for (let slot = memory.u32(entry + A_SLOTS); slot !== 0; slot = memory.u32(slot + S_NEXT)) {
    const slotGeneration = memory.u32(slot + S_GENERATION);
    // never read, or not since the storage was forgotten: zero, which the clearing says already
    if (slotGeneration === NOT_LOADED || slotGeneration !== generation) continue;
    if (!storageCleared) {
      if (sameBytes(memory, slot + S_VALUE, slot + S_BEFORE)) continue;
      changes.push({
        slot: memory.rawWord(slot + S_KEY),
        before: memory.rawWord(slot + S_BEFORE),
        after: memory.rawWord(slot + S_VALUE),
      });
      continue;
    }
    const after = memory.rawWord(slot + S_VALUE);
    if (isZeroBytes(after)) continue;
    const key = memory.rawWord(slot + S_KEY);
    // The value before was not needed for execution and may never have been read.
    const address = memory.slice(entry + A_RAW_ADDRESS, 20);
    const before = new Uint8Array(32);
    const stored = reader.readStorage(address, key);
    if (stored !== undefined) before.set(stored, 32 - stored.length);
    changes.push({ slot: key, before, after });
  }
  return changes;
}
