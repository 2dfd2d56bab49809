import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex, compareBytes, EMPTY_TRIE_ROOT, hexToBytes, keccak256 } from "@rnode/primitives";
import { createProof, iterateTrie, readTrie, SortedTrieBuilder, type TrieNodeReader, updateTrie, verifyProof } from "@rnode/trie";

/*
 * `TrieTests` of ethereum/tests. Every case is run in up to four ways: one update per step; all steps in one update; the same
 * backwards if the order does not matter; and with hashed keys also through the sorted builder. `trietestnextprev.json` tests the
 * neighbours of a key.
 */

export interface TrieTestReport {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly string[];
}

interface Step {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

interface TrieCase {
  readonly in: Readonly<Record<string, string | null>> | readonly (readonly [string, string | null])[];
  readonly root: string;
}

const toBytes = (text: string): Uint8Array => (text.startsWith("0x") ? hexToBytes(text) : new TextEncoder().encode(text));

function stepsOf({ in: input }: TrieCase, isSecure: boolean): Step[] {
  const pairs = Array.isArray(input) ? (input as readonly (readonly [string, string | null])[]) : Object.entries(input);
  return pairs.map(([key, value]) => ({
    key: isSecure ? keccak256(toBytes(key)) : toBytes(key),
    value: value === null || value === "" ? undefined : toBytes(value),
  }));
}

class MemoryNodes implements TrieNodeReader {
  readonly #byPath = new Map<string, Uint8Array>();
  root: Uint8Array = EMPTY_TRIE_ROOT;

  readNode(_owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    return this.#byPath.get(bytesToHex(path));
  }

  apply(steps: readonly Step[]): void {
    const update = updateTrie(this, undefined, this.root, steps);
    for (const { path, rlp } of update.nodes) {
      if (rlp === undefined) this.#byPath.delete(bytesToHex(path));
      else this.#byPath.set(bytesToHex(path), rlp);
    }
    this.root = update.root;
  }
}

function finalEntries(steps: readonly Step[]): { key: Uint8Array; value: Uint8Array }[] {
  const entries = new Map<string, Uint8Array>();
  for (const { key, value } of steps) {
    if (value === undefined) entries.delete(bytesToHex(key));
    else entries.set(bytesToHex(key), value);
  }
  return [...entries].map(([key, value]) => ({ key: hexToBytes(key), value })).sort((a, b) => compareBytes(a.key, b.key));
}

/** The failures; empty if there are none. */
function checkCase(test: TrieCase, isSecure: boolean): string[] {
  const steps = stepsOf(test, isSecure);
  const faults: string[] = [];
  const expectRoot = (way: string, root: Uint8Array): void => {
    if (bytesToHex(root) !== test.root.toLowerCase()) faults.push(`${way}: root ${bytesToHex(root)}, expected ${test.root}`);
  };
  const single = new MemoryNodes();
  for (const step of steps) single.apply([step]);
  expectRoot("step by step", single.root);

  const batch = new MemoryNodes();
  batch.apply(steps);
  expectRoot("in one batch", batch.root);

  if (!Array.isArray(test.in)) {
    const reversed = new MemoryNodes();
    for (const step of steps.toReversed()) reversed.apply([step]);
    expectRoot("backwards", reversed.root);
  }

  const entries = finalEntries(steps);
  if (isSecure) {
    const builder = new SortedTrieBuilder();
    for (const { key, value } of entries) builder.add(key, value);
    expectRoot("sorted", builder.finish());
  }
  for (const { key, value } of entries) {
    const read = readTrie(single, undefined, single.root, key);
    const proven = verifyProof(single.root, key, createProof(single, undefined, single.root, key));
    for (const [way, found] of [
      ["read", read],
      ["proof", proven],
    ] as const) {
      if (found === undefined || compareBytes(found, value) !== 0) faults.push(`${way} of ${bytesToHex(key)} differs`);
    }
  }
  return faults;
}

interface NeighbourCase {
  readonly in: readonly string[];
  /** a key and the entries before and after it; empty: none */
  readonly tests: readonly (readonly [key: string, previous: string, next: string])[];
}

/** Our trie's keys have 32 bytes; appended zeros do not change their order. */
function paddedKey(text: string): Uint8Array {
  const key = new Uint8Array(32);
  key.set(toBytes(text));
  return key;
}

function checkNeighbours({ in: keys, tests }: NeighbourCase): string[] {
  const trie = new MemoryNodes();
  trie.apply(keys.map((key) => ({ key: paddedKey(key), value: toBytes(key) })));
  const text = (value: Uint8Array | undefined): string => new TextDecoder().decode(value);
  const faults: string[] = [];
  for (const [keyText, previous, next] of tests) {
    const key = paddedKey(keyText);
    let before: Uint8Array | undefined;
    for (const entry of iterateTrie(trie, undefined, trie.root, new Uint8Array(32))) {
      if (compareBytes(entry.key, key) < 0) before = entry.value;
    }
    let after: Uint8Array | undefined;
    for (const entry of iterateTrie(trie, undefined, trie.root, key)) {
      if (compareBytes(entry.key, key) === 0) continue;
      after = entry.value;
      break;
    }
    if (text(before) !== previous) faults.push(`before "${keyText}": "${text(before)}", expected "${previous}"`);
    if (text(after) !== next) faults.push(`after "${keyText}": "${text(after)}", expected "${next}"`);
  }
  return faults;
}

/** @param folder the suite's `TrieTests`, unpacked */
export function runTrieTests(folder: string): TrieTestReport {
  const failures: string[] = [];
  let passed = 0;
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  for (const file of files.sort()) {
    const cases = JSON.parse(readFileSync(join(folder, file), "utf8")) as Record<string, TrieCase>;
    for (const [name, test] of Object.entries(cases)) {
      const faults =
        file === "trietestnextprev.json"
          ? checkNeighbours(test as unknown as NeighbourCase)
          : checkCase(test, /secure/i.test(file));
      if (faults.length === 0) passed++;
      else failures.push(...faults.map((fault) => `${file} ${name} ${fault}`));
    }
  }
  return { passed, failures, skipped: [] };
}
