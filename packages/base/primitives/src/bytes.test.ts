import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  asciiToBytes,
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  compareBytes,
  concatBytes,
  equalBytes,
  hexToBytes,
  hexToFixedBytes,
  isHexOf,
  isZeroBytes,
  padBytesLeft,
  trimBytesLeft,
  uint64ToBytes,
} from "./bytes.ts";
import { CodedError, isCodedError, isSystemError } from "./errors.ts";
import { parseQuantity, parseQuantityNumber, toQuantity } from "./quantity.ts";

describe("hex", () => {
  it("round-trips", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(hexToBytes(bytesToHex(bytes))).toEqual(bytes);
      }),
    );
  });

  it("knows bytes by their digits, and nothing else", () => {
    const bytes = Uint8Array.of(0xab, 0x0d);
    for (const text of ["0xab0d", "0xAB0D", "ab0d"]) expect(isHexOf(text, bytes)).toBe(true);
    for (const text of ["0xab0e", "0xab", "0xab0d00", "0xab0", "0xab0g", "0xab é", "0xab0\u0164", ""]) {
      expect(isHexOf(text, bytes)).toBe(false);
    }
  });

  it("takes both cases, with and without prefix", () => {
    for (const text of ["0xAbCd", "0XABCD", "abcd"]) expect(hexToBytes(text)).toEqual(Uint8Array.of(0xab, 0xcd));
    expect(hexToBytes("0x")).toHaveLength(0);
  });

  it.each<[string, string, string]>([
    ["an odd digit", "0x123", "bytes/odd-hex"],
    ["a letter beyond f", "0x0g", "bytes/not-hex"],
    ["a character beyond ASCII", "0x0é", "bytes/not-hex"],
    ["a space", "0x 1", "bytes/not-hex"],
  ])("refuses %s", (_, text, code) => {
    expect(() => hexToBytes(text)).toThrow(expect.objectContaining({ code }));
  });

  it("checks lengths", () => {
    expect(hexToFixedBytes("0x0102", 2)).toEqual(Uint8Array.of(1, 2));
    expect(() => hexToFixedBytes("0x01", 2)).toThrow(expect.objectContaining({ code: "bytes/wrong-length" }));
  });
});

describe("integers", () => {
  it("round-trip", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (value) => {
        expect(bytesToBigint(bigintToBytes(value, 32))).toBe(value);
      }),
    );
  });

  it.each<[bigint, string]>([
    [0n, "0x"],
    [1n, "0x01"],
    [255n, "0xff"],
    [256n, "0x0100"],
    [2n ** 48n, "0x01000000000000"],
  ])("%i is minimal", (value, hex) => {
    expect(bytesToHex(bigintToBytes(value))).toBe(hex);
    expect(bytesToBigint(hexToBytes(hex))).toBe(value);
  });

  it("refuse to be cut", () => {
    expect(() => bigintToBytes(256n, 1)).toThrow(expect.objectContaining({ code: "bytes/too-long" }));
    expect(() => uint64ToBytes(2n ** 64n)).toThrow(expect.objectContaining({ code: "bytes/too-long" }));
    expect(uint64ToBytes(258)).toEqual(Uint8Array.of(0, 0, 0, 0, 0, 0, 1, 2));
  });
});

describe("byte strings", () => {
  it("join, pad, trim, compare", () => {
    expect(concatBytes(Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3))).toEqual(Uint8Array.of(1, 2, 3));
    expect(padBytesLeft(Uint8Array.of(1), 3)).toEqual(Uint8Array.of(0, 0, 1));
    expect(trimBytesLeft(Uint8Array.of(0, 0, 1, 0))).toEqual(Uint8Array.of(1, 0));
    expect(trimBytesLeft(new Uint8Array(2))).toHaveLength(0);
    expect(isZeroBytes(new Uint8Array(2))).toBe(true);
    expect(isZeroBytes(Uint8Array.of(0, 1))).toBe(false);
    expect(equalBytes(Uint8Array.of(1), Uint8Array.of(1))).toBe(true);
    expect(equalBytes(Uint8Array.of(1), Uint8Array.of(1, 0))).toBe(false);
    expect(compareBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBeLessThan(0);
    expect(compareBytes(Uint8Array.of(1, 2), Uint8Array.of(1))).toBeGreaterThan(0);
    expect(compareBytes(Uint8Array.of(1), Uint8Array.of(1))).toBe(0);
  });

  it("come from ASCII only", () => {
    expect(asciiToBytes("Az")).toEqual(Uint8Array.of(65, 122));
    expect(() => asciiToBytes("é")).toThrow(RangeError);
  });
});

describe("quantities", () => {
  it("are written without leading zeros", () => {
    expect([0, 1n, 255, 2n ** 64n].map(toQuantity)).toEqual(["0x0", "0x1", "0xff", "0x10000000000000000"]);
  });

  it.each(["", "0x", "1", "0xg", "0x-1", " 0x1", "0x1 "])("refuse %j", (text) => {
    expect(() => parseQuantity(text)).toThrow(expect.objectContaining({ code: "quantity/not-a-quantity" }));
  });

  it("refuse to become a number they do not fit", () => {
    expect(parseQuantityNumber("0x1fffffffffffff")).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => parseQuantityNumber("0x20000000000000")).toThrow(expect.objectContaining({ code: "quantity/too-large" }));
  });
});

describe("coded errors", () => {
  it("carry code and data, and are found by code or family", () => {
    const error = new CodedError("rlp/truncated", { position: 3 });
    expect(error.message).toBe("RLP: truncated (position 3)");
    expect(isCodedError(error)).toBe(true);
    expect(isCodedError(error, "rlp/")).toBe(true);
    expect(isCodedError(error, "rlp/truncated")).toBe(true);
    expect(isCodedError(error, "rlp/trunc")).toBe(false);
    expect(isCodedError(new Error("rlp/truncated"), "rlp/")).toBe(false);
  });

  it("are not those of the operating system, which are found by one of several codes", () => {
    const error = Object.assign(new Error("no such file"), { code: "ENOENT", syscall: "open" });
    expect(isSystemError(error)).toBe(true);
    expect(isSystemError(error, "ENOTDIR", "ENOENT")).toBe(true);
    expect(isSystemError(error, "EEXIST")).toBe(false);
    for (const other of [
      new CodedError("ENOENT"),
      Object.assign(new Error(), { code: "ENOENT" }),
      { code: "ENOENT", syscall: "open" },
    ])
      expect(isSystemError(other)).toBe(false);
  });
});
