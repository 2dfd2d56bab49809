/**
 * The account trie and its storage tries in linear memory, kept from block to block: the module of `LinearStateTrie`.
 * scripts/build-state-trie.mjs compiles it into src/linear/trie-wasm.ts.
 */
import { addMessage, finishHashing, startHashing, writeHash } from "./hashing";
import { CODE_HASH_AND_ROOT, ROOT_FROM_END } from "./account";
import { C_BYTES, C_KEEPS_ROOT, C_KEY, C_TRIE, C_VALUE, C_VALUE_SIZE, CHANGE_SIZE, sortChanges } from "./changes";
import { encodeListed } from "./encode";
import { hostBadNode } from "./host";
import { listedCount, listedNodes, listedPaths, startListing } from "./listing";
import {
  ACCOUNTS,
  allocate,
  areaAt,
  CLEARED,
  copyBytes,
  INPUT,
  release,
  reserve,
  resetMemory,
  reuseReleased,
  ROOTS,
  SLOTS,
} from "./memory";
import { KEY_BYTES, PATH } from "./nibbles";
import {
  childAt,
  disposeTree,
  E_CHILD,
  EXTENSION,
  forgetNodes,
  keepChild,
  L_VALUE,
  L_VALUE_SIZE,
  LEAF,
  N_KIND,
  N_RLP,
  N_USED,
  nodeCount,
} from "./node";
import { EMPTY_ROOT, findLeaf, finishRoot, isSameHash, ROW_BUFFER, T_CHANGED, T_NODE, T_OWNER, T_ROOT, updateTrie } from "./update";

export { listedCount, listedNodes, listedPaths };

// ---- input: consecutive changes of accounts; see src/linear/packed-changes.ts
@inline const ADDRESS_SIZE: u32 = 20;
@inline const P_FLAGS: u32 = 20; // u8
@inline const P_RLP_SIZE: u32 = 21; // u8; 0: the account is deleted
@inline const P_RLP: u32 = 22;
@inline const SLOT_SIZE: u32 = 64;
@inline const STORAGE_CLEARED: u32 = 1;
@inline const CLEARS_NODES: u32 = 2;

// ---- output: storage roots (address 20 ‖ root 32) and the owners of cleared tries (32)
@inline const ROOT_SIZE: u32 = 52;
let rootsSize: u32 = 0;
let clearedSize: u32 = 0;

// ---- tries: the account trie, and a hash table of storage tries by owner
@inline const T_USED: u32 = 44; // the last pass
@inline const T_NEXT: u32 = 48; // in the same bucket
@inline const T_OWNER_BYTES: u32 = 64; // 32 bytes
@inline const TRIE_SIZE: u32 = 96;
const ACCOUNT_TRIE: u32 = <u32>memory.data(96, 16);
@inline const BUCKET_BITS: u32 = 11;
const BUCKETS: u32 = <u32>memory.data(4 << 11, 16);
let trieCount: u32 = 0;

/** the number of the current update */
let pass: u32 = 0;

/** Number of nodes in memory, and of storage tries. */
export function size(): u32 {
  return nodeCount + trieCount;
}

export function path(): u32 {
  return PATH;
}

export function rowBuffer(): u32 {
  return ROW_BUFFER;
}

/** Discards all nodes, also after an exception of the host. The caller must write the state root before the next update. */
export function reset(): void {
  resetMemory();
  forgetNodes();
  memory.fill(BUCKETS, 0, 4 << BUCKET_BITS);
  trieCount = 0;
  store<u32>(ACCOUNT_TRIE, 0, T_NODE);
  store<u32>(ACCOUNT_TRIE, 0, T_CHANGED);
}

/** Address of the 32 bytes of the state root. */
export function stateRoot(): u32 {
  return ACCOUNT_TRIE + T_ROOT;
}

export function storageRoots(): u32 {
  return areaAt(ROOTS);
}

export function storageRootCount(): u32 {
  return rootsSize / ROOT_SIZE;
}

export function clearedOwners(): u32 {
  return areaAt(CLEARED);
}

export function clearedCount(): u32 {
  return clearedSize / KEY_BYTES;
}

/** Makes room for the input of an update. @returns the address for it */
export function input(bytes: u32): u32 {
  return reserve(INPUT, bytes, 0);
}

