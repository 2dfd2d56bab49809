import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { PREDEPLOYS } from "../params/predeploys.ts";
import { decodeTransaction, hashTransaction } from "../transactions/transaction-codec.ts";
import type { PayloadAttributes } from "./payload.ts";
import { payloadId } from "./payload-id.ts";

const PARENT = hexToBytes("0x3533bf30edaf9505d0810bf475cbe4e5f4b9889904b9845e83efdeab4e92eb1e");
const X = hexToBytes(
  "7ef8f8a0dc19cfa777d90980e4875d0a548a881baaa3f83f14d1bc0d3038bc329350e54194deaddeaddeaddeaddeaddeaddeaddeaddead0001" +
    "944200000000000000000000000000000000000015" +
    "8080830f424080b8a4" +
    "440a5e20000f424000000000000000000000000300000000670d6d890000000000000125" +
    "0000000000000000000000000000000000000000000000000000000000000007" +
    "0000000000000000000000000000000000000000000000000000000000000001" +
    "4bf9181db6e381d4384bbf69c48b0ee0eed23c6ca26143c6d2544f9d39997a59" +
    "0000000000000000000000007f83d659683caf2767fd3c720981d51f5bc365bc",
);
const attributes: PayloadAttributes = {
  timestamp: 1728933301,
  prevRandao: hexToBytes("0x9158595abbdab2c90635087619aa7042bbebe47642dfab3c9bfb934f6b082765"),
  suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
  withdrawals: [],
  parentBeaconBlockRoot: hexToBytes("0x8fe0193b9bf83cb7e5a08538e494fecc23046aab9a497af3704f4afdae3250ff"),
  gasLimit: 30_000_000n,
  noTxPool: false,
  transactions: [X],
};

describe("payloadId", () => {
  it.each<[string, Partial<PayloadAttributes>, number, string]>([
    ["version 3", {}, 3, "0x03d2dae446d2a86a"],
    ["version 4 with a minimum base fee", { minBaseFee: 100n }, 4, "0x046c65ffc4d659ec"],
    ["zero EIP-1559 parameters", { eip1559Params: new Uint8Array(8) }, 3, "0x03f870875933d05f"],
    ["parameters and minimum", { eip1559Params: hexToBytes("0x000000fa00000006"), minBaseFee: 0n }, 3, "0x03f4d243a1e7ba69"],
  ])("%s", (_, extra, version, id) => {
    expect(payloadId(PARENT, { ...attributes, ...extra }, version)).toBe(id);
  });

  it("has the vector's transaction right", () => {
    expect(bytesToHex(hashTransaction(decodeTransaction(X)))).toBe(
      "0xad4d5ae13e075c2743aec58579d08b9ee3f2c1eea788a4780884c48b2f9fc942",
    );
  });
});
