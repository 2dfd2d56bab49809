import { RpcError } from "@rnode/jsonrpc";
import { EngineClient, EngineError } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import { CodedError } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, testConfig } from "./testing/fake-chain.ts";
import { buildUnsafe, createHarness, type Harness, invalidTransaction, userTransaction } from "./testing/harness.ts";
import { replaceUnsafeHead } from "./unsafe/unsafe-replacement.ts";

const down = (): EngineError => new EngineError("engine/unavailable", {});

describe("derivation into an empty chain (a verifier)", () => {
  it("builds every derived block and ends idle, without looping", async () => {
    const harness = createHarness({ l1Blocks: 4 });
    const { pipeline, engine, heads, idleAt } = harness;
    pipeline.batches.push(
      { origin: 0, from: 2, userTransactions: [userTransaction(1)] },
      { origin: 0, from: 2 },
      { origin: 1, from: 3, userTransactions: [userTransaction(2), userTransaction(3)] },
    );
    const pauseMs = await harness.untilIdle();
    expect(heads()).toEqual({ unsafe: 3, pendingSafe: 3, safe: 3, finalized: 0 });
    const block = engine.block(engine.head);
    expect(block.ref).toMatchObject({ number: 3, l1Origin: { number: 1 }, sequenceNumber: 0 });
    expect(block.envelope.executionPayload.transactions).toHaveLength(3);
    expect(engine.safe).toBe(engine.head);
    expect(idleAt).toEqual([3]);
    expect(pauseMs).toBe(10_000);
    const steps = pipeline.steps;
    await harness.advance(5_000, 1_000);
    expect(pipeline.steps).toBe(steps); // the data is exhausted: L1 is not queried again before it has a new head
    pipeline.batches.push({ origin: 1, from: 4 });
    harness.newL1Head();
    await harness.untilIdle();
    expect(heads().safe).toBe(4);
  });

  it("raises safe only when the whole span batch is in", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push(
      { origin: 0, from: 1, isLastInSpan: false },
      { origin: 0, from: 1, isLastInSpan: false },
      { origin: 1, from: 5 },
    );
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 2, pendingSafe: 2, safe: 0, finalized: 0 });
    expect(harness.engine.safe).toBe(harness.config.genesis.l2.hash);
    harness.newL1Head(3);
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 3, safe: 3, finalized: 0 });
  });
});

describe("consolidation", () => {
  it("confirms unsafe blocks that match without building anything", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    const blocks = [
      { origin: 0, userTransactions: [userTransaction(1)] },
      { origin: 1, userTransactions: [] },
    ];
    const tip = buildUnsafe(harness, [...blocks, { origin: 1 }]);
    harness.pipeline.batches.push(...blocks.map((block) => ({ ...block, from: 2 })));
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 2, safe: 2, finalized: 0 });
    expect(harness.engine.head).toBe(tip.hash);
    expect(harness.engine.block(harness.engine.safe).ref.number).toBe(2);
    expect(harness.engine.calls).not.toContain("build");
  });

  it("replaces an unsafe block that L1 contradicts, and what follows it", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    buildUnsafe(harness, [
      { origin: 0, userTransactions: [userTransaction(1)] },
      { origin: 0, userTransactions: [userTransaction(2)] },
      { origin: 1 },
    ]);
    harness.pipeline.batches.push(
      { origin: 0, from: 2, userTransactions: [userTransaction(1)] },
      { origin: 0, from: 2, userTransactions: [userTransaction(9)] },
    );
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 2, pendingSafe: 2, safe: 2, finalized: 0 });
    const { transactions } = harness.engine.block(harness.engine.head).envelope.executionPayload;
    expect(transactions[1]).toEqual(userTransaction(9));
    expect(harness.logs).toContainEqual(
      expect.objectContaining({ level: "warn", fields: expect.objectContaining({ number: 2, field: "transaction" }) }),
    );
  });

  it("resets when the engine has lost an unsafe block", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    buildUnsafe(harness, [{ origin: 0 }, { origin: 0 }]);
    await harness.untilIdle();
    harness.engine.head = harness.config.genesis.l2.hash; // rewound without our knowledge
    harness.pipeline.batches.push({ origin: 0, from: 3 }, { origin: 0, from: 3 });
    harness.newL1Head();
    await harness.untilIdle();
    expect(harness.counts.resets).toBe(2);
    expect(harness.heads()).toEqual({ unsafe: 2, pendingSafe: 2, safe: 2, finalized: 0 });
  });
});

