import { bytesToHex, compareBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, keccak256 } from "@rnode/primitives";
import { encodeAccount, encodeStorageValue, SortedTrieBuilder } from "@rnode/trie";
import { nodeKeyOf } from "./nodes/node-tables.ts";
import type { Tables } from "./schema.ts";
import { decodeAccountValue } from "./state/account-value.ts";

export interface VerifiedTables {
  readonly stateRoot: Uint8Array;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly nodes: number;
  readonly problems: readonly string[];
}

const ADDRESS_SIZE = 20;
const MAX_PROBLEMS = 100;
const ALL_KEYS = new Uint8Array(1);

/** Recomputes what the state root commits to from the flat state, and compares everything that is stored in addition. */
export function verifyTables(tables: Tables, maxEntriesInMemory: number): VerifiedTables {
  return new Verifier(tables, maxEntriesInMemory).run();
}

interface Leaf {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

class Verifier {
  readonly #tables: Tables;
  readonly #maxEntries: number;
  readonly #problems: string[] = [];
  #slots = 0;
  #nodes = 0;

  constructor(tables: Tables, maxEntries: number) {
    this.#tables = tables;
    this.#maxEntries = maxEntries;
  }

  run(): VerifiedTables {
    const accounts = this.#tables.accounts.stats().entries;
    const stateRoot = this.#root(undefined, accounts, () => this.#accountLeaves());
    this.#verifyStorage();
    this.#compareCount("storage", this.#slots, "rows that belong to accounts with storage");
    this.#compareCount("nodes", this.#nodes, "nodes of the recomputed tries");
    const codes = this.#verifyCodes();
    return { stateRoot, accounts, slots: this.#slots, codes, nodes: this.#nodes, problems: this.#problems };
  }

  #report(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  #compareCount(table: "storage" | "nodes", expected: number, what: string): void {
    const { entries } = this.#tables[table].stats();
    if (entries !== expected) this.#report(`table ${table} has ${entries} rows, there are ${expected} ${what}`);
  }

  *#accountLeaves(): Generator<Leaf> {
    for (const { key, value } of this.#tables.accounts.range(ALL_KEYS)) {
      yield { key: keccak256(key), value: encodeAccount(decodeAccountValue(value)) };
    }
  }

  *#slotLeaves(address: Uint8Array): Generator<Leaf> {
    for (const { key, value } of this.#tables.storage.withPrefix(address)) {
      yield { key: keccak256(key.subarray(ADDRESS_SIZE)), value: encodeStorageValue(value) };
    }
  }

  #verifyStorage(): void {
    for (const { key: address, value } of this.#tables.accounts.range(ALL_KEYS)) {
      const { storageRoot, codeHash } = decodeAccountValue(value);
      if (!isEmptyHash(codeHash) && !this.#tables.codes.has(codeHash)) {
        this.#report(`code ${bytesToHex(codeHash)} of ${bytesToHex(address)} is missing`);
      }
      if (equalBytes(storageRoot, EMPTY_TRIE_ROOT)) continue;
      let count = 0;
      for (const _ of this.#tables.storage.withPrefix(address)) count++;
      this.#slots += count;
      const root = this.#root(keccak256(address), count, () => this.#slotLeaves(address));
      if (!equalBytes(root, storageRoot)) {
        this.#report(`storage root of ${bytesToHex(address)} is ${bytesToHex(storageRoot)}, recomputed ${bytesToHex(root)}`);
      }
    }
  }

  #verifyCodes(): number {
    let count = 0;
    for (const { key, value } of this.#tables.codes.range(ALL_KEYS)) {
      count++;
      if (!equalBytes(keccak256(value), key)) this.#report(`code ${bytesToHex(key)} has another hash`);
    }
    return count;
  }

  /**
   * The root of leaves in any order. They are sorted by the first byte of their key into as many passes as the memory limit requires.
   *
   * @param count the number of leaves
   */
  #root(owner: Uint8Array | undefined, count: number, leaves: () => Iterable<Leaf>): Uint8Array {
    const builder = new SortedTrieBuilder((path, rlp) => {
      this.#nodes++;
      const stored = this.#tables.nodes.read(nodeKeyOf(owner, path));
      if (stored === undefined) this.#report(`trie node ${describeNode(owner, path)} is missing`);
      else if (!equalBytes(stored, rlp)) this.#report(`trie node ${describeNode(owner, path)} differs`);
    });
    const firstBytesPerPass = Math.max(1, Math.min(256, Math.floor((256 * this.#maxEntries) / Math.max(1, count))));
    for (let from = 0; from < 256; from += firstBytesPerPass) {
      const kept: Leaf[] = [];
      for (const leaf of leaves()) {
        if (leaf.key[0]! >= from && leaf.key[0]! < from + firstBytesPerPass) kept.push(leaf);
      }
      kept.sort((a, b) => compareBytes(a.key, b.key));
      for (const { key, value } of kept) builder.add(key, value);
    }
    return builder.finish();
  }
}

function isEmptyHash(codeHash: Uint8Array): boolean {
  return equalBytes(codeHash, EMPTY_KECCAK);
}

function describeNode(owner: Uint8Array | undefined, path: Uint8Array): string {
  return `${owner === undefined ? "of the accounts" : `of ${bytesToHex(owner)}`} at ${Array.from(path, (nibble) => nibble.toString(16)).join("")}`;
}
