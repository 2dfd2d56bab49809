import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, hexToBytes, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { encodeAccount, encodeStorageValue, type TrieNodeChange, updateTrie } from "@rnode/trie";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Environment } from "../database/environment.ts";
import { openTables } from "../schema.ts";
import { writeOldNodes } from "../testing/old-format.ts";
import { nodeVersionsOf } from "./node-history.ts";
import { NodeTables, nodeKeyOf } from "./node-tables.ts";

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
  root: Uint8Array;
}
const trieOf = (owner: Uint8Array | undefined, keys: number, changes: number): Trie => ({
  owner,
  keys,
  changes,
  root: EMPTY_TRIE_ROOT,
});
const tries = [trieOf(undefined, 1500, 25), trieOf(bytesOf(1), 600, 15), trieOf(bytesOf(2), 5, 2), trieOf(bytesOf(3), 40, 12)];
const CLEARED = tries[3]!;

/** node key → its versions: the block from which on it was so, ascending */
const model = new Map<string, { from: number; rlp: Uint8Array | undefined }[]>();

function modelAt(versions: { from: number; rlp: Uint8Array | undefined }[], number: number): Uint8Array | undefined {
  return versions.findLast(({ from }) => from <= number)?.rlp;
}

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
    const key = bytesOf(number === 0 ? i : random(trie.keys), 7);
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
  nodes = new NodeTables(tables);
  for (let number = 0; number <= BLOCKS; number++) {
    const block = makeBlock(number);
    environment.atomically(() => (number === 0 ? nodes.writeGenesis(block.nodes) : nodes.apply([block])));
  }
});
afterAll(async () => {
  await environment.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("old nodes", () => {
  it("are read as they were after every block", () => {
    expectAll([0, 31, 50, 62, 79], BLOCKS);
  });

  it("take few bytes: no hash of a leaf, and of other nodes those of every other level", () => {
    let bytes = 0;
    const forms = new Set<number>();
    for (let number = 1; number <= BLOCKS; number++) {
      for (const { version } of nodeVersionsOf(tables.nodeHistory, number)) {
        bytes += version.length;
        forms.add(version[0]! >= 0x10 ? version[0]! & 0xf0 : version[0]!);
      }
    }
    expect([0, 1, 3, 4, 5, 0x10, 0x20, 0x30].filter((form) => !forms.has(form))).toEqual([]);
    const changedKeys = BLOCKS * tries.reduce((sum, { changes }) => sum + changes, 0);
    expect(bytes / changedKeys).toBeLessThan(100); // with all hashes in them: 180
  });

  it("are read beside those that an earlier program wrote", () => {
    environment.atomically(() => writeOldNodes(tables, 1, 36, BLOCKS));
    expect([...nodeVersionsOf(tables.nodeHistory, 36)].every(({ version }) => version[0]! <= 2)).toBe(true);
    expectAll([0, 30, 31, 36], BLOCKS);
  });

  it("are what unwinding leaves, also of blocks of an earlier program", () => {
    for (const [from, target] of [
      [BLOCKS, 60],
      [60, 30],
    ] as const) {
      environment.atomically(() => {
        for (let number = from; number > target; number--) nodes.unwind(number);
      });
      expectAll([target - 1, target], target);
    }
  });
});
