import type { ObservedBatch } from "@rnode/derivation";
import { silentLogger } from "@rnode/observe";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { headsAfterReset } from "./heads.ts";
import { resync } from "./resync.ts";
import { SafeChainCheck } from "./safe-chain-check.ts";
import { FakeL1, testConfig } from "./testing/fake-chain.ts";
import { SimNetwork, type SimNode } from "./testing/sim-network.ts";

const MINUTE_MS = 60_000;

describe("a node whose safe chain came from a lie", () => {
  let network: SimNetwork;
  let verifier: SimNode;
  beforeEach(async () => {
    network = new SimNetwork();
    ({ verifier } = network);
    await network.run(4 * MINUTE_MS);
  });

  /** L1 hides the batcher's transactions until the verifier's own blocks become safe, and final where the test needs that. */
  async function lieUntil(isEnough: () => boolean): Promise<void> {
    verifier.l1.hidesTransactions = true;
    for (let minutes = 0; !isEnough(); minutes++) {
      if (minutes > 30) throw new Error("the lie had no effect");
      await network.run(MINUTE_MS);
    }
    verifier.l1.hidesTransactions = false;
  }

  const firstDifference = (): number => {
    const honest = network.sequencer.engine.chain();
    return verifier.engine.chain().findIndex(({ ref }, number) => honest[number]?.ref.hash !== ref.hash);
  };
  const finalizedIsWrong = () => {
    const { finalized } = verifier.harness.control.heads;
    return firstDifference() >= 0 && finalized.number >= firstDifference();
  };

  async function expectStop(): Promise<number> {
    const differing = firstDifference();
    verifier.restart();
    const stopped = await network.run(5 * MINUTE_MS).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(stopped).toMatchObject({ code: "driver/critical", data: { part: "derivation" } });
    const { message } = stopped as Error;
    expect(message).toContain(`L2 block ${differing} (${verifier.engine.chain()[differing]!.ref.hash})`);
    expect(message).toContain(`rnode resync --from=${differing - 1}`);
    return differing - 1;
  }

  async function expectHealed(from: number): Promise<void> {
    const { config, l1 } = network;
    const resynced = await resync(from, { config, l1, l2: verifier.engine, engine: verifier.engine });
    expect(resynced).toMatchObject({ kind: "done", head: { number: from } });
    verifier.restart();
    await network.run(5 * MINUTE_MS);
    const derived = network.safeChain(verifier);
    expect(derived.length).toBeGreaterThan(from + 100);
    expect(derived).toEqual(network.safeChain(network.sequencer).slice(0, derived.length));
    expect(verifier.harness.control.heads.finalized.number).toBeGreaterThan(from);
    expect(verifier.harness.logs.filter(({ level }) => level === "error")).toEqual([]);
  }

  it("stops at the first differing block when that is final, and heals by a resync", async () => {
    await lieUntil(finalizedIsWrong);
    await expectHealed(await expectStop());
  });

  it("finds it too when the whole chain of lies is final, longer than a sequencing window", async () => {
    const { seqWindowSize } = network.config;
    const isLong = () => {
      const { finalized } = verifier.harness.control.heads;
      return (
        finalizedIsWrong() &&
        finalized.l1Origin.number > verifier.engine.chain()[firstDifference()]!.ref.l1Origin.number + seqWindowSize
      );
    };
    await lieUntil(isLong);
    await expectHealed(await expectStop());
  });

  it("stops at a block that was only safe", async () => {
    await lieUntil(() => firstDifference() >= 0 && verifier.harness.control.heads.safe.number >= firstDifference());
    expect(finalizedIsWrong()).toBe(false);
    await expectHealed(await expectStop());
  });

  it("stops again and again until something is done about it", async () => {
    await lieUntil(finalizedIsWrong);
    await expectStop();
    await expectStop();
  });
});

describe("what L1 is asked before a safe block is replaced", () => {
  const l1 = new FakeL1(20);
  const block = (number: number): L2BlockRef => ({ ...l1.blocks[0]!, number, l1Origin: l1.blocks[0]!, sequenceNumber: 0 });
  const heads = headsAfterReset({ unsafe: block(50), safe: block(30), finalized: block(20), base: block(20) });
  const check = () => new SafeChainCheck({ config: testConfig(), l1, log: silentLogger });

  it.each<[string, number, L1BlockRef | undefined, string | undefined]>([
    ["an unsafe block may be replaced", 31, undefined, undefined],
    ["a final one never", 20, undefined, "critical"],
    ["a final one not even when L1 was reorganised", 20, { ...l1.blocks[9]!, hash: "0x99" }, "critical"],
    ["a safe one not when nothing says that L1 was reorganised", 30, undefined, "critical"],
    ["a safe one not when what it came from is still there", 30, l1.blocks[9], "critical"],
    ["a safe one may when what the safe head came from is gone", 30, { ...l1.blocks[9]!, hash: "0x99" }, undefined],
  ])("%s", async (_, number, derivedFrom, expected) => {
    const safeChain = check();
    if (derivedFrom !== undefined) safeChain.onSafe(block(30), derivedFrom);
    safeChain.onReset(block(20), block(30));
    expect((await safeChain.judge(block(number), "transaction", heads))?.kind).toBe(expected);
  });

  it.each<[string, Partial<ObservedBatch>, Parameters<SafeChainCheck["observer"]["onBatch"]>[0]["verdict"], boolean]>([
    ["a batch on another parent", {}, { kind: "drop", reason: "parent-hash-mismatch" }, true],
    ["a span on another parent", { type: "span" }, { kind: "drop", reason: "span-parent-mismatch" }, true],
    ["a span over other blocks", { type: "span" }, { kind: "drop", reason: "span-overlap-mismatch" }, true],
    ["a batch that came too late", {}, { kind: "drop", reason: "included-too-late" }, false],
    ["a batch of the past", {}, { kind: "past" }, false],
  ])("%s", (_, batch, verdict, isDoubted) => {
    const safeChain = check();
    const observed: ObservedBatch = {
      type: "singular",
      channelId: "0x01",
      l1InclusionBlock: l1.blocks[9]!,
      timestamp: 0,
      epochNumber: 0,
      blockCount: 1,
      transactionCount: 0,
      fromSpan: false,
      ...batch,
    };
    safeChain.onReset(block(0), block(30));
    safeChain.observer.onBatch({ batch: observed, verdict });
    expect(safeChain.doubt, "the genesis is not in doubt").toBeUndefined();
    safeChain.onReset(block(20), block(30));
    safeChain.observer.onBatch({ batch: { ...observed, type: "empty" }, verdict: { kind: "accept" } });
    safeChain.observer.onBatch({ batch: observed, verdict });
    expect(safeChain.doubtedBase?.number).toBe(isDoubted ? 20 : undefined);
    safeChain.onReset(block(10), block(30));
    expect(safeChain.doubt).toBeUndefined();
    safeChain.observer.onBatch({ batch: observed, verdict: { kind: "accept" } });
    safeChain.observer.onBatch({ batch: observed, verdict });
    expect(safeChain.doubt, "a batch builds on the block").toBeUndefined();
  });
});
