import { closeSync, openSync, readSync } from "node:fs";
import { type DataFileMeta, readCurrentMeta } from "./data-file.ts";
import { PageSet } from "./page-set.ts";

/*
 * LMDB trusts the pages of its file: a damaged page ends the process with a signal, and the next start as well. This check walks the
 * trees without LMDB, level by level from the roots down, and reads each level in the order of the file, in large pieces. Layout on 64-bit little-endian machines (lmdb 0.9.90 and later), numbers little-endian:
 *   page:   number 8 ‖ transaction 8 ‖ pad 2 ‖ flags 2 ‖ lower 2 ‖ upper 2 ‖ places of the nodes, 2 each, from behind the header
 *   node:   low 2 ‖ high 2 ‖ flags 2 ‖ size of the key 2 ‖ key ‖ value. Branch: low, high and flags are the page below, and there is no value; leaf: low and high are
 *           the size of the value, which is { page 8 ‖ transaction 8 ‖ pages 8 } when it lies on pages of its own
 *   tree:   pad 4 ‖ flags 2 ‖ depth 2 ‖ branch pages 8 ‖ leaf pages 8 ‖ pages of long values 8 ‖ rows 8 ‖ root 8 (all ones: no rows)
 * A table is a node of the main tree whose value is a tree.
 */

const HEADER_SIZE = 24;
const FLAGS_AT = 18;
const LOWER_AT = 20;
const UPPER_AT = 22;
const NODE_SIZE = 8;
const TREE_SIZE = 48;
const DEPTH_AT = 6;
const ROOT_AT = 40;

const BRANCH_PAGE = 0x01;
const LEAF_PAGE = 0x02;
const LONG_VALUE_PAGE = 0x04;
const KIND_MASK = 0x07;
const LONG_VALUE = 0x01;
const TABLE = 0x02;
const LONG_VALUE_SIZE = 24;
/** Offsets of the two trees in a meta page. */
const FREE_TREE_AT = 48;
const MAIN_TREE_AT = 96;

/** of one read */
const PIECE_BYTES = 1 << 20;
/** Pages between two that are wanted, which are read with them. PERF: a seek costs more. */
const MAX_GAP_PAGES = 16;

/** Position of a check; the sets of pages are those of `PageSet.words`. Valid only for a file with the same last commit. */
export interface PageCheckPosition {
  /** the last commit of the file, and its last page */
  readonly transaction: number;
  readonly lastPage: number;
  readonly seen: Uint32Array;
  readonly longValues: Uint32Array;
  /** pages to read after those of `reading`, by the number of levels from the leaves */
  readonly levels: readonly { readonly depth: number; readonly pages: Uint32Array }[];
  /** pages being read; those below `from` are done; depth 0: the long values */
  readonly reading: { readonly depth: number; readonly pages: Uint32Array; readonly from: number };
  readonly done: number;
  readonly known: number;
}

/**
 * @param done number of read pages
 * @param known number of pages known so far
 * @param position for a resumed check; copy the arrays before the check continues. `undefined` near the start, when there is
 * nothing to store
 */
export type PageCheckProgress = (done: number, known: number, position: () => PageCheckPosition | undefined) => void;

/**
 * Looks for damaged pages: at most `maxPages` of the trees, starting near the roots, and then at most as many starts of long
 * values.
 *
 * @param onProgress is called after each part of the file
 * @param from position of an earlier check; ignored if the file has changed since
 * @returns a description of a damaged page; `undefined` if none was found, or if the file changed meanwhile
 */
export function findDamagedPage(
  file: string,
  maxPages: number,
  onProgress: PageCheckProgress = () => {},
  from?: PageCheckPosition,
): string | undefined {
  const descriptor = openSync(file, "r");
  try {
    const meta = readCurrentMeta(descriptor);
    if (meta === undefined) return undefined;
    const isSame = from !== undefined && from.transaction === meta.transaction && from.lastPage === meta.lastPage;
    const problem = new PageCheck(descriptor, meta, onProgress, isSame ? from : undefined).run(maxPages);
    // A concurrent writer may have reused pages of this tree, so a problem counts only if the tree is still the newest.
    return readCurrentMeta(descriptor)?.transaction === meta.transaction ? problem : undefined;
  } finally {
    closeSync(descriptor);
  }
}

