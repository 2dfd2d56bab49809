import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, CodedError, compareBytes, EMPTY_KECCAK, keccak256, padBytesLeft, uint64ToBytes } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import type { Block } from "@rnode/protocol";
import { type ChainDatabase, type GenesisRows, openChainStore, type StateRun } from "@rnode/storage";
import { describe, expect, it } from "vitest";
import { GenesisState } from "./genesis-state.ts";
import { PackedWrites, unpackWrites } from "./packed-writes.ts";
import { sharedState } from "./sorted-rows.ts";
import { type ComputedRoots, type SortedAccount, type SortedSlot, type SortedState, SortedStateRun } from "./sorted-state.ts";

const hash = (seed: number): Uint8Array => keccak256(uint64ToBytes(seed));
const code = (seed: number): Uint8Array => Uint8Array.of(0x60, seed & 3, 0xff);
const WATCHED = hash(7);

interface Rows {
  readonly accounts: readonly SortedAccount[];
  readonly slots: readonly SortedSlot[];
}

/** Accounts, of which each fourth has code and slots, one of them many. */
function rowsOf(count: number): Rows {
  const random = createRandom(count);
  const accounts = Array.from({ length: count }, (_, seed) => ({
    addressHash: hash(seed),
    nonce: BigInt(random(300)),
    balance: BigInt(random(1000)) * 10n ** 17n,
    codeHash: seed % 4 === 3 ? keccak256(code(seed)) : EMPTY_KECCAK,
  }));
  const slots = accounts.flatMap(({ addressHash }, seed) =>
    seed % 4 !== 3
      ? []
      : Array.from({ length: seed === 7 ? 3 * count : random(5) }, (_, slot) => ({
          addressHash,
          slotHash: hash(1_000_000 + slot),
          value: Uint8Array.of(1 + random(255), random(256)),
        })),
  );
  return {
    accounts: accounts.sort((a, b) => compareBytes(a.addressHash, b.addressHash)),
    slots: slots.sort((a, b) => compareBytes(a.addressHash, b.addressHash) || compareBytes(a.slotHash, b.slotHash)),
  };
}

const stateOf = ({ accounts, slots }: Rows): SortedState => ({
  accounts: () => accounts,
  slots: () => slots,
  code: (codeHash) => [0, 1, 2, 3].map(code).find((bytes) => compareBytes(keccak256(bytes), codeHash) === 0),
});

/** The state with all rows in memory, which has the right root. */
function genesisState({ accounts, slots }: Rows, memoryBytes?: number): GenesisState {
  const state = new GenesisState({ memoryBytes });
  for (const seed of [0, 1, 2, 3]) state.addCode(code(seed));
  for (const { addressHash, ...account } of accounts) state.addHashedAccount(addressHash, account);
  for (const { addressHash, slotHash, value } of slots) state.addHashedSlot(addressHash, slotHash, padBytesLeft(value, 32));
  return state;
}

const blockOf = (stateRoot: Uint8Array): Block => ({
  header: {
    parentHash: new Uint8Array(32),
    ommersHash: new Uint8Array(32),
    beneficiary: new Uint8Array(20),
    stateRoot,
    transactionsRoot: new Uint8Array(32),
    receiptsRoot: new Uint8Array(32),
    logsBloom: new Uint8Array(256),
    difficulty: 0n,
    number: 0,
    gasLimit: 0n,
    gasUsed: 0n,
    timestamp: 0,
    extraData: new Uint8Array(0),
    mixHash: new Uint8Array(32),
    nonce: new Uint8Array(8),
  },
  transactions: [],
  ommers: [],
});
const BLOCK_HASH = hash(0);

const newStore = (): ChainDatabase =>
  openChainStore(join(mkdtempSync(join(tmpdir(), "rnode-sorted-state-")), "db"), { sync: "interval" });

/** All rows of the state, as text. */
const contentOf = (store: ChainDatabase): string[] =>
  [...store.stateRows(store.head()!)].map((row) =>
    row.kind === "slot"
      ? `${bytesToHex(row.owner)} ${bytesToHex(row.hash)} ${bytesToHex(row.value)}`
      : `${bytesToHex(row.hash)} ${row.account.nonce} ${row.account.balance} ${bytesToHex(row.account.codeHash)} ${bytesToHex(row.account.storageRoot)}`,
  );

