import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { bytesToHex, hexToBytes, keccak256 } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { BLOCK_NUMBER_SIZE, readBlockNumber, readUint32 } from "../database/keys.ts";
import { MIN_HISTORY_BLOCKS, openChainStore } from "../lmdb-chain-store.ts";
import { TABLES, type TableName } from "../schema.ts";
import { accountValueEnd } from "../state/account-value.ts";
import { ChangeListPart } from "../state/change-list.ts";
import { slotValueAt, slotValueEnd } from "../state/slot-value.ts";
import { ADDRESSES, dumpSettled, RandomChain } from "../testing/random-chain.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
let root: string;
let folders = 0;
const newFolder = (): string => join(root, String(folders++));

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "rnode-pruning-"));
  // The other processes run the build.
  const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
});

const start = (program: string, ...args: string[]) =>
  spawn(process.execPath, [join(PACKAGE, "test-programs", program), ...args], { stdio: ["pipe", "pipe", "inherit"] });

function pruneAll(chain: RandomChain, keep: number, rows: number): void {
  while (chain.store.pruneHistory(keep, rows).remainingBlocks > 0);
}

/** Checks all retained states, proofs, receipts and logs against the model, and that the others were removed. */
function checkAll(chain: RandomChain): void {
  const { oldestState } = chain.store.retainedHistory()!;
  for (let number = oldestState; number < chain.blocks.length; number++) chain.checkState(number, number % 11 === 0);
  chain.checkBlocks();
  expect(chain.store.verifyState().problems).toEqual([]);
}

type Dump = Awaited<ReturnType<typeof dumpSettled>>;

/** The numbers above `floor` in each list of an index table, and how many chunks have none. */
function listsOf(rows: ReadonlyMap<string, string>, floor: number): { lists: Record<string, number[]>; oldChunks: number } {
  const lists: Record<string, number[]> = {};
  let oldChunks = 0;
  for (const [rowKey, row] of rows) {
    const bytes = hexToBytes(row as `0x${string}`);
    const first = readBlockNumber(bytes, 1);
    const numbers = [first];
    for (let at = 1 + BLOCK_NUMBER_SIZE; at < bytes.length; at += 4) numbers.push(first + readUint32(bytes, at));
    const kept = numbers.filter((number) => number > floor);
    if (kept.length === 0) oldChunks++;
    else (lists[rowKey.slice(0, -2 * BLOCK_NUMBER_SIZE)] ??= []).push(...kept);
  }
  return { lists, oldChunks };
}

/** The values of a table of the state, and the blocks above `floor` that changed each key. */
function flatRowsOf(found: Dump, kind: "accounts" | "storage", floor: number) {
  const values: Record<string, string> = {};
  const lists: Record<string, number[]> = {};
  const part = new ChangeListPart();
  let obsoleteParts = 0;
  const add = (key: string, row: Uint8Array, at: number): number => {
    part.read(row, at, row.length);
    const kept = [...part.numbers.subarray(0, part.count)].filter((number) => number > floor);
    if (kept.length > 0) (lists[key] ??= []).push(...kept);
    return kept.length;
  };
  for (const [rowKey, row] of found.get(kind === "accounts" ? "accountBlocks" : "slotBlocks")!) {
    if (add(rowKey.slice(0, -2 * BLOCK_NUMBER_SIZE), hexToBytes(row as `0x${string}`), 0) === 0) obsoleteParts++;
  }
  for (const [key, row] of found.get(kind)!) {
    const bytes = hexToBytes(row as `0x${string}`);
    const [from, to] = kind === "accounts" ? [0, accountValueEnd(bytes)] : [slotValueAt(bytes), slotValueEnd(bytes)];
    values[key] = bytesToHex(bytes.subarray(from, to));
    add(key, bytes, to);
  }
  return { values, lists, obsoleteParts };
}

