import { closeSync, openSync, readSync } from "node:fs";

/*
 * How many pages the last commit of a database wrote, by table. The system's counters tell more than reaches the disk: they count whole
 * parts of its cache, up to two mebibytes, of which a page was changed. LMDB notes in each page which transaction wrote it, and a page that
 * is older than the last transaction has nothing newer below it. The layout of pages is that of packages/execution/storage/src/database/page-check.ts.
 */

const PAGE_BYTES = 4096;
const HEADER_SIZE = 24;
const MAIN_TREE_AT = 96;
const FREE_TREE_AT = 48;
const TRANSACTION_AT = 152;
const TREE_SIZE = 48;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;
const [LONG_VALUE, TABLE] = [0x01, 0x02];

/** Bytes written by the last commit, by table; "free pages" is LMDB's own list of them. */
export function bytesOfLastCommit(file: string): ReadonlyMap<string, number> {
  const descriptor = openSync(file, "r");
  try {
    return new LastCommit(descriptor).bytes();
  } finally {
    closeSync(descriptor);
  }
}

class LastCommit {
  readonly #descriptor: number;
  readonly #transaction: number;
  readonly #meta: Buffer;
  readonly #pages = new Map<string, number>();

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    const [first, second] = [this.#read(0), this.#read(1)];
    const numberOf = (meta: Buffer): number => Number(meta.readBigUInt64LE(TRANSACTION_AT));
    this.#meta = numberOf(first) > numberOf(second) ? first : second;
    this.#transaction = numberOf(this.#meta);
  }

  bytes(): ReadonlyMap<string, number> {
    this.#tree(this.#meta.subarray(FREE_TREE_AT, FREE_TREE_AT + TREE_SIZE), "free pages");
    this.#tree(this.#meta.subarray(MAIN_TREE_AT, MAIN_TREE_AT + TREE_SIZE), undefined);
    return new Map([...this.#pages].map(([name, pages]) => [name, pages * PAGE_BYTES]));
  }

  #read(page: number): Buffer {
    const bytes = Buffer.alloc(PAGE_BYTES);
    readSync(this.#descriptor, bytes, 0, PAGE_BYTES, page * PAGE_BYTES);
    return bytes;
  }

  #count(name: string | undefined, pages: number): void {
    this.#pages.set(name ?? "tables", (this.#pages.get(name ?? "tables") ?? 0) + pages);
  }

  /** @param name `undefined`: the tree of tables */
  #tree(tree: Buffer, name: string | undefined): void {
    const root = tree.readBigUInt64LE(40);
    if (root !== NO_ROOT) this.#page(Number(root), tree.readUInt16LE(6), name);
  }

  #page(number: number, depth: number, name: string | undefined): void {
    const bytes = this.#read(number);
    if (Number(bytes.readBigUInt64LE(8)) !== this.#transaction) return;
    this.#count(name, 1);
    const end = bytes.readUInt16LE(20) + HEADER_SIZE;
    for (let at = HEADER_SIZE; at < end; at += 2) {
      const node = bytes.readUInt16LE(at) + HEADER_SIZE;
      const low = bytes.readUInt32LE(node);
      const flags = bytes.readUInt16LE(node + 4);
      const value = node + 8 + bytes.readUInt16LE(node + 6);
      if (depth > 1) this.#page(low + flags * 2 ** 32, depth - 1, name);
      else if ((flags & LONG_VALUE) !== 0) this.#longValue(bytes, value, name);
      else if (name === undefined && (flags & TABLE) !== 0) {
        const table = bytes.toString("latin1", node + 8, value).replaceAll("\0", "");
        this.#tree(bytes.subarray(value, value + TREE_SIZE), table);
      }
    }
  }

  #longValue(bytes: Buffer, at: number, name: string | undefined): void {
    const first = this.#read(Number(bytes.readBigUInt64LE(at)));
    if (Number(first.readBigUInt64LE(8)) === this.#transaction) this.#count(name, Number(bytes.readBigUInt64LE(at + 16)));
  }
}
