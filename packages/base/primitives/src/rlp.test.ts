import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesToHex, concatBytes, hexToBytes } from "./bytes.ts";
import {
  decodeRlp,
  decodeRlpPrefix,
  encodeRlp,
  encodeRlpListOfEncoded,
  expectRlpList,
  expectRlpNumber,
  expectRlpString,
  expectRlpUint,
  type RlpItem,
  RlpWriter,
  rlpUint,
} from "./rlp.ts";

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("encodeRlp", () => {
  it.each<[string, RlpItem, string]>([
    ["an empty string", ascii(""), "80"],
    ["a zero byte", hexToBytes("00"), "00"],
    ["the largest single byte", hexToBytes("7f"), "7f"],
    ["the smallest prefixed byte", hexToBytes("80"), "8180"],
    ["dog", ascii("dog"), "83646f67"],
    ["55 bytes", new Uint8Array(55), `b7${"00".repeat(55)}`],
    ["56 bytes", new Uint8Array(56), `b838${"00".repeat(56)}`],
    ["1024 bytes", new Uint8Array(1024), `b90400${"00".repeat(1024)}`],
    ["an empty list", [], "c0"],
    ["cat and dog", [ascii("cat"), ascii("dog")], "c88363617483646f67"],
    ["the set-theoretical three", [[], [[]], [[], [[]]]], "c7c0c1c0c3c0c1c0"],
    ["a list of 56 bytes", Array.from({ length: 56 }, () => hexToBytes("01")), `f838${"01".repeat(56)}`],
  ])("encodes %s, and decodes it back", (_, item, hex) => {
    expect(bytesToHex(encodeRlp(item))).toBe(`0x${hex}`);
    expect(decodeRlp(hexToBytes(hex))).toEqual(item);
  });

  it("round-trips whatever it encodes", () => {
    const bytes = fc.uint8Array({ maxLength: 80 });
    const { item } = fc.letrec<{ item: RlpItem }>((tie) => ({
      item: fc.oneof({ maxDepth: 5 }, bytes, fc.array(tie("item"), { maxLength: 6 })),
    }));
    fc.assert(
      fc.property(item, (value) => {
        expect(decodeRlp(encodeRlp(value))).toEqual(value);
      }),
    );
  });

  it("wraps encoded items", () => {
    const items = [new Uint8Array(60), ascii("dog")];
    expect(encodeRlpListOfEncoded(items.map(encodeRlp))).toEqual(encodeRlp(items));
  });
});

describe("RlpWriter", () => {
  it("writes integers of any size as strings of their bytes", () => {
    const integer = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.bigInt({ min: 0n, max: 2n ** 49n }), fc.nat(300));
    fc.assert(
      fc.property(integer, (value) => {
        const writer = new RlpWriter();
        writer.uint(value);
        expect(writer.take()).toEqual(encodeRlp(rlpUint(value)));
      }),
    );
  });

  it("writes fields last to first, larger than its buffer, and begins anew", () => {
    const large = new Uint8Array(70_000).fill(7);
    const writer = new RlpWriter();
    writer.byte(1);
    writer.start();
    for (let round = 0; round < 2; round++) {
      writer.string(large);
      const end = writer.size;
      writer.uint(5);
      writer.raw(encodeRlp(large));
      writer.list(end);
      writer.list(0);
      writer.byte(2);
      expect(writer.take()).toEqual(concatBytes(Uint8Array.of(2), encodeRlp([[large, Uint8Array.of(5)], large])));
    }
  });
});

