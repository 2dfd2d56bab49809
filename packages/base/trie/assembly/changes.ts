/** The changes of one trie, in the order of their keys. */
import { ENTRIES, reserve, SPARE_ENTRIES } from "./memory";
import { KEY_BYTES } from "./nibbles";

// ---- a change: 96 bytes
@inline export const C_KEY: u32 = 0; // 32 bytes
@inline export const C_VALUE: u32 = 32; // pointer; 0 deletes
@inline export const C_VALUE_SIZE: u32 = 36;
@inline export const C_KEEPS_ROOT: u32 = 40; // u32: the account keeps the storage root of the existing leaf, if any
@inline export const C_TRIE: u32 = 44; // the storage trie whose root is to be filled in; 0: none
@inline export const C_BYTES: u32 = 48; // 33 bytes: room for a short value
@inline export const CHANGE_SIZE: u32 = 96;

/** Sort entry: the first 8 bytes of the key as a number, pointer to the change. */
@inline const ENTRY_SIZE: u32 = 16;

let entries: u32 = 0;
/** number of changes */
export let changeCount: i32 = 0;

/** The change at `index` in the order of the keys. */
@inline export function changeAt(index: i32): u32 {
  return load<u32>(entries + <u32>index * ENTRY_SIZE, 8);
}

/** negative, 0 or positive, in the order of two keys */
function compareKeys(a: u32, b: u32): i32 {
  for (let i: u32 = 0; i < KEY_BYTES; i += 8) {
    const left = bswap<u64>(load<u64>(a + i));
    const right = bswap<u64>(load<u64>(b + i));
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

@inline function isAfter(a: u32, b: u32): bool {
  const left = load<u64>(a);
  const right = load<u64>(b);
  return left != right ? left > right : compareKeys(load<u32>(a, 8), load<u32>(b, 8)) > 0;
}

@inline function copyEntry(to: u32, from: u32): void {
  v128.store(to, v128.load(from));
}

/** Sorts `count` consecutive changes from `first`. If several have the same key, only the last one counts. */
export function sortChanges(first: u32, count: i32): void {
  const size = <u32>count * ENTRY_SIZE;
  entries = reserve(ENTRIES, size, 0);
  for (let i: u32 = 0; i < <u32>count; i++) {
    const change = first + i * CHANGE_SIZE;
    store<u64>(entries + i * ENTRY_SIZE, bswap<u64>(load<u64>(change, C_KEY)));
    store<u32>(entries + i * ENTRY_SIZE, change, 8);
  }
  // a stable merge sort
  let from = entries;
  let to = reserve(SPARE_ENTRIES, size, 0);
  for (let width = ENTRY_SIZE; width < size; width <<= 1) {
    for (let start: u32 = 0; start < size; start += width << 1) {
      const middle = from + min(start + width, size);
      const end = from + min(start + (width << 1), size);
      let left = from + start;
      let right = middle;
      for (let at = to + start; at < to + (end - from); at += ENTRY_SIZE) {
        if (right == end || (left < middle && !isAfter(left, right))) {
          copyEntry(at, left);
          left += ENTRY_SIZE;
        } else {
          copyEntry(at, right);
          right += ENTRY_SIZE;
        }
      }
    }
    const sorted = to;
    to = from;
    from = sorted;
  }
  entries = from;
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const entry = entries + <u32>i * ENTRY_SIZE;
    if (
      i + 1 < count &&
      load<u64>(entry) == load<u64>(entry, ENTRY_SIZE) &&
      compareKeys(load<u32>(entry, 8), load<u32>(entry, ENTRY_SIZE + 8)) == 0
    )
      continue;
    copyEntry(entries + <u32>kept * ENTRY_SIZE, entry);
    kept++;
  }
  changeCount = kept;
}
