import type { BatchDropReason } from "@rnode/derivation";
import type { LogFields } from "@rnode/observe";
import { silentLogger } from "@rnode/observe";
import { ManualClock } from "@rnode/primitives/testing";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC, testConfig } from "../testing/fake-chain.ts";
import { SimNetwork } from "../testing/sim-network.ts";
import { SafeHeadWatch } from "./safe-head-watch.ts";

const MINUTE_MS = 60_000;
const L1_BLOCK_MS = 12_000;
const WINDOW = 320;

function watching() {
  const clock = new ManualClock(GENESIS_TIME_SEC * 1_000);
  const lines: { level: string; text: string; fields: LogFields }[] = [];
  const note =
    (level: string) =>
    (text: string, fields: LogFields = {}) =>
      void lines.push({ level, text, fields });
  const log = { ...silentLogger, warn: note("warn"), info: note("info") } as typeof silentLogger;
  const watch = new SafeHeadWatch({ config: testConfig("jovian", { seqWindowSize: WINDOW }), clock, log });
  const { onL1Block, onBatch, onDataDropped } = watch.observer;
  const l1 = (number: number): L1BlockRef => ({ hash: `0x${number}`, number, parentHash: "0x", timestamp: number * 12 });
  const l2 = (number: number, l1Origin: number): L2BlockRef => ({
    ...l1(number),
    l1Origin: { hash: "0x", number: l1Origin },
    sequenceNumber: 0,
  });
  let at = 100;
  return {
    watch,
    lines,
    l1,
    l2,
    /** derivation reads this many L1 blocks, each at its time */
    read(count: number): void {
      for (let i = 0; i < count; i++) {
        clock.advance(L1_BLOCK_MS);
        onL1Block?.(l1(++at));
      }
    },
    /** a batch of one block is judged */
    batch(block: number, verdict: "accept" | BatchDropReason, type: "singular" | "empty" = "singular"): void {
      onBatch?.({
        batch: {
          type,
          channelId: "0x01",
          l1InclusionBlock: l1(at),
          timestamp: GENESIS_TIME_SEC + block * 2,
          epochNumber: at,
          blockCount: 1,
          transactionCount: 0,
          fromSpan: false,
        },
        verdict: verdict === "accept" ? { kind: "accept" } : { kind: "drop", reason: verdict },
      });
    },
    dropTransaction: () => onDataDropped?.({ block: l1(at), transactionHash: "0xabc", reason: "frame-truncated" }),
    safe: (number: number, l1Origin: number) => watch.onSafe(l2(number, l1Origin), l1(at)),
    texts: () => lines.map(({ level, text }) => `${level} ${text}`),
  };
}

const STALL = "warn the safe head stands still while derivation goes on";
const MOVES = "info the safe head moves again";

