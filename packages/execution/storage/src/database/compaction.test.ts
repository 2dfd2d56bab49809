import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openChainStore } from "../lmdb-chain-store.ts";
import { dump, RandomChain } from "../testing/index.ts";
import { compactDatabase } from "./compaction.ts";

let folder: string;
let chain: RandomChain;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "rnode-compaction-"));
  chain = new RandomChain(openChainStore(folder, { sync: "interval" }), 3);
  chain.run(60);
  // Rows that are gone leave free pages behind.
  chain.store.writeMeta("long", new Uint8Array(3 << 20).fill(1));
  chain.store.writeMeta("long", new Uint8Array(1));
  await chain.store.close();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

it("leaves everything but the free pages, and the chain goes on", async () => {
  const before = await dump(folder);
  const { beforeBytes, afterBytes } = await compactDatabase(folder);
  expect(beforeBytes - afterBytes).toBeGreaterThan(3 << 20);
  expect(statSync(join(folder, "data.mdb")).size).toBe(afterBytes);
  expect(readdirSync(folder).filter((name) => name.startsWith("compact"))).toEqual([]);
  expect(await dump(folder)).toEqual(before);
  chain.store = openChainStore(folder, { sync: "interval" });
  expect(chain.store.verifyState().problems).toEqual([]);
  chain.run(20);
  chain.checkBlocks();
  await chain.store.close();
});

it("that was interrupted leaves the old file, and the next writer removes what it had written", async () => {
  const before = await dump(folder);
  mkdirSync(join(folder, "compacting"));
  writeFileSync(join(folder, "compacting/data.mdb"), new Uint8Array(100_000));
  const reader = openChainStore(folder, { readOnly: true });
  expect(existsSync(join(folder, "compacting"))).toBe(true);
  await reader.close();
  await openChainStore(folder).close();
  expect(existsSync(join(folder, "compacting"))).toBe(false);
  expect(await dump(folder)).toEqual(before);
});

it("is refused while anybody has the database open", async () => {
  const writer = openChainStore(folder);
  await expect(compactDatabase(folder)).rejects.toMatchObject({ code: "storage/locked" });
  await writer.close();
  const lmdb = createRequire(import.meta.url).resolve("lmdb");
  const program = `const { open } = require(${JSON.stringify(lmdb)});
    const root = open({ path: ${JSON.stringify(folder)}, noSubdir: false, readOnly: true, maxDbs: 48 });
    for (const key of root.getKeys({})) void key;
    console.log("reading");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  await once(child.stdout, "data");
  await expect(compactDatabase(folder)).rejects.toMatchObject({ code: "storage/locked", data: { pid: child.pid } });
  child.kill("SIGKILL");
  await once(child, "close");
  await compactDatabase(folder); // a reader that was killed is none
});

it("of a damaged or a missing database is refused, and nothing is changed", async () => {
  await expect(compactDatabase(join(folder, "none"))).rejects.toMatchObject({ code: "storage/no-database" });
  const bad = join(folder, "bad");
  mkdirSync(bad);
  cpSync(join(folder, "data.mdb"), join(bad, "data.mdb"));
  writeFileSync(join(bad, "data.mdb"), new Uint8Array(4096), { flag: "r+" });
  await expect(compactDatabase(bad)).rejects.toMatchObject({ code: "storage/corrupted" });
  expect(existsSync(join(bad, "writer.lock"))).toBe(false);
});
