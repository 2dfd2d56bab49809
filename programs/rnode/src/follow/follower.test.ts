import { RpcError } from "@rnode/jsonrpc";
import { EngineError, RollupClientError, type SyncStatus } from "@rnode/node-clients";
import type { L2BlockRef, RollupConfig } from "@rnode/protocol";
import { forksUpTo } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { FakeSource, UNKNOWN_L1, UNKNOWN_L2 } from "../testing/fake-source.ts";
import { buildUnsafe, createHarness, type Harness, userTransaction } from "../testing/harness.ts";

const BLOCK_TIME_MS = 2_000;
const POLL_MS = 2 * BLOCK_TIME_MS;

interface SetUp {
  readonly config?: RollupConfig;
  readonly blocks?: number;
  readonly isSequencer?: boolean;
}

/** A light node whose engine has `blocks` unsafe blocks, with the origins 0, 0, 1, 1, … */
async function light({ config = testConfig(), blocks = 8, isSequencer = false }: SetUp = {}) {
  const source = new FakeSource(config);
  const l1 = new FakeL1(8);
  const engine = new FakeEngine(config);
  engine.checksLabels = "first";
  const harness = createHarness({ config, source, l1, engine });
  const genesis = engine.block(engine.head).ref;
  if (blocks > 0) buildUnsafe(harness, unsafeBlocks(blocks));
  const refs = engine.chain().map(({ ref }) => ref);
  const says = (...[localSafe, more = {}]: [L2BlockRef, Parameters<FakeSource["says"]>[1]?]) =>
    source.says(localSafe, more, { engine, l1 });
  says(genesis);
  if (isSequencer) harness.sequencer.start();
  harness.follower!.onL1Head(l1.head);
  const poll = async (): Promise<ReturnType<Harness["heads"]>> => {
    await harness.advance(POLL_MS, 500);
    return harness.heads();
  };
  return { ...harness, harness, source, l1, engine, genesis, refs, says, poll };
}

const unsafeBlocks = (count: number, tag = 0) =>
  Array.from({ length: count }, (_, i) => ({ origin: Math.floor(i / 2), userTransactions: [userTransaction(tag + i)] }));

/** Blocks of another branch, after `parent`, which the engine does not have; `learn` gives them to it. */
function otherBranch({ config, l1, engine }: Pick<Harness, "config" | "l1" | "engine">, parent: L2BlockRef, count: number) {
  const other = new FakeEngine(config);
  let tip = parent;
  const made = Array.from({ length: count }, () => {
    const origin = l1.blocks[Math.floor(tip.number / 2)]!;
    const block = other.make(tip, attributesOn(config, tip, origin, [userTransaction(100)]));
    tip = block.ref;
    return block;
  });
  /** @param only one of them by its number; default: all */
  const learn = async (only?: number) => {
    for (const { envelope, ref } of made) if (only === undefined || ref.number === only) await engine.newPayload(envelope);
  };
  return { refs: made.map(({ ref }) => ref), tip, learn };
}

const warnings = ({ logs }: Pick<Harness, "logs">) =>
  logs.filter(({ level }) => level === "warn").map(({ text, fields }) => `${text}: ${JSON.stringify(fields)}`);

