import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { logsBloom } from "../transactions/receipt-codec.ts";
import { decodeTransaction, hashTransaction } from "../transactions/transaction-codec.ts";
import type { Flashblock } from "./flashblock.ts";
import { decodeFlashblock, encodeFlashblock, MAX_FLASHBLOCK_CHARACTERS } from "./flashblock-json.ts";
import { FlashblockOrder } from "./flashblock-order.ts";

/** The first two parts of block 35,535,698 of Unichain Sepolia, as its public stream had them in November 2025 (receipts in the older form). */
const COUNTER = "0xf878f0340bf132c28f3211e8b46c569edf817495";
const COUNTED = "0xfaddd0b06e793a583e92393ad3f98637e560462ee98db1f2888f141124ee64ca";
const RECORDED = [
  {
    payload_id: "0x03c446f063e3735a",
    index: 0,
    base: {
      parent_beacon_block_root: "0xf6d335a6b2b4fd8fb539cd51a49769df4d53c31a90c54dd270e54542638ff101",
      parent_hash: "0x06ff95a9cd23b0328da74a984aa986b2e01d377dab1825f1029e39ece6c4a3ea",
      fee_recipient: "0x4200000000000000000000000000000000000011",
      prev_randao: "0x8beee738d20a9d77c5f27e9cb799ebe5b536f0985efad5f7d77ebff47f092c4a",
      block_number: "0x21e3b52",
      gas_limit: "0x3938700",
      timestamp: "0x690be89e",
      extra_data: "0x00000000320000000c",
      base_fee_per_gas: "0x33",
    },
    diff: {
      state_root: "0x5615e4342d231c352438f0ba6a8f0f641459f67961961764b781a909969b28ad",
      receipts_root: "0x588e1d47b0618d7e935b20c3945cba3b7b8c00141904f79ceed20312ea502e63",
      logs_bloom: `0x${"00".repeat(256)}`,
      gas_used: "0x10994",
      block_hash: "0xa66f8562a861f906a2438d7d6ba79495640d98d9c6922b9605c54b57f97a345c",
      transactions: [
        "0x7ef90104a035dd2ec802504a143048c7830f8f570e0d6cf5147217af869939c6b4ba710a3694deaddeaddeaddeaddeaddeaddeaddeaddead00019442000000000000000000000000000000000000158080830f424080b8b0098999be000007d0000dbba0000000000000000800000000690be848000000000092042e000000000000000000000000000000000000000000000000000000000000000900000000000000000000000000000000000000000000000000000000000000010ffd7e2fb2c36e5f27c015872ce733a7b4f3fc0f4ee668d7469c557c48f8250f0000000000000000000000004ab3387810ef500bfe05a49dc53a44c222cbab3e000000000000000000000000",
        "0x02f87e8205158401c8ea9180338255789400000000000000000000000000000000000000008096426c6f636b204e756d6265723a203335353335363938c080a091f83058c881d9ad71c179ce680326501702eb68150d20b2bf7786e388f954a2a0180185d83e503f11bf3c265c1f9296ed8d3d7c04031cd8bb30509ad188ce7bbc",
      ],
      withdrawals: [],
      withdrawals_root: "0x62ed62e0391b081bf172f287fbbe75e87d8a6c22f1d3b1f1aef4788c134633d2",
    },
    metadata: {
      block_number: 35535698,
      new_account_balances: { "0x0000f90827f1c53a10cb7a02335b175320002935": "0x0" },
      receipts: {
        "0x89f7852587dca7dd2f31b02f3a93f47669a82784025d607ec7c336b66af84a19": {
          Eip1559: { status: "0x1", cumulativeGasUsed: "0x10994", logs: [] },
        },
      },
    },
  },
  {
    payload_id: "0x03c446f063e3735a",
    index: 1,
    base: null,
    diff: {
      state_root: "0xfb1794f74d405b345672c57a5053c6105cc55c8e63f96fb0db5b0260df42413a",
      receipts_root: "0x1eaaaeb9d43bead7d32b90f1b320589174c63d2fa8f5fd366f841a205b1eb2e0",
      logs_bloom:
        "0x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002000000001000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000040000000000000000000000000000000000000000000000000004040000000000000000000000000000000000000000000000000000000000000000000000",
      gas_used: "0x18f7d",
      block_hash: "0x67b0521ebfcb03d6ce2b6e1bad9c9c66795365f63ad8dc51e1e8f582a5ab7821",
      transactions: [
        "0x02f86c8205158401c8ea92803382880994f878f0340bf132c28f3211e8b46c569edf81749580843fd553e8c001a0d73ce313aafea312e0b7244767e45f8b05d50305e0f4e4c3c564ddc751666815a02ee015ce2363311823c0b2e96bfb0e8090fd53c6cdd99be8cf343af123036dfc",
      ],
      withdrawals: [],
      withdrawals_root: "0x62ed62e0391b081bf172f287fbbe75e87d8a6c22f1d3b1f1aef4788c134633d2",
    },
    metadata: { block_number: 35535698, access_list: "0xc0" },
  },
];
const [FIRST, SECOND] = RECORDED.map((message) => JSON.stringify(message)) as [string, string];

