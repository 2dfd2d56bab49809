import { describe, expect, it } from "vitest";
import { type SimOptions, Simulation } from "./testing/simulation.ts";

const GWEI = 10n ** 9n;

const CASES: [string, SimOptions][] = [
  ["span batches, zlib", {}],
  ["span batches, brotli", { channels: { compressionAlgo: "brotli-9" } }],
  ["singular batches", { channels: { batchType: 0 } }],
  ["singular batches in several frames", { channels: { batchType: 0, targetNumFrames: 4, maxL1TxSizeBytes: 600 } }],
  ["blobs", { channels: { dataAvailabilityType: "blobs" } }],
  [
    "six blobs a transaction, several transactions",
    { maxPendingTransactions: 3, channels: { dataAvailabilityType: "blobs", targetNumFrames: 6, maxChannelDuration: 4 } },
  ],
  ["whichever is cheaper", { channels: { dataAvailabilityType: "auto" } }],
  ["several span batches a channel", { channels: { maxBlocksPerSpanBatch: 3 } }],
  ["three transactions at once", { maxPendingTransactions: 3, channels: { maxL1TxSizeBytes: 300 } }],
  [
    "any number of transactions, deep confirmations",
    { maxPendingTransactions: 0, confirmations: 5, channels: { maxL1TxSizeBytes: 300 } },
  ],
];

