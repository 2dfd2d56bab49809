import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MetricFactory, noMetrics } from "@rnode/observe";
import { bytesToBigint, bytesToHex, equalBytes, hexToBytes, padBytesLeft, ZERO_HASH } from "@rnode/primitives";
import { type Block, encodeTransaction, type Header, hashHeader } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BlockRule, HeadChange } from "./api.ts";
import { PreparedBlock } from "./prepared-block.ts";
import {
  ACCOUNTS,
  attributesFor,
  build,
  type DevChain,
  forkchoice,
  LOGGER,
  openDevChain,
  produce,
  transaction,
} from "./testing/dev-chain.ts";

let dev: DevChain;
let other: DevChain;
const opened: DevChain[] = [];

function open(...args: Parameters<typeof openDevChain>): DevChain {
  const chain = openDevChain(...args);
  opened.push(chain);
  return chain;
}

beforeEach(() => {
  dev = open();
  other = open();
});

afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});

const headHash = (chain: DevChain): Uint8Array => hexToBytes(chain.chain.head().hash);
const loggerWrite = (from: number, nonce: number, value: number) =>
  encodeTransaction(transaction(from, nonce, { to: LOGGER, value: 0n, data: padBytesLeft(Uint8Array.of(value), 32) }));
const withTransactions = (chain: DevChain, seed: number, ...transactions: Uint8Array[]) => ({
  transactions: [...attributesFor(chain, seed).transactions!, ...transactions],
});
const loggerSlot = (chain: DevChain, block = chain.chain.head()): bigint =>
  bytesToBigint(chain.chain.stateAt(block)!.readStorage(LOGGER, ZERO_HASH) ?? ZERO_HASH);

describe("building and importing", () => {
  it("builds on one node what another finds valid", () => {
    for (let i = 1; i <= 3; i++) {
      const { block, hash } = produce(dev, i, withTransactions(dev, i, loggerWrite(0, i - 1, i)));
      expect(other.chain.newPayload(new PreparedBlock(block))).toEqual({ status: "VALID", latestValidHash: bytesToHex(hash) });
      expect(other.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3)).toMatchObject({
        kind: "updated",
        status: { status: "VALID" },
      });
      expect(other.chain.head()).toEqual({ hash: bytesToHex(hash), number: i });
    }
    expect(loggerSlot(other)).toBe(3n);
    const { block, receipts, senders } = other.chain.resolve({ kind: "number", number: 2 })!;
    expect(block.transactions).toHaveLength(2);
    expect(receipts[1]).toMatchObject({ type: 2, status: 1 });
    expect(receipts[1]!.logs).toHaveLength(1);
    expect(receipts[0]).toMatchObject({ type: 0x7e, depositReceiptVersion: 1n, depositNonce: 1n });
    expect(senders[1]).toEqual(ACCOUNTS[0]);
    expect(other.store.verifyState().problems).toEqual([]);
  });

  it("has a block that it built for somebody on the disk before it is the head, and leaves others to the store", () => {
    const committed = [dev, other].map((chain) => vi.spyOn(chain.store, "commitBlock"));
    const { block, hash } = produce(dev, 1);
    other.chain.newPayload(new PreparedBlock(block));
    other.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
    expect(committed.map(({ mock }) => mock.calls.map(([, , options]) => options?.isFlushed))).toEqual([[true], [undefined]]);
  });

  it("executes blocks ahead of fork choice, on state in memory", () => {
    const payloads = [1, 2, 3].map((i) => produce(dev, i, withTransactions(dev, i, loggerWrite(0, i - 1, i))));
    for (const { block } of payloads) expect(other.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
    expect(other.chain.head().number).toBe(0);
    const second = { hash: bytesToHex(payloads[1]!.hash), number: 2 };
    expect(loggerSlot(other, second)).toBe(2n);
    other.chain.forkchoiceUpdated(forkchoice(payloads[2]!.hash), undefined, 3);
    expect(other.chain.head().number).toBe(3);
    expect(loggerSlot(other)).toBe(3n);
    expect(loggerSlot(other, second)).toBe(2n);
    expect(other.store.verifyState().problems).toEqual([]);
  });

  it("keeps history: the state of old blocks stays readable", () => {
    for (let i = 1; i <= 4; i++) produce(dev, i, withTransactions(dev, i, loggerWrite(0, i - 1, i)));
    for (let number = 0; number <= 4; number++) {
      const hash = bytesToHex(dev.chain.headerOf({ kind: "number", number })!.hash);
      expect(loggerSlot(dev, { hash, number })).toBe(BigInt(number));
    }
  });

  it("continues after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rnode-chain-"));
    const first = openDevChain("jovian", { folder });
    const { hash } = produce(first, 1, withTransactions(first, 1, loggerWrite(0, 0, 7)));
    first.chain.forkchoiceUpdated(forkchoice(hash, hash, first.chain.genesis.hash), undefined, 3);
    await first.chain.close();
    const second = open("jovian", { folder });
    expect(second.chain.head()).toEqual({ hash: bytesToHex(hash), number: 1 });
    expect(second.chain.resolve({ kind: "tag", tag: "safe" })!.hash).toEqual(hash);
    expect(second.chain.resolve({ kind: "tag", tag: "finalized" })!.hash).toEqual(second.chain.genesis.hash);
    expect(produce(second, 2).block.header.number).toBe(2);
    expect(loggerSlot(second)).toBe(7n);
  });

  it("answers for a block it knows without executing it", () => {
    let executions = 0;
    const counting: MetricFactory = {
      ...noMetrics,
      histogram: (name, ...declaration) => ({
        ...noMetrics.histogram(name, ...declaration),
        observe: () => void (name === "chain_execute_seconds" && executions++),
      }),
    };
    const own = open("jovian", { metrics: counting });
    const { block } = produce(own);
    expect(own.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
    expect(own.chain.newPayload(new PreparedBlock(own.chain.genesis.block)).status).toBe("VALID");
    expect(executions).toBe(0);
    const foreign = produce(other, 1, withTransactions(other, 1, loggerWrite(0, 0, 1)));
    expect(own.chain.newPayload(new PreparedBlock(foreign.block)).status).toBe("VALID");
    expect(executions).toBe(1);
  });
});

