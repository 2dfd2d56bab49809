import {
  bytesToHex,
  concatBytes,
  decodeRlp,
  EMPTY_BYTES,
  encodeRlp,
  hexToBytes,
  isCodedError,
  keccak256,
  type RlpItem,
} from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteCursor, encodeBitlist, encodeUvarint } from "../params/byte-cursor.ts";
import { postExecTransaction } from "../transactions/post-exec.ts";
import { decodeTransaction, encodeTransaction, signTransaction } from "../transactions/transaction-codec.ts";
import { type Batch, decodeBatch, encodeBatch, encodeChannelBatch, type SingularBatch } from "./batch.ts";
import { expandSpanBatch, SpanBatchBuilder, type SpanBatchInput } from "./span-batch.ts";
import { rebuildSpanTransactions, type SpanTransaction } from "./span-batch-transactions.ts";

// docs/protocol/06-testing.md#batch-vectors
const CHAIN = { genesisTimeSec: 1000, blockTimeSec: 2, chainId: 10n };
const of = (byte: string, count: number) => byte.repeat(count);
const TX_1 = hexToBytes(`02f8640a070164825208944242${of("42", 18)}0582c0dec001a0${of("01", 32)}a0${of("02", 32)}`);
const TX_2 = hexToBytes(`f84f82012c0a82cf08808082600037a0${of("03", 32)}a0${of("04", 32)}`);
const SPAN = hexToBytes(
  `0a65${of("aa", 20)}${of("bb", 20)}020201010201${of("01", 32)}${of("02", 32)}${of("03", 32)}${of("04", 32)}${of("42", 20)}` +
    "02c705016482c0dec0c5800a82600007ac0288a401889e0301",
);
const spanElement = concatBytes(Uint8Array.of(1), SPAN);

const block = (over: Partial<SpanBatchInput>): SpanBatchInput => ({
  timestampSec: 1010,
  parentHash: new Uint8Array(32).fill(0xaa),
  epochNumber: 100,
  epochHash: new Uint8Array(32).fill(0xbb),
  sequenceNumber: 1,
  transactions: [],
  ...over,
});

const decodeSpan = (bytes: Uint8Array) => {
  const batch = decodeBatch(bytes);
  if (batch.kind !== "span") throw new Error("not a span batch");
  return batch;
};

