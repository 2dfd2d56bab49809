import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keccak256, ZERO_HASH } from "@rnode/primitives";
import { type DepositTransaction, logsBloom, type Receipt } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { beforeEach, expect, it } from "vitest";
import { openTables } from "../schema.ts";
import { BlockBatch, BlockTables } from "./block-tables.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-places-"));
});

const transaction: DepositTransaction = {
  type: 0x7e,
  sourceHash: ZERO_HASH,
  from: new Uint8Array(20),
  to: new Uint8Array(20),
  mint: 0n,
  value: 0n,
  gasLimit: 21000n,
  isSystemTx: false,
  data: new Uint8Array(0),
};

const receipt: Receipt = { type: 0x7e, status: 1, cumulativeGasUsed: 21000n, bloom: logsBloom([]), logs: [] };

/** The first eight bytes are those of `start`, the others follow from `rest`. */
function hashOf(start: number, rest: number): Uint8Array {
  const hash = keccak256(Uint8Array.of(rest));
  hash.set(keccak256(Uint8Array.of(start, 1)).subarray(0, 8));
  return hash;
}

it("transactions whose hashes begin alike are told apart, also after one of them is gone", async () => {
  const { environment, tables } = openTables(folder, {
    readOnly: false,
    mapSizeBytes: undefined,
    sync: "interval",
    syncIntervalMs: 1000,
  });
  const blocks = new BlockTables(tables, folder);
  const hashes = [
    [hashOf(1, 1), hashOf(1, 2), hashOf(2, 3)],
    [hashOf(1, 4), hashOf(3, 5)],
  ];
  const batch = new BlockBatch();
  for (const [number, transactionHashes] of hashes.entries()) {
    const content = {
      block: { header: headerOf({ number }), transactions: transactionHashes.map(() => transaction), ommers: [] },
      hash: hashOf(9, number),
      receipts: transactionHashes.map(() => receipt),
      senders: transactionHashes.map(() => new Uint8Array(20)),
      changes: { accounts: [], codes: [] },
      transactionHashes,
    };
    batch.clear();
    batch.add(content);
    environment.atomically(() => blocks.write(batch));
  }
  const placeOf = (hash: Uint8Array) => {
    const place = blocks.transactionLocation(hash);
    return place && [place.blockNumber, place.index];
  };
  expect(hashes.flat().map(placeOf)).toEqual([
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 0],
    [1, 1],
  ]);
  expect(placeOf(hashOf(1, 6))).toBeUndefined();
  expect(placeOf(hashOf(4, 7))).toBeUndefined();
  expect(tables.transactions.stats().entries).toBe(5);

  environment.atomically(() => blocks.removeTransactionLocation(hashes[0]![0]!, 0, 0));
  expect(hashes.flat().map(placeOf)).toEqual([undefined, [0, 1], [0, 2], [1, 0], [1, 1]]);
  environment.atomically(() => blocks.remove(1));
  expect(hashes.flat().map(placeOf)).toEqual([undefined, [0, 1], [0, 2], undefined, undefined]);
  environment.atomically(() => blocks.remove(0));
  expect(tables.transactions.stats().entries).toBe(0);
  await environment.close();
});
