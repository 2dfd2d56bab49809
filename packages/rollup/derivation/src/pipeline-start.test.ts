import { createDecompressor } from "@rnode/compression";
import type { ForkTimes, L2BlockRef } from "@rnode/protocol";
import { expect, it } from "vitest";
import { derivationRules } from "./rules.ts";
import { forksUpTo, GENESIS_TIME, Sim } from "./testing/sim.ts";

const L1_BLOCKS = 40;

async function chainOn(forkTimes: ForkTimes): Promise<Sim> {
  const s = new Sim({ forkTimes, decompressor: createDecompressor(), channelTimeoutL1Blocks: 8 });
  s.l1.mineEmpty(L1_BLOCKS);
  await s.sequenceToL1Head();
  s.verifier.adopt(s.sequencer);
  return s;
}

/** As the specification describes it: block by block. */
async function walk({ config: { rollup }, sequencer, l1 }: Sim, safe: L2BlockRef): Promise<number> {
  for (let block = safe; ; block = (await sequencer.blockRefByHash(block.parentHash))!) {
    const { timestamp } = l1.refs.find(({ hash }) => hash === block.l1Origin.hash)!;
    const isFarEnough = block.l1Origin.number + derivationRules(rollup, timestamp).channelTimeoutL1Blocks <= safe.l1Origin.number;
    if (block.number === 0 || block.l1Origin.number <= rollup.genesis.l1.number || isFarEnough) return block.l1Origin.number;
  }
}

const granite = forksUpTo("granite");
it.each<[string, ForkTimes]>([
  ["with a timeout of 8", forksUpTo("fjord")],
  ["with a timeout of 50", granite],
  ["where the timeout changes on the way", { ...granite, granite: GENESIS_TIME + (L1_BLOCKS / 2) * 12 }],
])("reading starts where a walk back over every block ends, %s", async (_, forkTimes) => {
  const s = await chainOn(forkTimes);
  for (let number = 0; number <= s.sequencer.head.number; number += 7) {
    const safe = (await s.sequencer.blockRefByNumber(number))!;
    await s.pipeline.reset(safe);
    expect({ number, start: s.pipeline.origin!.number }).toEqual({ number, start: await walk(s, safe) });
  }
});

it("a reset asks for one L2 block of each L1 origin", async () => {
  const s = await chainOn(forksUpTo("fjord"));
  let asked = 0;
  for (const method of ["blockRefByHash", "blockRefByNumber"] as const) {
    const original = s.verifier[method].bind(s.verifier) as (id: never) => Promise<L2BlockRef | undefined>;
    const counting = (id: never) => {
      asked++;
      return original(id);
    };
    Object.assign(s.verifier, { [method]: counting });
  }
  await s.pipeline.reset(s.sequencer.head);
  expect(asked).toBe(8);
});

it.each(["blockRefByHash", "blockRefByNumber"] as const)(
  "names the block that a reset lacks, and why it is needed (%s)",
  async (method) => {
    const s = await chainOn(forksUpTo("fjord"));
    const { head } = s.sequencer;
    // The start needs the last block of each origin; it is found by its hash from a block that is the first of its origin, or by its number.
    const isAsked = method === "blockRefByHash" ? head.sequenceNumber === 0 : head.sequenceNumber > 0;
    const safe = isAsked
      ? head
      : (await s.sequencer.blockRefByNumber(head.number - head.sequenceNumber - (method === "blockRefByHash" ? 0 : 1)))!;
    Object.assign(s.verifier, { [method]: async () => undefined });
    await expect(s.pipeline.reset(safe)).rejects.toMatchObject({
      code: "derivation/start-block-missing",
      data: { number: safe.number - safe.sequenceNumber - 1, safe: safe.number, l1Blocks: 8 },
    });
  },
);
