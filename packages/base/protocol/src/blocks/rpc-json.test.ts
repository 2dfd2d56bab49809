import { bytesToHex, hexToBytes, isCodedError } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { AMSTERDAM_BLOCK_JSON } from "../testing/amsterdam-header.ts";
import type { DepositTransaction, SignedTransaction } from "../transactions/transaction.ts";
import { decodeTransaction, encodeTransaction, hashTransaction, signTransaction } from "../transactions/transaction-codec.ts";
import { blockFromRpc, headerFromRpc, receiptFromRpc, transactionFromRpc } from "./rpc-json.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;
const KEY = filled(32, 0x11);

const common = { nonce: 7n, gasLimit: 100_000n, to: filled(20, 0x22), value: 5n, data: Uint8Array.of(0, 1, 2) };
const fees = {
  chainId: 900n,
  maxPriorityFeePerGas: 1n,
  maxFeePerGas: 9n,
  accessList: [{ address: filled(20, 1), storageKeys: [filled(32, 2)] }],
};

const SIGNED: Record<string, SignedTransaction> = {
  "legacy, unprotected": signTransaction<SignedTransaction>({ type: 0, chainId: undefined, gasPrice: 3n, ...common }, KEY),
  "legacy, protected": signTransaction<SignedTransaction>({ type: 0, chainId: 900n, gasPrice: 3n, ...common }, KEY),
  "legacy, creation": signTransaction<SignedTransaction>({ type: 0, chainId: 900n, gasPrice: 3n, ...common, to: undefined }, KEY),
  "access list": signTransaction<SignedTransaction>(
    { type: 1, ...common, chainId: 900n, gasPrice: 3n, accessList: fees.accessList },
    KEY,
  ),
  "fee market": signTransaction<SignedTransaction>({ type: 2, ...common, ...fees }, KEY),
  blob: signTransaction<SignedTransaction>(
    { type: 3, ...common, ...fees, maxFeePerBlobGas: 4n, blobVersionedHashes: [filled(32, 3)] },
    KEY,
  ),
  "set code": signTransaction<SignedTransaction>(
    {
      type: 4,
      ...common,
      ...fees,
      authorizationList: [{ chainId: 900n, address: filled(20, 4), nonce: 1n, yParity: 1, r: 2n, s: 3n }],
    },
    KEY,
  ),
};

/** A transaction as Geth and Reth print it. */
function jsonOf(transaction: SignedTransaction | DepositTransaction): Record<string, unknown> {
  const json: Record<string, unknown> = {
    type: quantity(transaction.type),
    hash: bytesToHex(hashTransaction(transaction)),
    gas: quantity(transaction.gasLimit),
    to: transaction.to === undefined ? null : bytesToHex(transaction.to),
    value: quantity(transaction.value),
    input: bytesToHex(transaction.data),
  };
  if (transaction.type === 0x7e) {
    return {
      ...json,
      sourceHash: bytesToHex(transaction.sourceHash),
      from: bytesToHex(transaction.from),
      ...(transaction.mint === 0n ? {} : { mint: quantity(transaction.mint) }),
      ...(transaction.isSystemTx ? { isSystemTx: true } : {}),
    };
  }
  const { r, s, yParity } = transaction.signature!;
  // quantities without leading zeros
  const signature = { r: quantity(BigInt(bytesToHex(r))), s: quantity(BigInt(bytesToHex(s))) };
  json.nonce = quantity(transaction.nonce);
  if (transaction.type === 0) {
    const v = transaction.chainId === undefined ? 27 + yParity : 35n + 2n * transaction.chainId + BigInt(yParity);
    return { ...json, ...signature, gasPrice: quantity(transaction.gasPrice), v: quantity(v) };
  }
  const accessList = transaction.accessList.map(({ address, storageKeys }) => ({
    address: bytesToHex(address),
    storageKeys: storageKeys.map(bytesToHex),
  }));
  const typed = {
    ...json,
    ...signature,
    accessList,
    chainId: quantity(transaction.chainId),
    yParity: quantity(yParity),
    v: quantity(yParity),
  };
  if (transaction.type === 1) return { ...typed, gasPrice: quantity(transaction.gasPrice) };
  const dynamic = {
    ...typed,
    maxPriorityFeePerGas: quantity(transaction.maxPriorityFeePerGas),
    maxFeePerGas: quantity(transaction.maxFeePerGas),
  };
  if (transaction.type === 2) return dynamic;
  if (transaction.type === 3) {
    return {
      ...dynamic,
      maxFeePerBlobGas: quantity(transaction.maxFeePerBlobGas),
      blobVersionedHashes: transaction.blobVersionedHashes.map(bytesToHex),
    };
  }
  return {
    ...dynamic,
    authorizationList: transaction.authorizationList.map((entry) => ({
      chainId: quantity(entry.chainId),
      address: bytesToHex(entry.address),
      nonce: quantity(entry.nonce),
      yParity: quantity(entry.yParity),
      r: quantity(entry.r),
      s: quantity(entry.s),
    })),
  };
}

