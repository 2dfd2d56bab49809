import { brotliCompressSync, deflateSync } from "node:zlib";
import { createDecompressor } from "@rnode/compression";
import type { Frame, L1BlockRef, L2BlockRef, SystemConfig } from "@rnode/protocol";
import { singularBatch } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import type { L1Position } from "../l1/l1-traversal.ts";
import { SILENT_OBSERVER } from "../observer.ts";
import { EXHAUSTED, type Pull, type Source } from "../pull.ts";
import { type DerivationRules, derivationRules } from "../rules.ts";
import { forksUpTo, join } from "../testing/sim.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { ChannelAssembler } from "./channel-assembler.ts";
import { ChannelBank } from "./channel-bank.ts";
import { ChannelReader } from "./channel-reader.ts";
import type { RawChannel } from "./raw-channel.ts";

const anyHead = {} as L2BlockRef;
const config = testConfig({ forkTimes: forksUpTo("fjord") });

class Position implements L1Position {
  origin: L1BlockRef = { number: 100, hash: hashOf(100), parentHash: hashOf(99), timestamp: 1000 };
  rules: DerivationRules;
  readonly systemConfig = {} as SystemConfig;
  constructor(over: Partial<DerivationRules> = {}) {
    this.rules = { ...derivationRules(config, 1000), ...over };
  }
  moveTo(number: number) {
    this.origin = { ...this.origin, number };
  }
}

/** A stage that returns the given values. */
function source<T>(values: T[]): Source<T> {
  return {
    next: async () => {
      const value = values.shift();
      return value === undefined ? EXHAUSTED : { kind: "value", value };
    },
  };
}

/** All values of the stage until it is exhausted. */
async function drain<T>(stage: { next(head: L2BlockRef): Promise<Pull<T>> }): Promise<T[]> {
  const values: T[] = [];
  for (let i = 0; i < 1000; i++) {
    const pulled = await stage.next(anyHead);
    if (pulled.kind === "exhausted") return values;
    if (pulled.kind === "value") values.push(pulled.value);
  }
  throw new Error("does not come to rest");
}

function events() {
  const list: string[] = [];
  const id = (hex: string) => Number.parseInt(hex.slice(2, 4), 16);
  return {
    list,
    observer: {
      ...SILENT_OBSERVER,
      onChannel: ({ channelId, event, detail }: { channelId: string; event: string; detail?: string }) =>
        list.push(`${id(channelId)} ${event}${detail === undefined ? "" : `: ${detail}`}`),
      onFrameDropped: ({ frame, reason }: { frame: Frame; reason: string }) =>
        list.push(`frame ${frame.channelId[0]}:${frame.number} ${reason}`),
    },
  };
}

const frame = (channel: number, number: number, isLast = false, size = 10): Frame => ({
  channelId: new Uint8Array(16).fill(channel),
  number,
  data: new Uint8Array(size).fill(number),
  isLast,
});

describe("channel bank", () => {
  it("removes the oldest channels when it is too large, the growing one too", async () => {
    // Each frame counts as 10 + 200 bytes.
    const position = new Position({ maxChannelBankBytes: 3 * 210 });
    const { list, observer } = events();
    const bank = new ChannelBank(
      position,
      source([frame(1, 0), frame(2, 0), frame(1, 1), frame(3, 0), frame(2, 1), frame(2, 2), frame(2, 3)]),
      observer,
    );
    expect(await drain(bank)).toEqual([]);
    expect(list).toEqual(["1 opened", "2 opened", "3 opened", "1 pruned", "2 pruned", "2 opened"]);
  });

  it("keeps a bank of exactly the limit", async () => {
    const { list, observer } = events();
    const bank = new ChannelBank(new Position({ maxChannelBankBytes: 420 }), source([frame(1, 0), frame(2, 0)]), observer);
    await drain(bank);
    expect(list).toEqual(["1 opened", "2 opened"]);
  });

  it("drops timed-out channels at the front, and frames for those behind", async () => {
    const frames = [frame(1, 0), frame(2, 0)];
    const position = new Position({ channelTimeoutL1Blocks: 5 });
    const { list, observer } = events();
    const bank = new ChannelBank(position, source(frames), observer);
    await drain(bank);
    position.moveTo(102);
    frames.push(frame(3, 0));
    await drain(bank);
    position.moveTo(106);
    // Channels 1 and 2 have timed out, 3 has not. The frame would complete 2, but too late: a new channel begins with it.
    frames.push(frame(2, 1, true), frame(3, 1, true));
    expect((await drain(bank)).map(({ id }) => id.slice(0, 4))).toEqual(["0x03"]);
    expect(list).toEqual(["1 opened", "2 opened", "3 opened", "1 timed-out", "2 timed-out", "2 opened", "3 ready"]);
  });

  it("does not read a timed-out channel behind the first, and drops its frames", async () => {
    const frames = [frame(1, 0)];
    const position = new Position({ channelTimeoutL1Blocks: 5 });
    const { list, observer } = events();
    const bank = new ChannelBank(position, source(frames), observer);
    await drain(bank);
    // After a reorganisation of L1, the second channel can be the older one: here it is opened under a longer timeout.
    position.moveTo(90);
    frames.push(frame(2, 0));
    await drain(bank);
    position.moveTo(100);
    frames.push(frame(2, 1, true));
    expect(await drain(bank)).toEqual([]);
    expect(list).toEqual(["1 opened", "2 opened", "frame 2:1 channel-timed-out"]);
  });

  it("says why it drops frames", async () => {
    const { list, observer } = events();
    const frames = [frame(1, 0), frame(1, 0), frame(1, 2, true), frame(1, 3), frame(1, 2, true), frame(1, 1)];
    expect((await drain(new ChannelBank(new Position(), source(frames), observer))).length).toBe(1);
    expect(list).toEqual(["1 opened", "frame 1:0 duplicate", "frame 1:3 after-last", "frame 1:2 second-last", "1 ready"]);
  });
});

