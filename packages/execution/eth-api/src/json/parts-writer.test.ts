import type { StoredBlock } from "@rnode/chain";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import {
  type AccessListEntry,
  type BlockRules,
  encodeTransaction,
  exactTimestamp,
  FIRST_BLOB_PARAMS,
  forkRules,
  hashHeader,
  headerFromRpc,
  isSigned,
  L1_INFO_LAYOUT_NAMES,
  type Log,
  logsBloom,
  OP_FORKS,
  positionFields,
  postExecTransaction,
  type Receipt,
  recoverSender,
  rollupRules,
  signTransaction,
  type Transaction,
} from "@rnode/protocol";
import { LogMatcher, partsOfBlock } from "@rnode/storage";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { logsOfBlock } from "../logs/log-match.ts";
import { PROFILE_G } from "../profile/profile-g.ts";
import { PROFILE_R } from "../profile/profile-r.ts";
import { deposit, GWEI, header, KEY, l1Info, SENDER } from "../testing/blocks.ts";
import { blockToJson } from "./block-json.ts";
import { blockPartsText } from "./block-text.ts";
import { PartsWriter } from "./parts-writer.ts";
import { receiptsToJson } from "./receipt-json.ts";

const COMMON = { chainId: 901n, blobParams: undefined, isDaoForkBlock: false };
/** every fork of the OP Stack, and Ethereum's latest with and without blobs */
const RULES: readonly BlockRules[] = [
  ...OP_FORKS.map((fork): BlockRules => ({ ...rollupRules(fork), ...COMMON })),
  { ...forkRules("prague"), ...COMMON },
  { ...forkRules("cancun"), ...COMMON, blobParams: FIRST_BLOB_PARAMS },
];

const rulesToTry = fc.oneof(fc.constantFrom(...RULES), fc.constantFrom(...RULES.slice(-2)));

const big = fc.oneof(
  fc.bigInt({ min: 0n, max: 3n }),
  fc.bigInt({ min: 0n, max: 2n ** 48n }),
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
);
const uint64 = fc.oneof(fc.bigInt({ min: 0n, max: 300n }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));
const address = fc.nat(9).map((seed) => keccak256(Uint8Array.of(seed)).subarray(12));
const hash = fc.nat(9).map((seed) => keccak256(Uint8Array.of(seed, 1)));
const to = fc.option(address, { nil: undefined });
const data = fc.oneof(
  fc.uint8Array({ maxLength: 90 }),
  fc.nat(3000).map((size) => new Uint8Array(size).fill(size)),
);
const accessList = fc.array(fc.record<AccessListEntry>({ address, storageKeys: fc.array(hash, { maxLength: 3 }) }), {
  maxLength: 3,
});
const fields = { nonce: uint64, gasLimit: uint64, to, value: big, data };
const fees = { maxFeePerGas: big, maxPriorityFeePerGas: big };
const signed = <T extends Transaction>(tx: T): T => (!isSigned(tx) ? tx : (signTransaction(tx as never, KEY) as T));
const transaction: fc.Arbitrary<Transaction> = fc
  .oneof(
    fc.record({
      type: fc.constant(0 as const),
      ...fields,
      gasPrice: big,
      chainId: fc.option(fc.bigInt({ min: 1n, max: 2n ** 60n }), { nil: undefined }),
    }),
    fc.record({ type: fc.constant(1 as const), ...fields, gasPrice: big, chainId: big, accessList }),
    fc.record({ type: fc.constant(2 as const), ...fields, ...fees, chainId: big, accessList }),
    fc.record({
      type: fc.constant(3 as const),
      ...fields,
      ...fees,
      to: address,
      chainId: big,
      accessList,
      maxFeePerBlobGas: big,
      blobVersionedHashes: fc.array(hash, { maxLength: 4 }),
    }),
    fc.record({
      type: fc.constant(4 as const),
      ...fields,
      ...fees,
      to: address,
      chainId: big,
      accessList,
      authorizationList: fc.array(fc.record({ chainId: big, address, nonce: uint64, yParity: fc.nat(255), r: big, s: big }), {
        maxLength: 3,
      }),
    }),
    fc
      .record({ to, value: big, mint: big, gasLimit: uint64, data, from: address, sourceHash: hash, isSystemTx: fc.boolean() })
      .map((given) => deposit(given)),
  )
  .map((tx) => signed(tx as Transaction));