describe("a light node", () => {
  it("takes its safe and finalized blocks from the source, and derives nothing", async () => {
    const { refs, says, poll, engine, pipeline, idleAt, follower, l1, sourceMetrics } = await light();
    expect(await poll()).toEqual({ unsafe: 8, pendingSafe: 0, safe: 0, finalized: 0 });
    says(refs[4]!, { finalized: refs[2]! });
    expect(await poll()).toEqual({ unsafe: 8, pendingSafe: 4, safe: 4, finalized: 2 });
    expect([engine.safe, engine.finalized]).toEqual([refs[4]!.hash, refs[2]!.hash]);
    expect(idleAt.at(-1)).toBe(l1.head.number); // current_l1 is the source's
    expect(pipeline.steps).toBe(0);
    expect(follower!.faults).toEqual([]);
    expect(new Set(sourceMetrics.requests)).toEqual(new Set(["success"]));
  });

  it("asks every two block times, and never twice at once", async () => {
    const { source, harness, refs, says } = await light();
    says(refs[1]!);
    await harness.untilIdle();
    expect(source.asked).toBe(1);
    await harness.advance(10 * POLL_MS);
    expect(source.asked).toBe(11);
    let release = (): void => {};
    source.delay = new Promise((resolve) => {
      release = resolve;
    });
    await harness.advance(5 * POLL_MS);
    expect([source.asked, source.mostAtOnce]).toEqual([12, 1]);
    source.delay = undefined;
    release();
    await harness.advance(POLL_MS);
    expect([source.asked, source.mostAtOnce]).toEqual([13, 1]);
  });

  it("never moves its labels back because the source goes back", async () => {
    const { refs, says, poll } = await light();
    says(refs[6]!, { finalized: refs[3]! });
    await poll();
    says(refs[2]!, { finalized: refs[1]! });
    expect(await poll()).toEqual({ unsafe: 8, pendingSafe: 6, safe: 6, finalized: 3 });
    says(refs[0]!);
    expect(await poll()).toEqual({ unsafe: 8, pendingSafe: 6, safe: 6, finalized: 3 });
  });

  it("waits with finality for its own L1", async () => {
    const { refs, says, poll, final, l1 } = await light();
    final.l1 = l1.blocks[1];
    says(refs[8]!, { finalized: refs[6]! }); // its origin is L1 block 2
    expect(await poll()).toMatchObject({ safe: 8, finalized: 0 });
    final.l1 = undefined;
    expect(await poll()).toMatchObject({ finalized: 0 });
    final.l1 = l1.blocks[2];
    expect(await poll()).toMatchObject({ finalized: 6 });
  });

  it("calls local safe blocks safe by itself before messages of other chains count, and not afterwards", async () => {
    const before = await light();
    before.says(before.refs[6]!, { safe: before.refs[3]! });
    expect(await before.poll()).toMatchObject({ pendingSafe: 6, safe: 6 });
    const config = testConfig("jovian", { forkTimes: forksUpTo("lagoon") });
    const after = await light({ config });
    after.says(after.refs[6]!, { safe: after.refs[3]! });
    expect(await after.poll()).toMatchObject({ pendingSafe: 6, safe: 3 });
    expect(after.follower!.localSafe).toEqual(after.refs[6]);
    expect(after.engine.safe).toBe(after.refs[3]!.hash);
  });
});