/** The rows that a database without pruning has about the blocks above `floor`. */
function expectedAfterPruning(all: Dump, floor: number): Dump {
  const pruned: Dump = new Map();
  const blockOf = (key: string): number => Number.parseInt(key.slice(2, 2 + 2 * BLOCK_NUMBER_SIZE), 16);
  for (const [name, rows] of all) {
    if (INDEX_TABLES.has(name) || name === "meta" || name === "codes") continue;
    const isKept = ([key, value]: [string, string]): boolean => {
      if (name === "changes" || name === "nodeHistory") return blockOf(key) > floor;
      if (name === "receipts" || name === "senders") return blockOf(key) > floor || blockOf(key) === 0;
      if (name === "nodeEpochs") return blockOf(key) + 31 > floor;
      return name !== "transactions" || blockOf(value) > floor;
    };
    pruned.set(name, new Map([...rows].filter(isKept)));
  }
  return pruned;
}
const INDEX_TABLES = new Set(["logs", "accounts", "accountBlocks", "storage", "slotBlocks"]);

/** The same canonical chain with its complete history, in a separate database. */
async function dumpOfTwin(chain: RandomChain): Promise<Dump> {
  const folder = newFolder();
  const twin = openChainStore(folder, { sync: "interval" });
  const [genesis, ...later] = chain.blocks;
  twin.writeGenesis(genesis!.commit);
  for (const { commit } of later) twin.commitBlock(commit);
  await twin.close();
  return await dumpSettled(folder);
}

function expectPruned(found: Dump, all: Dump, floor: number, maxOldChunks: number): void {
  const left = listsOf(found.get("logs")!, floor);
  expect(left.lists).toEqual(listsOf(all.get("logs")!, floor).lists);
  expect(left.oldChunks).toBeLessThanOrEqual(maxOldChunks);
  for (const kind of ["accounts", "storage"] as const) {
    const { obsoleteParts, ...rows } = flatRowsOf(found, kind, floor);
    const { obsoleteParts: _, ...expected } = flatRowsOf(all, kind, floor);
    expect(rows).toEqual(expected);
    expect(obsoleteParts).toBeLessThanOrEqual(maxOldChunks);
  }
  for (const [name, rows] of expectedAfterPruning(all, floor)) expect({ name, rows: found.get(name) }).toEqual({ name, rows });
}