describe("span batch", () => {
  it("decodes the vector", () => {
    expect(SPAN.length).toBe(221);
    const batch = decodeSpan(spanElement);
    expect(batch).toMatchObject({
      relTimestamp: 10n,
      l1OriginNumber: 101n,
      originBits: [false, true],
      transactionCounts: [1, 1],
    });
    expect(batch.transactions.map(({ nonce, gasLimit, yParity }) => [nonce, gasLimit, yParity])).toEqual([
      [7n, 21_000n, true],
      [300n, 53_000n, false],
    ]);
    const expanded = expandSpanBatch(batch, CHAIN);
    expect(expanded).toMatchObject({ firstTimestamp: 1010, lastTimestamp: 1012, firstEpochNumber: 100, lastEpochNumber: 101 });
    const blocks = [...expanded.blocks()];
    expect(blocks.map(({ timestamp, epochNumber }) => [timestamp, epochNumber])).toEqual([
      [1010, 100],
      [1012, 101],
    ]);
    expect(blocks.map(({ transactions }) => transactions.map(bytesToHex))).toEqual([[bytesToHex(TX_1)], [bytesToHex(TX_2)]]);
    expect(bytesToHex(keccak256(TX_1))).toBe("0x3adf45f2166efa4824247ef72bb4c2d7419af9ae716c339260863507005808f5");
    expect(bytesToHex(keccak256(TX_2))).toBe("0x67f63e58f70ded726efa40b46d03ce8652fdc46a8e4f3e50745959165f26af26");
  });

  it("encodes the vector, from columns and from blocks", () => {
    expect(bytesToHex(encodeBatch(decodeBatch(spanElement)))).toBe(bytesToHex(spanElement));
    const builder = new SpanBatchBuilder(CHAIN);
    builder.add(block({ transactions: [TX_1] }));
    builder.add(block({ timestampSec: 1012, epochNumber: 101, sequenceNumber: 0, transactions: [TX_2] }));
    const element = encodeChannelBatch(builder.build());
    expect(element.length).toBe(224);
    expect(bytesToHex(element.subarray(0, 5))).toBe("0xb8de010a65");
    expect(bytesToHex(decodeRlp(element) as Uint8Array)).toBe(bytesToHex(spanElement));
  });

  it("ignores bytes after the last field", () => {
    expect(decodeBatch(concatBytes(spanElement, Uint8Array.of(1, 2, 3)))).toEqual(decodeBatch(spanElement));
  });

  it("re-encodes nonces, gas, origin and time that use all 64 bits", () => {
    const max = 0xffff_ffff_ffff_ffffn;
    const batch = decodeSpan(spanElement);
    const wide: Batch = {
      ...batch,
      relTimestamp: max,
      l1OriginNumber: max,
      transactions: batch.transactions.map((transaction) => ({ ...transaction, nonce: max, gasLimit: max })),
    };
    const encoded = encodeBatch(wide);
    expect(decodeBatch(encoded)).toEqual(wide);
    expect(bytesToHex(encodeBatch(decodeBatch(encoded)))).toBe(bytesToHex(encoded));
    // 2^64 - 1 + 1000 wraps
    expect(expandSpanBatch(decodeSpan(encoded), CHAIN).firstTimestamp).toBe(999);
  });

  const header = (originAndChecks: string) => hexToBytes(`01${originAndChecks}`);
  const checks = `0a65${of("aa", 20)}${of("bb", 20)}`;
  it.each<[string, Uint8Array, string]>([
    ["no blocks", header(`${checks}00`), "span-batch/no-blocks"],
    ["10,000,001 blocks", concatBytes(header(checks), encodeUvarint(10_000_001)), "span-batch/too-large"],
    ["too many transactions in a block", concatBytes(header(`${checks}0100`), encodeUvarint(10_000_001)), "span-batch/too-large"],
    [
      "too many transactions in all",
      concatBytes(header(`${checks}0200`), encodeUvarint(9_000_000), encodeUvarint(9_000_000)),
      "span-batch/too-large",
    ],
    ["a set padding bit in origin_bits", header(`${checks}0204`), "cursor/bad-bitlist"],
    ["a uvarint above 64 bits", header("ffffffffffffffffff02"), "cursor/bad-uvarint"],
    ["a uvarint of 11 groups", header("8080808080808080808000"), "cursor/bad-uvarint"],
    ["no origin check", header(`0a65${of("aa", 20)}`), "cursor/truncated"],
    [
      "data that begins with a string",
      header(`${checks}0100010000${of("01", 64)}${of("42", 20)}8185`),
      "span-batch/bad-transaction-data",
    ],
    [
      "typed data without a list",
      header(`${checks}0100010000${of("01", 64)}${of("42", 20)}0205`),
      "span-batch/bad-transaction-data",
    ],
    ["data that ends early", header(`${checks}0100010000${of("01", 64)}${of("42", 20)}02c7050164`), "rlp/truncated"],
  ])("refuses %s", (_, bytes, code) => {
    expect(() => decodeBatch(bytes)).toThrow(expect.objectContaining({ code }));
  });

  it("refuses every truncation of the vector", () => {
    for (let length = 0; length < spanElement.length; length++) {
      expect(() => decodeBatch(spanElement.subarray(0, length))).toThrow();
    }
  });

  it.each<[string, string]>([
    ["an unknown type", "05c705016482c0dec0"],
    ["type 0", "00c5800a826000"],
    ["legacy data with a field missing", "c2050a"],
    ["type 2 with a field missing", "02c605016482c0de"],
    ["a price with a leading zero", "02c7058200016480c0"],
    ["data that is a list", "02c5050164c0c0"],
    ["an access list that is a string", "02c50501648080"],
    ["a storage key of 1 byte", `02dd05016480d8d794${of("42", 20)}c101`],
    ["a set-code transaction without authorizations", "04c505016480c0"],
  ])("decodes, and cannot rebuild %s", (_, data) => {
    const isLegacy = data.startsWith("00") || data >= "c0";
    const bytes = hexToBytes(`01${checks}0100010000${of("01", 64)}${of("42", 20)}${data}0788a401${isLegacy ? "01" : ""}`);
    const batch = decodeSpan(bytes);
    expect(batch.transactions[0]!.gasLimit).toBe(21_000n);
    expect(() => expandSpanBatch(batch, CHAIN)).toThrow(expect.objectContaining({ code: "span-batch/bad-transaction" }));
  });

  it("cannot rebuild a set-code transaction that creates a contract", () => {
    const header = `0202${of("00", 20)}${of("00", 20)}0100010100${of("01", 64)}`;
    const bytes = hexToBytes(`01${header}04e380020580c0dddc82038594${of("bb", 20)}8080010100a0c21e`);
    const batch = decodeSpan(bytes);
    expect(batch.transactions[0]!.to).toBeUndefined();
    const chain = { genesisTimeSec: 1000, blockTimeSec: 2, chainId: 901n };
    expect(() => expandSpanBatch(batch, chain)).toThrow(expect.objectContaining({ code: "span-batch/bad-transaction" }));
    const called = { ...batch, transactions: [{ ...batch.transactions[0]!, to: new Uint8Array(20) }] };
    expect(expandSpanBatch(called, chain).transactionCount).toBe(1);
  });

  describe("a row, whatever its type", () => {
    const max = (bytes: number) => new Uint8Array(bytes).fill(0xff);
    const text = new Uint8Array(40);
    const list: RlpItem[] = [];
    const tooLong = [list, max(33), Uint8Array.of(0), Uint8Array.of(0, 1)];
    const authorization: RlpItem[] = [max(32), max(20), max(8), max(1), max(32), max(32)];
    const entry: RlpItem[] = [max(20), [max(32), max(32)]];
    const without = (items: RlpItem[], at: number): RlpItem[] => items.filter((_, i) => i !== at);
    const replaced = (items: RlpItem[], at: number, item: RlpItem): RlpItem[] => items.map((old, i) => (i === at ? item : old));
    const uint256 = { good: [EMPTY_BYTES, max(32)], bad: tooLong };
    const bytes = { good: [EMPTY_BYTES, text, Uint8Array.of(0)], bad: [list, [text]] as RlpItem[] };
    const accessList = {
      good: [list, [entry, entry], [[max(20), list]]],
      bad: [
        ...[text, [text], [list], [without(entry, 0)], [without(entry, 1)], [[...entry, list]]],
        ...[19, 21, 0].map((length) => [replaced(entry, 0, max(length))]),
        ...[31, 33, 0].map((length) => [replaced(entry, 1, [max(length)])]),
        ...[text, [list]].map((keys) => [replaced(entry, 1, keys)]),
      ] as RlpItem[],
    };
    const authorizations = {
      good: [list, [authorization], [[EMPTY_BYTES, max(20), EMPTY_BYTES, EMPTY_BYTES, EMPTY_BYTES, EMPTY_BYTES]]],
      bad: [
        ...[text, [text], [[...authorization, text]]],
        ...authorization.map((_, at) => [without(authorization, at)]),
        ...authorization.map((_, at) => [replaced(authorization, at, list)]),
        ...[0, 2, 3, 4, 5].flatMap((at) => {
          const { length } = authorization[at] as Uint8Array;
          return [max(length + 1), Uint8Array.of(0)].map((item) => [replaced(authorization, at, item)]);
        }),
        ...[0, 19, 21, 32].map((length) => [replaced(authorization, 1, max(length))]),
      ] as RlpItem[],
    };
    const types: readonly [
      type: number,
      fields: readonly { readonly good: readonly RlpItem[]; readonly bad: readonly RlpItem[] }[],
    ][] = [
      [0, [uint256, uint256, bytes]],
      [1, [uint256, uint256, bytes, accessList]],
      [2, [uint256, uint256, uint256, bytes, accessList]],
      [4, [uint256, uint256, uint256, bytes, accessList, authorizations]],
    ];

    it.each(types)("of type %i is rebuilt if each of its fields has a form that the type allows, and only then", (type, fields) => {
      const rebuilt = (items: RlpItem[], row: Partial<SpanTransaction> = {}): string => {
        const content = encodeRlp(items);
        const data = type === 0 ? content : concatBytes(Uint8Array.of(type), content);
        const signature = { r: max(32), s: max(32), yParity: true, isProtected: true };
        const transaction = { to: max(20), ...signature, data, nonce: 2n ** 64n - 1n, gasLimit: 2n ** 64n - 1n, ...row };
        try {
          const [encoded] = rebuildSpanTransactions([transaction], 2n ** 64n - 1n);
          return decodeTransaction(encoded!).type === type ? "rebuilt" : "another type";
        } catch (error) {
          return isCodedError(error) ? error.code : String(error);
        }
      };
      const items = fields.map(({ good }) => good[1]!);
      expect(rebuilt(items)).toBe("rebuilt");
      expect(rebuilt(items, { to: undefined })).toBe(type === 4 ? "span-batch/bad-transaction" : "rebuilt");
      for (const row of [{ r: new Uint8Array(32) }, { s: new Uint8Array(32) }, { yParity: false }, { isProtected: false }])
        expect(rebuilt(items, row)).toBe("rebuilt");
      for (const count of [0, items.length - 1, items.length + 1]) {
        expect(rebuilt([...items, text].slice(0, count))).toBe("span-batch/bad-transaction");
      }
      for (const [at, { good, bad }] of fields.entries()) {
        for (const item of good) expect({ at, item, is: rebuilt(replaced(items, at, item)) }).toEqual({ at, item, is: "rebuilt" });
        for (const item of bad) {
          const is = rebuilt(replaced(items, at, item));
          expect({ at, item, is }).toEqual({ at, item, is: "span-batch/bad-transaction" });
        }
      }
    });
  });

  describe("a post-exec transaction", () => {
    const encoded = encodeTransaction(postExecTransaction({ blockNumber: 42n, refunds: [{ index: 3n, gas: 7n }] }));
    const opaque = hexToBytes("7dc20105"); // not a payload
    const expand = (batch: Batch & { kind: "span" }) =>
      [...expandSpanBatch(batch, CHAIN).blocks()].map(({ transactions }) => transactions.map(bytesToHex));

    it("has columns of zeros: creation bit 1, parity 0, signature 0, nonce 0, gas 0", () => {
      const builder = new SpanBatchBuilder(CHAIN);
      builder.add(block({ transactions: [encoded] }));
      const element = bytesToHex(encodeBatch(builder.build()));
      // blocks ‖ origin bits ‖ transactions ‖ creation bits ‖ parity bits ‖ r, s ‖ data ‖ nonce ‖ gas
      expect(element.slice(-2 * (5 + 64 + 8 + 2))).toBe(`0100010100${of("00", 64)}7dc6012ac3c203070000`);
      expect(expand(decodeSpan(hexToBytes(element)))).toEqual([[bytesToHex(encoded)]]);
    });

    it("stays between others in its place", () => {
      const builder = new SpanBatchBuilder(CHAIN);
      builder.add(block({ transactions: [TX_1, encoded] }));
      builder.add(block({ timestampSec: 1012, sequenceNumber: 2, transactions: [TX_2, encoded, TX_1] }));
      const texts = [[TX_1, encoded].map(bytesToHex), [TX_2, encoded, TX_1].map(bytesToHex)];
      expect(expand(decodeSpan(encodeBatch(builder.build())))).toEqual(texts);
    });

    it("is rebuilt whatever its other columns are, and whatever list its payload is", () => {
      const row: SpanTransaction = {
        to: new Uint8Array(20).fill(9),
        yParity: true,
        r: new Uint8Array(32).fill(1),
        s: new Uint8Array(32).fill(2),
        data: opaque,
        nonce: 123n,
        gasLimit: 456n,
        isProtected: false,
      };
      expect(rebuildSpanTransactions([row], 10n)).toEqual([opaque]);
      expect(rebuildSpanTransactions([{ ...row, data: encoded }], 10n)).toEqual([encoded]);
    });

    it("is not taken into a batch if it cannot be decoded", () => {
      for (const bad of [opaque, hexToBytes("7d"), hexToBytes("7d01"), concatBytes(encoded, Uint8Array.of(0))]) {
        expect(() => new SpanBatchBuilder(CHAIN).add(block({ transactions: [bad] }))).toThrow(
          expect.objectContaining({ code: "span-batch/unsupported-transaction" }),
        );
      }
    });

    it("ends the channel if its payload is not a list", () => {
      const builder = new SpanBatchBuilder(CHAIN);
      builder.add(block({ transactions: [encoded] }));
      const element = bytesToHex(encodeBatch(builder.build()));
      for (const data of ["7d05", "7d820102", "7df80102", "7dc6012ac3c203"]) {
        const changed = hexToBytes(element.replace("7dc6012ac3c20307", data));
        expect(() => decodeSpan(changed), data).toThrow();
      }
    });
  });

  it("does not take what does not follow, deposits, blob transactions, and other chains", () => {
    const builder = new SpanBatchBuilder(CHAIN);
    expect(() => builder.build()).toThrow(expect.objectContaining({ code: "span-batch/no-blocks" }));
    builder.add(block({}));
    const refused: [Partial<SpanBatchInput>, string][] = [
      [{ timestampSec: 1014 }, "span-batch/block-mismatch"],
      [{ timestampSec: 1012, epochNumber: 101 }, "span-batch/block-mismatch"],
      [{ timestampSec: 1012, epochNumber: 102, sequenceNumber: 0 }, "span-batch/block-mismatch"],
      [{ timestampSec: 1012, transactions: [hexToBytes("7ec0")] }, "span-batch/unsupported-transaction"],
      [{ timestampSec: 1012, transactions: [hexToBytes("03c0")] }, "span-batch/unsupported-transaction"],
      [{ timestampSec: 1012, transactions: [new Uint8Array()] }, "span-batch/unsupported-transaction"],
      [{ timestampSec: 1012, transactions: [TX_1, hexToBytes("02c0")] }, "span-batch/unsupported-transaction"],
    ];
    for (const [over, code] of refused) expect(() => builder.add(block(over))).toThrow(expect.objectContaining({ code }));
    const other = new SpanBatchBuilder({ ...CHAIN, chainId: 11n });
    expect(() => other.add(block({ transactions: [TX_1] }))).toThrow(
      expect.objectContaining({ code: "span-batch/unsupported-transaction" }),
    );
    expect(() => other.add(block({ transactions: [TX_2] }))).toThrow(
      expect.objectContaining({ code: "span-batch/unsupported-transaction" }),
    );
    expect(builder.blockCount).toBe(1);
    expect(builder.build().transactions).toEqual([]);
  });

  it("rebuilds the transactions of every type from blocks of any shape", () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
    const uint = (bits: bigint) => fc.bigInt({ min: 0n, max: (1n << bits) - 1n });
    const accessList = fc.array(fc.record({ address: bytes(20), storageKeys: fc.array(bytes(32), { maxLength: 2 }) }), {
      maxLength: 2,
    });
    const common = {
      nonce: uint(64n),
      gasLimit: uint(64n),
      to: fc.option(bytes(20), { nil: undefined }),
      value: uint(256n),
      data: fc.uint8Array({ maxLength: 80 }),
    };
    const typed = { ...common, chainId: fc.constant(CHAIN.chainId), accessList };
    const fees = { maxPriorityFeePerGas: uint(128n), maxFeePerGas: uint(256n) };
    const authorization = fc.record({
      chainId: uint(256n),
      address: bytes(20),
      nonce: uint(64n),
      yParity: fc.integer({ min: 0, max: 255 }),
      r: uint(256n),
      s: uint(256n),
    });
    const transaction = fc.oneof(
      fc.record({
        type: fc.constant(0 as const),
        ...common,
        gasPrice: uint(256n),
        chainId: fc.constantFrom(CHAIN.chainId, undefined),
      }),
      fc.record({ type: fc.constant(1 as const), ...typed, gasPrice: uint(256n) }),
      fc.record({ type: fc.constant(2 as const), ...typed, ...fees }),
      fc.record({
        type: fc.constant(4 as const),
        ...typed,
        ...fees,
        to: bytes(20),
        authorizationList: fc.array(authorization, { maxLength: 2 }),
      }),
    );
    const key = new Uint8Array(32).fill(0x11);
    const refunds = fc.array(fc.record({ index: uint(64n), gas: uint(64n) }), { maxLength: 30 });
    const encoded = fc.oneof(
      { arbitrary: transaction.map((tx) => encodeTransaction(signTransaction(tx, key))), weight: 5 },
      fc.record({ blockNumber: uint(64n), refunds }).map((payload) => encodeTransaction(postExecTransaction(payload))),
    );
    const blocks = fc.array(fc.record({ advances: fc.boolean(), transactions: fc.array(encoded, { maxLength: 4 }) }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(blocks, (list) => {
        const builder = new SpanBatchBuilder(CHAIN);
        let epochNumber = 100;
        const expected = list.map(({ advances, transactions }, i) => {
          if (advances && i > 0) epochNumber++;
          builder.add(block({ timestampSec: 1010 + 2 * i, epochNumber, sequenceNumber: advances ? 0 : 1, transactions }));
          return { timestamp: 1010 + 2 * i, epochNumber, transactions: transactions.map(bytesToHex) };
        });
        const element = encodeBatch(builder.build());
        expect(builder.encodedBytes).toBe(element.length - 1);
        const next = { timestampSec: 1010 + 2 * list.length, epochNumber, transactions: list[0]!.transactions };
        builder.add(block(next));
        builder.removeLast();
        expect(bytesToHex(encodeBatch(builder.build()))).toBe(bytesToHex(element));
        expect(() => builder.removeLast()).toThrow(expect.objectContaining({ code: "span-batch/no-blocks" }));
        const decoded = decodeSpan(element);
        expect(bytesToHex(encodeBatch(decoded))).toBe(bytesToHex(element));
        const got = [...expandSpanBatch(decoded, CHAIN).blocks()];
        expect(got.map((each) => ({ ...each, transactions: each.transactions.map(bytesToHex) }))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

describe("singular batch", () => {
  const vector: SingularBatch = {
    kind: "singular",
    parentHash: new Uint8Array(32).fill(0x11),
    epochNumber: 100n,
    epochHash: new Uint8Array(32).fill(0x22),
    timestamp: 1010n,
    transactions: [TX_1],
  };

  it("is the published vector", () => {
    const element = encodeChannelBatch(vector);
    expect(element.length).toBe(182);
    expect(bytesToHex(element)).toBe(`0xb8b400f8b1a0${of("11", 32)}64a0${of("22", 32)}8203f2f869b867${bytesToHex(TX_1).slice(2)}`);
    expect(decodeBatch(decodeRlp(element) as Uint8Array)).toEqual(vector);
  });

  it("ignores bytes after the list", () => {
    expect(decodeBatch(concatBytes(encodeBatch(vector), Uint8Array.of(9)))).toEqual(vector);
  });

  it("round-trips", () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
    const uint64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
    const batch = fc.record<SingularBatch>({
      kind: fc.constant("singular" as const),
      parentHash: bytes(32),
      epochNumber: uint64,
      epochHash: bytes(32),
      timestamp: uint64,
      transactions: fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 4 }),
    });
    fc.assert(
      fc.property(batch, (value) => {
        expect(decodeBatch(encodeBatch(value))).toEqual(value);
      }),
    );
  });

  it.each<[string, string, string]>([
    ["nothing", "", "batch/empty"],
    ["type 2", "02c0", "batch/unknown-type"],
    ["only a type", "00", "rlp/truncated"],
    ["a string", "0083616263", "rlp/expected-list"],
    ["four fields", "00c4808080c0", "rlp/wrong-item-count"],
    ["a parent hash of 1 byte", "00c501018001c0", "rlp/wrong-string-length"],
    ["a timestamp with a leading zero", `00f847a0${of("11", 32)}64a0${of("22", 32)}820001c0`, "rlp/non-canonical-integer"],
  ])("refuses %s", (_, hex, code) => {
    expect(() => decodeBatch(hexToBytes(hex))).toThrow(expect.objectContaining({ code }));
  });
});

describe("columns", () => {
  it("bitlists: the first byte holds the highest bits, spare bits must be 0", () => {
    const nine = [false, false, false, false, false, false, false, false, true];
    expect([...encodeBitlist(nine)]).toEqual([1, 0]);
    expect(new ByteCursor(Uint8Array.of(1, 0)).bitlist(9)).toEqual(nine);
    expect(() => new ByteCursor(Uint8Array.of(2, 0)).bitlist(9)).toThrow(expect.objectContaining({ code: "cursor/bad-bitlist" }));
    expect(new ByteCursor(new Uint8Array()).bitlist(0)).toEqual([]);
  });

  it("uvarints", () => {
    expect(bytesToHex(encodeUvarint(300))).toBe("0xac02");
    const uint64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
    fc.assert(
      fc.property(uint64, (value) => {
        expect(new ByteCursor(encodeUvarint(value)).uvarint()).toBe(value);
      }),
    );
    expect(new ByteCursor(hexToBytes("ac8200")).uvarint()).toBe(300n); // longer than needed
  });
});
