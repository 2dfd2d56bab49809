import { hexToBytes } from "@rnode/primitives";
import { encodeChannelBatch } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { compress, expectDerived, post, postFrames, sim } from "./testing/pipeline-steps.ts";
import { forksUpTo, GENESIS_TIME, join } from "./testing/sim.ts";

describe("before Holocene", () => {
  it("takes frames in any order, and channels in the order of their first frames before Canyon", async () => {
    for (const [era, expected] of [
      ["regolith", 0],
      ["canyon", 3],
    ] as const) {
      const s = sim(forksUpTo(era));
      s.l1.mineEmpty(2);
      await s.sequenceToL1Head();
      const [a0, a1, a2] = s.frames(compress(s.batches("singular", 4, 6)), 3);
      const b = s.frames(compress(s.batches("singular", 1, 3)));
      postFrames(s, [a2!], b, [a0!]);
      expect(await s.derive()).toBe("idle");
      expectDerived(s, expected);
      postFrames(s, [a1!]);
      expect(await s.derive()).toBe("idle");
      expectDerived(s, 6);
    }
  });

  it("drops a channel that times out, and its later frames", async () => {
    const s = sim(forksUpTo("canyon"), { channelTimeoutL1Blocks: 3 });
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const frames = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, frames.slice(0, 1));
    s.l1.mineEmpty(3);
    postFrames(s, frames.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events).toContain("channel 1 timed-out");
    // Posted again exactly at the timeout, it is still in time.
    const again = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, again.slice(0, 1));
    s.l1.mineEmpty(2);
    postFrames(s, again.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 5);
  });

  it("keeps batches of the future until the chain gets there", async () => {
    const s = sim(forksUpTo("canyon"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    post(s, 4, 8);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    post(s, 1, 3);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 8);
  });

  it("drops a batch with a deposit, and takes the batches after it", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(1);
    await s.sequenceMany(3);
    const deposit = s.sequencer.payloads[1]!.transactions[0]!;
    const bad = encodeChannelBatch({
      kind: "singular",
      parentHash: hexToBytes(s.sequencer.hashes[0]!),
      epochNumber: 1000n,
      epochHash: hexToBytes(s.config.rollup.genesis.l1.hash),
      timestamp: BigInt(GENESIS_TIME + 2),
      transactions: [deposit],
    });
    postFrames(s, s.frames(compress(join([bad, s.batches("singular", 1, 1)]))));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 1);
    expect(s.verdicts).toContain("singular drop deposit-transaction");
  });

  it("goes back to the last complete span when the engine refuses a block, and takes the next batch", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    post(s, 1, 3, "span");
    post(s, 4, 8, "span");
    let refused = 0;
    s.isInvalid = ({ parent }) => parent.number === 5 && refused++ === 0;
    expect(await s.derive()).toBe("idle");
    expect(refused).toBe(1);
    expectDerived(s, 3);
    post(s, 4, number, "span");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("forgets the rest of a span of which the engine refused a block, also when the chain gets there by other batches", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    post(s, 1, 6, "span");
    let refused = 0;
    s.isInvalid = ({ parent }) => parent.number === 2 && refused++ === 0;
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    post(s, 1, 3, "singular");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
  });

  it("says which block ends a span", async () => {
    const s = sim(forksUpTo("granite"));
    s.l1.mineEmpty(1);
    await s.sequenceMany(4);
    post(s, 1, 3, "span");
    post(s, 4, 4, "singular");
    expect(await s.derive()).toBe("idle");
    expect(s.derived.map(({ isLastInSpan }) => isLastInSpan)).toEqual([false, false, true, true]);
    expect(s.derived.map(({ derivedFrom }) => derivedFrom.number)).toEqual([1002, 1002, 1002, 1003]);
  });
});
