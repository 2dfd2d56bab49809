import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { SILENT_OBSERVER } from "../observer.ts";
import { EXHAUSTED } from "../pull.ts";
import { derivationRules } from "../rules.ts";
import { forksUpTo } from "../testing/sim.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { BatchStage } from "./batch-stage.ts";
import { L1Window } from "./l1-window.ts";
import type { ReadBatch, SpanRead } from "./read-batch.ts";

const config = testConfig({ forkTimes: forksUpTo("holocene") });
const l1 = (number: number): L1BlockRef => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: 1000 + (number - 100) * 12,
});
/** The block at 1020 s is block 50; its L1 origin is 100. */
const block = (timestamp: number, seed = 0): L2BlockRef => {
  const number = 50 + (timestamp - 1020) / 2;
  const l1Origin = { number: 100, hash: hashOf(100) };
  return { number, hash: hashOf(number * 10 + seed), parentHash: hashOf(number * 10 - 10), timestamp, l1Origin, sequenceNumber: 0 };
};

function span(parent: L2BlockRef, ...marks: readonly number[]): SpanRead {
  const blocks = marks.map((mark, i) => ({
    timestamp: parent.timestamp + 2 * (i + 1),
    epochNumber: 100,
    transactions: [Uint8Array.of(2, mark)],
  }));
  return {
    kind: "span",
    channelId: "0x01",
    parentCheck: parent.hash.slice(0, 42) as `0x${string}`,
    l1OriginCheck: hashOf(100).slice(0, 42) as `0x${string}`,
    span: {
      blockCount: blocks.length,
      transactionCount: blocks.length,
      firstTimestamp: blocks[0]!.timestamp,
      lastTimestamp: blocks.at(-1)!.timestamp,
      firstEpochNumber: 100,
      lastEpochNumber: 100,
      *blocks() {
        yield* blocks;
      },
    },
  };
}

function singular(parent: L2BlockRef, mark: number): ReadBatch {
  const epoch = { number: 100, hash: hashOf(100) };
  const batch = { parentHash: parent.hash, epoch, timestamp: parent.timestamp + 2, transactions: [Uint8Array.of(2, mark)] };
  return { kind: "singular", channelId: "0x01", batch };
}

/** A stage with the L1 blocks from 100 to `newest`, whose source has these batches. */
function stageWith(newest: number, ...reads: ReadBatch[]) {
  const position = { origin: l1(newest), rules: derivationRules(config, 1000), systemConfig: config.genesis.systemConfig };
  const window = new L1Window();
  window.reset(l1(100));
  const flushed: number[] = [];
  const previous = {
    next: async () => {
      const value = reads.shift();
      return value === undefined ? EXHAUSTED : ({ kind: "value", value } as const);
    },
    nextParentHash: undefined,
    flush: () => {
      flushed.push(reads.length);
      reads.length = 0; // the rest of the channel
    },
  };
  const l2 = {} as ConstructorParameters<typeof BatchStage>[4];
  const stage = new BatchStage({ rollup: config, checksOverlap: true }, position, window, previous, l2, SILENT_OBSERVER);
  for (let number = 101; number <= newest; number++) window.update(l1(number), block(1020));
  const take = async (safeHead: L2BlockRef): Promise<number | undefined> => {
    for (;;) {
      const pulled = await stage.next(safeHead);
      if (pulled.kind === "value") return pulled.value.batch.transactions[0]![1];
      if (pulled.kind === "exhausted") return undefined;
    }
  };
  return { stage, window, position, take, reads, flushed };
}

describe("the batch stage", () => {
  it("takes the blocks of a span one after the other", async () => {
    const { take } = stageWith(102, span(block(1020), 1, 2, 3));
    expect(await take(block(1020))).toBe(1);
    expect(await take(block(1022))).toBe(2);
    expect(await take(block(1024))).toBe(3);
    expect(await take(block(1026))).toBeUndefined();
  });

  it("forgets the rest of a span whose block was not built, also when the chain gets there by other batches", async () => {
    const { take, reads } = stageWith(102, span(block(1020), 1, 2, 3));
    expect(await take(block(1020))).toBe(1);
    reads.push(singular(block(1020), 4));
    expect(await take(block(1020))).toBe(4);
    expect(await take(block(1022, 1))).toBeUndefined();
  });

  it("gives up the channel at a span that does not fit", async () => {
    const { take, flushed } = stageWith(102, span(block(1020, 5), 1, 2), span(block(1020), 3));
    expect(await take(block(1020))).toBeUndefined();
    expect(flushed).toEqual([1]);
  });

  it("gives up the channel at a batch that does not fit", async () => {
    const { take, flushed } = stageWith(102, singular(block(1020, 5), 1), singular(block(1020), 2));
    expect(await take(block(1020))).toBeUndefined();
    expect(flushed).toEqual([1]);
  });

  it("does not consider batches a second time that led to where it starts again", async () => {
    // 1022 was replaced, which ended the channel: now nothing shows that any more.
    const channel = [singular(block(1020), 1), singular(block(1022), 2)];
    const again = stageWith(102, ...channel);
    expect(await again.take(block(1022))).toBe(2);
    const { stage, take, reads, position } = stageWith(102, ...channel);
    stage.skip(block(1022), { l1Block: { number: 102, hash: hashOf(102) }, isWhole: true });
    expect(await take(block(1022))).toBeUndefined();
    position.origin = l1(103);
    reads.push(singular(block(1022), 3));
    expect(await take(block(1022))).toBe(3);
  });

  it("skips nothing after another block than the one it started after, and nothing once it starts over", async () => {
    const { stage, take, reads } = stageWith(102, singular(block(1022), 2));
    stage.skip(block(1020), { l1Block: { number: 102, hash: hashOf(102) }, isWhole: true });
    expect(await take(block(1022))).toBe(2);
    stage.reset();
    reads.push(singular(block(1020), 1));
    expect(await take(block(1020))).toBe(1);
  });

  it("asks to start over when the L1 block that was read before is another one now", async () => {
    const { stage } = stageWith(102, singular(block(1020), 1));
    stage.skip(block(1020), { l1Block: { number: 102, hash: hashOf(7) }, isWhole: true });
    expect(await stage.next(block(1020))).toMatchObject({ kind: "reset", reason: "l1-reorg" });
  });

  it("needs the block after the current origin", async () => {
    expect(await stageWith(101, singular(block(1020), 1)).take(block(1020))).toBe(1);
    const { stage, window } = stageWith(101);
    window.reset(l1(101));
    await expect(stage.next(block(1020))).rejects.toMatchObject({ code: "derivation/l1-blocks-missing" });
  });
});
