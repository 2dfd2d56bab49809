import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { concatBytes, keccak256 } from "@rnode/primitives";
import { beforeEach, expect, it } from "vitest";
import type { Table } from "./database/table.ts";
import { openChainStore } from "./lmdb-chain-store.ts";
import { nodeKeyOf } from "./nodes/node-key.ts";
import { StateToucher, TouchedKeys } from "./state-toucher.ts";
import { ADDRESSES, dump, RandomChain, SLOTS } from "./testing/random-chain.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-touch-"));
});

it("every key, there or not, is read without an effect", async () => {
  const store = openChainStore(folder, { sync: "interval" });
  new RandomChain(store, 4).run(20);
  const before = await dump(folder);
  const keys = new TouchedKeys();
  for (const address of [...ADDRESSES, new Uint8Array(20), new Uint8Array(20).fill(255)]) {
    keys.addAccount(address);
    for (const slot of SLOTS) keys.addSlot(address, slot);
  }
  expect(keys.count).toBe(26 * 21);
  store.touchState(keys.take());
  expect(keys.count).toBe(0);
  store.touchState(keys.take());
  await store.close();
  expect(await dump(folder)).toEqual(before);
});

it("an account and a slot lead to their rows and their paths in the tries", () => {
  const read = new Map<string, Set<string>>();
  const hex = (key: Uint8Array): string => Buffer.from(key).toString("hex");
  /** A table with enough rows for two levels of a trie. */
  const tableOf = (name: string) => ({
    peek: (key: Uint8Array) => void read.set(name, (read.get(name) ?? new Set()).add(hex(key))),
    stats: () => ({ entries: 255, sizeBytes: 0 }),
  });
  const names = ["accounts", "storage", "nodes", "upperNodes"] as const;
  const tables = Object.fromEntries(names.map((name) => [name, tableOf(name) as unknown as Table]));
  const keys = new TouchedKeys();
  const [address, slot] = [ADDRESSES[0]!, SLOTS[3]!];
  keys.addAccount(address);
  keys.addSlot(address, slot);
  new StateToucher(tables as Record<(typeof names)[number], Table>).touch(keys.take());
  const nibbles = (hash: Uint8Array): Uint8Array => Uint8Array.from([...hash].flatMap((byte) => [byte >> 4, byte & 15]));
  const pathsOf = (owner: Uint8Array | undefined, key: Uint8Array): string[] =>
    [2].map((depth) => hex(nodeKeyOf(owner, nibbles(keccak256(key)).subarray(0, depth))));
  expect(Object.fromEntries([...read].map(([name, found]) => [name, [...found]]))).toEqual({
    accounts: [hex(keccak256(address))],
    storage: [hex(concatBytes(keccak256(address), keccak256(slot)))],
    nodes: [...pathsOf(undefined, address), ...pathsOf(keccak256(address), slot)],
    upperNodes: [...pathsOf(undefined, address), ...pathsOf(keccak256(address), slot)],
  });
});