describe("invalid derived blocks", () => {
  it("Holocene: are built with their deposits only, and the channel is given up", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push({ origin: 0, from: 1, userTransactions: [userTransaction(1), invalidTransaction] });
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(1);
    expect(harness.engine.block(harness.engine.head).envelope.executionPayload.transactions).toHaveLength(1);
    expect(harness.pipeline.flushes).toBe(1);
  });

  it("Holocene: attributes that the engine refuses (−38003) are treated the same", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push({ origin: 0, from: 1, userTransactions: [userTransaction(1)] });
    await harness.untilIdle();
    const other = createHarness({ l1Blocks: 3 });
    other.pipeline.batches.push({ origin: 0, from: 1, userTransactions: [userTransaction(1)] });
    const { config } = other;
    const refusing = { call: () => Promise.reject(new RpcError(-38003, "Invalid payload attributes")) };
    const { head, safe, finalized } = other.engine;
    const refused = await new EngineClient(refusing, config.forkTimes).forkchoiceUpdated({ head, safe, finalized });
    other.engine.nextForkchoice.push(undefined, refused);
    await other.untilIdle();
    expect(other.engine.block(other.engine.head).envelope.executionPayload.transactions).toHaveLength(1);
    expect(harness.engine.block(harness.engine.head).envelope.executionPayload.transactions).toHaveLength(2);
  });

  it("before Holocene: the batch is dropped and the replaced unsafe chain comes back", async () => {
    const harness = createHarness({ config: testConfig("granite"), l1Blocks: 3 });
    harness.pipeline.isReplacedIfInvalid = false;
    const tip = buildUnsafe(harness, [{ origin: 0, userTransactions: [userTransaction(1)] }, { origin: 0 }, { origin: 1 }]);
    harness.pipeline.batches.push(
      { origin: 0, from: 1, userTransactions: [userTransaction(7)], isLastInSpan: false },
      { origin: 0, from: 1, userTransactions: [invalidTransaction] },
    );
    // the batches after the dropped one; the script has no more batches for block 1
    const first = harness.pipeline.batches[0]!;
    const step = harness.pipeline.step.bind(harness.pipeline);
    let isDropped = false;
    harness.pipeline.step = async (parent) => {
      if (isDropped) return { kind: "exhausted" };
      if (parent.number === 1) isDropped = true;
      return step(parent);
    };
    expect(first.isLastInSpan).toBe(false);
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 0, safe: 0, finalized: 0 });
    expect(harness.engine.head).toBe(tip.hash);
  });

  it("stops the node when deposits alone are invalid", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push({ origin: 0, from: 1 });
    harness.engine.nextNewPayload.push({ kind: "invalid", latestValidHash: undefined, reason: "no" });
    await expect(harness.untilIdle()).rejects.toThrow(/only deposits/);
  });
});

