import { spawnSync } from "node:child_process";
import { createRandom } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import { Malformed } from "../errors.ts";
import { isLz4, Lz4Stream } from "./lz4-stream.ts";
import { Xxh32 } from "./xxh32.ts";

const random = createRandom(1);
/** Repeats itself at all distances. */
const CONTENT = Buffer.concat(
  Array.from({ length: 3_000 }, (_, i) => Buffer.from(i % 3 === 0 ? `row ${random(50)};`.repeat(20) : [i, random(256), i >> 8])),
);
/** Of `abc` by the program lz4 1.9.4: linked blocks of 4 MiB, checksum of the content; the block is not compressed. */
const ABC = Buffer.from("04224d186440a70300008061626300000000ff53d132", "hex");

function unpack(bytes: Uint8Array, pieceBytes = bytes.length): Buffer {
  const parts: Buffer[] = [];
  let stream = new Lz4Stream((part) => parts.push(Buffer.from(part)));
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    stream.push(bytes.subarray(at, at + pieceBytes), false);
    stream = new Lz4Stream((part) => parts.push(Buffer.from(part)), structuredClone(stream.state));
  }
  stream.push(new Uint8Array(0), true);
  return Buffer.concat(parts);
}

const program = spawnSync("lz4", ["--version"]);

describe("LZ4 frames", () => {
  it("have the bytes that they were made of", () => {
    expect(isLz4(ABC)).toBe(true);
    for (const pieceBytes of [1, 5, 100]) expect(unpack(ABC, pieceBytes).toString()).toBe("abc");
  });

  it("may be skipped, and follow each other", () => {
    const skipped = Buffer.from("532a4d180300000099999904224d18".slice(0, 22), "hex");
    expect(unpack(Buffer.concat([ABC, skipped, ABC])).toString()).toBe("abcabc");
  });

  it.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ["is cut", (bytes) => bytes.subarray(0, -1), /ends early/],
    ["is cut in its header", (bytes) => bytes.subarray(0, 6), /ends early/],
    ["has a changed header", (bytes) => changed(bytes, 4, 0x60), /header of an LZ4 frame has another checksum/],
    ["has a changed block", (bytes) => changed(bytes, 11, 0x7a), /another checksum/],
    ["needs a dictionary", (bytes) => changed(bytes, 4, 0x65), /needs a dictionary/],
    ["is of another version", (bytes) => changed(bytes, 4, 0xa4), /unknown version/],
    ["has a block that is too large", (bytes) => changed(bytes, 9, 0x7f), /block of \d+ bytes, at most 65536/],
    ["is followed by something else", (bytes) => Buffer.concat([bytes, Buffer.alloc(30)]), /something else follows/],
  ])("are refused if one %s", (_, change, reason) => {
    const attempt = (): Buffer => unpack(change(Buffer.from(ABC)));
    expect(attempt).toThrow(Malformed);
    expect(attempt).toThrow(reason);
  });

  it.skipIf(program.error !== undefined).each([["-B4"], ["-B4", "-BX"], ["-B7", "-9"], ["-B5", "-BI"], ["-B4", "--no-frame-crc"]])(
    "made by the program lz4 with %s %s",
    (...args) => {
      const { stdout } = spawnSync("lz4", ["-c", ...args.filter((arg) => arg !== undefined)], {
        input: CONTENT,
        maxBuffer: 1 << 26,
      });
      for (const pieceBytes of [1_009, 1 << 16, 1 << 26]) expect(unpack(stdout, pieceBytes).equals(CONTENT)).toBe(true);
      const flipped = Buffer.from(stdout);
      flipped[Math.floor(stdout.length / 2)]! ^= 1;
      if (args.join() !== "-B4,--no-frame-crc") expect(() => unpack(flipped)).toThrow(Malformed);
    },
  );
});

it.each([
  ["", 0x02cc5d05],
  ["abc", 0x32d153ff],
  ["Nobody inspects the spammish repetition", 0xe2293b2f],
])("XXH32 of %j", (text, expected) => {
  const bytes = Buffer.from(text);
  expect(Xxh32.of(bytes)).toBe(expected);
  const hash = new Xxh32();
  for (const byte of bytes) hash.push(Uint8Array.of(byte));
  expect(new Xxh32(hash.progress).digest()).toBe(expected);
});

function changed(bytes: Buffer, at: number, value: number): Buffer {
  bytes[at] = value;
  return bytes;
}
