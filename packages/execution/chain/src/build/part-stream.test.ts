import { bytesToHex, hexToBytes, toQuantity } from "@rnode/primitives";
import { daBytes, encodeReceipts, type FeeMarketTransaction, hashTransaction } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterEach, describe, expect, it } from "vitest";
import { flashblockMetadataOf, flashblockOf } from "../pending/flashblock-of.ts";
import {
  ACCOUNTS,
  type DevChain,
  forkchoice,
  LOGGER,
  openDevChain,
  produce,
  transaction,
} from "../testing/dev-chain.ts";
import { PartProducer } from "../testing/part-producer.ts";
import { PreparedBlock } from "../prepared-block.ts";
import { limitsOfPart, planParts } from "./part-budget.ts";
import { NO_LIMITS } from "./payload-builder.ts";

describe("the plan of a block's parts", () => {
  it.each([
    [2000, 200, { parts: 10, firstMs: 200 }],
    [1950, 200, { parts: 10, firstMs: 150 }],
    [1801, 200, { parts: 10, firstMs: 1 }],
    [150, 200, { parts: 1, firstMs: 150 }],
    [0, 200, { parts: 1, firstMs: 200 }],
    [-5000, 200, { parts: 1, firstMs: 200 }],
  ])("with %d ms left, every %d ms", (restMs, intervalMs, plan) => {
    expect(planParts(restMs, intervalMs)).toEqual(plan);
  });

  it("shares each limit, counted from the start of the block", () => {
    const plan = { parts: 4, firstMs: 1 };
    const limits = { maxTransactionBytes: daBytes(9), maxBlockBytes: daBytes(1000), maxBlockGas: 400n };
    expect(limitsOfPart(limits, 1000n, 0, plan)).toEqual({
      maxTransactionBytes: 9,
      maxBlockBytes: 250,
      maxBlockGas: 100n,
      maxFootprint: 250n,
    });
    expect(limitsOfPart(NO_LIMITS, 1000n, 2, plan)).toMatchObject({ maxBlockBytes: 0, maxBlockGas: 750n });
    expect(limitsOfPart(limits, 1000n, 7, plan)).toMatchObject({ maxBlockBytes: 1000, maxBlockGas: 400n, maxFootprint: 1000n });
    expect(limitsOfPart({ ...limits, maxBlockBytes: daBytes(1), maxBlockGas: 1n }, 3n, 0, plan)).toMatchObject({
      maxBlockBytes: 1,
      maxBlockGas: 1n,
      maxFootprint: 1n,
    });
  });
});

const opened: DevChain[] = [];
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});

function producerOf(): PartProducer {
  const producer = new PartProducer();
  opened.push(producer.dev);
  return producer;
}

const hashesOf = (...transactions: readonly FeeMarketTransaction[]): string[] =>
  transactions.map((each) => bytesToHex(hashTransaction(each)));

