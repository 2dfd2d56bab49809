import { brotliCompressSync, constants, deflateSync } from "node:zlib";
import { createDecompressor } from "@rnode/compression";
import { encodeBatcherData, type Frame, type Transaction } from "@rnode/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findSyncStart } from "../start/sync-start.ts";
import { forksUpTo, join, Sim } from "../testing/sim.ts";

const decompressor = createDecompressor();
const ERAS = ["bedrock", "canyon", "delta", "fjord", "granite", "holocene", "jovian"] as const;
type Era = (typeof ERAS)[number];
const isFrom = (era: Era, first: Era): boolean => ERAS.indexOf(era) >= ERAS.indexOf(first);

const SOMEBODY_KEY = new Uint8Array(32).fill(0x5b);

/** Data between an honest batcher's transactions that must have no effect. */
const JUNK = [
  "somebody's",
  "not to the inbox",
  "no data",
  "unknown version",
  "truncated",
  "bad is_last",
  "unknown compression",
  "of the past",
] as const;

const scheme = fc.record({
  blocks: fc.array(fc.record({ transactions: fc.nat(2), keepOrigin: fc.boolean() }), { minLength: 1, maxLength: 20 }),
  /** consecutive batches; the last of these has all remaining blocks */
  batches: fc.array(fc.record({ blocks: fc.integer({ min: 1, max: 6 }), isSpan: fc.boolean(), beginsChannel: fc.boolean() }), {
    minLength: 1,
    maxLength: 12,
  }),
  channels: fc.array(fc.record({ frames: fc.integer({ min: 1, max: 4 }), how: fc.nat(2) }), { minLength: 12, maxLength: 12 }),
  /** before Holocene frames come in the order of these */
  order: fc.array(fc.nat(), { minLength: 48, maxLength: 48 }),
  framesInTransaction: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 48, maxLength: 48 }),
  transactionsInBlock: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 60, maxLength: 60 }),
  junk: fc.array(fc.record({ before: fc.nat(40), kind: fc.constantFrom(...JUNK) }), { maxLength: 6 }),
});
type Scheme = typeof scheme extends fc.Arbitrary<infer T> ? T : never;

function compressed(content: Uint8Array, how: number, era: Era): Uint8Array {
  if (how === 2 && isFrom(era, "fjord")) return join([Uint8Array.of(1), new Uint8Array(brotliCompressSync(content))]);
  return new Uint8Array(deflateSync(content, how === 0 ? {} : { finishFlush: constants.Z_SYNC_FLUSH }));
}

/** The sequencer's chain as frames, each channel's in order. */
function framesOf(s: Sim, era: Era, { batches, channels }: Scheme): Frame[] {
  const contents: Uint8Array[][] = [[]];
  const head = s.sequencer.head.number;
  for (let from = 1, i = 0; from <= head; i++) {
    const { blocks, isSpan, beginsChannel } = batches[Math.min(i, batches.length - 1)]!;
    const to = i >= batches.length - 1 ? head : Math.min(head, from + blocks - 1);
    if (beginsChannel && contents.at(-1)!.length > 0) contents.push([]);
    contents.at(-1)!.push(s.batches(isSpan && isFrom(era, "delta") ? "span" : "singular", from, to));
    from = to + 1;
  }
  return contents.flatMap((parts, i) => {
    const { frames, how } = channels[i]!;
    return s.frames(compressed(join(parts), how, era), frames);
  });
}

function junkTransaction(s: Sim, kind: (typeof JUNK)[number]): Transaction {
  const valid = encodeBatcherData(s.frames(compressed(s.batches("singular", 1, 1), 0, "bedrock")));
  switch (kind) {
    case "somebody's":
      return s.l1.calldata(valid, SOMEBODY_KEY);
    case "not to the inbox":
      return s.l1.calldata(valid, undefined, new Uint8Array(20).fill(3));
    case "no data":
      return s.l1.calldata(new Uint8Array(0));
    case "unknown version":
      return s.l1.calldata(join([Uint8Array.of(1), valid.subarray(1)]));
    case "truncated":
      return s.l1.calldata(valid.subarray(0, -1));
    case "bad is_last":
      return s.l1.calldata(join([valid.subarray(0, -1), Uint8Array.of(2)]));
    case "unknown compression":
      return s.l1.calldata(encodeBatcherData(s.frames(Uint8Array.of(0x42, 1, 2))));
    case "of the past":
      return s.l1.calldata(valid);
  }
}

