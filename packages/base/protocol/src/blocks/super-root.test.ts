import { bytesToBigint, bytesToHex, concatBytes, hexToBytes } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import { createSuperRoot, decodeSuperRoot, encodeSuperRoot, superRootHash, superRootOfSet } from "./super-root.ts";

const chain = (chainId: bigint, byte = 0) => ({ chainId, outputRoot: new Uint8Array(32).fill(byte) });
const hashOf = (...args: Parameters<typeof createSuperRoot>) => bytesToHex(superRootHash(createSuperRoot(...args)));
const block = (number: number) => ({ hash: bytesToHex(new Uint8Array(32).fill(number)), number });

describe("super roots", () => {
  // docs/protocol/06-testing.md#header-payload-id-and-root-vectors
  it("commit to the chains in the order of their ids", () => {
    const expected = "0x0980033cbf4337f614a2401ab7efbfdc66ab647812f1c98d891d92ddfb376541";
    expect(hashOf(10, [chain(1n), chain(2n)])).toBe(expected);
    expect(hashOf(10, [chain(2n), chain(1n)])).toBe(expected);
  });

  it("are marshalled as version, time, chain id and output root", () => {
    const superRoot = createSuperRoot(0x0102030405, [chain(420n, 0xaa)]);
    expect(bytesToHex(encodeSuperRoot(superRoot))).toBe(`0x01${"0000000102030405"}${"01a4".padStart(64, "0")}${"aa".repeat(32)}`);
    expect(bytesToHex(superRootHash(superRoot))).toBe("0xfe2faa6c230480bc2ba250d9fda000ea3e0fc1876f5ce1734ec52fc9b1a697d9");
    expect(decodeSuperRoot(encodeSuperRoot(superRoot))).toEqual(superRoot);
  });

  it("survive a round trip", () => {
    const random = createRandom(7);
    for (let round = 0; round < 200; round++) {
      const bytes = (length: number) => Uint8Array.from({ length }, () => random(256));
      const ids = new Set(Array.from({ length: random(5) + 1 }, () => bytesToBigint(bytes(random(32) + 1))));
      const outputs = [...ids].map((chainId) => ({ chainId, outputRoot: bytes(32) }));
      const superRoot = createSuperRoot(random(2 ** 31), outputs);
      expect(decodeSuperRoot(encodeSuperRoot(superRoot))).toEqual(superRoot);
    }
  });

  const one = encodeSuperRoot(createSuperRoot(7, [chain(1n)]));
  const two = encodeSuperRoot(createSuperRoot(7, [chain(1n), chain(2n)]));
  it.each<[string, Uint8Array, string]>([
    ["nothing", new Uint8Array(), "expected version 1"],
    ["another version", concatBytes(Uint8Array.of(2), one.subarray(1)), "expected version 1"],
    ["version 0", concatBytes(Uint8Array.of(0), one.subarray(1)), "expected version 1"],
    ["no chain", one.subarray(0, 9), "expected 9 bytes and 64"],
    ["a byte too few", one.subarray(0, -1), "expected 9 bytes and 64"],
    ["a byte too many", concatBytes(one, Uint8Array.of(0)), "expected 9 bytes and 64"],
    ["half a second chain", two.subarray(0, 9 + 96), "expected 9 bytes and 64"],
    ["a chain twice", concatBytes(one, one.subarray(9)), "each once"],
    ["chains in another order", concatBytes(one.subarray(0, 9), two.subarray(73), two.subarray(9, 73)), "each once"],
    ["a time that no clock reaches", concatBytes(one.subarray(0, 1), hexToBytes("ff".repeat(8)), one.subarray(9)), "above 2^53"],
  ])("are refused with %s", (_, bytes, reason) => {
    expect(() => decodeSuperRoot(bytes)).toThrow(reason);
  });

  it("are not made of no chain or of the same chain twice", () => {
    expect(() => createSuperRoot(7, [])).toThrow("each once, got none");
    expect(() => createSuperRoot(7, [chain(5n), chain(5n)])).toThrow("each once, got 5, 5");
  });
});

describe("superRootOfSet", () => {
  const outputs = [
    { ...chain(902n, 2), requiredL1: block(7) },
    { ...chain(901n, 1), requiredL1: block(9) },
  ];

  it("composes the outputs of all chains of the set, and needs the latest of their L1 blocks", () => {
    const composed = superRootOfSet(50, [901n, 902n], outputs)!;
    expect(composed.requiredL1).toEqual(block(9));
    expect(bytesToHex(superRootHash(composed.superRoot))).toBe(hashOf(50, [chain(901n, 1), chain(902n, 2)]));
    expect(superRootOfSet(50, [902n], outputs)).toMatchObject({ requiredL1: block(7), superRoot: { chains: [{ chainId: 902n }] } });
  });

  it("is undefined if a chain of the set has no output", () => {
    expect(superRootOfSet(50, [901n, 902n, 903n], outputs)).toBeUndefined();
    expect(superRootOfSet(50, [], outputs)).toBeUndefined();
  });
});