describe("engine trouble while deriving", () => {
  it.each([
    ["forkchoice answers with a transport error", (engine: FakeEngine) => engine.nextForkchoice.push(undefined, down())],
    ["the payload is lost", (engine: FakeEngine) => engine.nextGetPayload.push({ kind: "expired", reason: "Unknown payload" })],
    ["getPayload fails", (engine: FakeEngine) => engine.nextGetPayload.push(down())],
    ["newPayload fails", (engine: FakeEngine) => engine.nextNewPayload.push(down())],
  ])("tries the same attributes again after a pause when %s", async (_, spoil) => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push({ origin: 0, from: 1, userTransactions: [userTransaction(1)] });
    spoil(harness.engine);
    const pauseMs = await harness.untilIdle();
    expect(harness.heads().safe).toBe(0);
    expect(pauseMs).toBe(2_000);
    await harness.advance(2_000, 500);
    expect(harness.heads()).toEqual({ unsafe: 1, pendingSafe: 1, safe: 1, finalized: 0 });
    expect(harness.counts.resets).toBe(1);
  });

  it.each([
    ["−38002", { kind: "invalid-state", reason: "unknown safe block" } as const],
    ["another engine code", { kind: "refused", engineCode: -38005, reason: "Unsupported fork" } as const],
    ["SYNCING", { kind: "syncing" } as const],
  ])("resets when the start of a build is answered with %s", async (_, outcome) => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push({ origin: 0, from: 1 });
    harness.engine.nextForkchoice.push(undefined, outcome);
    await harness.untilIdle();
    expect(harness.counts.resets).toBe(2);
    expect(harness.pipeline.resets).toEqual([0, 0]);
    expect(harness.heads().safe).toBe(1);
  });

  it("waits with growing pauses while the engine is down, then goes on", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push({ origin: 0, from: 1 });
    harness.engine.isDown = true;
    expect(await harness.untilIdle()).toBe(2_000);
    harness.clock.advance(2_000);
    expect(await harness.untilIdle()).toBe(4_000);
    harness.clock.advance(4_000);
    for (let i = 0; i < 3; i++) {
      expect(await harness.untilIdle()).toBe(5_000);
      harness.clock.advance(5_000);
    }
    harness.engine.isDown = false;
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(1);
  });

  it("stops when the finalized head is above the unsafe head", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    const tip = buildUnsafe(harness, [{ origin: 0 }, { origin: 0 }]);
    const genesis = harness.engine.block(harness.config.genesis.l2.hash).ref;
    harness.found.next = {
      kind: "found",
      unsafe: genesis,
      safe: genesis,
      finalized: tip,
      highestFormerSafe: genesis,
      base: genesis,
    };
    await expect(harness.untilIdle()).rejects.toThrow(/behind the finalized/);
  });
});

describe("L1 trouble and reorganisations", () => {
  it("waits when L1 fails, and stops when the failure is critical", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.batches.push({ origin: 0, from: 1 });
    harness.pipeline.next.push(new CodedError("l1/unavailable", {}));
    expect(await harness.untilIdle()).toBe(2_000);
    expect(harness.counts.derivationErrors).toBe(1);
    harness.clock.advance(2_000);
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(1);
    harness.pipeline.next.push(new CodedError("derivation/critical", {}));
    harness.newL1Head();
    await expect(harness.untilIdle()).rejects.toThrow(expect.objectContaining({ code: "driver/critical" }));
  });

  it("does not hide a mistake of its own", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    harness.pipeline.next.push(new TypeError("bug"));
    await expect(harness.untilIdle()).rejects.toThrow("bug");
  });

  it("finds the heads again when the pipeline says so, and slows down when that does not help", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    const resets = () => harness.pipeline.next.push({ kind: "reset", reason: "l1-reorg", detail: "test" });
    resets();
    await harness.untilIdle();
    expect(harness.pipeline.resets).toEqual([0, 0]);
    for (let i = 0; i < 10; i++) resets();
    harness.newL1Head();
    await harness.untilIdle();
    expect(harness.pipeline.resets.length).toBeLessThan(9);
    expect(harness.logs).toContainEqual(expect.objectContaining({ level: "error", text: expect.stringContaining("do not help") }));
  });

  it("rebuilds on the heads that a reset finds", async () => {
    const harness = createHarness({ l1Blocks: 5 });
    buildUnsafe(harness, [{ origin: 0 }, { origin: 1 }, { origin: 2 }]);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(3);
    harness.l1.reorg(3, 4, "b");
    const first = (await harness.engine.blockByNumber(2))!.ref;
    const genesis = harness.engine.block(harness.config.genesis.l2.hash).ref;
    harness.found.next = {
      kind: "found",
      unsafe: first,
      safe: genesis,
      finalized: genesis,
      highestFormerSafe: genesis,
      base: genesis,
    };
    harness.pipeline.next.push({ kind: "reset", reason: "l1-reorg", detail: "test" });
    harness.derivation.onL1Change();
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(2);
    expect(harness.engine.head).toBe(first.hash);
  });

  it("resets once when asked to by the operator", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    await harness.untilIdle();
    harness.driver.requestReset("asked for");
    await harness.untilIdle();
    expect(harness.counts.resets).toBe(2);
  });
});