const rowsBy = ({ counts }: SortedStateRun): number => counts.accounts + counts.slots;

/** A run that ends as if the process were killed, after some rows of its own. */
const killed = (run: SortedStateRun, count: number): StateRun<GenesisRows> => ({
  id: run.id,
  progress: () => run.progress(),
  *steps(rows, progress) {
    let first: number | undefined;
    for (const _ of run.steps(rows, progress)) {
      first ??= rowsBy(run);
      if (rowsBy(run) - first >= count) throw new CodedError("storage/io");
      yield;
    }
  },
});

const runOf = (rows: Rows, found: ComputedRoots[] = [], check: (roots: ComputedRoots) => void = () => {}): SortedStateRun =>
  new SortedStateRun(stateOf(rows), {
    id: hash(rows.accounts.length),
    account: WATCHED,
    check: (roots) => {
      found.push(roots);
      check(roots);
    },
  });

describe("a sorted state", () => {
  it("is written with the root and the nodes of its rows", async () => {
    const rows = rowsOf(500);
    const found: ComputedRoots[] = [];
    const store = newStore();
    const state = genesisState(rows);
    const roots = state.seal(new Uint8Array(20));
    expect(store.writeLargeGenesis(blockOf(roots.stateRoot), BLOCK_HASH, runOf(rows, found))).toBe(false);
    expect(found.map(({ stateRoot }) => bytesToHex(stateRoot))).toEqual([bytesToHex(roots.stateRoot)]);
    const account = contentOf(store).find((row) => row.startsWith(`${bytesToHex(WATCHED)} `) && row.split(" ").length === 5)!;
    expect(account.endsWith(bytesToHex(found[0]!.storageRoot))).toBe(true);
    expect(store.verifyState().problems).toEqual([]);
    const other = newStore();
    other.writeLargeGenesis(blockOf(roots.stateRoot), BLOCK_HASH, (sink) => state.rowsInto(sink));
    expect(contentOf(store)).toEqual(contentOf(other));
    state.close();
    await Promise.all([store.close(), other.close()]);
  });

  it("continues where an earlier run was killed, within and between accounts", { tags: "long" }, async () => {
    const rows = rowsOf(15_000);
    const whole: ComputedRoots[] = [];
    const complete = newStore();
    complete.writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, runOf(rows, whole));
    const store = newStore();
    const found: ComputedRoots[] = [];
    const counts: number[] = [];
    for (const count of [5_000, 17_000, 20_000, 21_000]) {
      const run = runOf(rows);
      expect(() => store.writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, killed(run, count))).toThrow("storage: io");
      expect(store.head()).toBeUndefined();
      counts.push(rowsBy(run));
    }
    expect(counts.at(-1)).toBeGreaterThan(21_000); // the rows of the last run
    expect(store.writeLargeGenesis(blockOf(whole[0]!.stateRoot), BLOCK_HASH, runOf(rows, found))).toBe(false);
    expect(found).toEqual(whole);
    expect(contentOf(store)).toEqual(contentOf(complete));
    expect(store.verifyState().problems).toEqual([]);
    await Promise.all([store.close(), complete.close()]);
  });

  it("is not continued with other rows, nor after a wrong root", async () => {
    const [rows, other] = [rowsOf(15_000), rowsOf(400)];
    const store = newStore();
    expect(() => store.writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, killed(runOf(rows), 40_000))).toThrow("storage: io");
    const wrong = (): never => {
      throw new Error("a wrong root");
    };
    expect(() => store.writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, runOf(other, [], wrong))).toThrow("a wrong root");
    const found: ComputedRoots[] = [];
    expect(store.writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, runOf(other, found))).toBe(false);
    expect(contentOf(store)).toHaveLength(other.accounts.length + other.slots.length);
    await store.close();
  });

  it("of accounts and slots in any order is the same, and has their addresses and slots", async () => {
    const alloc = Array.from({ length: 300 }, (_, seed) => ({
      address: hash(seed).subarray(0, 20),
      nonce: BigInt(seed),
      balance: 1n,
      code: seed % 3 === 0 ? code(seed) : new Uint8Array(0),
      storage: Array.from({ length: seed % 4 }, (_, slot) => ({
        slot: hash(slot),
        value: padBytesLeft(Uint8Array.of(seed + 1), 32),
      })),
    }));
    const state = GenesisState.of(alloc);
    const { stateRoot } = GenesisState.of(alloc).seal(new Uint8Array(20));
    const store = openChainStore(join(mkdtempSync(join(tmpdir(), "rnode-sorted-state-")), "db"), {
      sync: "interval",
      preimages: true,
    });
    const found: ComputedRoots[] = [];
    const run = new SortedStateRun(state.sorted(), { id: hash(1), account: WATCHED, check: (roots) => void found.push(roots) });
    store.writeLargeGenesis(blockOf(stateRoot), BLOCK_HASH, run);
    expect(found.map((roots) => bytesToHex(roots.stateRoot))).toEqual([bytesToHex(stateRoot)]);
    expect(store.verifyState().problems).toEqual([]);
    expect(store.readPreimage(keccak256(alloc[7]!.address))).toEqual(alloc[7]!.address);
    expect(store.readPreimage(keccak256(hash(2)))).toEqual(hash(2));
    state.close();
    await store.close();
  });

  it("is refused with a row twice", () => {
    const rows = rowsOf(100);
    const [account, slot] = [rows.accounts[50]!, rows.slots[50]!];
    const twice = <T>(all: readonly T[], row: T): T[] => all.flatMap((other) => (other === row ? [row, row] : [other]));
    for (const [changed, reason] of [
      [
        { ...rows, accounts: twice(rows.accounts, account) },
        `account with the hash ${bytesToHex(account.addressHash)} is there twice`,
      ],
      [
        { ...rows, slots: twice(rows.slots, slot) },
        `slot ${bytesToHex(slot.slotHash)} of ${bytesToHex(slot.addressHash)} is there twice`,
      ],
    ] as const) {
      expect(() => newStore().writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, runOf(changed))).toThrow(reason);
    }
  });

  it("is refused without an account of its slots, and without a code", () => {
    const rows = rowsOf(100);
    const without = (account: number): Rows => ({ ...rows, accounts: rows.accounts.filter((_, index) => index !== account) });
    const owners = new Set(rows.slots.map(({ addressHash }) => bytesToHex(addressHash)));
    for (const [index, { addressHash }] of rows.accounts.entries()) {
      if (!owners.has(bytesToHex(addressHash))) continue;
      expect(() => newStore().writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, runOf(without(index)))).toThrow(
        `incomplete: there are slots of the hash ${bytesToHex(addressHash)}, and no such account`,
      );
    }
    const run = new SortedStateRun({ ...stateOf(rows), code: () => undefined }, { id: hash(1), account: WATCHED, check: () => {} });
    expect(() => newStore().writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, run)).toThrow(
      /incomplete: the code 0x\w+ of the account/,
    );
  });
});

it("a state on disk is the same in another thread, packed and unpacked", async () => {
  const rows = rowsOf(3_000);
  const state = genesisState(rows, 1);
  const shared = structuredClone(state.share(true))!;
  const packs = new PackedWrites(100);
  const packed: Uint8Array[] = [];
  const options = { id: hash(1), account: WATCHED, check: () => {} };
  for (const _ of new SortedStateRun(sharedState(shared), options).steps(packs)) packed.push(packs.take());
  packed.push(packs.take());
  const [direct, unpacked] = [newStore(), newStore()];
  direct.writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, runOf(rows));
  const sorted = state.sorted();
  unpacked.writeLargeGenesis(blockOf(hash(1)), BLOCK_HASH, function* (sink) {
    for (const part of packed) yield unpackWrites(part, sink, (codeHash) => sink.code(codeHash, sorted.code(codeHash)!));
  });
  expect(contentOf(unpacked)).toEqual(contentOf(direct));
  expect(unpacked.storageStats().tables).toEqual(direct.storageStats().tables);
  state.close();
  await Promise.all([direct.close(), unpacked.close()]);
});
