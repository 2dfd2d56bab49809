import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { encodeAccount, encodeStorageValue, updateTrie } from "@rnode/trie";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Environment } from "../database/environment.ts";
import { blockNumberKey, readBlockNumber } from "../database/keys.ts";
import { deleteWithPrefix } from "../database/table.ts";
import { openTables, type Tables } from "../schema.ts";
import { CurrentNodes } from "./current-nodes.ts";
import { PARTS, partOf } from "./journal-index.ts";
import { nodeVersionsOf } from "./node-history.ts";
import { nodeKeyOf } from "./node-key.ts";
import { standsAlone } from "./node-version.ts";

const bytesOf = (...numbers: number[]): Uint8Array => keccak256(Uint8Array.from(numbers.flatMap((n) => [n >> 8, n])));

let folder: string;
let environment: Environment;
let tables: Tables;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-node-journal-"));
  ({ environment, tables } = openTables(folder, {
    readOnly: false,
    mapSizeBytes: undefined,
    sync: "interval",
    syncIntervalMs: 1000,
  }));
});
afterEach(async () => {
  await environment.close();
});

interface Change {
  readonly key: Uint8Array;
  readonly before: Uint8Array | undefined;
  readonly rlp: Uint8Array | undefined;
}

/** Tries of a few hundred keys, some of them small, with a model of their nodes. */
class Model {
  readonly #random: ReturnType<typeof createRandom>;
  /** node key → node */
  rows = new Map<string, Uint8Array>();
  roots = new Map<number, Uint8Array>();

  constructor(seed: number) {
    this.#random = createRandom(seed);
  }