describe("transactionFromRpc", () => {
  it.each(Object.entries(SIGNED))("gives the very bytes of a transaction: %s", (_, transaction) => {
    expect(encodeTransaction(transactionFromRpc(jsonOf(transaction)))).toEqual(encodeTransaction(transaction));
  });

  it.each([
    [0n, false],
    [10n ** 18n, false],
    [0n, true],
  ])("gives the very bytes of a deposit with mint %s, system %s", (mint, isSystemTx) => {
    const deposit = {
      type: 0x7e as const,
      sourceHash: filled(32, 1),
      from: filled(20, 2),
      to: undefined,
      mint,
      value: 3n,
      gasLimit: 9n,
      isSystemTx,
      data: filled(4, 5),
    };
    expect(encodeTransaction(transactionFromRpc(jsonOf(deposit)))).toEqual(encodeTransaction(deposit));
    const asNumber = { ...jsonOf(deposit), isSystemTx: isSystemTx ? "0x1" : undefined };
    expect(decodeTransaction(encodeTransaction(transactionFromRpc(asNumber)))).toMatchObject({ isSystemTx });
  });

  it.each([
    ["no object", null, "rpc-json/not-an-object"],
    ["an array", [], "rpc-json/not-an-object"],
    ["an unknown type", { ...jsonOf(SIGNED["fee market"]!), type: "0x5" }, "rpc-json/unknown-transaction-type"],
    ["a missing field", { ...jsonOf(SIGNED["fee market"]!), gas: undefined }, "rpc-json/bad-field"],
    ["a number for a quantity", { ...jsonOf(SIGNED["fee market"]!), gas: 5 }, "rpc-json/bad-field"],
    ["a short address", { ...jsonOf(SIGNED["fee market"]!), to: "0x22" }, "rpc-json/bad-field"],
    ["a parity that is none", { ...jsonOf(SIGNED["fee market"]!), yParity: "0x2" }, "rpc-json/bad-field"],
    ["a v that is none", { ...jsonOf(SIGNED["legacy, protected"]!), v: "0x1d" }, "rpc-json/bad-field"],
    ["an r of 33 bytes", { ...jsonOf(SIGNED["fee market"]!), r: `0x${"11".repeat(33)}` }, "rpc-json/bad-field"],
  ])("refuses %s", (_, json, code) => {
    let caught: unknown;
    try {
      transactionFromRpc(json);
    } catch (error) {
      caught = error;
    }
    expect(isCodedError(caught, code)).toBe(true);
  });
});

const HEADER_JSON = {
  hash: bytesToHex(filled(32, 0xaa)),
  parentHash: bytesToHex(filled(32, 1)),
  sha3Uncles: bytesToHex(filled(32, 2)),
  miner: bytesToHex(filled(20, 3)),
  stateRoot: bytesToHex(filled(32, 4)),
  transactionsRoot: bytesToHex(filled(32, 5)),
  receiptsRoot: bytesToHex(filled(32, 6)),
  logsBloom: bytesToHex(filled(256, 7)),
  difficulty: "0x20000",
  number: "0x10",
  gasLimit: "0x1c9c380",
  gasUsed: "0x5208",
  timestamp: "0x65",
  extraData: "0x0102",
  mixHash: bytesToHex(filled(32, 8)),
  nonce: "0x0000000000000042",
};

