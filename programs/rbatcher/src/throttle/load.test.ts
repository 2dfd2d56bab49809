import { flzCompressLength } from "@rnode/protocol";
import { SimL1 } from "@rnode/tx-manager/testing";
import { describe, expect, it } from "vitest";
import { SimRollup } from "../testing/sim-rollup.ts";
import { createThrottledLoad } from "../testing/throttled-load.ts";

/** Fjord's estimate in whole bytes, as written in the specification. */
const estimate = (transaction: Uint8Array): number =>
  Math.max(100, Math.floor((836_500 * flzCompressLength(transaction) - 42_585_600) / 1_000_000));

/** Real blocks in a channel manager, and a throttle with the options that a user gives. */
async function setUp(blockCount: number, perBlock: number, dataBytes: number, args: readonly string[] = []) {
  const l1 = new SimL1();
  const rollup = new SimRollup(l1);
  rollup.transactionsPerBlock = perBlock;
  rollup.dataBytes = dataBytes;
  l1.mine();
  rollup.produce(blockCount);
  const blocks = await rollup.blocks(1, blockCount);
  const told: (readonly unknown[])[] = [];
  const endpoint = { name: "engine", call: async (_: string, params: readonly unknown[]) => void told.push(params) };
  const load = createThrottledLoad((await rollup.syncStatus()).safeL2, endpoint, args);
  for (const block of blocks) load.manager.addBlock(block);
  const expected = blocks.reduce(
    (sum, { input }) => input.transactions.reduce((total, transaction) => total + estimate(transaction), sum + 70),
    0,
  );
  await load.throttle.step();
  return { ...load, rollup, blocks, expected, told };
}

describe("load", () => {
  it("of 30 transfers a second for a minute is some hundred kilobytes, and leaves blocks as they are", async () => {
    const { manager, told, throttle, gauge } = await setUp(30, 60, 0);
    expect(manager.unsafeDaBytes).toBe(30 * (70 + 60 * 100));
    expect(told).toEqual([["0x0", "0x1fbd0"]]); // 130,000 bytes a block, no limit of a transaction
    expect(throttle.info()).toMatchObject({ current_load: 182_100, intensity: 0, max_tx_size: 0, max_block_size: 130_000 });
    expect(await gauge("unsafe_bytes_ratio")).toBeCloseTo(182_100 / 3_200_000, 9);
    manager.destroy();
  });

  // Few and many blocks, small and large transactions, from none to full throttling.
  const CASES = [1, 4, 13].flatMap((blocks) =>
    [0, 1, 7].flatMap((perBlock) => [0, 40, 3000].map((dataBytes) => [blocks, perBlock, dataBytes] as const)),
  );
  it.each(CASES)("of %i blocks with %i transactions with %i bytes is that of their estimates, everywhere", async (...shape) => {
    const [lower, upper] = [1000, 100_000];
    const { manager, expected, told, throttle, gauge } = await setUp(...shape, [
      `--throttle.unsafe-da-bytes-lower-threshold=${lower}`,
      `--throttle.unsafe-da-bytes-upper-threshold=${upper}`,
    ]);
    expect(manager.unsafeDaBytes).toBe(expected);
    expect(manager.unsubmittedDaBytes).toBe(expected);
    const intensity = Math.min(1, Math.max(0, (expected - lower) / (upper - lower)) ** 2);
    const limit = (most: number, least: number): number => Math.floor(most - intensity * (most - least));
    const [maxTxSize, maxBlockSize] = [intensity === 0 ? 0 : limit(20_000, 150), limit(130_000, 2000)];
    expect(told.map((params) => params.map(Number))).toEqual([[maxTxSize, maxBlockSize]]);
    expect(throttle.info()).toMatchObject({ current_load: expected, max_tx_size: maxTxSize, max_block_size: maxBlockSize });
    expect(await gauge("unsafe_bytes_ratio")).toBeCloseTo(expected / lower, 9);
    expect(await gauge("throttle_intensity")).toBeCloseTo(intensity, 9);
    expect(await gauge("throttle_max_tx_size")).toBe(maxTxSize);
    expect(await gauge("throttle_max_block_size")).toBe(maxBlockSize);
    manager.destroy();
  });

  it("is about what the channel takes on L1, before and after it is closed, until its blocks are safe", async () => {
    const { manager, expected, blocks, rollup } = await setUp(20, 5, 1000);
    const before = manager.unsafeDaBytes;
    expect(before).toBe(expected);
    const tx = await manager.nextTxData(10);
    const published = tx!.data.reduce((sum, { length }) => sum + length, 0);
    expect(published).toBeGreaterThan(before / 2);
    expect(published).toBeLessThan(before * 2);
    expect(manager.unsubmittedDaBytes).toBe(0);
    expect(manager.unsafeDaBytes).toBeGreaterThan(published - 100); // under way, without the frame's overhead
    expect(manager.unsafeDaBytes).toBeLessThan(published);
    manager.confirm(tx!.id, 11);
    expect(manager.unsafeDaBytes).toBeGreaterThan(published - 100);
    const status = await rollup.syncStatus();
    manager.update({ safeL2: blocks.at(-1)!.ref, unsafeL2: status.unsafeL2, currentL1: 11, l1Head: 12 });
    expect(manager.unsafeDaBytes).toBe(0);
    manager.destroy();
  });
});
