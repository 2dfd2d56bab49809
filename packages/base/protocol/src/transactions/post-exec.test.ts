import { bytesToHex, concatBytes, encodeRlp, hexToBytes, keccak256, type RlpItem, rlpUint } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { transactionFromRpc } from "../blocks/rpc-json.ts";
import { rollupRules } from "../forks/rules.ts";
import { daFootprint } from "../rules/fees.ts";
import { isTransactionTypeAllowed } from "../rules/transaction-check.ts";
import { gasRefundsOf, postExecTransaction, readPostExecPayload } from "./post-exec.ts";
import { decodeReceipt, encodeReceipt } from "./receipt-codec.ts";
import {
  decodeTransaction,
  effectiveGasPrice,
  encodeTransaction,
  hashTransaction,
  recoverEncodedSender,
  recoverEncodedSenders,
  recoverSender,
  transactionChainId,
} from "./transaction-codec.ts";

// docs/protocol/01-execution.md#sequencer-defined-metering
const VECTOR = hexToBytes("0x7dc6012ac3c20307");
const VECTOR_HASH = "0xcbc64a9665039744307b562634bf760d96f3bed235fecd9e09a1f1276a1823c7";
const vector = postExecTransaction({ blockNumber: 42n, refunds: [{ index: 3n, gas: 7n }] });
const ZERO = new Uint8Array(20);

