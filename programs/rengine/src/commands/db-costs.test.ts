import type { StorageStats } from "@rnode/storage";
import { describe, expect, it } from "vitest";
import { tableCosts } from "./db-costs.ts";

const stats = (prunedRowsUpTo: number): StorageStats => ({
  folder: "",
  format: 3,
  head: { number: 99, hash: `0x${"00".repeat(32)}` },
  firstBlock: 0,
  oldestProvableBlock: 0,
  retained: undefined,
  prunedRowsUpTo,
  fileBytes: 0,
  freeBytes: 0,
  tables: {
    headers: { entries: 100, sizeBytes: 50_000 },
    bodies: { entries: 100, sizeBytes: 80_000 },
    receipts: { entries: 100, sizeBytes: 40_000 },
    transactions: { entries: 400, sizeBytes: 20_000 },
    accounts: { entries: 10, sizeBytes: 8192 },
    storage: { entries: 0, sizeBytes: 0 },
    nodes: { entries: 12, sizeBytes: 8192 },
  },
});

describe("tableCosts", () => {
  it("divides by what a table grows with", () => {
    expect(tableCosts(stats(0))).toEqual({
      headers: { block: 500 },
      bodies: { block: 800, transaction: 200 },
      receipts: { block: 400, transaction: 100 },
      transactions: { block: 200, transaction: 50 },
      accounts: { account: 819.2 },
    });
  });

  it("knows which rows a pruned chain still has", () => {
    expect(tableCosts(stats(59))).toEqual({
      headers: { block: 500 },
      bodies: { block: 800 },
      receipts: { block: 1000, transaction: 100 },
      transactions: { block: 500, transaction: 50 },
      accounts: { account: 819.2 },
    });
  });
});
