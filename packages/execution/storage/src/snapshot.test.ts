import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, type Hex, hexToBytes, keccak256, trimBytesLeft } from "@rnode/primitives";
import { encodeAccount, encodeStorageValue, SortedTrieBuilder } from "@rnode/trie";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChainDatabase, OlderBlock, SnapshotBase, SnapshotRows, StatePlace, StateRow } from "./api.ts";
import { openChainStore } from "./lmdb-chain-store.ts";
import { ADDRESSES, RandomChain } from "./testing/random-chain.ts";

const root = mkdtempSync(join(tmpdir(), "rnode-snapshot-"));
let chain: RandomChain;
beforeAll(() => {
  chain = new RandomChain(openChainStore(join(root, "source"), { sync: "interval" }), 11);
  chain.run(60);
});
afterAll(async () => {
  await chain.store.close();
});

const idOf = (number: number) => ({ number, hash: bytesToHex(chain.blocks[number]!.commit.hash) });

/** All rows, read a few at a time. */
function rowsOf(store: ChainDatabase, number: number, atATime: number): StateRow[] {
  const rows: StateRow[] = [];
  let after: StatePlace | undefined;
  for (;;) {
    const before = rows.length;
    for (const row of store.stateRows(idOf(number), after)) {
      rows.push(row);
      if (rows.length - before === atATime) break;
    }
    if (rows.length === before) return rows;
    const last = rows.at(-1)!;
    after = last.kind === "account" ? { account: last.hash } : { account: last.owner, slot: last.hash };
  }
}

const byHash = <T>(map: ReadonlyMap<Hex, T>): (readonly [Hex, T])[] =>
  [...map].map(([key, value]) => [bytesToHex(keccak256(hexToBytes(key))), value] as const).sort(([a], [b]) => (a < b ? -1 : 1));

function expectedRows(number: number): string[] {
  const { model } = chain.blocks[number]!;
  return byHash(model).flatMap(([hash, account]) => [
    `${hash} ${account.nonce} ${account.balance} ${bytesToHex(account.codeHash)}`,
    ...byHash(account.storage).map(([slot, value]) => `${hash} ${slot} ${bytesToHex(trimBytesLeft(value))}`),
  ]);
}

const describeRow = (row: StateRow): string =>
  row.kind === "account"
    ? `${bytesToHex(row.hash)} ${row.account.nonce} ${row.account.balance} ${bytesToHex(row.account.codeHash)}`
    : `${bytesToHex(row.owner)} ${bytesToHex(row.hash)} ${bytesToHex(row.value)}`;

describe("the rows of a state", () => {
  it("are those of the model after every block, however many are read at a time", () => {
    let destroyed = 0;
    for (let number = 0; number < chain.blocks.length; number++) {
      expect(rowsOf(chain.store, number, 1 + (number % 9)).map(describeRow)).toEqual(expectedRows(number));
      const now = chain.head.model;
      destroyed += [...chain.blocks[number]!.model.keys()].filter((address) => !now.has(address)).length;
    }
    expect(destroyed).toBeGreaterThan(0); // accounts that exist only in the history
  });

  it("are read for accounts or slots alone, from any hash on", () => {
    const { store } = chain;
    for (let number = 0; number < chain.blocks.length; number += 7) {
      const all = rowsOf(store, number, 1_000);
      for (let seed = 0; seed < 12; seed++) {
        // between two rows, or at one
        const row = all[(seed * 31) % all.length]!;
        const from = seed % 2 === 0 ? row.hash : keccak256(Uint8Array.of(seed));
        const isFrom = ({ hash }: StateRow): boolean => Buffer.compare(hash, from) >= 0;
        const accounts = all.filter((other) => other.kind === "account" && isFrom(other));
        expect([...store.accountRows(idOf(number), from)].map(describeRow)).toEqual(accounts.map(describeRow));
        const owner = row.kind === "slot" ? row.owner : row.hash;
        const slots = all.filter((other) => other.kind === "slot" && equalBytes(other.owner, owner) && isFrom(other));
        expect([...store.slotRows(idOf(number), owner, from)].map(describeRow)).toEqual(slots.map(describeRow));
      }
    }
  });

  it("stay those of their block while the chain goes on, and are refused once it has left the chain", () => {
    const number = chain.blocks.length - 3;
    const id = idOf(number);
    const expected = expectedRows(number);
    const read: string[] = [];
    let after: StatePlace | undefined;
    for (let round = 0; ; round++) {
      let last: StateRow | undefined;
      for (const row of chain.store.stateRows(id, after)) {
        last = row;
        read.push(describeRow(row));
        if (read.length % 7 === 0) break;
      }
      if (last === undefined) break;
      after = last.kind === "account" ? { account: last.hash } : { account: last.owner, slot: last.hash };
      if (round % 3 === 0) chain.extend();
    }
    expect(read).toEqual(expected);
    chain.reorganize(chain.blocks.length - number, 1);
    expect(() => [...chain.store.stateRows(id)]).toThrow(expect.objectContaining({ code: "storage/state-gone" }));
    expect(() => [...chain.store.stateRows({ number: 9999, hash: id.hash })]).toThrow(
      expect.objectContaining({ code: "storage/state-gone" }),
    );
  });
});

