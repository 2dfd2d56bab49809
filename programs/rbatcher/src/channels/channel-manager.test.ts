import { decodeBatcherData, type L2BlockRef } from "@rnode/protocol";
import { SimL1 } from "@rnode/tx-manager/testing";
import { describe, expect, it } from "vitest";
import { simChannelConfig, simChannelOuts } from "../testing/sim-channels.ts";
import { SimRollup } from "../testing/sim-rollup.ts";
import type { BatcherBlock } from "./batcher-block.ts";
import type { ChannelOptions } from "./channel-config.ts";
import { type ChainView, ChannelManager, type TxData } from "./channel-manager.ts";
import type { ChannelCloseReason } from "./pending-channel.ts";

/** A manager over a chain of `count` blocks with one L1 origin each. */
async function createManager(options: Partial<ChannelOptions>, count: number, dataBytes = 100, baseNumber = 0) {
  const l1 = new SimL1();
  const rollup = new SimRollup(l1);
  rollup.dataBytes = dataBytes;
  for (let i = 0; i < count; i++) {
    l1.mine();
    rollup.produce();
  }
  const blocks = await rollup.blocks(1, count);
  const genesis = (await rollup.syncStatus()).safeL2;
  const ref = (number: number): L2BlockRef => (number === 0 ? genesis : blocks[number - 1]!.ref);
  const config = simChannelConfig(options);
  const closed: { reason: ChannelCloseReason; blocks: number; frames: number }[] = [];
  const manager = new ChannelManager(
    config,
    {
      createChannelOut: simChannelOuts(),
      events: { closed: (channel, reason) => closed.push({ reason, blocks: channel.blockCount, frames: channel.frameCount }) },
    },
    ref(baseNumber),
  );
  for (const block of blocks.slice(baseNumber)) expect(manager.addBlock(block)).toEqual({ kind: "ok" });
  const view = (safe: number, rest: Partial<ChainView> = {}): ChainView => ({
    safeL2: ref(safe),
    unsafeL2: ref(count),
    currentL1: 0,
    l1Head: 0,
    ...rest,
  });
  return { manager, rollup, blocks, closed, view, ref };
}

/** zlib emits stored output in pieces of about 64 KB. */
const EARLY_FRAMES: Partial<ChannelOptions> = { batchType: 0, targetNumFrames: 1000, compressor: "none" };

async function drain(manager: ChannelManager, l1Head: number): Promise<TxData[]> {
  const all: TxData[] = [];
  for (let tx = await manager.nextTxData(l1Head); tx !== undefined; tx = await manager.nextTxData(l1Head)) all.push(tx);
  return all;
}
const framesOf = (tx: TxData) =>
  tx.data
    .flatMap((data) => decodeBatcherData(data))
    .map(({ channelId, number, isLast }) => ({ channel: channelId[15], number, isLast }));

describe("filling channels", () => {
  it("sends nothing before a channel is full", async () => {
    const { manager, closed } = await createManager({}, 3);
    expect(await manager.nextTxData(0)).toBeUndefined();
    expect(closed).toEqual([]);
    expect(manager.unsubmittedBlockCount).toBe(3);
  });

  it("closes a channel that reaches its target, and goes on with the block that did not fit", async () => {
    const { manager, closed } = await createManager({}, 40);
    const txs = await drain(manager, 0);
    expect(closed.length).toBeGreaterThanOrEqual(2);
    expect(closed.every(({ reason, frames }) => reason === "compressor-full" && frames === 1)).toBe(true);
    expect(txs.map(framesOf)).toEqual(closed.map((_, channel) => [{ channel, number: 0, isLast: true }]));
    expect(txs.every(({ data }) => data.length <= 2000)).toBe(true);
  });

  it.each<["singular" | "span", 0 | 1]>([
    ["singular", 0],
    ["span", 1],
  ])("sends a %s block that exceeds the target alone in several frames", async (_, batchType) => {
    const { manager, closed } = await createManager({ batchType }, 2, 5000);
    const txs = await drain(manager, 0);
    expect(closed.map(({ blocks }) => blocks)).toEqual([1, 1]);
    const perChannel = txs.length / 2;
    expect(perChannel).toBeGreaterThanOrEqual(3);
    expect(txs.slice(0, perChannel).flatMap(framesOf)).toEqual(
      Array.from({ length: perChannel }, (__, number) => ({ channel: 0, number, isLast: number === perChannel - 1 })),
    );
    expect(txs.every(({ data }) => data.length <= 2000)).toBe(true);
  });

  it("fills several frames before it closes a channel", async () => {
    const { manager, closed } = await createManager({ targetNumFrames: 3 }, 40);
    await drain(manager, 0);
    expect(closed[0]).toMatchObject({ reason: "compressor-full", frames: 3 });
  });

  it("lets frames of singular batches leave early", async () => {
    const { manager, closed } = await createManager(EARLY_FRAMES, 40, 5000);
    expect(framesOf((await manager.nextTxData(0))!)).toEqual([{ channel: 0, number: 0, isLast: false }]);
    expect(closed).toEqual([]);
  });
});

