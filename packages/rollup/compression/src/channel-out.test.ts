import { bytesToHex, decodeRlpPrefix } from "@rnode/primitives";
import {
  CHANNEL_VERSION_BROTLI,
  Channel,
  decodeBatch,
  encodeTransaction,
  expandSpanBatch,
  type Frame,
  MAX_FRAME_NUMBER,
  type SpanBatchInput,
  signTransaction,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type ChannelOut, type ChannelOutOptions, FrameCutter, maxRlpBytesPerChannel } from "./channel-out.ts";
import { createDecompressor } from "./decompressor.ts";
import { createSingularChannelOut, type FullStrategy } from "./singular-channel-out.ts";
import { createSpanChannelOut } from "./span-channel-out.ts";
import { COMPRESSION_ALGORITHMS, compressChannel, StreamCompressor } from "./stream-compressor.ts";

const chain = { genesisTimeSec: 1000, blockTimeSec: 2, chainId: 901n, forkTimes: {} };
const options = (over: Partial<ChannelOutOptions> = {}): ChannelOutOptions => ({
  id: new Uint8Array(16).fill(7),
  algorithm: "zlib",
  targetOutputBytes: 2000,
  chain,
  ...over,
});

let state = 1;
const random = (length: number) =>
  Uint8Array.from({ length }, () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 24);

const KEY = new Uint8Array(32).fill(1);
const transaction = (nonce: number, dataBytes: number) =>
  encodeTransaction(
    signTransaction(
      {
        type: 2,
        chainId: chain.chainId,
        nonce: BigInt(nonce),
        gasLimit: 21_000n,
        to: new Uint8Array(20).fill(9),
        value: 1n,
        data: random(dataBytes),
        maxFeePerGas: 10n,
        maxPriorityFeePerGas: 1n,
        accessList: [],
      },
      KEY,
    ),
  );
const block = (index: number, dataBytes = 300): SpanBatchInput => ({
  timestampSec: 1010 + 2 * index,
  parentHash: new Uint8Array(32).fill(index),
  epochNumber: 100,
  epochHash: new Uint8Array(32).fill(0xee),
  sequenceNumber: 3 + index,
  transactions: dataBytes === 0 ? [] : [transaction(index, dataBytes)],
});

/** All frames of a closed channel. */
function framesOf(channel: ChannelOut, maxFrameBytes: number): Frame[] {
  const frames: Frame[] = [];
  do frames.push(channel.nextFrame(maxFrameBytes));
  while (!frames.at(-1)!.isLast);
  return frames;
}

/** The blocks in a channel, as derivation reads them: timestamp and transactions. */
function read(frames: readonly Frame[]) {
  const channel = new Channel(frames[0]!.channelId, 0, true);
  for (const frame of frames) expect(channel.add(frame)).toEqual({ kind: "added" });
  expect(channel.isReady).toBe(true);
  const content = channel.content();
  const isBrotli = content[0] === CHANNEL_VERSION_BROTLI;
  const decompressed = createDecompressor().decompress(
    isBrotli ? "brotli" : "zlib",
    isBrotli ? content.subarray(1) : content,
    10_000_000,
  );
  expect(decompressed.complete).toBe(true);
  const blocks: { timestampSec: number; transactions: string[] }[] = [];
  for (let at = 0; at < decompressed.bytes.length; ) {
    const { item, end } = decodeRlpPrefix(decompressed.bytes, at);
    at = end;
    const batch = decodeBatch(item as Uint8Array);
    const part =
      batch.kind === "singular"
        ? [{ timestamp: Number(batch.timestamp), transactions: batch.transactions }]
        : [...expandSpanBatch(batch, chain).blocks()];
    for (const { timestamp, transactions } of part) {
      blocks.push({ timestampSec: timestamp, transactions: transactions.map(bytesToHex) });
    }
  }
  return { blocks, compressedBytes: content.length, inputBytes: decompressed.bytes.length };
}
const shown = ({ timestampSec, transactions }: SpanBatchInput) => ({ timestampSec, transactions: transactions.map(bytesToHex) });

/** Adds blocks until one is refused or the channel is full; returns the accepted blocks. */
async function fill(channel: ChannelOut, next: (index: number) => SpanBatchInput = block): Promise<SpanBatchInput[]> {
  const taken: SpanBatchInput[] = [];
  for (let i = 0; channel.full === undefined && i < 500; i++) {
    const each = next(i);
    if (await channel.addBlock(each)) taken.push(each);
  }
  return taken;
}

