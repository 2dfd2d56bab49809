import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EngineError, type L2Block } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { SafeHeadDatabase } from "../safe/safe-head-database.ts";
import { attributesOn, FakeEngine, testConfig } from "../testing/fake-chain.ts";
import { createHarness, type Harness, type HarnessOptions } from "../testing/harness.ts";

/** A node with an engine that is at its genesis, and blocks 1 to `count` of others. */
async function start(count: number, options: Partial<HarnessOptions> = {}) {
  const harness = createHarness({ l1Blocks: 3, engineSync: "geth", ...options });
  const other = new FakeEngine(harness.config);
  const chain: L2Block[] = [];
  let parent = other.block(other.head).ref;
  for (let number = 1; number <= count; number++) {
    const block = other.make(parent, attributesOn(harness.config, parent, harness.l1.blocks[0]!));
    chain.push(block);
    parent = block.ref;
  }
  await harness.driver.turn();
  return { harness, chain };
}

/** The engine gets these blocks from its own peers. */
async function engineGets({ engine }: Harness, blocks: readonly L2Block[]): Promise<void> {
  const before = engine.calls.length;
  for (const { envelope } of blocks) await engine.newPayload(envelope);
  engine.calls.length = before;
}

const labelsOf = ({ engine }: Harness) => [engine.head, engine.safe, engine.finalized].map((hash) => engine.block(hash).ref.number);
/** Turns until the driver wants to pause. */
async function settle({ driver }: Harness): Promise<number> {
  for (let turns = 0; turns < 200; turns++) {
    const pauseMs = await driver.turn();
    if (pauseMs > 0) return pauseMs;
  }
  throw new Error("the driver does not come to rest");
}

async function pass(harness: Harness, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    harness.clock.advance(1_000);
    await settle(harness);
  }
}

