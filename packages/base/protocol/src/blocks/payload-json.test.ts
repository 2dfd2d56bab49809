import { bytesToHex, concatBytes, EMPTY_REQUESTS_HASH, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { blockToPayload, payloadToHeader } from "../rollup/payload-block.ts";
import type { DepositTransaction } from "../transactions/transaction.ts";
import { decodeTransaction, encodeTransaction } from "../transactions/transaction-codec.ts";
import type { Block } from "./block.ts";
import { hashHeader } from "./header-codec.ts";
import type { ExecutionPayloadEnvelope, PayloadAttributes } from "./payload.ts";
import {
  attributesFromJson,
  attributesToJson,
  envelopeFromJson,
  envelopeToJson,
  payloadFromJson,
  payloadToJson,
} from "./payload-json.ts";

const fill = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);

const deposit: DepositTransaction = {
  type: 0x7e,
  sourceHash: fill(1, 32),
  from: fill(2, 20),
  to: undefined,
  mint: 3n,
  value: 4n,
  gasLimit: 5n,
  isSystemTx: false,
  data: fill(6, 6),
};
const attributes: PayloadAttributes = {
  timestamp: 1728933301,
  prevRandao: fill(1, 32),
  suggestedFeeRecipient: fill(2, 20),
  withdrawals: [{ index: 1n, validatorIndex: 2n, address: fill(3, 20), amount: 4n }],
  parentBeaconBlockRoot: fill(4, 32),
  transactions: [encodeTransaction(deposit)],
  noTxPool: true,
  gasLimit: 2n ** 63n,
  eip1559Params: fill(5, 8),
  minBaseFee: 100n,
};
const envelope: ExecutionPayloadEnvelope = {
  executionPayload: {
    parentHash: fill(1, 32),
    feeRecipient: fill(2, 20),
    stateRoot: fill(3, 32),
    receiptsRoot: fill(4, 32),
    logsBloom: fill(5, 256),
    prevRandao: fill(6, 32),
    blockNumber: 7,
    gasLimit: 8n,
    gasUsed: 9n,
    timestamp: 10,
    extraData: fill(11, 17),
    baseFeePerGas: 2n ** 255n,
    blockHash: fill(12, 32),
    transactions: [encodeTransaction(deposit)],
    withdrawals: [],
    blobGasUsed: 13n,
    excessBlobGas: 0n,
    withdrawalsRoot: fill(14, 32),
  },
  parentBeaconBlockRoot: fill(15, 32),
};
const overTheWire = (json: unknown): unknown => JSON.parse(JSON.stringify(json));

describe("payload attributes", () => {
  it("survive JSON", () => {
    expect(attributesFromJson(overTheWire(attributesToJson(attributes)))).toEqual(attributes);
  });

  it("leave out what a fork lacks", () => {
    const json = attributesToJson({ timestamp: 1, prevRandao: fill(0, 32), suggestedFeeRecipient: fill(0, 20), noTxPool: false });
    expect(Object.keys(json)).toEqual(["timestamp", "prevRandao", "suggestedFeeRecipient"]);
    expect(attributesFromJson({ ...json, withdrawals: null, gasLimit: null })).toMatchObject({
      noTxPool: false,
      withdrawals: undefined,
    });
  });

  it("send the minimum base fee as an integer and take both forms", () => {
    const json = attributesToJson(attributes);
    expect(json.minBaseFee).toBe(100);
    expect(attributesFromJson({ ...json, minBaseFee: "0x64" }).minBaseFee).toBe(100n);
    const huge = { ...attributes, minBaseFee: 2n ** 64n - 1n };
    expect(attributesFromJson(overTheWire(attributesToJson(huge)))).toEqual(huge);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["no timestamp", { timestamp: undefined }, "payloadAttributes.timestamp: expected "],
    ["a decimal timestamp", { timestamp: "123" }, "payloadAttributes.timestamp: expected "],
    ["a short prevRandao", { prevRandao: "0x12" }, "payloadAttributes.prevRandao: expected "],
    ["transactions that are no array", { transactions: {} }, "payloadAttributes.transactions: expected "],
    ["a transaction of odd digits", { transactions: ["0x123"] }, "payloadAttributes.transactions[0]: expected "],
    [
      "a withdrawal without address",
      { withdrawals: [{ index: "0x0" }] },
      "payloadAttributes.withdrawals[0].validatorIndex: expected ",
    ],
    ["seven bytes of parameters", { eip1559Params: "0x00000000000000" }, "payloadAttributes.eip1559Params: expected "],
    ["a negative minimum base fee", { minBaseFee: -1 }, "payloadAttributes.minBaseFee: expected "],
    ["noTxPool in text", { noTxPool: "true" }, "payloadAttributes.noTxPool: expected "],
    ["a gas limit beyond 64 bits", { gasLimit: "0x10000000000000000" }, "payloadAttributes.gasLimit: expected "],
  ])("refuse %s", (_, change, message) => {
    expect(() => attributesFromJson({ ...attributesToJson(attributes), ...change })).toThrow(message);
  });
});

