import { bytesToHex, concatBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { badDeposits } from "../testing/contract-logs.ts";
import {
  aliasAddress,
  depositCalldata,
  depositFromLog,
  depositsFromReceipts,
  l1InfoSourceHash,
  TRANSACTION_DEPOSITED_TOPIC,
  upgradeSourceHash,
  userDepositSourceHash,
} from "./deposits.ts";
import type { Log, Receipt } from "./receipt.ts";
import { encodeTransaction } from "./transaction-codec.ts";

const ZERO = new Uint8Array(32);
const ONES = new Uint8Array(32).fill(0x11);
const word = (value: number) => hexToBytes(value.toString(16).padStart(64, "0"));
const addressWord = (byte: number) => concatBytes(new Uint8Array(12), new Uint8Array(20).fill(byte));
const portal = new Uint8Array(20).fill(0xcc);

/** mint ‖ value ‖ gas ‖ isCreation ‖ calldata */
const opaque = (isCreation: number, calldata = new Uint8Array(55)) =>
  concatBytes(word(10), word(100), hexToBytes("00000000000003e8"), Uint8Array.of(isCreation), calldata);
const abi = (payload: Uint8Array, padding = (32 - (payload.length % 32)) % 32) =>
  concatBytes(word(32), word(payload.length), payload, new Uint8Array(padding));
const log = (over: Partial<Log> = {}): Log => ({
  address: portal,
  topics: [TRANSACTION_DEPOSITED_TOPIC, addressWord(0x11), addressWord(0x22), ZERO],
  data: abi(opaque(1)),
  ...over,
});

// docs/protocol/06-testing.md#deposit-vectors
describe("published source hashes", () => {
  it.each([
    ["user, zero, log 0", userDepositSourceHash(ZERO, 0), "0xed428e1c45e1d9561b62834e1a2d3015a0caae3bfdc16b4da059ac885b01a145"],
    ["user, ones, log 3", userDepositSourceHash(ONES, 3), "0x32420aef64d24d79ad4b5b326f8dce96091e475f2c48dbbf3dcfe9dea30052b2"],
    ["L1 info, zero, 0", l1InfoSourceHash(ZERO, 0), "0x009316a6b27b778fc9c4cd520e332fce845aa0089877f87cfe8c1d77fa4cc110"],
    ["L1 info, ones, 5", l1InfoSourceHash(ONES, 5), "0xf109b4cb8dc4582b9b04011e42aa61c63aa2fc0e73d21a0fbdbfde490a61513e"],
    [
      "upgrade",
      upgradeSourceHash("Karst 0: ConditionalDeployer Deployment"),
      "0x7e71ceb6816466ed1bbe59fce31bab86fbb815adbca6d2587fa492f6eb6eba74",
    ],
  ])("%s", (_, hash, expected) => {
    expect(bytesToHex(hash)).toBe(expected);
  });
});

describe("deposit log", () => {
  it("is the published deposit", () => {
    const data = abi(opaque(1));
    expect(data.length).toBe(64 + 128);
    const encoded = encodeTransaction(depositFromLog(log({ data }), ZERO, 0));
    expect(encoded.length).toBe(120);
    expect(bytesToHex(keccak256(encoded))).toBe("0x2046d162fa23a6ad60d0d0ddb56564c6048dd5bb5857dfdf31661fe8e0b170c2");
    expect(depositCalldata(encoded)).toEqual(new Uint8Array(55));
  });

  it("has a receiver unless isCreation is set, to any value", () => {
    expect(depositFromLog(log({ data: abi(opaque(0)) }), ZERO, 0).to).toEqual(new Uint8Array(20).fill(0x22));
    expect(depositFromLog(log({ data: abi(opaque(7)) }), ZERO, 0).to).toBeUndefined();
  });

  it("does not look at padding, of data or of addresses", () => {
    const data = abi(opaque(0, new Uint8Array(50)));
    data[data.length - 1] = 1;
    const [topic0, from, to] = log().topics.map((topic) => topic.slice());
    from![0] = 9;
    to![11] = 9;
    const deposit = depositFromLog(log({ data, topics: [topic0!, from!, to!, ZERO] }), ZERO, 0);
    expect(bytesToHex(deposit.from)).toBe(`0x${"11".repeat(20)}`);
    expect(deposit.data.length).toBe(50);
  });

  const withWord = (index: number, value: Uint8Array) => {
    const data = abi(opaque(1));
    data.set(value, 32 * index);
    return data;
  };
  const topics = log().topics;
  it.each<[string, Partial<Log>, string]>([
    ["three topics", { topics: topics.slice(0, 3) }, "deposit/wrong-topic-count"],
    ["five topics", { topics: [...topics, ZERO] }, "deposit/wrong-topic-count"],
    ["another topic 0", { topics: [ONES, ...topics.slice(1)] }, "deposit/wrong-topic"],
    ["63 bytes of data", { data: new Uint8Array(63) }, "deposit/wrong-data-length"],
    ["data that is no multiple of 32", { data: concatBytes(abi(opaque(1)), Uint8Array.of(0)) }, "deposit/wrong-data-length"],
    ["another offset", { data: withWord(0, word(64)) }, "deposit/wrong-offset"],
    [
      "an offset beyond 64 bits",
      { data: withWord(0, concatBytes(Uint8Array.of(1), new Uint8Array(30), Uint8Array.of(32))) },
      "deposit/wrong-offset",
    ],
    ["a length beyond the end", { data: withWord(1, word(129)) }, "deposit/wrong-opaque-length"],
    ["32 bytes of padding", { data: abi(opaque(1), 32) }, "deposit/wrong-opaque-length"],
    ["72 bytes of opaque data", { data: abi(opaque(1).subarray(0, 72)) }, "deposit/opaque-data-too-short"],
    ["version 1", { topics: [...topics.slice(0, 3), word(1)] }, "deposit/unknown-version"],
  ])("refuses %s", (_, over, code) => {
    expect(() => depositFromLog(log(over), ZERO, 0)).toThrow(expect.objectContaining({ code }));
  });
});

describe("deposits of a block", () => {
  const receipt = (status: 0 | 1, ...logs: Log[]): Receipt => ({
    type: 2,
    status,
    cumulativeGasUsed: 0n,
    bloom: new Uint8Array(256),
    logs,
  });

  it("count all logs, skip other contracts, other events and failed transactions", () => {
    const foreign = log({ address: ONES.subarray(0, 20) });
    const otherEvent = log({ topics: [ONES] });
    const anonymous = log({ topics: [] });
    const { deposits, skipped } = depositsFromReceipts(
      [receipt(1, foreign, log()), receipt(0, log()), receipt(1, otherEvent, anonymous), receipt(1, log({ data: abi(opaque(0)) }))],
      portal,
      ONES,
    );
    expect(deposits.map(({ sourceHash }) => bytesToHex(sourceHash))).toEqual(
      [1, 5].map((index) => bytesToHex(userDepositSourceHash(ONES, index))),
    );
    expect(deposits.map(({ to }) => to === undefined)).toEqual([true, false]);
    expect(skipped).toEqual([]);
  });

  const valid = log({ data: abi(opaque(0)) });

  it("skip a log that the contract cannot emit, and keep its neighbours", () => {
    const indexOf = (index: number) => bytesToHex(userDepositSourceHash(ONES, index));
    const bad = badDeposits(portal);
    for (const malformed of bad) {
      const { deposits, skipped } = depositsFromReceipts([receipt(1, valid, malformed), receipt(1, valid)], portal, ONES);
      expect({ malformed, found: deposits.map(({ sourceHash }) => bytesToHex(sourceHash)) }).toEqual({
        malformed,
        found: [indexOf(0), indexOf(2)],
      });
      expect(skipped).toEqual([{ logIndex: 1, reason: expect.stringMatching(/^deposit\//) }]);
    }
    expect(bad.length).toBeGreaterThan(1000);
  });

  it("keep every value that fits into its field", () => {
    const values = { mint: 2n ** 256n - 1n, value: 2n ** 256n - 1n, gasLimit: 2n ** 64n - 1n };
    const all = concatBytes(new Uint8Array(72).fill(0xff), Uint8Array.of(0xff), Uint8Array.of(7));
    const { deposits } = depositsFromReceipts([receipt(1, log({ data: abi(all) }))], portal, ONES);
    expect(deposits).toMatchObject([{ ...values, to: undefined, data: Uint8Array.of(7) }]);
  });
});

it("aliases the address of a contract", () => {
  expect(bytesToHex(aliasAddress(new Uint8Array(20).fill(0xff)))).toBe("0x1111000000000000000000000000000000001110");
  const aa = concatBytes(new Uint8Array(19), Uint8Array.of(0xaa));
  expect(bytesToHex(aliasAddress(aa))).toBe("0x11110000000000000000000000000000000011bb");
});
