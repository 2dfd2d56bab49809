import { bytesToHex, keccak256 } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BLOB_BYTES, decodeBlob, encodeBlob, MAX_BLOB_DATA_BYTES } from "./blob.ts";

const counting = Uint8Array.from({ length: 130 }, (_, i) => i + 1);
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => (from + i).toString(16).padStart(2, "0")).join("");

describe("blob", () => {
  // docs/protocol/06-testing.md#batch-vectors
  it("is the published blob", () => {
    const blob = encodeBlob(counting);
    const element = (i: number) => bytesToHex(blob.subarray(32 * i, 32 * i + 32)).slice(2);
    expect(element(0)).toBe(`1c00000082${range(1, 0x1b)}`);
    expect(element(1)).toBe(`0c${range(0x1d, 0x3b)}`);
    expect(element(2)).toBe(`1c${range(0x3d, 0x5b)}`);
    expect(element(3)).toBe(`13${range(0x5d, 0x7b)}`);
    expect(element(4)).toBe("007c7d7e7f808182".padEnd(64, "0"));
    expect(bytesToHex(keccak256(blob))).toBe("0xa63c814fd302b2fdb04d739fd9b3104aeefddcfeb7046467a1a34f003e87a537");
    expect(decodeBlob(blob)).toEqual(counting);
  });

  it("is full at 130,044 bytes", () => {
    const data = new Uint8Array(MAX_BLOB_DATA_BYTES).fill(0xff);
    const blob = encodeBlob(data);
    expect(bytesToHex(blob.subarray(0, 6))).toBe("0x3f0001fbfcff");
    for (let at = 0; at < BLOB_BYTES; at += 32) expect(blob[at]).toBe(0x3f);
    expect(decodeBlob(blob)).toEqual(data);
    expect(() => encodeBlob(new Uint8Array(MAX_BLOB_DATA_BYTES + 1))).toThrow(
      expect.objectContaining({ code: "blob/data-too-long" }),
    );
  });

  it("is all zeros without data", () => {
    expect(encodeBlob(new Uint8Array()).every((byte) => byte === 0)).toBe(true);
    expect(decodeBlob(new Uint8Array(BLOB_BYTES)).length).toBe(0);
  });

  it("round-trips any length", () => {
    const data = fc
      .tuple(fc.integer({ min: 0, max: MAX_BLOB_DATA_BYTES }), fc.uint8Array({ minLength: 1, maxLength: 300 }))
      .map(([length, seed]) => Uint8Array.from({ length }, (_, i) => seed[i % seed.length]! ^ (i >> 8)));
    fc.assert(
      fc.property(data, (bytes) => {
        expect(Buffer.compare(decodeBlob(encodeBlob(bytes)), bytes)).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  const patched = (patch: Record<number, number>) => {
    const blob = encodeBlob(counting);
    for (const [at, byte] of Object.entries(patch)) blob[Number(at)] = byte;
    return blob;
  };
  it.each<[string, Uint8Array, string]>([
    ["131,071 bytes", new Uint8Array(BLOB_BYTES - 1), "blob/wrong-size"],
    ["version 1", patched({ 1: 1 }), "blob/unknown-version"],
    ["length 130,045", patched({ 2: 0x01, 3: 0xfb, 4: 0xfd }), "blob/length-too-large"],
    ["element 1 too large", patched({ 32: 0x4c }), "blob/field-element-too-large"],
    ["element 6 too large", patched({ 192: 0x80 }), "blob/field-element-too-large"],
    ["a byte after the length in the same round", patched({ [4 * 32 + 8]: 1 }), "blob/data-after-end"],
    ["unused high bits in the same round", patched({ 192: 0x01 }), "blob/data-after-end"],
    ["a byte in a later round", patched({ 131071: 1 }), "blob/data-after-end"],
    ["high bits in a later round", patched({ 4096: 0x01 }), "blob/data-after-end"],
    ["no length and a byte", patched({ 4: 0 }), "blob/data-after-end"],
  ])("refuses %s", (_, blob, code) => {
    expect(() => decodeBlob(blob)).toThrow(expect.objectContaining({ code }));
  });

  it("ignores the top bits of element 0, as the implementations do", () => {
    expect(decodeBlob(patched({ 0: 0x1c | 0xc0 }))).toEqual(counting);
  });
});
