import type { Database, RangeOptions } from "lmdb";
import type { TableStats } from "../api.ts";
import { toStorageError } from "../errors.ts";

export type LmdbDatabase = Database<Uint8Array, Uint8Array>;

export interface TableEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** The operations that the tables of trie nodes need. */
export type RowTable = Pick<Table, "read" | "peek" | "lastUpTo" | "write" | "delete"> & {
  range(start: Uint8Array, end?: Uint8Array): Iterable<TableEntry>;
  keysWithPrefix(prefix: Uint8Array): Iterable<Uint8Array>;
};

/**
 * A table of binary keys and values in an LMDB environment. Reads within one synchronous run see one state of the database; writes are
 * possible only inside `Environment.atomically`.
 */
export class Table {
  readonly #db: LmdbDatabase;
  readonly #folder: string;

  /** @param folder the folder of the database, for errors */
  constructor(db: LmdbDatabase, folder: string) {
    this.#db = db;
    this.#folder = folder;
  }

  #get(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#db.getBinaryFast(key);
    } catch (error) {
      throw toStorageError(error, this.#folder);
    }
  }

  *#range(options: RangeOptions): Generator<TableEntry> {
    try {
      for (const { key, value } of this.#db.getRange(options)) yield { key: plain(key), value: plain(value) };
    } catch (error) {
      throw toStorageError(error, this.#folder);
    }
  }

  /** Returns a copy that the caller owns. */
  read(key: Uint8Array): Uint8Array | undefined {
    const shared = this.#get(key);
    return shared === undefined ? undefined : copyOf(shared);
  }

  /**
   * Returns the value in a buffer that the next read of any table overwrites. PERF: no allocation and no second copy. Only indexing and
   * `length` respect its true size; typed-array methods see the whole buffer.
   */
  peek(key: Uint8Array): Uint8Array | undefined {
    return this.#get(key);
  }

  has(key: Uint8Array): boolean {
    return this.#get(key) !== undefined;
  }

  /** Writes `size` bytes of `value`, starting at `at`. */
  write(key: Uint8Array, value: Uint8Array, size: number = value.length, at = 0): void {
    this.#db.putSync(key, staged(value, size, at));
  }

  /** Writes a row with the greatest key of the table. PERF: pages are filled completely, where `write` leaves them half empty. */
  append(key: Uint8Array, value: Uint8Array): void {
    this.#db.putSync(key, staged(value, value.length, 0), APPENDING);
  }

  /** Removes all rows. */
  clear(): void {
    this.#db.clearSync();
  }

  /** @returns whether the row existed */
  delete(key: Uint8Array): boolean {
    return this.#db.removeSync(key);
  }

  /** The first row at or after `start`. */
  firstFrom(start: Uint8Array): TableEntry | undefined {
    for (const entry of this.#range({ start, limit: 1 })) return entry;
    return undefined;
  }

  /** The last row at or before `start`. */
  lastUpTo(start: Uint8Array): TableEntry | undefined {
    for (const entry of this.#range({ start, limit: 1, reverse: true })) return entry;
    return undefined;
  }

  /** Rows at or before `start`, the last one first, with the restriction of `range`. */
  backFrom(start: Uint8Array): Generator<TableEntry> {
    return this.#range({ start, reverse: true });
  }

  /** Rows from `start` up to, but not including, `end`. No rows may be written or deleted meanwhile. */
  range(start: Uint8Array, end?: Uint8Array): Generator<TableEntry> {
    return this.#range(end === undefined ? { start } : { start, end });
  }

  /** Rows whose key starts with `prefix`, from `start` on (default: all), with the restriction of `range`. */
  *withPrefix(prefix: Uint8Array, start: Uint8Array = prefix): Generator<TableEntry> {
    for (const entry of this.#range({ start })) {
      if (!startsWith(entry.key, prefix)) return;
      yield entry;
    }
  }

  /** Keys from `start` up to, but not including, `end`, with the restriction of `range`. */
  *keys(start: Uint8Array, end?: Uint8Array): Generator<Uint8Array> {
    try {
      const options = end === undefined ? { start } : { start, end };
      for (const key of this.#db.getKeys(options)) yield plain(key);
    } catch (error) {
      throw toStorageError(error, this.#folder);
    }
  }

  *keysWithPrefix(prefix: Uint8Array, start: Uint8Array = prefix): Generator<Uint8Array> {
    for (const key of this.keys(start)) {
      if (!startsWith(key, prefix)) return;
      yield key;
    }
  }

  stats(): TableStats {
    const stats = this.#db.getStats() as Record<
      "pageSize" | "treeBranchPageCount" | "treeLeafPageCount" | "overflowPages" | "entryCount",
      number
    >;
    const pages = stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
    return { entries: stats.entryCount, sizeBytes: pages * stats.pageSize };
  }
}

const APPENDING = { append: true };
/** PERF: the library requests the address of each new buffer from the system, but caches that of this one. One view per size. */
const stagingBuffer = new Uint8Array(1024);
const stagingViews: Uint8Array[] = [];

/** `size` bytes of `value`, starting at `at`, for a call that copies them. */
function staged(value: Uint8Array, size: number, at: number): Uint8Array {
  const isWhole = size === value.length;
  if (size > stagingBuffer.length) return isWhole ? value : value.subarray(at, at + size);
  let view = stagingViews[size];
  if (view === undefined) {
    while (stagingViews.length <= size) stagingViews.push(stagingBuffer.subarray(0, stagingViews.length));
    view = stagingViews[size]!;
  }
  if (size < 64) for (let i = 0; i < size; i++) view[i] = value[at + i]!;
  else stagingBuffer.set(isWhole ? value : value.subarray(at, at + size));
  return view;
}

/** Iterators return copies already, but as Buffers. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

function copyOf(shared: Uint8Array): Uint8Array {
  const length = shared.length;
  const copy = new Uint8Array(length);
  if (length <= 64) for (let i = 0; i < length; i++) copy[i] = shared[i]!;
  else copy.set(shared.subarray(0, length));
  return copy;
}

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (bytes[i] !== prefix[i]) return false;
  return true;
}

/** @returns the number of deleted rows, at most `limit` */
export function deleteWithPrefix(table: RowTable, prefix: Uint8Array, limit: number): number {
  const keys: Uint8Array[] = [];
  for (const key of table.keysWithPrefix(prefix)) {
    if (keys.length === limit) break;
    keys.push(key);
  }
  for (const key of keys) table.delete(key);
  return keys.length;
}
