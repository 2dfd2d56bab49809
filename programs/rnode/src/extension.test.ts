import { EngineError } from "@rnode/node-clients";
import { HashedPayload } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { attributesOn } from "./testing/fake-chain.ts";
import { type Batch, createHarness, type Harness, invalidTransaction, userTransaction } from "./testing/harness.ts";

/** A span batch of `count` blocks with one transaction each, complete in L1 block 1. */
const span = (count: number, change: (index: number) => Partial<Batch> = () => ({})): Batch[] =>
  Array.from({ length: count }, (_, index) => ({
    origin: 0,
    from: 1,
    userTransactions: [userTransaction(index % 200)],
    isLastInSpan: index === count - 1,
    ...change(index),
  }));

function harnessWith(maxBlocksPerCall: number | undefined, batches: readonly Batch[]): Harness {
  const harness = createHarness({ l1Blocks: 3 });
  harness.engine.maxBlocksPerCall = maxBlocksPerCall;
  harness.pipeline.batches.push(...batches);
  return harness;
}
const callsOf = ({ engine }: Harness, name: string): number => engine.calls.filter((call) => call === name).length;
const transactionsOf = ({ engine }: Harness): string =>
  JSON.stringify(engine.chain().map(({ envelope }) => envelope.executionPayload.transactions.slice(1).map((tx) => [...tx])));

