import { addKeccak256, flushKeccak256, writeKeccak256 } from "@rnode/primitives";

const HASH_SIZE = 32;

/**
 * keccak256 of addresses, or of slots: the keys of the state's tables. The hashes of recent keys are kept. PERF: a key is read, written and read
 * again within a few blocks; finding its hash takes a tenth of the time of computing it. A key takes the place of another one by four of its
 * bytes, so there is nothing to keep in order.
 */
export class HashedKeys {
  readonly #keySize: number;
  readonly #mask: number;
  readonly #keys: Uint8Array;
  readonly #hashes: Uint8Array;
  readonly #isUsed: Uint8Array;
  readonly #key: Uint8Array;

  /** @param entries number of kept hashes, a power of two up to 65,536 */
  constructor(keySize: number, entries: number) {
    this.#keySize = keySize;
    this.#mask = entries - 1;
    this.#keys = new Uint8Array(entries * keySize);
    this.#hashes = new Uint8Array(entries * HASH_SIZE);
    this.#isUsed = new Uint8Array(entries);
    this.#key = new Uint8Array(keySize);
  }

  /** The first bytes differ in hashes, the last ones in numbers. */
  #entryOf(bytes: Uint8Array, at: number): number {
    const last = at + this.#keySize - 1;
    return ((bytes[at]! | (bytes[at + 1]! << 8)) ^ (bytes[last]! | (bytes[last - 1]! << 8))) & this.#mask;
  }

  #has(entry: number, bytes: Uint8Array, at: number): boolean {
    if (this.#isUsed[entry] === 0) return false;
    const keySize = this.#keySize;
    const keys = this.#keys;
    for (let i = 0, from = entry * keySize; i < keySize; i++) if (keys[from + i] !== bytes[at + i]) return false;
    return true;
  }

  /** Writes the hash of the key at `from` in `bytes` to the 32 bytes of `out` from `at`. */
  write(out: Uint8Array, at: number, bytes: Uint8Array, from = 0): void {
    const entry = this.#entryOf(bytes, from);
    const hashAt = entry * HASH_SIZE;
    const hashes = this.#hashes;
    if (!this.#has(entry, bytes, from)) {
      const keySize = this.#keySize;
      const key = this.#key;
      for (let i = 0, to = entry * keySize; i < keySize; i++) this.#keys[to + i] = key[i] = bytes[from + i]!;
      this.#isUsed[entry] = 1;
      writeKeccak256(hashes, hashAt, key);
    }
    for (let i = 0; i < HASH_SIZE; i++) out[at + i] = hashes[hashAt + i]!;
  }

  /**
   * Writes the hashes of `count` keys to `out`, one after the other. The keys lie in `bytes`, each `stride` bytes after the one before it. PERF:
   * several hashes are computed at once, and not kept.
   */
  writeAll(out: Uint8Array, bytes: Uint8Array, count: number, from: number, stride: number): void {
    const key = this.#key;
    const hashes = this.#hashes;
    for (let number = 0, at = from, to = 0; number < count; number++, at += stride, to += HASH_SIZE) {
      const entry = this.#entryOf(bytes, at);
      if (this.#has(entry, bytes, at)) {
        for (let i = 0, hashAt = entry * HASH_SIZE; i < HASH_SIZE; i++) out[to + i] = hashes[hashAt + i]!;
      } else {
        for (let i = 0; i < key.length; i++) key[i] = bytes[at + i]!;
        addKeccak256(key, out, to);
      }
    }
    flushKeccak256();
  }
}

/** The hashes that the state's tables need. Together at most 0.8 MB. */
export class StateKeys {
  readonly addresses = new HashedKeys(20, 4096);
  readonly slots = new HashedKeys(32, 8192);
}
