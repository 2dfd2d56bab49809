import { describe, expect, it } from "vitest";
import { decompressLz4 } from "./lz4.ts";

const text = (...parts: readonly (string | number)[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "number" ? [part] : [...Buffer.from(part, "latin1")])));
const unpack = (block: Uint8Array, maxBytes = 1 << 16): string => Buffer.from(decompressLz4(block, maxBytes)).toString("latin1");

describe("LZ4 blocks", () => {
  it.each([
    ["no bytes", text(0), ""],
    ["literals", text(0x50, "hello"), "hello"],
    ["15 literals", text(0xf0, 0, "123456789012345"), "123456789012345"],
    ["270 literals", text(0xf0, 255, 0, "x".repeat(270)), "x".repeat(270)],
    ["a match", text(0x42, "abcd", 4, 0, 0x10, "!"), "abcdabcdab!"],
    ["a match that overlaps itself", text(0x1f, "a", 1, 0, 5, 0x50, "bcdef"), `${"a".repeat(25)}bcdef`],
    ["a match of 15 + 255 + 3 + 4 bytes", text(0x2f, "ab", 2, 0, 255, 3, 0x00), `${"ab".repeat(139)}a`],
    [
      "more than the first guess of the size",
      text(0x1f, "a", 1, 0, ...new Array<number>(100).fill(255), 0, 0x00),
      "a".repeat(25_520),
    ],
  ])("%s", (_what, block, expected) => expect(unpack(block)).toBe(expected));

  it.each([
    ["nothing", text()],
    ["a size without an end", text(0xf0, 255, 255)],
    ["fewer literals than it says", text(0x50, "hell")],
    ["half an offset", text(0x40, "abcd", 4)],
    ["offset 0", text(0x40, "abcd", 0, 0, 0)],
    ["an offset before the start", text(0x40, "abcd", 5, 0, 0)],
    ["no last literals", text(0x40, "abcd", 4, 0)],
  ])("refuses %s", (_what, block) => expect(() => unpack(block)).toThrow(/^LZ4 data/));

  it("refuses more bytes than the limit", () => {
    const bomb = text(0x1f, "a", 1, 0, ...new Array<number>(1000).fill(255), 0, 0x00);
    expect(unpack(bomb, 300_000).length).toBe(255_020);
    expect(() => unpack(bomb, 255_019)).toThrow("LZ4 data of more than 255019 bytes");
  });
});