describe("what a source says wrong changes nothing, is logged once and counted", () => {
  type Light = Awaited<ReturnType<typeof light>>;
  const status = ({ source }: Light): SyncStatus => source.status as SyncStatus;
  const change = (by: (status: SyncStatus, light: Light) => Partial<SyncStatus>) => (it: Light) => {
    it.source.status = { ...status(it), ...by(status(it), it) };
  };
  const FAULTS: readonly (readonly [string, (light: Light) => void, string, string])[] = [
    [
      "no answer in time",
      ({ source }) => (source.status = new RollupClientError("rollup-client/bad-answer", { method: "optimism_syncStatus" })),
      "error_fetch_status",
      "not what the method promises",
    ],
    ["a refusal", ({ source }) => (source.status = new RpcError(-32000, "node is closed")), "error_fetch_status", "node is closed"],
    [
      "no local safe head, as nodes before light mode",
      change(() => ({ localSafeL2: undefined })),
      "error_invalid_state",
      "local_safe_l2",
    ],
    ["no heads yet", change(() => ({ safeL2: UNKNOWN_L2 })), "error_invalid_state", "does not know its own heads"],
    ["no L1 block yet, as during a reset", change(() => ({ currentL1: UNKNOWN_L1 })), "error_invalid_state", "current_l1"],
    ["safe above local safe", change((_, { refs }) => ({ safeL2: refs[7]! })), "error_invalid_state", "above its local safe block"],
    ["finalized above safe", change((_, { refs }) => ({ finalizedL2: refs[7]! })), "error_invalid_state", "above its safe block"],
    [
      "two blocks of one number",
      change((_, it) => ({ safeL2: otherBranch(it, it.refs[5]!, 1).tip })),
      "error_invalid_state",
      "two blocks 6",
    ],
    [
      "a block before the genesis",
      change(({ finalizedL2 }) => ({ finalizedL2: { ...finalizedL2, number: -1 } })),
      "error_invalid_state",
      "first block",
    ],
    [
      "another genesis",
      change(({ safeL2 }, { genesis }) => ({ finalizedL2: { ...genesis, hash: safeL2.hash } })),
      "error_invalid_state",
      "starts from",
    ],
    [
      "another time of a block",
      change(({ safeL2 }) => ({ localSafeL2: { ...safeL2, timestamp: safeL2.timestamp + 1 } })),
      "error_invalid_state",
      "has time",
    ],
    [
      "a local safe origin that is not on our L1",
      change((_, { refs }) => ({ localSafeL2: { ...refs[6]!, l1Origin: { number: 2, hash: refs[1]!.hash } } })),
      "error_l1_mismatch",
      "L1 origin",
    ],
    [
      "a safe origin that is not on our L1",
      change((_, { refs }) => ({ safeL2: { ...refs[5]!, l1Origin: { number: 2, hash: refs[1]!.hash } } })),
      "error_l1_mismatch",
      "L1 origin",
    ],
    [
      "a finalized origin that is not on our L1",
      change((_, { refs }) => ({ finalizedL2: { ...refs[3]!, l1Origin: { number: 1, hash: refs[1]!.hash } } })),
      "error_l1_mismatch",
      "L1 origin",
    ],
    [
      "an L1 block that our L1 has another of",
      change(({ currentL1 }, { refs }) => ({ currentL1: { ...currentL1, hash: refs[1]!.hash } })),
      "error_l1_mismatch",
      "current L1 block",
    ],
    [
      "an L1 block that our L1 does not have yet",
      change(({ currentL1 }) => ({ currentL1: { ...currentL1, number: 99 } })),
      "error_l1_lookup",
      "does not have",
    ],
    [
      "an L1 origin that our L1 does not have yet",
      change((_, { refs }) => ({ localSafeL2: { ...refs[6]!, l1Origin: { number: 99, hash: refs[1]!.hash } } })),
      "error_l1_lookup",
      "does not have",
    ],
    [
      "a wrong origin of a right block",
      change((_, { refs, l1 }) => ({ localSafeL2: { ...refs[6]!, l1Origin: { number: 1, hash: l1.blocks[1]!.hash } } })),
      "error_invalid_state",
      "describes block 6 as another",
    ],
    [
      "a safe block of another branch",
      change((_, it) => ({ safeL2: otherBranch(it, it.refs[4]!, 1).tip })),
      "error_invalid_state",
      "not in the chain of its local safe block",
    ],
    [
      "a finalized block of another branch",
      change((_, it) => ({ finalizedL2: otherBranch(it, it.refs[2]!, 1).tip })),
      "error_invalid_state",
      "not in the chain of its local safe block",
    ],
    [
      "another chain",
      ({ source, config }) => (source.config = { ...config, l2ChainId: 77n }),
      "error_invalid_state",
      "l2_chain_id is 77",
    ],
    [
      "no answer about its chain",
      ({ source }) => (source.config = new RpcError(-32000, "node is closing")),
      "error_fetch_status",
      "node is closing",
    ],
  ];

  it.each(FAULTS)("%s", async (_, breakIt, result, text) => {
    const it = await light();
    it.says(it.refs[2]!, { finalized: it.refs[1]! });
    const before = await it.poll();
    it.says(it.refs[6]!, { finalized: it.refs[3]! });
    const right = { status: it.source.status, config: it.source.config };
    breakIt(it);
    if (it.source.config !== right.config) {
      it.says(it.refs[2]!, { finalized: it.refs[1]! });
      await it.advance(64_000, 2_000); // it is compared again from time to time
      it.source.status = right.status;
    }
    for (let polls = 0; polls < 3; polls++) expect(await it.poll()).toEqual(before);
    expect(it.sourceMetrics.requests.at(-1)).toBe(result);
    const said = warnings(it);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain(text);
    await it.advance(60_000, 2_000);
    it.newL1Head(3);
    for (let heads = 0; heads < 3; heads++) it.follower!.onL1Head(it.l1.head);
    expect(it.follower!.faults.join()).toContain(text);
    expect(it.follower!.status).toMatchObject({ sourceStalledSec: expect.any(Number), source: expect.stringContaining(text) });
    Object.assign(it.source, right);
    expect(await it.poll()).toMatchObject({ safe: 6, finalized: 3 });
    expect(it.follower!.faults).toEqual([]);
    expect(it.logs.some(({ text: line }) => line === "the source is followed again")).toBe(true);
  });

  it.each([
    new RpcError(-32601, "the method does not exist"),
    new RollupClientError("rollup-client/bad-answer", { method: "rollupConfig", reason: "block_time is missing" }),
  ])("goes on without a rollup configuration, and says so once: %s", async (config) => {
    const { source, says, refs, poll, advance, logs } = await light();
    source.config = config;
    says(refs[3]!);
    expect(await poll()).toMatchObject({ safe: 3 });
    await advance(130_000, 2_000);
    expect(warnings({ logs })).toEqual([expect.stringContaining("it is not compared")]);
  });

  it("logs no line for each of many short troubles", async () => {
    const { source, says, refs, poll, logs } = await light();
    for (let round = 0; round < 20; round++) {
      says(refs[(round % 5) + 1]!);
      await poll();
      source.status = new RpcError(-32000, `busy: request ${round}`);
      await poll();
    }
    expect(warnings({ logs })).toHaveLength(1);
    expect(logs.filter(({ text }) => text === "the source is followed again")).toHaveLength(1);
  });

  // docs/guide/light-node.md: the one thing in which a source is trusted
  it("can call a block safe that L1 does not have, if our engine has it and its L1 origin is canonical", async () => {
    const { says, refs, poll, final, l1, pipeline } = await light();
    expect(pipeline.batches).toEqual([]); // nothing was published
    final.l1 = l1.blocks[1];
    says(refs[8]!, { finalized: refs[8]! });
    expect(await poll()).toMatchObject({ safe: 8, finalized: 0 }); // not before the origin is final
  });

  it("warns of another fork schedule ahead, and follows", async () => {
    const { source, config, says, refs, poll, logs } = await light();
    source.config = { ...config, forkTimes: { ...config.forkTimes, karst: 4_000_000_000 } };
    says(refs[3]!);
    expect(await poll()).toMatchObject({ safe: 3 });
    await poll();
    expect(warnings({ logs })).toEqual([expect.stringContaining("karst_time is 4000000000, ours is none")]);
  });

  it("says that the source stands still although L1 has new blocks", async () => {
    const { follower, says, refs, poll, advance, newL1Head } = await light();
    says(refs[3]!);
    await poll();
    await advance(120_000, 2_000);
    expect([follower!.faults, follower!.stalledSec]).toEqual([[], 0]); // L1 has no new block either
    for (let blocks = 0; blocks < 3; blocks++) newL1Head();
    expect(follower!.faults).toEqual([expect.stringContaining("neither its heads nor its L1 block move")]);
    expect(follower!.stalledSec).toBeGreaterThan(60);
  });

  it("does not touch what it has while our own L1 does not answer", async () => {
    const { says, refs, poll, l1, sourceMetrics } = await light();
    says(refs[3]!);
    await poll();
    l1.failure = new EngineError("engine/unavailable", {});
    says(refs[5]!);
    expect(await poll()).toMatchObject({ safe: 3 });
    expect(sourceMetrics.requests.at(-1)).toBe("error_l1_lookup");
  });
});