describe("channel assembler", () => {
  it("gives up a channel that is too large", async () => {
    const position = new Position({ hasStrictOrder: true, maxRlpBytesPerChannel: 420 });
    const { list, observer } = events();
    const frames = [frame(1, 0), frame(1, 1), frame(1, 2, true), frame(2, 0), frame(2, 1, true)];
    const raw = await drain(new ChannelAssembler(position, source(frames), observer));
    expect(raw.map(({ content }) => content.length)).toEqual([20]);
    expect(list).toEqual(["1 opened", "1 too-large", "2 opened", "2 ready"]);
  });

  it("is timed out by the L1 block being read", async () => {
    const frames = [frame(1, 0)];
    const position = new Position({ hasStrictOrder: true, channelTimeoutL1Blocks: 5 });
    const { list, observer } = events();
    const assembler = new ChannelAssembler(position, source(frames), observer);
    await drain(assembler);
    position.moveTo(105);
    frames.push(frame(1, 1));
    await drain(assembler);
    position.moveTo(106);
    frames.push(frame(1, 2, true));
    expect(await drain(assembler)).toEqual([]);
    expect(list).toEqual(["1 opened", "1 timed-out", "frame 1:2 no-channel"]);
  });
});

describe("channel reader", () => {
  const batch = (timestamp: number, transactionBytes = 10) =>
    singularBatch({
      epochNumber: 1,
      epochHash: new Uint8Array(32),
      timestampSec: timestamp,
      transactions: [new Uint8Array(transactionBytes)],
    });
  const zlib = (...parts: Uint8Array[]) => new Uint8Array(deflateSync(join(parts)));
  const brotli = (...parts: Uint8Array[]) => join([Uint8Array.of(1), new Uint8Array(brotliCompressSync(join(parts)))]);

  async function read(content: Uint8Array, rules: Partial<DerivationRules> = {}) {
    const { list, observer } = events();
    const channel: RawChannel = { id: "0x0101", content };
    const reader = new ChannelReader(config, new Position(rules), source([channel]), createDecompressor(), observer);
    const batches = await drain(reader);
    return { timestamps: batches.map((each) => (each.kind === "singular" ? each.batch.timestamp : -1)), list };
  }

  it.each<[string, Uint8Array, Partial<DerivationRules>, number[], string]>([
    ["zlib", zlib(batch(1), batch(2)), {}, [1, 2], "1 read"],
    ["brotli", brotli(batch(1), batch(2)), {}, [1, 2], "1 read"],
    ["brotli before Fjord", brotli(batch(1)), { allowsBrotli: false }, [], "1 unknown-compression: first byte 1"],
    ["no content", new Uint8Array(), {}, [], "1 unknown-compression: empty"],
    ["low nibble 7", Uint8Array.of(0x77, 1), {}, [], "1 unknown-compression: first byte 119"],
    ["low nibble 15 is zlib, and no zlib has it", Uint8Array.of(0x7f, 1), {}, [], "1 malformed: compressed data"],
    ["an empty stream", zlib(), {}, [], "1 read"],
    ["a batch cut off", zlib(batch(1), batch(2).subarray(0, 50)), {}, [1], "1 malformed: rlp/truncated"],
    ["a list", zlib(batch(1), Uint8Array.of(0xc0), batch(2)), {}, [1], "1 malformed: a list where a batch should be"],
    ["an empty batch", zlib(batch(1), Uint8Array.of(0x80), batch(2)), {}, [1], "1 malformed: batch/empty"],
    ["an unknown batch type", zlib(batch(1), Uint8Array.of(0x82, 2, 0xc0), batch(2)), {}, [1], "1 malformed: batch/unknown-type"],
    ["a type alone", zlib(batch(1), Uint8Array.of(0x01), batch(2)), {}, [1], "1 malformed: cursor/truncated"],
  ])("%s", async (_, content, rules, timestamps, last) => {
    const result = await read(content, rules);
    expect(result.timestamps).toEqual(timestamps);
    expect(result.list).toEqual([last]);
  });

  it("cuts at the limit of bytes: a batch that ends at it counts, one that crosses it does not", async () => {
    for (const compress of [zlib, brotli]) {
      const content = compress(batch(1), batch(2), batch(3));
      const two = batch(1).length + batch(2).length;
      expect(await read(content, { maxRlpBytesPerChannel: two + batch(3).length })).toMatchObject({
        timestamps: [1, 2, 3],
        list: ["1 read"],
      });
      expect(await read(content, { maxRlpBytesPerChannel: two })).toMatchObject({
        timestamps: [1, 2],
        list: ["1 malformed: compressed data"],
      });
      expect(await read(content, { maxRlpBytesPerChannel: two + 1 })).toMatchObject({
        timestamps: [1, 2],
        list: ["1 malformed: rlp/truncated"],
      });
      expect(await read(content, { maxRlpBytesPerChannel: two - 1 })).toMatchObject({
        timestamps: [1],
        list: ["1 malformed: rlp/truncated"],
      });
    }
  });

  it("drops the rest on request", async () => {
    const { list, observer } = events();
    const stages = source<RawChannel>([
      { id: "0x0101", content: zlib(batch(1), batch(2)) },
      { id: "0x0202", content: zlib(batch(3)) },
    ]);
    const reader = new ChannelReader(config, new Position(), stages, createDecompressor(), observer);
    expect(await reader.next(anyHead)).toMatchObject({ kind: "value", value: { batch: { timestamp: 1 } } });
    reader.flush();
    reader.flush();
    expect((await drain(reader)).map((each) => each.kind === "singular" && each.batch.timestamp)).toEqual([3]);
    expect(list).toEqual(["1 flushed", "2 read"]);
  });

  it("skips a span batch before Delta, or with transactions that are none, and goes on", async () => {
    // One block at 940 + 10 s, with a transaction of type 5, which does not exist.
    const span = (type: number) =>
      Uint8Array.from([1, 10, 1, ...Array(40).fill(0), 1, 0, 1, 1, 0, ...Array(64).fill(1), type, 0xc0, 0, 0]);
    const element = (bytes: Uint8Array) => join([Uint8Array.of(0xb8, bytes.length), bytes]);
    const content = zlib(batch(1), element(span(5)), batch(2));
    const verdicts: string[] = [];
    const observer = { ...SILENT_OBSERVER, onBatch: (event: { verdict: unknown }) => verdicts.push(JSON.stringify(event.verdict)) };
    for (const allowsSpanBatches of [true, false]) {
      const reader = new ChannelReader(
        config,
        new Position({ allowsSpanBatches }),
        source([{ id: "0x01", content }]),
        createDecompressor(),
        observer,
      );
      expect((await drain(reader)).map((each) => each.kind === "singular" && each.batch.timestamp)).toEqual([1, 2]);
    }
    expect(verdicts).toEqual(['{"kind":"drop","reason":"malformed-transaction"}', '{"kind":"drop","reason":"span-before-delta"}']);
  });
});

