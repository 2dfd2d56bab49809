import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storedBlock } from "@rnode/eth-api/testing";
import { concatBytes } from "@rnode/primitives";
import { encodeBlock } from "@rnode/protocol";
import { expect, it } from "vitest";
import { readBlocks } from "./read-blocks.ts";

it("does not read a file into memory for a length that is damaged", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rengine-blocks-"));
  const file = join(folder, "a.rlp");
  const block = encodeBlock(storedBlock([], { number: 7 }).block);
  // A list that claims 2⁴⁰ bytes, only some of which are present.
  const damaged = concatBytes(Uint8Array.of(0xfd, 1, 0, 0, 0, 0, 0), new Uint8Array(10_000));
  writeFileSync(file, concatBytes(block, damaged));
  const numbers: number[] = [];
  const read = async (): Promise<void> => {
    for await (const { block: found } of readBlocks(file, 9000)) numbers.push(found.header.number);
  };
  await expect(read()).rejects.toThrow(`a.rlp: block 8, at byte ${block.length}, is longer than 9000 bytes`);
  expect(numbers).toEqual([7]);
});