describe("fork choice", () => {
  /** Two chains of three blocks from the genesis. */
  function forks() {
    const a = [1, 2, 3].map((i) => produce(dev, i, withTransactions(dev, i, loggerWrite(0, i - 1, i))));
    const b = [11, 12, 13].map((i) => produce(other, i, withTransactions(other, i, loggerWrite(1, i - 11, i))));
    return { a, b };
  }

  it("reorganises three blocks deep, and back", () => {
    const { a, b } = forks();
    const changes: HeadChange[] = [];
    dev.chain.onHeadChange((change) => changes.push(change));
    for (const { block } of b) expect(dev.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
    expect(dev.chain.head().hash).toBe(bytesToHex(a[2]!.hash));

    dev.chain.forkchoiceUpdated(forkchoice(b[2]!.hash), undefined, 3);
    expect(dev.chain.head().hash).toBe(bytesToHex(b[2]!.hash));
    expect(loggerSlot(dev)).toBe(13n);
    expect(changes).toHaveLength(1);
    expect(changes[0]!.removed.map(({ hash }) => hash)).toEqual([a[2]!.hash, a[1]!.hash, a[0]!.hash]);
    expect(changes[0]!.added.map(({ hash }) => hash)).toEqual(b.map(({ hash }) => hash));
    expect(dev.chain.resolve({ kind: "hash", hash: a[1]!.hash, requireCanonical: true })).toBeUndefined();
    expect(dev.store.verifyState().problems).toEqual([]);

    dev.chain.forkchoiceUpdated(forkchoice(a[2]!.hash), undefined, 3);
    expect(loggerSlot(dev)).toBe(3n);
    expect(dev.chain.stateAt(dev.chain.head())!.readAccount(ACCOUNTS[1]!)!.nonce).toBe(0n);
    expect(dev.store.verifyState().problems).toEqual([]);
  });

  it("executes again what has left memory", () => {
    const small = open("jovian", { options: { tree: { maxBlocks: 1, maxBytes: 1 } } });
    const { a, b } = forks();
    for (const { block, hash } of a) {
      small.chain.newPayload(new PreparedBlock(block));
      small.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
    }
    expect(small.chain.newPayload(new PreparedBlock(b[0]!.block)).status).toBe("VALID");
    small.chain.forkchoiceUpdated(forkchoice(b[0]!.hash), undefined, 3);
    expect(loggerSlot(small)).toBe(11n);
    // Only one executed block fits into memory: the branch is longer, and its blocks have to be sent again one by one.
    for (const { hash } of a) {
      expect(small.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3)).toMatchObject({ status: { status: "VALID" } });
    }
    expect(loggerSlot(small)).toBe(3n);
  });

  it("goes back to an ancestor and builds there", () => {
    const payloads = [1, 2, 3].map((i) => produce(dev, i, withTransactions(dev, i, loggerWrite(0, i - 1, i))));
    dev.chain.forkchoiceUpdated(forkchoice(payloads[2]!.hash, payloads[1]!.hash, payloads[0]!.hash), undefined, 3);
    const target = payloads[0]!.hash;
    const header = payloads[0]!.block.header;
    const attributes = { ...attributesFor(dev, 9), timestamp: header.timestamp + 2 };
    const result = dev.chain.forkchoiceUpdated(forkchoice(target), attributes, 3);
    expect(result).toMatchObject({ kind: "updated", status: { status: "VALID" } });
    expect(dev.chain.head()).toEqual({ hash: bytesToHex(target), number: 1 });
    expect(dev.chain.resolve({ kind: "tag", tag: "safe" })!.hash).toEqual(target);
    expect(loggerSlot(dev)).toBe(1n);
    const built = dev.chain.getPayload(result.kind === "updated" ? result.payloadId! : "0x")!;
    expect(built.block.header.number).toBe(2);
    expect(dev.chain.newPayload(new PreparedBlock(built.block)).status).toBe("VALID");
    // and forward again, along the chain that was left before
    expect(dev.chain.forkchoiceUpdated(forkchoice(payloads[2]!.hash), undefined, 3)).toMatchObject({ status: { status: "VALID" } });
    expect(loggerSlot(dev)).toBe(3n);
  });

  it("goes back below its finalized block when the rollup node takes that back, too", () => {
    const [one, , three] = [1, 2, 3].map((i) => produce(dev, i, withTransactions(dev, i, loggerWrite(0, i - 1, i))));
    dev.chain.forkchoiceUpdated(forkchoice(three!.hash, three!.hash, three!.hash), undefined, 3);
    const back = dev.chain.forkchoiceUpdated(forkchoice(one!.hash, one!.hash, one!.hash), undefined, 3);
    expect(back).toMatchObject({ kind: "updated", status: { status: "VALID" } });
    expect(dev.chain.head().number).toBe(1);
    for (const tag of ["safe", "finalized"] as const) expect(dev.chain.resolve({ kind: "tag", tag })!.hash).toEqual(one!.hash);
    expect(loggerSlot(dev)).toBe(1n);
  });

  it("answers SYNCING for what it does not know", () => {
    const unknown = new Uint8Array(32).fill(9);
    expect(dev.chain.forkchoiceUpdated(forkchoice(unknown), undefined, 3)).toMatchObject({
      status: { status: "SYNCING", latestValidHash: null },
    });
    produce(other, 1);
    const orphan = produce(other, 2);
    expect(dev.chain.newPayload(new PreparedBlock(orphan.block))).toEqual({ status: "SYNCING", latestValidHash: null });
  });

  it("refuses labels that are unknown or on another chain, and changes nothing", () => {
    const { a, b } = forks();
    dev.chain.newPayload(new PreparedBlock(b[0]!.block));
    const unknown = new Uint8Array(32).fill(9);
    const cases = [
      [forkchoice(a[1]!.hash, unknown), "safe-not-available"],
      [forkchoice(a[1]!.hash, a[2]!.hash), "safe-not-canonical"],
      [forkchoice(a[1]!.hash, b[0]!.hash), "safe-not-canonical"],
      [forkchoice(a[1]!.hash, ZERO_HASH, unknown), "finalized-not-available"],
      [forkchoice(a[1]!.hash, ZERO_HASH, b[0]!.hash), "finalized-not-canonical"],
    ] as const;
    for (const [state, reason] of cases) {
      expect(dev.chain.forkchoiceUpdated(state, undefined, 3)).toEqual({ kind: "invalid-state", reason });
      expect(headHash(dev)).toEqual(a[2]!.hash);
    }
  });

  it("moves safe forwards and backwards", () => {
    const { a } = forks();
    for (const index of [2, 0, 1]) {
      dev.chain.forkchoiceUpdated(forkchoice(a[2]!.hash, a[index]!.hash), undefined, 3);
      expect(dev.chain.resolve({ kind: "tag", tag: "safe" })!.hash).toEqual(a[index]!.hash);
    }
    expect(dev.chain.resolve({ kind: "tag", tag: "finalized" })).toBeUndefined();
  });
});