/** Whole channels may only come between channels once frames have to be in order. */
const opensChannel = (kind: (typeof JUNK)[number]): boolean => kind === "unknown compression" || kind === "of the past";

async function derivesTheSame(era: Era, plan: Scheme): Promise<void> {
  const s = new Sim({ forkTimes: forksUpTo(era), decompressor, seqWindowSize: 200, channelTimeoutL1Blocks: 100 });
  s.l1.mineEmpty(5);
  for (const { transactions, keepOrigin } of plan.blocks) {
    await s.sequence({ transactions: Array.from({ length: transactions }, () => s.userTransaction()), keepOrigin });
  }
  const isStrict = isFrom(era, "holocene");
  const inOrder = framesOf(s, era, plan);
  const frames = isStrict
    ? inOrder
    : inOrder
        .map((frame, i) => ({ frame, key: plan.order[i]! }))
        .sort((a, b) => a.key - b.key)
        .map(({ frame }) => frame);
  const transactions: Transaction[] = [];
  for (let at = 0, i = 0; at < frames.length; i++) {
    const list = frames.slice(at, (at += plan.framesInTransaction[i]!));
    const isBetweenChannels = list[0]!.number === 0;
    for (const { before, kind } of plan.junk) {
      if (before === i && (!isStrict || isBetweenChannels || !opensChannel(kind))) transactions.push(junkTransaction(s, kind));
    }
    transactions.push(s.l1.calldata(encodeBatcherData(list)));
  }
  for (let at = 0, i = 0; at < transactions.length; i++) {
    const count = i < plan.transactionsInBlock.length ? plan.transactionsInBlock[i]! : 1;
    s.l1.mine({ transactions: transactions.slice(at, at + count) });
    at += count;
  }
  expect(await s.derive()).toBe("idle");
  expect(s.verifier.hashes).toEqual(s.sequencer.hashes);
  expect(s.safeHead.number).toBe(s.sequencer.head.number);
}

describe.each(ERAS)("%s", (era) => {
  it("any honest chain, however it is put into batches, channels, frames and transactions, with junk between them, is derived", async () => {
    await fc.assert(
      fc.asyncProperty(scheme, (plan) => derivesTheSame(era, plan)),
      { numRuns: 15 },
    );
  });

  it("a channel whose compressed data ends or breaks anywhere gives exactly the batches before that", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 12 }), fc.nat(), fc.nat(2), fc.option(fc.nat(7)), async (blocks, at, how, bit) => {
        const s = new Sim({ forkTimes: forksUpTo(era), decompressor, seqWindowSize: 200, channelTimeoutL1Blocks: 100 });
        s.l1.mineEmpty(5);
        await s.sequenceMany(blocks);
        const whole = compressed(s.batches("singular", 1, blocks), how, era);
        const content = whole.slice();
        const cut = 2 + (at % (content.length - 2));
        if (bit !== null) content[cut]! ^= 1 << bit;
        s.l1.mine({
          transactions: [s.l1.calldata(encodeBatcherData(s.frames(bit === null ? content.subarray(0, cut) : content)))],
        });
        expect(await s.derive()).toBe("idle");
        // Data with a changed bit can decompress to valid data: the blocks before the first difference must be equal.
        const same = s.verifier.hashes.findIndex((hash, i) => hash !== s.sequencer.hashes[i]);
        if (bit === null) expect(same).toBe(-1);
        const before = decompressor.decompress(
          content[0] === 1 ? "brotli" : "zlib",
          content[0] === 1 ? content.subarray(1, cut) : content.subarray(0, cut),
          1e7,
        );
        let complete = 0;
        for (let size = 0; complete < blocks; complete++) {
          size += s.batches("singular", complete + 1, complete + 1).length;
          if (size > before.bytes.length) break;
        }
        if (bit === null) expect(s.verifier.head.number).toBe(complete);
        else expect(s.verifier.hashes.slice(0, complete + 1)).toEqual(s.sequencer.hashes.slice(0, complete + 1));
      }),
      { numRuns: 12 },
    );
  });
});

