import { createRpcClient } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeConductor } from "../testing/fake-conductor.ts";
import { createHarness, type Harness } from "../testing/harness.ts";
import { ConductorClient } from "./conductor-client.ts";

const BLOCK_MS = 2_000;

describe("a sequencer with a conductor", () => {
  let conductor: FakeConductor;
  let client: ConductorClient;
  let harness: Harness;
  /** hashes that other nodes have seen, by number */
  let released: Map<number, Set<string>>;

  beforeEach(async () => {
    conductor = await new FakeConductor().listen();
    const rpc = createRpcClient({ url: conductor.url });
    client = new ConductorClient({ rpcTimeoutMs: 1_000 }, { rpc, clock: systemClock, log: silentLogger });
    harness = createHarness({ l1Blocks: 10 });
    harness.others.leadership = client;
    released = new Map();
    harness.others.gossip = {
      publish: async ({ executionPayload: { blockNumber, blockHash } }) => {
        const hash = `0x${Buffer.from(blockHash).toString("hex")}`;
        expect(conductor.commits.at(-1)).toEqual({ number: blockNumber, hash });
        released.set(blockNumber, (released.get(blockNumber) ?? new Set()).add(hash));
        return { kind: "published" };
      },
    };
    harness.sequencer.start();
    await harness.untilIdle();
    await harness.advance(3 * BLOCK_MS);
  });
  afterEach(async () => {
    await client.close();
    await conductor.close();
  });
  const unsafe = (): number => harness.control.heads.unsafe.number;
  const sealings = (): number => harness.engine.calls.filter((call) => call === "getPayload").length;

  it("commits every block before it is gossiped and inserted", async () => {
    const before = unsafe();
    await harness.advance(5 * BLOCK_MS);
    expect(unsafe()).toBe(before + 5);
    expect([...released.keys()]).toEqual(conductor.commits.map(({ number }) => number));
    expect(conductor.commits.at(-1)!.hash).toBe(harness.control.heads.unsafe.hash);
  });

  it("holds a block back that is refused, tries it every second, and releases the same one", async () => {
    const before = unsafe();
    conductor.isLeader = false;
    conductor.asked.length = 0;
    await harness.advance(BLOCK_MS);
    expect(conductor.asked.length).toBeGreaterThan(0);
    const sealed = sealings();
    harness.engine.pool.push(Uint8Array.of(0x02, 1, 2)); // another block would be a different one
    const askedBefore = conductor.asked.length;
    await harness.advance(4_000);
    expect(conductor.asked.length - askedBefore).toBe(8); // four times two attempts
    expect([unsafe(), released.has(before + 1), sealings()]).toEqual([before, false, sealed]);
    expect(harness.logs).toContainEqual(
      expect.objectContaining({
        text: "sequencing is delayed",
        fields: expect.objectContaining({ reason: expect.stringContaining("node is not the leader") }),
      }),
    );
    conductor.isLeader = true;
    await harness.advance(3 * BLOCK_MS);
    expect(unsafe()).toBeGreaterThan(before + 3); // it catches up
    for (const hashes of released.values()) expect(hashes.size).toBe(1);
  });

  it.each([
    ["stops in between", async () => {}],
    ["is reset in between", async () => harness.driver.requestReset("asked for")],
  ])("offers no second block at a height whose first may have been taken, when it %s", async (_, act) => {
    conductor.losesAnswers = 1;
    while (conductor.losesAnswers > 0) await harness.advance(50);
    const taken = conductor.commits.at(-1)!;
    expect([unsafe(), released.has(taken.number)]).toEqual([taken.number - 1, false]);
    harness.engine.pool.push(Uint8Array.of(0x02, 1, 2)); // another block would be a different one
    await act();
    await harness.advance(3 * BLOCK_MS);
    expect(unsafe()).toBeGreaterThan(taken.number);
    for (const { number, hash } of conductor.commits) if (number === taken.number) expect(hash).toBe(taken.hash);
  });

  it("starts no block while it is late and its conductor does not lead, and catches up when it does", async () => {
    const before = unsafe();
    const builds = (): number => harness.engine.calls.filter((call) => call === "build").length;
    conductor.asked.length = 0;
    await harness.advance(2 * BLOCK_MS);
    expect(conductor.asked).not.toContain("conductor_leader"); // it is in time
    conductor.isLeader = false;
    await harness.sequencer.stop();
    harness.sequencer.start();
    harness.clock.advance(20_000); // the process was paused
    const built = builds();
    await harness.advance(10_000);
    expect([conductor.asked.includes("conductor_leader"), builds(), unsafe()]).toEqual([true, built, before + 2]);
    expect(harness.logs).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ reason: "another sequencer leads" }) }),
    );
    conductor.isLeader = true;
    await harness.advance(2 * BLOCK_MS);
    expect(unsafe()).toBeGreaterThan(before + 10);
  });

  it("sequences without its conductor once leadership is overridden", async () => {
    const before = unsafe();
    await conductor.close();
    await harness.advance(2 * BLOCK_MS);
    expect(unsafe()).toBe(before);
    harness.others.gossip = { publish: async () => ({ kind: "published" }) };
    client.overrideLeader();
    await harness.advance(3 * BLOCK_MS);
    expect(unsafe()).toBeGreaterThan(before + 2);
  });

  it("stops at once while the conductor hangs, and lets nothing out afterwards", async () => {
    const before = unsafe();
    conductor.asked.length = 0;
    conductor.next.push(...Array.from({ length: 20 }, () => new Promise(() => {})));
    const turning = harness.advance(BLOCK_MS);
    await expect.poll(() => conductor.asked.length).toBe(1);
    harness.sequencer.fence();
    await harness.driver.run(() => harness.sequencer.stop());
    await turning;
    conductor.next.length = 0;
    await harness.advance(3 * BLOCK_MS);
    expect([unsafe(), released.has(before + 1)]).toEqual([before, false]);
  });
});
