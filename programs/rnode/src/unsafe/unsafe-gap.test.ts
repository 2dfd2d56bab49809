import { bytesToHex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine } from "../testing/fake-chain.ts";
import { buildUnsafe, createHarness, type Harness, type HarnessOptions, userTransaction } from "../testing/harness.ts";

/** Two block times. */
const CHECK_MS = 4_000;

/** Blocks 1 to `count`, made by another node on the same genesis. */
function chainOfOthers(harness: Harness, count: number) {
  const other = new FakeEngine(harness.config);
  let parent = other.block(other.head).ref;
  return Array.from({ length: count }, () => {
    const block = other.make(parent, attributesOn(harness.config, parent, harness.l1.blocks[0]!));
    parent = block.ref;
    return block;
  });
}

async function start(options: HarnessOptions = {}) {
  const harness = createHarness({ l1Blocks: 2, ...options });
  await harness.untilIdle();
  return harness;
}

const gapsOf = ({ missing }: Harness) => missing.map(({ start, end }) => [start.number, end.number]);

describe("the gap below waiting payloads", () => {
  it("is asked for once the unsafe head has stood still for two block times, and again every two block times", async () => {
    const harness = await start();
    const chain = chainOfOthers(harness, 5);
    harness.inbox.offer(chain[4]!.envelope);
    await harness.untilIdle();
    await harness.advance(CHECK_MS - 100, 100);
    expect(harness.missing).toEqual([]);
    await harness.advance(100);
    expect(gapsOf(harness)).toEqual([[0, 5]]);
    await harness.advance(2 * CHECK_MS, 100);
    expect(gapsOf(harness)).toEqual([
      [0, 5],
      [0, 5],
      [0, 5],
    ]);
  });

  it("is named by its ends: the head, and the lowest payload with its parent", async () => {
    const harness = await start();
    const chain = chainOfOthers(harness, 5);
    for (const at of [4, 3]) harness.inbox.offer(chain[at]!.envelope);
    await harness.advance(CHECK_MS, 100);
    const { start: head, end } = harness.missing[0]!;
    expect([bytesToHex(head.hash), bytesToHex(end.hash), bytesToHex(end.parentHash)]).toEqual([
      harness.config.genesis.l2.hash,
      chain[3]!.ref.hash,
      chain[2]!.ref.hash,
    ]);
    expect(gapsOf(harness)).toEqual([[0, 4]]);
  });

  it("has the driver come back in time, and no earlier", async () => {
    const harness = await start();
    expect(await harness.untilIdle()).toBe(10_000); // nothing waits: the driver's usual pause
    harness.inbox.offer(chainOfOthers(harness, 5)[4]!.envelope);
    expect(await harness.untilIdle()).toBe(CHECK_MS);
  });

  it("is not asked for while the head moves", async () => {
    const harness = await start();
    const chain = chainOfOthers(harness, 30);
    harness.inbox.offer(chain[29]!.envelope);
    for (let at = 0; at < 6; at++) {
      await harness.advance(CHECK_MS - 500, 500);
      harness.inbox.offer(chain[at]!.envelope);
      await harness.untilIdle();
    }
    expect(harness.heads().unsafe).toBe(6);
    expect(harness.missing).toEqual([]);
    await harness.advance(CHECK_MS, 500);
    expect(gapsOf(harness)).toEqual([[6, 30]]);
  });

  it("is not asked for while the heads are being searched, nor for two block times after that", async () => {
    const harness = await start();
    harness.inbox.offer(chainOfOthers(harness, 5)[4]!.envelope);
    await harness.advance(CHECK_MS - 1_000, 500);
    harness.found.next = { kind: "temporary", reason: "L1 is down" };
    harness.driver.requestReset("test");
    await harness.advance(10_000, 500);
    expect(harness.missing).toEqual([]);
    harness.found.next = undefined;
    while (harness.driver.resetUnderWay !== undefined) await harness.advance(500, 500);
    await harness.advance(CHECK_MS - 500, 500);
    expect(harness.missing).toEqual([]);
    await harness.advance(500, 500);
    expect(gapsOf(harness)).toEqual([[0, 5]]);
  });

  it("is none if the lowest payload follows the head, or is below it", async () => {
    const harness = await start();
    buildUnsafe(harness, [{ origin: 0 }, { origin: 0 }]);
    harness.driver.requestReset("test");
    await harness.untilIdle();
    const chain = chainOfOthers(harness, 4);
    harness.inbox.offer(chain[0]!.envelope);
    harness.inbox.offer(chain[2]!.envelope);
    await harness.advance(3 * CHECK_MS, 500);
    expect(harness.missing).toEqual([]);
  });
});

