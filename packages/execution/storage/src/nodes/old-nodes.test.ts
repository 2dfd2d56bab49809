import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, hexToBytes, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { encodeAccount, encodeStorageValue, type TrieNodeChange, updateTrie } from "@rnode/trie";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Environment } from "../database/environment.ts";
import type { Table } from "../database/table.ts";
import { openTables } from "../schema.ts";
import { isLeafNode, isSameKey, type LeafReader } from "./leaf-reader.ts";
import { nodeVersionsOf } from "./node-history.ts";
import { nodeKeyOf } from "./node-key.ts";
import { branchItems } from "./node-shape.ts";
import { NodeTables } from "./node-tables.ts";

/*
 * Tries that are deep enough for every form of a version: an account trie of 1500 accounts, and storage tries of six hundred slots, of a few, and of
 * one that is cleared now and then. The model keeps every version of every node.
 */

const BLOCKS = 80;
const folder = mkdtempSync(join(tmpdir(), "rnode-old-nodes-"));
const random = createRandom(5);
const bytesOf = (...numbers: number[]): Uint8Array => keccak256(Uint8Array.from(numbers.flatMap((n) => [n >> 8, n])));

interface Trie {
  readonly owner: Uint8Array | undefined;
  readonly keys: number;
  readonly changes: number;
  /** first bytes of the keys; `undefined`: any */
  readonly starts: readonly number[] | undefined;
  root: Uint8Array;
}
const trieOf = (owner: Uint8Array | undefined, keys: number, changes: number, starts?: readonly number[]): Trie => ({
  owner,
  keys,
  changes,
  starts,
  root: EMPTY_TRIE_ROOT,
});
const tries = [
  trieOf(undefined, 1500, 25),
  trieOf(bytesOf(1), 600, 15),
  trieOf(bytesOf(2), 5, 2),
  trieOf(bytesOf(3), 180, 12, [0x31, 0x5c]),
  trieOf(bytesOf(4), 160, 40, [0x00, 0x01, 0xa7]), // branches that have all sixteen children now and then
];
const CLEARED = tries[3]!;

/** node key → its versions: the block from which on it was so, ascending */
const model = new Map<string, { from: number; rlp: Uint8Array | undefined }[]>();

function modelAt(versions: { from: number; rlp: Uint8Array | undefined }[], number: number): Uint8Array | undefined {
  return versions.findLast(({ from }) => from <= number)?.rlp;
}