describe("deadlines", () => {
  it("closes after the channel duration, counted from the L1 head when the last channel was closed", async () => {
    const { manager, closed, blocks } = await createManager({ maxChannelDuration: 5 }, 3);
    expect(await manager.nextTxData(4)).toBeUndefined();
    expect(await manager.nextTxData(5)).toBeDefined();
    expect(closed).toEqual([{ reason: "max-duration", blocks: 3, frames: 1 }]);
    expect(blocks[2]!.ref.l1Origin.number).toBe(3); // which is behind that head
    const next: BatcherBlock = {
      ...blocks[2]!,
      ref: { ...blocks[2]!.ref, number: 4, parentHash: blocks[2]!.ref.hash, hash: "0x04" },
    };
    manager.addBlock({ ...next, input: { ...next.input, timestampSec: next.input.timestampSec + 2, sequenceNumber: 1 } });
    expect(await manager.nextTxData(9)).toBeUndefined();
    expect(await manager.nextTxData(10)).toBeDefined();
  });

  it("closes before the sequencing window of its first block ends", async () => {
    const { manager, closed } = await createManager({}, 3);
    expect(await manager.nextTxData(3600 - 10)).toBeUndefined(); // the first block's origin is 1
    expect(await manager.nextTxData(3601 - 10)).toBeDefined();
    expect(closed[0]?.reason).toBe("sequencing-window-near");
  });

  it("closes before the timeout of a channel whose first frame is on L1", async () => {
    const { manager, closed } = await createManager(EARLY_FRAMES, 40, 5000);
    const first = await drain(manager, 100);
    expect(closed).toEqual([]);
    for (const { id } of first) expect(manager.confirm(id, 100)).toEqual({ kind: "ok" });
    expect(await manager.nextTxData(139)).toBeUndefined();
    expect(await manager.nextTxData(140)).toBeDefined(); // 100 + 50 − 10
    expect(closed[0]?.reason).toBe("channel-timeout-near");
  });

  it("closes when a flush is asked for, once", async () => {
    const { manager, closed } = await createManager({}, 3);
    manager.requestFlush();
    expect(await manager.nextTxData(0)).toBeDefined();
    expect(closed).toEqual([{ reason: "flushed", blocks: 3, frames: 1 }]);
    expect(await manager.nextTxData(0)).toBeUndefined();
  });
});

describe("what becomes of transactions", () => {
  it("sends the frames of a failed transaction again, the same and first", async () => {
    const { manager } = await createManager({}, 2, 5000);
    const first = (await manager.nextTxData(0))!;
    expect(manager.fail(first.id)).toEqual({ kind: "ok" });
    const again = (await manager.nextTxData(0))!;
    expect(again.data).toEqual(first.data);
    expect(again.id).toBeGreaterThan(first.id);
    expect(framesOf((await manager.nextTxData(0))!)).toEqual([{ channel: 0, number: 1, isLast: false }]);
  });

  it.each<[string, (manager: ChannelManager, later: TxData) => void]>([
    ["is on its way", () => {}],
    ["is included", (manager, later) => manager.confirm(later.id, 7)],
  ])("starts again when a transaction fails while a later one %s", async (_, then) => {
    const { manager } = await createManager({}, 2, 5000);
    const first = (await manager.nextTxData(0))!;
    const later = (await manager.nextTxData(0))!;
    then(manager, later);
    expect(manager.fail(first.id)).toEqual({ kind: "reset", reason: "transaction-failed-out-of-order" });
  });

  it("forgets a failed transaction whose blocks are safe", async () => {
    const { manager, view } = await createManager({ maxChannelDuration: 1 }, 3);
    const [tx] = await drain(manager, 10);
    expect(manager.update(view(3))).toEqual({ kind: "ok" });
    expect(manager.fail(tx!.id)).toEqual({ kind: "ok" });
    expect(await manager.nextTxData(10)).toBeUndefined();
  });

  it("starts again when the frames of a channel are too far apart", async () => {
    const { manager, view } = await createManager({}, 1, 5000);
    const [first, second, third] = await drain(manager, 0);
    expect(manager.confirm(first!.id, 100)).toEqual({ kind: "ok" });
    expect(manager.confirm(second!.id, 101)).toEqual({ kind: "ok" });
    expect(manager.update(view(0, { l1Head: 149 }))).toEqual({ kind: "ok" });
    expect(manager.update(view(0, { l1Head: 150 }))).toEqual({ kind: "reset", reason: "channel-timed-out" });
    expect(manager.confirm(third!.id, 150)).toEqual({ kind: "reset", reason: "channel-timed-out" });
  });

  it("ignores what becomes of transactions that are not its own", async () => {
    const { manager } = await createManager({ maxChannelDuration: 1 }, 3);
    expect(manager.confirm(7, 11)).toEqual({ kind: "ok" });
    expect(manager.fail(7)).toEqual({ kind: "ok" });
  });
});

