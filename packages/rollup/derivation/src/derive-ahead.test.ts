import { deflateSync } from "node:zlib";
import { createDecompressor } from "@rnode/compression";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { encodeBatcherData, type L2BlockRef, type OpFork } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { DerivedAttributes } from "./pipeline-types.ts";
import { forksUpTo, Sim, shown } from "./testing/sim.ts";

const decompressor = createDecompressor();
const sim = (era: OpFork): Sim => new Sim({ forkTimes: forksUpTo(era), decompressor });

/** Posts blocks of the sequencer's chain as one span batch in the next L1 block. */
function postSpan(s: Sim, from: number, to: number): void {
  const content = new Uint8Array(deflateSync(s.batches("span", from, to)));
  s.l1.mine({ transactions: [s.l1.calldata(encodeBatcherData(s.frames(content)))] });
}

/** Derives within spans on blocks with unknown hashes, which are replaced by other values. */
async function deriveAhead(s: Sim): Promise<DerivedAttributes[]> {
  const known = new Map<Hex, L2BlockRef>();
  const systemConfigByHash = s.verifier.systemConfigByHash.bind(s.verifier);
  s.verifier.systemConfigByHash = (hash) => systemConfigByHash(known.get(hash)?.hash ?? hash);
  await s.reset();
  const derived: DerivedAttributes[] = [];
  let head = s.verifier.head;
  for (let steps = 0; steps < 1000; steps++) {
    const pull = await s.pipeline.step(head);
    if (pull.kind === "exhausted") return derived;
    if (pull.kind === "reset") throw new Error(pull.detail);
    if (pull.kind !== "value") continue;
    derived.push(pull.value);
    const parent = known.get(pull.value.parent.hash) ?? pull.value.parent;
    const built = s.verifier.build(parent, pull.value.attributes);
    const hash = bytesToHex(new Uint8Array(32).fill(derived.length & 0xff, 31));
    known.set(hash, built);
    head = s.pipeline.nextParent === "unnamed" ? { ...built, hash } : built;
  }
  throw new Error("the pipeline does not come to rest");
}

describe.each(["delta", "granite", "holocene", "jovian"] as const)("deriving ahead within a span batch, %s", (era) => {
  it("gives the attributes that are derived on real blocks", async () => {
    const [a, b] = [sim(era), sim(era)];
    for (const s of [a, b]) {
      s.l1.mineEmpty(4);
      await s.sequenceToL1Head();
      postSpan(s, 1, 9);
      postSpan(s, 10, s.sequencer.head.number);
    }
    expect(await a.derive()).toBe("idle");
    const ahead = await deriveAhead(b);
    expect(a.derived.length).toBeGreaterThan(20);
    expect(ahead.map(({ attributes }) => shown(attributes.transactions))).toEqual(
      a.derived.map(({ attributes }) => shown(attributes.transactions)),
    );
    expect(b.verifier.hashes).toEqual(a.verifier.hashes);
  });

  it("tells where it ends: the first batch of a span names its parent", async () => {
    const s = sim(era);
    s.l1.mineEmpty(1);
    await s.sequenceMany(5);
    postSpan(s, 1, 3);
    postSpan(s, 4, 5);
    await s.reset();
    const within: boolean[] = [];
    for (let head = s.verifier.head; within.length < 5; ) {
      const pull = await s.pipeline.step(head);
      if (pull.kind !== "value") continue;
      within.push(s.pipeline.nextParent === "unnamed");
      head = s.verifier.build(pull.value.parent, pull.value.attributes);
    }
    expect(within).toEqual([true, true, false, true, false]);
  });
});

describe.each(["bedrock", "granite", "holocene", "jovian"] as const)("the parents that singular batches name, %s", (era) => {
  it("are known as long as the channel has batches, and are the hashes of the blocks", async () => {
    const s = sim(era);
    s.l1.mineEmpty(2);
    await s.sequenceMany(6);
    for (const [from, to] of [
      [1, 4],
      [5, 6],
    ] as const) {
      const content = new Uint8Array(deflateSync(s.batches("singular", from, to)));
      s.l1.mine({ transactions: [s.l1.calldata(encodeBatcherData(s.frames(content)))] });
    }
    await s.reset();
    const named: boolean[] = [];
    for (let head = s.verifier.head; named.length < 6; ) {
      const pull = await s.pipeline.step(head);
      if (pull.kind !== "value") continue;
      head = s.verifier.build(pull.value.parent, pull.value.attributes);
      const { nextParent } = s.pipeline;
      expect([undefined, head.hash]).toContain(nextParent);
      named.push(nextParent !== undefined);
    }
    expect(named).toEqual([true, true, true, false, true, false]);
    expect(s.agreesTo(6)).toBe(true);
  });
});

describe("a span batch over many epochs that is given up at a late block", () => {
  it("before Holocene: goes back to the block before the span without starting over, and takes the next batch", async () => {
    const s = sim("granite");
    s.l1.mineEmpty(5);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    postSpan(s, 1, 3);
    postSpan(s, 4, number);
    let refused = 0;
    s.isInvalid = ({ parent }) => parent.number === number - 1 && refused++ === 0;
    expect(await s.derive()).toBe("idle");
    expect([refused, s.verifier.head.number, s.resets.length]).toEqual([1, 3, 0]);
    postSpan(s, 4, number);
    expect(await s.derive()).toBe("idle");
    expect([s.verifier.head.number, s.agreesTo(number), s.resets.length]).toEqual([number, true, 0]);
  });

  it("Holocene: goes on after a block that was derived ahead was built with its deposits only", async () => {
    const s = sim("jovian");
    s.l1.mineEmpty(5);
    await s.sequenceToL1Head();
    postSpan(s, 1, s.sequencer.head.number);
    await s.reset();
    let head = s.verifier.head;
    let first: DerivedAttributes | undefined;
    for (let derived = 0; derived < 20; ) {
      const pull = await s.pipeline.step(head);
      if (pull.kind !== "value") continue;
      first ??= pull.value;
      derived++;
      head = s.verifier.build(pull.value.parent, pull.value.attributes);
    }
    const replaced = s.pipeline.depositsOnly(first!);
    s.verifier.rewind(0);
    head = s.verifier.build(replaced.parent, replaced.attributes);
    let pull = await s.pipeline.step(head);
    while (pull.kind === "again") pull = await s.pipeline.step(head);
    expect(pull.kind).toBe("exhausted");
    expect(hexToBytes(head.l1Origin.hash)).toHaveLength(32);
  });
});