/** Updates the tries with the first `length` bytes of the input. After an exception of the host, call `reset`. */
export function update(length: u32): void {
  reuseReleased();
  startListing();
  pass++;
  rootsSize = 0;
  clearedSize = 0;
  const begin = areaAt(INPUT);
  const end = begin + length;
  const accounts = hashKeys(begin, end);
  const changes = reserve(ACCOUNTS, accounts * CHANGE_SIZE, 0);
  nextKey = 0;
  for (let at = begin, change = changes; at < end; at = accountAfter(at), change += CHANGE_SIZE) {
    writeKey(change, at, ADDRESS_SIZE);
    if ((load<u8>(at, P_FLAGS) & CLEARS_NODES) != 0) {
      copyBytes(reserve(CLEARED, clearedSize + KEY_BYTES, clearedSize) + clearedSize, change + C_KEY, KEY_BYTES);
      clearedSize += KEY_BYTES;
    }
    updateAccount(at, change);
  }
  encodeListed(pass);
  for (let at = begin, change = changes; at < end; at = accountAfter(at), change += CHANGE_SIZE) {
    if (load<u32>(change, C_TRIE) != 0) finishAccount(at, change);
  }
  sortChanges(changes, accounts);
  updateTrie(ACCOUNT_TRIE, pass);
  encodeListed(pass);
  finishRoot(ACCOUNT_TRIE);
}

// ---- keys: of each account, and of its slots after it

/** number of the next hash of `hashKeys` */
let nextKey: u32 = 0;

/** @returns the number of accounts */
function hashKeys(begin: u32, end: u32): u32 {
  startHashing();
  let accounts: u32 = 0;
  for (let at = begin; at < end; at = accountAfter(at)) {
    accounts++;
    addMessage(at, ADDRESS_SIZE);
    if (load<u8>(at, P_RLP_SIZE) == 0) continue; // its slots are deleted with it
    for (let slot = slotsOf(at), after = accountAfter(at); slot < after; slot += SLOT_SIZE) addMessage(slot, 32);
  }
  finishHashing();
  return accounts;
}

@inline function writeKey(change: u32, from: u32, size: u32): void {
  writeHash(nextKey++, from, size, change + C_KEY);
}

@inline function accountAfter(account: u32): u32 {
  return slotsOf(account) + slotCountOf(account) * SLOT_SIZE;
}

@inline function countAt(account: u32): u32 {
  return account + P_RLP + load<u8>(account, P_RLP_SIZE);
}

@inline function slotCountOf(account: u32): u32 {
  return bswap<u32>(load<u32>(countAt(account)));
}

@inline function slotsOf(account: u32): u32 {
  return countAt(account) + 4;
}

/** Updates the account's storage trie, and fills in the change of its leaf except for the storage root. */
function updateAccount(account: u32, change: u32): void {
  const rlpSize = <u32>load<u8>(account, P_RLP_SIZE);
  const rlp = account + P_RLP;
  const count = slotCountOf(account);
  const isCleared = (load<u8>(account, P_FLAGS) & STORAGE_CLEARED) != 0;
  store<u32>(change, rlpSize == 0 ? 0 : rlp, C_VALUE);
  store<u32>(change, rlpSize, C_VALUE_SIZE);
  // PERF: the leaf has the storage root, so no lookup is needed.
  const keepsRoot = count == 0 && !isCleared;
  store<u32>(change, <u32>keepsRoot, C_KEEPS_ROOT);
  store<u32>(change, 0, C_TRIE);
  if (rlpSize == 0) dropTrie(change + C_KEY);
  if (rlpSize == 0 || keepsRoot) return;
  const rootBefore = isCleared ? EMPTY_ROOT : storageRootOf(change + C_KEY);
  const trie = storageTrie(change + C_KEY, rootBefore);
  copyBytes(rlp + rlpSize - ROOT_FROM_END, rootBefore, KEY_BYTES);
  store<u32>(change, trie, C_TRIE);
  if (count > 0) {
    sortSlots(slotsOf(account), count);
    updateTrie(trie, pass);
  }
}

/** Replaces the storage root in the account's change. */
function finishAccount(account: u32, change: u32): void {
  const trie = load<u32>(change, C_TRIE);
  finishRoot(trie);
  const newRoot = account + P_RLP + load<u8>(account, P_RLP_SIZE) - ROOT_FROM_END;
  // A storage that was cleared and filled again can have the same root as before, but the clearing must be reported.
  const isNew = (load<u8>(account, P_FLAGS) & STORAGE_CLEARED) != 0 || !isSameHash(trie + T_ROOT, newRoot);
  copyBytes(newRoot, trie + T_ROOT, KEY_BYTES);
  if (!isNew) return;
  const out = reserve(ROOTS, rootsSize + ROOT_SIZE, rootsSize) + rootsSize;
  copyBytes(out, account, ADDRESS_SIZE);
  copyBytes(out + ADDRESS_SIZE, newRoot, KEY_BYTES);
  rootsSize += ROOT_SIZE;
}

/** Address of an account's storage root before the update. */
function storageRootOf(key: u32): u32 {
  const leaf = findLeaf(ACCOUNT_TRIE, key, pass);
  if (leaf == 0) return EMPTY_ROOT;
  const size = <u32>load<u16>(leaf, L_VALUE_SIZE);
  if (size < CODE_HASH_AND_ROOT) hostBadNode();
  return load<u32>(leaf, N_RLP) + load<u16>(leaf, L_VALUE) + size - ROOT_FROM_END;
}

