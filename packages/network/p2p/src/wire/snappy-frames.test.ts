import { bytesToHex, concatBytes, equalBytes, hexToBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32c } from "./crc32c.ts";
import { encodeSnappyFrames, type FrameLimits, SnappyFrameDecoder } from "./snappy-frames.ts";

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);
const IDENTIFIER = hexToBytes("0xff060000734e61507059");
const LIMITS: FrameLimits = { maxCompressedBytes: 1 << 20, maxBytes: 1 << 20 };

function decode(stream: Uint8Array, { cuts = [], limits = LIMITS }: { cuts?: readonly number[]; limits?: FrameLimits } = {}) {
  const decoder = new SnappyFrameDecoder(limits);
  let from = 0;
  for (const cut of [...cuts, stream.length]) {
    decoder.push(stream.subarray(from, cut));
    from = cut;
  }
  return decoder.finish();
}

const chunk = (type: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  const body = concatBytes(...parts);
  return concatBytes(Uint8Array.of(type, body.length & 0xff, (body.length >> 8) & 0xff, body.length >> 16), body);
};
/** the chunks of the data, without the identifier */
const chunksOf = (data: Uint8Array): Uint8Array => encodeSnappyFrames(data).subarray(IDENTIFIER.length);
const stream = (...chunks: readonly Uint8Array[]): Uint8Array => concatBytes(IDENTIFIER, ...chunks);
const ABCD = ascii("abcd");
/** masked, as golang/snappy writes it in front of "abcd" */
const ABCD_CHECKSUM = hexToBytes("0x6810e6b6");