describe("the source's block and our engine", () => {
  it("ahead of our head: the engine syncs to it, then labels move", async () => {
    const it = await light({ blocks: 4 });
    const ahead = otherBranch(it, it.refs[4]!, 4);
    it.says(ahead.tip, { finalized: it.refs[2]! });
    expect(await it.poll()).toEqual({ unsafe: 4, pendingSafe: 0, safe: 0, finalized: 0 });
    expect(it.follower!.status).toEqual({ source: "the engine syncs to block 8 from its own peers" });
    expect(it.follower!.holdsBack).toBe(false); // gossip may bring the blocks
    await ahead.learn();
    expect(await it.poll()).toEqual({ unsafe: 8, pendingSafe: 8, safe: 8, finalized: 2 });
    expect(it.engine.head).toBe(ahead.tip.hash);
    expect(it.sourceMetrics.reorgs).toEqual([]);
  });

  it("missing below our head: nothing moves", async () => {
    const it = await light();
    it.says(it.refs[5]!);
    it.engine.checksLabels = "no";
    it.engine.forget(it.refs[6]!.hash);
    expect(await it.poll()).toMatchObject({ unsafe: 8, safe: 0 });
    expect(it.follower!.status).toEqual({ source: "the engine does not have block 5 below its head yet" });
  });

  it.each(["first", "late"] as const)(
    "another one: our head goes over to the source's branch (labels checked %s)",
    async (checks) => {
      const it = await light();
      it.engine.checksLabels = checks;
      it.says(it.refs[3]!, { finalized: it.refs[1]! });
      await it.poll();
      const other = otherBranch(it, it.refs[3]!, 3);
      await other.learn();
      it.says(other.tip, { finalized: it.refs[2]! });
      expect(await it.poll()).toEqual({ unsafe: 6, pendingSafe: 6, safe: 6, finalized: 2 });
      expect([it.engine.head, it.engine.safe, it.engine.finalized]).toEqual([other.tip.hash, other.tip.hash, it.refs[2]!.hash]);
      expect(it.sourceMetrics.reorgs).toEqual(["soft_update"]);
    },
  );

  it.each(["first", "late"] as const)(
    "another one below our safe block: the source takes safe blocks back (labels checked %s)",
    async (checks) => {
      const it = await light();
      it.engine.checksLabels = checks;
      it.says(it.refs[7]!, { finalized: it.refs[2]! });
      await it.poll();
      const other = otherBranch(it, it.refs[4]!, 2);
      await other.learn();
      it.says(other.tip, { finalized: it.refs[1]! });
      expect(await it.poll()).toEqual({ unsafe: 6, pendingSafe: 6, safe: 6, finalized: 2 });
      expect(it.engine.safe).toBe(other.tip.hash);
      expect(warnings(it).join()).toContain("takes back blocks that it called safe");
    },
  );

  it.each(["no", "first", "late"] as const)(
    "another one that contradicts our finalized block: nothing moves (labels checked: %s)",
    async (checks) => {
      const it = await light();
      it.engine.checksLabels = checks;
      it.says(it.refs[7]!, { finalized: it.refs[5]! });
      const before = await it.poll();
      const other = otherBranch(it, it.refs[3]!, 5);
      await other.learn();
      for (const tip of [other.refs[0]!, other.refs[1]!, other.tip]) {
        it.says(tip, { finalized: it.refs[1]! });
        expect(await it.poll()).toEqual(before);
        expect([it.engine.head, it.engine.safe, it.engine.finalized]).toEqual([
          it.refs[8]!.hash,
          it.refs[7]!.hash,
          it.refs[5]!.hash,
        ]);
        expect(it.follower!.status.source).toMatch(/finalized block 5|refuses its block/);
      }
    },
  );

  it("another one that the engine lacks: no block is made meanwhile, for a minute", async () => {
    const it = await light();
    it.says(it.refs[3]!);
    await it.poll();
    const other = otherBranch(it, it.refs[3]!, 3);
    it.says(other.tip);
    expect(await it.poll()).toMatchObject({ unsafe: 8, safe: 3 });
    expect(it.follower!.holdsBack).toBe(true);
    await it.advance(65_000, 1_000);
    expect(it.follower!.holdsBack).toBe(false);
    expect(warnings(it).join()).toContain("look after its peers");
    await other.learn();
    expect(await it.poll()).toMatchObject({ unsafe: 6, safe: 6 });
    expect(it.follower!.holdsBack).toBe(false);
  });

  it("a newer one with each report: each is reached after a moment, not never", async () => {
    const it = await light();
    it.says(it.refs[3]!);
    await it.poll();
    const other = otherBranch(it, it.refs[3]!, 6);
    it.says(other.refs[2]!);
    await it.advance(POLL_MS, 500);
    expect(it.heads()).toMatchObject({ unsafe: 8, safe: 3 });
    it.says(other.refs[4]!);
    for (const { number } of other.refs.slice(0, 3)) await other.learn(number);
    await it.advance(1_500, 500);
    expect(it.heads()).toMatchObject({ unsafe: 6, safe: 6 });
    expect(it.follower!.holdsBack).toBe(false);
    await it.advance(POLL_MS, 500);
    expect(it.heads()).toMatchObject({ unsafe: 6, safe: 6 });
    await other.learn();
    await it.advance(1_500, 500);
    expect(it.heads()).toMatchObject({ unsafe: 8, safe: 8 });
  });

  it("another one that it describes wrongly: our head stays", async () => {
    const it = await light();
    const other = otherBranch(it, it.refs[3]!, 3);
    await other.learn();
    it.says({ ...other.tip, l1Origin: { number: 1, hash: it.l1.blocks[1]!.hash } });
    expect(await it.poll()).toMatchObject({ unsafe: 8, safe: 0 });
    expect(it.engine.head).toBe(it.refs[8]!.hash);
    expect(it.follower!.status.source).toContain("describes block 6 as another");
  });

  it("one that the engine calls invalid: nothing moves", async () => {
    const it = await light();
    const other = otherBranch(it, it.refs[3]!, 3);
    it.says(other.tip);
    it.engine.nextForkchoice.push({ kind: "valid", payloadId: undefined }, { kind: "invalid", reason: "bad state root" } as never);
    expect(await it.poll()).toMatchObject({ unsafe: 8, safe: 0 });
    expect(it.follower!.status.source).toContain("bad state root");
  });

  it("waits for an engine that does not answer", async () => {
    const it = await light();
    it.says(it.refs[2]!);
    await it.poll();
    it.engine.isDown = true;
    it.says(it.refs[4]!);
    expect(await it.poll()).toMatchObject({ safe: 2 });
    it.engine.isDown = false;
    await it.advance(15_000, 500);
    expect(it.heads()).toMatchObject({ safe: 4 });
  });
});

