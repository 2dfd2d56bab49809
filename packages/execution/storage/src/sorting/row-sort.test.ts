import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, compareBytes } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { beforeEach, expect, it } from "vitest";
import { RowFile } from "./row-file.ts";
import { RowSort } from "./row-sort.ts";

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
    expect(readdirSync(folder)).toEqual([]); // its file has no name, so a kill leaves nothing behind
    sort.close();
  },
);

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