/** The first part with another value at a path. */
function changed(path: string, value: unknown, of: object = RECORDED[0]!): string {
  const copy = structuredClone(of) as Record<string, unknown>;
  const keys = path.split(".");
  const last = keys.pop()!;
  const parent = keys.reduce((object, key) => object[key] as Record<string, unknown>, copy);
  parent[last] = value;
  return JSON.stringify(copy);
}

describe("messages of a public stream", () => {
  it("are read", () => {
    const first = decodeFlashblock(FIRST);
    expect(first).toMatchObject({ payloadId: "0x03c446f063e3735a", index: 0, blockNumber: 35_535_698 });
    expect(first.base).toMatchObject({ gasLimit: 60_000_000n, timestamp: 0x690be89e, baseFeePerGas: 0x33n });
    expect(first.diff.transactions.map((encoded) => bytesToHex(hashTransaction(decodeTransaction(encoded))))).toEqual([
      "0x613834aaeeb676fb45e312531c0cac40485a2c1b7b8ad8d648e5034dddfb5f03",
      "0x89f7852587dca7dd2f31b02f3a93f47669a82784025d607ec7c336b66af84a19",
    ]);
    expect(first.diff.blobGasUsed).toBeUndefined();
    const second = decodeFlashblock(SECOND);
    expect(second).toMatchObject({ index: 1, base: undefined });
    const log = { address: hexToBytes(COUNTER), topics: [hexToBytes(COUNTED)], data: new Uint8Array(32) };
    expect(second.diff.logsBloom).toEqual(logsBloom([log]));
  });

  it.each([
    ["payload_id", "0x03c446f063e373", "8 bytes"],
    ["index", -1, "an integer"],
    ["index", 1, "no base in part 1"],
    ["index", 1_000, "below 1000"],
    ["base", null, "in the first part"],
    ["base.extra_data", `0x${"00".repeat(33)}`, "at most 32 bytes"],
    ["base.block_number", "0x1", "the number in base"],
    ["base.timestamp", "0xffffffffffffffff", "below 2^53"],
    ["base.base_fee_per_gas", `0x1${"0".repeat(64)}`, "256 bits"],
    ["diff", [], "an object"],
    ["diff.logs_bloom", "0x00", "256 bytes"],
    ["diff.gas_used", 69_000, "quantity"],
    ["diff.transactions", ["0x0"], "hex bytes"],
    ["diff.transactions", {}, "an array"],
    ["diff.withdrawals", [{}], "an empty array"],
    ["diff.blob_gas_used", "0x10000000000000000", "64 bits"],
    ["metadata", null, "an object"],
    ["metadata.block_number", "0x21e3b52", "an integer"],
  ])("are refused with %s %j", (path, value, reason) => {
    expect(() => decodeFlashblock(changed(path, value))).toThrow(reason);
  });

  it("need no more than a block number in the metadata", () => {
    expect(decodeFlashblock(changed("metadata", { block_number: 35535698 })).blockNumber).toBe(35_535_698);
  });

  it.each<[string, () => string, string]>([
    ["other text", () => "<html>", "JSON"],
    ["a list", () => "[]", "an object"],
    ["too many characters", () => " ".repeat(MAX_FLASHBLOCK_CHARACTERS + 1), "characters"],
    ["many values", () => `{"a":${"[".repeat(1_000_000)}`, "values"],
    ["many small values", () => `{"diff":{"transactions":[${"0,".repeat(1_000_000)}0]}}`, "values"],
  ])("are refused if they are %s", (_, text, reason) => {
    expect(() => decodeFlashblock(text())).toThrow(reason);
  });
});

