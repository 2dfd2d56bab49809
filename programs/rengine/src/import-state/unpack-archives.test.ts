import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { startFlakyServer } from "@rnode/download/testing";
import { hasOpRethFixtures, opRethArchive, unpackOpReth } from "@rnode/reth-data/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { type UnpackOptions, unpackArchives } from "./unpack-archives.ts";

const FILES = [
  "db/mdbx.dat",
  "db/database.version",
  ...["", ".conf", ".off"].map((end) => `static_files/static_file_headers_0_499999${end}`),
];
const digests = (folder: string): string[] =>
  FILES.map((file) =>
    createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex"),
  );

describe.skipIf(!hasOpRethFixtures("archives of op-reth's data directories"))("an archive of a data directory", () => {
  const io = { out: () => {}, err: () => {}, progress: () => {} };
  const options = (folder: string, more: Partial<UnpackOptions> = {}): UnpackOptions => ({
    folder,
    block: 0,
    onDatabase: () => {},
    ...more,
  });
  const newFolder = (): string => join(mkdtempSync(join(tmpdir(), "rengine-unpack-")), "unpacked");

  it("is unpacked, without the files that are not read", async () => {
    const folder = newFolder();
    const sizes: number[] = [];
    await unpackArchives(
      [["/nowhere", opRethArchive("v2")]],
      options(folder, { onDatabase: (bytes) => void sizes.push(bytes) }),
      io,
    );
    expect(digests(folder)).toEqual(digests(await unpackOpReth("v2")));
    expect(readdirSync(folder).sort()).toEqual(["db", "static_files", "unpacked-until"]);
    expect(sizes).toEqual([1_716_224]);
  });

  it("may be packed with LZ4", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "rengine-unpack-")), "archive.tar.lz4");
    writeFileSync(file, lz4Frame(tarOf(await unpackOpReth("v2"))));
    const folder = newFolder();
    await unpackArchives([[file]], options(folder, { noteEveryBytes: 1 }), io);
    expect(digests(folder)).toEqual(digests(await unpackOpReth("v2")));
  });

  it("is not packed with gzip", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "rengine-unpack-")), "archive.tar.gz");
    writeFileSync(file, gzipSync("archive"));
    await expect(unpackArchives([[file]], options(newFolder()), io)).rejects.toThrow(
      /archive\.tar\.gz is packed with gzip: unpack it/,
    );
  });

  it("goes on where an attempt was that the network ended, at each of its notes", { timeout: 300_000 }, async () => {
    const bytes = readFileSync(opRethArchive("pruned"));
    const folder = newFolder();
    // Each attempt gets 60,000 bytes, then an answer that ends it.
    let isOver = false;
    const server = await startFlakyServer(() => bytes, {
      answer: (_, response) => {
        if (isOver) response.writeHead(404).end();
        return isOver;
      },
      breaksAfter: () => {
        isOver = true;
        return 60_000;
      },
    });
    onTestFinished(() => server.close());
    const errors: string[] = [];
    const attempt = (): Promise<void> =>
      unpackArchives([[server.url]], options(folder, { noteEveryBytes: 20_000 }), { ...io, err: (line) => void errors.push(line) });
    for (let done = false; !done; ) {
      isOver = false;
      done = await attempt().then(
        () => true,
        () => false,
      );
    }
    expect(digests(folder)).toEqual(digests(await unpackOpReth("pruned")));
    const offsets = server.ranges.flatMap((range) => (range === undefined ? [] : [Number(/\d+/.exec(range)![0])]));
    expect(new Set(offsets).size).toBeGreaterThan(10);
    expect(errors).toContain("went on with what an earlier attempt had unpacked");
  });

  it("is removed if it ends early, or if its name leads nowhere", async () => {
    const folder = newFolder();
    const bytes = readFileSync(opRethArchive("v2"));
    const server = await startFlakyServer(() => bytes.subarray(0, 400_000));
    onTestFinished(() => server.close());
    await expect(unpackArchives([[server.url]], options(folder), io)).rejects.toThrow(/broken Zstandard data$/);
    expect(existsSync(folder)).toBe(false);
    await expect(unpackArchives([["/nowhere"]], options(folder), io)).rejects.toThrow(/^--from: \/nowhere: no such file$/);
  });
});

function tarOf(folder: string): Uint8Array {
  return spawnSync("tar", ["-c", "-C", folder, "."], { maxBuffer: 1 << 30 }).stdout;
}

/** Blocks that are not compressed, of 64 KiB, without checksums. */
function lz4Frame(content: Uint8Array): Uint8Array {
  const parts = [Buffer.from("04224d18604082", "hex")];
  for (let at = 0; at < content.length; at += 1 << 16) {
    const block = content.subarray(at, at + (1 << 16));
    const size = Buffer.alloc(4);
    size.writeUInt32LE(0x8000_0000 + block.length);
    parts.push(size, Buffer.from(block));
  }
  return Buffer.concat([...parts, Buffer.alloc(4)]);
}
