import { bytesToHex, checksumAddress } from "@rnode/primitives";
import { hashTransaction, postExecTransaction, signTransaction, type Transaction, transactionFromRpc } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { PROFILE_G } from "../profile/profile-g.ts";
import { PROFILE_R } from "../profile/profile-r.ts";
import { deposit, feeTransaction, GWEI, KEY, RECIPIENT, SENDER, storedBlock } from "../testing/blocks.ts";
import { blockToJson } from "./block-json.ts";
import { placeOf } from "./receipt-json.ts";
import { transactionToJson } from "./transaction-json.ts";

const signed = { nonce: 1n, gasLimit: 21_000n, to: RECIPIENT, value: 1n, data: new Uint8Array(0) };
const fees = { chainId: 901n, maxPriorityFeePerGas: 10n, maxFeePerGas: 2n * GWEI, accessList: [] };
const authorization = { chainId: 901n, address: RECIPIENT, nonce: 0n, yParity: 1, r: 5n, s: 6n };
const TRANSACTIONS: [string, Transaction][] = [
  ["unprotected legacy", signTransaction({ type: 0x00, chainId: undefined, gasPrice: GWEI, ...signed }, KEY)],
  ["legacy", signTransaction({ type: 0x00, chainId: 901n, gasPrice: GWEI, ...signed }, KEY)],
  ["creation", signTransaction({ type: 0x00, chainId: 901n, gasPrice: GWEI, ...signed, to: undefined }, KEY)],
  [
    "access list",
    signTransaction(
      {
        type: 0x01,
        chainId: 901n,
        gasPrice: GWEI,
        ...signed,
        accessList: [{ address: RECIPIENT, storageKeys: [new Uint8Array(32).fill(1)] }],
      },
      KEY,
    ),
  ],
  ["fee market", feeTransaction()],
  ["set code", signTransaction({ type: 0x04, ...fees, ...signed, authorizationList: [authorization] }, KEY)],
  ["deposit", deposit({ mint: 5n })],
  ["deposit without mint", deposit()],
  ["deposit creation", deposit({ to: undefined })],
  ["system deposit", deposit({ isSystemTx: true })],
  ["post-exec transaction", postExecTransaction({ blockNumber: 7n, refunds: [{ index: 1n, gas: 5n }] })],
];

