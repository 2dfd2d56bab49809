import type { BlockRules, OpFork } from "@rnode/protocol";
import { encodeTransaction, type L1InfoLayout, receiptFromRpc, rollupRules } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { PROFILE_G } from "../profile/profile-g.ts";
import { PROFILE_R } from "../profile/profile-r.ts";
import { deposit, feeTransaction, l1Info, log, storedBlock } from "../testing/blocks.ts";
import { scalarText } from "./l1-fee-fields.ts";
import { receiptsToJson } from "./receipt-json.ts";

const rules = (op: OpFork): BlockRules => ({
  ...rollupRules(op),
  chainId: 901n,
  blobParams: undefined,
  isDaoForkBlock: false,
});
const COMMON = [
  "blockHash",
  "blockNumber",
  "contractAddress",
  "cumulativeGasUsed",
  "effectiveGasPrice",
  "from",
  "gasUsed",
  "logs",
  "logsBloom",
  "status",
  "to",
  "transactionHash",
  "transactionIndex",
  "type",
];
const DEPOSIT = ["depositNonce", "depositReceiptVersion"];
const L1 = ["l1Fee", "l1GasPrice", "l1GasUsed"];
const ECOTONE = [...L1, "l1BaseFeeScalar", "l1BlobBaseFee", "l1BlobBaseFeeScalar"];
const OPERATOR = ["operatorFeeConstant", "operatorFeeScalar"];