const log = fc.record<Log>({ address, topics: fc.array(hash, { maxLength: 4 }), data: fc.uint8Array({ maxLength: 100 }) });
const outcome = fc.record({
  status: fc.constantFrom(0 as const, 1 as const, undefined),
  gas: fc.bigInt({ min: 0n, max: 2n ** 33n }),
  logs: fc.array(log, { maxLength: 3 }),
  depositNonce: fc.option(uint64, { nil: undefined }),
  hasVersion: fc.boolean(),
});
const blocks = fc
  .record({
    items: fc.array(fc.tuple(transaction, outcome), { maxLength: 40 }),
    hasBlobs: fc.boolean(),
    refunds: fc.option(fc.array(fc.record({ index: fc.bigInt({ min: 0n, max: 41n }), gas: uint64 })), { nil: undefined }),
    layout: fc.option(fc.constantFrom(...L1_INFO_LAYOUT_NAMES), { nil: undefined }),
    operatorFee: fc.nat(3),
    withdrawals: fc.option(
      fc.array(fc.record({ index: uint64, validatorIndex: uint64, address, amount: uint64 }), { maxLength: 2 }),
      { nil: undefined },
    ),
    ommers: fc.nat(2),
    baseFeePerGas: fc.option(fc.oneof(fc.constant(GWEI), big), { nil: undefined }),
    excessBlobGas: fc.option(fc.bigInt({ min: 0n, max: 2n ** 27n }), { nil: undefined }),
    number: fc.nat(2 ** 31),
    timestamp: uint64,
  })
  .map(({ items: all, hasBlobs, refunds, layout, operatorFee, withdrawals, ommers, number, timestamp, ...given }): StoredBlock => {
    const items = all.filter(([{ type }]) => hasBlobs || type !== 0x03);
    const first =
      layout === undefined ? [] : [l1Info(layout, { operatorFeeScalar: operatorFee, operatorFeeConstant: BigInt(operatorFee) })];
    const transactions: Transaction[] = [...first, ...items.map(([tx]) => tx)];
    if (refunds !== undefined) transactions.push(postExecTransaction({ blockNumber: BigInt(number), refunds }));
    let cumulativeGasUsed = 0n;
    const receipts = transactions.map((tx, index): Receipt => {
      const { status, gas, logs, depositNonce, hasVersion } = items[index - first.length]?.[1] ?? {
        status: 1,
        gas: 50_000n,
        logs: [],
        depositNonce: 7n,
        hasVersion: true,
      };
      cumulativeGasUsed += gas;
      const isDeposit = tx.type === 0x7e && depositNonce !== undefined;
      return {
        type: tx.type,
        status,
        ...(status === undefined && { stateRoot: keccak256(Uint8Array.of(index)) }),
        cumulativeGasUsed,
        bloom: logsBloom(logs),
        logs,
        ...(isDeposit && { depositNonce, ...(hasVersion && { depositReceiptVersion: 1n }) }),
      };
    });
    const own = header({
      ...positionFields(BigInt(number), timestamp),
      logsBloom: logsBloom(receipts.flatMap(({ logs }) => logs)),
      withdrawalsRoot: undefined,
      blobGasUsed: undefined,
      parentBeaconBlockRoot: undefined,
      requestsHash: undefined,
      ...given,
      excessBlobGas: undefined,
    });
    return {
      hash: hashHeader(own),
      block: {
        header: own,
        transactions,
        ommers: Array.from({ length: ommers }, (_, index) => header({ number: index })),
        withdrawals,
      },
      receipts,
      senders: transactions.map((tx) => (isSigned(tx) ? SENDER : recoverSender(tx))),
    };
  });

/** Compares texts; where they differ, says in which fields. */
function expectSame(text: string, wanted: string): void {
  if (text !== wanted) expect(JSON.parse(text)).toEqual(JSON.parse(wanted));
  expect(text).toBe(wanted);
}

describe.each([PROFILE_R, PROFILE_G])("what is written from bytes, profile $name", (profile) => {
  it("is what is written from objects: transactions, receipts, whole blocks", () => {
    fc.assert(
      fc.property(blocks, rulesToTry, (stored, rules) => {
        const parts = partsOfBlock(stored);
        const writer = new PartsWriter({ profile, rulesOf: () => rules });
        for (const full of [true, false]) {
          const options = { full, totalDifficulty: 5n };
          const { text } = blockPartsText(writer, profile, parts, { ...options, isPending: false });
          expectSame(text, JSON.stringify(blockToJson(profile, stored, options)));
          const read = headerFromRpc(JSON.parse(text));
          expect(exactTimestamp(read)).toBe(exactTimestamp(stored.block.header));
        }
        if (rules.op !== undefined && stored.block.transactions.some(({ type }) => type === 0x03)) return; // an OP chain has no blobs
        const receipts = receiptsToJson(profile, rules, stored);
        writer.open(parts).receipts();
        expectSame(writer.json.take(), JSON.stringify(receipts));
        for (let index = receipts.length - 1; index >= 0; index -= 3) {
          writer.open(parts).receipt(index);
          expectSame(writer.json.take(), JSON.stringify(receipts[index]));
          expect(bytesToHex(parts.encodedTransaction(index))).toBe(
            bytesToHex(encodeTransaction(stored.block.transactions[index]!)),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is what is written from objects: logs by filter", () => {
    const alternatives = fc.option(fc.array(hash, { minLength: 1, maxLength: 7 }), { nil: undefined });
    const criteria = fc.record({
      addresses: fc.option(fc.array(address, { minLength: 1, maxLength: 6 }), { nil: undefined }),
      topics: fc.array(alternatives, { maxLength: 4 }),
    });
    fc.assert(
      fc.property(blocks, criteria, fc.boolean(), (stored, wanted, removed) => {
        const writer = new PartsWriter(undefined).open(partsOfBlock(stored));
        const count = writer.logs(new LogMatcher(wanted), removed);
        const logs = logsOfBlock(stored, wanted, removed);
        expectSame(`[${writer.json.take()}]`, JSON.stringify(logs));
        expect(count).toBe(logs.length);
      }),
      { numRuns: 100 },
    );
  });
});