describe("decodeRlp refuses", () => {
  it.each<[string, string, string]>([
    ["nothing", "", "rlp/truncated"],
    ["a cut string", "83646f", "rlp/truncated"],
    ["a cut list", "c883636174", "rlp/truncated"],
    ["a cut length", "b9", "rlp/truncated"],
    ["an item that leaves its list", "c283646f67", "rlp/truncated"],
    ["trailing bytes", "8000", "rlp/trailing-bytes"],
    ["trailing bytes after a list", "c000", "rlp/trailing-bytes"],
    ["a prefixed small byte", "8100", "rlp/non-canonical-byte"],
    ["a prefixed 7f", "817f", "rlp/non-canonical-byte"],
    ["a long form of a short string", `b837${"00".repeat(55)}`, "rlp/non-canonical-length"],
    ["a long form of a short list", `f837${"00".repeat(55)}`, "rlp/non-canonical-length"],
    ["a length with a leading zero", `b90038${"00".repeat(56)}`, "rlp/non-canonical-length"],
    ["a list length with a leading zero", `f90038${"00".repeat(56)}`, "rlp/non-canonical-length"],
    ["a length of eight bytes", `bf${"ff".repeat(8)}00`, "rlp/length-too-large"],
    ["a length beyond the input", `bb${"ff".repeat(4)}00`, "rlp/truncated"],
    ["a bad byte deep inside", "c3c28100", "rlp/non-canonical-byte"],
  ])("%s", (_, hex, code) => {
    expect(() => decodeRlp(hexToBytes(hex))).toThrow(expect.objectContaining({ code }));
  });

  it("nesting that would exhaust the stack", () => {
    let nested: Uint8Array = hexToBytes("c0");
    for (let i = 0; i < 100; i++) nested = encodeRlpListOfEncoded([nested]);
    expect(() => decodeRlp(nested)).toThrow(expect.objectContaining({ code: "rlp/too-deep" }));
  });

  it("any second encoding of the same value", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 70 }), (input) => {
        let item: RlpItem;
        try {
          item = decodeRlp(input);
        } catch {
          return;
        }
        expect(encodeRlp(item)).toEqual(input);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("decodeRlpPrefix", () => {
  it("says where the item ends", () => {
    const stream = concatBytes(encodeRlp(ascii("dog")), encodeRlp([]));
    expect(decodeRlpPrefix(stream, 0)).toEqual({ item: ascii("dog"), end: 4 });
    expect(decodeRlpPrefix(stream, 4)).toEqual({ item: [], end: 5 });
    expect(() => decodeRlpPrefix(stream, 5)).toThrow(expect.objectContaining({ code: "rlp/truncated" }));
  });
});

describe("typed items", () => {
  it("are what they say", () => {
    expect(rlpUint(0n)).toHaveLength(0);
    expect(expectRlpUint(rlpUint(2n ** 64n - 1n), 8)).toBe(2n ** 64n - 1n);
    expect(expectRlpUint(rlpUint(2n ** 53n), 8)).toBe(2n ** 53n);
    expect(expectRlpNumber(rlpUint(Number.MAX_SAFE_INTEGER))).toBe(Number.MAX_SAFE_INTEGER);
    expect(expectRlpList([ascii("a")], 1, 1)).toHaveLength(1);
  });

  it.each<[string, () => unknown, string]>([
    ["an integer with a leading zero", () => expectRlpUint(hexToBytes("0001"), 8), "rlp/non-canonical-integer"],
    ["zero as a byte", () => expectRlpUint(hexToBytes("00"), 8), "rlp/non-canonical-integer"],
    ["an integer of nine bytes", () => expectRlpUint(new Uint8Array(9).fill(1), 8), "rlp/integer-too-large"],
    ["a number beyond 2^53", () => expectRlpNumber(rlpUint(2n ** 53n)), "rlp/integer-too-large"],
    ["a list for an integer", () => expectRlpUint([], 8), "rlp/expected-string"],
    ["a list for a string", () => expectRlpString([]), "rlp/expected-string"],
    ["a string for a list", () => expectRlpList(ascii("")), "rlp/expected-list"],
    ["nothing for a list", () => expectRlpList(undefined), "rlp/expected-list"],
    ["too few items", () => expectRlpList([], 1), "rlp/wrong-item-count"],
    ["too many items", () => expectRlpList([[], []], 1, 1), "rlp/wrong-item-count"],
    ["a string of another length", () => expectRlpString(ascii("ab"), 3), "rlp/wrong-string-length"],
  ])("refuse %s", (_, read, code) => {
    expect(read).toThrow(expect.objectContaining({ code }));
  });
});