describe("what becomes of blocks", () => {
  it("refuses a block that is not the child of the tip", async () => {
    const { manager, rollup, blocks } = await createManager({}, 3);
    expect(manager.addBlock(blocks[2]!)).toEqual({ kind: "reset", reason: "l2-reorg" });
    rollup.reorgUnsafe(2);
    rollup.produce(4);
    const [other] = await rollup.blocks(4, 1);
    expect(manager.addBlock(other!)).toEqual({ kind: "reset", reason: "l2-reorg" });
  });

  it("forgets blocks that became safe, and channels once they are on L1 too", async () => {
    const { manager, view } = await createManager({ maxChannelDuration: 1 }, 3);
    const [tx] = await drain(manager, 10);
    expect(manager.update(view(2))).toEqual({ kind: "ok" });
    expect(manager.blockCount).toBe(1);
    expect(manager.confirm(tx!.id, 11)).toEqual({ kind: "ok" });
    expect(manager.update(view(3, { currentL1: 100 }))).toEqual({ kind: "ok" });
    expect(manager.blockCount).toBe(0);
    expect(manager.tip.number).toBe(3);
  });

  it("starts again when what was published is not derived", async () => {
    const { manager, view } = await createManager({ maxChannelDuration: 1 }, 3);
    const [tx] = await drain(manager, 10);
    manager.confirm(tx!.id, 11);
    expect(manager.update(view(2, { currentL1: 12 }))).toEqual({ kind: "ok" });
    expect(manager.update(view(2, { currentL1: 13 }))).toEqual({ kind: "reset", reason: "published-but-not-derived" });
  });

  it.each<
    [
      string,
      (view: (safe: number, rest?: Partial<ChainView>) => ChainView, ref: (number: number) => L2BlockRef) => ChainView,
      string,
    ]
  >([
    ["the unsafe head goes back", (view, ref) => view(1, { unsafeL2: ref(2) }), "l2-reorg"],
    ["the unsafe head is another block", (view, ref) => view(1, { unsafeL2: { ...ref(3), hash: "0x01" } }), "l2-reorg"],
    ["the safe head is another block", (view, ref) => view(1, { safeL2: { ...ref(2), hash: "0x01" } }), "l2-reorg"],
    ["the safe head goes back", (view, ref) => view(1, { safeL2: ref(0) }), "safe-head-went-back"],
    [
      "the safe head passes the tip",
      (view, ref) => view(3, { safeL2: { ...ref(3), number: 4 }, unsafeL2: { ...ref(3), number: 9 } }),
      "safe-head-overtook",
    ],
    ["blocks become safe that were not sent", (view) => view(2), "safe-head-overtook"],
  ])("starts again when %s", async (_, change, reason) => {
    const { manager, view, ref } = await createManager({}, 3, 100, 1);
    expect(manager.update(view(1))).toEqual({ kind: "ok" });
    expect(manager.update(change(view, ref))).toEqual({ kind: "reset", reason });
  });

  it("starts again when blocks of a channel become safe that still has frames to send", async () => {
    const { manager, view } = await createManager({}, 1, 5000);
    await manager.nextTxData(0);
    expect(manager.update(view(1))).toEqual({ kind: "reset", reason: "safe-head-overtook" });
  });
});

describe("terminate", () => {
  it("gives up channels of which nothing was sent", async () => {
    const { manager } = await createManager({}, 3);
    await manager.nextTxData(0);
    await manager.terminate();
    expect(await manager.nextTxData(99_999)).toBeUndefined();
  });

  it("ends a channel of which something was sent", async () => {
    const { manager } = await createManager(EARLY_FRAMES, 40, 5000);
    const sent = await drain(manager, 0);
    await manager.terminate();
    const rest = await drain(manager, 0);
    expect(sent.length).toBeGreaterThan(0);
    expect([...sent, ...rest].flatMap(framesOf).map(({ number }) => number)).toEqual(
      Array.from({ length: sent.length + rest.length }, (_, i) => i),
    );
    expect(framesOf(rest.at(-1)!)[0]?.isLast).toBe(true);
  });
});