/** Converts slots and values to the sorted changes of a storage trie. */
function sortSlots(slots: u32, count: u32): void {
  const changes = reserve(SLOTS, count * CHANGE_SIZE, 0);
  for (let i: u32 = 0; i < count; i++) {
    const slot = slots + i * SLOT_SIZE;
    const change = changes + i * CHANGE_SIZE;
    writeKey(change, slot, 32);
    const end = slot + SLOT_SIZE;
    let from = slot + 32;
    while (from < end && load<u8>(from) == 0) from++;
    const size = end - from;
    store<u32>(change, size == 0 ? 0 : change + C_BYTES, C_VALUE);
    store<u32>(change, 0, C_KEEPS_ROOT);
    if (size == 1 && load<u8>(from) < 0x80) {
      store<u8>(change, load<u8>(from), C_BYTES);
      store<u32>(change, 1, C_VALUE_SIZE);
    } else {
      store<u8>(change, <u8>(0x80 + size), C_BYTES);
      copyBytes(change + C_BYTES + 1, from, size);
      store<u32>(change, size + 1, C_VALUE_SIZE);
    }
  }
  sortChanges(changes, count);
}

// ---- storage tries

@inline function bucketOf(key: u32): u32 {
  return BUCKETS + ((<u32>load<u16>(key) >> (16 - BUCKET_BITS)) << 2);
}

/** Address of the pointer to the storage trie of an owner; its value is 0 if there is none. */
function placeOf(key: u32): u32 {
  let place = bucketOf(key);
  for (let trie = load<u32>(place); trie != 0 && !isSameHash(trie + T_OWNER_BYTES, key); trie = load<u32>(place))
    place = trie + T_NEXT;
  return place;
}

/** The storage trie with the root, without nodes unless they are in memory. */
function storageTrie(key: u32, root: u32): u32 {
  const place = placeOf(key);
  let trie = load<u32>(place);
  if (trie == 0) {
    trie = allocate(TRIE_SIZE);
    trieCount++;
    store<u32>(place, trie);
    store<u32>(trie, 0, T_NEXT);
    store<u32>(trie, 0, T_NODE);
    store<u32>(trie, 0, T_CHANGED);
    copyBytes(trie + T_OWNER_BYTES, key, KEY_BYTES);
    store<u32>(trie, trie + T_OWNER_BYTES, T_OWNER);
    copyBytes(trie + T_ROOT, root, KEY_BYTES);
  } else if (!isSameHash(trie + T_ROOT, root)) {
    discardNodes(trie);
    copyBytes(trie + T_ROOT, root, KEY_BYTES);
  }
  store<u32>(trie, pass, T_USED);
  return trie;
}

function discardNodes(trie: u32): void {
  const node = load<u32>(trie, T_NODE);
  if (node != 0) disposeTree(node);
  store<u32>(trie, 0, T_NODE);
}

/** Removes the trie at a place from the table. */
function dropAt(place: u32): void {
  const trie = load<u32>(place);
  discardNodes(trie);
  store<u32>(place, load<u32>(trie, T_NEXT));
  release(trie, TRIE_SIZE);
  trieCount--;
}

function dropTrie(key: u32): void {
  const place = placeOf(key);
  if (load<u32>(place) != 0) dropAt(place);
}

// ---- eviction

/** The number of the last update. */
export function lastPass(): u32 {
  return pass;
}

/** Discards nodes that no update since the pass `oldest` visited. */
export function evictBefore(oldest: u32): void {
  for (let bucket: u32 = 0; bucket < 1 << BUCKET_BITS; bucket++) {
    for (let place = BUCKETS + bucket * 4; load<u32>(place) != 0; ) {
      const trie = load<u32>(place);
      if (load<u32>(trie, T_USED) < oldest) dropAt(place);
      else {
        evictOf(trie, oldest);
        place = trie + T_NEXT;
      }
    }
  }
  evictOf(ACCOUNT_TRIE, oldest);
}

function evictOf(trie: u32, oldest: u32): void {
  const node = load<u32>(trie, T_NODE);
  if (node != 0 && isEvicted(node, oldest)) store<u32>(trie, 0, T_NODE);
}

/** Discards a node or parts below it. @returns whether the node itself is discarded */
function isEvicted(node: u32, oldest: u32): bool {
  if (load<u32>(node, N_USED) < oldest) {
    disposeTree(node);
    return true;
  }
  const kind = load<u8>(node, N_KIND);
  if (kind == LEAF) return false;
  if (kind == EXTENSION) {
    const child = load<u32>(node, E_CHILD);
    if (child != 0 && isEvicted(child, oldest)) store<u32>(node, 0, E_CHILD);
    return false;
  }
  for (let i: u32 = 0; i < 16; i++) {
    const child = childAt(node, i);
    if (child != 0 && isEvicted(child, oldest)) keepChild(node, i, 0);
  }
  return false;
}