describe("a safe head that stands still", () => {
  it("is said with what was dropped and what the window allows, less often as it lasts, and when it moves again", () => {
    const t = watching();
    t.watch.onReset(t.l2(50, 100));
    t.read(9);
    t.batch(51, "parent-hash-mismatch");
    t.dropTransaction();
    t.batch(52, "parent-hash-mismatch");
    expect(t.lines).toEqual([]);
    t.read(1);
    expect(t.texts()).toEqual([STALL]);
    expect(t.lines[0]!.fields).toEqual({
      safe: 50,
      since: new Date(GENESIS_TIME_SEC * 1_000).toISOString(),
      forSec: 120,
      sinceL1Block: 100,
      l1Blocks: 10,
      dropped: "2 batch parent-hash-mismatch, 1 transaction frame-truncated",
      lastDropped: "singular batch of block 52 in L1 block 109: parent-hash-mismatch",
      windowLeftL1Blocks: WINDOW - 10,
    });
    t.read(WINDOW - 10);
    // at 10, 20, 40, 80, 160 (half), 200, 240, 280 and 320 L1 blocks
    expect(t.lines.map(({ fields }) => fields.l1Blocks)).toEqual([10, 20, 40, 80, 160, 200, 240, 280, 320]);
    expect(t.lines.at(-1)!.fields.windowLeftL1Blocks).toBe(0);
    t.safe(51, 101);
    expect(t.texts().at(-1)).toBe(MOVES);
    expect(t.lines.at(-1)!.fields).toEqual({ safe: 51, afterL1Blocks: WINDOW, afterSec: WINDOW * 12 });
    expect(t.watch.state).toMatchObject({ stalledSec: 0, stalledL1Blocks: 0, windowLeftL1Blocks: 1 });
  });

  it("is not said while it moves, nor of what was in the safe chain before a restart", () => {
    const t = watching();
    t.watch.onReset(t.l2(50, 130));
    t.dropTransaction();
    t.read(30);
    for (let i = 1; i < 300; i++) {
      t.read(1);
      if (i % 4 === 0) t.safe(50 + i, 128 + i);
      if (i % 3 === 0) t.batch(49, "timestamp-in-past");
    }
    expect(t.lines).toEqual([]);
    expect(t.watch.faults).toEqual([]);
  });

  it("stays said over a reset, and what is derived again is no step forward", () => {
    const t = watching();
    t.watch.onReset(t.l2(50, 100));
    t.read(40);
    expect(t.texts()).toEqual([STALL, STALL, STALL]);
    t.watch.onReset(t.l2(40, 90));
    t.safe(41, 91);
    expect(t.watch.state.windowLeftL1Blocks).toBe(91 + WINDOW - 140);
    expect(t.texts()).toHaveLength(3);
    t.safe(51, 101);
    expect(t.texts().at(-1)).toBe(MOVES);
  });

  it("makes the node unready from half of the window on", () => {
    const t = watching();
    t.watch.onReset(t.l2(50, 100));
    t.read(WINDOW / 2 - 1);
    expect(t.watch.faults).toEqual([]);
    t.read(1);
    expect(t.watch.faults).toEqual(["the safe head 50 is at L1 block 100, derivation at 260: the sequencing window ends in 160"]);
    t.safe(400, 255);
    expect(t.watch.faults).toEqual([]);
  });

  it("is said when blocks without transactions follow, once, and when batches are found again", () => {
    const t = watching();
    t.watch.onReset(t.l2(50, 100));
    t.read(WINDOW);
    const before = t.lines.length;
    for (let block = 51; block < 81; block++) {
      t.batch(block, "accept", "empty");
      t.safe(block, 100 + block - 50);
      t.read(1);
    }
    const empties = "warn the sequencing window has ended without a batch: blocks without transactions are derived";
    expect(t.texts().slice(before)).toEqual([empties]);
    expect(t.watch.faults).toHaveLength(1);
    t.batch(81, "accept");
    t.safe(81, 440);
    expect(t.texts().slice(before + 1)).toEqual(["info batches are found again", MOVES]);
    expect(t.lines.at(-2)!.fields).toMatchObject({ emptyBlocks: 30 });
  });
});

describe("a node over an L1 whose transactions are hidden from it", () => {
  it("says that safe stands still, then that it derives empty blocks", async () => {
    const network = new SimNetwork();
    await network.run(5 * MINUTE_MS);
    const { verifier } = network;
    const warnings = () => verifier.harness.logs.filter(({ level }) => level === "warn").map(({ text }) => `warn ${text}`);
    expect(warnings()).toEqual([]);
    verifier.l1.hidesTransactions = true;
    await network.run(3 * MINUTE_MS);
    expect(warnings()).toContain(STALL);
    expect(verifier.harness.safeHeadWatch.faults).toHaveLength(1);
    verifier.l1.hidesTransactions = false;
    await network.run(3 * MINUTE_MS);
    expect(verifier.harness.logs.some(({ text }) => text.includes("blocks without transactions are derived"))).toBe(true);
  });
});