describe("--syncmode=execution-layer", () => {
  it("derives nothing and sets no head before the engine has what others have; then that is safe and finalized once", async () => {
    const { harness, chain } = await start(60);
    harness.pipeline.batches.push(...chain.map(() => ({ origin: 0, from: 1 })));
    await pass(harness, 20_000);
    expect(harness.pipeline.steps).toBe(0);
    expect(harness.engine.calls.filter((call) => call === "forkchoice")).toEqual([]);
    expect(harness.engineSync!.description).toMatch(/waiting for an unsafe block/);

    harness.inbox.offer(chain[49]!.envelope);
    await settle(harness);
    expect(harness.engineSync!.target?.number).toBe(50);
    expect(harness.engineSync!.heads?.unsafe.number).toBe(0); // not what it only syncs to
    expect(harness.control.headsIfKnown).toBeUndefined();
    expect(labelsOf(harness)).toEqual([0, 0, 0]);

    harness.inbox.offer(chain[50]!.envelope); // the target moves on
    await settle(harness);
    expect(harness.engineSync!.target?.number).toBe(51);
    await engineGets(harness, chain.slice(0, 30));
    harness.engine.head = chain[29]!.ref.hash; // rengine's moves meanwhile
    await pass(harness, 6_000);
    expect(harness.engineSync!.heads?.unsafe.number).toBe(30);
    expect(harness.engineSync!.description).toMatch(/at block 30, on its way to 51/);
    expect(harness.pipeline.steps).toBe(0);

    await engineGets(harness, chain.slice(30, 51));
    await pass(harness, 6_000); // it is asked again, even without another block
    expect(harness.engineSync!.isUnfinished).toBe(false);
    expect(labelsOf(harness)[2]).toBe(51);
    await harness.untilIdle();
    expect(harness.pipeline.resets).toEqual([51]);
    expect(harness.heads().finalized).toBe(51);
    expect(harness.heads().safe).toBe(60); // derived as usual from there
  });

  it("ends with the first payload that is valid at once", async () => {
    const { harness, chain } = await start(8);
    harness.inbox.offer(chain[6]!.envelope);
    await settle(harness);
    await engineGets(harness, chain.slice(0, 7));
    harness.inbox.offer(chain[7]!.envelope);
    await settle(harness);
    expect(labelsOf(harness)).toEqual([8, 8, 8]);
    expect(harness.engineSync!.isUnfinished).toBe(false);
  });

  it("sends only payloads above the engine's head, the lowest first, and drops those the engine calls invalid", async () => {
    const { harness, chain } = await start(30);
    await engineGets(harness, chain.slice(0, 10));
    harness.engine.head = chain[9]!.ref.hash;
    for (const number of [4, 25, 10, 27, 26]) harness.inbox.offer(chain[number - 1]!.envelope);
    harness.engine.nextNewPayload.push({ kind: "invalid", latestValidHash: undefined, reason: "bad" });
    await pass(harness, 6_000);
    expect(harness.inbox.length).toBe(0);
    expect(harness.engineSync!.target?.number).toBe(27);
    expect(harness.engine.calls.filter((call) => call === "newPayload")).toHaveLength(3);
  });

  it.each([
    ["geth", false],
    ["reth", true],
    ["erigon", true],
  ] as const)("with a finalized block, --l2.enginekind=%s is synced: %s", async (kind, isSynced) => {
    const { harness, chain } = await start(20, { engineSync: kind });
    await engineGets(harness, chain.slice(0, 5));
    harness.engine.head = harness.engine.safe = chain[4]!.ref.hash;
    harness.engine.finalized = chain[2]!.ref.hash;
    await settle(harness);
    expect(harness.pipeline.steps).toBe(0); // decided at the first unsafe block
    harness.inbox.offer(chain[15]!.envelope);
    await settle(harness);
    expect(harness.engineSync!.isUnfinished).toBe(isSynced);
    expect(harness.engineSync!.target?.number).toBe(isSynced ? 16 : undefined);
    if (isSynced) return;
    await harness.untilIdle();
    expect(harness.heads()).toMatchObject({ unsafe: 5, finalized: 3 });
    expect(harness.inbox.length).toBe(1); // it waits for its parents, as in consensus-layer sync
  });

  describe("--syncmode.offset-el-safe", () => {
    /** The labels after a sync to block 50 of a chain with blocks of 2 s. */
    async function synced(
      offsetElSafeMs: number,
      options: Partial<HarnessOptions> = {},
      labelled?: (harness: Harness, chain: readonly L2Block[]) => void,
    ) {
      const { harness, chain } = await start(50, { offsetElSafeMs, engineSync: "reth", ...options });
      await engineGets(harness, chain.slice(0, 45));
      harness.engine.head = chain[44]!.ref.hash;
      labelled?.(harness, chain);
      harness.inbox.offer(chain[49]!.envelope);
      await settle(harness);
      expect(harness.engineSync!.isUnfinished).toBe(true);
      await engineGets(harness, chain);
      await pass(harness, 6_000);
      expect(harness.engineSync!.isUnfinished).toBe(false);
      return { harness, chain, labels: labelsOf(harness) };
    }
    const labelled =
      (safe: number, finalized: number) =>
      ({ engine }: Harness, chain: readonly L2Block[]): void => {
        engine.safe = chain[safe - 1]!.ref.hash;
        engine.finalized = chain[finalized - 1]!.ref.hash;
      };

    it.each([
      ["nothing", 0, [50, 50, 50]],
      ["ten blocks", 20_000, [50, 40, 40]],
      ["a part of a block counts as one", 19_001, [50, 40, 40]],
      ["not below the genesis", 12 * 3_600_000, [50, 0, 0]],
    ] as const)("sets safe and finalized that far behind the tip: %s", async (_, offsetMs, labels) => {
      expect((await synced(offsetMs)).labels).toEqual(labels);
    });

    it("does not lower the labels of an engine that is synced again", async () => {
      expect((await synced(20_000, {}, labelled(44, 42))).labels).toEqual([50, 44, 42]);
      expect((await synced(20_000, {}, labelled(44, 30))).labels).toEqual([50, 44, 40]);
      expect((await synced(20_000, {}, labelled(10, 5))).labels).toEqual([50, 40, 40]);
    });

    it("resumes from the newest recorded safe head if the engine has it, so that the record has no gap", async () => {
      const folder = mkdtempSync(join(tmpdir(), "rnode-el-sync-"));
      const safeHeads = SafeHeadDatabase.open(folder, testConfig().genesis.l2.hash, silentLogger);
      try {
        const record = (harness: Harness, chain: readonly L2Block[]): void => {
          labelled(20, 10)(harness, chain);
          const l1Block = { number: 1, hash: harness.l1.blocks[1]!.hash };
          safeHeads.record({ l1Block, safeHead: { number: 15, hash: chain[14]!.ref.hash } }, false);
        };
        expect((await synced(20_000, { safeHeads }, record)).labels).toEqual([50, 15, 10]);
      } finally {
        await safeHeads.close();
      }
    });

    it("derives from there", async () => {
      const { harness } = await synced(20_000, {}, ({ pipeline }, chain) => {
        pipeline.batches.push(...chain.map(() => ({ origin: 0, from: 1 })));
      });
      await harness.untilIdle();
      expect(harness.pipeline.resets).toEqual([40]);
      expect(harness.heads()).toMatchObject({ unsafe: 50, safe: 50, finalized: 40 });
    });
  });

  it("goes on after a restart from where the engine is", async () => {
    const { harness, chain } = await start(40);
    harness.inbox.offer(chain[39]!.envelope);
    await settle(harness);
    await engineGets(harness, chain.slice(0, 20));
    harness.engine.head = chain[19]!.ref.hash;
    const again = createHarness({ l1Blocks: 3, engineSync: "geth", engine: harness.engine });
    await settle(again);
    expect(labelsOf(again)).toEqual([20, 0, 0]); // no label is set by a start
    again.inbox.offer(chain[39]!.envelope);
    await settle(again);
    expect(again.engineSync!.target?.number).toBe(40);
  });

  it("waits for an engine that is away, and for another block where the target proves invalid", async () => {
    const { harness, chain } = await start(20);
    harness.engine.isDown = true;
    await pass(harness, 10_000);
    harness.engine.isDown = false;
    harness.inbox.offer(chain[9]!.envelope);
    await pass(harness, 12_000);
    expect(harness.engineSync!.target?.number).toBe(10);
    harness.engine.nextForkchoice.push(new EngineError("engine/unavailable", {}), {
      kind: "invalid",
      latestValidHash: undefined,
      reason: "bad",
    });
    await pass(harness, 20_000);
    expect(harness.engineSync!.target).toBeUndefined();
    harness.inbox.offer(chain[11]!.envelope);
    await settle(harness);
    expect(harness.engineSync!.target?.number).toBe(12);
  });

  it("warns when nothing comes of it", async () => {
    const { harness, chain } = await start(20);
    await pass(harness, 130_000);
    const warnings = (): string[] => harness.logs.filter(({ level }) => level === "warn").map(({ text }) => text);
    expect(warnings()).toHaveLength(2);
    expect(warnings()[0]).toContain("waits for an unsafe block");
    harness.inbox.offer(chain[9]!.envelope);
    await pass(harness, 70_000);
    expect(warnings().at(-1)).toContain("head does not move");
  });
});
