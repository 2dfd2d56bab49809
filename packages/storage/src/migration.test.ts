import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { bytesToHex } from "@rnode/primitives";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openChainStore } from "./lmdb-chain-store.ts";
import { dump, RandomChain, writeFormat3, writeFormat4, writeFormat5, writeOldFormat } from "./testing/index.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-migration-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Rows of today, but for the lists of blocks by account and slot, which are not rewritten. */
async function dumpWithOldLists(path: string): Promise<Awaited<ReturnType<typeof dump>>> {
  await writeFormat4(path);
  await openChainStore(path).close();
  return await dump(path);
}

it("a database of the format before is read, goes on, and its rows become those of today", async () => {
  const [today, old] = [join(folder, "today"), join(folder, "old")];
  const chain = new RandomChain(openChainStore(today), 11);
  chain.run(60);
  await chain.store.close();
  cpSync(today, old, { recursive: true });
  await writeOldFormat(old);

  const reader = openChainStore(old, { readOnly: true });
  chain.store = reader;
  chain.checkBlocks();
  await reader.close();

  chain.store = openChainStore(old);
  const { oldRowsFrom } = chain.store.storageStats();
  expect(oldRowsFrom).toBe(0);
  chain.checkBlocks();
  expect(chain.store.migrateRows(5)).toMatchObject({ blocks: 5 });
  chain.checkBlocks();
  await chain.store.close();

  chain.store = openChainStore(old); // a restart goes on where it was
  expect(chain.store.storageStats().oldRowsFrom).toBe(5);
  while (chain.store.migrateRows(7).remaining > 0) chain.checkBlocks();
  expect(chain.store.storageStats().oldRowsFrom).toBeUndefined();
  expect(chain.store.migrateRows(7)).toEqual({ blocks: 0, remaining: 0 });
  chain.checkBlocks();
  await chain.store.close();
  expect(await dump(old)).toEqual(await dumpWithOldLists(today));
});

it("kill -9 at any moment loses nothing, and the next start goes on", { timeout: 60_000 }, async () => {
  const built = spawnSync(join(PACKAGE, "../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
  const [today, old] = [join(folder, "today"), join(folder, "old")];
  const chain = new RandomChain(openChainStore(today, { sync: "interval" }), 13);
  chain.run(250);
  await chain.store.close();
  cpSync(today, old, { recursive: true });
  await writeOldFormat(old);
  let ended = 0;
  let before = Number.POSITIVE_INFINITY;
  for (let round = 0; ended === 0; round++) {
    const child = spawn(process.execPath, [join(PACKAGE, "test-programs/migrate-loop.mjs"), old, "2"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (lines.push(line) === 1 && round < 4) setTimeout(() => child.kill("SIGKILL"), (round * 7919) % 41);
    });
    const [, signal] = (await once(child, "close")) as [number | null, string | null];
    if (signal === null) ended++;
    chain.store = openChainStore(old);
    chain.checkBlocks();
    const remaining = chain.blocks.length - (chain.store.storageStats().oldRowsFrom ?? chain.blocks.length);
    expect(remaining).toBeLessThanOrEqual(before);
    before = remaining;
    await chain.store.close();
  }
  expect(before).toBe(0);
  expect(await dump(old)).toEqual(await dumpWithOldLists(today));
});

it("blocks with old rows can be unwound and pruned", async () => {
  const chain = new RandomChain(openChainStore(folder), 12);
  chain.extendBy(150);
  await chain.store.close();
  await writeOldFormat(folder);
  chain.store = openChainStore(folder);
  chain.reorganize(3, 2);
  chain.checkBlocks();
  chain.store.pruneHistory(128, 100_000);
  chain.checkBlocks();
  while (chain.store.migrateRows(20).remaining > 0);
  chain.checkBlocks();
  await chain.store.close();
});

it("a database of format 3 is read, goes on, and its blocks can be unwound", async () => {
  const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 14);
  chain.run(50);
  await chain.store.close();
  await writeFormat3(folder);
  const checkAll = (): void => {
    chain.checkBlocks();
    for (let number = 0; number < chain.blocks.length; number += 7) chain.checkState(number, true);
  };
  const reader = openChainStore(folder, { readOnly: true });
  chain.store = reader;
  checkAll();
  await reader.close();

  chain.store = openChainStore(folder, { sync: "interval" });
  expect(chain.store.storageStats().oldRowsFrom).toBeUndefined(); // there is nothing to rewrite
  chain.extendBy(20); // an epoch of which either program wrote a part
  checkAll();
  chain.reorganize(25, 3);
  checkAll();
  await chain.store.close();
});

it.each([
  [4, writeFormat4],
  [5, writeFormat5],
])(
  "a database of format %i is read, goes on, and can be unwound and pruned to below where it went on",
  {
    timeout: 60_000,
  },
  async (format, writeFormat) => {
    const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 15);
    chain.run(150);
    await chain.store.close();
    await writeFormat(folder);
    const checkAll = (): void => {
      chain.checkBlocks();
      const { oldestState } = chain.store.retainedHistory()!;
      for (let number = oldestState; number < chain.blocks.length; number += 5) chain.checkState(number, false);
      expect(chain.store.verifyState().problems).toEqual([]);
    };
    const reader = openChainStore(folder, { readOnly: true });
    expect(reader.storageStats().format).toBe(format);
    chain.store = reader;
    checkAll();
    await reader.close();

    const upgradedAt = chain.blocks.length - 1;
    chain.store = openChainStore(folder, { sync: "interval" });
    expect(chain.store.storageStats().format).toBe(6);
    chain.extendBy(40);
    checkAll();
    const before = chain.blocks[upgradedAt - 20]!; // some accounts of it are gone since, in old lists or in those of today
    const rows = [...chain.store.stateRows({ number: upgradedAt - 20, hash: bytesToHex(before.commit.hash) })];
    expect(rows.filter(({ kind }) => kind === "account")).toHaveLength(before.model.size);
    chain.reorganize(55, 30); // to 15 blocks below where it went on
    checkAll();
    chain.extendBy(150);
    while (chain.store.pruneHistory(128, 50).remainingBlocks > 0);
    checkAll();
    const { tables } = chain.store.storageStats();
    expect([tables.accountHistory!.entries, tables.storageHistory!.entries]).toEqual([0, 0]);
    await chain.store.close();
  },
);