describe("unsafe payloads from others", () => {
  /** Blocks that another node made on top of the genesis. */
  const chain = (harness: Harness, count: number) => {
    const other = new FakeEngine(harness.config);
    let parent = other.block(other.head).ref;
    return Array.from({ length: count }, () => {
      const block = other.make(parent, attributesOn(harness.config, parent, harness.l1.blocks[0]!));
      parent = block.ref;
      return block;
    });
  };

  it("inserts them in order, however they arrive, and keeps those with a gap", async () => {
    const harness = createHarness({ l1Blocks: 2 });
    await harness.untilIdle();
    const [one, two, three, four] = chain(harness, 4);
    harness.inbox.offer(three!.envelope);
    harness.inbox.offer(two!.envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(0);
    expect(harness.inbox.peek()?.ref.number).toBe(2);
    harness.inbox.offer(one!.envelope);
    expect(harness.inbox.offer(one!.envelope)).toEqual({ kind: "duplicate" });
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 0, safe: 0, finalized: 0 });
    expect(harness.engine.head).toBe(three!.ref.hash);
    harness.inbox.offer(four!.envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(4);
    expect(harness.inbox.length).toBe(0);
  });

  it("inserts them at once when another part reaches the engine again", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    await harness.untilIdle();
    harness.engine.isDown = true;
    for (const { envelope } of chain(harness, 2)) harness.inbox.offer(envelope);
    await harness.advance(15_000, 500); // tried after 2, 6 and 14 s, and again after 24
    harness.pipeline.batches.push({ origin: 0, from: 1 });
    harness.newL1Head();
    await harness.untilIdle(); // derivation fails, too, and tries again after two seconds
    harness.engine.isDown = false;
    harness.clock.advance(2_000);
    await harness.untilIdle();
    expect(harness.heads()).toMatchObject({ unsafe: 2, safe: 1 });
  });

  it("never replaces a block of the same height, and drops what is invalid", async () => {
    const harness = createHarness({ l1Blocks: 2 });
    const tip = buildUnsafe(harness, [{ origin: 0, userTransactions: [userTransaction(1)] }]);
    await harness.untilIdle();
    const [one, two] = chain(harness, 2);
    harness.inbox.offer(one!.envelope);
    harness.inbox.offer(two!.envelope); // builds on the other block 1
    await harness.untilIdle();
    expect(harness.engine.head).toBe(tip.hash);
    expect(harness.inbox.length).toBe(0);
    const child = new FakeEngine(harness.config).make(
      tip,
      attributesOn(harness.config, tip, harness.l1.blocks[0]!, [invalidTransaction]),
    );
    harness.inbox.offer(child.envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(1);
    expect(harness.logs).toContainEqual(expect.objectContaining({ level: "warn", text: "unsafe block of another node refused" }));
  });
});

