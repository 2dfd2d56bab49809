import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { concatBytes } from "@rnode/primitives";
import { encodeBlock, hashHeader } from "@rnode/protocol";
import { expect, it } from "vitest";
import { knownFirstBlock } from "./bedrock.ts";
import { openFileBlocks } from "./file-blocks.ts";

const folder = mkdtempSync(join(tmpdir(), "rengine-file-blocks-"));
const file = join(folder, "blocks.rlp");
const { header } = knownFirstBlock("0xdbf6a80fef073de06add9b0d14026d6e5a86c85f6d102c36d3d8e9cf89c2afd3")!;
const blocks = [{ header, transactions: [], ommers: [] }];
for (let i = 1; i < 6; i++) {
  const parentHash = hashHeader(blocks.at(-1)!.header);
  blocks.push({ header: { ...header, number: header.number + i, parentHash }, transactions: [], ommers: [] });
}
const write = (content: readonly (typeof blocks)[number][]): Uint8Array => {
  const bytes = concatBytes(...content.map(encodeBlock));
  writeFileSync(file, bytes);
  return bytes;
};

it("gives the blocks of a file by hash, from the last to the first, and by number", async () => {
  write(blocks);
  const source = await openFileBlocks(file, { folder });
  try {
    for (const block of blocks.toReversed()) {
      expect(await source.blockOf(hashHeader(block.header))).toEqual({ block, receipts: [] });
    }
    expect(await source.blockOf(hashHeader(blocks[3]!.header))).toMatchObject({ block: blocks[3] });
    expect(await source.blockOf(new Uint8Array(32))).toBeUndefined();
    const range = await source.range(header.number + 1, header.number + 3);
    expect(range.map(({ block }) => block)).toEqual(blocks.slice(1, 4));
    await expect(source.range(header.number - 1, header.number)).rejects.toThrow(
      /has blocks 105235063 to 105235068, and blocks 105235062 to 105235063 are needed/,
    );
  } finally {
    await source.close();
  }
});

it("refuses blocks that are not one chain, packed ones, and a file that is not there", async () => {
  write([...blocks.slice(0, 2), ...blocks.slice(3)]);
  await expect(openFileBlocks(file, { folder })).rejects.toThrow(
    /block 105235066 at byte \d+ is not the child of the block before it/,
  );
  writeFileSync(file, gzipSync(write(blocks)));
  await expect(openFileBlocks(file, { folder })).rejects.toThrow(/is packed with gzip.*: unpack it$/);
  writeFileSync(file, write(blocks).subarray(0, -3));
  await expect(openFileBlocks(file, { folder })).rejects.toThrow(/is cut off$/);
  await expect(openFileBlocks(join(folder, "nowhere"), { folder })).rejects.toThrow(/nowhere: no such file$/);
});
