import { keccak256, uint64ToBytes } from "@rnode/primitives";
import { simManager } from "@rnode/tx-manager/testing";
import { describe, expect, it } from "vitest";
import { Simulation } from "./testing/simulation.ts";

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const paidAfter = (simulation: Simulation, blocks: number) =>
  simulation.l1.blocks.slice(blocks).reduce((sum, { transactions }) => sum + transactions.length, 0);

describe("what derivation would drop", () => {
  it("is not published: a block whose sequencing window is over", async () => {
    const simulation = new Simulation({ seqWindowSize: 20 });
    simulation.rollup.produce(5);
    for (let i = 0; i < 40; i++) simulation.l1.mine();
    const submitter = simulation.start();
    await simulation.run(300, false);
    expect(simulation.l1.transactions).toEqual([]);
    expect(simulation.errors).toMatchObject([
      { text: expect.stringMatching(/sequencing window of the next block is over/), fields: { block: 1 } },
    ]);
    expect(submitter.status().trouble).toMatch(/sequencing window/);
    // The sequencer rebuilds them on a current L1 origin, as after a reset of the rollup node.
    simulation.rollup.reorgUnsafe(5);
    simulation.rollup.skipOrigins(simulation.l1.headNumber);
    await simulation.run(100);
    await simulation.settle();
    expect(submitter.status()).not.toHaveProperty("trouble");
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });

  it("is not published: blocks on an L1 origin that was reorganised away", async () => {
    const simulation = new Simulation();
    simulation.start();
    await simulation.run(100);
    simulation.l1.reorg(3, false);
    const head = simulation.l1.headNumber;
    await simulation.run(24, false);
    expect(simulation.errors.map(({ text }) => text)).toEqual([expect.stringMatching(/reorganised away the L1 origin/)]);
    expect(paidAfter(simulation, head + 2)).toBe(0);
  });

  it("is not published: anything, while L1 names another batcher", async () => {
    const simulation = new Simulation();
    simulation.batcherOnL1 = new Uint8Array(20).fill(9);
    simulation.start();
    await simulation.run(120);
    expect(simulation.l1.transactions).toEqual([]);
    expect(simulation.errors).toMatchObject([{ fields: { batcherOnL1: `0x${"09".repeat(20)}` } }]);
    simulation.batcherOnL1 = undefined;
    await simulation.run(120);
    await simulation.settle();
  });
});

describe("an L1 that does not answer", () => {
  it.each(["head", "feeMarket", "blockHash", "balance", "nonce", "inclusion"] as const)(
    "at half of the calls of %s loses no frame",
    async (method) => {
      const simulation = new Simulation({ spendLimits: { perHourWei: 1000n * ETHER }, channels: { maxL1TxSizeBytes: 600 } });
      const { l1 } = simulation;
      const answer = l1[method].bind(l1) as (...args: unknown[]) => Promise<unknown>;
      let calls = 0;
      Object.assign(l1, {
        [method]: (...args: unknown[]) =>
          keccak256(uint64ToBytes(calls++))[0]! % 2 === 0 ? Promise.reject(new Error("away")) : answer(...args),
      });
      simulation.start();
      await simulation.run(200);
      await simulation.settle();
      expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0, timedOut: 0 });
      expect(calls).toBeGreaterThan(0);
    },
  );
});

/** Sends a transaction to the inbox with the batcher's key, and waits until the batcher stops. */
async function stopByStray(simulation: Simulation): Promise<void> {
  const { l1, clock, rollup } = simulation;
  const { data } = l1.transactions.at(-1)!; // frames that L1 has already
  const stray = { to: rollup.config.batchInboxAddress, carries: { kind: "calldata", data } } as const;
  void simManager({ l1, clock }, { minTipWei: 20n * GWEI }).send(stray, new AbortController().signal);
  await simulation.run(120);
}