describe("rules", () => {
  it.each<[string, Parameters<typeof forksUpTo>[0], Partial<DerivationRules>]>([
    [
      "regolith",
      "regolith",
      {
        readsChannelsOutOfOrder: false,
        allowsSpanBatches: false,
        readsBlobs: false,
        allowsBrotli: false,
        hasStrictOrder: false,
        maxRlpBytesPerChannel: 10_000_000,
        maxChannelBankBytes: 100_000_000,
        channelTimeoutL1Blocks: 10,
      },
    ],
    ["canyon", "canyon", { readsChannelsOutOfOrder: true, allowsSpanBatches: false }],
    ["delta", "delta", { allowsSpanBatches: true, readsBlobs: false }],
    ["ecotone", "ecotone", { readsBlobs: true, allowsBrotli: false, maxRlpBytesPerChannel: 10_000_000 }],
    [
      "fjord",
      "fjord",
      { allowsBrotli: true, maxRlpBytesPerChannel: 100_000_000, maxChannelBankBytes: 1_000_000_000, channelTimeoutL1Blocks: 10 },
    ],
    ["granite", "granite", { channelTimeoutL1Blocks: 50, hasStrictOrder: false }],
    ["holocene", "holocene", { channelTimeoutL1Blocks: 50, hasStrictOrder: true }],
    ["jovian", "jovian", { hasStrictOrder: true, allowsBrotli: true, readsBlobs: true, allowsSpanBatches: true }],
  ])("of %s", (_, fork, expected) => {
    expect(derivationRules(testConfig({ forkTimes: forksUpTo(fork) }), 1000)).toMatchObject(expected);
  });
});