describe("a pruned chain", () => {
  describe.each([
    { seed: 1, rows: 1 },
    { seed: 2, rows: 23 },
    { seed: 3, rows: 5000 },
  ])("$rows rows a commit", ({ seed, rows }) => {
    it("has exactly what its unpruned twin has above the floor", { tags: "long", timeout: 120_000 }, async () => {
      const folder = newFolder();
      const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), seed);
      chain.run(60);
      for (let i = 0; i < 240; i++) {
        chain.extend();
        if (i % 3 === 0 && chain.blocks.length > MIN_HISTORY_BLOCKS) chain.store.pruneHistory(MIN_HISTORY_BLOCKS, rows);
      }
      pruneAll(chain, MIN_HISTORY_BLOCKS, rows);
      const floor = chain.blocks.length - 1 - MIN_HISTORY_BLOCKS;
      expect(chain.store.retainedHistory()).toEqual({
        firstBlock: 0,
        oldestBlock: 0,
        oldestState: floor,
        oldestProof: floor,
        oldestReceipts: floor + 1,
      });
      checkAll(chain);
      await chain.store.close();
      const [pruned, all] = [await dumpSettled(folder), await dumpOfTwin(chain)];
      expectPruned(pruned, all, floor, 0);
      const shortened = [...all].filter(([name, rows]) => pruned.get(name)!.size < rows.size).map(([name]) => name);
      // In so short a chain, each row of `logs` has blocks above the floor as well.
      expect([...shortened, "logs"].sort()).toEqual(
        Object.keys(TABLES)
          .filter((name) => TABLES[name as TableName].history)
          .sort(),
      );
    });
  });

  it("reorganises to any retained depth, and no further", { tags: "long" }, async () => {
    const folder = newFolder();
    const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 4);
    chain.run(280);
    pruneAll(chain, MIN_HISTORY_BLOCKS, 100);
    chain.reorganize(MIN_HISTORY_BLOCKS, 90);
    checkAll(chain);
    const floor = chain.store.retainedHistory()!.oldestState;
    expect(floor).toBe(chain.blocks.length - 91);
    expect(() => chain.store.reorganize(floor - 1, [])).toThrow(
      `block ${floor - 1} is too far back to reorganise to: the trie is kept from block ${floor} on`,
    );
    for (let i = 0; i < 12; i++) {
      chain.run(15);
      chain.store.pruneHistory(MIN_HISTORY_BLOCKS, 300);
      chain.reorganize(60 + i, 70);
      chain.store.pruneHistory(MIN_HISTORY_BLOCKS, 300);
      chain.checkBlocks();
    }
    pruneAll(chain, MIN_HISTORY_BLOCKS, 300);
    checkAll(chain);
    await chain.store.close();
    chain.store = openChainStore(folder);
    checkAll(chain);
    const { oldestState } = chain.store.retainedHistory()!;
    await chain.store.close();
    // A list whose newer blocks were unwound may end with blocks below the floor.
    expectPruned(await dumpSettled(folder), await dumpOfTwin(chain), oldestState, 100);
  });

  it("keeps its floor when it is opened without pruning, and goes on when more is to go", { tags: "long" }, async () => {
    const folder = newFolder();
    const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 5);
    chain.run(250);
    pruneAll(chain, 200, 100);
    const { oldestState } = chain.store.retainedHistory()!;
    await chain.store.close();
    chain.store = openChainStore(folder, { sync: "interval" });
    chain.run(10);
    expect(chain.store.retainedHistory()!.oldestState).toBe(oldestState);
    expect(chain.store.pruneHistory(100_000, 100)).toEqual({ removedRows: 0, remainingBlocks: 0, heldBack: 0 });
    expect(chain.store.retainedHistory()!.oldestState).toBe(oldestState);
    pruneAll(chain, 150, 100);
    expect(chain.store.retainedHistory()!.oldestState).toBe(chain.blocks.length - 1 - 150);
    checkAll(chain);
    const { freeBytes } = chain.store.storageStats();
    expect(freeBytes).toBeGreaterThan(0);
    await chain.store.close();
  });

  it("hides what is being removed before the first row goes", { tags: "long" }, async () => {
    const chain = new RandomChain(openChainStore(newFolder(), { sync: "interval" }), 6);
    chain.extendBy(180);
    const view = chain.store.stateAt(20)!;
    view.readAccount(ADDRESSES[0]!);
    const { removedRows, remainingBlocks } = chain.store.pruneHistory(MIN_HISTORY_BLOCKS, 1);
    expect(removedRows).toBeLessThanOrEqual(1);
    const floor = chain.blocks.length - 1 - MIN_HISTORY_BLOCKS;
    expect(remainingBlocks).toBe(floor);
    expect(() => view.readAccount(ADDRESSES[0]!)).toThrow("the state of block 20 is gone");
    const hash = keccak256(encodeTransaction(chain.blocks[floor]!.commit.block.transactions[0]!));
    expect(chain.store.readTransactionLocation(hash)).toBeUndefined();
    checkAll(chain);
    await chain.store.close();
  });

  it("keeps what is not final", async () => {
    const chain = new RandomChain(openChainStore(newFolder(), { sync: "interval" }), 7);
    chain.extendBy(200);
    const at = (number: number) => ({ number, hash: bytesToHex(chain.blocks[number]!.commit.hash) });
    const wanted = chain.blocks.length - 1 - MIN_HISTORY_BLOCKS;
    chain.store.writeLabels({ safe: at(12), finalized: at(5) });
    expect(chain.store.pruneHistory(MIN_HISTORY_BLOCKS, 1e6)).toMatchObject({ remainingBlocks: 0, heldBack: wanted - 5 });
    expect(chain.store.retainedHistory()).toMatchObject({ oldestState: 5, oldestReceipts: 6 });
    chain.store.writeLabels({ finalized: at(wanted + 3) });
    expect(chain.store.pruneHistory(MIN_HISTORY_BLOCKS, 1e6)).toMatchObject({ heldBack: 0 });
    expect(chain.store.retainedHistory()).toMatchObject({ oldestState: wanted });
    checkAll(chain);
    await chain.store.close();
  });

  it("must be able to reorganise", () => {
    const store = openChainStore(newFolder(), { sync: "interval" });
    expect(() => store.pruneHistory(MIN_HISTORY_BLOCKS - 1, 1)).toThrow("127 blocks of history are too few: at least 128");
    return store.close();
  });
});