describe("CRC-32C", () => {
  // RFC 3720, appendix B.4, and the check value of the polynomial
  it.each([
    [new Uint8Array(32), 0x8a9136aa],
    [new Uint8Array(32).fill(0xff), 0x62a8ab43],
    [Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
    [Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
    [ascii("123456789"), 0xe3069283],
    [new Uint8Array(0), 0],
  ])("agrees with the published vectors (%#)", (data, crc) => {
    expect(crc32c(data)).toBe(crc);
  });
});

describe("Snappy frames, as golang/snappy 1.0.0 writes them", () => {
  it.each([
    ["data that does not compress", ABCD, "0xff060000734e61507059010800006810e6b661626364"],
    ["data that does", new Uint8Array(100).fill(0x61), "0xff060000734e61507059000d00001fa8b5fd640061fe01008a0100"],
  ])("%s, both ways", (_, data, framed) => {
    expect(decode(hexToBytes(framed))).toEqual(data);
    expect(bytesToHex(encodeSnappyFrames(data))).toBe(framed);
  });

  it("data beyond 65,536 bytes goes on in a second chunk", () => {
    const framed = encodeSnappyFrames(new Uint8Array(65_537));
    // the whole of its second chunk
    expect(bytesToHex(framed.subarray(-9))).toBe("0x01050000d28f254900");
    expect(equalBytes(decode(framed), new Uint8Array(65_537))).toBe(true);
  });
});

describe("reading Snappy frames", () => {
  it("gives back what was written, wherever the pieces are cut", () => {
    const data = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 4_000 }))
        .map(([unit, times]) => Uint8Array.from({ length: unit.length * times }, (_, i) => unit[i % unit.length]!)),
    );
    fc.assert(
      fc.property(
        data,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.array(fc.integer({ min: 0x80, max: 0xff }), { maxLength: 3 }),
        (plain, at, extra) => {
          // skippable chunks and more identifiers may be between chunks of data
          const skipped = extra.map((type) => (type === 0xff ? IDENTIFIER : chunk(type, new Uint8Array(type))));
          const framed = stream(...skipped, chunksOf(plain), ...skipped);
          const cuts = at.map((cut) => cut % (framed.length + 1)).sort((a, b) => a - b);
          return equalBytes(decode(framed, { cuts }), plain);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("gives back what was written when it arrives byte by byte", () => {
    const framed = stream(chunk(0xfe, new Uint8Array(7)), chunksOf(ascii("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")), chunksOf(ABCD));
    expect(decode(framed, { cuts: Array.from(framed.keys()) })).toEqual(ascii("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabcd"));
  });

  it("throws on damaged bytes nothing but its own errors, and never gives more than the limit", () => {
    const limits = { maxCompressedBytes: 100_000, maxBytes: 90_000 };
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 400 }),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }),
        (plain, changes) => {
          const framed = stream(chunksOf(plain), chunksOf(new Uint8Array(2_000)));
          for (const [at, value] of changes) framed[at % framed.length] = value;
          try {
            expect(decode(framed, { limits }).length).toBeLessThanOrEqual(limits.maxBytes);
          } catch (error) {
            expect(error).toMatchObject({ code: expect.stringMatching(/^(frames|snappy)\//) });
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each<[string, Uint8Array, string]>([
    ["no bytes at all", new Uint8Array(0), "frames/truncated"],
    ["data before the identifier", chunksOf(ABCD), "frames/no-identifier"],
    ["a skippable chunk before the identifier", concatBytes(chunk(0x80), IDENTIFIER), "frames/no-identifier"],
    ["another identifier", chunk(0xff, ascii("sNaPpy")), "frames/no-identifier"],
    ["an identifier of another length", chunk(0xff, ascii("sNaPp")), "frames/bad-length"],
    ["a reserved chunk, 0x02", stream(chunk(0x02, ABCD)), "frames/reserved-chunk"],
    ["a reserved chunk, 0x7f", stream(chunk(0x7f)), "frames/reserved-chunk"],
    ["a checksum that is not masked", stream(chunk(0x01, hexToBytes("0x310ac892"), ABCD)), "frames/bad-checksum"],
    ["a checksum of other data", stream(chunk(0x01, ABCD_CHECKSUM, ascii("abce"))), "frames/bad-checksum"],
    ["a chunk without room for its checksum", stream(chunk(0x01, ABCD.subarray(1))), "frames/bad-length"],
    ["65,537 bytes in a chunk, as they are", stream(Uint8Array.of(0x01, 0x05, 0x00, 0x01)), "frames/bad-length"],
    ["65,537 bytes in a chunk, compressed", stream(chunk(0x00, ABCD_CHECKSUM, hexToBytes("0x81800400"))), "frames/too-long"],
    ["a compressed chunk longer than any encoder makes", stream(Uint8Array.of(0x00, 0xcf, 0x2a, 0x01)), "frames/bad-length"],
    ["an end within a header", stream(chunksOf(ABCD), Uint8Array.of(0x01, 0x08)), "frames/truncated"],
    ["an end within a body", stream(chunksOf(ABCD).subarray(0, -1)), "frames/truncated"],
    ["an end within a skipped chunk", stream(Uint8Array.of(0xfe, 0x08, 0x00, 0x00, 0x00)), "frames/truncated"],
    ["a block that copies from before its beginning", stream(chunk(0x00, ABCD_CHECKSUM, hexToBytes("0x040101"))), "snappy/corrupt"],
  ])("refuses %s", (_, framed, code) => {
    expect(() => decode(framed)).toThrow(expect.objectContaining({ code }));
  });

  it("refuses more data than the limit before it decompresses it, and takes exactly the limit", () => {
    const bomb = stream(chunksOf(new Uint8Array(65_536)), chunksOf(new Uint8Array(65_536)));
    expect(decode(bomb, { limits: { ...LIMITS, maxBytes: 131_072 } })).toHaveLength(131_072);
    const decoder = new SnappyFrameDecoder({ ...LIMITS, maxBytes: 131_071 });
    expect(() => decoder.push(bomb)).toThrow(expect.objectContaining({ code: "frames/too-long" }));
    expect(decoder.heldBytes).toBe(65_536);
  });

  it("refuses more bytes than the limit, skipped ones too, and takes exactly the limit", () => {
    const endless = stream(chunk(0xfe, new Uint8Array(1_000)));
    expect(decode(endless, { limits: { ...LIMITS, maxCompressedBytes: endless.length } })).toHaveLength(0);
    const limits = { ...LIMITS, maxCompressedBytes: endless.length - 1 };
    expect(() => decode(endless, { limits })).toThrow(expect.objectContaining({ code: "frames/too-long" }));
  });

  it("holds no more than twice the data, however small the chunks are", () => {
    const decoder = new SnappyFrameDecoder(LIMITS);
    decoder.push(IDENTIFIER);
    const one = chunksOf(Uint8Array.of(7));
    for (let i = 0; i < 10_000; i++) decoder.push(one);
    expect(decoder.heldBytes).toBeLessThanOrEqual(20_000);
    expect(equalBytes(decoder.finish(), new Uint8Array(10_000).fill(7))).toBe(true);
  });
});
