import { closeSync, openSync, readSync } from "node:fs";
import { type DataFileMeta, readCurrentMeta } from "./data-file.ts";

/*
 * LMDB trusts the pages of its file: a damaged page ends the process with a signal, and the next start as well. This check walks the
 * trees page by page without LMDB. Layout on 64-bit little-endian machines (lmdb 0.9.90 and later), numbers little-endian:
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
/** Offsets of the two trees in a meta page: free pages, and tables. */
const TREES_AT = [48, 96] as const;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;

interface Visit {
  readonly page: number;
  /** 1: a leaf */
  readonly depth: number;
  readonly isMain: boolean;
}

/**
 * Looks for damaged pages, at most `maxPages`, starting with those near the roots.
 *
 * @returns what is wrong with a page, in words; undefined: nothing was found, or the file changed meanwhile
 */
export function findDamagedPage(file: string, maxPages: number): string | undefined {
  const descriptor = openSync(file, "r");
  try {
    const meta = readCurrentMeta(descriptor);
    if (meta === undefined) return undefined;
    const problem = new PageCheck(descriptor, meta).run(maxPages);
    // A concurrent writer reuses pages of the tree before last, so a problem counts only if it is in the last one.
    return readCurrentMeta(descriptor)?.transaction === meta.transaction ? problem : undefined;
  } finally {
    closeSync(descriptor);
  }
}

class PageCheck {
  readonly #descriptor: number;
  readonly #meta: DataFileMeta;
  readonly #seen: Uint8Array;
  readonly #page: Buffer;
  /** pages above leaves come first, because they are few and lead to all others */
  readonly #branches: Visit[] = [];
  readonly #leaves: Visit[] = [];

  constructor(descriptor: number, meta: DataFileMeta) {
    this.#descriptor = descriptor;
    this.#meta = meta;
    this.#seen = new Uint8Array((meta.lastPage >> 3) + 1);
    this.#page = Buffer.alloc(meta.pageSize);
  }

  run(maxPages: number): string | undefined {
    for (const at of TREES_AT) {
      const problem = this.#addTree(this.#meta.page.subarray(at, at + TREE_SIZE), at === TREES_AT[1]);
      if (problem !== undefined) return problem;
    }
    for (let left = maxPages; left > 0; left--) {
      const visit = this.#branches.pop() ?? this.#leaves.pop();
      if (visit === undefined) return undefined;
      const problem = this.#visit(visit);
      if (problem !== undefined) return `page ${visit.page} of data.mdb ${problem}`;
    }
    return undefined;
  }

  #addTree(tree: Buffer, isMain: boolean): string | undefined {
    const root = tree.readBigUInt64LE(ROOT_AT);
    return root === NO_ROOT ? undefined : this.#add(Number(root), tree.readUInt16LE(DEPTH_AT), isMain);
  }

  #add(page: number, depth: number, isMain: boolean): string | undefined {
    if (page < 2 || page > this.#meta.lastPage) return `refers to page ${page} of ${this.#meta.lastPage}`;
    if (depth < 1) return "is deeper than its tree";
    if ((this.#seen[page >> 3]! & (1 << (page & 7))) !== 0) return `refers to page ${page}, which belongs elsewhere`;
    this.#seen[page >> 3]! |= 1 << (page & 7);
    (depth > 1 ? this.#branches : this.#leaves).push({ page, depth, isMain });
    return undefined;
  }

  #read(page: number, size: number): boolean {
    return readSync(this.#descriptor, this.#page, 0, size, page * this.#meta.pageSize) === size;
  }

  #visit({ page, depth, isMain }: Visit): string | undefined {
    const bytes = this.#page;
    const { pageSize } = this.#meta;
    if (!this.#read(page, pageSize)) return "cannot be read";
    const kind = bytes.readUInt16LE(FLAGS_AT) & KIND_MASK;
    if (Number(bytes.readBigUInt64LE(0)) !== page || kind !== (depth > 1 ? BRANCH_PAGE : LEAF_PAGE))
      return "is no page of its tree";
    const lower = bytes.readUInt16LE(LOWER_AT) + HEADER_SIZE;
    const upper = bytes.readUInt16LE(UPPER_AT) + HEADER_SIZE;
    if ((lower & 1) !== 0 || lower <= HEADER_SIZE || lower > upper || upper > pageSize) return "has a damaged header";
    const longValues: { page: number; pages: number; size: number }[] = [];
    for (let at = HEADER_SIZE; at < lower; at += 2) {
      const node = bytes.readUInt16LE(at) + HEADER_SIZE;
      if (node < upper || node + NODE_SIZE > pageSize) return "has a row outside of the page";
      const flags = bytes.readUInt16LE(node + 4);
      const low = bytes.readUInt32LE(node);
      const value = node + NODE_SIZE + bytes.readUInt16LE(node + 6);
      if (depth > 1) {
        if (value > pageSize) return "has a row outside of the page";
        const problem = this.#add(low + flags * 2 ** 32, depth - 1, isMain);
        if (problem !== undefined) return problem;
        continue;
      }
      const isLong = (flags & LONG_VALUE) !== 0;
      if (value + (isLong ? LONG_VALUE_SIZE : low) > pageSize) return "has a row outside of the page";
      if (isLong) {
        longValues.push({
          page: Number(bytes.readBigUInt64LE(value)),
          pages: Number(bytes.readBigUInt64LE(value + 16)),
          size: low,
        });
      } else if (isMain && (flags & TABLE) !== 0) {
        if (low !== TREE_SIZE) return "has a damaged table";
        const problem = this.#addTree(bytes.subarray(value, value + TREE_SIZE), false);
        if (problem !== undefined) return problem;
      }
    }
    return this.#checkLongValues(longValues);
  }

  #checkLongValues(
    values: readonly { readonly page: number; readonly pages: number; readonly size: number }[],
  ): string | undefined {
    const { pageSize, lastPage } = this.#meta;
    for (const { page, pages, size } of values) {
      const needed = Math.floor((HEADER_SIZE - 1 + size) / pageSize) + 1;
      if (page < 2 || pages < needed || page + pages - 1 > lastPage) return "has a long value outside of the file";
      if (!this.#read(page, HEADER_SIZE)) return `has a long value at page ${page}, which cannot be read`;
      const isLong = (this.#page.readUInt16LE(FLAGS_AT) & KIND_MASK) === LONG_VALUE_PAGE;
      if (Number(this.#page.readBigUInt64LE(0)) !== page || !isLong)
        return `has a long value at page ${page}, which is another one`;
    }
    return undefined;
  }
}