  /** Changes for a commit: ascending by key. */
  change(count: number): Change[] {
    const changes = new Map<string, Change>();
    for (const [trie, keys] of [400, 150, 4, 3].entries()) {
      const owner = trie === 0 ? undefined : bytesOf(trie);
      const updates = Array.from({ length: 1 + this.#random(count) }, () => ({
        key: bytesOf(this.#random(keys), trie),
        value: this.#random(5) === 0 ? undefined : this.#value(trie),
      }));
      const reader = {
        readNode: (_: Uint8Array | undefined, path: Uint8Array) => this.rows.get(bytesToHex(nodeKeyOf(owner, path))),
      };
      const update = updateTrie(reader, owner, this.roots.get(trie) ?? EMPTY_TRIE_ROOT, updates);
      this.roots.set(trie, update.root);
      for (const { path, rlp, before } of update.nodes) {
        const key = nodeKeyOf(owner, path);
        changes.set(bytesToHex(key), { key, before, rlp });
      }
    }
    for (const [key, { rlp }] of changes) {
      if (rlp === undefined) this.rows.delete(key);
      else this.rows.set(key, rlp.slice());
    }
    return [...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
  }

  #value(trie: number): Uint8Array {
    if (trie > 0) return encodeStorageValue(bytesOf(this.#random(9999)).subarray(this.#random(32)));
    const storageRoot = this.#random(3) === 0 ? bytesOf(this.#random(50)) : EMPTY_TRIE_ROOT;
    return encodeAccount({
      nonce: BigInt(this.#random(300)),
      balance: BigInt(this.#random(1 << 30)),
      codeHash: EMPTY_KECCAK,
      storageRoot,
    });
  }

  copy(): Pick<Model, "rows" | "roots"> {
    return { rows: new Map(this.rows), roots: new Map(this.roots) };
  }
}

const record = (nodes: CurrentNodes, changes: readonly Change[]): void => {
  for (const { key, before, rlp } of changes) nodes.record(key, before, rlp);
  nodes.endRun();
};

const rowCount = (): number => tables.nodes.stats().entries + tables.upperNodes.stats().entries;

function expectNodes(nodes: CurrentNodes, { rows }: Pick<Model, "rows">): void {
  const isAs = (rlp: Uint8Array | undefined, wanted: Uint8Array): boolean => rlp !== undefined && equalBytes(rlp, wanted);
  const wrong = [...rows].filter(([key, rlp]) => !isAs(nodes.read(hexToBytes(key as `0x${string}`)), rlp));
  expect([wrong, nodes.count(rowCount())]).toEqual([[], rows.size]);
}

describe("the journal of trie nodes", () => {
  it.each([1, 2])("has what was written into it, for the writer and beside it, seed %i", async (seed) => {
    const random = createRandom(100 + seed);
    const model = new Model(seed);
    let writer = new CurrentNodes(tables, true);
    const readers = [new CurrentNodes(tables, false), new CurrentNodes(tables, false)] as const;
    const late = new CurrentNodes(tables, false);
    let commits = 0;
    for (let step = 0; step < 250; step++) {
      const event = random(40);
      if (event === 0) {
        environment.atomically(() => writer.settle());
        expect([writer.isSettled, rowCount()]).toEqual([true, model.rows.size]);
      } else if (event === 1) {
        writer = new CurrentNodes(tables, true); // the program was started again
      } else if (event < 5) {
        const before = model.copy();
        const aborted = (): void =>
          environment.atomically(() => {
            if (event === 2) writer.settle();
            const changes = model.change(6);
            if (event === 3) for (const { key, before: old, rlp } of changes) writer.record(key, old, rlp);
            else record(writer, changes);
            throw new Error("aborted");
          });
        expect(aborted).toThrow("aborted");
        Object.assign(model, before);
        writer.forget();
      } else {
        environment.atomically(() => record(writer, model.change(event < 8 ? 150 : 6)));
        commits++;
      }
      await new Promise(setImmediate); // a reader sees another state of the database
      if (step % 8 === 0) expectNodes(readers[0], model);
      if (step % 50 === 49) for (const nodes of [writer, readers[1]]) expectNodes(nodes, model);
    }
    expectNodes(late, model);
    expect(commits).toBeGreaterThan(190);
  });

  it("keeps 127 commits at most, and no long chains of differences", () => {
    const model = new Model(7);
    const writer = new CurrentNodes(tables, true);
    const differences = new Map<string, number>();
    const sequences = (): Set<number> =>
      new Set(
        [...tables.nodeJournal.keys(new Uint8Array(1))].filter((key) => key[0] !== 0xff).map((key) => readBlockNumber(key, 0)),
      );
    let most = 0;
    for (let commit = 1; commit <= 300; commit++) {
      environment.atomically(() => record(writer, model.change(3)));
      most = Math.max(most, sequences().size);
      for (const { key, version } of nodeVersionsOf(tables.nodeJournal, commit)) {
        const text = bytesToHex(key);
        const count = standsAlone(version) ? 0 : (differences.get(text) ?? 0) + 1;
        differences.set(text, count);
        expect(count).toBeLessThanOrEqual(128); // its part was merged since
      }
    }
    expect(most).toBe(127);
    expectNodes(writer, model);
  });

  it("says so if a commit is missing", () => {
    const model = new Model(8);
    const writer = new CurrentNodes(tables, true);
    for (let commit = 1; commit <= 5; commit++) environment.atomically(() => record(writer, model.change(3)));
    environment.atomically(() => deleteWithPrefix(tables.nodeJournal, blockNumberKey(3), Number.POSITIVE_INFINITY));
    expect(() => new CurrentNodes(tables, false).read(nodeKeyOf(undefined, new Uint8Array(0)))).toThrow(
      "the database is damaged: missing (row run 3 of the journal of trie nodes)",
    );
  });
});

describe("parts of the key space", () => {
  it("are contiguous within a trie, begin with its owner's, and share large tries evenly", () => {
    const path = (...nibbles: number[]): Uint8Array => Uint8Array.from(nibbles);
    expect(partOf(nodeKeyOf(undefined, path()))).toBe(0);
    expect(partOf(nodeKeyOf(undefined, path(3, 4)))).toBe(0x34);
    expect(partOf(nodeKeyOf(undefined, path(3, 4, 9)))).toBe(0x34);
    const owner = bytesOf(1);
    expect(partOf(nodeKeyOf(owner, path(7)))).toBe(owner[0]!);
    const parts = Array.from({ length: PARTS }, (_, pair) => partOf(nodeKeyOf(owner, path(pair >> 4, pair & 15, 2))));
    expect(parts).toEqual(Array.from({ length: PARTS }, (_, pair) => (owner[0]! + pair) % PARTS));
  });
});
