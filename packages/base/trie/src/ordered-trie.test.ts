import { MerklePatriciaTrie } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import { bytesToHex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { GrowingOrderedTrie, orderedTrieRoot } from "./ordered-trie.ts";

async function oracleRoot(items: readonly Uint8Array[]): Promise<string> {
  const trie = new MerklePatriciaTrie();
  for (const [index, item] of items.entries()) await trie.put(RLP.encode(index), item);
  return bytesToHex(trie.root());
}

describe("orderedTrieRoot", () => {
  it.each([0, 1, 2, 3, 16, 17, 127, 128, 129, 255, 256, 257, 400])(
    "agrees with another implementation on %i items",
    async (count) => {
      const items = Array.from({ length: count }, (_, i) => Uint8Array.from({ length: 1 + ((i * 37) % 90) }, (_, j) => i + j + 1));
      expect(bytesToHex(orderedTrieRoot(items))).toBe(await oracleRoot(items));
    },
  );

  it("handles items longer than 64 KiB", async () => {
    const items = [new Uint8Array(70_000).fill(7), new Uint8Array(3).fill(1)];
    expect(bytesToHex(orderedTrieRoot(items))).toBe(await oracleRoot(items));
  });
});

describe("GrowingOrderedTrie", () => {
  it.each([1, 50, 127, 128, 129, 257])("has the root of all items so far, %i at a time", (step) => {
    const items = Array.from({ length: 300 }, (_, i) => new Uint8Array(1 + ((i * 37) % 300)).fill(i + 1));
    const trie = new GrowingOrderedTrie();
    for (let end = 0; end < items.length; end += step) {
      expect(trie.extend(items.slice(trie.size, end))).toEqual(orderedTrieRoot(items.slice(0, end)));
      expect(trie.extend([], items[end])).toEqual(orderedTrieRoot(items.slice(0, end + 1)));
      expect(trie.extend([])).toEqual(orderedTrieRoot(items.slice(0, end)));
    }
  });
});
