import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openChainStore } from "./lmdb-chain-store.ts";
import { dump, RandomChain, writeOldFormat } from "./testing/index.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-migration-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

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
  expect(await dump(old)).toEqual(await dump(today));
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
