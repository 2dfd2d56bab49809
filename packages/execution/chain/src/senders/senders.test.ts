import { hashTransaction, type Transaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { ACCOUNTS, attributesDeposit, transaction } from "../testing/dev-chain.ts";
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
    const many = Array.from({ length: 40 }, (_, nonce) => transaction(nonce % 2, nonce));
    const worse = [...many.slice(0, 20), bad, ...many.slice(20), bad];
    expect(createSenderCache().sendersOf(worse, false)).toEqual({ kind: "unrecoverable", index: 20, reason: "tx/bad-signature" });
    for (const allowHighS of [false, true])
      expect(createSenderCache().sendersOf(many, allowHighS)).toEqual({
        kind: "senders",
        senders: many.map((_, nonce) => ACCOUNTS[nonce % 2]),
      });
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

  it("recovers ahead, whatever is known already, and leaves it to others to say what is wrong", async () => {
    const cache = createSenderCache({ workers: 2 }); // run from sources, there is no thread: all senders are recovered here
    const told = new Uint8Array(20).fill(7);
    const transactions: Transaction[] = [attributesDeposit(1), ...Array.from({ length: 20 }, (_, nonce) => transaction(0, nonce))];
    cache.remember(hashTransaction(transactions[5]!), told);
    const expected = transactions.map((_, index) => (index === 0 ? attributesDeposit(1).from : index === 5 ? told : ACCOUNTS[0]));
    expect(await cache.recoverAhead(transactions, false)).toEqual(expected);
    expect(await cache.recoverAhead(transactions)).toEqual(expected);
    const bad = { ...transaction(0, 0), signature: { r: new Uint8Array(32), s: new Uint8Array(32).fill(1), yParity: 0 as const } };
    expect(await cache.recoverAhead([...transactions, bad])).toBeUndefined();
    await cache.close();
  });
});