describe("BatchSubmitter", () => {
  it.each(CASES)("publishes every block once: %s", async (_, options) => {
    const simulation = new Simulation(options);
    simulation.start();
    await simulation.run(300);
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0, timedOut: 0 });
    expect(simulation.rollup.unsafeHead.number).toBe(150);
  });

  // An L1 origin that is further behind the head than the duration closes no channel early.
  const DURATIONS = [1, 2, 5].flatMap((duration) =>
    [0, 1, 4].flatMap((l1Confs) => [1000, 6000].map((pollIntervalMs) => [duration, l1Confs, pollIntervalMs] as const)),
  );
  it.each(DURATIONS)(
    "closes a channel once in %i L1 blocks, %i behind L1, asking every %i ms",
    async (duration, l1Confs, pollIntervalMs) => {
      const simulation = new Simulation({ pollIntervalMs, channels: { maxChannelDuration: duration } });
      simulation.rollup.l1Confs = l1Confs;
      simulation.rollup.transactionsPerBlock = 0;
      simulation.start();
      await simulation.run(600);
      const { blocks, transactions } = simulation.l1;
      const fewest = Math.floor((blocks.length - l1Confs) / (duration + 1)) - 1;
      const most = Math.ceil(blocks.length / duration) + 1;
      expect(transactions.length).toBeGreaterThanOrEqual(fewest);
      expect(transactions.length).toBeLessThanOrEqual(most);
      for (const block of blocks) expect(block.transactions.length).toBeLessThanOrEqual(1);
      // Blocks of the last channels are not safe yet.
      const missing = simulation.rollup.unsafeHead.number - simulation.derived.safe.number;
      expect(missing).toBeLessThanOrEqual(6 * (duration + 3));
    },
  );

  it("asks L1 little between transactions", async () => {
    const simulation = new Simulation({ channels: { maxChannelDuration: 100 } });
    simulation.rollup.transactionsPerBlock = 0;
    simulation.start();
    await simulation.run(1300); // the first channel is closed at once
    const asked: string[] = [];
    for (const method of ["head", "blockHash", "nonce", "balance", "feeMarket", "inclusion"] as const) {
      const answer = simulation.l1[method].bind(simulation.l1) as (...args: unknown[]) => Promise<unknown>;
      Object.assign(simulation.l1, {
        [method]: (...args: unknown[]) => {
          asked.push(method);
          return answer(...args);
        },
      });
    }
    await simulation.run(600);
    expect(new Set(asked)).toEqual(new Set(["balance", "head"]));
    expect(asked.filter((method) => method === "head").length).toBeLessThanOrEqual(100); // of 600 rounds
    expect(asked.filter((method) => method === "balance").length).toBeLessThanOrEqual(10);
  });

  it.each(CASES)("neither leaves out nor repeats a block when it is killed at any moment: %s", async (_, options) => {
    const simulation = new Simulation(options);
    for (const [aliveSeconds, deadSeconds] of [
      [1, 0],
      [13, 1],
      [27, 30],
      [5, 0],
      [38, 13],
      [61, 2],
      [14, 0],
      [25, 7],
    ] as const) {
      simulation.start();
      await simulation.run(aliveSeconds);
      simulation.kill();
      await simulation.run(deadSeconds);
    }
    simulation.start();
    await simulation.run(60);
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });

  it("neither leaves out nor repeats a block whichever call is its last", { tags: "long" }, async () => {
    const simulation = new Simulation({ channels: { maxL1TxSizeBytes: 500 } });
    for (let calls = 1; calls <= 60; calls++) {
      simulation.start(calls);
      await simulation.run(14 + (calls % 11));
    }
    simulation.start();
    await simulation.run(60);
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });

  it("goes on where a graceful stop left off", async () => {
    const simulation = new Simulation();
    const submitter = simulation.start();
    await simulation.run(50);
    const stopping = submitter.stop();
    expect(submitter.start()).toBe(false);
    await simulation.run(12);
    expect(await stopping).toBe(true);
    expect(await submitter.stop()).toBe(false);
    const count = simulation.l1.transactions.length;
    await simulation.run(60);
    expect(simulation.l1.transactions).toHaveLength(count);
    expect(simulation.l1.pool.size).toBe(0);
    expect(submitter.start()).toBe(true);
    await simulation.run(60);
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });

  it("waits for endpoints that are away", async () => {
    const simulation = new Simulation();
    const { l1, rollup } = simulation;
    const submitter = simulation.start();
    await simulation.run(30);
    for (const endpoint of [l1, rollup, l1]) {
      endpoint.isDown = true;
      await simulation.run(40);
      expect(submitter.status()).toHaveProperty("trouble");
      endpoint.isDown = false;
      await simulation.run(40);
      expect(submitter.status()).not.toHaveProperty("trouble");
    }
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });

  it("outbids a rising base fee", async () => {
    const simulation = new Simulation();
    simulation.start();
    await simulation.run(20);
    simulation.l1.baseFee = 45n * GWEI;
    await simulation.run(200);
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
  });

  it("follows a reorganisation of the unsafe chain", async () => {
    const simulation = new Simulation();
    simulation.start();
    await simulation.run(40);
    simulation.rollup.reorgUnsafe(simulation.rollup.unsafeHead.number - simulation.derived.safe.number);
    await simulation.run(100);
    await simulation.settle();
  });

  it.each([
    ["come back to the pool", false],
    ["are lost", true],
  ])("follows a reorganisation of L1 whose transactions %s", async (_, isLost) => {
    const simulation = new Simulation();
    simulation.start();
    await simulation.run(100);
    const safeBefore = simulation.derived.safe.number;
    simulation.l1.reorg(4, isLost);
    await simulation.run(150);
    expect(simulation.derived.safe.number).toBeGreaterThan(safeBefore + 20);
    await simulation.settle();
    expect(simulation.derived.unfit).toBe(0);
  });

  it("catches up with thousands of blocks", { tags: "long" }, async () => {
    const simulation = new Simulation({ channels: { maxL1TxSizeBytes: 120_000 } });
    simulation.rollup.transactionsPerBlock = 0;
    for (let i = 0; i < 20; i++) simulation.l1.mine();
    simulation.rollup.produce(3000);
    simulation.start();
    await simulation.settle();
    expect(simulation.derived).toMatchObject({ repeated: 0, unfit: 0 });
    expect(simulation.l1.transactions.length).toBeLessThan(20);
  });

  it("publishes at once when a flush is asked for", async () => {
    const simulation = new Simulation({ channels: { maxChannelDuration: 0, maxL1TxSizeBytes: 120_000 } });
    const submitter = simulation.start();
    await simulation.run(30);
    expect(simulation.l1.transactions).toHaveLength(0);
    expect(submitter.flush()).toBe(true);
    await simulation.run(24);
    expect(simulation.l1.transactions).toHaveLength(1);
    expect(simulation.derived.safe.number).toBeGreaterThanOrEqual(15);
  });

  it("says how far it has come", async () => {
    const simulation = new Simulation();
    const submitter = simulation.start();
    await simulation.run(60);
    const { l1Head, unsafe, safe, ...rest } = submitter.status();
    expect(rest).toEqual({
      waitingBlocks: expect.any(Number),
      waitingBytes: expect.any(Number),
      pendingTransactions: expect.any(Number),
      lastInclusionL1Block: expect.any(Number),
      balanceEther: expect.any(Number),
    });
    expect([l1Head, unsafe]).toEqual([simulation.l1.headNumber, simulation.rollup.unsafeHead.number]);
    expect(safe).toBeGreaterThan(0);
    const stopping = submitter.stop();
    await simulation.run(12);
    await stopping;
    expect(submitter.status()).toEqual({ waitingFor: "admin_startBatcher" });
  });

  it("sends nothing while it is stopped", async () => {
    const simulation = new Simulation();
    const submitter = simulation.start();
    await submitter.stop();
    expect(submitter.flush()).toBe(false);
    await simulation.run(60);
    expect(simulation.l1.transactions).toHaveLength(0);
  });
});
