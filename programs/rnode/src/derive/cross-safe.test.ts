import { CodedError, type Hex } from "@rnode/primitives";
import type { BlockId, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it, vi } from "vitest";
import type { CrossSafety } from "../common/cross-safety.ts";
import { attributesOn, FakeEngine, GENESIS_TIME_SEC } from "../testing/fake-chain.ts";
import { createHarness, type Harness, userTransaction } from "../testing/harness.ts";
import { finalInSet, startInSet } from "./cross-safe.ts";

/** What the set says of the chain; blocks with a time from that of block `from` on need it. */
function setSays(from = 1) {
  const said = {
    verified: undefined as BlockId | undefined,
    denied: [] as BlockId[],
    verdicts: 0,
    rederivedAfter: undefined as number | undefined,
    /** from which the set was derived up to `verified` */
    l1: { number: 0, hash: "0x" } as BlockId,
  };
  const crossSafety: CrossSafety = {
    decidesAt: (timestamp) => timestamp >= GENESIS_TIME_SEC + 2 * from,
    verified: () => said.verified,
    verifiedBy: () => said.verified && { block: said.verified, l1: said.l1 },
    isDenied: (number, hash) => said.denied.some((block) => block.number === number && (hash ?? block.hash) === block.hash),
    get verdicts() {
      return said.verdicts;
    },
    denied: () => said.denied,
    rederivedAfter: () => said.rederivedAfter,
    rederives: () => {
      said.rederivedAfter = undefined;
    },
    onL1Head: () => {},
  };
  const deny = (block: BlockId): void => {
    said.denied.push(block);
    said.verdicts++;
  };
  return { said, crossSafety, deny };
}

const refAt = ({ engine }: Harness, number: number): BlockId => {
  let block = engine.block(engine.head);
  while (block.ref.number > number) block = engine.block(block.ref.parentHash);
  return block.ref;
};
const usersAt = ({ engine }: Harness, number: number): number => {
  const { hash } = refAt({ engine } as Harness, number);
  return engine.block(hash as Hex).envelope.executionPayload.transactions.length - 1;
};
const batch = (n: number) => ({ origin: 0, from: 2, userTransactions: [userTransaction(n)] });

