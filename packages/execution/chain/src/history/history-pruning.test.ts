import { createMetrics, silentLogger } from "@rnode/observe";
import type { PruneProgress } from "@rnode/storage";
import { describe, expect, it } from "vitest";
import { HistoryPruning } from "./history-pruning.ts";

const KEEP = 200;

/** A store with `rowsPerBlock` rows for each block, and a simulated clock on which a commit takes a microsecond for each row. */
function simulation({ head, rowsPerBlock = 100, finalized }: { head: number; rowsPerBlock?: number; finalized?: number }) {
  const world = { nowMs: 0, head, floor: 0, removedRows: 0, failures: 0, commits: [] as { atMs: number; tookMs: number }[] };
  const waiting: { atMs: number; action: () => void }[] = [];
  const remaining = () => Math.ceil(world.floor - world.removedRows / rowsPerBlock);
  const pruning = new HistoryPruning(KEEP, {
    store: {
      head: () => ({ number: world.head, hash: "0x00" }),
      retainedHistory: () => ({
        firstBlock: 0,
        oldestBlock: 0,
        oldestState: world.floor,
        oldestProof: world.floor,
        oldestReceipts: world.floor,
      }),
      pruneHistory(keepBlocks, maxRows): PruneProgress {
        if (world.failures > 0) {
          world.failures--;
          throw new Error("disk full");
        }
        const wanted = world.head - keepBlocks;
        world.floor = Math.max(world.floor, Math.min(wanted, finalized ?? wanted));
        const removedRows = Math.min(maxRows, world.floor * rowsPerBlock - world.removedRows);
        world.removedRows += removedRows;
        const tookMs = removedRows / 1000;
        world.commits.push({ atMs: world.nowMs, tookMs });
        world.nowMs += tookMs;
        return { removedRows, remainingBlocks: remaining(), heldBack: Math.max(0, wanted - world.floor) };
      },
    },
    delay: (delayMs, action) => {
      const entry = { atMs: world.nowMs + delayMs, action };
      waiting.push(entry);
      return { cancel: () => waiting.splice(waiting.indexOf(entry), 1) };
    },
    nowMs: () => world.nowMs,
    log: silentLogger,
    metrics: createMetrics({ prefix: "test_" }),
  });
  const runUntil = (endMs: number): void => {
    while (waiting.length > 0 && waiting[0]!.atMs <= endMs) {
      const { atMs, action } = waiting.shift()!;
      world.nowMs = Math.max(world.nowMs, atMs);
      action();
    }
    world.nowMs = Math.max(world.nowMs, endMs);
  };
  return { world, pruning, runUntil, waiting };
}

describe("HistoryPruning", () => {
  it("removes a long history in short commits with pauses between them", () => {
    const { world, pruning, runUntil } = simulation({ head: 10_200 });
    pruning.onHead();
    runUntil(60_000);
    expect(world.removedRows).toBe(10_000 * 100);
    for (const { tookMs } of world.commits) expect(tookMs).toBeLessThanOrEqual(10.1);
    for (const [index, { atMs }] of world.commits.slice(1).entries()) {
      const before = world.commits[index]!;
      expect(atMs - before.atMs - before.tookMs).toBeGreaterThanOrEqual(Math.max(15, 3 * before.tookMs) - 0.001);
    }
    expect(world.commits.length).toBeLessThan(150); // it has found a good size for its commits
  });

  it("waits until there is a batch, and does nothing between heads", () => {
    const { world, pruning, runUntil, waiting } = simulation({ head: 300 });
    pruning.onHead();
    runUntil(1000);
    expect(world.floor).toBe(100);
    for (let i = 0; i < 100; i++) {
      world.head++;
      pruning.onHead();
      runUntil(world.nowMs + 2000);
      expect(world.head - world.floor - KEEP).toBeLessThan(16);
      expect(waiting).toEqual([]);
    }
    expect(world.commits.length).toBeLessThan(20);
  });

  it("does not go round for blocks that are not final", () => {
    const { world, pruning, runUntil, waiting } = simulation({ head: 1000, finalized: 40 });
    pruning.onHead();
    runUntil(10_000);
    expect(world.floor).toBe(40);
    expect(waiting).toEqual([]);
    expect(world.commits.length).toBeLessThan(5);
  });

  it("tries again after an error, and never after stop", () => {
    const { world, pruning, runUntil, waiting } = simulation({ head: 1000 });
    world.failures = 2;
    pruning.onHead();
    runUntil(119_000);
    expect(world.commits).toEqual([]);
    runUntil(121_000);
    expect(world.removedRows).toBe(800 * 100);
    world.head += 100;
    pruning.onHead();
    pruning.stop();
    expect(waiting).toEqual([]);
    pruning.onHead();
    runUntil(300_000);
    expect(world.floor).toBe(800);
  });
});
