import { EngineError } from "@rnode/node-clients";
import { CodedError } from "@rnode/primitives";
import type { PayloadAttributes } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { attributesOn, GENESIS_TIME_SEC, L1_BLOCK_TIME_SEC, testConfig } from "../testing/fake-chain.ts";
import { buildUnsafe, createHarness, type HarnessOptions, userTransaction } from "../testing/harness.ts";

const BLOCK_MS = 2_000;

/** A sequencer whose L1 has `l1Blocks` blocks, and whose clock stands at the L2 genesis time plus `atSec`. */
async function sequencing(options: HarnessOptions = {}, atSec = 0) {
  const harness = createHarness({ l1Blocks: 10, ...options });
  harness.clock.now += atSec * 1_000;
  harness.sequencer.start();
  await harness.untilIdle();
  // after a reset it pauses for one block time, so that derivation comes first
  await harness.advance(BLOCK_MS);
  return harness;
}

const number = (harness: ReturnType<typeof createHarness>): number => harness.control.heads.unsafe.number;

describe("--sequencer.sealing-duration", () => {
  it.each([
    [300, 300],
    [0, 50],
    [-1_000, 50],
  ])("of %i ms has the payload fetched %i ms before the block's time", async (sealingDurationMs, beforeMs) => {
    const harness = await sequencing({ sequencer: { sealingDurationMs } });
    while (number(harness) === 1) await harness.advance(10, 10);
    expect((GENESIS_TIME_SEC + 4) * 1_000 - harness.clock.now).toBe(beforeMs);
  });
});