/** Writes the rows of a snapshot of block `number`, and its tries. */
function* snapshotRows(number: number, oldestBlock: number, rows: SnapshotRows): Generator<void> {
  const accounts = new SortedTrieBuilder((path, rlp) => rows.node(undefined, path, rlp));
  let storage: SortedTrieBuilder | undefined;
  for (const row of chain.store.stateRows(idOf(number))) {
    if (row.kind === "slot") {
      rows.slot(row.owner, row.hash, row.value);
      storage!.add(row.hash, encodeStorageValue(row.value));
    } else {
      const { hash, account } = row;
      storage?.finish();
      const hasStorage = !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
      storage = hasStorage ? new SortedTrieBuilder((path, rlp) => rows.node(hash, path, rlp)) : undefined;
      rows.account(hash, account);
      accounts.add(hash, encodeAccount(account));
    }
    yield;
  }
  storage?.finish();
  accounts.finish();
  const codes = new Map<Hex, Uint8Array>();
  for (const { commit } of chain.blocks)
    for (const { codeHash, code } of commit.changes.codes) codes.set(bytesToHex(codeHash), code);
  for (const [, code] of [...codes].sort(([a], [b]) => (a < b ? -1 : 1))) yield rows.code(keccak256(code), code);
  for (let at = oldestBlock; at <= number; at++) {
    const { block, hash, receipts, senders } = chain.blocks[at]!.commit;
    yield rows.block({ block, hash, receipts, senders });
  }
}