describe("a second submitter with the same key", () => {
  it("is noticed: one of the two stops with a message, and the other publishes everything once", { tags: "long" }, async () => {
    const simulation = new Simulation({ channels: { maxL1TxSizeBytes: 600 } });
    const first = simulation.start();
    await simulation.run(300);
    const second = simulation.startAnother();
    await simulation.run(1500);
    expect([first.isRunning, second.isRunning].filter((isRunning) => isRunning)).toHaveLength(1);
    const stopped = first.isRunning ? second : first;
    expect(stopped.status()).toMatchObject({
      trouble: expect.stringMatching(/a second batch submitter/),
      waitingFor: expect.stringContaining("admin_startBatcher"),
    });
    expect(simulation.errors).toHaveLength(1);
    expect(simulation.errors[0]!.fields).toMatchObject({ to: `0x${"ff".repeat(20)}`, hash: expect.stringMatching(/^0x/) });
    await simulation.settle();
  });

  it("that is gone again leaves the first one publishing after five quiet minutes", { tags: "long" }, async () => {
    const simulation = new Simulation({ channels: { maxL1TxSizeBytes: 600 } });
    const submitter = simulation.start();
    await simulation.run(300);
    await stopByStray(simulation);
    expect(submitter.status()).toMatchObject({ trouble: expect.stringMatching(/a second batch submitter/) });
    await simulation.run(300);
    expect(submitter.isRunning).toBe(true);
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ unfit: 0, timedOut: 0 });
  });

  it("does not start what an operator has stopped", async () => {
    const simulation = new Simulation({ channels: { maxL1TxSizeBytes: 600 } });
    const submitter = simulation.start();
    await simulation.run(300);
    await stopByStray(simulation);
    expect(await submitter.stop()).toBe(true);
    expect(await submitter.stop()).toBe(false);
    await simulation.run(900);
    expect(submitter.isRunning).toBe(false);
    expect(submitter.status()).toEqual({ waitingFor: "admin_startBatcher" });
  });

  it("is not seen in the transactions of a process before, however often it is killed", { tags: "long" }, async () => {
    const simulation = new Simulation({ channels: { maxL1TxSizeBytes: 600 } });
    for (let i = 0; i < 20; i++) {
      const submitter = simulation.start();
      await simulation.run(110 + 7 * i);
      expect(submitter.isRunning).toBe(true);
      simulation.kill();
      await simulation.run(i);
    }
    expect(simulation.errors).toEqual([]);
  });
});

describe("the spend limit", () => {
  it("holds, and publishing goes on by itself when payments are old", async () => {
    const simulation = new Simulation({ spendLimits: { perHourWei: ETHER / 500n }, channels: { maxL1TxSizeBytes: 2000 } });
    const submitter = simulation.start();
    await simulation.run(1800);
    const { l1 } = simulation;
    const spent = simulation.spentWei;
    expect(spent).toBeGreaterThan(ETHER / 1000n);
    expect(spent).toBeLessThanOrEqual(ETHER / 500n);
    expect(submitter.status().trouble).toMatch(/--max-l1-spend-per-hour/);
    expect(simulation.errors).toMatchObject([{ fields: { limitEther: 0.002 } }]);
    const count = l1.transactions.length;
    await simulation.run(600);
    expect(l1.transactions).toHaveLength(count);
    await simulation.run(1800);
    expect(l1.transactions.length).toBeGreaterThan(count);
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });

  it("holds over restarts: what was paid before is read from L1", { tags: "long" }, async () => {
    const limit = ETHER / 500n;
    const simulation = new Simulation({ spendLimits: { perHourWei: limit }, channels: { maxL1TxSizeBytes: 2000 } });
    for (let minute = 0; minute < 50; minute += 5) {
      simulation.start(); // after a kill
      await simulation.run(300);
    }
    expect(simulation.spentWei).toBeGreaterThan(limit / 2n);
    expect(simulation.spentWei).toBeLessThanOrEqual(limit);
    expect(simulation.log.filter(({ text }) => text.startsWith("what was paid before counts")).length).toBeGreaterThan(5);
  });

  it("says from when on it counts where L1 has no older states", async () => {
    const simulation = new Simulation({ spendLimits: { perDayWei: ETHER } });
    simulation.start();
    await simulation.run(1800);
    simulation.l1.prunedUpTo = simulation.l1.headNumber - 20;
    simulation.start();
    await simulation.run(300);
    expect(simulation.log.filter(({ level }) => level === "warn").map(({ text }) => text)).toContain(
      "the L1 endpoint has no older states: what was paid before does not count towards --max-l1-spend-per-day",
    );
  });
});

describe("blobs and calldata", () => {
  it("are used as L1 prices them, channel by channel, without a gap", async () => {
    const simulation = new Simulation({ channels: { dataAvailabilityType: "auto", maxL1TxSizeBytes: 120_000 } });
    const kinds = (): Set<number> =>
      new Set(simulation.l1.blocks.slice(-8).flatMap(({ transactions }) => transactions.map(({ type }) => type)));
    simulation.start();
    await simulation.run(240);
    expect(kinds()).toEqual(new Set([3]));
    simulation.l1.blobBaseFee = 2000n * GWEI;
    await simulation.run(300);
    expect(kinds()).toEqual(new Set([2]));
    simulation.l1.blobBaseFee = 1n;
    await simulation.run(300);
    expect(kinds()).toEqual(new Set([3]));
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });
});