describe("receiptsToJson", () => {
  const cases: [string, OpFork, L1InfoLayout, Record<string, string[]>][] = [
    [
      "Canyon",
      "canyon",
      "bedrock",
      {
        Ruser: [...L1, "l1FeeScalar", "l1BaseFeeScalar"],
        Rdeposit: [...L1, "l1FeeScalar", "l1BaseFeeScalar"],
        Guser: [...L1, "l1FeeScalar"],
        Gdeposit: ["l1Fee"],
      },
    ],
    [
      "the first Ecotone block",
      "ecotone",
      "bedrock",
      { Ruser: L1, Rdeposit: L1, Guser: [...L1, "l1FeeScalar"], Gdeposit: ["l1Fee"] },
    ],
    ["Fjord", "fjord", "ecotone", { Ruser: ECOTONE, Rdeposit: ECOTONE, Guser: ECOTONE, Gdeposit: ["l1Fee"] }],
    [
      "Isthmus without an operator fee",
      "isthmus",
      "isthmus",
      { Ruser: ECOTONE, Rdeposit: ECOTONE, Guser: ECOTONE, Gdeposit: ["l1Fee"] },
    ],
    [
      "the first Jovian block",
      "jovian",
      "isthmus",
      {
        Ruser: [...ECOTONE, "blobGasUsed"],
        Rdeposit: [...ECOTONE, "blobGasUsed"],
        Guser: [...ECOTONE, "blobGasUsed"],
        Gdeposit: ["l1Fee"],
      },
    ],
    [
      "Jovian",
      "jovian",
      "jovian",
      {
        Ruser: [...ECOTONE, "blobGasUsed", "daFootprintGasScalar"],
        Rdeposit: [...ECOTONE, "blobGasUsed", "daFootprintGasScalar"],
        Guser: [...ECOTONE, "blobGasUsed", "daFootprintGasScalar"],
        Gdeposit: ["l1Fee"],
      },
    ],
  ];
  it.each(cases)("has the keys of %s", (_, fork, layout, extra) => {
    const stored = storedBlock([l1Info(layout), feeTransaction()]);
    for (const profile of [PROFILE_R, PROFILE_G]) {
      const [depositReceipt, userReceipt] = receiptsToJson(profile, rules(fork), stored);
      expect(Object.keys(userReceipt!).sort((a, b) => a.localeCompare(b))).toEqual(
        [...COMMON, ...extra[`${profile.name}user`]!].sort((a, b) => a.localeCompare(b)),
      );
      expect(Object.keys(depositReceipt!).sort((a, b) => a.localeCompare(b))).toEqual(
        [...COMMON, ...DEPOSIT, ...extra[`${profile.name}deposit`]!].sort((a, b) => a.localeCompare(b)),
      );
    }
  });

  it("has the operator fee only where there is one", () => {
    const stored = storedBlock([l1Info("isthmus", { operatorFeeConstant: 5n }), feeTransaction()]);
    const [, user] = receiptsToJson(PROFILE_R, rules("isthmus"), stored);
    expect(user).toMatchObject({ operatorFeeScalar: "0x0", operatorFeeConstant: "0x5" });
    expect(Object.keys(user!)).toEqual(expect.arrayContaining(OPERATOR));
  });

  it("gives the values of the block's own L1 attributes", () => {
    const tx = feeTransaction();
    const stored = storedBlock([l1Info("jovian"), tx]);
    const [first, user] = receiptsToJson(PROFILE_R, rules("jovian"), stored);
    // A small transaction is charged the smallest estimate: 100 bytes.
    const feeScaled = 16n * 7_000_000_000n * 1368n + 3n * 810_949n;
    expect(encodeTransaction(tx).length).toBeLessThan(150);
    expect(user).toMatchObject({
      type: "0x2",
      status: "0x1",
      gasUsed: "0x5208",
      cumulativeGasUsed: "0xa410",
      effectiveGasPrice: "0x3b9aca0a",
      contractAddress: null,
      l1GasPrice: "0x1a13b8600",
      l1GasUsed: "0x640",
      l1Fee: `0x${((100_000_000n * feeScaled) / 10n ** 12n).toString(16)}`,
      blobGasUsed: "0x9c40",
      daFootprintGasScalar: "0x190",
    });
    expect(first).toMatchObject({
      type: "0x7e",
      effectiveGasPrice: "0x0",
      l1Fee: "0x0",
      depositNonce: "0x29",
      depositReceiptVersion: "0x1",
    });
    expect(Number((first as { blobGasUsed: string }).blobGasUsed)).toBeGreaterThanOrEqual(40_000);
    expect(receiptsToJson(PROFILE_G, rules("jovian"), stored)[0]).toMatchObject({ l1Fee: "0x0", effectiveGasPrice: "0x0" });
  });

  it("writes the old scalar as a decimal", () => {
    const [, user] = receiptsToJson(PROFILE_G, rules("canyon"), storedBlock([l1Info("bedrock"), feeTransaction()]));
    expect(user!.l1FeeScalar).toBe("0.684");
    expect([0n, 1n, 1_000_000n, 1_500_000n].map(scalarText)).toEqual(["0", "0.000001", "1", "1.5"]);
  });

  it("numbers logs through the block and names created contracts", () => {
    const creation = deposit({ to: undefined, from: new Uint8Array(20).fill(0x55) });
    const stored = storedBlock([l1Info("jovian"), feeTransaction(), creation], {
      logs: [[log([1])], [log([1]), log([2])], [log([3])]],
    });
    const json = receiptsToJson(PROFILE_R, rules("jovian"), stored);
    expect(json.flatMap(({ logs }) => (logs as { logIndex: string }[]).map(({ logIndex }) => logIndex))).toEqual([
      "0x0",
      "0x1",
      "0x2",
      "0x3",
    ]);
    // keccak256(rlp([0x5555…55, 41])), last 20 bytes: the nonce is the deposit's, not 0
    expect(json[2]!.contractAddress).toMatch(/^0x[0-9a-f]{40}$/);
    const [, , atZero] = receiptsToJson(PROFILE_R, rules("jovian"), {
      ...stored,
      receipts: stored.receipts.map((receipt) => ({ ...receipt, depositNonce: 0n })),
    });
    expect(atZero!.contractAddress).not.toBe(json[2]!.contractAddress);
    expect(receiptsToJson(PROFILE_R, rules("jovian"), stored, 1)).toEqual([json[1]]);
  });

  it("is what the rollup node reads back", () => {
    const stored = storedBlock([l1Info("jovian"), feeTransaction()], { logs: [[], [log([1, 2])]] });
    for (const profile of [PROFILE_R, PROFILE_G]) {
      const json = receiptsToJson(profile, rules("jovian"), stored);
      expect(json.map((one) => receiptFromRpc(one).receipt)).toEqual(stored.receipts);
    }
  });
});