describe("a post-exec transaction", () => {
  it("is the published vector", () => {
    expect(encodeTransaction(vector)).toEqual(VECTOR);
    expect(bytesToHex(hashTransaction(vector))).toBe(VECTOR_HASH);
    const decoded = decodeTransaction(VECTOR);
    expect(decoded).toEqual({ type: 0x7d, gasLimit: 0n, to: undefined, value: 0n, data: VECTOR.subarray(1) });
    expect(bytesToHex(hashTransaction(decoded))).toBe(VECTOR_HASH);
    const { blockNumber, refunds } = readPostExecPayload(vector.data);
    expect([blockNumber, ...refunds]).toEqual([42n, { index: 3n, gas: 7n }]);
    expect(gasRefundsOf(vector)).toEqual(new Map([[3, 7n]]));
    expect(gasRefundsOf(undefined)).toBeUndefined();
  });

  it("has the zero address as its sender, and neither a chain nor a price", () => {
    expect(recoverSender(vector)).toEqual(ZERO);
    expect(recoverEncodedSender(VECTOR)).toEqual(ZERO);
    expect(recoverEncodedSenders([VECTOR, Uint8Array.of(0x7d), VECTOR])).toEqual([ZERO, undefined, ZERO]);
    expect(transactionChainId(vector)).toBeUndefined();
    expect(effectiveGasPrice(vector, 9n)).toBe(0n);
  });

  it("is read from JSON by its input alone", () => {
    const minimal = { hash: VECTOR_HASH, type: "0x7d", gas: "0x0", value: "0x0", input: "0xc6012ac3c20307" };
    expect(transactionFromRpc(minimal)).toEqual(vector);
    expect(transactionFromRpc({ ...minimal, from: bytesToHex(ZERO), nonce: "0x0", to: null, v: "0x0" })).toEqual(vector);
    for (const input of [undefined, null, "0x", "0xc6012ac3c203", "0xc6022ac3c20307"]) {
      expect(() => transactionFromRpc({ ...minimal, input })).toThrow(expect.objectContaining({ code: "rpc-json/bad-field" }));
    }
  });

  it("is allowed from Lagoon on, and has no DA footprint", () => {
    expect(isTransactionTypeAllowed(rollupRules("karst"), 0x7d)).toBe(false);
    expect(isTransactionTypeAllowed(rollupRules("lagoon"), 0x7d)).toBe(true);
    const params = { daFootprintGasScalar: 400n } as never;
    expect(daFootprint(rollupRules("lagoon"), params, VECTOR)).toBe(0n);
    expect(daFootprint(rollupRules("lagoon"), params, concatBytes(Uint8Array.of(2), VECTOR))).toBeGreaterThan(0n);
  });

  it("has a receipt like other typed transactions", () => {
    const receipt = { type: 0x7d, status: 1, cumulativeGasUsed: 21_000n, bloom: new Uint8Array(256), logs: [] } as const;
    const encoded = encodeReceipt(receipt);
    expect(encoded[0]).toBe(0x7d);
    expect(decodeReceipt(encoded)).toEqual(receipt);
    const items: RlpItem[] = [Uint8Array.of(1), rlpUint(21_000n), receipt.bloom, [], rlpUint(1n)];
    expect(() => decodeReceipt(concatBytes(Uint8Array.of(0x7d), encodeRlp(items)))).toThrow(
      expect.objectContaining({ code: "receipt/malformed" }),
    );
  });

  const uint64 = fc.oneof(fc.bigInt({ min: 0n, max: 300n }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));

  it("round-trips with any refunds, valid or not in a block", () => {
    const payload = fc.record({
      blockNumber: uint64,
      refunds: fc.array(fc.record({ index: uint64, gas: uint64 }), { maxLength: 70 }),
    });
    fc.assert(
      fc.property(payload, (given) => {
        const encoded = encodeTransaction(postExecTransaction(given));
        const decoded = decodeTransaction(encoded.slice());
        if (decoded.type !== 0x7d) throw new Error("another type");
        const { blockNumber, refunds } = readPostExecPayload(decoded.data);
        expect({ blockNumber, refunds: [...refunds] }).toEqual(given);
        expect(hashTransaction(decoded)).toEqual(keccak256(encoded));
      }),
    );
  });

  const payload = (version: RlpItem, number: RlpItem, entries: RlpItem, ...more: RlpItem[]): Uint8Array =>
    encodeRlp([version, number, entries, ...more]);
  const one = Uint8Array.of(1);
  const nine = new Uint8Array(9).fill(1);
  const zero = Uint8Array.of(0);
  const cut = (bytes: Uint8Array): Uint8Array => bytes.subarray(0, -1);

  it.each<[string, Uint8Array]>([
    ["no payload", new Uint8Array(0)],
    ["a string", encodeRlp(Uint8Array.of(1, 2, 3))],
    ["an empty list", encodeRlp([])],
    ["two fields", encodeRlp([one, one])],
    ["four fields", payload(one, one, [], one)],
    ["bytes after the list", concatBytes(payload(one, one, []), one)],
    ["a missing byte", cut(payload(one, one, [[one, one]]))],
    ["version 0", payload(new Uint8Array(0), one, [])],
    ["version 2", payload(Uint8Array.of(2), one, [])],
    ["version 1 with a leading zero", payload(Uint8Array.of(0, 1), one, [])],
    ["a version of two bytes", payload(Uint8Array.of(1, 1), one, [])],
    ["a list as its version", payload([one], one, [])],
    ["a block number of nine bytes", payload(one, nine, [])],
    ["a block number with a leading zero", payload(one, zero, [])],
    ["a list as its block number", payload(one, [], [])],
    ["a string instead of entries", payload(one, one, one)],
    ["an entry that is a string", payload(one, one, [one])],
    ["an entry of one field", payload(one, one, [[one]])],
    ["an entry of three fields", payload(one, one, [[one, one, one]])],
    ["an index of nine bytes", payload(one, one, [[nine, one]])],
    ["an index with a leading zero", payload(one, one, [[zero, one]])],
    ["a list as an index", payload(one, one, [[[], one]])],
    ["gas of nine bytes", payload(one, one, [[one, nine]])],
    ["gas with a leading zero", payload(one, one, [[one, zero]])],
    ["a list as gas", payload(one, one, [[one, []]])],
    ["a fault in its second entry", payload(one, one, [[one, one], [one]])],
    ["a long form of a short list", hexToBytes("0xf80301 2a c0".replaceAll(" ", ""))],
    ["a prefixed small integer", hexToBytes("0xc481012ac0")],
    ["an inner list that is longer than the outer", hexToBytes("0xc3012ac101")],
  ])("cannot be decoded with %s", (_, data) => {
    const encoded = concatBytes(Uint8Array.of(0x7d), data);
    expect(() => decodeTransaction(encoded)).toThrow(expect.objectContaining({ code: "tx/malformed" }));
  });

  it("decodes only what it would encode", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), fc.nat(), (noise, at) => {
        const data = concatBytes(VECTOR.subarray(1, 1 + (at % 8)), noise);
        let decoded: ReturnType<typeof decodeTransaction>;
        try {
          decoded = decodeTransaction(concatBytes(Uint8Array.of(0x7d), data));
        } catch (error) {
          expect(error).toMatchObject({ code: "tx/malformed" });
          return;
        }
        if (decoded.type !== 0x7d) throw new Error("another type");
        const { blockNumber, refunds } = readPostExecPayload(decoded.data);
        expect(postExecTransaction({ blockNumber, refunds: [...refunds] }).data).toEqual(data);
      }),
      { numRuns: 500 },
    );
  });

  it("of ten megabytes is decoded without keeping its entries", () => {
    const entry = encodeRlp([rlpUint(5n), rlpUint(2n ** 60n)]);
    const entries = new Uint8Array(entry.length * 900_000);
    for (let at = 0; at < entries.length; at += entry.length) entries.set(entry, at);
    const header = (length: number): Uint8Array => concatBytes(Uint8Array.of(0xfa), rlpUint(BigInt(length)));
    const body = concatBytes(Uint8Array.of(1, 0x2a), header(entries.length), entries);
    const decoded = decodeTransaction(concatBytes(Uint8Array.of(0x7d), header(body.length), body));
    if (decoded.type !== 0x7d) throw new Error("another type");
    const [first] = readPostExecPayload(decoded.data).refunds;
    expect(first).toEqual({ index: 5n, gas: 2n ** 60n });
  });
});