describe("a chain of a set", () => {
  it("is local-safe as L1 says, and safe as far as it was verified", async () => {
    const { said, crossSafety } = setSays(2);
    const harness = createHarness({ l1Blocks: 4, crossSafety });
    harness.pipeline.batches.push(batch(1), batch(2), batch(3));
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 3, safe: 1, finalized: 0 });
    said.verified = refAt(harness, 2);
    await harness.untilIdle();
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 3, safe: 2, finalized: 0 });
    expect(harness.engine.safe).toBe(refAt(harness, 2).hash);
    said.verified = { number: 3, hash: refAt(harness, 1).hash };
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(2); // it is not a block of this chain
  });

  it("replaces a denied block by its deposits, whether it was derived or came from others, and goes on from there", async () => {
    const { said, crossSafety, deny } = setSays();
    const harness = createHarness({ l1Blocks: 4, crossSafety });
    harness.pipeline.batches.push(batch(1), batch(2), batch(3));
    await harness.untilIdle();
    said.verified = refAt(harness, 1);
    const denied = refAt(harness, 2);
    deny(denied);
    await harness.untilIdle();
    expect(harness.counts.resets).toBe(2);
    expect(refAt(harness, 2).hash).not.toBe(denied.hash);
    expect([1, 2, 3].map((number) => usersAt(harness, number))).toEqual([1, 0, 1]);
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 3, safe: 1, finalized: 0 });
    said.verified = refAt(harness, 3);
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(3);
    const { resets } = harness.counts;
    await harness.advance(5_000, 1_000);
    expect(harness.counts.resets).toBe(resets);
  });

  it("drops a denied block of another node", async () => {
    const { crossSafety, deny } = setSays();
    const harness = createHarness({ l1Blocks: 4, crossSafety });
    await harness.untilIdle();
    const other = new FakeEngine(harness.config);
    const make = (parent: L2BlockRef, n: number) =>
      other.make(parent, attributesOn(harness.config, parent, harness.l1.blocks[0]!, [userTransaction(n)]));
    const first = make(other.block(other.head).ref, 1);
    const second = make(first.ref, 2);
    deny(second.ref);
    for (const { envelope } of [first, second]) harness.inbox.offer(envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(1);
    expect(harness.refused.list.map(({ cause }) => cause)).toEqual(["denied"]);
  });

  it("replaces a denied block that is below one of another node", async () => {
    const { crossSafety, deny } = setSays();
    const harness = createHarness({ l1Blocks: 4, crossSafety });
    await harness.untilIdle();
    const { config, engine, inbox, pipeline } = harness;
    const other = new FakeEngine(config);
    let parent = other.block(other.head).ref;
    const blocks = [1, 2, 3].map((n) => {
      const made = other.make(parent, attributesOn(config, parent, harness.l1.blocks[0]!, [userTransaction(n)]));
      parent = made.ref;
      return made;
    });
    deny(blocks[1]!.ref);
    for (const { envelope } of blocks) await engine.newPayload(envelope);
    inbox.offer(blocks[2]!.envelope);
    await harness.advance(120_000, 1_000);
    expect(harness.heads().unsafe).toBe(3);
    pipeline.batches.push(batch(1), batch(2));
    harness.newL1Head();
    await harness.untilIdle();
    expect(harness.heads()).toMatchObject({ unsafe: 2, pendingSafe: 2 });
    expect([1, 2].map((number) => usersAt(harness, number))).toEqual([1, 0]);
  });

  it("derives again above the block that a verdict which was taken back leaves", async () => {
    const { said, crossSafety, deny } = setSays();
    const harness = createHarness({ l1Blocks: 4, crossSafety });
    harness.pipeline.batches.push(batch(1), batch(2), batch(3));
    await harness.untilIdle();
    const whole = refAt(harness, 2);
    deny(whole);
    await harness.untilIdle();
    said.verified = refAt(harness, 3);
    await harness.untilIdle();
    expect(harness.heads().safe).toBe(3);
    said.denied = [];
    said.verified = refAt(harness, 1);
    said.rederivedAfter = 1;
    const failing = vi.spyOn(harness.pipeline, "reset").mockRejectedValue(new CodedError("l1/unavailable"));
    await harness.untilIdle();
    expect(said.rederivedAfter).toBe(1); // until derivation has started over
    failing.mockRestore();
    await harness.advance(20_000, 1_000);
    expect(refAt(harness, 2).hash).toBe(whole.hash);
    expect(harness.heads()).toEqual({ unsafe: 3, pendingSafe: 3, safe: 1, finalized: 0 });
    expect(said.rederivedAfter).toBeUndefined();
  });

  it("starts with no more than was verified, although the engine or the record says more", async () => {
    const { said, crossSafety } = setSays();
    const first = createHarness({ l1Blocks: 4 });
    first.pipeline.batches.push(batch(1), batch(2), batch(3));
    await first.untilIdle();
    expect(first.heads().safe).toBe(3);
    said.verified = refAt(first, 1);
    const again = createHarness({ l1: first.l1, engine: first.engine, crossSafety });
    await again.untilIdle();
    expect(again.heads()).toMatchObject({ unsafe: 3, pendingSafe: 3, safe: 1 });
  });

  it("never counts a block as safe that takes the place of one above a denied one", async () => {
    const { crossSafety, deny } = setSays();
    const harness = createHarness({ l1Blocks: 4, crossSafety });
    harness.pipeline.batches.push(batch(1), batch(2), batch(3));
    await harness.untilIdle();
    deny(refAt(harness, 2));
    const [genesis, tip] = [refAt(harness, 0), refAt(harness, 3)] as L2BlockRef[];
    const start = {
      kind: "found",
      unsafe: tip!,
      safe: genesis!,
      finalized: genesis!,
      highestFormerSafe: tip!,
      base: tip!,
    } as const;
    const found = await startInSet(crossSafety, start, { l2: harness.engine });
    expect(found).toMatchObject({ unsafe: { number: 1 }, highestFormerSafe: { number: 1 }, base: { number: 1 } });
  });

  it("is final up to what was verified by L1 blocks that L1 still has", async () => {
    const { said, crossSafety } = setSays(2);
    const harness = createHarness({ l1Blocks: 4, crossSafety });
    harness.pipeline.batches.push(batch(1), batch(2), batch(3));
    await harness.untilIdle();
    const [first, second, third] = [1, 2, 3].map((number) => refAt(harness, number) as L2BlockRef);
    const { l1, engine: l2 } = harness;
    const final = (block: L2BlockRef) => finalInSet(crossSafety, block, 3, { l1, l2 });
    expect(await final(first!)).toEqual(first);
    expect(await final(third!)).toBeUndefined();
    said.verified = second;
    said.l1 = l1.blocks[3]!;
    expect(await final(third!)).toEqual(second);
    said.verified = { number: 2, hash: first!.hash }; // on another branch
    expect(await final(third!)).toBeUndefined();
    said.verified = second;
    said.l1 = { number: 3, hash: l1.blocks[2]!.hash };
    expect(await final(third!)).toBeUndefined();
  });

  it.each([0, 3])("derives a replaced block once more as it was replaced, with block %i final", async (final) => {
    const { said, crossSafety, deny } = setSays();
    const first = createHarness({ l1Blocks: 4, crossSafety });
    first.pipeline.batches.push(batch(1), batch(2), batch(3));
    await first.untilIdle();
    deny(refAt(first, 2));
    await first.untilIdle();
    said.verified = refAt(first, 3);
    await first.untilIdle();
    const [genesis, base, tip] = [0, 1, 3].map((number) => refAt(first, number) as L2BlockRef);
    const again = createHarness({ l1: first.l1, engine: first.engine, crossSafety });
    again.pipeline.batches.push(batch(1), batch(2), batch(3));
    again.found.next = {
      kind: "found",
      unsafe: tip!,
      safe: tip!,
      finalized: final === 0 ? genesis! : tip!,
      highestFormerSafe: tip!,
      base: base!,
    };
    await again.untilIdle();
    expect(again.heads()).toEqual({ unsafe: 3, pendingSafe: 3, safe: 3, finalized: final });
    expect(refAt(again, 3)).toEqual(tip);
    expect(again.counts.resets).toBe(1);
  });
});
