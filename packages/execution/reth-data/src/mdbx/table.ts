import { compareBytes } from "@rnode/primitives";
import { atPlace, damaged, Malformed, placed } from "../errors.ts";
import { Ascent } from "./ascent.ts";
import { DUPSORT, readTreeRecord, TREE_RECORD_BYTES, type TreeRecord } from "./meta.ts";
import { NodeKind, Page } from "./page.ts";
import type { PageFile } from "./page-file.ts";

/** Views of a page that is not used again. */
export interface Row {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** The pages that a walk may still read: more than the file has means that its trees share pages. */
interface Budget {
  pages: number;
}

interface Leaf {
  readonly page: Page;
  /** of its page */
  readonly number: number;
}

/** Rows by key in bytewise order. A table of duplicates has several values a key, in bytewise order too. */
export class Table {
  readonly #file: PageFile;
  readonly #tree: TreeRecord;

  private constructor(file: PageFile, tree: TreeRecord) {
    this.#file = file;
    this.#tree = tree;
  }

  /** A table by name; `undefined` if there is none. @throws {RethDataError} reth-data/damaged */
  static named(file: PageFile, name: string): Table | undefined {
    const { main, endPage } = file.meta;
    const tables = new Table(
      file,
      atPlace(file.path, "its newest meta page", () => readTreeRecord(main, 0, endPage)),
    );
    const found = tables.#find(new TextEncoder().encode(name));
    if (found === undefined) return undefined;
    const { page, number, index } = found;
    return atPlace(file.path, `page ${number}`, () => {
      if (page.nodeKind(index) !== NodeKind.table) throw new Malformed(`${name} is no table`);
      return new Table(file, tables.#treeOf(page, index));
    });
  }

  /** Each duplicate is a row. */
  get rowCount(): number {
    return this.#tree.items;
  }

  /** The value of a key; `undefined` if there is none. Not for duplicates. @throws {RethDataError} reth-data/damaged */
  get(key: Uint8Array): Uint8Array | undefined {
    const found = this.#find(key);
    if (found === undefined) return undefined;
    const { page, number, index } = found;
    return atPlace(this.#file.path, `page ${number}`, () => {
      if (page.nodeKind(index) !== NodeKind.largeValue) return shortValue(page, index);
      return this.#file.largeValue(page.largePage(index), page.dataBytes(index));
    });
  }

