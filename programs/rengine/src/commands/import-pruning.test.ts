import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ImportPruning } from "@rnode/chain";
import { type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import type { Command } from "@rnode/program";
import { hashTransaction } from "@rnode/protocol";
import { type ChainDatabase, openChainStore } from "@rnode/storage";
import { beforeAll, describe, expect, it } from "vitest";
import { databasePath } from "../setup/database.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { db } from "./db.ts";
import { importBlocks } from "./import.ts";

const BLOCKS = 450;
const KEEP = 128;

let folder: string;
let hashes: Hex[];
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rengine-import-pruning-"));
  writeFileSync(at("genesis.json"), JSON.stringify(WRITER_GENESIS));
  const generated = await generateBlocks(at("genesis.json"), at("maker"), BLOCKS);
  hashes = generated.hashes;
  writeFileSync(at("chain.rlp"), generated.rlp);
});

async function run(command: Command, ...args: string[]): Promise<string[]> {
  const out: string[] = [];
  const io = { out: (line: string) => out.push(line), err: () => {}, progress: () => {} };
  expect(await command(args, {}, io)).toBe(0);
  return out;
}

const importInto = (name: string, ...args: string[]) =>
  run(importBlocks, `--chain=${at("genesis.json")}`, `--datadir=${at(name)}`, "--batch=8", ...args, at("chain.rlp"));

const open = (name: string): ChainDatabase => openChainStore(databasePath(at(name)), { readOnly: true });

/** Everything stored about a block: state, proofs, receipts, senders, transaction locations, logs. */
function contentOf(store: ChainDatabase, number: number) {
  const hash = store.readCanonicalHash(number)!;
  const block = store.readBlock(hash)!;
  const view = store.stateAt(number);
  const keys = Array.from({ length: 60 }, (_, i) => keccak256(Uint8Array.of(i >> 8, i)));
  const writer = hexToBytes("0x00000000000000000000000000000000000010ab");
  return {
    block,
    accounts: view && keys.map((key) => view.readAccount(key.subarray(12))),
    slots: view && keys.map((key) => view.readStorage(writer, key)),
    rootNode: store.trieNodesAt(number)?.readNode(undefined, new Uint8Array(0), block.header.stateRoot),
    receipts: store.readReceipts(hash),
    senders: store.readSenders(hash),
    locations: block.transactions.map((transaction) => store.readTransactionLocation(hashTransaction(transaction))),
  };
}

describe("import --history.blocks", () => {
  it("leaves what an import of everything and db prune leave, in a file that stays smaller", { tags: "long" }, async () => {
    expect(await importInto("pruned", `--history.blocks=${KEEP}`)).toEqual([`head ${BLOCKS} ${hashes.at(-1)}`]);
    await importInto("all");
    const sizeOfAll = open("all");
    const { fileBytes: allBytes } = sizeOfAll.storageStats();
    await sizeOfAll.close();
    await run(db, "prune", `--datadir=${at("all")}`, `--history.blocks=${KEEP}`);
    const [pruned, all] = [open("pruned"), open("all")];
    try {
      expect(pruned.retainedHistory()).toEqual(all.retainedHistory());
      expect(pruned.retainedHistory()!.oldestState).toBe(BLOCKS - KEEP);
      const [stats, allStats] = [pruned.storageStats(), all.storageStats()];
      expect(stats.prunedRowsUpTo).toBe(BLOCKS - KEEP);
      for (const [name, { entries }] of Object.entries(allStats.tables)) {
        // The last chunk of a block list may still contain removed numbers; which ones depends on when they were removed.
        if (["accountBlocks", "slotBlocks", "logs"].includes(name)) continue;
        expect({ name, entries: stats.tables[name]!.entries }).toEqual({ name, entries });
      }
      for (let number = 0; number <= BLOCKS; number++) {
        const [content, expected] = [contentOf(pruned, number), contentOf(all, number)];
        if (!isDeepStrictEqual(content, expected)) expect(content).toEqual(expected); // which is slow, and shows the difference
      }
      expect([...pruned.blocksWithLogs({}, 0, BLOCKS)]).toEqual([...all.blocksWithLogs({}, 0, BLOCKS)]);
      expect(pruned.verifyState().problems).toEqual([]);
      expect(stats.fileBytes).toBeLessThan(0.85 * allBytes);
    } finally {
      await Promise.all([pruned.close(), all.close()]);
    }
  });
});

describe("ImportPruning", () => {
  it("keeps up with blocks of any size, one bounded commit between two blocks", () => {
    for (const rowsPerBlock of [1, 900, 9000, 40_000]) {
      let head = 0;
      let floor = 0;
      let removedRows = 0;
      let commits = 0;
      let largest = 0;
      const remaining = () => Math.ceil(floor - removedRows / rowsPerBlock);
      const pruning = new ImportPruning(KEEP, {
        head: () => ({ number: head, hash: "0x00" }),
        retainedHistory: () => undefined,
        pruneHistory(keepBlocks, maxRows) {
          floor = Math.max(floor, head - keepBlocks);
          const rows = Math.min(maxRows, floor * rowsPerBlock - removedRows);
          removedRows += rows;
          commits++;
          largest = Math.max(largest, rows);
          return { removedRows: rows, remainingBlocks: remaining(), heldBack: 0 };
        },
      });
      let mostBehind = 0;
      for (head = 1; head <= 3000; head++) {
        const before = commits;
        pruning.step();
        expect(commits - before).toBeLessThanOrEqual(1);
        mostBehind = Math.max(mostBehind, head - KEEP - removedRows / rowsPerBlock);
      }
      head--;
      expect(largest).toBeLessThanOrEqual(50_000);
      expect(mostBehind).toBeLessThan(400);
      // Short blocks do not each wait for the disk.
      if (rowsPerBlock === 1) expect(commits).toBeLessThan(60);
      pruning.finish();
      expect(removedRows).toBe((3000 - KEEP) * rowsPerBlock);
    }
  });
});