describe("a sequencer in light mode", () => {
  it("makes blocks, and its safe blocks come from the source", async () => {
    const it = await light({ blocks: 2, isSequencer: true });
    await it.advance(20_000);
    const made = it.heads().unsafe;
    expect(made).toBeGreaterThan(6);
    it.says((await it.engine.blockRefByNumber(5))!);
    expect(await it.poll()).toMatchObject({ safe: 5 });
    expect(it.published).not.toEqual([]);
  });

  it("gives up its branch in one step, and goes on from the source's block", async () => {
    const it = await light({ blocks: 4, isSequencer: true });
    await it.advance(20_000);
    const other = otherBranch(it, it.refs[4]!, 2);
    await other.learn();
    const before = it.heads().unsafe;
    expect(before).toBeGreaterThan(6);
    const calls = it.engine.calls.length;
    it.says(other.tip);
    await it.advance(POLL_MS, 50);
    const chain = it.engine.chain().map(({ ref }) => ref.hash);
    expect(chain).toContain(other.tip.hash);
    expect(it.sourceMetrics.reorgs).toEqual(["force_reset"]);
    await it.advance(20_000);
    expect(it.engine.chain().map(({ ref }) => ref.hash)).toContain(other.tip.hash); // no oscillation
    expect(it.sourceMetrics.reorgs).toEqual(["force_reset"]);
    expect(it.heads().unsafe).toBeGreaterThan(other.tip.number);
    expect(it.engine.calls.slice(calls)).toContain("build");
    expect(it.counts.resets).toBe(1); // only the first
  });

  it("makes no block while its engine lacks the source's block", async () => {
    const it = await light({ blocks: 4, isSequencer: true });
    await it.advance(4_000);
    const other = otherBranch(it, it.refs[3]!, 9);
    it.says(other.tip); // ahead of our head or not: another chain is safe
    await it.poll();
    const { unsafe } = it.heads();
    await it.advance(20_000);
    expect(it.heads().unsafe).toBe(unsafe);
    await other.learn();
    await it.advance(20_000);
    expect(it.engine.chain().map(({ ref }) => ref.hash)).toContain(other.tip.hash);
    expect(it.heads().unsafe).toBeGreaterThan(other.tip.number);
  });
});

