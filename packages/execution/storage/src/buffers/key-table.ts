import { randomFillSync } from "node:crypto";
import { ByteArena } from "./growable.ts";

/** Size of the longest possible key. */
const MAX_KEY_BYTES = 64;
/**
 * Factors of the hash, which is a sum of products with the halves of words. They are secret, so an attacker cannot choose
 * colliding keys.
 */
const FACTORS = randomFillSync(new Int32Array(MAX_KEY_BYTES / 2));

/**
 * Keys of one size, numbered in the order in which they were first added. PERF: a group of blocks has tens of thousands of keys; as
 * strings in a map they would cost more than everything that is done with them.
 */
export class KeyTable {
  readonly keySize: number;
  readonly #keys = new ByteArena();
  /** open addressing: number of the key + 1; 0 is free */
  #places = new Int32Array(1024);
  #hashes = new Int32Array(512);
  #count = 0;

  /** @param keySize even, at most 64 */
  constructor(keySize: number) {
    this.keySize = keySize;
  }

  get count(): number {
    return this.#count;
  }

  /** All keys, one after the other; valid until the next `add`. */
  get bytes(): Uint8Array {
    return this.#keys.bytes;
  }

  #hash(key: Uint8Array): number {
    let sum = 0;
    for (let i = 0; i < this.keySize; i += 2) sum = (sum + Math.imul(FACTORS[i >> 1]!, key[i]! | (key[i + 1]! << 8))) | 0;
    return sum ^ (sum >>> 16); // the upper bits are the well-mixed ones
  }

  /** The key's slot in the table, or the free slot where it would be stored. */
  #placeOf(key: Uint8Array, hash: number): number {
    const mask = this.#places.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const found = this.#places[place]!;
      if (found === 0 || (this.#hashes[found - 1] === hash && this.#isKey(found - 1, key))) return place;
    }
  }

  #isKey(number: number, key: Uint8Array): boolean {
    const { keySize } = this;
    const { bytes } = this.#keys;
    const at = number * keySize;
    for (let i = keySize - 1; i >= 0; i--) if (bytes[at + i] !== key[i]) return false;
    return true;
  }

  /** The number of the key, or −1 if it is not in the table. @param key only its first `keySize` bytes matter */
  find(key: Uint8Array): number {
    return this.#places[this.#placeOf(key, this.#hash(key))]! - 1;
  }

  /** The number of the key. If the key is new, its number is the previous `count`. @param key its first `keySize` bytes are copied */
  add(key: Uint8Array): number {
    const hash = this.#hash(key);
    const place = this.#placeOf(key, hash);
    const found = this.#places[place]!;
    if (found !== 0) return found - 1;
    const number = this.#count++;
    const at = this.#keys.reserve(this.keySize);
    for (let i = 0; i < this.keySize; i++) this.#keys.bytes[at + i] = key[i]!;
    this.#places[place] = number + 1;
    if (number === this.#hashes.length) this.#grow();
    this.#hashes[number] = hash;
    return number;
  }

  /** Keeps the table at most half full. */
  #grow(): void {
    const hashes = new Int32Array(2 * this.#hashes.length);
    hashes.set(this.#hashes);
    const places = new Int32Array(2 * hashes.length);
    const mask = places.length - 1;
    for (const found of this.#places) {
      if (found === 0) continue;
      // The newest key has no stored hash yet, so it is computed from the key.
      const hash = found === this.#count ? this.#hash(this.#keys.bytes.subarray((found - 1) * this.keySize)) : hashes[found - 1]!;
      let place = hash & mask;
      while (places[place] !== 0) place = (place + 1) & mask;
      places[place] = found;
    }
    this.#hashes = hashes;
    this.#places = places;
  }

  /** The numbers of the keys, in ascending order of the keys. */
  sorted(): Uint32Array {
    return sortedKeys(this.#keys.bytes, this.keySize, this.#count);
  }

  /** Views of the keys, in the order of their numbers. Nothing may be added meanwhile. */
  *all(): Generator<Uint8Array> {
    for (let at = 0; at < this.#count * this.keySize; at += this.keySize) yield this.#keys.bytes.subarray(at, at + this.keySize);
  }

  clear(): void {
    this.#places.fill(0);
    this.#keys.clear();
    this.#count = 0;
  }
}

/** The numbers of `count` consecutive keys, in ascending order of the keys; equal keys keep their order. */
export function sortedKeys(keys: Uint8Array, keySize: number, count: number): Uint32Array {
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  sortKeys(order, keys, keySize);
  return order;
}

/** Combines three bytes of a key with an index into the order. */
const PLACES = 2 ** 29;
/** Fewer keys than this are sorted by comparison. */
const FEW = 12;

/** Sorts the numbers of keys by key. @param from how many leading bytes all keys have in common */
export function sortKeys(order: Uint32Array, keys: Uint8Array, keySize: number, from = 0): void {
  if (order.length > FEW) sortByDigit(order, keys, keySize, from);
  else sortFew(order, keys, keySize, from);
}

// PERF: sorting a typed array of numbers is native, whereas comparing keys calls a function each time.
function sortByDigit(order: Uint32Array, keys: Uint8Array, keySize: number, from: number): void {
  if (from >= keySize) return;
  const digits = new Float64Array(order.length);
  for (let i = 0; i < order.length; i++) {
    const at = order[i]! * keySize + from;
    const left = keySize - from;
    const digit = (keys[at]! << 16) | (left > 1 ? keys[at + 1]! << 8 : 0) | (left > 2 ? keys[at + 2]! : 0);
    digits[i] = digit * PLACES + i;
  }
  digits.sort();
  const before = order.slice();
  let start = 0;
  let digitOfStart = -1;
  for (let i = 0; i < order.length; i++) {
    const digit = Math.floor(digits[i]! / PLACES);
    order[i] = before[digits[i]! - digit * PLACES]!;
    if (digit === digitOfStart) continue;
    if (i - start > 1) sortKeys(order.subarray(start, i), keys, keySize, from + 3);
    start = i;
    digitOfStart = digit;
  }
  if (order.length - start > 1) sortKeys(order.subarray(start), keys, keySize, from + 3);
}

function sortFew(order: Uint32Array, keys: Uint8Array, keySize: number, from: number): void {
  for (let i = 1; i < order.length; i++) {
    const number = order[i]!;
    let place = i;
    while (place > 0 && compareKeys(keys, order[place - 1]! * keySize, number * keySize, keySize, from) > 0) {
      order[place] = order[place - 1]!;
      place--;
    }
    order[place] = number;
  }
}

function compareKeys(keys: Uint8Array, a: number, b: number, keySize: number, from: number): number {
  for (let i = from; i < keySize; i++) {
    const difference = keys[a + i]! - keys[b + i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}
