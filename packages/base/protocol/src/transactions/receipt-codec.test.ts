import { bytesToHex, encodeRlp, equalBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { Receipt } from "./receipt.ts";
import {
  BlockBloom,
  bloomMayContain,
  decodeReceipt,
  encodeReceipt,
  encodeReceipts,
  logsBloom,
  mergeBlooms,
} from "./receipt-codec.ts";

const plain: Receipt = { type: 0x7e, status: 1, cumulativeGasUsed: 46_913n, bloom: new Uint8Array(256), logs: [] };
const withNonce: Receipt = { ...plain, depositNonce: 7n };
const withVersion: Receipt = { ...withNonce, depositReceiptVersion: 1n };

describe("encodeReceipt", () => {
  it.each<[string, Receipt, "root" | "network", number, string]>([
    ["Bedrock", plain, "root", 268, "0xfde898a01ed678ebf05a9d009821e9d57196ff9609380a3edc093ea597d25c83"],
    ["Regolith in the root", withNonce, "root", 268, "0xfde898a01ed678ebf05a9d009821e9d57196ff9609380a3edc093ea597d25c83"],
    ["Regolith elsewhere", withNonce, "network", 269, "0x428989122cf8cfe4af79763cd227343ffad1ffff36d7ee2395ad0ba432d10e3c"],
    ["Canyon", withVersion, "root", 270, "0xf4f6b62cadb6f5e9cb200a1d8a2c15578e5925583033210d6d14937129d9f293"],
  ])("encodes a deposit's receipt of %s", (_, receipt, form, length, hash) => {
    const encoded = encodeReceipt(receipt, form);
    expect(encoded).toHaveLength(length);
    expect(bytesToHex(keccak256(encoded))).toBe(hash);
    expect(decodeReceipt(encodeReceipt(receipt, "network"))).toEqual(receipt);
  });

  const log = { address: new Uint8Array(20).fill(1), topics: [new Uint8Array(32).fill(2)], data: Uint8Array.of(1, 2, 3) };
  it.each<[string, Receipt]>([
    ["before Byzantium", { ...plain, type: 0, status: undefined, stateRoot: new Uint8Array(32).fill(9) }],
    ["a failed legacy transaction", { ...plain, type: 0, status: 0 }],
    ["logs", { ...plain, type: 2, logs: [log, { ...log, topics: [] }], bloom: logsBloom([log]) }],
  ])("round-trips %s", (_, receipt) => {
    expect(decodeReceipt(encodeReceipt(receipt))).toEqual(receipt);
  });

  const fields = [Uint8Array.of(1), Uint8Array.of(1), new Uint8Array(256), []];
  it.each<[string, Uint8Array, string]>([
    ["nothing", new Uint8Array(0), "receipt/empty"],
    ["an unknown type", Uint8Array.of(5, ...encodeRlp(fields)), "receipt/unknown-type"],
    ["status 2", encodeRlp([Uint8Array.of(2), ...fields.slice(1)]), "receipt/malformed"],
    ["status 00", encodeRlp([Uint8Array.of(0), ...fields.slice(1)]), "receipt/malformed"],
    [
      "a state root in a typed receipt",
      Uint8Array.of(1, ...encodeRlp([new Uint8Array(32), ...fields.slice(1)])),
      "receipt/malformed",
    ],
    ["a deposit's fields elsewhere", encodeRlp([...fields, Uint8Array.of(1)]), "receipt/malformed"],
    ["a bloom of 255 bytes", encodeRlp([fields[0]!, fields[1]!, new Uint8Array(255), []]), "receipt/malformed"],
  ])("refuses %s", (_, encoded, code) => {
    expect(() => decodeReceipt(encoded)).toThrow(expect.objectContaining({ code }));
  });
});

describe("encodeReceipts", () => {
  it("gives what the receipts give one by one", () => {
    const log = { address: new Uint8Array(20).fill(1), topics: [new Uint8Array(32).fill(2)], data: new Uint8Array(20_000).fill(3) };
    const receipts: Receipt[] = [withVersion, { ...plain, type: 0 }, { ...plain, type: 2, logs: [log, log] }, withNonce];
    for (const count of [0, 1, 4]) {
      const some = receipts.slice(0, count);
      expect(encodeReceipts(some)).toEqual(some.map((receipt) => encodeReceipt(receipt)));
    }
  });
});

describe("blooms", () => {
  const address = hexToBytes("0x22341ae42d6dd7384bc8584e50419ea3ac75b83f");
  const topic = hexToBytes("0x04491edcd115127caedbd478e2e7895ed80c7847e903431f94f9cfa579cad47f");

  it("sets the bits of the Yellow Paper's function", () => {
    const bloom = logsBloom([{ address, topics: [topic], data: new Uint8Array(0) }]);
    const positions = (value: Uint8Array): number[] => {
      const hash = keccak256(value);
      return [0, 2, 4].map((at) => (hash[at]! * 256 + hash[at + 1]!) % 2048);
    };
    const expected = new Set([...positions(address), ...positions(topic)]);
    const bits = BigInt(bytesToHex(bloom));
    for (let bit = 0; bit < 2048; bit++) expect((bits >> BigInt(bit)) & 1n, `bit ${bit}`).toBe(expected.has(bit) ? 1n : 0n);
  });

  it("of a block are those of its receipts and their union, however many values there are", () => {
    const block = new BlockBloom();
    const union = new Uint8Array(256);
    for (let receipt = 0; receipt < 3000; receipt++) {
      // more values than the table has entries, each three times, some of other sizes
      const value = (index: number): Uint8Array => keccak256(Uint8Array.of(index >> 8, index));
      const logs = [0, 1].map((log) => ({
        address: value((2 * receipt) % 5000).subarray(12),
        topics: receipt % 7 === 0 ? [] : [value((3 * receipt + log) % 5000), value(receipt % 20)],
        data: new Uint8Array(0),
      }));
      const expected = new Uint8Array(256);
      for (const bytes of logs.flatMap(({ address: first, topics }) => [first, ...topics])) {
        const hash = keccak256(bytes);
        for (const at of [0, 2, 4]) {
          const bit = (hash[at]! * 256 + hash[at + 1]!) % 2048;
          for (const bloom of [expected, union]) bloom[255 - (bit >> 3)]! |= 1 << (bit & 7);
        }
      }
      if (!equalBytes(block.add(logs), expected)) throw new Error(`receipt ${receipt}`);
    }
    expect(block.add([])).toEqual(new Uint8Array(256));
    expect(block.union()).toEqual(union);
  });

  it("merges", () => {
    const first = logsBloom([{ address, topics: [], data: new Uint8Array(0) }]);
    const second = logsBloom([{ address: new Uint8Array(20), topics: [topic], data: new Uint8Array(0) }]);
    const merged = mergeBlooms([first, second]);
    expect(bloomMayContain(merged, address) && bloomMayContain(merged, topic)).toBe(true);
    expect(bloomMayContain(first, topic)).toBe(false);
  });
});