describe("a block that the conductor's cluster has committed", () => {
  const committed = (harness: Harness) => {
    const { config, l1, engine } = harness;
    const genesis = engine.block(config.genesis.l2.hash).ref;
    return new FakeEngine(config).make(genesis, attributesOn(config, genesis, l1.blocks[0]!, [userTransaction(9)]));
  };
  const replace = ({ driver, control, sequencer }: Harness, { envelope, ref }: ReturnType<typeof committed>) =>
    driver.run(() => replaceUnsafeHead(envelope, ref, { control, sequencer, log: silentLogger }));

  it("replaces unsafe blocks from its height on", async () => {
    const harness = createHarness({ l1Blocks: 2 });
    buildUnsafe(harness, [{ origin: 0, userTransactions: [userTransaction(1)] }, { origin: 0 }]);
    await harness.untilIdle();
    const block = committed(harness);
    const [reason] = await Promise.all([replace(harness, block), harness.untilIdle()]);
    expect(reason).toBeUndefined();
    expect(harness.engine.head).toBe(block.ref.hash);
    expect(harness.heads().unsafe).toBe(1);
  });

  it("does not replace what was derived from L1, nor the head of a node that sequences, nor what the engine refuses", async () => {
    const harness = createHarness({ l1Blocks: 2 });
    buildUnsafe(harness, [{ origin: 0 }, { origin: 0, userTransactions: [userTransaction(1)] }]);
    await harness.untilIdle();
    const { head } = harness.engine;
    const block = committed(harness);
    const orphan = { ...block, ref: { ...block.ref, number: 7 }, envelope: { ...block.envelope } };
    orphan.envelope.executionPayload = { ...block.envelope.executionPayload, parentHash: new Uint8Array(32).fill(7) };
    const asked = async (given: typeof block): Promise<string | undefined> =>
      (await Promise.all([replace(harness, given), harness.untilIdle()]))[0];
    expect(await asked(orphan)).toMatch(/does not take block 7/);
    harness.pipeline.batches.push({ origin: 0, from: 2 });
    harness.newL1Head();
    await harness.untilIdle();
    expect(await asked(block)).toMatch(/block 1 is not above block 1/);
    harness.sequencer.start();
    expect(await asked({ ...block, ref: { ...block.ref, number: 2 } })).toMatch(/stop it first/);
    expect(harness.engine.head).toBe(head);
  });
});

describe("finality", () => {
  it("finalizes the last block derived from finalized L1 blocks, and never lowers it", async () => {
    const harness = createHarness({ l1Blocks: 8 });
    harness.pipeline.batches.push({ origin: 0, from: 2 }, { origin: 0, from: 2 }, { origin: 1, from: 4 }, { origin: 1, from: 6 });
    await harness.untilIdle();
    const finalize = async (number: number) => {
      harness.finalizer.onL1Finalized(harness.l1.blocks[number]!);
      harness.signals.wake();
      await harness.untilIdle();
      return harness.heads().finalized;
    };
    expect(await finalize(1)).toBe(0);
    expect(await finalize(3)).toBe(2);
    expect(await finalize(2)).toBe(2);
    expect(await finalize(4)).toBe(3);
    expect(await finalize(7)).toBe(4);
    expect(harness.engine.block(harness.engine.finalized).ref.number).toBe(4);
  });

  it("looks again when derivation becomes idle after the signal", async () => {
    const harness = createHarness({ l1Blocks: 3 });
    await harness.untilIdle();
    harness.newL1Head(3);
    harness.finalizer.onL1Finalized(harness.l1.blocks[5]!);
    harness.pipeline.batches.push({ origin: 0, from: 4 });
    await harness.untilIdle();
    expect(harness.heads().finalized).toBe(1);
  });

  it("resets when the finalized L1 block or the one derived from is not canonical any more", async () => {
    const harness = createHarness({ l1Blocks: 6 });
    harness.pipeline.batches.push({ origin: 0, from: 2 });
    await harness.untilIdle();
    const signalled = harness.l1.blocks[4]!;
    harness.l1.reorg(3, 4, "b");
    harness.finalizer.onL1Finalized(signalled);
    harness.signals.wake();
    await harness.untilIdle();
    expect(harness.counts.resets).toBe(2);
    expect(harness.heads().finalized).toBe(0);
  });

  it("tries again when L1 cannot be asked", async () => {
    const harness = createHarness({ l1Blocks: 6 });
    harness.pipeline.batches.push({ origin: 0, from: 2 });
    await harness.untilIdle();
    harness.l1.failure = new CodedError("l1/unavailable", {});
    harness.finalizer.onL1Finalized(harness.l1.blocks[4]!);
    harness.signals.wake();
    await harness.untilIdle();
    expect(harness.heads().finalized).toBe(0);
    harness.l1.failure = undefined;
    await harness.advance(2_500, 500);
    expect(harness.heads().finalized).toBe(1);
  });
});
