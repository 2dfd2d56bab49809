import { payloadFromRpc } from "@rnode/node-clients";
import { bytesToHex, EMPTY_TRIE_ROOT, toQuantity } from "@rnode/primitives";
import {
  type DepositTransaction,
  decodeTransaction,
  encodeL1BlockInfo,
  encodeTransaction,
  type FeeMarketTransaction,
  type Header,
  hashHeader,
  L1_ATTRIBUTES_DEPOSITOR,
  PREDEPLOYS,
} from "@rnode/protocol";
import { headerJson } from "@rnode/protocol/testing";
import { orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { simRollupConfig, simTransactions } from "../testing/sim-rollup.ts";
import { batcherBlock } from "./batcher-block.ts";

const fill = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte);

const HEADER: Header = {
  parentHash: fill(1),
  ommersHash: fill(2),
  beneficiary: fill(3, 20),
  stateRoot: fill(4),
  transactionsRoot: fill(5),
  receiptsRoot: fill(6),
  logsBloom: fill(0, 256),
  difficulty: 0n,
  number: 9,
  gasLimit: 30_000_000n,
  gasUsed: 1n,
  timestamp: 1_700_000_018,
  extraData: fill(0, 17),
  mixHash: fill(7),
  nonce: fill(0, 8),
  baseFeePerGas: 5n,
};
const deposit: DepositTransaction = {
  type: 0x7e,
  sourceHash: fill(8),
  from: L1_ATTRIBUTES_DEPOSITOR,
  to: PREDEPLOYS.l1Block,
  mint: 0n,
  value: 0n,
  gasLimit: 1_000_000n,
  isSystemTx: false,
  data: encodeL1BlockInfo({
    layout: "jovian",
    number: 77,
    timestamp: 1_700_000_000,
    baseFee: 1n,
    blockHash: fill(0xaa),
    sequenceNumber: 3,
    batcherHash: fill(0),
    overhead: fill(0),
    scalar: fill(0),
    blobBaseFee: 1n,
    baseFeeScalar: 1,
    blobBaseFeeScalar: 1,
    operatorFeeScalar: 0,
    operatorFeeConstant: 0n,
    daFootprintGasScalar: 400,
  }),
};
const [encodedUser] = simTransactions(1, 1, 50);
const user = decodeTransaction(encodedUser!) as FeeMarketTransaction;
const header: Header = { ...HEADER, transactionsRoot: orderedTrieRoot([encodeTransaction(deposit), encodedUser!]) };
const config = simRollupConfig();
const read = (json: unknown) => batcherBlock(payloadFromRpc("eth_getBlockByNumber", json, config.forkTimes), config);

function blockJson(): Record<string, unknown> {
  return {
    ...headerJson(header),
    hash: bytesToHex(hashHeader(header)),
    transactions: [
      {
        type: "0x7e",
        sourceHash: bytesToHex(deposit.sourceHash),
        from: bytesToHex(deposit.from),
        to: bytesToHex(deposit.to!),
        mint: "0x0",
        value: "0x0",
        gas: toQuantity(deposit.gasLimit),
        input: bytesToHex(deposit.data),
      },
      {
        type: "0x2",
        chainId: toQuantity(user.chainId),
        nonce: toQuantity(user.nonce),
        maxPriorityFeePerGas: toQuantity(user.maxPriorityFeePerGas),
        maxFeePerGas: toQuantity(user.maxFeePerGas),
        gas: toQuantity(user.gasLimit),
        to: bytesToHex(user.to!),
        value: toQuantity(user.value),
        input: bytesToHex(user.data),
        accessList: [],
        yParity: toQuantity(user.signature!.yParity),
        r: toQuantity(BigInt(bytesToHex(user.signature!.r))),
        s: toQuantity(BigInt(bytesToHex(user.signature!.s))),
      },
    ],
  };
}

describe("batcherBlock", () => {
  it("keeps what derivation does not know, and nothing else", () => {
    const block = read(blockJson());
    expect(block.ref).toEqual({
      hash: bytesToHex(hashHeader(header)),
      number: 9,
      parentHash: bytesToHex(header.parentHash),
      timestamp: 1_700_000_018,
      l1Origin: { hash: bytesToHex(fill(0xaa)), number: 77 },
      sequenceNumber: 3,
    });
    expect(block.input).toEqual({
      timestampSec: 1_700_000_018,
      parentHash: header.parentHash,
      epochNumber: 77,
      epochHash: fill(0xaa),
      sequenceNumber: 3,
      transactions: [encodedUser],
    });
    expect(block.sizeBytes).toBe(encodeTransaction(user).length);
    expect(block.daBytes).toBe(70 + 100); // the least estimate of a transaction, in bytes
  });

  it.each<[string, (json: Record<string, unknown>) => void, string]>([
    [
      "a hash that is not the header's",
      (json) => Object.assign(json, { hash: bytesToHex(fill(9)) }),
      "is not one that the method allows (stated ",
    ],
    [
      "a header that was changed",
      (json) => Object.assign(json, { timestamp: "0x1" }),
      "is not one that the method allows (stated ",
    ],
    ["transaction hashes", (json) => Object.assign(json, { transactions: [bytesToHex(fill(9))] }), "not an object"],
    [
      "a block with a transaction left out",
      (json) => Object.assign(json, { transactions: (json.transactions as unknown[]).slice(0, 1) }),
      "mismatch transactions root",
    ],
    [
      "a block without L1 attributes",
      (json) => {
        const empty = { ...header, transactionsRoot: EMPTY_TRIE_ROOT };
        Object.assign(json, {
          hash: bytesToHex(hashHeader(empty)),
          transactionsRoot: bytesToHex(EMPTY_TRIE_ROOT),
          transactions: [],
        });
      },
      "L1 attributes: missing",
    ],
  ])("refuses %s", (_, change, message) => {
    const json = blockJson();
    change(json);
    expect(() => read(json)).toThrow(message);
  });
});
