import { bytesToHex, concatBytes, EMPTY_KECCAK, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { decodeAccount } from "./account.ts";
import { decodeBytecode } from "./bytecode.ts";
import { decodeCompactHeader } from "./header.ts";
import { decodeCheckpoint, decodeMetadata } from "./settings.ts";

const hash = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const hashHex = (byte: number): string => bytesToHex(hash(byte)).slice(2);

describe("Compact", () => {
  it.each([
    ["0x20003039", { nonce: 0n, balance: 12345n, codeHash: EMPTY_KECCAK }],
    ["0x0000", { nonce: 0n, balance: 0n, codeHash: EMPTY_KECCAK }],
    [`0x010401${hashHex(7)}`, { nonce: 1n, balance: 0n, codeHash: hash(7) }],
    [`0x0802${"ff".repeat(40)}`, { nonce: 2n ** 64n - 1n, balance: 2n ** 256n - 1n, codeHash: EMPTY_KECCAK }],
  ])("account %s", (hex, account) => expect(decodeAccount(hexToBytes(hex))).toEqual(account));

  it.each([
    ["no flags", "0x20"],
    ["too few bytes", "0x200030"],
    ["too many bytes", "0x2000303900"],
    ["a nonce of 9 bytes", `0x0900${"01".repeat(9)}`],
    ["a balance of 33 bytes", `0x1002${"01".repeat(33)}`],
    ["unused flags", "0x20083039"],
    ["leading zeros", "0x20000039"],
  ])("refuses an account with %s", (_what, hex) => expect(() => decodeAccount(hexToBytes(hex))).toThrow(/^an account/));

  it.each([
    ["raw", "0x0000000260fe00", "0x60fe"],
    ["analysed", "0x0000000360fe0002000000000000000200", "0x60fe"],
    ["a delegation", "0x00000003ef010004", "0xef0100"],
  ])("code: %s", (_what, row, code) => expect(bytesToHex(decodeBytecode(hexToBytes(row)))).toBe(code));

  it.each([
    ["0x000000", "ends within a field"],
    ["0xffffffff60fe00", "ends within a field"],
    ["0x0000000260fe", "ends within a field"],
    ["0x0000000260fe01", "code of the kind 1"],
    ["0x0000000260fe02000000000000000300", "code of 3 bytes has 2"],
    ["0x0000000260fe02ffffffffffffffff00", "bytes has 2"],
  ])("refuses the code %s", (row, message) => expect(() => decodeBytecode(hexToBytes(row))).toThrow(message));

  it.each([
    ["0x02017c", 380],
    ["0x12017c0e032101017c440a1b48020a1b4802", 380],
    ["0x00", 0],
  ])("checkpoint %s", (hex, number) => expect(decodeCheckpoint(hexToBytes(hex))).toBe(number));

  it.each(["0x", "0x0201", `0x08${"ff".repeat(8)}`])("refuses the checkpoint %s", (hex) =>
    expect(() => decodeCheckpoint(hexToBytes(hex))).toThrow(),
  );

  it("metadata with a length of one and of two bytes", () => {
    expect(decodeMetadata(hexToBytes("0x4c7b2273746f726167655f7632223a747275657d"))).toBe('{"storage_v2":true}');
    const text = "x".repeat(100);
    expect(decodeMetadata(concatBytes(hexToBytes("0x9101"), Buffer.from(text)))).toBe(text);
    for (const hex of ["0x", "0x0c7b7d", "0x047b7d", "0x02000000"]) expect(() => decodeMetadata(hexToBytes(hex))).toThrow();
  });

  it("a header with all fields, and one with none", () => {
    const fixed = (first: number): Uint8Array[] => [hash(first), hash(first + 1), new Uint8Array(20).fill(first + 2)];
    const roots = [hash(4), hash(5), hash(6)];
    const bloom = new Uint8Array(256).fill(8);
    // withdrawals 1, difficulty 2 bytes, number 1, gas limit 4, gas used 3, timestamp 4, nonce 8, five options
    const flags = 1 | (2 << 1) | (1 << 7) | (4 << 11) | (3 << 15) | (4 << 19) | (8 << 23) | (31 << 27);
    const flagBytes = new Uint8Array(4);
    new DataView(flagBytes.buffer).setInt32(0, flags, true);
    const extension = concatBytes(Uint8Array.of(7), hash(12), hash(13), hexToBytes("0x020100"));
    const full = concatBytes(
      flagBytes,
      ...fixed(1),
      ...roots,
      hash(7),
      bloom,
      hexToBytes("0x0100"),
      hexToBytes("0x09"),
      hexToBytes("0x01c9c380"),
      hexToBytes("0x0f4240"),
      hexToBytes("0x6b08d938"),
      hash(10),
      hexToBytes("0x0102030405060708"),
      hexToBytes("0x0203e8"),
      hexToBytes("0x03020000"),
      hexToBytes("0x00"),
      hash(11),
      Uint8Array.of(extension.length),
      extension,
      hexToBytes("0xfeed"),
    );
    expect(decodeCompactHeader(full)).toEqual({
      parentHash: hash(1),
      ommersHash: hash(2),
      beneficiary: new Uint8Array(20).fill(3),
      stateRoot: hash(4),
      transactionsRoot: hash(5),
      receiptsRoot: hash(6),
      withdrawalsRoot: hash(7),
      logsBloom: bloom,
      difficulty: 256n,
      number: 9,
      gasLimit: 30_000_000n,
      gasUsed: 1_000_000n,
      timestamp: 0x6b08d938,
      mixHash: hash(10),
      nonce: hexToBytes("0x0102030405060708"),
      baseFeePerGas: 1000n,
      blobGasUsed: 0x20000n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: hash(11),
      requestsHash: hash(12),
      blockAccessListHash: hash(13),
      slotNumber: 256n,
      extraData: hexToBytes("0xfeed"),
    });
    const bare = decodeCompactHeader(concatBytes(new Uint8Array(4), ...fixed(1), ...roots, bloom, hash(10)));
    expect(bare).toMatchObject({ number: 0, difficulty: 0n, nonce: new Uint8Array(8), extraData: new Uint8Array(0) });
    expect(Object.keys(bare)).not.toContain("baseFeePerGas");
    for (let size = 0; size < full.length - 2; size++) expect(() => decodeCompactHeader(full.subarray(0, size))).toThrow();
  });
});