  /** All rows in order, at most a page at a time. Not for large values. @throws {RethDataError} reth-data/damaged */
  *batches(): Generator<readonly Row[], void, undefined> {
    const ascent = new Ascent();
    const budget = { pages: this.#file.meta.endPage };
    const hasDuplicates = (this.#tree.flags & DUPSORT) !== 0;
    let count = 0;
    for (const { page, number } of this.#leaves(this.#tree, ascent, budget)) {
      let rows: Row[] = [];
      try {
        for (let index = 0; index < page.count; index++) {
          const key = ascent.key(page.key(index));
          const kind = page.nodeKind(index);
          if (!hasDuplicates || kind === NodeKind.value) {
            rows.push({ key, value: shortValue(page, index) });
            continue;
          }
          if (kind === NodeKind.subPage) {
            for (const value of valuesOfSubPage(page, index)) rows.push({ key, value });
            continue;
          }
          count += rows.length;
          yield rows;
          rows = [];
          for (const values of this.#valuesOfTree(this.#subTree(page, index), budget)) {
            count += values.length;
            yield values.map((value) => ({ key, value }));
          }
        }
      } catch (cause) {
        throw placed(cause, this.#file.path, `page ${number}`);
      }
      count += rows.length;
      yield rows;
    }
    this.#checkCount(count, this.#tree);
  }

  /** The values of a key that has too many for a page. */
  *#valuesOfTree(tree: TreeRecord, budget: Budget): Generator<readonly Uint8Array[], void, undefined> {
    const ascent = new Ascent();
    let count = 0;
    for (const { page, number } of this.#leaves(tree, ascent, budget)) {
      yield atPlace(this.#file.path, `page ${number}`, () => ascendingKeys(page, ascent));
      count += page.count;
    }
    this.#checkCount(count, tree);
  }

  /** The leaves of a tree from left to right. @throws {RethDataError} reth-data/damaged */
  *#leaves(tree: TreeRecord, ascent: Ascent, budget: Budget): Generator<Leaf, void, undefined> {
    if (tree.height === 0) return;
    const path: { readonly page: Page; readonly number: number; next: number }[] = [];
    let number = tree.root;
    for (;;) {
      while (path.length < tree.height - 1) {
        const page = this.#branch(number);
        this.#spend(budget, number);
        path.push({ page, number, next: 1 });
        number = atPlace(this.#file.path, `page ${number}`, () => page.child(0));
      }
      this.#spend(budget, number);
      yield { page: this.#leaf(number), number };
      while (path.length > 0 && path.at(-1)!.next === path.at(-1)!.page.count) path.pop();
      const branch = path.at(-1);
      if (branch === undefined) return;
      number = atPlace(this.#file.path, `page ${branch.number}`, () => {
        ascent.separator(branch.page.key(branch.next));
        return branch.page.child(branch.next++);
      });
    }
  }

  /** The place of a key; `undefined` if there is none. @throws {RethDataError} reth-data/damaged */
  #find(key: Uint8Array): (Leaf & { readonly index: number }) | undefined {
    if (this.#tree.height === 0) return undefined;
    let number = this.#tree.root;
    let low: Uint8Array | undefined;
    let high: Uint8Array | undefined;
    for (let level = 1; level < this.#tree.height; level++) {
      const page = this.#branch(number, true);
      number = atPlace(this.#file.path, `page ${number}`, () => {
        // the last child whose separator is not above the key; the first child has none
        const index = firstIndex(1, page.count, (i) => compareBytes(page.key(i), key) > 0) - 1;
        if (index > 0) low = page.key(index);
        if (index + 1 < page.count) high = page.key(index + 1);
        return page.child(index);
      });
    }
    const page = this.#leaf(number);
    return atPlace(this.#file.path, `page ${number}`, () => {
      const isBelow = low !== undefined && compareBytes(page.key(0), low) < 0;
      if (isBelow || (high !== undefined && compareBytes(page.key(page.count - 1), high) >= 0)) {
        throw new Malformed("the keys are not those that the branch above has for this page");
      }
      const index = firstIndex(0, page.count, (i) => compareBytes(page.key(i), key) >= 0);
      return index < page.count && compareBytes(page.key(index), key) === 0 ? { page, number, index } : undefined;
    });
  }

  #branch(number: number, isKept = false): Page {
    const page = isKept ? this.#file.cachedPage(number) : this.#file.page(number);
    if (!page.isBranch) throw damaged(this.#file.path, `page ${number}`, "a leaf where the tree has branches");
    return page;
  }

  #leaf(number: number): Page {
    const page = this.#file.page(number);
    if (page.isBranch) throw damaged(this.#file.path, `page ${number}`, "a branch where the tree has leaves");
    return page;
  }

  #spend(budget: Budget, number: number): void {
    if (budget.pages-- === 0) throw damaged(this.#file.path, `page ${number}`, "trees share pages");
  }

  /** @throws {Malformed} */
  #subTree(page: Page, index: number): TreeRecord {
    if (page.nodeKind(index) !== NodeKind.subTree) throw new Malformed(`a node of kind ${page.nodeKind(index)}`);
    return this.#treeOf(page, index);
  }

  /** @throws {Malformed} */
  #treeOf(page: Page, index: number): TreeRecord {
    if (page.dataBytes(index) !== TREE_RECORD_BYTES) throw new Malformed(`a tree of ${page.dataBytes(index)} bytes`);
    return readTreeRecord(page.data(index, TREE_RECORD_BYTES), 0, this.#file.meta.endPage);
  }

  #checkCount(count: number, { root, items }: TreeRecord): void {
    if (count !== items) throw damaged(this.#file.path, `the tree with root ${root}`, `${count} rows are there of ${items}`);
  }
}

/** @throws {Malformed} */
function shortValue(page: Page, index: number): Uint8Array {
  if (page.nodeKind(index) !== NodeKind.value) throw new Malformed(`a node of kind ${page.nodeKind(index)}`);
  return page.data(index, page.dataBytes(index));
}

/** @throws {Malformed} */
const valuesOfSubPage = (page: Page, index: number): Uint8Array[] =>
  ascendingKeys(new Page(page.data(index, page.dataBytes(index)), "sub-page"), new Ascent());

/** @throws {Malformed} */
const ascendingKeys = (page: Page, ascent: Ascent): Uint8Array[] =>
  Array.from({ length: page.count }, (_, index) => ascent.key(page.key(index)));

/** The first index in a range of which a condition, once true, stays true; `end` if it never is. */
function firstIndex(start: number, end: number, isTrue: (index: number) => boolean): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