describe("a node that is 500 blocks behind", () => {
  /** Answers as the network does: from the highest block that is missing down, so many at each step of 500 ms. */
  async function catchUp(harness: Harness, blocksAStep: number): Promise<{ readonly ms: number; readonly asked: number }> {
    const chain = chainOfOthers(harness, 501);
    harness.inbox.offer(chain[500]!.envelope);
    let walk: { next: number; readonly start: number } | undefined;
    let seen = 0;
    let asked = 0;
    let ms = 0;
    for (; harness.heads().unsafe < 501; ms += 500) {
      if (ms > 300_000) throw new Error(`stuck at ${harness.heads().unsafe}`);
      await harness.advance(500, 500);
      if (harness.heads().unsafe === 500 && harness.inbox.length === 0) harness.inbox.offer(chain[500]!.envelope); // gossip goes on
      for (const { start: head, end } of harness.missing.slice(seen)) walk = { next: end.number - 1, start: head.number };
      seen = harness.missing.length;
      for (let i = 0; i < blocksAStep && walk !== undefined && walk.next > walk.start; i++) {
        harness.inbox.offer(chain[walk.next-- - 1]!.envelope);
        asked++;
      }
      // what was dropped from the queue is known from gossip again
      if (harness.inbox.length === 0 && harness.heads().unsafe < 501) harness.inbox.offer(chain[500]!.envelope);
    }
    return { ms, asked };
  }

  it("has them all with one request", async () => {
    const harness = await start();
    const { asked } = await catchUp(harness, 100);
    expect(asked).toBe(500);
    expect(harness.inbox.length).toBe(0);
  });

  it("arrives even if the queue holds only a part of them, which arrives from its upper end", async () => {
    const harness = await start({ inboxLimits: { maxPayloads: 150, maxBytes: 1e9 } });
    const { asked } = await catchUp(harness, 100);
    expect(harness.heads().unsafe).toBe(501);
    // 500, then what is left after each 150 blocks
    expect(asked).toBeLessThanOrEqual(500 + 351 + 201 + 51);
  });
});

