import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "@rnode/primitives/testing";
import { hasOpRethFixtures, type OpRethFixture, opRethArchive, readOpRethFixture, unpackOpReth } from "@rnode/reth-data/testing";
import { openChainStore } from "@rnode/storage";
import { beforeAll, describe, expect, it } from "vitest";
import { databasePath } from "../setup/database.ts";
import { describeError } from "../setup/describe-error.ts";
import { importState } from "./import-state.ts";

const HEAD = "0xde6a4d98176455dcfd177c5c6a27775bd6111922162da36aadabbba019d98e49";
const HEADERS = "static_files/static_file_headers_0_499999";
const FILES = ["db/mdbx.dat", "db/database.version", HEADERS, `${HEADERS}.off`, `${HEADERS}.conf`];
/** Flipped bytes of each file in the long test, and a fourth as many cuts; another number and another seed by hand */
const PLACES = Number(process.env.RNODE_DAMAGE_PLACES ?? 12);
const random = createRandom(Number(process.env.RNODE_DAMAGE_SEED ?? 1));
const root = mkdtempSync(join(tmpdir(), "rengine-import-damage-"));
const path = (name: string): string => join(root, name);
const datadir = path("data");

describe.skipIf(!hasOpRethFixtures("imports of damaged states of op-reth"))("rengine import-state of a damaged source", () => {
  beforeAll(async () => {
    for (const name of ["genesis.json", "blocks.rlp", "state-380.jsonl"]) {
      writeFileSync(path(name), await readOpRethFixture(`${name}.zst`));
    }
  });

  /** @returns whether it was imported; otherwise nothing may be left of it, and the reason is one line */
  async function attempt(from: string, what: string, blocks = path("blocks.rlp")): Promise<boolean> {
    rmSync(datadir, { recursive: true, force: true });
    const args = [`--chain=${path("genesis.json")}`, `--datadir=${datadir}`, `--from=${from}`, `--blocks=${blocks}`];
    const error = await importState(
      [...args, `--block-hash=${HEAD}`],
      {},
      { out: () => {}, err: () => {}, progress: () => {} },
    ).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    const left = existsSync(datadir) ? readdirSync(datadir) : [];
    expect(["chaindata", "genesis-file.json", "database.lock"], what).toEqual(expect.arrayContaining(left));
    if (error !== undefined) expect(describeError(error), what).toMatch(/^[^\n]{10,600}$/);
    if (!left.includes("chaindata")) {
      expect(error, what).toBeDefined();
      return false;
    }
    const store = openChainStore(databasePath(datadir));
    try {
      const rows = Object.entries(store.storageStats().tables).filter(([name, { entries }]) => name !== "meta" && entries > 0);
      if (error === undefined) expect(store.head(), what).toMatchObject({ number: 380, hash: HEAD });
      else expect({ head: store.head(), rows }, what).toEqual({ head: undefined, rows: [] });
    } finally {
      await store.close();
    }
    return error === undefined;
  }

  /** Cuts a file, and flips bits of it, at random places. @param attempts with the damaged file */
  async function damage(file: string, flips: number, attempts: (what: string) => Promise<boolean>): Promise<number> {
    const bytes = readFileSync(file);
    let refused = 0;
    const count = async (what: string): Promise<void> => {
      if (!(await attempts(`${file} ${what}`))) refused++;
    };
    for (let i = 0; i < flips / 4; i++) {
      const size = i === 0 ? 0 : random(bytes.length);
      truncateSync(file, size);
      await count(`cut to ${size} bytes`);
      writeFileSync(file, bytes);
    }
    for (let i = 0; i < flips; i++) {
      const [at, bit] = [random(bytes.length), random(8)];
      writeFileSync(file, withFlipped(bytes, at, bit));
      await count(`with bit ${bit} of byte ${at} flipped`);
    }
    writeFileSync(file, bytes);
    return refused;
  }

  async function directory(name: OpRethFixture, flips: number): Promise<void> {
    const folder = await unpackOpReth(name);
    const other = await unpackOpReth(name === "v1" ? "v2" : "v1");
    expect(await attempt(folder, "the sound directory")).toBe(true);
    for (const file of FILES) {
      const place = join(folder, file);
      expect(await damage(place, flips, (what) => attempt(folder, what)), file).toBeGreaterThan(0);
      const bytes = readFileSync(place);
      rmSync(place);
      expect(await attempt(folder, `${file} removed`), file).toBe(false);
      cpSync(join(other, file), place);
      await attempt(folder, `${file} of another directory`);
      writeFileSync(place, bytes);
    }
  }

  async function packedOrText(file: string, flips: number): Promise<void> {
    expect(await damage(file, flips, (what) => attempt(file, what))).toBeGreaterThan(0);
  }

  it("is refused in one line and leaves nothing, or is the whole state: a directory", { timeout: 300_000 }, async () => {
    await directory("v2", 2);
  });

  it("lines of JSON, an archive, and blocks", { timeout: 300_000 }, async () => {
    await sources(2);
  });

  it.each<OpRethFixture>(["v1", "v2", "v2pipe", "pruned"])(
    "many places of each file: %s",
    { tags: "long", timeout: 1_800_000 },
    async (name) => {
      await directory(name, PLACES);
    },
  );

  it("many places of lines of JSON, archives and blocks", { tags: "long", timeout: 1_800_000 }, async () => {
    await sources(PLACES);
  });

  async function sources(flips: number): Promise<void> {
    const archive = path("archive.tar.zst");
    cpSync(opRethArchive("v2"), archive);
    await packedOrText(archive, flips);
    await packedOrText(path("state-380.jsonl"), flips);
    const [blocks, lines] = [path("blocks.rlp"), path("state-380.jsonl")];
    await damage(blocks, flips, (what) => attempt(lines, what, blocks));
  }
});

function withFlipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  const changed = Uint8Array.from(bytes); // a Buffer's slice is the same memory
  changed[at]! ^= 1 << bit;
  return changed;
}
