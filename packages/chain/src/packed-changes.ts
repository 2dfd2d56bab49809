import type { StateChanges } from "@rnode/evm";
import { EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { clearsStorage } from "@rnode/storage";
import { MAX_ACCOUNT_RLP_BYTES, type StateTrieChange, writeAccount } from "@rnode/trie";

/*
 * Changes of a block as they go to the thread of state roots. PERF: one buffer instead of ten thousand small objects to be cloned.
 *   account: address 20 ‖ flags 1 ‖ bytes of the RLP 1 (0: gone) ‖ RLP of the account, its storage root to be filled in
 *            ‖ number of slots 4 ‖ (slot 32 ‖ value 32) each
 */

const STORAGE_CLEARED = 1;
/** there may be nodes of a storage trie that go */
const CLEARS_NODES = 2;
const ACCOUNT_SIZE = 20 + 2 + MAX_ACCOUNT_RLP_BYTES + 4;

export function packChanges({ accounts }: StateChanges): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const { storage } of accounts) size += ACCOUNT_SIZE + 64 * storage.length;
  const packed = new Uint8Array(size);
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const change of accounts) {
    const { address, after, storageCleared, storage } = change;
    for (let i = 0; i < 20; i++) packed[at + i] = address[i]!;
    packed[at + 20] = (storageCleared ? STORAGE_CLEARED : 0) | (clearsStorage(change) ? CLEARS_NODES : 0);
    const rlpAt = at + 22;
    const end = after === undefined ? rlpAt : writeAccount(packed, rlpAt, { ...after, storageRoot: EMPTY_TRIE_ROOT });
    packed[at + 21] = end - rlpAt;
    at = end;
    view.setUint32(at, storage.length);
    at += 4;
    for (const { slot, after: value } of storage) {
      packed.set(slot, at);
      packed.set(value, at + 32);
      at += 64;
    }
  }
  return packed.slice(0, at);
}

/** Views into `packed`. */
export function unpackChanges(packed: Uint8Array): { changes: StateTrieChange[]; cleared: Uint8Array[] } {
  const view = new DataView(packed.buffer, packed.byteOffset);
  const changes: StateTrieChange[] = [];
  const cleared: Uint8Array[] = [];
  for (let at = 0; at < packed.length; ) {
    const address = packed.subarray(at, at + 20);
    const flags = packed[at + 20]!;
    const rlpSize = packed[at + 21]!;
    at += 22;
    const after = rlpSize === 0 ? undefined : packed.subarray(at, at + rlpSize);
    at += rlpSize;
    const slots = view.getUint32(at);
    at += 4;
    const storage = [];
    for (let i = 0; i < slots; i++, at += 64) {
      storage.push({ slot: packed.subarray(at, at + 32), after: packed.subarray(at + 32, at + 64) });
    }
    changes.push({ address, after, storageCleared: (flags & STORAGE_CLEARED) !== 0, storage });
    if ((flags & CLEARS_NODES) !== 0) cleared.push(address);
  }
  return { changes, cleared };
}