const shadow: FullStrategy = { kind: "shadow" };
const makers: [string, (over?: Partial<ChannelOutOptions>) => ChannelOut][] = [
  ["singular, shadow", (over) => createSingularChannelOut({ ...options(over), strategy: shadow })],
  ["singular, ratio", (over) => createSingularChannelOut({ ...options(over), strategy: { kind: "ratio", approxComprRatio: 0.6 } })],
  ["span", (over) => createSpanChannelOut(options(over))],
  ["span, at most 2 blocks a batch", (over) => createSpanChannelOut({ ...options(over), maxBlocksPerSpanBatch: 2 })],
];

describe.each(makers)("%s", (_, create) => {
  it.each(COMPRESSION_ALGORITHMS)("is read back: %s", async (algorithm) => {
    const channel = create({ algorithm });
    const taken = await fill(channel);
    expect(channel.full).toBe("compressor-full");
    expect(taken.length).toBeGreaterThan(2);
    expect(await channel.addBlock(block(taken.length))).toBe(false);
    await channel.close();
    await channel.close();
    const frames = framesOf(channel, 500);
    expect(frames.map(({ number }) => number)).toEqual(frames.map((__, i) => i));
    for (const frame of frames.slice(0, -1)) expect(frame.data.length).toBe(477);
    const { blocks, inputBytes } = read(frames);
    expect(blocks).toEqual(taken.map(shown));
    expect(inputBytes).toBe(channel.inputBytes);
    await expect(channel.addBlock(block(0))).rejects.toThrow(expect.objectContaining({ code: "channel-out/closed" }));
  });

  it("takes a first block that alone is over the target, and no other", async () => {
    const channel = create();
    expect(await channel.addBlock(block(0, 5000))).toBe(true);
    expect(channel.full).toBe("compressor-full");
    expect(await channel.addBlock(block(1))).toBe(false);
    await channel.close();
    expect(read(framesOf(channel, 10_000)).blocks.length).toBe(1);
  });

  it("is full by the bytes of its batches", async () => {
    const channel = create({ targetOutputBytes: 1_000_000_000 });
    const zeros = new Uint8Array(6_000_000);
    const large = (index: number) => {
      const tx = {
        type: 0 as const,
        chainId: 901n,
        nonce: BigInt(index),
        gasPrice: 1n,
        gasLimit: 21_000n,
        to: undefined,
        value: 0n,
      };
      return { ...block(index, 0), transactions: [encodeTransaction(signTransaction({ ...tx, data: zeros }, KEY))] };
    };
    expect(await channel.addBlock(large(0))).toBe(true);
    expect(await channel.addBlock(large(1))).toBe(false);
    expect(channel.full).toBe("too-many-rlp-bytes");
    await channel.close();
    expect(read(framesOf(channel, 1_000_000)).blocks.length).toBe(1);
  });

  it("can be closed before it is full, and holds what it was given", async () => {
    const channel = create();
    expect(await channel.addBlock(block(0, 0))).toBe(true);
    expect(await channel.addBlock(block(1, 10))).toBe(true);
    await channel.flush();
    await channel.close();
    expect(read(framesOf(channel, 1000)).blocks.map(({ timestampSec }) => timestampSec)).toEqual([1010, 1012]);
  });
});

describe("singular channel", () => {
  it.each(COMPRESSION_ALGORITHMS)("with a shadow compressor does not exceed the target: %s", async (algorithm) => {
    const channel = createSingularChannelOut({ ...options({ algorithm, targetOutputBytes: 20_000 }), strategy: shadow });
    const taken = await fill(channel);
    await channel.close();
    const { compressedBytes } = read(framesOf(channel, 100_000));
    expect(compressedBytes).toBeLessThanOrEqual(20_000);
    // One more block would not have fitted.
    expect(compressedBytes).toBeGreaterThan(20_000 - 500);
    expect(taken.length).toBeGreaterThan(40);
  });

  it("with a ratio is full once the input reaches target ÷ ratio", async () => {
    const channel = createSingularChannelOut({ ...options(), strategy: { kind: "ratio", approxComprRatio: 0.5 } });
    let before = 0;
    while (channel.full === undefined) {
      before = channel.inputBytes;
      await channel.addBlock(block(before));
    }
    expect(before).toBeLessThan(4000);
    expect(channel.inputBytes).toBeGreaterThanOrEqual(4000);
    channel.destroy();
  });

  it("without compression is full at the target, and larger than its input", async () => {
    const channel = createSingularChannelOut({ ...options({ targetOutputBytes: 3000 }), strategy: { kind: "none" } });
    await fill(channel);
    await channel.close();
    const { compressedBytes, inputBytes } = read(framesOf(channel, 100_000));
    expect(compressedBytes).toBeGreaterThan(inputBytes);
    expect(inputBytes).toBeGreaterThanOrEqual(3000);
  });

  it("has bytes ready before it is full, and frames of them stay valid", async () => {
    const channel = createSingularChannelOut({ ...options({ targetOutputBytes: 100_000 }), strategy: shadow });
    for (let i = 0; i < 10; i++) await channel.addBlock(block(i));
    await channel.flush();
    expect(channel.readyBytes).toBeGreaterThan(2000);
    const early = channel.nextFrame(1000);
    expect(early).toMatchObject({ number: 0, isLast: false });
    for (let i = 10; i < 15; i++) await channel.addBlock(block(i));
    await channel.close();
    expect(read([early, ...framesOf(channel, 1000)]).blocks.length).toBe(15);
  });
});

