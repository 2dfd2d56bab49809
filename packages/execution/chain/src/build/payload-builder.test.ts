import { bytesToHex, concatBytes, equalBytes, hexToBytes } from "@rnode/primitives";
import { daBytes, encodeTransaction, estimatedDaBytes, hashTransaction, type OpFork, type PayloadAttributes } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { AttributesFault, BestTransactions } from "../api.ts";
import {
  ACCOUNTS,
  attributesDeposit,
  attributesFor,
  build,
  type DevChain,
  devGenesis,
  fixedPool,
  forkchoice,
  openDevChain,
  produce,
  transaction,
} from "../testing/dev-chain.ts";
import { PreparedBlock } from "../prepared-block.ts";

const opened: DevChain[] = [];
function open(...args: Parameters<typeof openDevChain>): DevChain {
  const chain = openDevChain(...args);
  opened.push(chain);
  return chain;
}
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});

const headHash = (dev: DevChain): Uint8Array => hexToBytes(dev.chain.head().hash);
const start = (dev: DevChain, attributes: PayloadAttributes) =>
  dev.chain.forkchoiceUpdated(forkchoice(headHash(dev)), attributes, 3);

describe("attributes", () => {
  it.each<[AttributesFault, OpFork, Partial<PayloadAttributes>]>([
    ["timestamp-not-after-head", "jovian", { timestamp: 1000 }],
    ["missing-withdrawals", "canyon", { withdrawals: undefined }],
    ["unexpected-withdrawals", "bedrock", { withdrawals: [] }],
    [
      "withdrawals-not-empty",
      "canyon",
      { withdrawals: [{ index: 0n, validatorIndex: 0n, address: new Uint8Array(20), amount: 1n }] },
    ],
    ["missing-beacon-root", "ecotone", { parentBeaconBlockRoot: undefined }],
    ["unexpected-beacon-root", "canyon", { parentBeaconBlockRoot: new Uint8Array(32) }],
    ["missing-gas-limit", "canyon", { gasLimit: undefined }],
    ["gas-limit-too-large", "canyon", { gasLimit: 2n ** 63n }],
    ["missing-eip1559-params", "holocene", { eip1559Params: undefined }],
    ["unexpected-eip1559-params", "granite", { eip1559Params: new Uint8Array(8) }],
    ["eip1559-denominator-zero", "holocene", { eip1559Params: hexToBytes("0x0000000000000006") }],
    ["eip1559-elasticity-zero", "holocene", { eip1559Params: hexToBytes("0x000000fa00000000") }],
    ["missing-min-base-fee", "jovian", { minBaseFee: undefined }],
    ["unexpected-min-base-fee", "isthmus", { minBaseFee: 0n }],
    ["transaction-undecodable", "jovian", { transactions: [Uint8Array.of(0x7e, 0xff)] }],
    ["transaction-undecodable", "jovian", { transactions: [encodeTransaction(attributesDeposit(1)), Uint8Array.of(0x02, 0xc0)] }],
    ["missing-l1-attributes", "bedrock", { transactions: undefined }],
    ["missing-l1-attributes", "jovian", { transactions: [] }],
    ["missing-l1-attributes", "jovian", { transactions: [encodeTransaction(transaction(0, 0))] }],
    ["missing-l1-attributes", "jovian", { transactions: [encodeTransaction({ ...attributesDeposit(1), to: ACCOUNTS[0] })] }],
    ["missing-l1-attributes", "jovian", { transactions: [encodeTransaction({ ...attributesDeposit(1), from: ACCOUNTS[0]! })] }],
    [
      "transaction-invalid",
      "jovian",
      { transactions: [encodeTransaction(attributesDeposit(1)), encodeTransaction(transaction(0, 7))] },
    ],
  ])("are refused for %s", (fault, fork, changes) => {
    const dev = open(fork);
    expect(start(dev, attributesFor(dev, 1, changes))).toMatchObject({ kind: "invalid-attributes", fault });
    // A block of deposits only can still be built; the node falls back to it.
    expect(produce(dev).block.transactions).toHaveLength(1);
  });

  it("give the same id again while the build is there, and a different one for different attributes", () => {
    const dev = open();
    const idOf = (attributes: PayloadAttributes) => {
      const result = start(dev, attributes);
      return result.kind === "updated" ? result.payloadId : result;
    };
    const first = idOf(attributesFor(dev, 1));
    expect(first).toMatch(/^0x03[0-9a-f]{14}$/);
    expect(idOf(attributesFor(dev, 1))).toBe(first);
    expect(idOf(attributesFor(dev, 2))).not.toBe(first);
    expect(dev.chain.getPayload("0x0300000000000000")).toBeUndefined();
  });
});