/** the block that the tables are at */
let applied = 0;
const leafAt = (number: number, owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined => {
  const rlp = modelAt(model.get(bytesToHex(nodeKeyOf(owner, path))) ?? [], number);
  return rlp !== undefined && isLeafNode(rlp) ? rlp : undefined;
};
const leaves: LeafReader = {
  read: (owner, path) => leafAt(applied, owner, path),
  readAt(number, owner, path, later) {
    const leaf = leafAt(number, owner, path);
    const same = later ?? leafAt(applied, owner, path);
    if (leaf !== undefined) expect(isSameKey(leaf, same!)).toBe(true);
    return leaf;
  },
};

let environment: Environment;
let tables: ReturnType<typeof openTables>["tables"];
let nodes: NodeTables;

function leafValue(trie: Trie): Uint8Array | undefined {
  if (random(6) === 0) return undefined;
  if (trie.owner !== undefined) return encodeStorageValue(random(3) === 0 ? bytesOf(random(9999)) : Uint8Array.of(1 + random(255)));
  const isContract = random(4) === 0;
  return encodeAccount({
    nonce: BigInt(random(300)),
    balance: BigInt(random(1 << 30)) ** BigInt(random(3)),
    codeHash: isContract ? bytesOf(random(3)) : EMPTY_KECCAK,
    storageRoot: isContract ? bytesOf(random(50)) : EMPTY_TRIE_ROOT,
  });
}

function changesOf(trie: Trie, number: number): TrieNodeChange[] {
  const count = number === 0 ? trie.keys : trie.changes;
  const changes = Array.from({ length: count }, (_, i) => {
    const index = number === 0 ? i : random(trie.keys);
    const key = bytesOf(index, 7);
    if (trie.starts !== undefined) key[0] = trie.starts[index % trie.starts.length]!;
    return { key, value: leafValue(trie) };
  });
  const update = updateTrie(nodes, trie.owner, trie.root, changes);
  trie.root = update.root;
  return [...update.nodes];
}

function makeBlock(number: number): { number: number; nodes: TrieNodeChange[]; clearedOwners: Uint8Array[] } {
  const isCleared = number % 20 === 13;
  const clearedOwners = isCleared ? [CLEARED.owner!] : [];
  if (isCleared) {
    CLEARED.root = EMPTY_TRIE_ROOT;
    const prefix = bytesToHex(nodeKeyOf(CLEARED.owner, new Uint8Array(0)));
    for (const [key, versions] of model) if (key.startsWith(prefix)) versions.push({ from: number, rlp: undefined });
  }
  const changed = tries.flatMap((trie) => (isCleared && trie === CLEARED && number % 40 === 13 ? [] : changesOf(trie, number)));
  for (const { owner, path, rlp } of changed) {
    const key = bytesToHex(nodeKeyOf(owner, path));
    const versions = model.get(key) ?? [];
    model.set(key, versions);
    versions.push({ from: number, rlp: rlp?.slice() });
  }
  return { number, nodes: changed, clearedOwners };
}

function expectAll(numbers: readonly number[], head: number): void {
  for (const number of numbers) {
    let wrong = 0;
    let count = 0;
    for (const [key, versions] of model) {
      if (count++ % 3 !== number % 3) continue;
      const bytes = hexToBytes(key as `0x${string}`);
      const isAccountTrie = bytes[0] === 0;
      const owner = isAccountTrie ? undefined : bytes.subarray(1, 33);
      const read = nodes.readNodeAt(number, head, owner, bytes.subarray(isAccountTrie ? 1 : 33));
      const expected = modelAt(versions, number);
      if ((read && bytesToHex(read)) !== (expected && bytesToHex(expected))) wrong++;
    }
    expect({ number, wrong }).toEqual({ number, wrong: 0 });
  }
}

beforeAll(() => {
  ({ environment, tables } = openTables(folder, {
    readOnly: false,
    mapSizeBytes: undefined,
    sync: "interval",
    syncIntervalMs: 1000,
  }));
  nodes = new NodeTables(tables, true, leaves);
  for (let number = 0; number <= BLOCKS; number++) {
    const block = makeBlock(number);
    environment.atomically(() => (number === 0 ? nodes.writeGenesis(block.nodes) : nodes.apply([block])));
    applied = number;
    if (block.clearedOwners.length > 0 && number % 2 === 0) expectHead(number);
  }
});
afterAll(async () => {
  await environment.close();
});

/** Each node of the head but leaves has one row, and full branches from the second level on have it in the table of upper nodes. */
function expectHead(head: number): void {
  environment.atomically(() => nodes.settle());
  const rowsOf = (table: Table): Map<string, string> =>
    new Map([...table.range(new Uint8Array(1))].map(({ key, value }) => [bytesToHex(key), bytesToHex(value)]));
  const wanted = { nodes: new Map<string, string>(), upperNodes: new Map<string, string>() };
  for (const [key, versions] of model) {
    const rlp = modelAt(versions, head);
    if (rlp === undefined || isLeafNode(rlp)) continue;
    const level = key.length / 2 - 1 - (key.startsWith("0x00") ? 1 : 33);
    wanted[level >= 2 && branchItems(rlp).filter((item) => item.length === 33).length === 16 ? "upperNodes" : "nodes"].set(
      key,
      bytesToHex(rlp),
    );
  }
  for (const name of ["nodes", "upperNodes"] as const) expect(rowsOf(tables[name])).toEqual(wanted[name]);
}

describe("old nodes", () => {
  it("are read as they were after every block", () => {
    expectAll([0, 31, 50, 62, 79], BLOCKS);
    expectHead(BLOCKS);
  });

  it("are of tries whose second level comes to have all children and loses them again", () => {
    let changes = 0;
    const prefix = bytesToHex(nodeKeyOf(bytesOf(4), new Uint8Array(0)));
    for (const [key, versions] of model) {
      if (!key.startsWith(prefix) || key.length !== prefix.length + 4) continue;
      const isFull = versions.map(({ rlp }) => rlp?.length === 532);
      changes += isFull.filter((is, i) => i > 0 && is !== isFull[i - 1]).length;
    }
    expect(changes).toBeGreaterThan(5);
  });

  it("are of a trie that is cleared when its second level has all children", () => {
    const prefix = bytesToHex(nodeKeyOf(CLEARED.owner, new Uint8Array(0)));
    const cleared = [...model].filter(
      ([key, versions]) =>
        key.startsWith(prefix) && versions.some(({ rlp }, i) => rlp?.length === 532 && versions[i + 1]?.rlp === undefined),
    );
    expect(cleared.length).toBeGreaterThan(0);
  });

  it("take few bytes: leaves are not among them, and of other nodes only hashes of every third level", () => {
    let bytes = 0;
    const forms = new Set<number>();
    for (let number = 1; number <= BLOCKS; number++) {
      for (const { version } of nodeVersionsOf(tables.nodeHistory, number)) {
        bytes += version.length;
        forms.add(version[0]! >= 0x10 ? version[0]! & 0xf0 : version[0]!);
      }
    }
    expect([0, 1, 3, 0x10, 0x20, 0x30].filter((form) => !forms.has(form))).toEqual([]);
    const changedKeys = BLOCKS * tries.reduce((sum, { changes }) => sum + changes, 0);
    expect(bytes / changedKeys).toBeLessThan(100); // with all hashes in them: 180
  });

  it("are what unwinding leaves", () => {
    for (const [from, target] of [
      [BLOCKS, 60],
      [60, 30],
    ] as const) {
      environment.atomically(() => {
        for (let number = from; number > target; number--) {
          nodes.unwind(number);
          applied = number - 1;
        }
      });
      expectAll([target - 1, target], target);
      expectHead(target);
    }
  });

  it("are those of the blocks that replace unwound ones", () => {
    for (const versions of model.values()) while (versions.length > 0 && versions.at(-1)!.from > 30) versions.pop();
    for (const trie of tries) {
      const root = modelAt(model.get(bytesToHex(nodeKeyOf(trie.owner, new Uint8Array(0))))!, 30);
      trie.root = root === undefined ? EMPTY_TRIE_ROOT : keccak256(root);
    }
    expectAll([29, 30], 30);
    for (let number = 31; number <= 60; number++) {
      const block = makeBlock(number);
      environment.atomically(() => nodes.apply([block]));
      applied = number;
    }
    expectAll([29, 30, 45, 60], 60);
    expectHead(60);
  });
});
