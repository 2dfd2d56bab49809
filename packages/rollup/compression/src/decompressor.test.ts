import { brotliCompressSync, constants, createDeflate, deflateRawSync, deflateSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDecompressor } from "./decompressor.ts";
import { inflateWhatDecodes } from "./inflate.ts";

const decompressor = createDecompressor();
const decompress = (kind: "zlib" | "brotli", bytes: Uint8Array, maxBytes: number) => decompressor.decompress(kind, bytes, maxBytes);
const LIMIT = 10_000_000;

/** Bytes of a small alphabet: they compress, but do not repeat. */
const sample = (length: number) => {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return 97 + (state >>> 28);
  });
};
const concat = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const isPrefix = (part: Uint8Array, whole: Uint8Array) => Buffer.compare(part, whole.subarray(0, part.length)) === 0;

/** A stream that was flushed after each part and never closed. */
async function flushed(...parts: Uint8Array[]): Promise<Uint8Array> {
  const stream = createDeflate({ level: 9 });
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  for (const part of parts) {
    stream.write(part);
    await new Promise<void>((resolve) => stream.flush(constants.Z_SYNC_FLUSH, resolve));
  }
  await new Promise((resolve) => setImmediate(resolve));
  return concat(...chunks);
}

const data = sample(20_000);
const encoders = {
  zlib: (bytes: Uint8Array) => new Uint8Array(deflateSync(bytes, { level: 9 })),
  brotli: (bytes: Uint8Array) => new Uint8Array(brotliCompressSync(bytes)),
};

const zeros = new Uint8Array(150_000_000);
const bombs = {
  zlib: new Uint8Array(deflateSync(zeros, { level: 9 })),
  brotli: new Uint8Array(brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })),
};

describe.each(["zlib", "brotli"] as const)("%s", (kind) => {
  const compressed = encoders[kind](data);

  it("decompresses a closed stream, and ignores what follows it", () => {
    expect(decompress(kind, compressed, LIMIT)).toEqual({ bytes: data, complete: true });
    expect(decompress(kind, concat(compressed, Uint8Array.of(1, 2, 3, 4)), LIMIT)).toEqual({ bytes: data, complete: true });
  });

  it("gives what a cut stream has, whatever the cut", () => {
    let longest = 0;
    for (let length = 0; length < compressed.length; length += 7) {
      const { bytes, complete } = decompress(kind, compressed.subarray(0, length), LIMIT);
      expect(isPrefix(bytes, data)).toBe(true);
      expect(bytes.length).toBeGreaterThanOrEqual(longest);
      if (kind === "brotli" || length >= 2) expect(complete).toBe(true);
      longest = bytes.length;
    }
    expect(longest).toBeGreaterThan(data.length * 0.9);
  });

  it("gives what comes before a fault", () => {
    const broken = compressed.slice();
    broken.fill(0xff, compressed.length - 20);
    const { bytes } = decompress(kind, broken, LIMIT);
    const upToFault = decompress(kind, compressed.subarray(0, compressed.length - 20), LIMIT).bytes;
    expect(bytes.length).toBeGreaterThanOrEqual(upToFault.length);
    expect(isPrefix(upToFault, bytes)).toBe(true);
    expect(isPrefix(upToFault, data)).toBe(true);
  });

  it("never throws, never exceeds the limit", () => {
    const flips = fc.array(fc.tuple(fc.integer({ min: 0, max: compressed.length - 1 }), fc.integer({ min: 1, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(flips, fc.integer({ min: 0, max: 30_000 }), (list, limit) => {
        const broken = compressed.slice();
        for (const [at, mask] of list) broken[at]! ^= mask;
        expect(decompress(kind, broken, limit).bytes.length).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 150 },
    );
  });

  it("cuts at the limit, exactly", () => {
    for (const limit of [0, 1, 2, 777, 19_999]) {
      expect(decompress(kind, compressed, limit)).toEqual({ bytes: data.subarray(0, limit), complete: false });
    }
    expect(decompress(kind, compressed, data.length).complete).toBe(true);
  });

  it("survives a bomb", { tags: "long" }, () => {
    const bomb = bombs[kind];
    const { bytes, complete } = decompress(kind, bomb, 100_000_000);
    expect([bytes.length, complete]).toEqual([100_000_000, false]);
  });

  it("gives nothing of nothing and of garbage", () => {
    expect(decompress(kind, new Uint8Array(), LIMIT).bytes.length).toBe(0);
    expect(decompress(kind, new Uint8Array(100).fill(0xff), LIMIT)).toEqual({ bytes: new Uint8Array(), complete: false });
  });
});

describe("zlib", () => {
  it("decompresses a stream that was flushed and never closed", async () => {
    const open = await flushed(data.subarray(0, 10_000), data.subarray(10_000));
    expect(decompress("zlib", open, LIMIT)).toEqual({ bytes: data, complete: true });
    // Cut inside the second part: the first one is still returned.
    expect(decompress("zlib", open.subarray(0, open.length - 40), LIMIT).bytes.length).toBeGreaterThan(10_000);
  });

  it("does not look at the checksum", () => {
    const wrong = encoders.zlib(data);
    wrong[wrong.length - 1]! ^= 1;
    expect(decompress("zlib", wrong, LIMIT)).toEqual({ bytes: data, complete: true });
  });

  it.each<[string, number[]]>([
    ["a method other than 8", [0x7f, 0x01]],
    ["a window above 32 KiB", [0x88, 0x1c]],
    ["wrong check bits", [0x78, 0x00]],
    ["a preset dictionary", [0x78, 0xbb]],
    ["one byte", [0x78]],
  ])("refuses a header with %s", (_, header) => {
    const body = deflateRawSync(data);
    expect(decompress("zlib", concat(Uint8Array.from(header), body), LIMIT)).toEqual({ bytes: new Uint8Array(), complete: false });
  });
});

describe("inflate", () => {
  it("agrees with node:zlib on any data, level and strategy", () => {
    const input = fc.oneof(
      fc.uint8Array({ maxLength: 3000 }),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 60_000 }))
        .map(([seed, length]) => Uint8Array.from({ length }, (_, i) => seed[(i * (1 + (i >> 9))) % seed.length]!)),
    );
    const { Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_FIXED, Z_RLE } = constants;
    const options = fc.record({
      level: fc.integer({ min: 0, max: 9 }),
      strategy: fc.constantFrom(Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_FIXED, Z_RLE),
    });
    fc.assert(
      fc.property(input, options, (bytes, how) => {
        const result = inflateWhatDecodes(new Uint8Array(deflateRawSync(bytes, how)), LIMIT);
        expect(result.end).toBe("final-block");
        expect(Buffer.compare(result.bytes, bytes)).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  it.each<[string, number[], string]>([
    ["no input", [], "input-ended"],
    ["block type 3", [0x07], "corrupt"],
    ["a stored block with a wrong complement", [0x01, 0x01, 0x00, 0x00, 0x00], "corrupt"],
    ["a stored block that ends early", [0x01, 0x02, 0x00, 0xfd, 0xff, 0x61], "input-ended"],
    ["a distance before the start", [0x03, 0x02], "corrupt"],
  ])("stops at %s", (_, bytes, end) => {
    expect(inflateWhatDecodes(Uint8Array.from(bytes), LIMIT).end).toBe(end);
  });
});
