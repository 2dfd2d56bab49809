import { hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { parseGenesis } from "./genesis.ts";

const file = {
  config: null,
  nonce: "0x42",
  timestamp: "0x64d6dbac",
  extraData: "0x424544524f434b",
  gasLimit: "0x1c9c380",
  difficulty: "0x0",
  mixHash: `0x${"00".repeat(32)}`,
  coinbase: "0x4200000000000000000000000000000000000011",
  number: "0x0",
  baseFeePerGas: "0x3b9aca00",
  excessBlobGas: null,
  alloc: {
    "4200000000000000000000000000000000000000": { code: "0x6001", storage: { "0x1": "0x2", [`0x${"ff".repeat(32)}`]: "00" } },
    "0x4200000000000000000000000000000000000001": { balance: "1000000000000000000", nonce: "0x2" },
  },
};

describe("parseGenesis", () => {
  it("reads a named network's file", () => {
    const { config, header, alloc } = parseGenesis(file);
    expect(config).toBeUndefined();
    expect(header).toMatchObject({
      number: 0,
      nonce: hexToBytes("0000000000000042"),
      timestamp: 0x64d6dbac,
      extraData: hexToBytes("424544524f434b"),
      gasLimit: 30_000_000n,
      baseFeePerGas: 1_000_000_000n,
      excessBlobGas: undefined,
    });
    expect(alloc).toHaveLength(2);
    expect(alloc[0]).toMatchObject({ balance: 0n, nonce: 0n, code: Uint8Array.of(0x60, 0x01) });
    const word = (last: number): Uint8Array => new Uint8Array(32).fill(last, 31);
    expect(alloc[0]?.storage).toEqual([
      { slot: word(1), value: word(2) },
      { slot: new Uint8Array(32).fill(0xff), value: word(0) },
    ]);
    expect(alloc[1]).toMatchObject({ balance: 10n ** 18n, nonce: 2n, code: new Uint8Array(0), storage: [] });
  });

  it.each<[string, unknown, string]>([
    ["no object", "genesis", "genesis: expected "],
    ["no gas limit", { ...file, gasLimit: undefined }, "gasLimit: expected "],
    ["no alloc", { ...file, alloc: undefined }, "alloc: expected "],
    ["an account twice", { ...file, alloc: { [`0x${"ab".repeat(20)}`]: {}, ["AB".repeat(20)]: {} } }, "duplicate account"],
    ["a short address", { ...file, alloc: { "0x42": {} } }, "alloc.0x42: expected "],
    [
      "a slot that is too long",
      { ...file, alloc: { [`0x${"ab".repeat(20)}`]: { storage: { [`0x${"1".repeat(65)}`]: "0x1" } } } },
      "32 bytes",
    ],
    ["a bad configuration", { ...file, config: {} }, "config.chainId: expected "],
    ["a balance in words", { ...file, alloc: { [`0x${"ab".repeat(20)}`]: { balance: "one" } } }, 'got "one"'],
  ])("refuses %s", (_, json, message) => {
    expect(() => parseGenesis(json)).toThrow(message);
  });
});
