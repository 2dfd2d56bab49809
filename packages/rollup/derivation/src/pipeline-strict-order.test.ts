import { hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { compress, expectDerived, post, postFrames, sim } from "./testing/pipeline-steps.ts";
import { forksUpTo, GENESIS_TIME, join } from "./testing/sim.ts";

describe("Holocene", () => {
  it("drops frames out of order", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const [f0, f1, f2] = s.frames(compress(s.batches("singular", 1, 5)), 3);
    postFrames(s, [f0!, f2!], [f2!], [f1!]);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events.filter((event) => event.startsWith("frame-dropped"))).toEqual([
      "frame-dropped 1:2 out-of-order",
      "frame-dropped 1:2 out-of-order",
    ]);
    postFrames(s, [f2!]);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 5);
  });

  it("replaces an unfinished channel by the next one's first frame", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const a = s.frames(compress(s.batches("singular", 1, 5)), 2);
    const b = s.frames(compress(s.batches("singular", 1, 3)), 2);
    postFrames(s, a.slice(0, 1), b.slice(0, 1));
    postFrames(s, a.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events).toContain("channel 1 replaced");
    expect(s.events).toContain("frame-dropped 1:1 wrong-channel");
    postFrames(s, b.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
  });

  it("discards a channel that times out", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const frames = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, frames.slice(0, 1));
    // Granite's timeout applies, not the configured one.
    s.l1.mineEmpty(50);
    postFrames(s, frames.slice(1));
    // The window of 20 L1 blocks has expired, so there are empty blocks, but none from the channel.
    expect(await s.derive()).toBe("idle");
    expect(s.events).toContain("channel 1 timed-out");
    expect(s.events).toContain("frame-dropped 1:1 no-channel");
  });

  it("gives up the channel at a batch that does not fit", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    // A gap: batch 3 is missing.
    postFrames(s, s.frames(compress(join([s.batches("singular", 1, 2), s.batches("singular", 4, 6)]))));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
    expect(s.verdicts).toEqual(["singular accept", "singular accept", "singular drop timestamp-in-future"]);
    expect(s.events).toContain("channel 1 flushed");
    post(s, 4, 6);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
    post(s, 3, 6);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 6);
  });

  it("skips batches of the past", async () => {
    const s = sim(forksUpTo("holocene"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    post(s, 1, 4);
    post(s, 2, 6);
    post(s, 1, 5, "span");
    post(s, 3, 9, "span");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 9);
    expect(s.verdicts.filter((verdict) => verdict.includes("past"))).toEqual([
      "singular past",
      "singular past",
      "singular past",
      "span past",
    ]);
    expect(s.verdicts.filter((verdict) => verdict.includes("drop"))).toEqual([]);
  });

  it("keeps the blocks of a span before the one that is wrong", async () => {
    const s = sim(forksUpTo("holocene"), { maxSequencerDriftSec: 600 });
    s.l1.mineEmpty(2);
    await s.sequenceMany(2);
    await s.sequence({ transactions: [hexToBytes("04c0")] });
    await s.sequenceMany(2);
    // The third block's transaction only starts with the byte of a set-code transaction, so the span cannot be built.
    expect(() => s.batches("span", 1, 5)).toThrow(expect.objectContaining({ code: "span-batch/unsupported-transaction" }));
    post(s, 1, 5, "singular");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
    expect(s.verdicts.at(-1)).toBe("singular drop set-code-before-isthmus");
  });

  it("replaces a block that the engine refuses by its deposits, and forgets the rest of the channel", async () => {
    for (const type of ["singular", "span"] as const) {
      const s = sim(forksUpTo("holocene"));
      s.l1.mineEmpty(2);
      await s.sequenceToL1Head();
      post(s, 1, 8, type);
      s.isInvalid = ({ parent, attributes }) => parent.number === 3 && attributes.transactions!.length > 1;
      expect(await s.derive()).toBe("idle");
      expect(s.verifier.head.number).toBe(4);
      expect(s.agreesTo(3)).toBe(true);
      expect(s.agreesTo(4)).toBe(false);
      const [refused, replaced] = s.derived.slice(-2);
      expect(refused!.attributes.transactions!.length).toBe(2);
      expect(replaced!.attributes).toEqual({ ...refused!.attributes, transactions: refused!.attributes.transactions!.slice(0, 1) });
      expect(replaced!.isLastInSpan).toBe(true);
      expect(s.events).toContain("channel 1 flushed");
      // Deposits alone cannot be invalid.
      expect(() => s.pipeline.depositsOnly(replaced!)).toThrow(
        expect.objectContaining({ code: "derivation/already-deposits-only" }),
      );
    }
  });

  it("compares the part of a span that is in the safe chain, unless told not to", async () => {
    for (const checkSpanOverlapInStrictOrder of [true, false]) {
      const s = sim(forksUpTo("holocene"), { checkSpanOverlapInStrictOrder });
      s.l1.mineEmpty(2);
      await s.sequenceMany(3);
      post(s, 1, 3);
      expect(await s.derive()).toBe("idle");
      expectDerived(s, 3);
      // Another chain from block 1 on, in a span that begins at block 2: its parent is in the safe chain, its block 2 is not.
      const original = s.sequencer.hashes;
      s.sequencer.rewind(1);
      await s.sequenceMany(4);
      expect(s.sequencer.hashes[2]).not.toBe(original[2]);
      post(s, 2, 5, "span");
      expect(await s.derive()).toBe("idle");
      expect(s.verdicts.at(-1)).toBe(checkSpanOverlapInStrictOrder ? "span drop span-overlap-mismatch" : "singular-of-span accept");
      expect(s.verifier.head.number).toBe(checkSpanOverlapInStrictOrder ? 3 : 5);
    }
  });

  it("forgets frames and channels when it begins, and keeps the L1 blocks", async () => {
    // Active from L1 block 1004 on.
    const s = sim({ ...forksUpTo("granite"), holocene: GENESIS_TIME + 4 * 12 });
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const frames = s.frames(compress(s.batches("singular", 1, 5)), 2);
    postFrames(s, frames.slice(0, 1));
    postFrames(s, frames.slice(1));
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    expect(s.events).toContain("frame-dropped 1:1 no-channel");
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    post(s, 1, number);
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
    expect(s.verifier.head.l1Origin.number).toBe(1004);
  });
});
