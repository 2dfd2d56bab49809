/**
 * Open-addressing index from a 32-bit hash to entries. Places are 8 bytes: u32 entry (0: free), u32 hash. The tables search it
 * themselves, because each knows how to compare its keys:
 *
 *   for (let i = hash & mask; (entry = load<u32>(index + i * 8)) != 0; i = (i + 1) & mask) …
 *
 * Descriptor: u32 places, u32 mask, u32 count.
 */
import { allocate, release } from "./heap";

@inline export const INDEX_DESCRIPTOR: u32 = 12;
@inline const INITIAL_PLACES: u32 = 1024;

@inline export function indexPlaces(index: usize): u32 {
  return load<u32>(index);
}
@inline export function indexMask(index: usize): u32 {
  return load<u32>(index, 4);
}

/** Removes all entries; a table that has grown starts small again. */
export function indexReset(index: usize): void {
  const places = load<u32>(index);
  const mask = load<u32>(index, 4);
  if (places != 0 && mask == INITIAL_PLACES - 1) {
    if (load<u32>(index, 8) != 0) memory.fill(places, 0, INITIAL_PLACES << 3);
  } else {
    if (places != 0) release(places, (mask + 1) << 3);
    const fresh = allocate(INITIAL_PLACES << 3);
    memory.fill(fresh, 0, INITIAL_PLACES << 3);
    store<u32>(index, fresh);
    store<u32>(index, INITIAL_PLACES - 1, 4);
  }
  store<u32>(index, 0, 8);
}

@inline function put(places: u32, mask: u32, hash: u32, entry: u32): void {
  let i = hash & mask;
  while (load<u32>(places + (i << 3)) != 0) i = (i + 1) & mask;
  store<u32>(places + (i << 3), entry);
  store<u32>(places + (i << 3), hash, 4);
}

/** Adds an entry that is not in the index. At most half of the places are used. */
export function indexInsert(index: usize, hash: u32, entry: u32): void {
  const count = load<u32>(index, 8) + 1;
  store<u32>(index, count, 8);
  const places = load<u32>(index);
  const mask = load<u32>(index, 4);
  if (count << 1 > mask) {
    const newMask = (mask << 1) | 1;
    const newPlaces = allocate((newMask + 1) << 3);
    memory.fill(newPlaces, 0, (newMask + 1) << 3);
    for (let i: u32 = 0; i <= mask; i++) {
      const old = load<u32>(places + (i << 3));
      if (old != 0) put(newPlaces, newMask, load<u32>(places + (i << 3), 4), old);
    }
    release(places, (mask + 1) << 3);
    store<u32>(index, newPlaces);
    store<u32>(index, newMask, 4);
    put(newPlaces, newMask, hash, entry);
    return;
  }
  put(places, mask, hash, entry);
}

/** Keys of the hash function: set by the host, so an attacker cannot prepare addresses or slots that collide. */
let seedA: u64 = 0x243f6a8885a308d3;
let seedB: u64 = 0x13198a2e03707344;

export function setHashSeed(a: u64, b: u64): void {
  seedA = a;
  seedB = b;
}

@inline function mix(h: u64, limb: u64): u64 {
  const product = (h ^ limb) * 0x9e3779b97f4a7c15;
  return product ^ (product >> 29);
}

/** Hash of a word and a salt. */
@inline export function hashWord(word: u32, salt: u32): u32 {
  let h = mix(seedA + salt, load<u64>(word));
  h = mix(h, load<u64>(word, 8));
  h = mix(h ^ seedB, load<u64>(word, 16));
  h = mix(h, load<u64>(word, 24));
  h *= 0xd6e8feb86659fd93;
  return <u32>(h >> 32);
}