describe("pruning and other processes", () => {
  it("killed at any moment goes on from where it was", { tags: "long" }, async () => {
    const folder = newFolder();
    const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 8);
    chain.run(330);
    await chain.store.close();
    let remaining = Number.POSITIVE_INFINITY;
    for (let round = 0; remaining > 0; round++) {
      const child = start("prune-loop.mjs", folder, String(MIN_HISTORY_BLOCKS), "40");
      const delayMs = (round * 7919) % 61;
      const lines: string[] = [];
      const reader = createInterface({ input: child.stdout });
      reader.on("line", (line) => {
        if (lines.push(line) === 1 && round < 4) setTimeout(() => child.kill("SIGKILL"), delayMs);
      });
      const [, signal] = (await once(child, "close")) as [number | null, string | null];
      if (round >= 4) expect({ signal, last: lines.at(-1) }).toEqual({ signal: null, last: "closed" });
      chain.store = openChainStore(folder, { sync: "interval" });
      // After the first commit the floor has its final value, whatever rows are left.
      const { oldestState } = chain.store.retainedHistory()!;
      if (lines.length > 1) expect(oldestState).toBeGreaterThanOrEqual(chain.blocks.length - 1 - MIN_HISTORY_BLOCKS);
      checkAll(chain);
      if (round >= 4) remaining = 0;
      else chain.run(3);
      await chain.store.close();
    }
    chain.store = openChainStore(folder, { sync: "interval" });
    pruneAll(chain, MIN_HISTORY_BLOCKS, 1000);
    const { oldestState } = chain.store.retainedHistory()!;
    await chain.store.close();
    expectPruned(await dumpSettled(folder), await dumpOfTwin(chain), oldestState, 20);
  });

  it("a reader beside it sees right states or none", { tags: "long" }, async () => {
    const folder = newFolder();
    const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 9);
    chain.extendBy(300);
    const file = `${folder}.json`;
    const balances = chain.blocks.map(({ model }) =>
      Object.fromEntries(ADDRESSES.map(bytesToHex).map((address) => [address, String(model.get(address)?.balance ?? 0n)])),
    );
    writeFileSync(file, JSON.stringify([balances, chain.blocks.map(({ commit }) => commit.receipts.length)]));
    const child = start("history-reader.mjs", folder, file);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe("ready");
    while (chain.store.pruneHistory(MIN_HISTORY_BLOCKS, 20).remainingBlocks > 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    child.stdin.end();
    const found = JSON.parse((await lines.next()).value as string) as { reads: number; pruned: number; wrong: string[] };
    expect(found.wrong).toEqual([]);
    expect(found.reads).toBeGreaterThan(100);
    expect(found.pruned).toBeGreaterThan(10);
    await chain.store.close();
  });

  it("room that pruning freed is used again", { tags: "long" }, async () => {
    const folder = newFolder();
    const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 10);
    chain.extendBy(200);
    await chain.store.close();
    const unpruned = newFolder();
    cpSync(folder, unpruned, { recursive: true });
    chain.store = openChainStore(folder, { sync: "interval" });
    const twin = openChainStore(unpruned, { sync: "interval" });
    for (let i = 0; i < 500; i++) {
      chain.extend();
      twin.commitBlock(chain.head.commit);
      while (chain.store.pruneHistory(MIN_HISTORY_BLOCKS, 1000).remainingBlocks > 0);
    }
    const [pruned, full] = [chain.store.storageStats(), twin.storageStats()];
    expect(pruned.fileBytes).toBeLessThan(full.fileBytes * 0.75);
    await chain.store.close();
    await twin.close();
  });
});