describe("an engine that builds many blocks at once", () => {
  it("gets a span batch in few calls, and ends where an engine with the standard methods ends", async () => {
    const standard = harnessWith(undefined, span(160));
    await standard.untilIdle();
    const harness = harnessWith(1024, span(160));
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 160, pendingSafe: 160, safe: 160, finalized: 0 });
    expect(harness.engine.head).toBe(standard.engine.head);
    expect(harness.engine.safe).toBe(standard.engine.safe);
    expect([callsOf(harness, "buildBlocks"), callsOf(harness, "newPayload")]).toEqual([2, 0]); // 128 blocks, then the rest
    expect(callsOf(standard, "newPayload")).toBe(160);
  });

  it("goes on with the rest when the engine stops early", async () => {
    const harness = harnessWith(7, span(40));
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 40, pendingSafe: 40, safe: 40, finalized: 0 });
    expect(transactionsOf(harness)).toContain("[[2,39,1,2,3]]");
  });

  it("raises safe only when the whole span batch is in", async () => {
    const harness = harnessWith(
      5,
      span(12, () => ({ isLastInSpan: false })),
    );
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 12, pendingSafe: 12, safe: 0, finalized: 0 });
  });

  it("builds blocks one after the other, each on the block before it, where the next batch is not at hand", async () => {
    const harness = harnessWith(
      1024,
      span(5, () => ({ isLastInSpan: true })),
    );
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(5);
    expect(callsOf(harness, "buildBlocks")).toBe(5);
  });

  describe("with singular batches of one channel, each of which names its parent", () => {
    /** @param wrong the batch of this block names another parent than the chain has */
    async function singular(count: number, wrong?: number): Promise<Batch[]> {
      const batches = span(count, () => ({ isLastInSpan: true }));
      const honest = harnessWith(undefined, batches);
      await honest.untilIdle();
      const hashes = honest.engine.chain().map(({ ref }) => ref.hash);
      return batches.map((batch, index) => ({
        ...batch,
        parentHash: index + 1 === wrong ? `0x${"ee".repeat(32)}` : hashes[index]!,
      }));
    }

    it("gets many at once, and all are safe", async () => {
      const batches = await singular(160);
      const harness = harnessWith(1024, batches);
      await harness.untilIdle();
      expect(harness.heads()).toEqual({ unsafe: 160, pendingSafe: 160, safe: 160, finalized: 0 });
      expect(callsOf(harness, "buildBlocks")).toBe(2);
      expect([harness.pipeline.misnamed, harness.counts.resets]).toEqual([[], 1]);
    });

    it.each([2, 12, 40])(
      "drops the batch of block %i, which names another parent than came out, and nothing before it",
      async (wrong) => {
        const batches = await singular(40, wrong);
        const standard = harnessWith(undefined, batches);
        await standard.untilIdle();
        const harness = harnessWith(7, batches);
        await harness.advance(60_000, 1_000);
        expect(harness.pipeline.misnamed).toContain(wrong);
        expect(harness.heads()).toEqual({ unsafe: 40, pendingSafe: 40, safe: 40, finalized: 0 });
        expect(harness.engine.head).toBe(standard.engine.head);
        const blocks = harness.engine.chain().map(({ envelope }) => envelope.executionPayload.transactions.length);
        expect(blocks.slice(1, wrong)).toEqual(new Array(wrong - 1).fill(2));
        expect(blocks[wrong]).toBe(1);
        expect(harness.counts.resets).toBe(2);
      },
    );

    it("before Holocene: reads again what it took for a block that turned out invalid", async () => {
      const batches = await singular(30);
      const harness = harnessWith(1024, []);
      harness.pipeline.batches.push(
        ...batches.map((batch, index) => (index === 10 ? { ...batch, userTransactions: [invalidTransaction] } : batch)),
      );
      harness.pipeline.isReplacedIfInvalid = false;
      const step = harness.pipeline.step.bind(harness.pipeline);
      let triesAlone = 0;
      harness.pipeline.step = async (parent) => {
        if (parent.number !== 10 || harness.counts.resets < 2) return step(parent);
        return ++triesAlone > 1 ? { kind: "exhausted" } : step(parent); // a batch that was dropped does not come again
      };
      await harness.advance(20_000, 1_000);
      expect(harness.heads().safe).toBe(10);
      expect(harness.counts.resets).toBe(2);
      expect(harness.logs).toContainEqual(
        expect.objectContaining({ level: "warn", text: expect.stringContaining("dropping its batch") }),
      );
    });
  });

  it("Holocene: an invalid block is built with its deposits only, and nothing that was derived on it is used", async () => {
    const harness = harnessWith(
      1024,
      span(30, (index) => (index === 10 ? { userTransactions: [invalidTransaction] } : {})),
    );
    await harness.untilIdle();
    expect(harness.pipeline.flushes).toBe(1);
    const blocks = harness.engine.chain();
    expect(blocks[11]!.envelope.executionPayload.transactions).toHaveLength(1);
    expect(harness.engine.calls).not.toContain("newPayload");
    expect(harness.heads().pendingSafe).toBe(30); // this pipeline derives the rest again; a real one has given up the channel
  });

  it("before Holocene: the batch of an invalid block is dropped, and the blocks of its span before it are not safe", async () => {
    const harness = harnessWith(
      1024,
      span(30, (index) => (index === 10 ? { userTransactions: [invalidTransaction] } : {})),
    );
    harness.pipeline.isReplacedIfInvalid = false;
    const step = harness.pipeline.step.bind(harness.pipeline);
    let isDropped = false;
    harness.pipeline.step = async (parent) => {
      if (parent.number === 0 && callsOf(harness, "buildBlocks") > 0) isDropped = true;
      return isDropped ? { kind: "exhausted" } : step(parent);
    };
    await harness.untilIdle();
    expect(harness.heads()).toMatchObject({ pendingSafe: 0, safe: 0 });
    expect(harness.logs).toContainEqual(
      expect.objectContaining({ level: "warn", text: expect.stringContaining("dropping its batch") }),
    );
  });

  it("tries again after the engine was away, with the same blocks", async () => {
    const harness = harnessWith(10, span(25));
    harness.engine.nextBuildBlocks.push(undefined, new EngineError("engine/unavailable", {}));
    await harness.advance(30_000, 1_000);
    expect(harness.heads()).toEqual({ unsafe: 25, pendingSafe: 25, safe: 25, finalized: 0 });
    expect(harness.counts.resets).toBe(1); // that of the start
  });

  it("finds the heads again when the engine has lost a block", async () => {
    const harness = harnessWith(10, span(25));
    harness.engine.nextBuildBlocks.push(undefined, { kind: "syncing" });
    await harness.advance(30_000, 1_000);
    expect(harness.heads()).toEqual({ unsafe: 25, pendingSafe: 25, safe: 25, finalized: 0 });
    expect(harness.counts.resets).toBe(2);
  });

  it("goes on with the standard calls when another engine is there", async () => {
    const harness = harnessWith(10, span(25));
    harness.engine.nextBuildBlocks.push(undefined, { kind: "unsupported" });
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(25);
    expect(callsOf(harness, "newPayload")).toBe(15);
  });

  it("does not accept a block that differs from what was asked for", async () => {
    const harness = harnessWith(1024, span(3));
    const { engine, config, l1 } = harness;
    const genesis = engine.block(engine.head).ref;
    const foreign = engine.make(genesis, { ...attributesOn(config, genesis, l1.blocks[0]!), timestamp: genesis.timestamp + 1 });
    engine.nextBuildBlocks.push({
      kind: "built",
      blocks: [HashedPayload.of(foreign.envelope, foreign.header)],
      refusal: undefined,
    });
    await harness.advance(10_000, 1_000);
    const reason = expect.stringContaining("with another timestamp than it was told") as string;
    expect(harness.logs).toContainEqual(expect.objectContaining({ fields: expect.objectContaining({ reason }) as object }));
    expect(harness.heads().safe).toBe(3);
  });
});
