import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { type FileSink, TarUnpacker } from "./tar-unpacker.ts";

const hasTar = spawnSync("tar", ["--version"], { encoding: "utf8" }).stdout?.includes("GNU tar") === true;
const LONG = `${"a-long-folder/".repeat(12)}file`;

/** Keeps everything. */
class Memory implements FileSink {
  readonly files = new Map<string, Buffer>();
  #name = "";
  #content = Buffer.alloc(0);

  begin(name: string): boolean {
    this.#name = name;
    this.#content = Buffer.alloc(4 << 20);
    return !name.endsWith("unwanted");
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#content.set(bytes, offset);
  }

  end(size: number): void {
    this.files.set(this.#name, Buffer.from(this.#content.subarray(0, size)));
  }
}

describe.skipIf(!hasTar)("an archive of GNU tar", () => {
  const root = mkdtempSync(join(tmpdir(), "rnode-tar-"));
  const expected = new Map<string, Buffer>();
  beforeAll(() => {
    const random = createRandom(1);
    mkdirSync(join(root, "data", LONG, ".."), { recursive: true });
    const write = (name: string, content: Buffer): void => {
      writeFileSync(join(root, "data", name), content);
      if (name !== "unwanted") expected.set(name, content);
    };
    write("empty", Buffer.alloc(0));
    write("block", Buffer.alloc(512, 7));
    write("unwanted", Buffer.alloc(100_000, 7));
    write(LONG, Buffer.from("long"));
    const sparse = openSync(join(root, "data/sparse"), "w");
    const content = Buffer.alloc(2 << 20);
    for (let i = 0; i < 40; i++) {
      const piece = Buffer.alloc(1 + random(6_000), 1 + random(255));
      const at = 48_000 * i + random(8_192);
      writeSync(sparse, piece, 0, piece.length, at);
      content.set(piece, at);
    }
    writeSync(sparse, Buffer.from([9]), 0, 1, content.length - 1);
    content[content.length - 1] = 9;
    closeSync(sparse);
    expected.set("sparse", content);
  });

  const archive = (...options: string[]): Uint8Array => {
    const file = join(root, "archive.tar");
    const tar = spawnSync("tar", ["-cf", file, "-C", join(root, "data"), ...options, "."], { encoding: "utf8" });
    expect(tar.stderr).toBe("");
    return readFileSync(file);
  };
  const digests = (files: Map<string, Buffer>): string[] =>
    [...files].map(([name, content]) => `${name.replace("./", "")} ${content.length} ${bytesToHex(keccak256(content))}`).sort();

  it.each([
    ["with GNU's headers", ["--format=gnu"]],
    ["with GNU's headers, sparse", ["--format=gnu", "-S"]],
    ["with POSIX headers", ["--format=posix"]],
    ["with POSIX headers, sparse", ["--format=posix", "-S"]],
  ])("%s: each file, in pieces of any size, and by a reader that continues another one", (_, options) => {
    const bytes = archive(...options);
    const random = createRandom(2);
    for (const pieces of [1 << 20, 1_000]) {
      const memory = new Memory();
      let unpacker = new TarUnpacker(memory);
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + random(pieces);
        unpacker.push(bytes.subarray(at, at + size));
        at += size;
        if (random(20) === 0) unpacker = new TarUnpacker(memory, deserialize(serialize(unpacker.state)));
      }
      expect(unpacker.isComplete).toBe(true);
      expect(digests(memory.files)).toEqual(digests(expected));
    }
  });

  it("is refused with an old form of sparse files", () => {
    expect(() => new TarUnpacker(new Memory()).push(archive("--format=posix", "-S", "--sparse-version=0.1"))).toThrow(
      /sparse file in form 0/,
    );
  });

  it("is refused with a changed header, and has no end if it is cut", () => {
    const bytes = archive("--format=gnu", "-S");
    const changed = Uint8Array.from(bytes);
    changed[3]! ^= 1;
    expect(() => new TarUnpacker(new Memory()).push(changed)).toThrow(/a header with checksum \d+ has the sum \d+/);
    const cut = new TarUnpacker(new Memory());
    cut.push(bytes.subarray(0, 300_000));
    expect(cut.isComplete).toBe(false);
  });

  it("with any bit flipped gives an error, or other content, and nothing else", () => {
    const bytes = archive("--format=posix", "-S");
    const random = createRandom(3);
    for (let i = 0; i < 60; i++) {
      const changed = Uint8Array.from(bytes);
      changed[random(20_000)]! ^= 1 << random(8);
      try {
        new TarUnpacker(new Memory()).push(changed);
      } catch (error) {
        expect(String(error)).toMatch(/Malformed|RangeError: offset is out of bounds|Error: /);
      }
    }
  });
});
