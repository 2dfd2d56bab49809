import type { L1BlockHeader } from "@rnode/derivation";
import { CodedError, type Hex } from "@rnode/primitives";
import type { L1BlockRef, Transaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type BlobReadAhead, type L1BlockReader, ReadAhead, type ReadAheadOptions } from "./read-ahead.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const hashOf = (number: number, branch: string): Hex => `0x${branch}${number.toString(16).padStart(62, "0")}`;
const KIB = 1024;

function fake(headNumber: number, options: Partial<ReadAheadOptions> = {}) {
  const calls: string[] = [];
  const state = { head: headNumber, branch: "aa", failing: new Set<number>(), blockBytes: 10 * KIB, underWay: 0, mostUnderWay: 0 };
  /** while there is one, batches wait for it */
  let held: Promise<void> | undefined;
  const block = (number: number): L1BlockHeader => ({
    hash: hashOf(number, state.branch),
    number,
    parentHash: hashOf(number - 1, state.branch),
    timestamp: number * 12,
    baseFeePerGas: 1n,
    mixHash: new Uint8Array(32),
  });
  const l1: L1BlockReader = {
    blockByNumber: () => Promise.reject(new Error("the reader wants transactions, too")),
    async blockToRead(number) {
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
    async readBlocks(first, count) {
      calls.push(`blocks ${first} to ${first + count - 1}`);
      state.mostUnderWay = Math.max(state.mostUnderWay, ++state.underWay);
      await held;
      state.underWay--;
      const numbers = Array.from({ length: count }, (_, index) => first + index).filter((number) => number <= state.head);
      if (numbers.some((number) => state.failing.has(number))) throw new CodedError("l1/unavailable", {});
      return { headers: numbers.map(block), sizeBytes: numbers.length * state.blockBytes };
    },
  };
  const reader = new ReadAhead(
    { depth: 8, batch: 4, maxBytes: 1024 * 1024 * KIB, headDistance: 5, ...options },
    { l1, l1Head: () => block(state.head) },
  );
  const batches = (): string[] => calls.filter((call) => call.startsWith("blocks"));
  const hold = (): (() => void) => {
    let release = (): void => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  return { reader, calls, batches, state, hold, l1 };
}

describe("ReadAhead", () => {
  it("has the next blocks on their way, several in one request", async () => {
    const { reader, calls, batches } = fake(100);
    expect((await reader.blockByNumber(10))?.number).toBe(10);
    await settle();
    expect(batches()).toEqual(["blocks 11 to 12", "blocks 13 to 14", "blocks 15 to 16", "blocks 17 to 18"]);
    expect(calls).toEqual(expect.arrayContaining(["block 10", "receipts 10", "transactions 10"]));
    calls.length = 0;
    for (let number = 11; number <= 14; number++) expect((await reader.blockByNumber(number))?.number).toBe(number);
    expect(calls).toEqual(["blocks 19 to 20", "blocks 21 to 22"]);
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
    const reader = new ReadAhead(
      { depth: 1, batch: 4, maxBytes: 1024 * KIB, headDistance: 5 },
      { l1, l1Head, blobs: { source: { readAhead }, inbox } },
    );
    await reader.blockByNumber(10);
    await settle();
    expect(asked.sort()).toEqual(["10: 2=3,3=4", "11: 2=3,3=4"]);
  });

  it("keeps several requests under way, so that latency does not bound a reader that is fast", async () => {
    const { reader, state, hold } = fake(1_000, { depth: 64, batch: 16 });
    const release = hold();
    await reader.blockByNumber(10);
    await settle();
    expect(state.mostUnderWay).toBe(4);
    release();
    for (let number = 11; number < 500; number++) await reader.blockByNumber(number);
    expect(state.mostUnderWay).toBe(4);
  });

  it("reads fewer blocks ahead where they are large, and more where they are small", async () => {
    const { reader, state, batches, calls } = fake(2_000, { depth: 64, batch: 16, maxBytes: 16 * 1024 * KIB });
    await reader.blockByNumber(10);
    expect(batches().at(-1)).toMatch(/ to 26$/); // 16 MiB of blocks of 1 MiB, which is assumed
    for (let number = 11; number < 200; number++) await reader.blockByNumber(number);
    expect(batches().at(-1)).toMatch(/to 2[56]\d$/);
    state.blockBytes = 4 * 1024 * KIB;
    for (let number = 200; number < 400; number++) await reader.blockByNumber(number);
    calls.length = 0;
    await reader.blockByNumber(400);
    expect(batches()).toEqual(["blocks 404 to 404"]);
  });

  it("reads the last blocks before the head ahead one by one, and asks for nothing beyond it", async () => {
    const { reader, calls, batches, state } = fake(18);
    await reader.blockByNumber(10);
    await settle();
    expect(batches()).toEqual(["blocks 11 to 12", "blocks 13 to 13"]);
    const asked = (): string[] => calls.filter((call) => call.startsWith("block "));
    expect(asked().sort()).toEqual(["block 10", "block 14", "block 15", "block 16", "block 17", "block 18"]);
    for (let number = 11; number <= 18; number++) expect((await reader.blockByNumber(number))?.number).toBe(number);
    expect(await reader.blockByNumber(19)).toBeUndefined();
    state.head = 19;
    expect((await reader.blockByNumber(19))?.number).toBe(19);
    await settle();
    expect(asked().slice(6)).toEqual(["block 19"]);
    expect(calls.filter((call) => call.startsWith("receipts ")).sort()).toEqual([
      "receipts 10",
      "receipts 14",
      "receipts 15",
      "receipts 16",
      "receipts 17",
      "receipts 18",
      "receipts 19",
    ]);
  });

  it("hands out a block close to the head although the next one is gone, and what else belongs to it never comes", async () => {
    const { reader, l1 } = fake(12);
    const receipts = l1.receipts.bind(l1);
    l1.readBlocks = () => new Promise(() => {});
    l1.receipts = (hash) => (hash === hashOf(12, "aa") ? new Promise(() => {}) : receipts(hash));
    for (const number of [10, 11, 12]) expect((await reader.blockByNumber(number))?.number).toBe(number);
  });

  it("does not hand out what was read ahead of another branch than the block before it", async () => {
    const { reader, state, batches } = fake(100);
    await reader.blockByNumber(10);
    state.branch = "bb"; // for a while
    for (const number of [11, 12]) await reader.blockByNumber(number);
    await settle();
    expect(batches().at(-1)).toBe("blocks 19 to 20");
    state.branch = "aa";
    for (let number = 13; number <= 22; number++) expect((await reader.blockByNumber(number))?.hash).toBe(hashOf(number, "aa"));
  });

  it("forgets what it read when the reader starts over", async () => {
    const { reader, state } = fake(100);
    await reader.blockByNumber(10);
    await settle();
    state.branch = "bb"; // L1 reorganised
    expect((await reader.blockByNumber(9))?.hash).toBe(hashOf(9, "bb"));
    for (const number of [10, 11, 12, 13]) expect((await reader.blockByNumber(number))?.hash).toBe(hashOf(number, "bb"));
  });

  it("fetches nothing ahead again for a reader that asks for the same block again", async () => {
    const { reader, calls, state } = fake(100);
    state.failing.add(10).add(15);
    for (let attempt = 0; attempt < 20; attempt++) await expect(reader.blockByNumber(10)).rejects.toThrow();
    state.failing.delete(10);
    await reader.blockByNumber(10);
    await reader.blockByNumber(10); // the transactions were unavailable
    await settle();
    expect(calls.filter((call) => call.startsWith("blocks"))).toEqual([
      "blocks 11 to 12",
      "blocks 13 to 14",
      "blocks 15 to 16",
      "blocks 17 to 18",
    ]);
    // Block 15 was read ahead without use. Reading ahead restarts when the reader has passed it.
    for (let number = 11; number < 15; number++) await reader.blockByNumber(number);
    await expect(reader.blockByNumber(15)).rejects.toThrow();
    state.failing.clear();
    for (let number = 15; number < 21; number++) expect((await reader.blockByNumber(number))?.number).toBe(number);
    await settle();
    expect(calls.filter((call) => /^block (1[89]|20)$/.test(call))).toEqual([]);
  });

  it("asks again for what failed ahead of time, and passes a failure on", async () => {
    const { reader, state } = fake(100);
    state.failing.add(11);
    await reader.blockByNumber(10);
    await settle();
    await expect(reader.blockByNumber(11)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    state.failing.clear();
    for (const number of [11, 12, 13]) expect((await reader.blockByNumber(number))?.number).toBe(number);
  });
});
