import { encodeRlp, encodeRlpListOfEncoded } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { DepositTransaction } from "../transactions/transaction.ts";
import { encodeTransaction, signTransaction } from "../transactions/transaction-codec.ts";
import type { Block, Header } from "./block.ts";
import { decodeBlock, decodeBlockPrefix, encodeBlock, encodeWithdrawal, withdrawalToRlp } from "./block-codec.ts";
import { encodeHeader, headerToRlp } from "./header-codec.ts";

const fill = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);

const header: Header = {
  parentHash: fill(1, 32),
  ommersHash: fill(2, 32),
  beneficiary: fill(3, 20),
  stateRoot: fill(4, 32),
  transactionsRoot: fill(5, 32),
  receiptsRoot: fill(6, 32),
  logsBloom: fill(7, 256),
  difficulty: 131_072n,
  number: 7,
  gasLimit: 8n,
  gasUsed: 9n,
  timestamp: 10,
  extraData: fill(11, 11),
  mixHash: fill(12, 32),
  nonce: fill(13, 8),
};
const legacy = signTransaction(
  { type: 0, chainId: 1n, nonce: 1n, gasPrice: 2n, gasLimit: 3n, to: undefined, value: 4n, data: fill(5, 60) },
  fill(1, 32),
);
const deposit: DepositTransaction = {
  type: 0x7e,
  sourceHash: fill(1, 32),
  from: fill(2, 20),
  to: undefined,
  mint: 0n,
  value: 0n,
  gasLimit: 0n,
  isSystemTx: false,
  data: fill(0, 0),
};

describe("block codec", () => {
  const withdrawal = { index: 1n, validatorIndex: 2n, address: fill(3, 20), amount: 4n };
  it.each<[string, Block]>([
    ["an empty block", { header, transactions: [], ommers: [] }],
    ["transactions and ommers", { header, transactions: [legacy, deposit, legacy], ommers: [header, { ...header, number: 6 }] }],
    ["no withdrawals after Shanghai", { header, transactions: [legacy], ommers: [], withdrawals: [] }],
    ["withdrawals", { header, transactions: [], ommers: [], withdrawals: [withdrawal, { ...withdrawal, index: 2n }] }],
  ])("round-trips %s", (_, block) => {
    expect(decodeBlock(encodeBlock(block))).toEqual(block);
  });

  it("walks a stream of blocks", () => {
    const first = encodeBlock({ header, transactions: [legacy], ommers: [] });
    const second = encodeBlock({ header, transactions: [], ommers: [] });
    const stream = Uint8Array.of(...first, ...second);
    const { block, end } = decodeBlockPrefix(stream, 0);
    expect(end).toBe(first.length);
    expect(block.transactions).toHaveLength(1);
    expect(decodeBlockPrefix(stream, end)).toMatchObject({ end: stream.length, block: { transactions: [] } });
  });

  const block = (transactions: Uint8Array[], extra: Uint8Array[] = []): Uint8Array =>
    encodeRlpListOfEncoded([encodeHeader(header), encodeRlpListOfEncoded(transactions), encodeRlp([]), ...extra]);
  it.each<[string, Uint8Array]>([
    ["a legacy transaction in a string", block([encodeRlp(encodeTransaction(legacy))])],
    ["an empty transaction", block([encodeRlp(new Uint8Array(0))])],
    ["a typed transaction outside a string", block([encodeTransaction(deposit)])],
    ["two fields", encodeRlp([headerToRlp(header), []])],
    ["five fields", block([], [encodeRlp([]), encodeRlp([])])],
    ["a withdrawal of three fields", block([], [encodeRlp([(withdrawalToRlp(withdrawal) as Uint8Array[]).slice(0, 3)])])],
    ["a string", encodeRlp(fill(1, 60))],
    ["a trailing byte", Uint8Array.of(...block([]), 0)],
    ["a cut end", block([]).subarray(0, -1)],
  ])("refuses %s", (_, encoded) => {
    expect(() => decodeBlock(encoded)).toThrow(/^(block|transaction): malformed/);
  });

  it("encodes a withdrawal as a leaf", () => {
    expect(encodeWithdrawal(withdrawal)).toEqual(encodeRlp([Uint8Array.of(1), Uint8Array.of(2), fill(3, 20), Uint8Array.of(4)]));
  });
});