describe("payloads", () => {
  it("survive JSON", () => {
    expect(payloadFromJson(overTheWire(payloadToJson(envelope.executionPayload)))).toEqual(envelope.executionPayload);
    expect(envelopeFromJson(overTheWire(envelopeToJson(envelope)))).toEqual(envelope);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["a bloom of 255 bytes", { logsBloom: bytesToHex(fill(0, 255)) }, "executionPayload.logsBloom: expected "],
    ["a null block hash", { blockHash: null }, "executionPayload.blockHash: expected "],
    ["a base fee beyond 256 bits", { baseFeePerGas: `0x1${"0".repeat(64)}` }, "executionPayload.baseFeePerGas: expected "],
  ])("refuse %s", (_, change, message) => {
    expect(() => payloadFromJson({ ...payloadToJson(envelope.executionPayload), ...change })).toThrow(message);
  });

  // Replaces the trie root: any function of the items shows which list the root was computed over.
  const rootOf = (items: readonly Uint8Array[]): Uint8Array => keccak256(concatBytes(fill(items.length, 1), ...items));

  const blockOf = (...args: Parameters<typeof payloadToHeader>): Block => ({
    header: payloadToHeader(...args),
    transactions: args[0].executionPayload.transactions.map(decodeTransaction),
    ommers: [],
    withdrawals: args[0].executionPayload.withdrawals,
  });

  it("become blocks and come back", () => {
    const block = blockOf(envelope, EMPTY_REQUESTS_HASH, rootOf);
    expect(block.header.transactionsRoot).toEqual(rootOf(envelope.executionPayload.transactions));
    expect(block.header.withdrawalsRoot).toEqual(fill(14, 32));
    const hash = hashHeader(block.header);
    const back = blockToPayload(block, hash, true);
    expect(back).toEqual({ ...envelope, executionPayload: { ...envelope.executionPayload, blockHash: hash } });
  });

  it("take the withdrawals root from the list before Isthmus", () => {
    const { withdrawalsRoot: _, ...canyon } = envelope.executionPayload;
    const block = blockOf({ executionPayload: canyon }, undefined, () => EMPTY_TRIE_ROOT);
    expect(block.header.withdrawalsRoot).toEqual(EMPTY_TRIE_ROOT);
    expect(blockToPayload(block, fill(0, 32), false).executionPayload.withdrawalsRoot).toBeUndefined();
    const { withdrawals: __, ...bedrock } = canyon;
    expect(payloadToHeader({ executionPayload: bedrock }, undefined, rootOf).withdrawalsRoot).toBeUndefined();
  });

  it("refuse a block without base fee", () => {
    const block = blockOf(envelope, undefined, rootOf);
    const { baseFeePerGas: _, ...header } = block.header;
    expect(() => blockToPayload({ ...block, header }, fill(0, 32), false)).toThrow(
      expect.objectContaining({ code: "payload/not-post-merge" }),
    );
  });
});
