import type { L1BlockHeader, L1Provider } from "@rnode/derivation";
import { CodedError, type Hex } from "@rnode/primitives";
import type { L1BlockRef, Transaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type BlobReadAhead, ReadAhead } from "./read-ahead.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const hashOf = (number: number, branch: string): Hex => `0x${branch}${number.toString(16).padStart(62, "0")}`;

function fake(headNumber: number) {
  const calls: string[] = [];
  const state = { head: headNumber, branch: "aa", failing: new Set<number>() };
  const block = (number: number): L1BlockHeader => ({
    hash: hashOf(number, state.branch),
    number,
    parentHash: hashOf(number - 1, state.branch),
    timestamp: number * 12,
    baseFeePerGas: 1n,
    mixHash: new Uint8Array(32),
  });
  const l1: L1Provider = {
    async blockByNumber(number) {
      calls.push(`block ${number}`);
      if (state.failing.has(number)) throw new CodedError("l1/unavailable", {});
      return number > state.head ? undefined : block(number);
    },
    blockByHash: async () => undefined,
    async receipts(hash) {
      calls.push(`receipts ${Number.parseInt(hash.slice(4), 16)}`);
      return [];
    },
    async transactions(hash) {
      calls.push(`transactions ${Number.parseInt(hash.slice(4), 16)}`);
      return [];
    },
  };
  const reader = new ReadAhead({ depth: 3, headDistance: 5 }, { l1, l1Head: () => block(state.head) });
  return { reader, calls, state, l1 };
}

describe("ReadAhead", () => {
  it("has the next blocks on their way, with receipts and transactions", async () => {
    const { reader, calls } = fake(100);
    expect((await reader.blockByNumber(10))?.number).toBe(10);
    await settle();
    expect(calls.filter((call) => call.startsWith("block")).sort()).toEqual(["block 10", "block 11", "block 12", "block 13"]);
    expect(calls).toEqual(expect.arrayContaining(["receipts 10", "transactions 10", "receipts 13", "transactions 13"]));
    calls.length = 0;
    expect((await reader.blockByNumber(11))?.number).toBe(11);
    await settle();
    expect(calls).toEqual(["block 14", "receipts 14", "transactions 14"]);
  });

  it("has blobs of transactions to the inbox on their way, whose index counts those of others", async () => {
    const inbox = new Uint8Array(20).fill(0xff);
    const blobTransaction = (to: Uint8Array, ...hashes: number[]) =>
      ({ type: 3, to, blobVersionedHashes: hashes.map((byte) => new Uint8Array(32).fill(byte)) }) as unknown as Transaction;
    const { l1, state } = fake(100);
    l1.transactions = async () => [blobTransaction(new Uint8Array(20), 1, 2), blobTransaction(inbox, 3), blobTransaction(inbox, 4)];
    const asked: string[] = [];
    const readAhead: BlobReadAhead["readAhead"] = ({ number }, ids) =>
      void asked.push(`${number}: ${ids.map(({ index, versionedHash }) => `${index}=${versionedHash[0]}`).join()}`);
    const l1Head = () => ({ number: state.head }) as L1BlockRef;
    const reader = new ReadAhead({ depth: 1, headDistance: 5 }, { l1, l1Head, blobs: { source: { readAhead }, inbox } });
    await reader.blockByNumber(10);
    await settle();
    expect(asked.sort()).toEqual(["10: 2=3,3=4", "11: 2=3,3=4"]);
  });

  it("does not read ahead near the head, and asks anew for a block that was not there", async () => {
    const { reader, calls, state } = fake(12);
    for (const number of [10, 11, 12]) await reader.blockByNumber(number);
    expect(await reader.blockByNumber(13)).toBeUndefined();
    state.head = 13;
    expect((await reader.blockByNumber(13))?.number).toBe(13);
    await settle();
    expect(calls.filter((call) => call.startsWith("block"))).toEqual(["block 10", "block 11", "block 12", "block 13", "block 13"]);
  });

  it("forgets what it read when the reader starts over", async () => {
    const { reader, state } = fake(100);
    await reader.blockByNumber(10);
    await settle();
    state.branch = "bb"; // L1 reorganised
    expect((await reader.blockByNumber(9))?.hash).toBe(hashOf(9, "bb"));
    expect((await reader.blockByNumber(10))?.hash).toBe(hashOf(10, "bb"));
    expect((await reader.blockByNumber(11))?.hash).toBe(hashOf(11, "bb"));
  });

  it("asks again for what failed ahead of time, and passes a failure on", async () => {
    const { reader, state } = fake(100);
    state.failing.add(11);
    await reader.blockByNumber(10);
    await settle();
    await expect(reader.blockByNumber(11)).rejects.toThrow("l1/unavailable");
    state.failing.clear();
    expect((await reader.blockByNumber(11))?.number).toBe(11);
  });
});
