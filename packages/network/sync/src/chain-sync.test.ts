import { readdirSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { build, forkchoice, rewind } from "@rnode/chain/testing";
import { bytesToHex } from "@rnode/primitives";
import { type Block, hashHeader } from "@rnode/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { SimBlocks, type SimFault } from "./testing/sim-peer.ts";
import { extendChain, SyncHarness } from "./testing/sync-harness.ts";

async function harnessOf(count: number, seed?: number): Promise<SyncHarness> {
  const harness = await SyncHarness.create(count, seed);
  onTestFinished(() => harness.close());
  return harness;
}

const SYNCING = { status: "SYNCING", latestValidHash: null };
/** Every request of the first ones is wrong in this way. */
const firstly = (fault: SimFault, count: number) => {
  let left = count;
  return (): SimFault | undefined => (left-- > 0 ? fault : undefined);
};

describe("a sync to a head that fork choice names", () => {
  it("brings blocks from peers, and sets head and labels", async () => {
    const harness = await harnessOf(300);
    harness.peer();
    harness.peer();
    expect(await harness.offer(harness.block(300))).toEqual(SYNCING);
    const numbered = (number: number) => harness.blocks.at(number)!.hash;
    expect(await harness.choose(harness.head(), numbered(290), numbered(280))).toEqual(SYNCING);
    expect(harness.sync.status).toMatchObject({ startingBlock: 0, highestBlock: 300 });
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(harness.node.store.label("safe")?.number).toBe(290);
    expect(harness.node.store.label("finalized")?.number).toBe(280);
    expect(harness.node.store.verifyState().problems).toEqual([]);
    expect(readdirSync(harness.folder)).toEqual([]); // the stored hashes are removed
    expect(harness.warnings()).toEqual([]);
    const [first, second] = harness.peers.list();
    expect(Math.min(first!.given, second!.given)).toBeGreaterThan(30);
    expect(first!.given + second!.given).toBe(299); // the target came from the rollup node
  });

  it("finds the header of a head of which no payload came", async () => {
    const harness = await harnessOf(40);
    harness.peer();
    expect(await harness.choose()).toEqual(SYNCING);
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
  });

  it("executes nothing before a fork choice, whatever payloads come", async () => {
    const harness = await harnessOf(80);
    harness.peer();
    expect(await harness.offer(harness.block(80))).toEqual(SYNCING);
    await harness.until(() => harness.sync.status?.lowestHeader === 1);
    await harness.clock.advance(10_000);
    expect(harness.chain.head().number).toBe(0);
    expect(await harness.choose()).toEqual(SYNCING);
    await harness.untilSynced();
    expect(harness.chain.head().number).toBe(80);
  });

  it("needs no peers for blocks that came as payloads, in any order", async () => {
    const harness = await harnessOf(6);
    const blocks = [6, 3, 5, 2, 4].map((number) => harness.block(number));
    for (const block of blocks) expect(await harness.offer(block)).toEqual(SYNCING);
    expect(await harness.choose()).toEqual(SYNCING);
    await harness.clock.advance(20_000);
    expect(harness.warnings()).toEqual(["the sync waits for peers, and there are none: name some"]);
    expect((await harness.offer(harness.block(1))).status).toBe("VALID");
    expect((await harness.choose(harness.blocks.at(1)!.hash)).status).toBe("VALID");
    expect(await harness.choose()).toEqual(SYNCING);
    await harness.untilSynced();
    expect(harness.chain.head().number).toBe(6);
  });

  it("goes on while the target moves", async () => {
    const harness = await harnessOf(200);
    harness.peer({ latencyMs: 200, itemMs: 2 });
    await harness.choose();
    for (let step = 0; step < 20; step++) {
      const [block] = await harness.grow(1);
      await harness.offer(block!);
      await harness.choose();
      await harness.until(() => true);
      await harness.clock.advance(100);
    }
    await harness.grow(30); // a gap: payloads were missed
    await harness.choose();
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(harness.chain.head().number).toBe(250);
    expect((await harness.offer((await harness.grow(1))[0]!)).status).toBe("VALID"); // as usual afterwards
    expect((await harness.choose()).status).toBe("VALID");
  });

  it("gets blocks while the target jumps before its peers have answered", async () => {
    const harness = await harnessOf(60);
    for (let index = 0; index < 4; index++) harness.peer({ latencyMs: 1_500, itemMs: 150 });
    await harness.choose();
    for (let seconds = 0; seconds < 120; seconds += 2) {
      const [, block] = await harness.grow(2); // the first is missed
      await harness.offer(block!);
      await harness.choose();
      await harness.clock.advance(2_000);
      await setImmediate(); // threads
    }
    expect(harness.chain.head().number).toBeGreaterThan(150);
    expect(harness.warnings()).toEqual([]);
  });

  it("gives up a target that nobody has when fork choice has moved on", async () => {
    const harness = await harnessOf(60);
    harness.peer();
    const { header, ...body } = harness.block(60);
    const lost: Block = { ...body, header: { ...header, parentHash: new Uint8Array(32).fill(7) } };
    await harness.offer(lost);
    expect(await harness.choose(hashHeader(lost.header))).toEqual(SYNCING);
    await harness.clock.advance(5_000);
    await harness.grow(10);
    expect(await harness.choose()).toEqual(SYNCING);
    expect(await harness.untilSynced()).toBeLessThan(60);
    expect(harness.chain.head()).toEqual(harness.blockId());
  });

  it("calls a target invalid, not the head that fork choice has moved to", async () => {
    const harness = await harnessOf(60);
    harness.peer({ latencyMs: 1_500 });
    const { header, ...body } = harness.block(60);
    const bad: Block = { ...body, header: { ...header, stateRoot: new Uint8Array(32).fill(7) } };
    await harness.offer(bad);
    expect(await harness.choose(hashHeader(bad.header))).toEqual(SYNCING);
    await harness.clock.advance(2_000);
    await harness.grow(10);
    expect(await harness.choose()).toEqual(SYNCING);
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(await harness.choose(hashHeader(bad.header))).toMatchObject({ status: "INVALID" });
  });

  it("follows a target that moved to another branch", async () => {
    const harness = await harnessOf(120);
    harness.peer({ latencyMs: 100, itemMs: 4 });
    await harness.choose();
    await harness.until(() => harness.chain.head().number > 20);
    await harness.grow(40, { from: 100, seed: 777 });
    await harness.choose();
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(harness.node.store.verifyState().problems).toEqual([]);
  });

  it("takes nothing of peers that are on another branch, who are no liars for that", async () => {
    const harness = await harnessOf(250);
    const source = await harness.source();
    rewind(source, 30);
    const common = Array.from({ length: 31 }, (_, number) => harness.block(number));
    const other = new SimBlocks().add([...common, ...extendChain(source, 250, 4_242)]);
    harness.peer({ latencyMs: 300 });
    const elsewhere = [harness.peer({ id: "b" }, other), harness.peer({ id: "c" }, other)];
    await harness.choose();
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(harness.node.store.verifyState().problems).toEqual([]);
    expect(elsewhere.flatMap(({ reports }) => reports.map(({ fault }) => fault))).toContain("useless");
    for (const { reports } of harness.peers.list()) expect(reports.map(({ fault }) => fault)).not.toContain("lied");
  });

  it("executes no body that waits for a target of before", async () => {
    const harness = await harnessOf(120);
    // The first bodies do not come, so later ones wait for them.
    let count = 0;
    const fault = (kind: "headers" | "bodies") => (kind === "bodies" && count++ === 0 ? "stall" : undefined);
    for (let index = 0; index < 3; index++) harness.peer({ latencyMs: 50, fault });
    await harness.choose();
    await harness.until(() => harness.peers.list().some(({ given }) => given > 0));
    await harness.clock.advance(500);
    expect(harness.chain.head().number).toBe(0);
    await harness.grow(130, { from: 1, seed: 778 });
    await harness.choose();
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(harness.lines.map(({ text }) => text)).not.toContain("the sync looks for our chain again");
  });

  it.each<[SimFault, "headers" | "bodies" | undefined, boolean]>([
    ["junk", "headers", true],
    ["junk", "bodies", true],
    ["swapped", "headers", true],
    ["swapped", "bodies", true],
    ["altered", "headers", true],
    ["altered", "bodies", true],
    ["more", "headers", true],
    ["more", "bodies", true],
    ["empty", undefined, false],
    ["stall", undefined, false],
    ["gone", undefined, false],
  ])("a peer whose answers are %s (%s) costs time, not state", async (fault, kind, isLie) => {
    const harness = await harnessOf(200);
    const bad = harness.peer({ fault: (asked) => (kind === undefined || kind === asked ? fault : undefined) });
    const good = harness.peer({ latencyMs: 60 });
    await harness.choose();
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(harness.node.store.verifyState().problems).toEqual([]);
    expect(good.reports).toEqual([]);
    const faults = new Set(bad.reports.map((report) => report.fault));
    if (isLie) {
      expect(faults).toContain("lied");
      expect(bad.reports.filter(({ fault: given }) => given === "lied")).toHaveLength(1); // it gets no more requests
    } else expect([...faults]).toEqual(fault === "gone" ? [] : [fault === "stall" ? "slow" : "useless"]);
  });

  it("asks peers for less that need longer for it than it waits", async () => {
    const harness = await harnessOf(100);
    for (let index = 0; index < 2; index++) harness.peer({ latencyMs: 300, itemMs: 300 }); // 64 headers: 19.5 s
    await harness.choose();
    await harness.untilSynced(300);
    expect(harness.chain.head()).toEqual(harness.blockId());
  });

  it("comes through with peers that all fail now and then", async () => {
    for (const seed of [1, 2, 3]) {
      const harness = await harnessOf(250, seed);
      const faults: readonly SimFault[] = ["stall", "gone", "empty"];
      for (let index = 0; index < 4; index++) {
        harness.peer({
          latencyMs: 10 + harness.random(200),
          fault: () => (harness.random(3) === 0 ? faults[harness.random(faults.length)] : undefined),
        });
      }
      await harness.choose();
      await harness.untilSynced(3_600);
      expect(harness.chain.head()).toEqual(harness.blockId());
    }
  });

  it("stores what it has executed when nothing more comes, and goes on when it does", async () => {
    const harness = await harnessOf(200);
    let count = 0;
    const stalling = harness.peer({ fault: (kind) => (kind === "bodies" && ++count > 1 ? "stall" : undefined) });
    await harness.choose();
    expect(await harness.until(() => harness.chain.head().number > 0)).toBeLessThan(5);
    expect(harness.chain.head().number).toBe(stalling.given);
    expect(stalling.given).toBeLessThan(64);
    harness.peer();
    await harness.untilSynced();
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(harness.node.store.verifyState().problems).toEqual([]);
  });

  it("goes on where it was after a stop at any time, without asking for the headers again", async () => {
    const harness = await harnessOf(400);
    const peer = harness.peer({ latencyMs: 50, itemMs: 1 });
    let restarts = 0;
    for (;;) {
      await harness.choose();
      const until = harness.clock.unixMs() + 100 + harness.random(900);
      await harness.until(() => harness.clock.unixMs() >= until || harness.sync.status === undefined);
      if (harness.sync.status === undefined) break;
      await harness.restart();
      expect(++restarts).toBeLessThan(30);
    }
    expect(restarts).toBeGreaterThan(2);
    expect(harness.chain.head()).toEqual(harness.blockId());
    expect(peer.reports).toEqual([]);
  });

  it("lets a fork choice that names a block that is there have its way", async () => {
    const harness = await harnessOf(300);
    harness.peer({ latencyMs: 50, itemMs: 2 });
    await harness.choose();
    await harness.until(() => harness.chain.head().number >= 64);
    const at = harness.blocks.at(32)!.hash;
    expect(await harness.choose(at)).toEqual({ status: "VALID", latestValidHash: bytesToHex(at) });
    expect(harness.chain.head().number).toBe(32);
    expect(harness.sync.status).toBeUndefined();
    await harness.clock.advance(10_000);
    expect(harness.chain.head().number).toBe(32);
    await harness.choose();
    await harness.untilSynced();
    expect(harness.chain.head().number).toBe(300);
  });

  it("executes a payload whose parent is there as usual, also while it imports", async () => {
    const harness = await harnessOf(300);
    harness.peer({ latencyMs: 50, itemMs: 2 });
    await harness.choose();
    await harness.until(() => harness.chain.head().number >= 64);
    const source = await harness.source();
    rewind(source, 10);
    const { block } = build(source, 9_999);
    expect((await harness.offer(block)).status).toBe("VALID");
    await harness.untilSynced();
    expect(harness.chain.head().number).toBe(300);
  });

  it("calls a head invalid that has an invalid block below it, and what follows it, and keeps what was before", async () => {
    const harness = await harnessOf(100);
    const good = harness.block(71);
    const bad: Block = { ...good, header: { ...good.header, stateRoot: new Uint8Array(32).fill(7) } };
    let parent = bad;
    const chain = [bad];
    for (let number = 72; number <= 90; number++) {
      const { header, ...body } = harness.block(number);
      parent = { ...body, header: { ...header, parentHash: hashHeader(parent.header) } };
      chain.push(parent);
    }
    harness.blocks.add(chain);
    const peer = harness.peer();
    const head = hashHeader(parent.header);
    expect(await harness.choose(head)).toEqual(SYNCING);
    await harness.untilSynced();
    const invalid = {
      status: "INVALID",
      latestValidHash: bytesToHex(harness.blocks.at(70)!.hash),
      validationError: expect.stringContaining("state-root-mismatch") as string,
    };
    expect(await harness.choose(head)).toEqual(invalid);
    expect(await harness.offer({ ...parent, header: { ...parent.header, number: 91, parentHash: head } })).toEqual(invalid);
    expect(harness.chain.head().number).toBe(70);
    expect(peer.reports).toEqual([]);
    expect(harness.warnings()).toEqual(["the head that the rollup node names is not a block of this chain: the sync to it ends"]);
  });

  it("does not go below the finalized block, nor to another genesis", async () => {
    const harness = await harnessOf(60);
    harness.peer();
    const at = harness.blocks.at(50)!.hash;
    await harness.choose(harness.head(), at, at);
    await harness.untilSynced();
    await harness.grow(60, { from: 20, seed: 555 });
    expect(await harness.choose()).toEqual(SYNCING);
    await harness.until(() => harness.sync.status === undefined);
    expect(harness.chain.head().number).toBe(60);
    expect(await harness.choose()).toMatchObject({
      status: "INVALID",
      validationError: expect.stringContaining("does not descend from the finalized block 50") as string,
    });
    expect(harness.chain.forkchoiceUpdated(forkchoice(harness.blocks.at(5)!.hash), undefined, 3)).toMatchObject({
      kind: "updated",
    });
  });

  it("waits for peers, says what to do, and goes on when they come", async () => {
    const harness = await harnessOf(50);
    await harness.choose();
    await harness.clock.advance(40_000);
    expect(harness.warnings()).toEqual([
      "the sync waits for peers, and there are none: name some",
      "the sync waits for peers, and there are none: name some",
    ]);
    const liar = harness.peer({ fault: firstly("junk", 1_000) });
    await harness.clock.advance(5_000);
    expect(liar.reports).toHaveLength(1);
    harness.peer();
    await harness.untilSynced();
    expect(harness.chain.head().number).toBe(50);
  });
});
