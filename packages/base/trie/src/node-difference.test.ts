import { bytesToHex, compareBytes, EMPTY_TRIE_ROOT, equalBytes, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import type { TrieEntry } from "./iterate.ts";
import { differenceAt } from "./node-difference.ts";
import { SortedTrieBuilder } from "./sorted-trie.ts";

/** Some keys share long prefixes. */
function keyOf(index: number): Uint8Array {
  const key = keccak256(Uint8Array.of(index >> 8, index & 0xff)).slice();
  if (index % 3 === 0) key.set(keccak256(Uint8Array.of(index % 7)).subarray(0, index % 2 === 0 ? 31 : 3));
  return key;
}

const sorted = (entries: ReadonlyMap<Hex, Uint8Array>): TrieEntry[] =>
  [...entries].map(([key, value]) => ({ key: hexToBytes(key), value })).toSorted((a, b) => compareBytes(a.key, b.key));

function trieOf(entries: ReadonlyMap<Hex, Uint8Array>) {
  const nodes = new Map<string, Uint8Array>();
  const builder = new SortedTrieBuilder((path, rlp) => nodes.set(path.join(), rlp.slice()));
  for (const { key, value } of sorted(entries)) builder.add(key, value);
  return { nodes, root: builder.finish() };
}

/** Makes ours equal to a trie, node by node. @param hashes remembered, all right @returns how many nodes that took, and how many entries were read */
function heal(
  ours: Map<Hex, Uint8Array>,
  { nodes, root }: ReturnType<typeof trieOf>,
  hashes = new Map<string, Uint8Array>(),
): { readonly asked: number; readonly read: number } {
  let read = 0;
  const below = (path: Uint8Array): TrieEntry[] => {
    const prefix = `0x${Array.from(path, (nibble) => nibble.toString(16)).join("")}`;
    const found = sorted(new Map([...ours].filter(([key]) => key.startsWith(prefix))));
    read += found.length;
    return found;
  };
  const hashAt = (path: Uint8Array): Uint8Array | undefined => hashes.get(path.join());
  const missing: { readonly path: Uint8Array; readonly hash: Uint8Array }[] = [{ path: new Uint8Array(0), hash: root }];
  let asked = 0;
  for (let next = missing.pop(); next !== undefined; next = missing.pop()) {
    const rlp = nodes.get(next.path.join())!;
    if (!equalBytes(keccak256(rlp), next.hash)) throw new Error(`another node at ${next.path.join()}`);
    asked++;
    const difference = differenceAt(rlp, next.path, { below, hashAt });
    for (const key of difference.removed) ours.delete(bytesToHex(key));
    for (const { key, value } of difference.changed) ours.set(bytesToHex(key), value);
    missing.push(...difference.below);
    for (const { path, hash } of difference.same) expect(keccak256(nodes.get(path.join())!)).toEqual(hash);
  }
  return { asked, read };
}

describe("the difference between a trie and our entries", () => {
  // values of one byte make nodes that are inside their parents
  it.each([1, 20, 40])("leads from any entries to those of the trie, with values of %i bytes", (valueBytes) => {
    const random = createRandom(valueBytes);
    const newValue = (): Uint8Array => new Uint8Array(valueBytes).fill(1 + random(200));
    for (const count of [1, 2, 5, 40, 300]) {
      for (const changes of [0, 1, 3, count]) {
        const theirs = new Map<Hex, Uint8Array>();
        for (let i = 0; i < count; i++) theirs.set(bytesToHex(keyOf(i)), newValue());
        const ours = new Map(theirs);
        for (let i = 0; i < changes; i++) {
          const key = bytesToHex(keyOf(random(count + 20)));
          if (random(3) === 0) ours.delete(key);
          else ours.set(key, newValue());
        }
        const trie = trieOf(theirs);
        const { asked } = heal(ours, trie);
        expect(sorted(ours)).toEqual(sorted(theirs));
        expect(trieOf(ours).root).toEqual(trie.root);
        if (count === 300 && changes <= 3) expect(asked).toBeLessThan(trie.nodes.size / 4);
      }
    }
  });

  it("takes no entries where remembered hashes are those of the trie", () => {
    const ours = new Map(Array.from({ length: 300 }, (_, i) => [bytesToHex(keyOf(i)), new Uint8Array(40).fill(1 + (i % 200))]));
    const theirs = new Map(ours).set(bytesToHex(keyOf(4)), Uint8Array.of(7));
    const before = trieOf(ours).nodes;
    const hashes = new Map([...before].map(([path, rlp]) => [path, keccak256(rlp)]));
    const trie = trieOf(theirs);
    const without = heal(new Map(ours), trie);
    const withHashes = heal(ours, trie, hashes);
    expect(sorted(ours)).toEqual(sorted(theirs));
    expect(withHashes.asked).toBe(without.asked);
    expect(withHashes.read).toBeLessThan(5);
    expect(without.read).toBeGreaterThan(250);
  });

  it("has every entry if ours are none, and removes ours that are nowhere", () => {
    const theirs = new Map([[bytesToHex(keyOf(1)), Uint8Array.of(1)]]);
    const ours = new Map<Hex, Uint8Array>();
    heal(ours, trieOf(theirs));
    expect(ours).toEqual(theirs);
    const others = new Map(Array.from({ length: 50 }, (_, i) => [bytesToHex(keyOf(100 + i)), Uint8Array.of(2)]));
    heal(others, trieOf(theirs));
    expect(others).toEqual(theirs);
  });

  it.each<[string, Uint8Array]>([
    ["no RLP", Uint8Array.of(1, 2)],
    ["a leaf with a short path", hexToBytes("0xc42082ffff")],
    ["the empty trie", EMPTY_TRIE_ROOT],
  ])("is refused of %s", (_, rlp) => {
    expect(() => differenceAt(rlp, new Uint8Array(0), { below: () => [], hashAt: () => undefined })).toThrow(
      expect.objectContaining({ code: "trie/bad-proof" }),
    );
  });
});