describe("headers", () => {
  it.each<[OpFork, string, bigint | undefined, string]>([
    ["granite", "", undefined, "0x"],
    ["holocene", "0x0000000800000008", undefined, "0x000000000800000008"],
    ["isthmus", "0x0000000000000000", undefined, "0x00000000fa00000006"],
    ["jovian", "0x0000000800000008", 257n, "0x0100000008000000080000000000000101"],
  ])("carry the EIP-1559 parameters of %s", (fork, params, minBaseFee, extraData) => {
    const dev = open(fork);
    const changes: Partial<PayloadAttributes> = {
      ...(params !== "" && { eip1559Params: hexToBytes(params) }),
      ...(minBaseFee !== undefined && { minBaseFee }),
    };
    expect(bytesToHex(produce(dev, 1, changes).block.header.extraData)).toBe(extraData);
  });

  it("raise the base fee to the minimum that the parent carries", () => {
    const dev = open("jovian");
    produce(dev, 1, { minBaseFee: 5_000_000_000n });
    expect(produce(dev, 2).block.header.baseFeePerGas).toBe(5_000_000_000n);
  });

  it("take the gas limit of the attributes", () => {
    const dev = open("jovian");
    expect(produce(dev, 1, { gasLimit: 77_000_000n }).block.header.gasLimit).toBe(77_000_000n);
  });

  it.each(["bedrock", "regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"] as const)(
    "of %s are valid on another node",
    (fork) => {
      const [dev, other] = [open(fork), open(fork)];
      for (let i = 1; i <= 2; i++) {
        const encoded = encodeTransaction(transaction(0, i - 1));
        const { block, hash } = produce(dev, i, { transactions: [encodeTransaction(attributesDeposit(i)), encoded] });
        expect(other.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
        other.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
      }
      expect(other.chain.head()).toEqual(dev.chain.head());
    },
  );
});

describe("the pool", () => {
  const pool = (count: number, fields: Parameters<typeof transaction>[2] = {}) =>
    Array.from({ length: count }, (_, nonce) => ({ from: 0, tx: transaction(0, nonce, fields) }));

  it("fills the block after the forced transactions, unless noTxPool", () => {
    const dev = open();
    dev.chain.setPendingSource(fixedPool(() => pool(3)));
    expect(build(dev, 1).block.transactions).toHaveLength(1);
    const payload = produce(dev, 2, { noTxPool: false });
    expect(payload.block.transactions).toHaveLength(4);
    expect(payload.value).toBe(3n * 21_000n * 1_000_000n);
    expect(dev.store.verifyState().problems).toEqual([]);
  });

  it("takes what arrives between the start and getPayload, each once", () => {
    const dev = open();
    let count = 2;
    dev.chain.setPendingSource(fixedPool(() => pool(count)));
    const result = start(dev, attributesFor(dev, 1, { noTxPool: false }));
    count = 5;
    const payload = dev.chain.getPayload(result.kind === "updated" ? result.payloadId! : "0x")!;
    expect(payload.block.transactions).toHaveLength(6);
    expect(dev.chain.newPayload(new PreparedBlock(payload.block)).status).toBe("VALID");
  });

  it("keeps a started build over a fork choice that moves the head", () => {
    const [dev, other] = [open(), open()];
    dev.chain.setPendingSource(fixedPool(() => pool(2)));
    const started = start(dev, attributesFor(dev, 1, { noTxPool: false }));
    const rival = produce(other, 9);
    dev.chain.newPayload(new PreparedBlock(rival.block));
    dev.chain.forkchoiceUpdated(forkchoice(rival.hash), undefined, 3);
    const payload = dev.chain.getPayload(started.kind === "updated" ? started.payloadId! : "0x")!;
    expect(payload.block.transactions).toHaveLength(3);
    expect(dev.chain.newPayload(new PreparedBlock(payload.block)).status).toBe("VALID");
  });

  it("has one budget of time for a block, of which large gas limits behind others may not take too much", () => {
    let nowMs = 0;
    const dev = open("jovian", { nowMs: () => nowMs });
    let offered = [
      { from: 0, tx: transaction(0, 0, { gasLimit: 16_000_000n }) }, // the first one, whatever it may take
      { from: 1, tx: transaction(1, 0, { gasLimit: 16_000_000n }) }, // 320 ms, and 300 are left
      { from: 2, tx: transaction(2, 0, { gasLimit: 5_000_000n }) }, // 100 ms, and 200 are left
    ];
    const pool = fixedPool(() => offered);
    const slow = (best: BestTransactions): BestTransactions => ({
      next() {
        const next = best.next();
        if (next !== undefined) nowMs += 100;
        return next;
      },
      skipSender: () => best.skipSender(),
    });
    dev.chain.setPendingSource({ best: (...of) => slow(pool.best(...of)) });
    const senders = (seed: number, meanwhile?: () => void): number[] => {
      const result = start(dev, attributesFor(dev, seed, { noTxPool: false, gasLimit: 60_000_000n }));
      meanwhile?.();
      const { block, hash } = dev.chain.getPayload(result.kind === "updated" ? result.payloadId! : "0x")!;
      expect(dev.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
      dev.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
      const hashes = block.transactions.slice(1).map((tx) => bytesToHex(hashTransaction(tx)));
      return hashes.map((wanted) => offered.find(({ tx }) => bytesToHex(hashTransaction(tx)) === wanted)!.from);
    };
    expect(senders(1)).toEqual([0, 2]);
    offered = [offered[1]!];
    // of 400 ms, 100 are spent when the build starts; at the end, the first one is offered again
    const late = [0, 2].map((from) => ({ from, tx: transaction(from, 1) }));
    expect(senders(2, () => (offered = [...offered, ...late]))).toEqual([1, 0]);
  });

  it("stops at the gas limit", () => {
    const dev = open();
    dev.chain.setPendingSource(fixedPool(() => pool(100, { gasLimit: 21_000n })));
    const forced = [encodeTransaction({ ...attributesDeposit(1), gasLimit: 100_000n })];
    const { header, transactions } = produce(dev, 1, { noTxPool: false, gasLimit: 300_000n, transactions: forced }).block;
    expect(transactions.length).toBeGreaterThan(3);
    expect(transactions.length).toBeLessThan(20);
    expect(header.gasUsed).toBeLessThanOrEqual(header.gasLimit);
    expect(header.gasLimit - header.gasUsed).toBeLessThan(21_000n);
  });

  it("skips what cannot go in and the rest of its sender", () => {
    const dev = open();
    const transactions = [
      { from: 0, tx: transaction(0, 5) },
      { from: 0, tx: transaction(0, 6) },
      { from: 1, tx: transaction(1, 0) },
      { from: 2, tx: transaction(2, 0, { value: 10n ** 30n }) },
    ];
    dev.chain.setPendingSource(fixedPool(() => transactions));
    const { block } = produce(dev, 1, { noTxPool: false });
    expect(block.transactions.slice(1).map((tx) => bytesToHex(hashTransaction(tx)))).toEqual([
      bytesToHex(hashTransaction(transactions[2]!.tx)),
    ]);
  });

  it("stops at the DA footprint, which the header carries", () => {
    // L1Block slot 8: bytes 18–19 hold the scalar, here 400; the smallest transaction then counts 40,000.
    const genesis = devGenesis("jovian", `0190${"00".repeat(12)}`);
    const [dev, other] = [open("jovian", { genesis }), open("jovian", { genesis })];
    dev.chain.setPendingSource(fixedPool(() => pool(100)));
    const { block, hash } = produce(dev, 1, {
      noTxPool: false,
      gasLimit: 1_210_000n,
      transactions: [encodeTransaction({ ...attributesDeposit(1), gasLimit: 100_000n })],
    });
    expect(block.transactions.length - 1).toBe(30);
    expect(block.header.blobGasUsed).toBe(1_200_000n);
    expect(other.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
    const wrong = { ...block, header: { ...block.header, blobGasUsed: 0n } };
    expect(other.chain.newPayload(new PreparedBlock(wrong)).validationError).toMatch(/^blob-gas-used-mismatch/);
  });

  it("obeys miner_setMaxDASize for pool transactions only", () => {
    const dev = open();
    const big = {
      data: concatBytes(...Array.from({ length: 40 }, (_, i) => hashTransaction(transaction(0, i)))),
      gasLimit: 200_000n,
    };
    const transactions = [
      { from: 0, tx: transaction(0, 0, big) },
      { from: 1, tx: transaction(1, 0) },
      { from: 2, tx: transaction(2, 0) },
    ];
    const bytes = estimatedDaBytes(encodeTransaction(transactions[1]!.tx));
    dev.chain.setPendingSource(fixedPool(() => transactions));
    const forced = [encodeTransaction(attributesDeposit(1))];
    const hashes = (seed: number) =>
      build(dev, seed, { noTxPool: false, transactions: forced })
        .block.transactions.slice(1)
        .map((tx) => bytesToHex(hashTransaction(tx)));
    expect(hashes(1)).toHaveLength(3);
    dev.chain.setMaxDaSize(bytes, daBytes(0));
    expect(hashes(2)).toEqual([1, 2].map((i) => bytesToHex(hashTransaction(transactions[i]!.tx))));
    dev.chain.setMaxDaSize(bytes, bytes);
    expect(hashes(3)).toEqual([bytesToHex(hashTransaction(transactions[1]!.tx))]);
    const exempt = build(dev, 4, { noTxPool: true, transactions: [...forced, encodeTransaction(transactions[0]!.tx)] });
    expect(exempt.block.transactions).toHaveLength(2);
  });

  it("knows its own payload, and takes no other body for it", () => {
    const dev = open();
    const { block, hash } = build(dev);
    expect(dev.chain.preparedBlockOf(hash)?.block).toBe(block);
    expect(dev.chain.newPayload(new PreparedBlock(block))).toEqual({ status: "VALID", latestValidHash: bytesToHex(hash) });
    const status = dev.chain.newPayload(new PreparedBlock({ ...block, transactions: [] }));
    expect(status.validationError).toMatch(/^transactions-root-mismatch/);
    expect(equalBytes(hash, headHash(dev))).toBe(false);
  });
});
