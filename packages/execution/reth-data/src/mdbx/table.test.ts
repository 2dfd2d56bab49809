import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, compareBytes, uint64ToBytes } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { damaged, RethDataError } from "../errors.ts";
import { u16, u32, u64 } from "../files/little-endian.ts";
import { type MdbxTable, MdbxWriter } from "../testing/index.ts";
import { PageFlag } from "./page.ts";
import { PageFile } from "./page-file.ts";
import { Table } from "./table.ts";

function open(bytes: Uint8Array): PageFile {
  const path = join(mkdtempSync(join(tmpdir(), "rnode-mdbx-")), "mdbx.dat");
  writeFileSync(path, bytes);
  const file = new PageFile(path);
  onTestFinished(() => file.close());
  return file;
}

const rowsOf = (table: Table): string[] =>
  [...table.batches()].flatMap((rows) => rows.map(({ key, value }) => `${bytesToHex(key)} ${bytesToHex(value)}`));

const sortedRows = ({ rows }: MdbxTable): string[] =>
  [...rows]
    .sort(([a, x], [b, y]) => compareBytes(a, b) || compareBytes(x, y))
    .map(([key, value]) => `${bytesToHex(key)} ${bytesToHex(value)}`);

function randomBytes(seed: number): (size: number) => Uint8Array {
  const random = createRandom(seed);
  return (size) => Uint8Array.from({ length: size }, () => random(256));
}

const PAGE_SIZES = [256, 512, 1024, 4096, 16_384, 65_536];

describe("tables of libmdbx", () => {
  it.each(PAGE_SIZES)("with pages of %i bytes: values, duplicates in nodes and trees, in order and by key", (pageBytes) => {
    const bytes = randomBytes(pageBytes);
    const plain: MdbxTable = { rows: Array.from({ length: 3000 }, (_, i) => [bytes(8), bytes(i % 30)] as const) };
    // keys with 1, 2, 4 … 2048 values
    const duplicates = (size: (i: number) => number) =>
      Array.from({ length: 12 }, () => bytes(8)).flatMap((key, power) =>
        Array.from({ length: 2 ** power }, (_, i) => [key, bytes(size(i))] as const),
      );
    const any: MdbxTable = { rows: duplicates((i) => 10 + (i % 20)), duplicates: "any" };
    const fixed: MdbxTable = { rows: duplicates(() => 12), duplicates: "fixed" };
    const file = open(MdbxWriter.write({ plain, any, fixed, none: { rows: [] } }, pageBytes));
    expect(file.meta.pageBytes).toBe(pageBytes);
    for (const [name, table] of Object.entries({ plain, any, fixed })) {
      const found = Table.named(file, name)!;
      expect(found.rowCount).toBe(table.rows.length);
      expect(rowsOf(found)).toEqual(sortedRows(table));
    }
    expect(rowsOf(Table.named(file, "none")!)).toEqual([]);
    expect(Table.named(file, "none")!.get(bytes(8))).toBeUndefined();
    expect(Table.named(file, "other")).toBeUndefined();
    const found = Table.named(file, "plain")!;
    for (const [key, value] of plain.rows) expect(bytesToHex(found.get(key)!)).toBe(bytesToHex(value));
    for (let i = 0; i < 300; i++) expect(found.get(bytes(9))).toBeUndefined();
  });

  it("large values by key", () => {
    const bytes = randomBytes(1);
    const sizes = [0, 1, 1024, 1025, 4076, 4077, 30_000, 1_000_000];
    const rows = sizes.map((size, i) => [uint64ToBytes(i), bytes(size)] as const);
    const table = Table.named(open(MdbxWriter.write({ t: { rows } })), "t")!;
    for (const [key, value] of rows) expect(Buffer.compare(table.get(key)!, value)).toBe(0);
  });

  it("of the newest commit whose meta page is whole", () => {
    const bytes = MdbxWriter.write({ t: { rows: [] } });
    expect(open(bytes).meta.txnid).toBe(7);
    bytes[28]! ^= 1; // one of the two transaction numbers
    expect(open(bytes).meta.txnid).toBe(6);
    bytes[4096 + 188] = 1; // not flushed
    expect(open(bytes).meta.txnid).toBe(5);
    bytes[2 * 4096 + 20]! ^= 0x80;
    expect(() => open(bytes)).toThrow(/mdbx\.dat is damaged at its meta pages: none of the three has a flushed commit$/);
  });
});