describe("a gap that no peer fills", () => {
  /** A node whose engine can have the blocks of others, and the payload of block `number` waits. */
  async function behind(number: number, options: HarnessOptions = {}) {
    const harness = await start(options);
    const chain = chainOfOthers(harness, number);
    harness.inbox.offer(chain.at(-1)!.envelope);
    await harness.untilIdle();
    harness.engine.calls.length = 0;
    return { harness, chain };
  }
  /** Payloads that the engine was given. */
  const given = ({ engine }: Harness): number => engine.calls.filter((call) => call === "newPayload").length;
  const linesOf = (harness: Harness, text: string) => harness.logs.filter((line) => line.text.includes(text));

  it("is not filled with a chain that lacks a block which L1 says", async () => {
    const { harness, chain } = await behind(5);
    harness.pipeline.batches.push({ origin: 0, from: 0, userTransactions: [userTransaction(9)], isLastInSpan: false });
    harness.newL1Head();
    await harness.untilIdle();
    const { head } = harness.engine;
    expect(harness.heads()).toMatchObject({ unsafe: 1, pendingSafe: 1, safe: 0 });
    for (const { envelope } of chain.slice(0, 4)) await harness.engine.newPayload(envelope);
    await harness.advance(3 * CHECK_MS, 100);
    expect(harness.heads().unsafe).toBe(1);
    expect(harness.engine.head).toBe(head);
    expect(harness.refused.list.map(({ cause, reason }) => [cause, reason])).toEqual([
      ["engine", `its chain lacks block 1 ${head}, which L1 says`],
    ]);
  });

  it("is handed to the engine at the check after that at which peers were asked, again at each, and adopted when it is valid", async () => {
    const { harness, chain } = await behind(5);
    await harness.advance(2 * CHECK_MS - 100, 100);
    expect(gapsOf(harness)).toEqual([[0, 5]]);
    expect(given(harness)).toBe(0);
    await harness.advance(100, 100);
    expect(given(harness)).toBe(1);
    await harness.advance(3 * CHECK_MS, 100);
    expect(given(harness)).toBe(4);
    expect(harness.heads().unsafe).toBe(0); // not a head that the engine does not have
    expect(harness.counts.resets).toBe(1);
    expect(linesOf(harness, "fetches them from its own peers")).toHaveLength(1);
    for (const { envelope } of chain.slice(0, 4)) await harness.engine.newPayload(envelope); // from the engine's peers
    await harness.advance(CHECK_MS, 100);
    expect(harness.heads()).toMatchObject({ unsafe: 5, safe: 0 });
    expect(harness.engine.head).toBe(chain[4]!.ref.hash);
    expect(harness.inbox.length).toBe(0);
    expect(linesOf(harness, "has fetched the missing unsafe blocks")).toHaveLength(1);
  });

  it("is handed over at the first check if nobody can be asked", async () => {
    const { harness } = await behind(5, { hasPeers: false });
    await harness.advance(CHECK_MS, 100);
    expect(harness.missing).toEqual([]);
    expect(given(harness)).toBe(1);
  });

  it("is not handed over while answers come, however slowly", async () => {
    const { harness, chain } = await behind(30);
    for (let at = 28; at > 20; at--) {
      await harness.advance(CHECK_MS, 500);
      harness.inbox.offer(chain[at]!.envelope);
    }
    expect(given(harness)).toBe(0);
    await harness.advance(3 * CHECK_MS, 500);
    expect(given(harness)).toBeGreaterThan(0);
  });

  it("is handed over as its lowest payload", async () => {
    const { harness, chain } = await behind(9);
    harness.inbox.offer(chain[6]!.envelope);
    for (const { envelope } of chain.slice(0, 6)) await harness.engine.newPayload(envelope);
    await harness.advance(2 * CHECK_MS, 100);
    expect(harness.heads().unsafe).toBe(7);
    harness.inbox.offer(chain[7]!.envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(9);
  });

  it.each([
    ["a payload that the engine calls invalid", { kind: "invalid", latestValidHash: undefined, reason: "bad" }, undefined],
    ["a chain that does not contain the safe block", undefined, { kind: "invalid-state", reason: "safe block is elsewhere" }],
  ] as const)("is dropped: %s", async (_, newPayload, forkchoice) => {
    const { harness } = await behind(5);
    if (newPayload !== undefined) harness.engine.nextNewPayload.push(newPayload);
    else harness.engine.nextForkchoice.push(forkchoice);
    await harness.advance(2 * CHECK_MS, 100);
    expect(harness.inbox.length).toBe(0);
    expect(harness.heads().unsafe).toBe(0);
    expect(harness.counts.resets).toBe(1);
    expect(linesOf(harness, "unsafe block of another node refused")).toHaveLength(1);
  });

  it("waits while the engine is away", async () => {
    const { harness, chain } = await behind(5);
    harness.engine.isDown = true;
    await harness.advance(6 * CHECK_MS, 500);
    harness.engine.isDown = false;
    for (const { envelope } of chain.slice(0, 4)) await harness.engine.newPayload(envelope);
    await harness.advance(6 * CHECK_MS, 500);
    expect(harness.heads().unsafe).toBe(5);
  });

  it("is asked for ever less often while nothing comes of it, and at once at the old pace when the chain moves", async () => {
    const { harness, chain } = await behind(30);
    harness.engine.nextForkchoice.length = 0;
    await harness.advance(3_600_000, 1_000);
    // 900 checks in an hour otherwise
    expect(gapsOf(harness).length).toBeLessThan(30);
    expect(given(harness)).toBeLessThan(30);
    const before = gapsOf(harness).length;
    harness.inbox.offer(chain[0]!.envelope);
    await harness.advance(3 * CHECK_MS, 500);
    expect(harness.heads().unsafe).toBe(1);
    expect(gapsOf(harness).length).toBeGreaterThanOrEqual(before + 2);
  });

  it.each([
    ["further down", 20, 21],
    ["further up, as gossip brings it once peers are back", 30, 30],
  ])("is asked for at the old pace when a payload arrives %s", async (_, at, end) => {
    const { harness } = await behind(30);
    const chain = chainOfOthers(harness, 31);
    await harness.advance(600_000, 1_000);
    const before = gapsOf(harness).length;
    harness.inbox.offer(chain[at]!.envelope);
    await harness.advance(CHECK_MS, 500);
    expect(gapsOf(harness).slice(before)[0]).toEqual([0, end]);
  });

  it("does not stop derivation, whose labels the engine still gets", async () => {
    const { harness } = await behind(9);
    await harness.advance(2 * CHECK_MS, 500);
    harness.pipeline.batches.push({ origin: 0, from: 2 }, { origin: 0, from: 2 });
    harness.newL1Head();
    await harness.advance(2 * CHECK_MS, 500);
    expect(harness.heads()).toMatchObject({ unsafe: 2, safe: 2 });
    expect(harness.engine.safe).toBe(harness.engine.head);
  });
});
