/*
 * The journal of trie nodes (node-journal.ts) in memory, by node. The space of node keys is divided into parts, which are merged
 * into the tables one after the other. Parts are contiguous within a trie, so nodes that share pages are written together. The
 * parts of a storage trie start at its owner's part, so neither a large trie nor many small ones fill a single part.
 */

export const PARTS = 256;

const ACCOUNT_TRIE = 0;
const ACCOUNT_PATH_AT = 1;
const OWNER_AT = 1;
const STORAGE_PATH_AT = 33;
const NIBBLES_OF_PART = 2;
/** Estimated: of a key, with its place in a map, and of an entry, without the bytes of its version. */
const [KEY_BYTES, ENTRY_BYTES] = [100, 30];

/** The part that a node key belongs to. */
export function partOf(key: Uint8Array): number {
  const isAccount = key[0] === ACCOUNT_TRIE;
  const pathAt = isAccount ? ACCOUNT_PATH_AT : STORAGE_PATH_AT;
  const first = isAccount ? 0 : key[OWNER_AT]!;
  if (key.length < pathAt + NIBBLES_OF_PART) return first;
  return (first + 16 * key[pathAt]! + key[pathAt + 1]!) % PARTS;
}

/** keccak256 of the address of the node's storage trie; `undefined` for the account trie. */
export const ownerOf = (key: Uint8Array): Uint8Array | undefined =>
  key[0] === ACCOUNT_TRIE ? undefined : key.subarray(OWNER_AT, STORAGE_PATH_AT);

/** A node key as a string of one character a byte, in the same order. */
const textOfKey = (key: Uint8Array): string => Buffer.from(key.buffer, key.byteOffset, key.length).toString("latin1");

const keyOfText = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));

/** The entries of a part: four numbers each. */
class Part {
  /** node key → its last entry */
  readonly last = new Map<string, number>();
  /** sequence of the run, offset and size of the version, the node's entry before or −1 */
  readonly entries: number[] = [];
}

const ENTRY_FIELDS = 4;

/** Versions of nodes by key, each linked to the earlier ones. */
export class JournalIndex {
  readonly #parts: Part[] = Array.from({ length: PARTS }, () => new Part());
  /** the versions that each commit left, by its sequence, ascending */
  readonly #runs = new Map<number, Uint8Array>();
  #bytes = 0;

  /** approximate size in memory */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#runs.size === 0;
  }

  /** Adds a run above all others. @param bytes its versions, to which `add` refers */
  addRun(sequence: number, bytes: Uint8Array): void {
    this.#runs.set(sequence, bytes);
    this.#bytes += bytes.length;
  }

  add(key: Uint8Array, sequence: number, at: number, size: number): void {
    const part = this.#parts[partOf(key)]!;
    const text = textOfKey(key);
    const entry = part.entries.length;
    const before = part.last.get(text);
    part.entries.push(sequence, at, size, before ?? -1);
    part.last.set(text, entry);
    this.#bytes += ENTRY_BYTES + (before === undefined ? KEY_BYTES : 0);
  }

  /** The versions of a node, latest first; empty if the tables have the current one. */
  *versions(key: Uint8Array): Generator<Uint8Array> {
    const { last, entries } = this.#parts[partOf(key)]!;
    for (let entry = last.get(textOfKey(key)) ?? -1; entry >= 0; entry = entries[entry + 3]!) {
      const at = entries[entry + 1]!;
      yield this.#runs.get(entries[entry]!)!.subarray(at, at + entries[entry + 2]!);
    }
  }

  /** The keys of a part in ascending order. */
  keysOf(part: number): Uint8Array[] {
    return [...this.#parts[part]!.last.keys()].sort().map(keyOfText);
  }

  *keys(): Generator<Uint8Array> {
    for (const { last } of this.#parts) for (const text of last.keys()) yield keyOfText(text);
  }

  /** Forgets the nodes of a part. */
  clearPart(part: number): void {
    const { last, entries } = this.#parts[part]!;
    this.#bytes -= (entries.length / ENTRY_FIELDS) * ENTRY_BYTES + last.size * KEY_BYTES;
    this.#parts[part] = new Part();
  }

  /** Forgets the runs up to `sequence`, to which no entry refers any more. @returns their sequences */
  dropRuns(sequence: number): number[] {
    const dropped: number[] = [];
    for (const [at, bytes] of this.#runs) {
      if (at > sequence) break;
      dropped.push(at);
      this.#runs.delete(at);
      this.#bytes -= bytes.length;
    }
    return dropped;
  }

  clear(): void {
    for (let part = 0; part < PARTS; part++) this.#parts[part] = new Part();
    this.#runs.clear();
    this.#bytes = 0;
  }
}
