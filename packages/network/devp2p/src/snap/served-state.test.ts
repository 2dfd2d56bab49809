import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, type Clock, concatBytes, EMPTY_KECCAK, equalBytes, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { type ChainDatabase, openChainStore } from "@rnode/storage";
import { RandomChain } from "@rnode/storage/testing";
import { encodeAccount, encodeStorageValue, nodeAtPath, type TrieEntry, verifyRange } from "@rnode/trie";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RangeRow } from "./messages.ts";
import { nibblesOfPath, pathOfNibbles } from "./node-path.ts";
import { ServedState } from "./served-state.ts";
import { decodeSlimAccount } from "./slim-account.ts";

const FIRST = new Uint8Array(32);
const LAST = new Uint8Array(32).fill(0xff);
const MANY = 1 << 20;
const random = createRandom(5);
const folder = mkdtempSync(join(tmpdir(), "served-state-"));
const stopped: Pick<Clock, "monotonicMs"> = { monotonicMs: () => 0 };

let store: ChainDatabase;
let chain: RandomChain;
let served: ServedState;
beforeAll(() => {
  store = openChainStore(folder, { sync: "interval" });
  chain = new RandomChain(store, 23);
  chain.run(30);
  chain.extendBy(135);
  // as the network does, beside the writer
  served = new ServedState(openChainStore(folder, { readOnly: true }), stopped);
});
afterAll(async () => {
  await store.close();
});

const numbers = (): number[] => [0, 1, 2, 17, 127].map((depth) => chain.blocks.length - 1 - depth);
const rootAt = (number: number): Uint8Array => chain.blocks[number]!.commit.block.header.stateRoot;
const byHash = (a: TrieEntry, b: TrieEntry): number => Buffer.compare(a.key, b.key);

/** The entries of both kinds of tries by the model. */
function accountsAt(number: number): TrieEntry[] {
  const view = store.stateAt(number)!;
  return [...chain.blocks[number]!.model.keys()]
    .map((address) => hexToBytes(address))
    .map((address) => ({ key: keccak256(address), value: encodeAccount(view.readAccount(address)!) }))
    .toSorted(byHash);
}

function slotsAt(number: number): { readonly owner: Uint8Array; readonly root: Uint8Array; readonly slots: TrieEntry[] }[] {
  return [...chain.blocks[number]!.model]
    .filter(([, { storage }]) => storage.size > 0)
    .map(([address, { storage }]) => ({
      owner: keccak256(hexToBytes(address)),
      root: store.stateAt(number)!.readAccount(hexToBytes(address))!.storageRoot,
      slots: [...storage]
        .map(([slot, value]) => ({ key: keccak256(hexToBytes(slot)), value: encodeStorageValue(value) }))
        .toSorted(byHash),
    }));
}

const accountEntries = (rows: readonly RangeRow[]): TrieEntry[] =>
  rows.map(({ hash, body }) => ({ key: hash, value: encodeAccount(decodeSlimAccount(body)) }));
const slotEntries = (rows: readonly RangeRow[]): TrieEntry[] => rows.map(({ hash, body }) => ({ key: hash, value: body }));
const originOf = (entries: readonly TrieEntry[]): Uint8Array => {
  const dice = random(4);
  if (dice === 0 || entries.length === 0) return FIRST;
  return dice === 1 ? keccak256(Uint8Array.of(random(256))) : entries[random(entries.length)]!.key;
};
const from = (entries: readonly TrieEntry[], origin: Uint8Array): TrieEntry[] =>
  entries.filter(({ key }) => Buffer.compare(key, origin) >= 0);

