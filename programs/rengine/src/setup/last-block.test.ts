import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ModelChain } from "@rnode/chain/testing";
import { concatBytes } from "@rnode/primitives";
import { encodeBlock } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { lastBlockOf } from "./last-block.ts";

const model = new ModelChain("canyon", 1);
const blocks = [model.first, ...model.extend(model.first, 40)].map(({ block }) => encodeBlock(block));
const large = new Uint8Array(100_000);
large.set([0xb9 + 1, 1, 0x86, 0x9c]); // a string of 99,996 bytes

const fileOf = (...parts: readonly Uint8Array[]): string => {
  const file = join(mkdtempSync(join(tmpdir(), "rnode-last-")), "blocks.rlp");
  writeFileSync(file, concatBytes(...parts));
  return file;
};

describe("the last block of a file", () => {
  it("is found, however large the items before it are", async () => {
    expect(await lastBlockOf(fileOf(...blocks))).toBe(40);
    expect(await lastBlockOf(fileOf(...blocks.slice(0, 1)))).toBe(0);
    expect(await lastBlockOf(fileOf(...blocks, large, ...blocks.slice(0, 9)))).toBe(8);
  });

  it.each<[string, readonly Uint8Array[]]>([
    ["empty", []],
    ["cut off", [...blocks.slice(0, 3), blocks[3]!.subarray(0, -1)]],
    ["cut off in a length", [...blocks.slice(0, 3), blocks[3]!.subarray(0, 2)]],
    ["not of blocks at its end", [...blocks, large]],
    ["of zeros", [new Uint8Array(300_000)]],
    ["compressed", [gzipSync(concatBytes(...blocks))]],
  ])("is unknown if the file is %s", async (_, parts) => {
    expect(await lastBlockOf(fileOf(...parts))).toBeUndefined();
  });
});