/** The verifier restarts from the sync start, like a restarted node. */
async function startOver(s: Sim): Promise<void> {
  const { verifier, l1, config } = s;
  const labels = { unsafe: verifier.head, safe: verifier.head, finalized: verifier.refAt(0) };
  const found = await findSyncStart(config.rollup, l1, {
    blockRefByLabel: async (label) => labels[label],
    blockRefByHash: (hash) => verifier.blockRefByHash(hash),
  });
  verifier.rewind(found.safe.number);
  await s.reset();
}

/** The verifier follows L1 as the driver does. */
async function follow(s: Sim): Promise<void> {
  for (let resets = 0; (await s.derive()) === "reset"; resets++) {
    if (resets > 20) throw new Error("resets do not help");
    await startOver(s);
  }
}

type Step =
  | { readonly kind: "sequence"; readonly blocks: number }
  | { readonly kind: "post"; readonly isSpan: boolean; readonly frames: number }
  | { readonly kind: "mine"; readonly count: number }
  | { readonly kind: "reorg"; readonly depth: number }
  | { readonly kind: "restart"; readonly back: number }
  | { readonly kind: "fail"; readonly method: keyof Sim["l1"]["failures"] }
  | { readonly kind: "follow" };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("sequence" as const), blocks: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant("post" as const), isSpan: fc.boolean(), frames: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant("mine" as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant("reorg" as const), depth: fc.integer({ min: 1, max: 7 }) }),
  fc.record({ kind: fc.constant("restart" as const), back: fc.nat(9) }),
  fc.record({
    kind: fc.constant("fail" as const),
    method: fc.constantFrom("blockByNumber", "blockByHash", "receipts", "transactions"),
  }),
  fc.record({ kind: fc.constant("follow" as const) }),
);

/** The sequencer drops the blocks whose L1 origin was removed. */
function dropOrphans({ sequencer, l1 }: Sim): void {
  const canonical = new Set(l1.refs.map(({ hash }) => hash));
  while (sequencer.head.number > 0 && !canonical.has(sequencer.head.l1Origin.hash)) sequencer.rewind(sequencer.head.number - 1);
}

/** Compares a node that follows L1 through all steps with one that reads the final L1 once from the beginning. */
async function followsLikeANewNode(era: Era, steps: readonly Step[]): Promise<void> {
  const options = { forkTimes: forksUpTo(era), decompressor, seqWindowSize: 8, channelTimeoutL1Blocks: 4 };
  const s = new Sim(options);
  let posted = 0;
  for (const each of steps) {
    switch (each.kind) {
      case "sequence":
        if (s.sequencer.head.l1Origin.number + 4 > s.l1.head.number) s.l1.mineEmpty(1);
        await s.sequenceMany(each.blocks);
        break;
      case "post": {
        posted = Math.min(posted, s.sequencer.head.number);
        if (posted === s.sequencer.head.number) break;
        const type = each.isSpan && isFrom(era, "delta") ? "span" : "singular";
        for (const frame of s.frames(compressed(s.batches(type, posted + 1, s.sequencer.head.number), 0, era), each.frames)) {
          s.l1.mine({ transactions: [s.l1.calldata(encodeBatcherData([frame]))] });
        }
        posted = s.sequencer.head.number;
        break;
      }
      case "mine":
        s.l1.mineEmpty(each.count);
        break;
      case "reorg": {
        const depth = Math.min(each.depth, s.l1.refs.length - 1);
        if (depth === 0) break;
        s.l1.reorg(depth);
        s.l1.mineEmpty(depth + 1);
        dropOrphans(s);
        posted = 0;
        break;
      }
      case "restart":
        s.verifier.rewind(Math.max(0, s.safeHead.number - each.back));
        await startOver(s);
        break;
      case "fail":
        s.l1.failures[each.method] = 1;
        await follow(s).catch(() => undefined);
        s.l1.failures[each.method] = 0;
        break;
      case "follow":
        await follow(s);
    }
  }
  s.l1.mineEmpty(1);
  await follow(s);
  const fresh = new Sim({ ...options, l1: s.l1 });
  expect(await fresh.derive()).toBe("idle");
  expect(s.verifier.hashes).toEqual(fresh.verifier.hashes);
}

describe.each(["canyon", "granite", "jovian"] as const)("reorganisations of L1 and resets, %s", (era) => {
  it("a node that has been through them has the chain of a node that reads L1 for the first time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 30 }), (steps) => followsLikeANewNode(era, steps)),
      { numRuns: 20 },
    );
  });
});