describe("the states after recent blocks", () => {
  it("are given as proven ranges of accounts, from any hash on, up to a size or a hash", () => {
    for (const number of numbers()) {
      const root = rootAt(number);
      const all = accountsAt(number);
      for (let i = 0; i < 30; i++) {
        const origin = originOf(all);
        const limit = random(2) === 0 ? LAST : originOf(all);
        const bytes = random(2) === 0 ? MANY : random(600);
        const { accounts, proof } = served.accountRange({ root, origin, limit, bytes });
        const entries = accountEntries(accounts);
        const rest = from(all, origin);
        expect(entries).toEqual(rest.slice(0, entries.length));
        expect(verifyRange(root, { origin, entries, proof })).toMatchObject({
          hasMore: entries.length > 0 && rest.length > entries.length,
        });
        expect(entries.length > 0).toBe(rest.length > 0);
        const isAtLimit = entries.length > 0 && Buffer.compare(entries.at(-1)!.key, limit) >= 0;
        if (bytes === MANY) expect(isAtLimit || entries.length === rest.length).toBe(true);
        if (entries.length > 1) expect(Buffer.compare(entries.at(-2)!.key, limit)).toBeLessThan(0);
      }
    }
  });

  it("are given as whole storages of several accounts, and a proven part of the last one", () => {
    for (const number of numbers()) {
      const root = rootAt(number);
      const owners = slotsAt(number);
      for (let i = 0; i < 30; i++) {
        const chosen = owners.filter(() => random(2) === 0);
        const origin = random(2) === 0 || chosen.length === 0 ? new Uint8Array(0) : originOf(chosen[0]!.slots);
        const limit = random(2) === 0 || chosen.length === 0 ? new Uint8Array(0) : originOf(chosen[0]!.slots);
        const bytes = random(2) === 0 ? MANY : random(600);
        const { slots, proof } = served.storageRanges({ root, accounts: chosen.map(({ owner }) => owner), origin, limit, bytes });
        for (const [index, rows] of slots.entries()) {
          const start = index === 0 && origin.length > 0 ? origin : FIRST;
          const { root: storageRoot, slots: wanted } = chosen[index]!;
          const range = { origin: start, entries: slotEntries(rows), proof: index === slots.length - 1 ? proof : [] };
          const rest = from(wanted, start);
          expect(range.entries).toEqual(rest.slice(0, rows.length));
          expect(verifyRange(storageRoot, range)).toMatchObject({ hasMore: rows.length > 0 && rest.length > rows.length });
        }
        if (bytes === MANY && proof.length === 0) expect(slots).toHaveLength(chosen.length);
        if (chosen.length > 0 && from(chosen[0]!.slots, origin).length > 0) expect(slots.length).toBeGreaterThan(0);
      }
    }
  });

  it("have their trie nodes by path, and nothing at other paths", () => {
    for (const number of numbers()) {
      const root = rootAt(number);
      const trie = store.trieNodesAt(number)!;
      const pathsOf = (entries: readonly TrieEntry[]): Uint8Array[] =>
        entries.flatMap(({ key }) =>
          [0, 1, 2, 3, 4].map((depth) =>
            Uint8Array.from({ length: depth }, (_, i) => (i % 2 === 0 ? key[i >> 1]! >> 4 : key[i >> 1]! & 15)),
          ),
        );
      const isNode = (node: Uint8Array | undefined): node is Uint8Array => node !== undefined;
      const paths = pathsOf(accountsAt(number));
      const found = served.trieNodes({ root, bytes: MANY, paths: paths.map((path) => [pathOfNibbles(path)]) });
      expect(found).toEqual(paths.map((path) => nodeAtPath(trie, undefined, root, path)).filter(isNode));
      expect(found.length).toBeGreaterThan(10);
      const { owner, root: storageRoot, slots } = slotsAt(number)[0]!;
      const inside = pathsOf(slots);
      const sets = [[owner, ...inside.map(pathOfNibbles)]];
      expect(served.trieNodes({ root, bytes: MANY, paths: sets })).toEqual(
        inside.map((path) => nodeAtPath(trie, owner, storageRoot, path)).filter(isNode),
      );
    }
    const root = rootAt(numbers()[0]!);
    const odd = [Uint8Array.of(0x05), Uint8Array.of(0xff), new Uint8Array(40)].map((path) => [path]);
    expect(served.trieNodes({ root, bytes: MANY, paths: odd })).toEqual([]);
    expect(served.trieNodes({ root, bytes: MANY, paths: [[keccak256(FIRST), Uint8Array.of(0)]] })).toEqual([]);
  });

  it("end an answer after its time, with at least a row", () => {
    let nowMs = 0;
    const slow = new ServedState(store, { monotonicMs: () => (nowMs += 1_000) });
    const root = rootAt(numbers()[0]!);
    const trie = store.trieNodesAt(numbers()[0]!)!;
    const path = Uint8Array.of(0);
    const paths = Array.from({ length: 500 }, () => [path]);
    const nodes = slow.trieNodes({ root, bytes: MANY, paths });
    expect(nodes).toHaveLength(64);
    expect(nodes[0]).toEqual(nodeAtPath(trie, undefined, root, new Uint8Array(0)));
  });

  it("have codes by hash, in the order of the request, without unknown ones", () => {
    const hashes = new Map<Hex, Uint8Array>();
    for (const { codeHash } of chain.head.model.values()) hashes.set(bytesToHex(codeHash), codeHash);
    const wanted = [...hashes.values(), keccak256(LAST), EMPTY_KECCAK];
    const codes = served.byteCodes({ hashes: wanted, bytes: MANY });
    expect(codes.map((code) => bytesToHex(keccak256(code)))).toEqual(
      wanted.filter((hash) => !equalBytes(hash, keccak256(LAST))).map(bytesToHex),
    );
    const full = wanted.filter((hash) => !equalBytes(hash, EMPTY_KECCAK));
    expect(served.byteCodes({ hashes: full, bytes: 1 })).toHaveLength(1);
  });

  it("are no longer given after 128 blocks or a reorganisation, nor ones that never were", () => {
    const head = chain.blocks.length - 1;
    const bytes = MANY;
    const isThere = (root: Uint8Array): boolean => {
      const { accounts, proof } = served.accountRange({ root, origin: FIRST, limit: LAST, bytes });
      expect(accounts.length > 0).toBe(proof.length > 0);
      return accounts.length > 0;
    };
    const [unwound, old] = [rootAt(head), rootAt(head - 127)];
    expect(isThere(unwound)).toBe(true);
    expect(isThere(old)).toBe(true);
    expect(isThere(rootAt(head - 129))).toBe(false);
    expect(isThere(keccak256(LAST))).toBe(false);
    const [owner] = slotsAt(head).map((account) => account.owner);
    const unknown = { root: keccak256(LAST), accounts: [owner!], origin: FIRST, limit: LAST, bytes };
    expect(served.storageRanges(unknown)).toEqual({ slots: [], proof: [] });
    expect(served.storageRanges({ ...unknown, root: unwound, accounts: [keccak256(owner!)] })).toEqual({ slots: [], proof: [] });
    expect(served.trieNodes({ root: keccak256(LAST), bytes, paths: [[Uint8Array.of(0)]] })).toEqual([]);
    chain.reorganize(3, 5);
    expect(isThere(unwound)).toBe(false);
    expect(isThere(rootAt(chain.blocks.length - 1))).toBe(true);
    expect(isThere(old)).toBe(false);
  });
});

it("paths are hex-prefixed as nodes have them", () => {
  for (let length = 0; length < 64; length++) {
    const nibbles = Uint8Array.from({ length }, () => random(16));
    expect(nibblesOfPath(pathOfNibbles(nibbles))).toEqual(nibbles);
  }
  expect(bytesToHex(pathOfNibbles(Uint8Array.of(1, 2, 3)))).toBe("0x1123");
  expect(bytesToHex(pathOfNibbles(Uint8Array.of(0, 15)))).toBe("0x000f");
  expect(nibblesOfPath(concatBytes(Uint8Array.of(0x20), FIRST.subarray(0, 1)))).toEqual(Uint8Array.of(0, 0));
});
