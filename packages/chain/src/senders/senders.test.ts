import { hashTransaction, type Transaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { ACCOUNTS, attributesDeposit, transaction } from "../testing/dev-chain.ts";
import { packSignature, SIGNATURE_BYTES } from "./sender-workers.ts";
import { createSenderCache } from "./senders.ts";

describe("createSenderCache", () => {
  it("recovers signers, takes deposits as they are, and names the first bad signature", () => {
    const cache = createSenderCache();
    const transactions: Transaction[] = [attributesDeposit(1), transaction(0, 0), transaction(1, 5)];
    expect(cache.sendersOf(transactions, false)).toEqual({
      kind: "senders",
      senders: [attributesDeposit(1).from, ACCOUNTS[0], ACCOUNTS[1]],
    });
    const bad = { ...transaction(0, 0), signature: { r: new Uint8Array(32), s: new Uint8Array(32).fill(1), yParity: 0 as const } };
    expect(cache.sendersOf([...transactions, bad], false)).toEqual({ kind: "unrecoverable", index: 3, reason: "tx/bad-signature" });
  });

  it("believes what it was told, and forgets the oldest", () => {
    const cache = createSenderCache({ capacity: 2 });
    const told = new Uint8Array(20).fill(7);
    const first = transaction(0, 0);
    cache.remember(hashTransaction(first), told);
    expect(cache.sendersOf([first], false)).toEqual({ kind: "senders", senders: [told] });
    cache.sendersOf([transaction(0, 1), transaction(0, 2)], false);
    expect(cache.sendersOf([first], false)).toEqual({ kind: "senders", senders: [ACCOUNTS[0]] });
  });

  it("can be asked to recover ahead without workers", async () => {
    const cache = createSenderCache({ workers: 2 });
    const transactions = Array.from({ length: 20 }, (_, nonce) => transaction(0, nonce));
    await cache.recoverAhead(transactions); // from sources there is no thread: nothing happens
    expect(cache.sendersOf(transactions, false)).toMatchObject({ kind: "senders" });
    await cache.close();
  });

  it("hands signatures over at fixed places", () => {
    const packed = new Uint8Array(2 * SIGNATURE_BYTES);
    const part = (byte: number) => new Uint8Array(32).fill(byte);
    packSignature(packed, 1, part(1), { r: part(2), s: part(3), yParity: 1 });
    expect(packed.subarray(0, SIGNATURE_BYTES)).toEqual(new Uint8Array(SIGNATURE_BYTES));
    expect([...packed.subarray(SIGNATURE_BYTES)]).toEqual([...part(1), ...part(2), ...part(3), 1]);
  });
});