class PageCheck {
  readonly #descriptor: number;
  readonly #meta: DataFileMeta;
  readonly #onProgress: PageCheckProgress;
  readonly #seen: PageSet;
  /** pages to look at, by the number of levels from the leaves, which are 1 */
  readonly #levels = new Map<number, PageSet>();
  readonly #longValues: PageSet;
  /** `undefined`: the check is still in the main tree */
  #reading: { readonly depth: number; readonly pages: PageSet; from: number } | undefined;
  readonly #piece: Buffer;
  /** PERF: the same in halves of words, as everything in a page is at an even place; half a million pages are read at a start */
  readonly #halves: Uint16Array;
  #known: number;
  #done: number;

  constructor(descriptor: number, meta: DataFileMeta, onProgress: PageCheckProgress, position: PageCheckPosition | undefined) {
    this.#descriptor = descriptor;
    this.#meta = meta;
    this.#onProgress = onProgress;
    const setOf = (words?: Uint32Array): PageSet => new PageSet(meta.lastPage, words);
    this.#seen = setOf(position?.seen);
    this.#longValues = setOf(position?.longValues);
    for (const { depth, pages } of position?.levels ?? []) this.#levels.set(depth, setOf(pages));
    if (position !== undefined) this.#reading = { ...position.reading, pages: setOf(position.reading.pages) };
    this.#known = position?.known ?? 0;
    this.#done = position?.done ?? 0;
    this.#piece = Buffer.alloc(Math.max(PIECE_BYTES, meta.pageSize));
    this.#halves = new Uint16Array(this.#piece.buffer, this.#piece.byteOffset, this.#piece.length / 2);
  }

  run(maxPages: number): string | undefined {
    const reading = this.#reading;
    if (reading === undefined) {
      // The rows of the main tree are the roots of the others.
      const problem =
        this.#addTree(this.#meta.page, MAIN_TREE_AT) ?? this.#walk(maxPages, true) ?? this.#addTree(this.#meta.page, FREE_TREE_AT);
      return problem ?? this.#walk(maxPages, false) ?? this.#checkLongValues(maxPages, 0);
    }
    if (reading.depth === 0) return this.#checkLongValues(maxPages, reading.from);
    return (
      this.#checkLevel(reading.depth, reading.pages, reading.from, maxPages, false) ??
      this.#walk(maxPages, false) ??
      this.#checkLongValues(maxPages, 0)
    );
  }

  #position(): PageCheckPosition | undefined {
    if (this.#reading === undefined) return undefined;
    return {
      transaction: this.#meta.transaction,
      lastPage: this.#meta.lastPage,
      seen: this.#seen.words,
      longValues: this.#longValues.words,
      levels: Array.from(this.#levels, ([depth, { words }]) => ({ depth, pages: words })),
      reading: { ...this.#reading, pages: this.#reading.pages.words },
      done: this.#done,
      known: this.#known,
    };
  }

  #walk(maxPages: number, isMain: boolean): string | undefined {
    for (let depth = Math.max(0, ...this.#levels.keys()); depth > 0; depth--) {
      const level = this.#levels.get(depth);
      if (level === undefined) continue;
      this.#levels.delete(depth);
      const problem = this.#checkLevel(depth, level, 0, maxPages, isMain);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #checkLevel(depth: number, pages: PageSet, from: number, maxPages: number, isMain: boolean): string | undefined {
    if (!isMain) this.#reading = { depth, pages, from };
    return this.#readAll(pages, from, maxPages - this.#done, (page, at) => {
      this.#done++;
      return this.#pageProblem(page, depth, at, isMain);
    });
  }

  #checkLongValues(maxPages: number, from: number): string | undefined {
    this.#reading = { depth: 0, pages: this.#longValues, from };
    return this.#readAll(this.#longValues, from, maxPages, (page, at) => this.#longValueProblem(page, at));
  }

