import { bytesToHex, EMPTY_TRIE_ROOT, type Hex, keccak256 } from "@rnode/primitives";
import { expect, it } from "vitest";
import type { TrieNodeReader } from "./node-reader.ts";
import { createProof } from "./proof.ts";
import { rememberNodes } from "./remembered-nodes.ts";
import { updateTrie } from "./update-trie.ts";

const keys = Array.from({ length: 200 }, (_, index) => keccak256(Uint8Array.of(index)));

/** A trie of all keys, and a log of its reads. */
function trie() {
  const rows = new Map<Hex, Uint8Array>();
  const { root, nodes } = updateTrie(
    { readNode: () => undefined },
    undefined,
    EMPTY_TRIE_ROOT,
    keys.map((key) => ({ key, value: key })),
  );
  for (const { rlp } of nodes) rows.set(bytesToHex(keccak256(rlp!)), rlp!);
  const asked: Hex[] = [];
  const reader: TrieNodeReader = {
    readNode(_owner, _path, hash) {
      asked.push(bytesToHex(hash));
      return rows.get(bytesToHex(hash));
    },
  };
  return { root, rows, asked, reader };
}

it("asks for each node once, and gives the same proofs", () => {
  const { root, rows, asked, reader } = trie();
  const remembering = rememberNodes(reader, 1_000);
  const proofs = keys.map((key) => createProof(remembering, undefined, root, key));
  expect(asked.length).toBe(rows.size);
  expect(proofs).toEqual(keys.map((key) => createProof(reader, undefined, root, key)));
});

it("holds no more than it may, the first ones", () => {
  const { root, asked, reader } = trie();
  const remembering = rememberNodes(reader, 1);
  for (const key of keys) createProof(remembering, undefined, root, key);
  expect(asked.filter((hash) => hash === bytesToHex(root))).toHaveLength(1);
  expect(asked.length).toBeGreaterThan(keys.length);
});
