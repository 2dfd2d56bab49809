import type { AccountChange, ChangeRecords, StateChanges } from "@rnode/evm";
import { EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { clearsStorage } from "@rnode/storage";
import {
  MAX_ACCOUNT_RLP_BYTES,
  PACKED_CLEARS_NODES,
  PACKED_COUNT_SIZE,
  PACKED_HEAD_SIZE,
  PACKED_SLOT_SIZE,
  PACKED_STORAGE_CLEARED,
  writeAccount,
  writeAccountFields,
} from "@rnode/trie";

const MAX_ACCOUNT_SIZE = PACKED_HEAD_SIZE + MAX_ACCOUNT_RLP_BYTES + PACKED_COUNT_SIZE;

/**
 * The changes of a block in the form in which the state-root threads, and `LinearStateTrie`, take them. PERF: one buffer, instead of ten thousand
 * small objects to clone.
 */
export function packChanges(changes: StateChanges): Uint8Array<ArrayBuffer> {
  return changes.records === undefined ? packAccounts(changes.accounts) : packRecords(changes.records);
}

const flagsOf = (isStorageCleared: boolean, clearsNodes: boolean): number =>
  (isStorageCleared ? PACKED_STORAGE_CLEARED : 0) | (clearsNodes ? PACKED_CLEARS_NODES : 0);

function packRecords(records: ChangeRecords): Uint8Array<ArrayBuffer> {
  const { bytes } = records;
  const packed = new Uint8Array(bytes.length); // a record is longer than its packed form
  const view = new DataView(packed.buffer);
  let at = 0;
  for (let record = 0, end = 0; record < bytes.length; record = end) {
    end = records.nextAfter(record);
    for (let i = 0; i < 20; i++) packed[at + i] = bytes[record + i]!;
    packed[at + 20] = flagsOf(records.isStorageCleared(record), records.clearsStorage(record));
    const rlpAt = at + PACKED_HEAD_SIZE;
    const rlpEnd = records.exists(record)
      ? writeAccountFields(packed, rlpAt, bytes, records.accountOf(record), EMPTY_TRIE_ROOT)
      : rlpAt;
    packed[at + 21] = rlpEnd - rlpAt;
    view.setUint32(rlpEnd, records.slotCountOf(record));
    at = rlpEnd + PACKED_COUNT_SIZE;
    for (let slot = records.slotsOf(record); slot < end; slot += records.slotSize, at += PACKED_SLOT_SIZE) {
      for (let i = 0; i < PACKED_SLOT_SIZE; i++) packed[at + i] = bytes[slot + i]!;
    }
  }
  return packed.slice(0, at);
}

function packAccounts(accounts: readonly AccountChange[]): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const { storage } of accounts) size += MAX_ACCOUNT_SIZE + PACKED_SLOT_SIZE * storage.length;
  const packed = new Uint8Array(size);
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const change of accounts) {
    const { address, after, storageCleared, storage } = change;
    for (let i = 0; i < 20; i++) packed[at + i] = address[i]!;
    packed[at + 20] = flagsOf(storageCleared, clearsStorage(change));
    const rlpAt = at + PACKED_HEAD_SIZE;
    const end = after === undefined ? rlpAt : writeAccount(packed, rlpAt, { ...after, storageRoot: EMPTY_TRIE_ROOT });
    packed[at + 21] = end - rlpAt;
    at = end;
    view.setUint32(at, storage.length);
    at += PACKED_COUNT_SIZE;
    for (const { slot, after: value } of storage) {
      packed.set(slot, at);
      packed.set(value, at + 32);
      at += PACKED_SLOT_SIZE;
    }
  }
  return packed.slice(0, at);
}