describe("an L1 reorganisation under a light node", () => {
  it("takes safe blocks back to what came from L1 blocks that are still there", async () => {
    const it = await light();
    const at = (number: number) => it.l1.blocks[number]!;
    it.says(it.refs[2]!, { currentL1: at(3) });
    await it.poll();
    it.says(it.refs[4]!, { currentL1: at(4) });
    await it.poll();
    it.says(it.refs[6]!, { currentL1: at(6) });
    expect(await it.poll()).toMatchObject({ safe: 6 });
    it.source.status = new RpcError(-32000, "resets"); // it says nothing in between
    it.l1.reorg(2, 3, "b"); // blocks 6 and 7: the origins of all L2 blocks stay
    it.newL1Head(0);
    await it.advance(1_000, 500);
    expect(it.heads()).toMatchObject({ unsafe: 8, safe: 4 });
    expect(it.logs.map(({ fields }) => JSON.stringify(fields)).join()).toContain("L1 was reorganised: L1 block 6 is");
  });

  it("does nothing if the blocks that its heads rely on stay", async () => {
    const it = await light();
    it.says(it.refs[6]!, { currentL1: it.l1.blocks[5]! });
    await it.poll();
    it.l1.reorg(2, 3, "b");
    it.newL1Head(0);
    await it.advance(1_000, 500);
    expect([it.heads().safe, it.counts.resets]).toEqual([6, 1]);
  });

  it("leaves an unsafe chain whose L1 origin is gone", async () => {
    const it = await light();
    it.says(it.refs[2]!, { currentL1: it.l1.blocks[2]! });
    await it.poll();
    it.l1.reorg(5, 6, "b"); // from block 3 on, the origin of L2 blocks 7 and 8
    it.newL1Head(0);
    await it.advance(1_000, 500);
    expect(it.counts.resets).toBe(2);
    expect(it.logs.map(({ fields }) => JSON.stringify(fields)).join()).toContain("L1 was reorganised: L1 block 3 is");
  });
});