describe("an open build", () => {
  it("publishes its deposits at once, later transactions in later parts, and is sealed as exactly its parts", () => {
    const producer = producerOf();
    const [one, two, three] = [transaction(0, 0), transaction(1, 0, { to: LOGGER, data: new Uint8Array(32) }), transaction(0, 1)];
    const id = producer.start();
    expect(producer.parts).toMatchObject([{ index: 0, earlier: 0, payloadId: id }]);
    expect(producer.parts[0]!.block.transactions).toHaveLength(1);
    producer.pool = [{ from: 0, tx: one }];
    producer.tick();
    producer.pool = [{ from: 1, tx: two }];
    producer.tick();
    producer.pool = [{ from: 0, tx: three }];
    const { block, hash } = producer.dev.chain.getPayload(id)!;
    expect(producer.parts.map(({ index, earlier, block }) => [index, earlier, producer.users(block)])).toEqual([
      [0, 0, []],
      [1, 1, hashesOf(one)],
      [2, 2, hashesOf(one, two)],
      [3, 3, hashesOf(one, two, three)],
    ]);
    const last = producer.parts.at(-1)!;
    expect(block.transactions).toEqual(last.block.transactions);
    const { stateRoot, withdrawalsRoot, transactionsRoot } = block.header;
    expect({ ...last.block.header, stateRoot, withdrawalsRoot, transactionsRoot }).toEqual(block.header);
    expect(producer.ends).toEqual([{ index: 3, reason: "sealed", lost: 0 }]);
    expect(producer.timer).toBeUndefined();
    expect(bytesToHex(hash)).not.toBe(bytesToHex(last.hash));
  });

  it("adds no last part if nothing is new", () => {
    const producer = producerOf();
    producer.pool = [{ from: 0, tx: transaction(0, 0) }];
    const { block } = producer.dev.chain.getPayload(producer.start())!;
    expect(block.transactions).toHaveLength(2);
    expect(producer.parts).toHaveLength(1);
  });

  it("has cumulative budgets of gas: an unused share remains for later parts", () => {
    const producer = producerOf(); // four parts of 7.5 M gas
    producer.pool = [
      { from: 0, tx: transaction(0, 0, { gasLimit: 7_000_000n }) },
      { from: 1, tx: transaction(1, 0, { gasLimit: 14_000_000n }) },
      { from: 0, tx: transaction(0, 1, { gasLimit: 7_000_000n }) },
    ];
    const id = producer.start();
    expect(producer.parts.at(-1)!.block.transactions).toHaveLength(3); // the first one used little of its gas, so that a second one fits
    producer.tick();
    expect(producer.users(producer.parts.at(-1)!.block)).toEqual(hashesOf(...[0, 2, 1].map((at) => producer.pool[at]!.tx)));
    producer.dev.chain.getPayload(id);
  });

  it("has no empty parts after its time", () => {
    const producer = producerOf();
    const id = producer.start();
    while (producer.nowMs < 1_003_000) producer.tick();
    expect(producer.parts.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    producer.pool = [{ from: 0, tx: transaction(0, 0) }];
    producer.tick();
    producer.pool = [{ from: 0, tx: transaction(0, 1) }];
    producer.dev.chain.getPayload(id);
    expect(producer.parts.slice(5)).toMatchObject([
      { index: 5, earlier: 1 },
      { index: 6, earlier: 2 },
    ]);
  });

  it("adds nothing once it is overdue by a block time, and is sealed as its parts", () => {
    const producer = producerOf();
    const id = producer.start();
    producer.pool = [{ from: 0, tx: transaction(0, 0) }];
    while (producer.nowMs < 1_003_500) producer.tick();
    expect(producer.ends).toEqual([]);
    producer.pool.push({ from: 0, tx: transaction(0, 1) });
    producer.nowMs = 1_004_001;
    producer.timer!.action();
    expect(producer.users(producer.dev.chain.getPayload(id)!.block)).toEqual(hashesOf(transaction(0, 0)));
    expect(producer.ends).toMatchObject([{ reason: "overdue" }]);
  });

  it("adds nothing to a payload that is requested too late", () => {
    const producer = producerOf();
    const id = producer.start();
    producer.pool = [{ from: 0, tx: transaction(0, 0) }];
    producer.nowMs = 1_004_001;
    expect(producer.users(producer.dev.chain.getPayload(id)!.block)).toEqual([]);
    expect(producer.ends).toEqual([{ index: 0, reason: "overdue", lost: 0 }]);
    expect(producer.timer).toBeUndefined();
  });

  it("has its time from its start if it starts late", () => {
    const producer = producerOf();
    producer.nowMs = 1_060_000;
    const id = producer.start();
    producer.pool = [{ from: 0, tx: transaction(0, 0) }];
    producer.nowMs += 1_999;
    expect(producer.users(producer.dev.chain.getPayload(id)!.block)).toEqual(hashesOf(transaction(0, 0)));
    expect(producer.ends).toMatchObject([{ reason: "sealed" }]);
  });

  it("publishes nothing if the pool is excluded", () => {
    const producer = producerOf();
    produce(producer.dev);
    expect(producer.parts).toEqual([]);
    expect(producer.ends).toEqual([]);
  });

  it("ends its stream when the head changes, and has then what was published", () => {
    const producer = producerOf();
    const id = producer.start();
    producer.pool = [{ from: 0, tx: transaction(0, 0) }];
    producer.tick();
    const other = openDevChain("jovian");
    opened.push(other);
    const { block, hash } = produce(other, 9);
    producer.pool.push({ from: 1, tx: transaction(1, 0) });
    const { chain } = producer.dev;
    chain.newPayload(new PreparedBlock(block));
    chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
    expect(producer.ends).toEqual([{ index: 1, reason: "head-changed", lost: 0 }]);
    expect(producer.timer).toBeUndefined();
    expect(chain.getPayload(id)!.block.transactions).toHaveLength(2);
  });

  it("of other attributes keeps what an earlier one on its parent has published, in order", () => {
    const producer = producerOf();
    const [late, one] = [transaction(1, 0), transaction(0, 0)];
    producer.start(1);
    producer.pool = [{ from: 0, tx: one }];
    producer.tick();
    producer.pool = [{ from: 1, tx: late }];
    const second = producer.start(2);
    expect(producer.ends).toEqual([{ index: 1, reason: "replaced", lost: 0 }]);
    producer.dev.chain.getPayload(second);
    expect(producer.users(producer.parts.at(-1)!.block)).toEqual(hashesOf(one, late));
    // a third one keeps those of the block that was sealed but did not become the head
    producer.pool = [];
    producer.dev.chain.getPayload(producer.start(3));
    expect(producer.users(producer.parts.at(-1)!.block)).toEqual(hashesOf(one, late));
  });

  it("begins with what another producer has promised, and counts what it cannot have", () => {
    const [one, other] = [producerOf(), producerOf()];
    one.start(7); // with another deposit
    one.pool = [{ from: 1, tx: transaction(1, 0) }];
    one.tick();
    other.promised = one.parts[1];
    other.pool = [{ from: 0, tx: transaction(0, 0) }];
    other.dev.chain.getPayload(other.start());
    expect(other.users(other.parts.at(-1)!.block)).toEqual(hashesOf(transaction(1, 0), transaction(0, 0)));
    expect(other.parts[0]!.index).toBe(0);
    const { block, senders } = one.parts[1]!;
    const gone = { ...one.parts[1]!, block: { ...block, transactions: [...block.transactions, transaction(0, 7)] }, senders: [...senders, senders[1]!] };
    const third = producerOf();
    third.promised = gone;
    third.dev.chain.getPayload(third.start());
    expect([other.ends[0]?.lost, third.ends[0]?.lost]).toEqual([0, 1]);
  });

  it("goes on after the parts of another producer of the same block", () => {
    const [old, leader] = [producerOf(), producerOf()];
    const id = old.start();
    old.pool = [{ from: 1, tx: transaction(1, 0) }];
    old.tick();
    leader.promised = old.parts[1];
    leader.pool = [{ from: 0, tx: transaction(0, 0) }];
    expect(leader.start()).toBe(id);
    expect(leader.parts.map(({ index, earlier }) => [index, earlier])).toEqual([[2, 2]]);
    expect(leader.begun).toEqual([1]);
    leader.dev.chain.getPayload(id);
    expect(leader.users(leader.parts.at(-1)!.block)).toEqual(hashesOf(transaction(1, 0), transaction(0, 0)));
  });

  it("reports a failure of a later part, and fails its request in the same way", () => {
    const producer = producerOf();
    const id = producer.start();
    producer.dev.chain.setPendingSource({
      best() {
        throw new Error("no pool");
      },
    });
    producer.tick();
    expect(producer.errors).toMatchObject([{ message: "no pool" }]);
    expect(producer.timer).toBeUndefined();
    expect(() => producer.dev.chain.getPayload(id)).toThrow("no pool");
  });
});

describe("the message of a part", () => {
  it("has the base first, then only what is new", () => {
    const producer = producerOf();
    producer.start();
    const logging = transaction(1, 0, { to: LOGGER, data: new Uint8Array(32).fill(7) });
    producer.pool = [{ from: 1, tx: logging }];
    producer.tick();
    const [first, second] = producer.parts.map(flashblockOf);
    const head = producer.dev.chain.head();
    expect(first!.base).toMatchObject({ parentHash: hexToBytes(head.hash), blockNumber: 1, gasLimit: 30_000_000n, timestamp: 1002 });
    expect(first!.diff.transactions).toHaveLength(1);
    expect(second!.base).toBeUndefined();
    expect(second!.diff.transactions).toHaveLength(1);
    const { receipts, balances } = flashblockMetadataOf(producer.parts[1]!);
    expect([...receipts.keys()]).toEqual(hashesOf(logging));
    const all = producer.parts[1]!.receipts;
    expect(second!.diff.receiptsRoot).toEqual(orderedTrieRoot(encodeReceipts(all)));
    expect(second!.diff.gasUsed).toBe(all.at(-1)!.cumulativeGasUsed);
    const { changes } = producer.parts[1]!;
    const expected = changes.accounts.map(({ address, after }) => [bytesToHex(address), toQuantity(after?.balance ?? 0n)]);
    expect(Array.from(balances, ([address, wei]) => [address, toQuantity(wei)])).toEqual(expected);
    expect(balances.has(bytesToHex(ACCOUNTS[1]!))).toBe(true);
  });
});
