import { compareBytes, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import type { TrieEntry } from "./iterate.ts";
import { nodeAtPath } from "./node-at-path.ts";
import { nibbleAt } from "./node-codec.ts";
import { createProof } from "./proof.ts";
import { type TrieRange, verifyRange } from "./range-proof.ts";
import { SortedTrieBuilder } from "./sorted-trie.ts";
import { witnessNodeReader } from "./witness.ts";

const random = createRandom(37);
const FIRST = new Uint8Array(32);
const LAST = new Uint8Array(32).fill(0xff);

/** A trie whose keys share some long prefixes. Values of one byte make nodes that are inside their parents. */
function trieOf(count: number, valueBytes: number) {
  const entries: TrieEntry[] = Array.from({ length: count }, (_, i) => {
    const key = keccak256(Uint8Array.of(i >> 8, i & 0xff)).slice();
    if (i % 3 === 0) key.set(keccak256(Uint8Array.of(i % 7)).subarray(0, i % 2 === 0 ? 31 : 3));
    return { key, value: new Uint8Array(valueBytes).fill(1 + (i % 200)) };
  })
    .toSorted((a, b) => compareBytes(a.key, b.key))
    .filter(({ key }, i, all) => i === 0 || compareBytes(all[i - 1]!.key, key) < 0);
  const nodes = new Map<string, Uint8Array>();
  const builder = new SortedTrieBuilder((path, rlp) => nodes.set(path.join(), rlp.slice()));
  for (const { key, value } of entries) builder.add(key, value);
  const root = builder.finish();
  return { entries, nodes, root, reader: witnessNodeReader([...nodes.values()]) };
}
type Trie = ReturnType<typeof trieOf>;

function rangeOf({ entries, reader, root }: Trie, origin: Uint8Array, count: number): TrieRange {
  const from = entries.filter(({ key }) => compareBytes(key, origin) >= 0);
  const chosen = from.slice(0, count);
  const keys = [origin, ...chosen.slice(-1).map(({ key }) => key)];
  return { origin, entries: chosen, proof: keys.flatMap((key) => createProof(reader, undefined, root, key)) };
}

function originOf({ entries }: Trie): Uint8Array {
  const some = entries[random(entries.length)]!.key.slice();
  const dice = random(6);
  if (dice === 0) return FIRST;
  if (dice === 1) return LAST;
  if (dice === 2) return keccak256(Uint8Array.of(random(256), 1, 1));
  // at an entry, or next to it
  if (dice === 3 && some[31]! < 255) some[31]!++;
  if (dice === 4 && some[31]! > 0) some[31]!--;
  return some;
}

const TRIES = [trieOf(1, 40), trieOf(2, 1), trieOf(17, 1), trieOf(300, 1), trieOf(400, 70)];
const bad = expect.objectContaining({ code: "trie/bad-proof" });

describe("a range of a trie", () => {
  it("is proven by the paths to its origin and its last entry, and says whether there is more, and which nodes are in it", () => {
    let nodes = 0;
    for (const trie of TRIES) {
      for (let i = 0; i < 60; i++) {
        const range = rangeOf(trie, originOf(trie), random(40));
        const after = range.entries.at(-1)?.key ?? LAST;
        if (range.entries.length === 0 && trie.entries.some(({ key }) => compareBytes(key, range.origin) >= 0)) {
          expect(() => verifyRange(trie.root, range)).toThrow(bad); // nothing is claimed where there is something
          continue;
        }
        const hasMore = trie.entries.some(({ key }) => compareBytes(key, after) > 0);
        const verified = verifyRange(trie.root, range);
        expect(verified.hasMore).toBe(range.entries.length > 0 && hasMore);
        for (const { path, hash, entries } of verified.nodes) {
          nodes++;
          expect(keccak256(trie.nodes.get(path.join())!)).toEqual(hash);
          const isBelow = ({ key }: TrieEntry): boolean => path.every((nibble, at) => nibbleAt(key, at) === nibble);
          expect(entries).toBe(trie.entries.filter(isBelow).length);
          expect(entries).toBe(range.entries.filter(isBelow).length);
        }
      }
    }
    expect(nodes).toBeGreaterThan(100);
  });

  it("is the whole trie without a proof", () => {
    for (const { entries, root } of TRIES) {
      expect(verifyRange(root, { origin: FIRST, entries, proof: [] })).toEqual({ hasMore: false, nodes: [] });
      expect(() => verifyRange(root, { origin: FIRST, entries: entries.slice(1), proof: [] })).toThrow(bad);
    }
    expect(verifyRange(EMPTY_TRIE_ROOT, { origin: FIRST, entries: [], proof: [] })).toEqual({ hasMore: false, nodes: [] });
  });

  const LIES: Readonly<Record<string, (entries: TrieEntry[], at: number) => TrieEntry[]>> = {
    "one entry missing": (entries, at) => entries.toSpliced(at, 1),
    "another value": (entries, at) => entries.with(at, { ...entries[at]!, value: Uint8Array.of(9, 9, 9) }),
    "an empty value": (entries, at) => entries.with(at, { ...entries[at]!, value: new Uint8Array(0) }),
    "another key": (entries, at) => {
      const key = entries[at]!.key.slice();
      key[31]! ^= 1;
      return entries.with(at, { ...entries[at]!, key });
    },
    "an entry twice": (entries, at) => entries.toSpliced(at, 0, entries[at]!),
    "two entries in the wrong order": (entries, at) => entries.toSpliced(at, 2, ...entries.slice(at, at + 2).toReversed()),
    "an entry too many": (entries, at) => {
      const key = entries[at]!.key.slice();
      key[30]! ^= 0x80;
      return [...entries, { key, value: Uint8Array.of(1) }].toSorted((a, b) => compareBytes(a.key, b.key));
    },
  };
  it.each(Object.keys(LIES))("is refused with %s, wherever it is", (lie) => {
    for (const trie of TRIES.slice(2)) {
      for (let i = 0; i < 80; i++) {
        const range = rangeOf(trie, originOf(trie), 2 + random(30));
        if (range.entries.length < 2) continue;
        const entries = LIES[lie]!([...range.entries], random(range.entries.length - 1));
        expect(() => verifyRange(trie.root, { ...range, entries })).toThrow(bad);
        const keys = [range.origin, entries.at(-1)!.key];
        const proof = keys.flatMap((key) => createProof(trie.reader, undefined, trie.root, key));
        expect(() => verifyRange(trie.root, { ...range, entries, proof })).toThrow(bad);
      }
    }
  });

  it("is refused with its end cut off, unless the proof is that of the new end", () => {
    const trie = TRIES[4]!;
    const range = rangeOf(trie, FIRST, 50);
    expect(() => verifyRange(trie.root, { ...range, entries: range.entries.slice(0, -9) })).toThrow(bad);
    expect(verifyRange(trie.root, rangeOf(trie, FIRST, 41))).toMatchObject({ hasMore: true });
  });

  it("is refused with a damaged or incomplete proof, another root, and entries before the origin", () => {
    for (const trie of TRIES.slice(1)) {
      for (let i = 0; i < 60; i++) {
        const range = rangeOf(trie, originOf(trie), 1 + random(30));
        if (range.entries.length === 0) continue;
        const at = random(range.proof.length);
        const node = range.proof[at]!.slice();
        node[random(node.length)]! ^= 1 << random(8);
        const without = new Set(range.proof.map(String));
        without.delete(String(range.proof[at]));
        const rest = range.proof.filter((rlp) => without.has(String(rlp)));
        expect(() => verifyRange(trie.root, { ...range, proof: [...rest, node] })).toThrow(bad);
        expect(() => verifyRange(keccak256(trie.root), range)).toThrow(bad);
        const origin = range.entries[0]!.key.slice();
        if (origin[31] === 255) continue;
        origin[31]!++;
        expect(() => verifyRange(trie.root, { ...range, origin })).toThrow(bad);
      }
    }
  });
});

describe("nodeAtPath", () => {
  it("finds each node of its own, and none at other paths", () => {
    for (const { nodes, reader, root } of TRIES) {
      for (const [text, rlp] of nodes) {
        const path = text === "" ? new Uint8Array(0) : Uint8Array.from(text.split(","), Number);
        expect(nodeAtPath(reader, undefined, root, path)).toEqual(rlp);
        for (const longer of [0, 5, 15].map((nibble) => Uint8Array.of(...path, nibble))) {
          expect(nodeAtPath(reader, undefined, root, longer)).toEqual(nodes.get(longer.join()));
        }
      }
    }
  });
});