describe("a database that begins with a snapshot", () => {
  it("gets older blocks, down to its first one, with or without receipts", async () => {
    const number = chain.blocks.length - 5;
    const oldestBlock = number - 3;
    const genesis = { block: chain.blocks[0]!.commit.block, hash: chain.blocks[0]!.commit.hash };
    const olderBlocks = (from: number, end: number): OlderBlock[] =>
      chain.blocks.slice(from, end).map(({ commit: { block, hash, receipts, senders } }) => ({ block, hash, receipts, senders }));
    const bare = (older: readonly OlderBlock[]): OlderBlock[] =>
      older.map((content) => ({ ...content, receipts: [], senders: [] }));
    for (const hasReceipts of [true, false]) {
      const store = openChainStore(join(root, `older-${hasReceipts}`), { sync: "interval" });
      store.writeSnapshot({ genesis, head: idOf(number), oldestBlock, hasReceipts }, (rows) =>
        snapshotRows(number, oldestBlock, rows),
      );
      expect(store.retainedHistory()).toMatchObject({ oldestBlock, oldestReceipts: hasReceipts ? oldestBlock : number + 1 });
      const reader = openChainStore(join(root, `older-${hasReceipts}`), { readOnly: true });
      expect(() => store.writeOlderBlocks(olderBlocks(oldestBlock - 4, oldestBlock - 1))).toThrow(
        expect.objectContaining({ code: "storage/not-older" }),
      );
      for (let end = oldestBlock; end > 1; end = Math.max(1, end - 7)) {
        const from = Math.max(1, end - 7);
        store.writeOlderBlocks(hasReceipts ? olderBlocks(from, end) : bare(olderBlocks(from, end)));
        const [oldest, receipts] = [from === 1 ? 0 : from, hasReceipts ? (from === 1 ? 0 : from) : number + 1];
        reader.refresh();
        for (const at of [store, reader]) {
          expect(at.retainedHistory()).toEqual({
            firstBlock: 0,
            oldestBlock: oldest,
            oldestState: number,
            oldestProof: number,
            oldestReceipts: receipts,
          });
        }
      }
      for (let at = 1; at <= number; at++) {
        const { hash, block, receipts, senders } = chain.blocks[at]!.commit;
        const history = hasReceipts ? [receipts, senders] : [undefined, undefined];
        expect([store.readBlock(hash), store.readReceipts(hash), store.readSenders(hash)]).toEqual([block, ...history]);
      }
      for (const address of ADDRESSES) {
        const found = hasReceipts ? [...chain.store.blocksWithLogs({ addresses: [address] }, 0, number)] : [];
        expect([...store.blocksWithLogs({ addresses: [address] }, 0, number)]).toEqual(found);
      }
      expect(store.verifyState().problems).toEqual([]);
      await Promise.all([store.close(), reader.close()]);
    }
  });

  it("has its state and its last blocks, goes on from there, and says what it lacks", { tags: "long" }, async () => {
    const number = chain.blocks.length - 5;
    const oldestBlock = number - 9;
    const genesis = { block: chain.blocks[0]!.commit.block, hash: chain.blocks[0]!.commit.hash };
    const base: SnapshotBase = { genesis, head: idOf(number), oldestBlock };
    const store = openChainStore(join(root, "restored"), { sync: "interval" });
    // An attempt that ends early leaves nothing, nor does one whose blocks end early.
    const interrupted = function* (rows: SnapshotRows) {
      let steps = 0;
      for (const step of snapshotRows(number, oldestBlock, rows)) {
        if (++steps > 40) throw new Error("interrupted");
        yield step;
      }
    };
    expect(() => store.writeSnapshot(base, interrupted)).toThrow("interrupted");
    expect(() => store.writeSnapshot(base, (rows) => snapshotRows(number - 1, oldestBlock, rows))).toThrow(
      expect.objectContaining({ code: "storage/incomplete-snapshot" }),
    );
    expect(store.head()).toBeUndefined();
    store.writeSnapshot(base, (rows) => snapshotRows(number, oldestBlock, rows));

    expect(store.verifyState().problems).toEqual([]);
    expect(store.retainedHistory()).toEqual({
      firstBlock: 0,
      oldestBlock,
      oldestState: number,
      oldestProof: number,
      oldestReceipts: oldestBlock,
    });
    expect([store.label("safe"), store.label("finalized")]).toEqual([idOf(number), idOf(number)]);
    expect(store.readCanonicalHash(oldestBlock - 1)).toBeUndefined();
    expect(store.readBlock(genesis.hash)).toEqual(genesis.block);
    expect(store.stateAt(number - 1)).toBeUndefined();
    expect(store.stateAt(0)).toBeUndefined();
    const address = ADDRESSES[0]!;
    const withLogs = [...chain.store.blocksWithLogs({ addresses: [address] }, oldestBlock, number)];
    expect([...store.blocksWithLogs({ addresses: [address] }, 0, number)]).toEqual(withLogs);
    for (let at = oldestBlock; at <= number; at++) {
      const { hash, block, receipts, senders } = chain.blocks[at]!.commit;
      expect([store.readBlock(hash), store.readReceipts(hash), store.readSenders(hash)]).toEqual([block, receipts, senders]);
    }

    const source = chain.store;
    chain.store = store;
    try {
      chain.blocks.length = number + 1;
      chain.extendBy(20);
      chain.reorganize(4, 6);
      for (let at = number; at < chain.blocks.length; at++) chain.checkState(at, true);
      expect(() => chain.store.reorganize(number - 1, [])).toThrow(expect.objectContaining({ code: "storage/unwind-too-deep" }));
      chain.extendBy(160);
      store.writeLabels({ finalized: store.head()! });
      while (store.pruneHistory(128, 50).remainingBlocks > 0);
      const floor = chain.blocks.length - 1 - 128;
      expect(store.retainedHistory()).toMatchObject({ oldestBlock, oldestState: floor, oldestReceipts: floor + 1 });
      const old = chain.blocks[number]!.commit;
      expect([store.readReceipts(old.hash), store.readBlock(old.hash)]).toEqual([undefined, old.block]);
      expect(store.verifyState().problems).toEqual([]);
    } finally {
      chain.store = source;
      await store.close();
    }
  });
});