describe("encoded messages", () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const quantity = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const parts = fc.record({
    payloadId: bytes(8).map(bytesToHex),
    index: fc.integer({ min: 0, max: 999 }),
    blockNumber: fc.nat(),
    base: fc.record({
      parentBeaconBlockRoot: bytes(32),
      parentHash: bytes(32),
      feeRecipient: bytes(20),
      prevRandao: bytes(32),
      gasLimit: quantity,
      timestamp: fc.nat(),
      extraData: fc.uint8Array({ maxLength: 32 }),
      baseFeePerGas: quantity,
    }),
    diff: fc.record({
      stateRoot: bytes(32),
      receiptsRoot: bytes(32),
      logsBloom: bytes(256),
      gasUsed: quantity,
      blockHash: bytes(32),
      transactions: fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 })),
      withdrawalsRoot: bytes(32),
      blobGasUsed: fc.option(quantity, { nil: undefined }),
      postExecTx: fc.option(fc.uint8Array(), { nil: undefined }),
    }),
  });

  it("are read as they were", () => {
    fc.assert(
      fc.property(parts, ({ base, ...part }) => {
        const { index, blockNumber } = part;
        const sent: Flashblock = { ...part, base: index === 0 ? { ...base, blockNumber } : undefined };
        expect(decodeFlashblock(encodeFlashblock(sent, { receipts: new Map(), balances: new Map() }))).toEqual(sent);
      }),
    );
  });

  it("have receipts with their type, and balances", () => {
    const hash: Hex = "0x613834aaeeb676fb45e312531c0cac40485a2c1b7b8ad8d648e5034dddfb5f03";
    const log = { address: hexToBytes(COUNTER), topics: [hexToBytes(COUNTED)], data: Uint8Array.of(1) };
    const receipt = { type: 0x7e, status: 1, cumulativeGasUsed: 46_108n, bloom: new Uint8Array(256), logs: [log] } as const;
    const text = encodeFlashblock(decodeFlashblock(FIRST), {
      receipts: new Map([[hash, { ...receipt, depositNonce: 7n, depositReceiptVersion: 1n }]]),
      balances: new Map([[COUNTER, 10n]]),
    });
    expect(JSON.parse(text)).toMatchObject({
      diff: RECORDED[0]!.diff,
      metadata: {
        block_number: 35535698,
        new_account_balances: { [COUNTER]: "0xa" },
        receipts: {
          [hash]: {
            type: "0x7e",
            status: "0x1",
            cumulativeGasUsed: "0xb41c",
            logs: [{ address: COUNTER, topics: [COUNTED], data: "0x01" }],
            depositNonce: "0x7",
            depositReceiptVersion: "0x1",
          },
        },
      },
    });
  });
});

describe("the order of parts", () => {
  const first = decodeFlashblock(FIRST);
  const second = decodeFlashblock(SECOND);
  const nth = (index: number, changes: Partial<Flashblock["diff"]> = {}): Flashblock => ({
    ...second,
    index,
    diff: { ...second.diff, ...changes },
  });
  const other = (payloadId: Hex): Flashblock => ({ ...first, payloadId });
  const places = (...parts: readonly Flashblock[]): string[] => {
    const order = new FlashblockOrder();
    return parts.map((part) => order.take(part).kind);
  };

  it.each<[string, readonly Flashblock[], readonly string[]]>([
    ["a block", [first, second, nth(2)], ["first", "next", "next"]],
    ["one who joins in the middle", [second, nth(2), first, second], ["no-base", "no-base", "first", "next"]],
    ["two sources, one behind", [first, second, first, nth(2), second], ["first", "next", "duplicate", "next", "duplicate"]],
    [
      "a source that repeats the block before",
      [first, second, other("0x0300000000000001"), second, nth(2), other("0x0300000000000001")],
      ["first", "next", "first", "duplicate", "duplicate", "duplicate"],
    ],
    ["a gap", [first, nth(2), second, other("0x0300000000000001")], ["first", "gap", "next", "first"]],
    ["other contents", [first, second, nth(1, { gasUsed: 1n })], ["first", "next", "conflict"]],
    ["another first part", [first, { ...first, diff: second.diff }], ["first", "conflict"]],
    ["another block number", [first, { ...second, blockNumber: 1 }], ["first", "conflict"]],
    ["more gas than the block has", [first, nth(1, { gasUsed: 60_000_001n })], ["first", "conflict"]],
  ])("is found for %s", (_, parts, expected) => {
    expect(places(...parts)).toEqual(expected);
  });

  it("is that of the next block after a drop", () => {
    const order = new FlashblockOrder();
    order.take(first);
    order.drop();
    expect(order.take(second).kind).toBe("duplicate");
    expect(order.take(other("0x0300000000000001")).kind).toBe("first");
  });
});