describe("transactionToJson", () => {
  it.each(TRANSACTIONS)("shows a %s so that it can be read back", (_, tx) => {
    const stored = storedBlock([tx]);
    for (const profile of [PROFILE_R, PROFILE_G]) {
      const sender = stored.senders[0]!;
      const json = transactionToJson(profile, tx, sender, { block: placeOf(stored), index: 0, receipt: stored.receipts[0]! });
      expect(json).toMatchObject({ hash: bytesToHex(hashTransaction(tx)), blockNumber: "0x7", transactionIndex: "0x0" });
      expect(bytesToHex(hashTransaction(transactionFromRpc(JSON.parse(JSON.stringify(json)))))).toBe(json.hash);
    }
  });

  it("has the keys of a post-exec transaction in each profile", () => {
    const tx = postExecTransaction({ blockNumber: 42n, refunds: [{ index: 3n, gas: 7n }] });
    const stored = storedBlock([deposit(), tx]);
    const minedAt = { block: placeOf(stored), index: 1, receipt: stored.receipts[1]! };
    const common = {
      blockHash: bytesToHex(stored.hash),
      blockNumber: "0x7",
      blockTimestamp: "0x6553f100",
      transactionIndex: "0x1",
      from: `0x${"0".repeat(40)}`,
      hash: "0xcbc64a9665039744307b562634bf760d96f3bed235fecd9e09a1f1276a1823c7",
      type: "0x7d",
      gas: "0x0",
      value: "0x0",
      input: "0xc6012ac3c20307",
    };
    const sender = stored.senders[1]!;
    // op-reth shows the base fee as the price of all that is not legacy
    expect(transactionToJson(PROFILE_R, tx, sender, minedAt)).toEqual({ ...common, gasPrice: "0x3b9aca00" });
    const zeros = { nonce: "0x0", gasPrice: "0x0", v: "0x0", r: "0x0", s: "0x0" };
    expect(transactionToJson(PROFILE_G, tx, sender, minedAt)).toEqual({ ...common, ...zeros, to: null });
  });

  it("has the keys of a deposit in each profile", () => {
    const tx = deposit();
    const stored = storedBlock([tx]);
    const minedAt = { block: placeOf(stored), index: 0, receipt: stored.receipts[0]! };
    const common = {
      type: "0x7e",
      mint: "0x0",
      gasPrice: "0x0",
      nonce: "0x29",
      v: "0x0",
      r: "0x0",
      s: "0x0",
      depositReceiptVersion: "0x1",
    };
    const r = transactionToJson(PROFILE_R, tx, tx.from, minedAt);
    expect(r).toMatchObject({ ...common, yParity: "0x0", blockTimestamp: "0x6553f100" });
    expect(r).not.toHaveProperty("isSystemTx");
    expect(r).not.toHaveProperty("chainId");
    const g = transactionToJson(PROFILE_G, tx, tx.from, minedAt);
    expect(g).toMatchObject(common);
    for (const key of ["yParity", "isSystemTx", "chainId"]) expect(g).not.toHaveProperty(key);
  });

  it("shows a deposit that creates a contract, and one of before Regolith", () => {
    const tx = deposit({ to: undefined, isSystemTx: true });
    const stored = storedBlock([tx]);
    const receipt = { ...stored.receipts[0]!, depositNonce: undefined, depositReceiptVersion: undefined };
    const minedAt = { block: placeOf(stored), index: 0, receipt };
    const r = transactionToJson(PROFILE_R, tx, tx.from, minedAt);
    expect(r).not.toHaveProperty("to");
    expect(r).not.toHaveProperty("nonce");
    expect(r.isSystemTx).toBe("0x1");
    expect(transactionToJson(PROFILE_G, tx, tx.from, minedAt)).toMatchObject({ to: null, nonce: "0x0", isSystemTx: true });
  });

  it("shows the price paid once mined, the cap while pending", () => {
    const tx = feeTransaction();
    const stored = storedBlock([tx]);
    const minedAt = { block: placeOf(stored), index: 0, receipt: stored.receipts[0]! };
    expect(transactionToJson(PROFILE_R, tx, SENDER, minedAt).gasPrice).toBe("0x3b9aca0a");
    expect(transactionToJson(PROFILE_R, tx, SENDER, undefined)).toMatchObject({
      gasPrice: "0x77359400",
      blockHash: null,
      blockNumber: null,
      transactionIndex: null,
      blockTimestamp: null,
    });
  });
});

describe("blockToJson", () => {
  it("has hashes or objects, size, and the profile's keys", () => {
    const stored = storedBlock([deposit(), feeTransaction()], {
      withdrawalsRoot: new Uint8Array(32),
      blobGasUsed: 0n,
      excessBlobGas: 0n,
    });
    const hashes = stored.block.transactions.map((tx) => bytesToHex(hashTransaction(tx)));
    const brief = blockToJson(PROFILE_R, stored, { full: false, totalDifficulty: 0n });
    expect(brief).toMatchObject({
      number: "0x7",
      transactions: hashes,
      uncles: [],
      withdrawals: [],
      difficulty: "0x0",
      nonce: "0x0000000000000000",
    });
    expect(brief).not.toHaveProperty("totalDifficulty");
    expect(brief).not.toHaveProperty("requestsHash");
    const full = blockToJson(PROFILE_G, stored, { full: true, totalDifficulty: 0n });
    expect(full).toMatchObject({
      totalDifficulty: "0x0",
      transactions: hashes.map((hash, index) => ({ hash, transactionIndex: `0x${index}` })),
    });
  });
});

describe("checksumAddress", () => {
  // Examples from EIP-55.
  it.each([
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
  ])("writes %s", (mixed) => {
    expect(checksumAddress(Uint8Array.from(Buffer.from(mixed.slice(2), "hex")))).toBe(mixed);
  });
});
