import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, compareBytes } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { beforeEach, expect, it } from "vitest";
import { RowFile } from "./row-file.ts";
import { RowSort, type SortedRun } from "./row-sort.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-sort-"));
});

const ROW_BYTES = 40;
const KEY_BYTES = 23;

/** Rows of which many share long beginnings of their keys. */
function randomRows(count: number, seed: number): Uint8Array[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => {
    const row = new Uint8Array(ROW_BYTES);
    const sharedBytes = random(4) * 7;
    for (let i = 0; i < ROW_BYTES; i++) row[i] = i < sharedBytes ? 7 : random(256);
    return row;
  });
}

/** At least the number of rows sorted at once, so 5000 rows make five runs. */
it.each([0, 1, 2, 11, 13, 1023, 1024, 1025, 5000])(
  "%i rows come out in the order of their keys, as often as they are read",
  (count) => {
    const rows = randomRows(count, 1 + count);
    const sort = new RowSort({ rowBytes: ROW_BYTES, keyBytes: KEY_BYTES, folder, memoryBytes: 1 });
    for (const row of rows) sort.add().set(row);
    expect(sort.count).toBe(count);
    const expected = rows.toSorted(
      (a, b) => compareBytes(a.subarray(0, KEY_BYTES), b.subarray(0, KEY_BYTES)) || compareBytes(a, b),
    );
    for (let reading = 0; reading < 2; reading++) {
      const found = [...sort.sorted()].map((row) => bytesToHex(row));
      // The order of rows with the same key is open.
      expect(found.map((row) => row.slice(0, 2 + 2 * KEY_BYTES))).toEqual(
        expected.map((row) => bytesToHex(row.subarray(0, KEY_BYTES))),
      );
      expect(found.toSorted()).toEqual(expected.map((row) => bytesToHex(row)).toSorted());
    }
    expect(sort.count).toBe(count);
    expect(readdirSync(folder)).toEqual([]); // its file has no name, so a kill leaves nothing behind
    sort.close();
  },
);

it.each([1, 2, 3, 4])("kept runs are those of the next sort, and are read from any key on (seed %i)", (seed) => {
  const random = createRandom(seed);
  const rows = randomRows(4000, seed);
  const options = { rowBytes: ROW_BYTES, keyBytes: KEY_BYTES, folder, memoryBytes: 1 };
  const open = (runs: readonly SortedRun[]): RowSort => new RowSort({ ...options, kept: { name: "kept", runs } });
  let sort = open([]);
  for (let at = 0; at < rows.length; ) {
    const saved = at + 1 + random(900);
    for (; at < Math.min(saved, rows.length); at++) sort.add().set(rows[at]!);
    sort.spill();
    sort.sync();
    const { runs, count } = sort;
    for (let lost = 0; lost < random(3) * 800; lost++) sort.add().fill(lost); // some reach the file, and are cut off
    sort.close();
    sort = open(runs);
    expect([sort.count, sort.hasIntactRuns()]).toEqual([count, true]);
  }
  const keyOf = (row: Uint8Array): string => bytesToHex(row.subarray(0, KEY_BYTES));
  const keys = rows.map(keyOf).sort();
  expect([...sort.sorted()].map(keyOf)).toEqual(keys);
  for (const place of [0, 1, 1999, 3999]) {
    const after = rows.map((row) => row.subarray(0, KEY_BYTES)).toSorted(compareBytes)[place]!;
    expect([...sort.sorted(after)].map(keyOf)).toEqual(keys.filter((key) => key > bytesToHex(after)));
  }
  sort.close();
});

it("a kept run that has changed, or is missing, is found", () => {
  const options = { rowBytes: ROW_BYTES, keyBytes: KEY_BYTES, folder };
  const sort = new RowSort({ ...options, kept: { name: "kept", runs: [] } });
  for (const row of randomRows(3000, 1)) sort.add().set(row);
  sort.spill();
  const { runs } = sort;
  sort.close();
  const isIntact = (): boolean => {
    const next = new RowSort({ ...options, kept: { name: "kept", runs } });
    try {
      return next.hasIntactRuns();
    } finally {
      next.close();
    }
  };
  expect(isIntact()).toBe(true);
  const bytes = readFileSync(join(folder, "kept"));
  for (const changed of [bytes.with(70_000, bytes[70_000]! ^ 4), bytes.subarray(0, -1), bytes.subarray(0, 0)]) {
    writeFileSync(join(folder, "kept"), changed);
    expect(isIntact()).toBe(false);
  }
  rmSync(join(folder, "kept"));
  expect(isIntact()).toBe(false);
});

it("rows that are written to the file while they are read are read on, and again from there", () => {
  const sort = new RowSort({ rowBytes: ROW_BYTES, keyBytes: KEY_BYTES, folder });
  for (const row of randomRows(1000, 1)) sort.add().set(row);
  const readAll = (atHalf: () => void): string[] => {
    const found: string[] = [];
    for (const row of sort.sorted()) {
      found.push(bytesToHex(row));
      if (found.length === 500) atHalf();
    }
    return found;
  };
  const first = readAll(() => sort.spill());
  expect(sort.runs).toHaveLength(1);
  expect(readAll(() => {})).toEqual(first);
  expect(first).toHaveLength(1000);
  sort.close();
});

it("rows that the file has no room for stay in memory", () => {
  const sort = new RowSort({ rowBytes: ROW_BYTES, keyBytes: KEY_BYTES, folder, kept: { name: "kept", runs: [] } });
  for (const row of randomRows(1000, 1)) sort.add().set(row);
  mkdirSync(join(folder, "kept")); // cannot be written, like a full disk
  expect(() => sort.spill()).toThrow("cannot be read or written");
  expect([sort.count, sort.runs.length, [...sort.sorted()].length]).toEqual([1000, 0, 1000]);
  rmSync(join(folder, "kept"), { recursive: true });
  sort.spill();
  expect([sort.count, sort.runs.length, [...sort.sorted()].length]).toEqual([1000, 1, 1000]);
  sort.close();
});

it("a row is zero where nothing is written, also in memory that was used before", () => {
  const sort = new RowSort({ rowBytes: ROW_BYTES, keyBytes: 2, folder, memoryBytes: 1 });
  for (let i = 0; i < 3000; i++) {
    const row = sort.add();
    expect(row.every((byte) => byte === 0)).toBe(true);
    row[0] = i >> 8;
    row[1] = i;
    if (i < 2000) row.fill(0xff, 2);
  }
  let at = 0;
  for (const row of sort.sorted()) expect(row[2]).toBe(at++ < 2000 ? 0xff : 0);
  sort.close();
});

it("a temporary file has what was appended, in pieces of any size", () => {
  const file = new RowFile(folder);
  const pieces = [3, 0, 1 << 20, 5, (1 << 20) + 7, (3 << 20) + 1, 9].map((size, i) => new Uint8Array(size).fill(i + 1));
  for (const piece of pieces) file.append(piece);
  file.flush();
  const all = Buffer.concat(pieces);
  expect(file.sizeBytes).toBe(all.length);
  const read = new Uint8Array(all.length + 10);
  expect(file.read(read, 0)).toBe(all.length);
  expect(Buffer.compare(read.subarray(0, all.length), all)).toBe(0);
  const part = new Uint8Array(100);
  expect(file.read(part, 1 << 20)).toBe(100);
  expect(Buffer.compare(part, all.subarray(1 << 20, (1 << 20) + 100))).toBe(0);
  file.close();
  expect(() => file.read(part, 0)).toThrow("the file is closed");
});