describe("invalid payloads", () => {
  const filled = (byte: number) => new Uint8Array(32).fill(byte);
  const withHeader = (block: Block, changes: Partial<Header>): Block => ({ ...block, header: { ...block.header, ...changes } });
  const withBody = (block: Block, transactions: Block["transactions"]): Block => ({
    ...withHeader(block, { transactionsRoot: orderedTrieRoot(transactions.map(encodeTransaction)) }),
    transactions,
  });

  it.each<[BlockRule, (block: Block) => Block]>([
    ["state-root-mismatch", (block) => withHeader(block, { stateRoot: filled(1) })],
    ["receipts-root-mismatch", (block) => withHeader(block, { receiptsRoot: filled(1) })],
    ["transactions-root-mismatch", (block) => withHeader(block, { transactionsRoot: filled(1) })],
    ["logs-bloom-mismatch", (block) => withHeader(block, { logsBloom: new Uint8Array(256).fill(1) })],
    ["gas-used-mismatch", (block) => withHeader(block, { gasUsed: block.header.gasUsed + 1n })],
    ["base-fee-mismatch", (block) => withHeader(block, { baseFeePerGas: 1n })],
    ["withdrawals-root-mismatch", (block) => withHeader(block, { withdrawalsRoot: filled(1) })],
    ["blob-gas-used-mismatch", (block) => withHeader(block, { blobGasUsed: 1n })],
    ["requests-hash-mismatch", (block) => withHeader(block, { requestsHash: filled(1) })],
    ["timestamp-not-after-parent", (block) => withHeader(block, { timestamp: 1000 })],
    ["number-not-consecutive", (block) => withHeader(block, { number: 7 })],
    ["extra-data-form", (block) => withHeader(block, { extraData: new Uint8Array(0) })],
    [
      "withdrawals-not-empty",
      (block) => ({ ...block, withdrawals: [{ index: 0n, validatorIndex: 0n, address: ACCOUNTS[0]!, amount: 1n }] }),
    ],
    ["withdrawals-presence", (block) => ({ ...block, withdrawals: undefined })],
    ["transaction-rejected", (block) => withBody(block, [...block.transactions, transaction(1, 5)])],
    ["transaction-rejected", (block) => withBody(block, [...block.transactions, transaction(1, 0, { gasLimit: 40_000_000n })])],
    ["transaction-signature-invalid", (block) => withBody(block, [...block.transactions, badSignature()])],
    ["transaction-type-not-allowed", (block) => withBody(block, [...block.transactions, blobTransaction()])],
  ])("finds %s", (rule, breakRule) => {
    const { block } = build(other, 1, withTransactions(other, 1, loggerWrite(0, 0, 1)));
    const broken = breakRule(block);
    const hash = hashHeader(broken.header);
    const before = dev.chain.head();
    const status = dev.chain.newPayload(new PreparedBlock(broken));
    expect(status).toMatchObject({ status: "INVALID", latestValidHash: bytesToHex(dev.chain.genesis.hash) });
    expect(status.validationError!.split(" ")[0]).toBe(rule);
    expect(dev.chain.newPayload(new PreparedBlock(broken))).toEqual(status);
    expect(dev.chain.head()).toEqual(before);
    // the valid block is still valid
    expect(dev.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
    // A body that does not belong to the hash says nothing about the hash. Every other fault is remembered, for the block and its children.
    if (FOREIGN_BODY.has(rule)) return;
    expect(dev.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3)).toEqual({ kind: "updated", status, payloadId: undefined });
    const child = withHeader(block, { parentHash: hash, number: 2, timestamp: 1004 });
    expect(dev.chain.newPayload(new PreparedBlock(child))).toMatchObject({
      status: "INVALID",
      latestValidHash: status.latestValidHash,
    });
    expect(dev.chain.head()).toEqual(before);
  });

  const FOREIGN_BODY = new Set<BlockRule>(["transactions-root-mismatch", "withdrawals-not-empty", "withdrawals-presence"]);
  const badSignature = () => ({ ...transaction(1, 0), signature: { r: filled(0), s: filled(1), yParity: 0 as const } });
  const blobTransaction = () => ({
    ...transaction(1, 0),
    type: 0x03 as const,
    maxFeePerBlobGas: 1n,
    blobVersionedHashes: [Uint8Array.of(1, ...filled(0).subarray(1))],
  });
});

