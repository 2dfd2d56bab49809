import type { AccountChange, AccountRecord } from "@rnode/evm";
import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, ZERO_HASH } from "@rnode/primitives";
import type { StateView, StoredAccount } from "@rnode/storage";
import { describe, expect, it } from "vitest";
import { nodeKey, type StateLayer } from "./executed-block.ts";
import { LayeredState, layeredNodes, StateLayers } from "./layered-state.ts";

const A = new Uint8Array(20).fill(0xaa);
const word = (byte: number) => new Uint8Array(32).fill(byte);
const account = (nonce: bigint): AccountRecord => ({ nonce, balance: 0n, codeHash: EMPTY_KECCAK });

const base: StateView = {
  block: { hash: bytesToHex(word(0)), number: 0 },
  readAccount: (address): StoredAccount | undefined => (address[0] === 0xaa ? { ...account(1n), storageRoot: word(1) } : undefined),
  readStorage: (_, slot) => (slot[0] === 1 ? word(0x11) : undefined),
  hasStorage: () => true,
  readCode: () => Uint8Array.of(1),
  readBlockHash: (number) => (number === 0 ? word(0) : undefined),
};

function layer(number: number, change: Partial<AccountChange>, storageRoot?: Uint8Array): StateLayer {
  const full: AccountChange = { address: A, before: undefined, after: account(2n), storageCleared: false, storage: [], ...change };
  return {
    accounts: new Map([
      [bytesToHex(A), { change: full, storage: new Map(full.storage.map(({ slot, after }) => [bytesToHex(slot), after])) }],
    ]),
    codes: new Map([[bytesToHex(word(number)), Uint8Array.of(number)]]),
    storageRoots: new Map(storageRoot === undefined ? [] : [[bytesToHex(A), storageRoot]]),
    nodes: new Map([[nodeKey(undefined, Uint8Array.of(number)), number === 9 ? undefined : Uint8Array.of(number)]]),
    number,
    hash: word(number),
  };
}

const write = (slot: number, after: number) => ({ storage: [{ slot: word(slot), before: ZERO_HASH, after: word(after) }] });
const over = (...newestFirst: StateLayer[]) =>
  new LayeredState({ hash: bytesToHex(word(9)), number: 9 }, base, new StateLayers(newestFirst.reverse()));

describe("LayeredState", () => {
  it("reads the newest value, and what no layer changed from below", () => {
    const state = over(layer(2, { after: account(3n), ...write(2, 0x22) }, word(7)), layer(1, write(2, 0x21), word(6)));
    expect(state.readAccount(A)).toMatchObject({ nonce: 3n, storageRoot: word(7) });
    expect(state.readStorage(A, word(2))).toEqual(word(0x22));
    expect(state.readStorage(A, word(1))).toEqual(word(0x11));
    expect(state.readStorage(A, word(3))).toBeUndefined();
    expect(state.readAccount(new Uint8Array(20))).toBeUndefined();
    expect(state.readCode(word(1))).toEqual(Uint8Array.of(1));
    expect([0, 1, 2, 3].map((number) => state.readBlockHash(number)?.[0])).toEqual([0, 1, 2, undefined]);
  });

  it("keeps the root of storage that a layer did not touch", () => {
    expect(over(layer(1, { after: account(5n) })).readAccount(A)).toMatchObject({ nonce: 5n, storageRoot: word(1) });
  });

  it.each<[string, Partial<AccountChange>]>([
    ["an account that is gone", { after: undefined }],
    ["storage that was cleared", { storageCleared: true }],
  ])("shows nothing of the slots below %s", (_, change) => {
    expect(over(layer(1, change)).readStorage(A, word(1))).toBeUndefined();
    expect(over(layer(2, write(5, 5)), layer(1, change)).readStorage(A, word(1))).toBeUndefined();
    expect(over(layer(1, { ...change, ...write(4, 4) })).readStorage(A, word(4))).toEqual(word(4));
  });

  it("starts the storage of an account that is created again from the empty root", () => {
    expect(over(layer(1, { after: undefined })).readAccount(A)).toBeUndefined();
    expect(over(layer(2, {}), layer(1, { after: undefined })).readAccount(A)!.storageRoot).toEqual(EMPTY_TRIE_ROOT);
    expect(over(layer(2, {}, word(8)), layer(1, { after: undefined })).readAccount(A)!.storageRoot).toEqual(word(8));
  });
});

describe("StateLayers", () => {
  it("show readers of a lower depth nothing of what is put on top", () => {
    const layers = new StateLayers([layer(1, { after: account(5n), ...write(2, 0x21) }, word(6))]);
    const block = { hash: bytesToHex(word(1)), number: 1 };
    const before = new LayeredState(block, base, layers);
    const nodesBefore = layeredNodes({ readNode: () => undefined }, layers);
    layers.add(layer(2, { after: account(7n), ...write(2, 0x22) }, word(7)));
    layers.add(layer(3, { after: undefined }));
    expect(before.readAccount(A)).toMatchObject({ nonce: 5n, storageRoot: word(6) });
    expect(before.readStorage(A, word(2))).toEqual(word(0x21));
    expect([1, 2].map((number) => before.readBlockHash(number)?.[0])).toEqual([1, undefined]);
    expect(nodesBefore.readNode(undefined, Uint8Array.of(2), ZERO_HASH)).toBeUndefined();
    const middle = new LayeredState(block, base, layers, 2);
    expect(middle.readAccount(A)).toMatchObject({ nonce: 7n, storageRoot: word(7) });
    expect(middle.readStorage(A, word(2))).toEqual(word(0x22));
    expect(new LayeredState(block, base, layers).readAccount(A)).toBeUndefined();
    expect(new LayeredState(block, base, layers).readStorage(A, word(2))).toBeUndefined();
    expect(new LayeredState(block, base, layers, 0).readAccount(A)).toMatchObject({ nonce: 1n });
  });
});

describe("layeredNodes", () => {
  it("finds the newest node, and knows deleted ones", () => {
    const nodes = layeredNodes(
      { readNode: () => Uint8Array.of(0xff) },
      new StateLayers([layer(1, {}), layer(2, {}), layer(9, {})]),
    );
    const read = (nibble: number) => nodes.readNode(undefined, Uint8Array.of(nibble), ZERO_HASH);
    expect(read(2)).toEqual(Uint8Array.of(2));
    expect(read(9)).toBeUndefined();
    expect(read(3)).toEqual(Uint8Array.of(0xff));
    expect(nodes.readNode(word(1), Uint8Array.of(2), ZERO_HASH)).toEqual(Uint8Array.of(0xff));
  });
});
