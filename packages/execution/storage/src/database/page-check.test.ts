import { closeSync, copyFileSync, mkdirSync, mkdtempSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isCodedError, keccak256 } from "@rnode/primitives";
import { beforeAll, describe, expect, it } from "vitest";
import { openChainStore } from "../lmdb-chain-store.ts";
import { RandomChain } from "../testing/random-chain.ts";
import { findDamagedPage, type PageCheckPosition } from "./page-check.ts";

const PAGE_BYTES = 4096;
const META_PAGES = 2;
/** The new content of a page, for each kind of damage. */
const damage: Readonly<Record<string, (page: number) => Uint8Array>> = {
  zeros: () => new Uint8Array(PAGE_BYTES),
  ones: () => new Uint8Array(PAGE_BYTES).fill(0xff),
  noise: (page) => Buffer.concat(Array.from({ length: PAGE_BYTES / 32 }, (_, i) => keccak256(Uint8Array.of(page, page >> 8, i)))),
};

let folder: string;
let pages: number;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rnode-pages-"));
  const store = openChainStore(join(folder, "good"), { sync: "interval" });
  new RandomChain(store, 1).run(40);
  // Long values, and a table of more than one page.
  store.writeMeta("long", new Uint8Array(20_000).fill(1));
  for (let i = 0; i < 100; i++) store.writeMeta(`value ${i}`, new Uint8Array(300).fill(i));
  await store.close();
  pages = statSync(join(folder, "good/data.mdb")).size / PAGE_BYTES;
});

function damaged(page: number, kind: string, at = 0, size = PAGE_BYTES): string {
  const copy = join(folder, "bad");
  mkdirSync(copy, { recursive: true });
  copyFileSync(join(folder, "good/data.mdb"), join(copy, "data.mdb"));
  const descriptor = openSync(join(copy, "data.mdb"), "r+");
  writeSync(descriptor, damage[kind]!(page), 0, size, page * PAGE_BYTES + at);
  closeSync(descriptor);
  return copy;
}

/** Reads everything; any problem must be an error with a code. */
async function outcome(path: string): Promise<string> {
  try {
    const store = openChainStore(path);
    try {
      return store.verifyState().problems.length === 0 ? "right" : "wrong";
    } finally {
      await store.close();
    }
  } catch (error) {
    if (isCodedError(error)) return `${error.code} ${String(error.data.folder ?? "")}`;
    throw error;
  }
}

describe("a damaged page", () => {
  it.each(Object.keys(damage))(
    "wherever it is: an error that names the folder, or a page that nobody needs (%s)",
    { tags: "long" },
    async (kind) => {
      const outcomes = new Map<string, number>();
      for (let page = META_PAGES; page < pages; page++) {
        const found = await outcome(damaged(page, kind));
        outcomes.set(found, (outcomes.get(found) ?? 0) + 1);
      }
      const { right = 0, ...others } = Object.fromEntries(outcomes);
      // Bytes inside a long value are not structure.
      expect(Object.keys(others)).toEqual([`storage/corrupted ${join(folder, "bad")}`]);
      expect(Object.values(others)[0]).toBeGreaterThan(right);
    },
  );

  it("in part is found where the parts of a page do not fit together", { tags: "long" }, async () => {
    for (let page = META_PAGES; page < pages; page += 3) {
      for (const at of [18, 20, 24, 30]) await outcome(damaged(page, "noise", at, 4)); // no signal, no endless loop, no other error
    }
  });

  it("is looked for from the roots on, as far as is asked", () => {
    const file = join(folder, "good/data.mdb");
    expect(findDamagedPage(file, Number.POSITIVE_INFINITY)).toBeUndefined();
    const bytes = readFileSync(file);
    const { length } = Array.from({ length: pages }).filter((_, page) => {
      const path = join(damaged(page, "zeros"), "data.mdb");
      return page >= META_PAGES && findDamagedPage(path, 2) === undefined && findDamagedPage(path, pages) !== undefined;
    });
    expect(length).toBeGreaterThan(0);
    expect(bytes.equals(readFileSync(file))).toBe(true);
  });
});

describe("a check that goes on where an earlier one was", () => {
  /** Positions of a check, as a file would keep them, and the pages that were looked at. */
  function positionsOf(file: string): { readonly positions: PageCheckPosition[]; readonly done: number } {
    const positions: PageCheckPosition[] = [];
    let done = 0;
    findDamagedPage(file, Number.POSITIVE_INFINITY, (pages, _, position) => {
      done = pages;
      const found = position();
      if (found !== undefined) positions.push(structuredClone(found));
    });
    return { positions, done };
  }

  it("looks at the rest, and finds what is damaged there", () => {
    const good = join(folder, "good/data.mdb");
    const { positions, done } = positionsOf(good);
    expect(positions.length).toBeGreaterThan(5);
    const pageSetSize = (words: Uint32Array): number =>
      words.reduce((sum, word) => sum + word.toString(2).replaceAll("0", "").length, 0);
    let bad = 0;
    for (const position of positions) {
      let doneAgain = position.done;
      const { reading } = structuredClone(position);
      expect(
        findDamagedPage(good, Number.POSITIVE_INFINITY, (pages) => (doneAgain = pages), structuredClone(position)),
      ).toBeUndefined();
      expect(doneAgain).toBe(done);
      if (pageSetSize(reading.pages) === 0) continue;
      for (let page = reading.from; page < pages; page++) {
        if ((reading.pages[page >> 5]! & (1 << (page & 31))) === 0) continue;
        const path = join(damaged(page, "zeros"), "data.mdb");
        expect(findDamagedPage(path, Number.POSITIVE_INFINITY, () => {}, structuredClone(position))).toContain(`page ${page} `);
        bad++;
      }
    }
    expect(bad).toBeGreaterThan(0);
  });

  it("begins anew if the file has another last commit", async () => {
    const good = join(folder, "good/data.mdb");
    const { positions } = positionsOf(good);
    const copy = join(folder, "bad");
    mkdirSync(copy, { recursive: true });
    copyFileSync(good, join(copy, "data.mdb"));
    const store = openChainStore(copy);
    store.writeMeta("more", new Uint8Array(1));
    await store.close();
    const file = join(copy, "data.mdb");
    let first: number | undefined;
    findDamagedPage(file, Number.POSITIVE_INFINITY, (done) => (first ??= done), structuredClone(positions.at(-1)!));
    expect(first).toBeLessThan(positions[0]!.done);
  });
});