describe("span channel", () => {
  it("does not exceed the target: the block that would is not taken", async () => {
    const channel = createSpanChannelOut(options({ targetOutputBytes: 20_000 }));
    const taken = await fill(channel);
    expect(channel.readyBytes).toBeGreaterThan(0);
    await channel.close();
    const { compressedBytes, blocks } = read(framesOf(channel, 100_000));
    expect(blocks).toEqual(taken.map(shown));
    expect(compressedBytes).toBeLessThanOrEqual(20_000);
    expect(compressedBytes).toBeGreaterThan(20_000 - 500);
  });

  it("takes a block that meets the target exactly, and is full", async () => {
    const blocks = [block(0), block(1)];
    const probe = createSpanChannelOut(options({ targetOutputBytes: 1_000_000 }));
    for (const each of blocks) await probe.addBlock(each);
    await probe.close();
    const exact = createSpanChannelOut(options({ targetOutputBytes: probe.readyBytes }));
    expect([await exact.addBlock(blocks[0]!), exact.full]).toEqual([true, undefined]);
    expect([await exact.addBlock(blocks[1]!), exact.full]).toEqual([true, "compressor-full"]);
  });

  it("has nothing ready before it is full or closed", async () => {
    const channel = createSpanChannelOut(options({ targetOutputBytes: 100_000 }));
    for (let i = 0; i < 10; i++) await channel.addBlock(block(i));
    await channel.flush();
    expect(channel.readyBytes).toBe(0);
    await channel.close();
    expect(channel.readyBytes).toBeGreaterThan(2000);
  });

  it("refuses a block that does not follow, and goes on", async () => {
    const channel = createSpanChannelOut(options());
    await channel.addBlock(block(0));
    await expect(channel.addBlock(block(5))).rejects.toThrow(expect.objectContaining({ code: "span-batch/block-mismatch" }));
    expect(await channel.addBlock(block(1))).toBe(true);
  });
});

describe("frames", () => {
  it("are at least one byte, at most 65,536", () => {
    const output = { length: 10, take: (length: number) => new Uint8Array(length) };
    const cutter = new FrameCutter(new Uint8Array(16));
    expect(() => cutter.next(23, false, output)).toThrow(expect.objectContaining({ code: "channel-out/frame-too-small" }));
    for (let i = 0; i < MAX_FRAME_NUMBER; i++) {
      expect(cutter.isExhausted).toBe(false);
      cutter.next(24, false, output);
    }
    expect(cutter.isExhausted).toBe(true);
    expect(cutter.next(1000, true, output)).toMatchObject({ number: MAX_FRAME_NUMBER, isLast: true });
  });
});

it("limits the batches of a channel by fork", () => {
  expect([999, 1000].map((time) => maxRlpBytesPerChannel({ fjord: 1000 }, time))).toEqual([10_000_000, 100_000_000]);
});

describe.each(COMPRESSION_ALGORITHMS)("stream compressor: %s", (algorithm) => {
  it("gives all output after a flush, and after closing", async () => {
    const data = random(300_000);
    const compressor = new StreamCompressor(algorithm);
    await compressor.write(data.subarray(0, 200_000));
    await compressor.flush();
    const first = compressor.take(compressor.length);
    await compressor.write(data.subarray(200_000));
    await compressor.close();
    const rest = compressor.take(compressor.length);
    const whole = new Uint8Array(Buffer.concat([first, rest]));
    const decode = (bytes: Uint8Array) =>
      algorithm === "zlib"
        ? createDecompressor().decompress("zlib", bytes, 1_000_000).bytes
        : createDecompressor().decompress("brotli", bytes.subarray(1), 1_000_000).bytes;
    expect(Buffer.compare(decode(first), data.subarray(0, 200_000))).toBe(0);
    expect(Buffer.compare(decode(whole), data)).toBe(0);
  });

  it("compresses a channel at once", async () => {
    const bytes = await compressChannel(algorithm, new Uint8Array(100_000));
    expect(bytes.length).toBeLessThan(300);
    expect(bytes[0]).toBe(algorithm === "zlib" ? 0x78 : CHANNEL_VERSION_BROTLI);
  });
});
