import { closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { createRandom, type Random } from "@rnode/primitives/testing";
import { hashHeader } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { RethDataError } from "./errors.ts";
import { ReadFile } from "./files/read-file.ts";
import { PageFile } from "./mdbx/page-file.ts";
import { openRethData } from "./open-reth-data.ts";
import { hasOpRethFixtures, type OpRethFixture, unpackOpReth } from "./testing/index.ts";

type Part = "state" | "headers";

interface Content {
  /** text of each row */
  readonly rows: readonly string[];
  readonly codes: readonly (Hex | undefined)[];
  readonly headers: readonly Hex[];
}

const HEADERS = "static_files/static_file_headers_0_499999";
const DATABASE = "db/mdbx.dat";
/** The headers are the same in all fixtures. */
const CASES: readonly (readonly [name: OpRethFixture, file: string])[] = [
  ["v1", DATABASE],
  ["v2", DATABASE],
  ["v2", "db/database.version"],
  ["v2", HEADERS],
  ["v2", `${HEADERS}.off`],
  ["v2", `${HEADERS}.conf`],
];
/** cuts of each file in the long test, and three times as many flipped bits; another number and another seed by hand */
const PLACES = Number(process.env.RNODE_DAMAGE_PLACES ?? 40);
const PAGE_BYTES = 4096;
/** One read, and a sound walk several thousand of them. */
const MAX_READ_BYTES = 4 << 20;
const MAX_READS = 20_000;

describe.skipIf(!hasOpRethFixtures("damaged data directories of op-reth"))("damaged data directories", () => {
  let reads = 0;
  const count = (size: number): void => {
    if (size > MAX_READ_BYTES) throw new Error(`a read of ${size} bytes`);
    if (++reads > MAX_READS) throw new Error("a walk without end");
  };
  /** What a data directory has of one part. */
  function contentOf(folder: string, part: Part, codeHashes: readonly Hex[]): Content | RethDataError {
    reads = 0;
    try {
      const data = openRethData(folder);
      try {
        if (part === "headers") {
          const numbers = Array.from({ length: data.head.number + 1 }, (_, number) => number);
          return { rows: [], codes: [], headers: numbers.map((number) => bytesToHex(hashHeader(data.header(number)))) };
        }
        const rows: string[] = [];
        const add = (...parts: readonly (Uint8Array | bigint)[]): unknown =>
          rows.push(parts.map((value) => (typeof value === "bigint" ? value : bytesToHex(value))).join(" "));
        for (const row of data.accounts()) add(row.addressHash, row.nonce, row.balance, row.codeHash);
        for (const row of data.slots()) add(row.addressHash, row.slotHash, row.value);
        const codes = codeHashes.map((hash) => data.code(hexToBytes(hash))).map((code) => code && bytesToHex(code));
        return { rows, codes, headers: [bytesToHex(data.head.hash)] };
      } finally {
        data.close();
      }
    } catch (error) {
      if (error instanceof RethDataError && error.message.length < 500) return error;
      throw error;
    }
  }

  interface Sound {
    readonly folder: string;
    readonly codeHashes: readonly Hex[];
    readonly content: Readonly<Record<Part, Content>>;
    /** pages that are read */
    readonly pages: readonly number[];
  }
  const sound = new Map<OpRethFixture, Sound>();

  beforeAll(async () => {
    const read = Reflect.get(ReadFile.prototype, "read") as (this: ReadFile, offset: number, size: number) => Uint8Array;
    vi.spyOn(ReadFile.prototype, "read").mockImplementation(function (this: ReadFile, offset, size) {
      count(size);
      return read.call(this, offset, size);
    });
    for (const name of ["v1", "v2"] as const) {
      const folder = await unpackOpReth(name);
      const codeHashes = codeHashesIn(folder);
      const pages = vi.spyOn(PageFile.prototype, "page");
      const content = { state: soundContent(folder, "state", codeHashes), headers: soundContent(folder, "headers", codeHashes) };
      sound.set(name, { folder, codeHashes, content, pages: [...new Set(pages.mock.calls.map(([number]) => number)), 0, 1, 2] });
      pages.mockRestore();
    }
  });

  afterAll(() => {
    vi.restoreAllMocks();
  });

  function soundContent(folder: string, part: Part, codeHashes: readonly Hex[]): Content {
    const content = contentOf(folder, part, codeHashes);
    if (content instanceof RethDataError) throw content;
    return content;
  }

  function codeHashesIn(folder: string): Hex[] {
    const data = openRethData(folder);
    const hashes = new Set(Array.from(data.accounts(), ({ codeHash }) => bytesToHex(codeHash)));
    data.close();
    return [...hashes];
  }

  /**
   * MDBX has no checksums, so a bit of a key or a value may differ unseen, in the rows of one key; the state root finds it. Nothing else may:
   * no row is missing or new, and headers and codes are right.
   */
  function check(at: Sound, file: string, damage: string): "refused" | "same" | "another value" {
    const what = `${file} ${damage}`;
    const part: Part = file.startsWith("db/") ? "state" : "headers";
    const content = at.content[part];
    const found = contentOf(at.folder, part, at.codeHashes);
    if (found instanceof RethDataError) {
      expect(found.code, what).toMatch(/^reth-data\/(damaged|unknown-version|stopped-midway|no-header|not-a-data-directory)$/);
      return "refused";
    }
    expect(found.headers, what).toEqual(content.headers);
    expect(found.rows.length, what).toBe(content.rows.length);
    const differing = found.rows.filter((row, index) => row !== content.rows[index]);
    expect(new Set(differing.map((row) => row.split(" ")[0])).size, `${what}: ${differing.join()}`).toBeLessThanOrEqual(1);
    const codes = found.codes.filter((code, index) => code !== undefined && code !== content.codes[index]);
    expect(codes, what).toEqual([]);
    return differing.length === 0 && !found.codes.includes(undefined) ? "same" : "another value";
  }

  function cutFile(at: Sound, name: string, random: Random, times: number): void {
    const path = join(at.folder, name);
    const bytes = readFileSync(path);
    for (let i = 0; i < times; i++) {
      const size = random(bytes.length);
      truncateSync(path, size);
      try {
        check(at, name, `cut to ${size} bytes`);
      } finally {
        writeFileSync(path, bytes);
      }
    }
  }

  function flipBits(at: Sound, name: string, random: Random, times: number): void {
    const path = join(at.folder, name);
    const bytes = readFileSync(path);
    const outcomes = { refused: 0, same: 0, "another value": 0 };
    for (let i = 0; i < times; i++) {
      // of the database mostly what is read, and there mostly the headers and tables of nodes
      const page = at.pages[random(at.pages.length)]!;
      const inPage = random(random(2) === 0 ? 220 : PAGE_BYTES);
      const offset = name === DATABASE ? page * PAGE_BYTES + inPage : random(bytes.length);
      const bit = random(8);
      writeByte(path, offset, bytes[offset]! ^ (1 << bit));
      try {
        outcomes[check(at, name, `with bit ${bit} of byte ${offset} flipped`)]++;
      } finally {
        writeByte(path, offset, bytes[offset]!);
      }
    }
    if (times >= 100) expect(outcomes.refused).toBeGreaterThan(times / 10);
  }

  function writeByte(path: string, offset: number, byte: number): void {
    const file = openSync(path, "r+");
    writeSync(file, Uint8Array.of(byte), 0, 1, offset);
    closeSync(file);
  }

  it.each(CASES)("%s: %s cut and flipped at some places", (name, file) => {
    const random = createRandom(1);
    cutFile(sound.get(name)!, file, random, 4);
    flipBits(sound.get(name)!, file, random, 12);
  });

  it.each(CASES)("%s: %s cut and flipped in many places", { tags: "long", timeout: 600_000 }, (name, file) => {
    const random = createRandom(Number(process.env.RNODE_DAMAGE_SEED ?? 2));
    cutFile(sound.get(name)!, file, random, PLACES);
    flipBits(sound.get(name)!, file, random, 3 * PLACES);
  });
});