  #addTree(bytes: Buffer, at: number): string | undefined {
    const low = bytes.readUInt32LE(at + ROOT_AT);
    const high = bytes.readUInt32LE(at + ROOT_AT + 4);
    if (low === 0xffff_ffff && high === 0xffff_ffff) return undefined;
    return this.#add(low + high * 2 ** 32, bytes.readUInt16LE(at + DEPTH_AT));
  }

  #add(page: number, depth: number): string | undefined {
    if (page < 2 || page > this.#meta.lastPage) return `refers to page ${page} of ${this.#meta.lastPage}`;
    if (depth < 1) return "is deeper than its tree";
    if (this.#seen.has(page)) return `refers to page ${page}, which belongs elsewhere`;
    this.#seen.add(page);
    let level = this.#levels.get(depth);
    if (level === undefined) this.#levels.set(depth, (level = new PageSet(this.#meta.lastPage)));
    level.add(page);
    this.#known++;
    return undefined;
  }

  /** Reads up to `maxPages` of the pages from `from` on in the order of the file. @param problemOf is given a page and its place in `#piece` */
  #readAll(
    pages: PageSet,
    from: number,
    maxPages: number,
    problemOf: (page: number, at: number) => string | undefined,
  ): string | undefined {
    const { pageSize } = this.#meta;
    const piecePages = Math.floor(this.#piece.length / pageSize);
    let left = maxPages;
    for (let first = pages.next(from); first !== undefined && left > 0; ) {
      let last = first;
      let wanted = 1;
      let next = pages.next(last + 1);
      while (next !== undefined && wanted < left && next - first < piecePages && next - last <= MAX_GAP_PAGES) {
        last = next;
        wanted++;
        next = pages.next(last + 1);
      }
      const size = this.#read(first * pageSize, (last - first + 1) * pageSize);
      for (let page: number | undefined = first; page !== undefined && page <= last; page = pages.next(page + 1)) {
        const at = (page - first) * pageSize;
        const problem = at + pageSize > size ? "cannot be read" : problemOf(page, at);
        if (problem !== undefined) return `page ${page} of data.mdb ${problem}`;
      }
      left -= wanted;
      first = next;
      if (this.#reading !== undefined) this.#reading.from = next ?? this.#meta.lastPage + 1;
      this.#onProgress(this.#done, this.#known, () => this.#position());
    }
    return undefined;
  }

  /** @returns the number of bytes read */
  #read(from: number, size: number): number {
    let done = 0;
    while (done < size) {
      const read = readSync(this.#descriptor, this.#piece, done, size - done, from + done);
      if (read === 0) break;
      done += read;
    }
    return done;
  }

  #numberAt(at: number): number {
    return this.#piece.readUInt32LE(at) + this.#piece.readUInt32LE(at + 4) * 2 ** 32;
  }

  #pageProblem(page: number, depth: number, start: number, isMain: boolean): string | undefined {
    const halves = this.#halves;
    const { pageSize } = this.#meta;
    const first = start >> 1;
    const kind = halves[first + (FLAGS_AT >> 1)]! & KIND_MASK;
    if (this.#numberAt(start) !== page || kind !== (depth > 1 ? BRANCH_PAGE : LEAF_PAGE)) return "is no page of its tree";
    const lower = halves[first + (LOWER_AT >> 1)]! + HEADER_SIZE;
    const upper = halves[first + (UPPER_AT >> 1)]! + HEADER_SIZE;
    if ((lower & 1) !== 0 || lower <= HEADER_SIZE || lower > upper || upper > pageSize) return "has a damaged header";
    for (let at = HEADER_SIZE; at < lower; at += 2) {
      const node = halves[(start + at) >> 1]! + HEADER_SIZE;
      if ((node & 1) !== 0 || node < upper || node + NODE_SIZE > pageSize) return "has a row outside of the page";
      const half = (start + node) >> 1;
      const low = halves[half]! + halves[half + 1]! * 0x1_0000;
      const flags = halves[half + 2]!;
      const value = node + NODE_SIZE + halves[half + 3]!;
      if (depth > 1) {
        if (value > pageSize) return "has a row outside of the page";
        const problem = this.#add(low + flags * 2 ** 32, depth - 1);
        if (problem !== undefined) return problem;
        continue;
      }
      const isLong = (flags & LONG_VALUE) !== 0;
      if (value + (isLong ? LONG_VALUE_SIZE : low) > pageSize) return "has a row outside of the page";
      if (!isLong && !(isMain && (flags & TABLE) !== 0)) continue;
      const problem = isLong ? this.#addLongValue(start + value, low) : this.#addTable(start + value, low);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #addTable(at: number, size: number): string | undefined {
    return size === TREE_SIZE ? this.#addTree(this.#piece, at) : "has a damaged table";
  }

  #addLongValue(at: number, size: number): string | undefined {
    const { pageSize, lastPage } = this.#meta;
    const page = this.#numberAt(at);
    const pages = this.#numberAt(at + 16);
    const needed = Math.floor((HEADER_SIZE - 1 + size) / pageSize) + 1;
    if (page < 2 || pages < needed || page + pages - 1 > lastPage) return "has a long value outside of the file";
    if (this.#longValues.has(page)) return `has a long value at page ${page}, which is another one`;
    this.#longValues.add(page);
    return undefined;
  }

  #longValueProblem(page: number, at: number): string | undefined {
    const isLong = (this.#piece.readUInt16LE(at + FLAGS_AT) & KIND_MASK) === LONG_VALUE_PAGE;
    return this.#numberAt(at) === page && isLong ? undefined : "is not the long value that belongs there";
  }
}