describe("hostile files of libmdbx", () => {
  const PAGE = 256;
  const rows = Array.from({ length: 400 }, (_, i) => [uint64ToBytes(i), new Uint8Array(8)] as const);
  const duplicates = [1, 2].flatMap((key) => rows.map(([value]) => [uint64ToBytes(key), value] as const));
  const sound = MdbxWriter.write({ plain: { rows }, dup: { rows: duplicates, duplicates: "any" } }, PAGE);
  const pageCount = sound.length / PAGE;
  const flagsOf = (page: number): number => u16(sound, page * PAGE + 10);
  const branches = Array.from({ length: pageCount }, (_, page) => page).filter((page) => flagsOf(page) === PageFlag.branch);

  /** Reads everything of a file with changed numbers of four bytes, by offset. */
  function readEdited(edits: readonly (readonly [offset: number, value: number])[]): void {
    const bytes = sound.slice();
    for (const [offset, value] of edits) new DataView(bytes.buffer).setUint32(offset, value, true);
    const file = open(bytes);
    for (const name of ["plain", "dup"]) rowsOf(Table.named(file, name)!);
    for (const [key] of rows) Table.named(file, "plain")!.get(key);
  }

  /** Where the record of a table is. */
  const recordAt = (name: string): number => Buffer.from(sound).indexOf(name) + name.length;
  /** Where a branch has the numbers of its children. */
  const childrenAt = (page: number): number[] => {
    const start = page * PAGE + 20;
    return Array.from({ length: u16(sound, page * PAGE + 12) / 2 }, (_, i) => start + u16(sound, start + 2 * i));
  };

  it("are compared with a sound one", () => {
    readEdited([]);
    expect(branches.length).toBeGreaterThan(10);
  });

  it("with a branch that has itself, a branch above it, or a page of another table as a child", () => {
    for (const page of branches) {
      for (const child of [page, branches.at(-1)!, branches[0]!]) {
        for (const at of [childrenAt(page)[0]!, childrenAt(page).at(-1)!]) {
          if (u32(sound, at) !== child) expect(() => readEdited([[at, child]]), `page ${page}`).toThrow(/damaged at/);
        }
      }
    }
  });

  it("with children behind the end, or among the meta pages", () => {
    for (const child of [0, 2, pageCount, 0xffff_ffff]) {
      expect(() => readEdited([[childrenAt(branches[0]!)[0]!, child]])).toThrow(/the page number is out of range$/);
    }
  });

  it("with a child that is met twice", () => {
    const [first, second] = childrenAt(branches[0]!);
    expect(() => readEdited([[second!, u32(sound, first!)]])).toThrow(/the keys do not ascend$/);
  });

  it("with heights and row counts that are not so", () => {
    const record = recordAt("plain");
    for (const height of [0, 1, 2, 4, 33, 0xffff]) {
      expect(() => readEdited([[record, height * 2 ** 16]]), `height ${height}`).toThrow(/damaged at/);
    }
    for (const items of [0, 399, 401, 0xffff_ffff]) {
      expect(() => readEdited([[record + 32, items]]), `${items} rows`).toThrow(/damaged at/);
    }
    expect(() => readEdited([[record, 0x03 * 2 ** 16 + 0x08]])).toThrow(/a table with flags 8, which op-reth does not use$/);
  });

  it("with many keys that share one tree of values", () => {
    // key 0 has 400 values, the other 59 have 40
    const values = (key: number) => rows.slice(0, key === 0 ? 400 : 40).map(([value]) => [uint64ToBytes(key), value] as const);
    const all = Array.from({ length: 60 }, (_, key) => values(key)).flat();
    const bytes = MdbxWriter.write({ dup: { rows: all, duplicates: "any" } }, PAGE);
    expect(rowsOf(Table.named(open(bytes), "dup")!).length).toBe(all.length);
    const offsetsOf = (items: number): number[] =>
      Array.from({ length: (bytes.length - 48) / 2 }, (_, i) => 2 * i).filter(
        (at) =>
          u16(bytes, at) === 0 &&
          u16(bytes, at + 2) > 0 &&
          u16(bytes, at + 2) < 5 &&
          u64(bytes, at + 32) === items &&
          u64(bytes, at + 40) === 0,
      );
    const [large] = offsetsOf(400);
    const small = offsetsOf(40);
    expect([large === undefined, small.length]).toEqual([false, 59]);
    for (const at of small) bytes.copyWithin(at, large!, large! + 48);
    expect(() => rowsOf(Table.named(open(bytes), "dup")!)).toThrow(/trees share pages$/);
  });

  it("with numbers and pages in random places: an error, or rows", { tags: "long" }, () => {
    const random = createRandom(3);
    const INTERESTING = [0, 1, 2, 3, 4, 6, 19, 20, 0x42, 0x62, 0xff, 0x100, 0xfffe, 0xffff];
    const path = join(mkdtempSync(join(tmpdir(), "rnode-mdbx-")), "mdbx.dat");
    const outcomes = { damaged: 0, rows: 0 };
    for (let i = 0; i < 300; i++) {
      const bytes = sound.slice();
      const view = new DataView(bytes.buffer);
      for (let edits = 1 + random(3); edits > 0; edits--) {
        const page = 3 + random(pageCount - 3);
        if (random(4) === 0) {
          // another page, which says that it is this one
          const from = 3 + random(pageCount - 3);
          bytes.copyWithin(page * PAGE, from * PAGE, (from + 1) * PAGE);
          view.setUint32(page * PAGE + 16, page, true);
        } else view.setUint16(page * PAGE + 2 * random(PAGE / 2), INTERESTING[random(INTERESTING.length)]!, true);
      }
      writeFileSync(path, bytes);
      const file = new PageFile(path);
      try {
        for (const name of ["plain", "dup"]) {
          const table = Table.named(file, name);
          if (table === undefined) throw damaged(path, "its tables", "the name was edited");
          expect(rowsOf(table).length).toBe(table.rowCount);
          if (name === "plain") for (const [key] of rows) table.get(key);
        }
        outcomes.rows++;
      } catch (error) {
        if (!(error instanceof RethDataError)) throw error;
        expect(error.code).toBe("reth-data/damaged");
        outcomes.damaged++;
      } finally {
        file.close();
      }
    }
    expect(outcomes.damaged).toBeGreaterThan(100);
    expect(outcomes.rows).toBeGreaterThan(10);
  });

  it("with a value larger than the file, or than any code", () => {
    const bytes = MdbxWriter.write({ t: { rows: [[Buffer.from("key"), new Uint8Array(100_000).fill(7)]] } });
    const sizeAt = Buffer.from(bytes).indexOf("key") - 8;
    const view = new DataView(bytes.buffer);
    expect(view.getUint32(sizeAt, true)).toBe(100_000);
    for (const [size, message] of [
      [0xffff_ffff, /a value of 4294967295 bytes$/],
      [4 << 20, /the page number is out of range$/],
      [100_001 + 4096, /the page number is out of range$|on 25 pages$/],
    ] as const) {
      view.setUint32(sizeAt, size, true);
      expect(() => Table.named(open(bytes), "t")!.get(Buffer.from("key"))).toThrow(message);
    }
  });

  it("that end before their last page", () => {
    for (const size of [sound.length - 1, 3 * PAGE, PAGE]) {
      expect(() => open(sound.subarray(0, size))).toThrow(/damaged at its end: it has \d+ bytes and should have at least/);
    }
    for (const size of [0, 1, PAGE - 60]) expect(() => open(sound.subarray(0, size))).toThrow(/none of the three/);
  });
});