describe("headerFromRpc and blockFromRpc", () => {
  it("reads a header of before London, and one with everything", () => {
    const early = headerFromRpc(HEADER_JSON);
    expect(early).toMatchObject({
      number: 16,
      difficulty: 0x20000n,
      nonce: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0x42),
      extraData: Uint8Array.of(1, 2),
    });
    expect([early.baseFeePerGas, early.withdrawalsRoot, early.requestsHash]).toEqual([undefined, undefined, undefined]);
    const later = headerFromRpc({
      ...HEADER_JSON,
      baseFeePerGas: "0x7",
      withdrawalsRoot: bytesToHex(filled(32, 9)),
      blobGasUsed: "0x0",
      excessBlobGas: "0x1",
      parentBeaconBlockRoot: bytesToHex(filled(32, 10)),
      requestsHash: bytesToHex(filled(32, 11)),
    });
    expect(later).toMatchObject({ baseFeePerGas: 7n, blobGasUsed: 0n, excessBlobGas: 1n, requestsHash: filled(32, 11) });
  });

  it("reads a block of Amsterdam, and none with one of the two fields that came with it", () => {
    expect(headerFromRpc(AMSTERDAM_BLOCK_JSON)).toMatchObject({
      blockAccessListHash: hexToBytes(AMSTERDAM_BLOCK_JSON.blockAccessListHash),
      slotNumber: 0xc0n,
    });
    const absent = { ...AMSTERDAM_BLOCK_JSON, blockAccessListHash: null, slotNumber: null };
    expect(Object.keys(headerFromRpc(absent))).not.toContain("slotNumber");
    for (const [field, values] of Object.entries({
      blockAccessListHash: [undefined, null, "0x", `0x${"11".repeat(31)}`, `0x${"11".repeat(33)}`, 1],
      slotNumber: [undefined, null, "0x", "0x10000000000000000", "192", 192],
    })) {
      for (const value of values) {
        const json = { ...AMSTERDAM_BLOCK_JSON, [field]: value };
        expect(() => headerFromRpc(json)).toThrow(expect.objectContaining({ code: "rpc-json/bad-field" }));
      }
    }
    expect(headerFromRpc({ ...AMSTERDAM_BLOCK_JSON, slotNumber: "0xffffffffffffffff" }).slotNumber).toBe(2n ** 64n - 1n);
  });

  it("reads a block with its transactions and withdrawals", () => {
    const transaction = SIGNED["fee market"]!;
    const withdrawal = { index: "0x1", validatorIndex: "0x2", address: bytesToHex(filled(20, 3)), amount: "0x4" };
    const block = blockFromRpc({ ...HEADER_JSON, transactions: [jsonOf(transaction)], withdrawals: [withdrawal] });
    expect(block.hash).toEqual(filled(32, 0xaa));
    expect(block.transactions.map((each) => encodeTransaction(each))).toEqual([encodeTransaction(transaction)]);
    expect(block.withdrawals).toEqual([{ index: 1n, validatorIndex: 2n, address: filled(20, 3), amount: 4n }]);
    expect(blockFromRpc({ ...HEADER_JSON, transactions: [] }).withdrawals).toBeUndefined();
  });

  it.each(Object.keys(HEADER_JSON).filter((field) => field !== "hash" && field !== "difficulty"))(
    "refuses a header without %s",
    (field) => {
      expect(() => headerFromRpc({ ...HEADER_JSON, [field]: undefined })).toThrow(`bad field (field ${field}`);
    },
  );
});

describe("receiptFromRpc", () => {
  const place = {
    blockHash: bytesToHex(filled(32, 1)),
    blockNumber: "0x10",
    transactionHash: bytesToHex(filled(32, 2)),
    transactionIndex: "0x3",
  };
  const log = {
    ...place,
    address: bytesToHex(filled(20, 4)),
    topics: [bytesToHex(filled(32, 5))],
    data: "0x06",
    logIndex: "0x7",
    removed: false,
  };
  const receipt = {
    ...place,
    type: "0x2",
    status: "0x1",
    cumulativeGasUsed: "0x64",
    gasUsed: "0x32",
    logsBloom: bytesToHex(filled(256, 8)),
    logs: [log],
  };

  it("separates what the receipts root covers from what it does not", () => {
    expect(receiptFromRpc(receipt)).toEqual({
      receipt: {
        type: 2,
        status: 1,
        cumulativeGasUsed: 100n,
        bloom: filled(256, 8),
        logs: [{ address: filled(20, 4), topics: [filled(32, 5)], data: Uint8Array.of(6) }],
      },
      blockHash: filled(32, 1),
      blockNumber: 16,
      transactionHash: filled(32, 2),
      transactionIndex: 3,
      gasUsed: 50n,
      logs: [expect.objectContaining({ logIndex: 7, removed: false, blockNumber: 16 })],
    });
  });

  it("reads state roots of before Byzantium and nonces of deposits", () => {
    expect(
      receiptFromRpc({ ...receipt, type: undefined, status: undefined, root: bytesToHex(filled(32, 9)) }).receipt,
    ).toMatchObject({ type: 0, status: undefined, stateRoot: filled(32, 9) });
    expect(receiptFromRpc({ ...receipt, type: "0x7e", depositNonce: "0x5", depositReceiptVersion: "0x1" }).receipt).toMatchObject({
      type: 0x7e,
      depositNonce: 5n,
      depositReceiptVersion: 1n,
    });
  });

  it.each([
    ["a status that is none", { ...receipt, status: "0x2" }],
    ["no status and no root", { ...receipt, status: undefined }],
    ["logs that are no list", { ...receipt, logs: {} }],
    ["a topic of another length", { ...receipt, logs: [{ ...log, topics: ["0x01"] }] }],
  ])("refuses %s", (_, json) => {
    expect(() => receiptFromRpc(json)).toThrow();
  });
});
