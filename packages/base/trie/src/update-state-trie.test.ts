import { MerklePatriciaTrie } from "@ethereumjs/mpt";
import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { decodeAccount, encodeAccount } from "./account-codec.ts";
import type { TrieNodeReader } from "./node-reader.ts";
import { readTrie } from "./proof.ts";
import { encodeStorageValue, type StateTrieChange, type StateTrieUpdate, updateStateTrie } from "./update-state-trie.ts";
import { witnessNodeReader } from "./witness.ts";

const NO_NODES: TrieNodeReader = { readNode: () => undefined };
const ALICE = new Uint8Array(20).fill(0xaa);
const BOB = new Uint8Array(20).fill(0xbb);
const CONTRACT = new Uint8Array(20).fill(0xcc);

const word = (value: number): Uint8Array => {
  const bytes = new Uint8Array(32);
  bytes[31] = value;
  bytes[30] = value >> 8;
  return bytes;
};
const account = (nonce: number, balance: bigint) => ({ nonce: BigInt(nonce), balance, codeHash: EMPTY_KECCAK });
const change = (address: Uint8Array, fields: Partial<StateTrieChange>): StateTrieChange => ({
  address,
  after: account(1, 5n),
  storageCleared: false,
  storage: [],
  ...fields,
});
const slots = (...values: readonly (readonly [number, number])[]): StateTrieChange["storage"] =>
  values.map(([slot, value]) => ({ slot: word(slot), after: word(value) }));

async function storageRoot(...values: readonly (readonly [number, number])[]): Promise<Uint8Array> {
  const trie = new MerklePatriciaTrie();
  for (const [slot, value] of values) await trie.put(keccak256(word(slot)), encodeStorageValue(word(value)));
  return values.length === 0 ? EMPTY_TRIE_ROOT : trie.root();
}

async function stateRoot(accounts: readonly (readonly [Uint8Array, ReturnType<typeof account>, Uint8Array])[]): Promise<string> {
  const trie = new MerklePatriciaTrie();
  for (const [address, fields, root] of accounts)
    await trie.put(keccak256(address), encodeAccount({ ...fields, storageRoot: root }));
  return accounts.length === 0 ? bytesToHex(EMPTY_TRIE_ROOT) : bytesToHex(trie.root());
}

/** The initial state of the cases: an account, a contract with two slots, and a reader of its nodes. */
const START = updateStateTrie(
  NO_NODES,
  EMPTY_TRIE_ROOT,
  [change(ALICE, {}), change(CONTRACT, { after: account(1, 0n), storage: slots([1, 100], [2, 1000]) })],
  () => undefined,
);
const START_NODES = witnessNodeReader(START.nodes.flatMap(({ rlp }) => rlp ?? []));
const startStorageRoot = (address: Uint8Array): Uint8Array | undefined =>
  address === ALICE || address === CONTRACT ? (START.storageRoots.get(bytesToHex(address)) ?? EMPTY_TRIE_ROOT) : undefined;
const apply = (...changes: StateTrieChange[]): StateTrieUpdate =>
  updateStateTrie(START_NODES, START.stateRoot, changes, startStorageRoot);

describe("updateStateTrie", () => {
  it("builds a state from nothing", async () => {
    const root = await storageRoot([1, 100], [2, 1000]);
    expect(START.storageRoots).toEqual(new Map([[bytesToHex(CONTRACT), root]]));
    expect(bytesToHex(START.stateRoot)).toBe(
      await stateRoot([
        [ALICE, account(1, 5n), EMPTY_TRIE_ROOT],
        [CONTRACT, account(1, 0n), root],
      ]),
    );
    const leaf = readTrie(START_NODES, undefined, START.stateRoot, keccak256(CONTRACT));
    expect(decodeAccount(leaf!)).toEqual({ ...account(1, 0n), storageRoot: root });
  });

  const cases: readonly [
    string,
    StateTrieChange[],
    readonly [number, number][] | undefined,
    readonly [Uint8Array, ReturnType<typeof account>][],
  ][] = [
    ["a payment to a new account", [change(BOB, { after: account(0, 9n) })], undefined, [[BOB, account(0, 9n)]]],
    ["an account whose storage stays", [change(CONTRACT, { after: account(2, 3n) })], undefined, [[CONTRACT, account(2, 3n)]]],
    [
      "slots written and emptied",
      [change(CONTRACT, { after: account(1, 0n), storage: slots([1, 0], [3, 7], [9, 0]) })],
      [
        [2, 1000],
        [3, 7],
      ],
      [],
    ],
    ["all slots emptied", [change(CONTRACT, { after: account(1, 0n), storage: slots([1, 0], [2, 0]) })], [], []],
    ["storage cleared", [change(CONTRACT, { after: account(1, 0n), storageCleared: true })], [], []],
    [
      "storage cleared and written",
      [change(CONTRACT, { after: account(1, 0n), storageCleared: true, storage: slots([2, 5]) })],
      [[2, 5]],
      [],
    ],
    [
      "storage cleared and written as it was",
      [change(CONTRACT, { after: account(1, 0n), storageCleared: true, storage: slots([1, 100], [2, 1000]) })],
      [
        [1, 100],
        [2, 1000],
      ],
      [],
    ],
  ];
  it.each(cases)("%s", async (_name, changes, storage, others) => {
    const update = apply(...changes);
    const before: [number, number][] = [
      [1, 100],
      [2, 1000],
    ];
    const root = await storageRoot(...(storage ?? before));
    const accounts = new Map<string, readonly [Uint8Array, ReturnType<typeof account>, Uint8Array]>([
      [bytesToHex(ALICE), [ALICE, account(1, 5n), EMPTY_TRIE_ROOT]],
      [bytesToHex(CONTRACT), [CONTRACT, account(1, 0n), root]],
    ]);
    for (const [address, fields] of others) {
      accounts.set(bytesToHex(address), [address, fields, address === CONTRACT ? root : EMPTY_TRIE_ROOT]);
    }
    expect(bytesToHex(update.stateRoot)).toBe(await stateRoot([...accounts.values()]));
    expect(update.storageRoots).toEqual(storage === undefined ? new Map() : new Map([[bytesToHex(CONTRACT), root]]));
  });

  it("removes accounts, to the empty trie", async () => {
    const gone = { after: undefined, storageCleared: true };
    expect(bytesToHex(apply(change(CONTRACT, gone)).stateRoot)).toBe(await stateRoot([[ALICE, account(1, 5n), EMPTY_TRIE_ROOT]]));
    const empty = apply(change(CONTRACT, gone), change(ALICE, gone));
    expect(empty.stateRoot).toEqual(EMPTY_TRIE_ROOT);
    expect(empty.nodes.every(({ rlp }) => rlp === undefined)).toBe(true);
  });

  it("writes no node when nothing changes", () => {
    const same = change(CONTRACT, { after: account(1, 0n), storage: slots([1, 100]) });
    expect(apply(same)).toEqual({ stateRoot: START.stateRoot, storageRoots: new Map(), nodes: [] });
  });
});