describe("sequencer timing", () => {
  it("seals each block shortly before its time, and starts the next at the time of its parent", async () => {
    const harness = await sequencing({}, 0);
    const { clock, engine } = harness;
    // genesis + 2 s: block 1 is due now, and was made at once
    expect(number(harness)).toBe(1);
    engine.calls.length = 0;
    await harness.advance(50);
    expect(engine.calls).toEqual([]); // block 2 has been under construction since block 1's time
    await harness.advance(1_850);
    expect(number(harness)).toBe(1);
    await harness.advance(50);
    expect(clock.now).toBe((GENESIS_TIME_SEC + 4) * 1_000 - 50);
    expect(number(harness)).toBe(2);
    engine.calls.length = 0;
    await harness.advance(50);
    expect(engine.calls.filter((call) => call === "build")).toHaveLength(1);
    await harness.advance(10 * BLOCK_MS);
    expect(number(harness)).toBe(12);
    expect(harness.published).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it("catches up at once when it is behind", async () => {
    const harness = await sequencing({}, 20);
    expect(number(harness)).toBe(11);
  });

  it("takes transactions from the pool", async () => {
    const harness = await sequencing();
    harness.engine.pool = [userTransaction(1), userTransaction(2)];
    await harness.advance(2 * BLOCK_MS);
    const three = harness.engine.block(harness.engine.head).envelope.executionPayload;
    expect(three.blockNumber).toBe(3);
    expect(three.transactions).toHaveLength(3);
  });

  it("is not held up by an L1 that does not answer", async () => {
    const harness = await sequencing();
    harness.l1.blockByNumber = () => new Promise(() => {});
    const looping = harness.driver.loop();
    for (let passed = 0; passed < 5 * BLOCK_MS; passed += 50) {
      harness.clock.advance(50);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { now } = harness.clock;
    harness.driver.close();
    harness.clock.advance(1_000);
    await looping;
    // a slow look-up costs a fraction of a second of a block's building time, never the block itself
    expect(number(harness)).toBe(6);
    expect(harness.control.heads.unsafe.timestamp * 1_000).toBeGreaterThanOrEqual(now);
  });
});

describe("L1 origin selection", () => {
  it("takes the next origin as soon as its time allows, one at a time", async () => {
    const harness = await sequencing({}, 0);
    await harness.advance(30_000);
    const origins: number[] = [];
    for (let block = harness.engine.block(harness.engine.head); block.ref.number > 0; ) {
      origins.unshift(block.ref.l1Origin.number);
      const { timestamp, l1Origin } = block.ref;
      expect(timestamp).toBeGreaterThanOrEqual(GENESIS_TIME_SEC + l1Origin.number * L1_BLOCK_TIME_SEC);
      block = harness.engine.block(block.ref.parentHash);
    }
    expect(origins).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
  });

  it("keeps its distance from the L1 head", async () => {
    const harness = await sequencing({ l1Blocks: 6, l1Confs: 4 }, 0);
    await harness.advance(60_000);
    expect(harness.control.heads.unsafe.l1Origin.number).toBe(1);
    harness.newL1Head(2);
    await harness.advance(3 * BLOCK_MS); // the block under construction already has its origin
    expect(harness.control.heads.unsafe.l1Origin.number).toBe(3);
  });

  it("leaves the pool alone beyond the drift, and waits when there is no next origin", async () => {
    // before Fjord the maximum drift comes from the configuration
    const config = testConfig("jovian", {
      maxSequencerDriftSec: 20,
      forkTimes: { regolith: 0, canyon: 0, delta: 0, ecotone: 0 },
    });
    const harness = await sequencing({ config, l1Blocks: 1 }, 0);
    await harness.advance(60_000);
    expect(number(harness)).toBe(10); // 20 s after the genesis, whose origin is just as old
    expect(harness.logs).toContainEqual(expect.objectContaining({ text: "waiting for L1" }));
    harness.newL1Head(1);
    harness.engine.pool = [userTransaction(1)];
    await harness.advance(4_000);
    const unsafe = harness.control.heads.unsafe;
    expect(unsafe.l1Origin.number).toBe(1);
    // catching up: origin 1 allows timestamps up to 12 s + 20 s
    expect(unsafe.number).toBe(16);
  });

  it("keeps the current origin with empty blocks while the next is too young", async () => {
    const config = testConfig("jovian", { maxSequencerDriftSec: 4, forkTimes: { regolith: 0, canyon: 0, delta: 0, ecotone: 0 } });
    const harness = await sequencing({ config, l1Blocks: 2 }, 0);
    harness.engine.pool = [userTransaction(1)];
    await harness.advance(8_000);
    const transactions = [];
    for (let block = harness.engine.block(harness.engine.head); block.ref.number > 0; ) {
      if (block.ref.l1Origin.number === 0) transactions.unshift(block.envelope.executionPayload.transactions.length);
      block = harness.engine.block(block.ref.parentHash);
    }
    expect(transactions.slice(2)).toEqual(transactions.slice(2).map(() => 1));
    expect(number(harness)).toBe(5);
  });

  it("leaves the pool alone where less than a quarter of the sequencing window is left, and says so", async () => {
    const config = testConfig("jovian", { seqWindowSize: 8 });
    const harness = await sequencing({ config, l1Blocks: 10 }, 0);
    const l1Head = harness.l1.head.number;
    harness.engine.pool = [userTransaction(1)];
    const transactionsOf = (): { readonly l1BlocksAgo: number; readonly ofUsers: number }[] => {
      const found = [];
      for (let block = harness.engine.block(harness.engine.head); block.ref.number > 0; ) {
        const ofUsers = block.envelope.executionPayload.transactions.length - 1;
        found.unshift({ l1BlocksAgo: l1Head - block.ref.l1Origin.number, ofUsers });
        block = harness.engine.block(block.ref.parentHash);
      }
      return found;
    };
    const said = (text: RegExp): number => harness.logs.filter((line) => text.test(line.text)).length;
    await harness.advance(2 * BLOCK_MS);
    expect(transactionsOf().every(({ l1BlocksAgo, ofUsers }) => l1BlocksAgo > 6 && ofUsers === 0)).toBe(true);
    expect([said(/^the sequencing window of the next blocks is nearly over/), said(/can be published in time again/)]).toEqual([
      1, 0,
    ]);
    await harness.advance(4 * L1_BLOCK_TIME_SEC * 1_000);
    const blocks = transactionsOf();
    // Two of the eight L1 blocks are left for the batches of blocks whose origin is six blocks old.
    expect(blocks.filter(({ l1BlocksAgo }) => l1BlocksAgo > 6).every(({ ofUsers }) => ofUsers === 0)).toBe(true);
    expect(blocks.find(({ ofUsers }) => ofUsers > 0)).toEqual({ l1BlocksAgo: 6, ofUsers: 1 });
    expect(blocks.find(({ l1BlocksAgo }) => l1BlocksAgo === 6)?.ofUsers).toBe(1);
    expect([said(/^the sequencing window of the next blocks is nearly over/), said(/can be published in time again/)]).toEqual([
      1, 1,
    ]);
  });

  it("asks for a reset when its origin was reorganised away", async () => {
    const harness = await sequencing({}, 30);
    const before = harness.counts.resets;
    const { unsafe } = harness.control.heads;
    expect(unsafe.l1Origin.number).toBe(2);
    harness.l1.reorg(9, 12, "b");
    harness.newL1Head(1, "b");
    await harness.advance(12_000);
    expect(harness.counts.resets).toBeGreaterThan(before);
    expect(harness.logs).toContainEqual(
      expect.objectContaining({
        fields: expect.objectContaining({ reason: expect.stringContaining("does not build on the unsafe head's origin") }),
      }),
    );
  });

  it("prepares the next origin and leaves the pool alone in recover mode", async () => {
    const harness = await sequencing({ sequencer: { recover: true } });
    harness.engine.pool = [userTransaction(1)];
    await harness.advance(3 * BLOCK_MS);
    expect(harness.engine.block(harness.engine.head).envelope.executionPayload.transactions).toHaveLength(1);
    harness.sequencer.setRecoverMode(false);
    await harness.advance(2 * BLOCK_MS);
    expect(harness.engine.pool).toEqual([]);
  });

  it("makes activation blocks without user transactions", async () => {
    const config = testConfig("jovian", {
      forkTimes: {
        ...testConfig("jovian").forkTimes,
        jovian: GENESIS_TIME_SEC + 6,
      },
    });
    const harness = await sequencing({ config });
    harness.engine.pool = [];
    await harness.advance(BLOCK_MS); // block 2; block 3 is the activation block
    harness.engine.pool = [userTransaction(1)];
    await harness.advance(BLOCK_MS);
    const three = harness.engine.block(harness.engine.head).envelope.executionPayload;
    expect([three.blockNumber, three.transactions.length]).toEqual([3, 1]);
    await harness.advance(2 * BLOCK_MS);
    expect(harness.engine.pool).toEqual([]);
  });
});

describe("sequencer limits and admin", () => {
  it("pauses while safe lags and goes on by itself", async () => {
    const harness = await sequencing({ sequencer: { maxSafeLag: 3 } }, 60);
    expect(number(harness)).toBe(3);
    await harness.advance(10_000, 500);
    expect(number(harness)).toBe(3);
    harness.pipeline.batches.push({ origin: 0, from: 10 });
    harness.newL1Head();
    await harness.untilIdle();
    expect(harness.heads()).toMatchObject({ safe: 1, unsafe: 4 });
  });

  it("starts and stops, and says why it does not", async () => {
    const harness = createHarness({ l1Blocks: 10 });
    await harness.untilIdle();
    const { sequencer } = harness;
    const head = harness.control.heads.unsafe.hash;
    expect(sequencer.isActive).toBe(false);
    expect(sequencer.checkStart(`0x${"12".repeat(32)}`)).toEqual({ kind: "wrong-head", head: { hash: head, number: 0 } });
    expect(sequencer.checkStart(head)).toBeUndefined();
    sequencer.start();
    expect(sequencer.checkStart(undefined)).toEqual({ kind: "already-running" });
    await harness.advance(3 * BLOCK_MS);
    expect(number(harness)).toBe(3);
    await sequencer.stop();
    await harness.advance(3 * BLOCK_MS);
    expect(number(harness)).toBe(3);
    sequencer.start();
    await harness.advance(BLOCK_MS);
    expect(number(harness)).toBeGreaterThan(5);
  });
});

describe("a build that is open when sequencing stops", () => {
  /** @returns what the engine was asked to build on its head, in order */
  async function building() {
    const harness = await sequencing();
    await harness.advance(BLOCK_MS / 2);
    const { engine } = harness;
    const asked: { readonly on: string; readonly attributes: PayloadAttributes | undefined }[] = [];
    const forkchoiceUpdated = engine.forkchoiceUpdated.bind(engine);
    engine.forkchoiceUpdated = (state, attributes) => {
      asked.push({ on: state.head, attributes });
      return forkchoiceUpdated(state, attributes);
    };
    return { harness, asked };
  }

  it("is replaced by the same one without the pool", async () => {
    const { harness, asked } = await building();
    const { hash, timestamp } = harness.control.heads.unsafe;
    await harness.sequencer.stop();
    expect(asked).toMatchObject([{ on: hash, attributes: { timestamp: timestamp + 2, noTxPool: true } }]);
    await harness.advance(3 * BLOCK_MS);
    expect([asked.length, harness.control.heads.unsafe.hash, harness.engine.head]).toEqual([1, hash, hash]);
  });

  it("is left alone when the head has changed, which ended it", async () => {
    const { harness, asked } = await building();
    const { control, config, engine, l1 } = harness;
    const { unsafe } = control.heads;
    control.setHeads({ ...control.heads, unsafe: engine.make(unsafe, attributesOn(config, unsafe, l1.blocks[0]!)).ref });
    await harness.sequencer.stop();
    expect(asked).toEqual([]);
  });

  it.each([
    ["does not answer", () => new Promise<never>(() => {}), "no answer within 1 s"],
    ["is away", () => Promise.reject(new EngineError("engine/unavailable", {})), ""],
    ["fails", () => Promise.reject(new Error("a fault")), "a fault"],
  ])("delays the stop by a second at most when the engine %s", async (_, answer, reason) => {
    const { harness } = await building();
    harness.engine.forkchoiceUpdated = answer;
    let hasStopped = false;
    const stopping = harness.sequencer.stop().then(() => (hasStopped = true));
    for (let ms = 0; ms < 1_000 && !hasStopped; ms += 100) {
      await new Promise(setImmediate);
      harness.clock.advance(100);
    }
    await stopping;
    expect(harness.logs.filter(({ level }) => level === "warn")).toMatchObject([
      {
        text: expect.stringContaining("open build could not be ended") as unknown,
        fields: { reason: expect.stringContaining(reason) as unknown },
      },
    ]);
    expect(harness.sequencer.isActive).toBe(false);
  });
});

describe("sequencer trouble", () => {
  const down = (): EngineError => new EngineError("engine/unavailable", {});

  it("waits a block time after attributes that the engine refuses", async () => {
    const harness = await sequencing();
    harness.engine.nextForkchoice.push(undefined, { kind: "invalid-attributes", reason: "no" });
    await harness.advance(BLOCK_MS - 50); // seals block 2: the first answer is for its fork choice, the second for the next build
    await harness.advance(100);
    expect(harness.logs).toContainEqual(
      expect.objectContaining({ level: "error", text: expect.stringContaining("refuses the attributes") }),
    );
    await harness.advance(3 * BLOCK_MS);
    expect(number(harness)).toBe(5);
    expect(harness.counts.resets).toBe(1);
  });

  it("builds again when the payload is lost, or is invalid", async () => {
    for (const spoil of ["getPayload", "newPayload"] as const) {
      const harness = await sequencing();
      if (spoil === "getPayload") harness.engine.nextGetPayload.push({ kind: "expired", reason: "Unknown payload" });
      else harness.engine.nextNewPayload.push({ kind: "invalid", latestValidHash: undefined, reason: "no" });
      await harness.advance(BLOCK_MS - 50);
      expect(number(harness)).toBe(1);
      await harness.advance(3 * BLOCK_MS);
      expect(number(harness)).toBe(5);
    }
  });

  it("inserts a sealed block later when the engine was away, and does not make another one", async () => {
    const harness = await sequencing();
    harness.engine.nextNewPayload.push(down(), down());
    await harness.advance(BLOCK_MS - 50);
    expect(number(harness)).toBe(1);
    expect(harness.published).toEqual([1, 2]);
    await harness.advance(2_100);
    expect(number(harness)).toBeGreaterThanOrEqual(2);
    expect(harness.published.filter((block) => block === 2)).toHaveLength(1);
  });

  it("goes on after the engine was down for a while", async () => {
    const harness = await sequencing();
    harness.engine.isDown = true;
    await harness.advance(10_000);
    harness.engine.isDown = false;
    await harness.advance(15_000);
    expect(number(harness)).toBe(13);
  });

  it("stays with its origin when L1 fails, as long as the drift allows", async () => {
    const harness = await sequencing();
    const { l1 } = harness;
    l1.blockByNumber = () => Promise.reject(new CodedError("l1/unavailable", {}));
    await harness.advance(10_000);
    expect(number(harness)).toBe(6);
    // the origin that was read ahead
    expect(harness.control.heads.unsafe.l1Origin.number).toBe(1);
    await harness.advance(30_000);
    expect(harness.control.heads.unsafe.l1Origin.number).toBe(1);
  });

  it("gives up its job when derivation replaces the chain under it", async () => {
    const harness = await sequencing({ l1Blocks: 4 }, 20);
    const own = harness.control.heads.unsafe.number;
    harness.pipeline.batches.push({ origin: 0, from: 4, userTransactions: [userTransaction(9)] });
    harness.newL1Head();
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(1);
    // it has caught up again on the new chain
    await harness.advance(BLOCK_MS);
    expect(harness.control.heads.unsafe.number).toBeGreaterThanOrEqual(own);
    let block = harness.engine.block(harness.engine.head);
    while (block.ref.number > 1) block = harness.engine.block(block.ref.parentHash);
    expect(block.envelope.executionPayload.transactions).toHaveLength(2);
  });

  it("starts again from what the engine has when it lost blocks", async () => {
    const harness = await sequencing({}, 20);
    const { unsafe } = harness.control.heads;
    harness.engine.forget(unsafe.hash);
    harness.engine.head = unsafe.parentHash;
    await harness.advance(3 * BLOCK_MS);
    expect(number(harness)).toBeGreaterThan(unsafe.number);
    expect(harness.counts.resets).toBe(2);
  });

  it("continues a chain that was there before", async () => {
    const harness = createHarness({ l1Blocks: 10 });
    buildUnsafe(harness, [{ origin: 0 }, { origin: 0 }]);
    harness.clock.now += 4_000;
    harness.sequencer.start();
    await harness.untilIdle();
    await harness.advance(2 * BLOCK_MS);
    expect(number(harness)).toBe(4);
  });
});
