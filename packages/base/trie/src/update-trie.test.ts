import { MerklePatriciaTrie } from "@ethereumjs/mpt";
import { bytesToHex, compareBytes, EMPTY_TRIE_ROOT, equalBytes, hexToBytes, isCodedError, keccak256 } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TrieNodeReader } from "./node-reader.ts";
import { createProof, readTrie, verifyProof } from "./proof.ts";
import { SortedTrieBuilder } from "./sorted-trie.ts";
import type { TrieChange, TrieUpdate } from "./trie-change.ts";
import { updateTrie } from "./update-trie.ts";
import { witnessNodeReader } from "./witness.ts";

/** Rows by path, like a database; throws if a node is read with a wrong hash. */
class Rows implements TrieNodeReader {
  readonly byPath = new Map<string, Uint8Array>();
  readonly read: Uint8Array[] = [];

  readNode(_owner: Uint8Array | undefined, path: Uint8Array, hash: Uint8Array): Uint8Array | undefined {
    const rlp = this.byPath.get(bytesToHex(path));
    if (rlp !== undefined && !equalBytes(keccak256(rlp), hash)) throw new Error(`row at ${bytesToHex(path)} has another hash`);
    if (rlp !== undefined) this.read.push(rlp);
    return rlp?.slice();
  }

  update(root: Uint8Array, changes: readonly TrieChange[]): Uint8Array {
    this.read.length = 0;
    const update = updateTrie(this, undefined, root, changes);
    this.apply(update);
    return update.root;
  }

  apply(update: TrieUpdate): void {
    let last: Uint8Array | undefined;
    for (const { path, rlp, before, differsFrom = 0, differsTo } of update.nodes) {
      const key = bytesToHex(path);
      expect(before).toEqual(this.byPath.get(key));
      if (rlp !== undefined && before?.length === rlp.length) {
        expect(rlp.slice(0, differsFrom)).toEqual(before.slice(0, differsFrom));
        if (differsTo !== undefined) expect(rlp.slice(differsTo)).toEqual(before.slice(differsTo));
      }
      if (last !== undefined && compareBytes(last, path) >= 0) throw new Error(`listed twice or out of order: ${key}`);
      last = path;
      if (rlp !== undefined) this.byPath.set(key, rlp);
      else if (!this.byPath.delete(key)) throw new Error(`deletes a row that is not there: ${key}`);
    }
  }
}

/** Rows and root of a trie built from scratch. */
function rebuild(entries: ReadonlyMap<string, Uint8Array>): { root: string; rows: Map<string, string> } {
  const rows = new Map<string, string>();
  const builder = new SortedTrieBuilder((path, rlp) => rows.set(bytesToHex(path), bytesToHex(rlp)));
  const sorted = [...entries].map(([key, value]) => [hexToBytes(key), value] as const).sort((a, b) => compareBytes(a[0], b[0]));
  for (const [key, value] of sorted) builder.add(key, value);
  return { root: bytesToHex(builder.finish()), rows };
}

const hexRows = (rows: ReadonlyMap<string, Uint8Array>): Map<string, string> =>
  new Map([...rows].map(([path, rlp]) => [path, bytesToHex(rlp)]));

/** Keys that share long prefixes, so that splits, merges and nodes below 32 bytes are frequent. */
const closeKey = fc
  .tuple(fc.constantFrom(0, 2, 28, 30, 31), fc.constantFrom(0x00, 0x01, 0x10, 0x11), fc.constantFrom(0, 1, 16, 0xff), fc.nat(3))
  .map(([at, byte, last, more]) => {
    const key = new Uint8Array(32);
    key[at] = byte;
    key[31] = key[31]! ^ last;
    key[29] = more;
    return key;
  });
const spreadKey = fc.nat(200).map((n) => keccak256(Uint8Array.of(n)));
const value = fc.oneof(
  fc.integer({ min: 1, max: 255 }).map((byte) => Uint8Array.of(byte)),
  fc.uint8Array({ minLength: 1, maxLength: 70 }),
);
const change = (key: fc.Arbitrary<Uint8Array>): fc.Arbitrary<TrieChange> =>
  fc.record({ key, value: fc.oneof({ weight: 3, arbitrary: value }, { weight: 2, arbitrary: fc.constant(undefined) }) });
