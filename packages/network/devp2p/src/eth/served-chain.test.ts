import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, encodeRlp, type RlpItem, rlpUint } from "@rnode/primitives";
import { type DepositTransaction, hashHeader, type Receipt } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writePlainChain } from "../testing/plain-chain.ts";
import { ServedChain } from "./served-chain.ts";

const folder = mkdtempSync(join(tmpdir(), "served-"));
const store = openChainStore(join(folder, "chaindata"), { sync: "interval" });
afterAll(async () => {
  await store.close();
});

const NO_BLOOM = new Uint8Array(256);
const deposit = (index: number): DepositTransaction => ({
  type: 0x7e,
  sourceHash: new Uint8Array(32).fill(index),
  from: new Uint8Array(20).fill(1),
  to: new Uint8Array(20).fill(2),
  mint: 0n,
  value: 0n,
  gasLimit: 100_000n,
  isSystemTx: false,
  data: new Uint8Array(index),
});
/** before Regolith, before Canyon, since then; and one that failed as the first transaction of its sender */
const DEPOSITS: readonly Pick<Receipt, "status" | "depositNonce" | "depositReceiptVersion">[] = [
  { status: 1 },
  { status: 1, depositNonce: 4_012n },
  { status: 1, depositNonce: 4_013n, depositReceiptVersion: 1n },
  { status: 0, depositNonce: 0n, depositReceiptVersion: 1n },
];

it("a chain that began with the state after its head, without receipts, has a range that is not empty", async () => {
  const [genesis, block] = writePlainChain(openChainStore(join(folder, "whole"), { sync: "interval" }), 1);
  const { block: content, hash: blockHash, senders } = block!;
  const begun = openChainStore(join(folder, "begun"), { sync: "interval" });
  const base = { genesis: genesis!, head: { number: 1, hash: bytesToHex(blockHash) }, oldestBlock: 1, hasReceipts: false };
  begun.writeSnapshot(base, function* (rows) {
    yield rows.block({ block: content, hash: blockHash, receipts: [], senders });
  });
  expect(begun.retainedHistory()!.oldestReceipts).toBe(2);
  expect(new ServedChain(begun).earliestBlock).toBe(1);
  await begun.close();
});

describe("receipts of deposits", () => {
  let hash: Uint8Array;
  beforeAll(() => {
    const [, parent] = writePlainChain(store, 1);
    const transactions = DEPOSITS.map((_, index) => deposit(index));
    const header = { ...parent!.block.header, parentHash: parent!.hash, number: 2 };
    hash = hashHeader(header);
    store.commitBlock({
      ...parent!,
      hash,
      block: { ...parent!.block, header, transactions },
      senders: transactions.map(({ from }) => from),
      receipts: DEPOSITS.map((fields, index) => ({
        ...fields,
        type: 0x7e,
        cumulativeGasUsed: BigInt(50_000 * (index + 1)),
        bloom: NO_BLOOM,
        logs: [],
      })),
    });
  });

  // As op-geth has them, whose optional fields come in this order: op-geth@2ccb7ce eth/protocols/eth/receipt.go
  const ends: readonly RlpItem[][] = [[], [rlpUint(4_012)], [rlpUint(4_013), rlpUint(1)], [rlpUint(0), rlpUint(1)]];
  const hexOf = (lists: readonly Uint8Array[]): readonly string[] => lists.map((list) => bytesToHex(list));

  it("have nonce and version after the logs in eth/69", () => {
    const items = ends.map(
      (end, index): RlpItem => [rlpUint(0x7e), rlpUint(DEPOSITS[index]!.status!), rlpUint(50_000 * (index + 1)), [], ...end],
    );
    expect(hexOf(new ServedChain(store).receipts([hash], 69))).toEqual(hexOf([encodeRlp(items)]));
  });

  it("have them in eth/68, too, behind their type, also where the receipts root leaves the nonce out", () => {
    const items = ends.map((end, index): RlpItem => {
      const fields = [rlpUint(DEPOSITS[index]!.status!), rlpUint(50_000 * (index + 1)), NO_BLOOM, [], ...end];
      return Uint8Array.of(0x7e, ...encodeRlp(fields));
    });
    expect(hexOf(new ServedChain(store).receipts([hash], 68))).toEqual(hexOf([encodeRlp(items)]));
  });
});
