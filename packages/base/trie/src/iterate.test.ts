import { bytesToHex, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { iterateTrie } from "./iterate.ts";
import { updateTrie } from "./update-trie.ts";
import { witnessNodeReader } from "./witness.ts";

const EMPTY = witnessNodeReader([]);
const key = (index: number): Uint8Array => keccak256(Uint8Array.of(index >> 8, index & 0xff));

describe("iterateTrie", () => {
  const keys = Array.from({ length: 500 }, (_, i) => key(i));
  const { root, nodes } = updateTrie(
    EMPTY,
    undefined,
    EMPTY_TRIE_ROOT,
    keys.map((own, i) => ({ key: own, value: Uint8Array.of(1 + (i % 100)) })),
  );
  const reader = witnessNodeReader(nodes.flatMap(({ rlp }) => rlp ?? []));
  const sorted = keys.map(bytesToHex).sort();
  const list = (start: Uint8Array): string[] =>
    [...iterateTrie(reader, undefined, root, start)].map((entry) => bytesToHex(entry.key));

  it("gives all entries in order", () => {
    expect(list(new Uint8Array(32))).toEqual(sorted);
    expect([...iterateTrie(EMPTY, undefined, EMPTY_TRIE_ROOT, new Uint8Array(32))]).toEqual([]);
  });

  it.each([0, 1, 17, 255, 498, 499])("begins at a key that is there, and after one that is not (%i)", (index) => {
    const at = Uint8Array.from(Buffer.from(sorted[index]!.slice(2), "hex"));
    expect(list(at)).toEqual(sorted.slice(index));
    at[31] = at[31]! + 1;
    expect(list(at)).toEqual(sorted.slice(index + 1));
  });

  it("names a node that is missing", () => {
    const incomplete = witnessNodeReader(nodes.flatMap(({ rlp, path }) => (path.length === 0 ? (rlp ?? []) : [])));
    expect(() => [...iterateTrie(incomplete, undefined, root, new Uint8Array(32))]).toThrow(
      expect.objectContaining({ code: "trie/missing-node" }),
    );
  });
});