const batches = fc.oneof(
  fc.array(fc.array(change(closeKey), { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 8 }),
  fc.array(fc.array(change(spreadKey), { minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 6 }),
);

describe("updateTrie", () => {
  describe.each([
    { share: 0.2, tags: [] },
    { share: 1, tags: ["long"] },
  ])("in $share of all runs", ({ share, tags }) => {
    it("leaves the root and exactly the rows of a trie made from scratch, batch after batch", { tags }, () => {
      fc.assert(
        fc.property(batches, (steps) => {
          const rows = new Rows();
          const entries = new Map<string, Uint8Array>();
          let root = EMPTY_TRIE_ROOT;
          for (const step of steps) {
            for (const { key, value } of step) {
              if (value === undefined) entries.delete(bytesToHex(key));
              else entries.set(bytesToHex(key), value);
            }
            const before = new Map(rows.byPath);
            root = rows.update(root, step);
            const witness = [...rows.read];
            const expected = rebuild(entries);
            expect(bytesToHex(root)).toBe(expected.root);
            expect(hexRows(rows.byPath)).toEqual(expected.rows);
            // The read nodes are a witness: the same update must succeed with only these nodes.
            if (before.size > 0) {
              const parent = keccak256(before.get("0x")!);
              expect(updateTrie(witnessNodeReader(witness), undefined, parent, step).root).toEqual(root);
            }
            for (const [key, stored] of entries) {
              expect(readTrie(rows, undefined, root, hexToBytes(key))).toEqual(stored);
            }
          }
        }),
        { numRuns: 400 * share, seed: 20240817 },
      );
    });

    it("agrees with another implementation, keys of any length included", { tags }, async () => {
      const anyKey = fc.uint8Array({ minLength: 1, maxLength: 5 }).map((key) => key.map((byte) => [0, 1, 16, 17, 255][byte % 5]!));
      const steps = fc.array(fc.array(change(fc.oneof(anyKey, closeKey)), { minLength: 1, maxLength: 8 }), {
        minLength: 1,
        maxLength: 8,
      });
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          const rows = new Rows();
          const oracle = new MerklePatriciaTrie();
          let root = EMPTY_TRIE_ROOT;
          for (const step of all) {
            for (const { key, value } of step) {
              if (value === undefined) await oracle.del(key);
              else await oracle.put(key, value);
            }
            root = rows.update(root, step);
            expect(bytesToHex(root)).toBe(bytesToHex(oracle.root()));
          }
        }),
        { numRuns: 300 * share, seed: 7 },
      );
    });
  });

  it("needs no sibling of a deleted leaf when an insertion keeps the branch", () => {
    const a = new Uint8Array(32).fill(0x11);
    const b = new Uint8Array(32).fill(0x22);
    const c = new Uint8Array(32).fill(0x33);
    const value = new Uint8Array(40).fill(1);
    const rows = new Rows();
    const root = rows.update(
      EMPTY_TRIE_ROOT,
      [a, b].map((key) => ({ key, value })),
    );
    rows.byPath.delete("0x02");
    const after = updateTrie(rows, undefined, root, [
      { key: a, value: undefined },
      { key: c, value },
    ]);
    expect(bytesToHex(after.root)).toBe(rebuild(new Map([b, c].map((key) => [bytesToHex(key), value]))).root);
  });

  it("names the node that is missing", () => {
    const a = new Uint8Array(32).fill(0x11);
    const b = new Uint8Array(32).fill(0x22);
    const rows = new Rows();
    const root = rows.update(
      EMPTY_TRIE_ROOT,
      [a, b].map((key) => ({ key, value: new Uint8Array(40) })),
    );
    rows.byPath.delete("0x02");
    const missing = (): unknown => updateTrie(rows, undefined, root, [{ key: a, value: undefined }]);
    expect(missing).toThrow(/missing node \(owner accounts, path 0x02, /);
  });
});

describe("proofs", () => {
  const entries = Array.from({ length: 300 }, (_, i) => ({
    key: keccak256(Uint8Array.of(i & 255, i >> 8)),
    value: Uint8Array.of(i & 127, 9),
  }));
  const rows = new Rows();
  const root = rows.update(EMPTY_TRIE_ROOT, entries);

  it.each([0, 17, 299])("proves the value of entry %i", (index) => {
    const { key, value } = entries[index]!;
    const proof = createProof(rows, undefined, root, key);
    expect(verifyProof(root, key, proof)).toEqual(value);
    for (const cut of [proof.slice(1), proof.slice(0, -1), [...proof, proof[0]!], []]) {
      expect(() => verifyProof(root, key, cut)).toThrow(expect.objectContaining({ code: "trie/bad-proof" }));
    }
    const forged = proof.map((node, i) =>
      i === proof.length - 1 ? node.map((byte, at) => (at === node.length - 1 ? byte ^ 1 : byte)) : node,
    );
    expect(() => verifyProof(root, key, forged)).toThrow(expect.objectContaining({ code: "trie/bad-proof" }));
  });

  it("proves absence", () => {
    for (let i = 0; i < 50; i++) {
      const key = keccak256(Uint8Array.of(i, 200, 3));
      expect(verifyProof(root, key, createProof(rows, undefined, root, key))).toBeUndefined();
    }
    expect(verifyProof(EMPTY_TRIE_ROOT, entries[0]!.key, [])).toBeUndefined();
  });

  it("refuses bytes that are no node", () => {
    for (const junk of [
      "0x83aabbcc",
      "0xc0",
      "0xc101",
      "0xc22080",
      "0xc34080c0",
      "0xc482204180ff",
      "0xd1808080808080808080808080808080808080",
    ]) {
      const rlp = hexToBytes(junk);
      let caught: unknown;
      try {
        readTrie(witnessNodeReader([rlp]), undefined, keccak256(rlp), new Uint8Array(32));
      } catch (error) {
        caught = error;
      }
      expect(isCodedError(caught, "trie/bad-node") || isCodedError(caught, "rlp/"), junk).toBe(true);
    }
  });
});