describe("a database that fails", () => {
  it("leaves the chain as it was, and the next try works", () => {
    let readsLeft = Number.POSITIVE_INFINITY;
    const stateAt = dev.store.stateAt.bind(dev.store);
    dev.store.stateAt = (number) =>
      new Proxy(stateAt(number)!, {
        get(view, property) {
          const read: unknown = Reflect.get(view, property, view);
          if (typeof read !== "function") return read;
          return (...args: unknown[]): unknown => {
            if (readsLeft-- <= 0) throw new Error("disk error");
            return Reflect.apply(read, view, args);
          };
        },
      });
    // Each read in turn fails once, the first one first. Each attempt uses a sibling block, because a valid block is not executed again.
    for (let reads = 0; ; reads++) {
      const { block } = build(other, 1 + reads, withTransactions(other, 1 + reads, loggerWrite(0, 0, 1), loggerWrite(0, 1, 2)));
      readsLeft = reads;
      let failure: unknown;
      try {
        dev.chain.newPayload(new PreparedBlock(block));
      } catch (error) {
        failure = error;
      }
      readsLeft = Number.POSITIVE_INFINITY;
      expect(dev.chain.head().number).toBe(0);
      expect(dev.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
      if (failure === undefined) {
        expect(reads).toBeGreaterThan(5);
        return;
      }
      expect(failure).toMatchObject({ message: "disk error" });
    }
  });
});

describe("reading", () => {
  it("finds blocks by tag, number and hash", () => {
    const payloads = [1, 2].map((i) => produce(dev, i));
    const at = (selector: Parameters<DevChain["chain"]["resolve"]>[0]) => dev.chain.resolve(selector)?.block.header.number;
    expect(at({ kind: "tag", tag: "latest" })).toBe(2);
    expect(at({ kind: "tag", tag: "pending" })).toBe(2);
    expect(at({ kind: "tag", tag: "earliest" })).toBe(0);
    expect(at({ kind: "tag", tag: "safe" })).toBeUndefined();
    expect(at({ kind: "number", number: 1 })).toBe(1);
    expect(at({ kind: "number", number: 3 })).toBeUndefined();
    expect(at({ kind: "hash", hash: payloads[0]!.hash, requireCanonical: true })).toBe(1);
    expect(at({ kind: "hash", hash: ZERO_HASH, requireCanonical: false })).toBeUndefined();
  });

  it("shows the parent's hash to the block: BLOCKHASH reads the views", () => {
    const { hash } = produce(dev);
    const view = dev.chain.stateAt(dev.chain.head())!;
    expect(equalBytes(view.readBlockHash(1)!, hash)).toBe(true);
    expect(view.readBlockHash(0)).toEqual(dev.chain.genesis.hash);
    expect(view.readBlockHash(2)).toBeUndefined();
  });
});
