import type { BatchVerdict, ObservedBatch } from "@rnode/derivation";
import { L1Error } from "@rnode/l1";
import type { L2Block } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import { type Hex, hexToBytes } from "@rnode/primitives";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { resync } from "../commands/resync.ts";
import { headsAfterReset } from "../common/heads.ts";
import { critical } from "../common/progress.ts";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { invalidTransaction, userTransaction } from "../testing/harness.ts";
import { SimNetwork, type SimNode } from "../testing/sim-network.ts";
import { SafeChainCheck, type SafeChainCheckDeps } from "./safe-chain-check.ts";

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

  it("finds it too when the whole chain of lies is final, longer than a sequencing window", { tags: "long" }, async () => {
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

describe("a batcher that builds on the block of deposits that replaces its own batch", () => {
  /**
   * The first batch of a channel is invalid, and the second builds on `replacement`, the block of deposits that takes its place. Since
   * Holocene, the second is dropped with the rest of the channel.
   */
  async function sendBoth(network: SimNetwork, replacement: Hex): Promise<number> {
    await network.run(4 * MINUTE_MS);
    let first: number | undefined;
    network.nextBatches = ([next, after]) => {
      first = (next!.timestampSec - network.config.genesis.l2TimeSec) / network.config.blockTimeSec;
      const transactions = [userTransaction(7)];
      return [
        { ...next!, transactions: [invalidTransaction] },
        { ...after!, parentHash: hexToBytes(replacement), transactions },
      ];
    };
    await network.run(MINUTE_MS);
    return first!;
  }

  const blockOf = ({ engine }: SimNode, number: number): L2Block => engine.chain()[number]!;

  it("is followed, although a node starts over just there and reads the second batch as if the first had not been", async () => {
    const sketch = new SimNetwork();
    const number = await sendBoth(sketch, `0x${"00".repeat(32)}`);
    const replacement = blockOf(sketch.verifier, number);
    expect(replacement.envelope.executionPayload.transactions).toHaveLength(1);

    const network = new SimNetwork();
    const { verifier } = network;
    expect(await sendBoth(network, replacement.ref.hash)).toBe(number);
    expect(blockOf(verifier, number).ref.hash).toBe(replacement.ref.hash);
    const { transactions } = blockOf(verifier, number + 1).envelope.executionPayload;
    expect(transactions).not.toContainEqual(userTransaction(7));
    while (verifier.harness.control.heads.finalized.number < number) await network.step(500);
    expect(verifier.harness.control.heads.finalized.number, "it starts with the block of deposits").toBe(number);
    verifier.restart();
    await network.run(4 * MINUTE_MS);
    expect(verifier.harness.logs.map(({ text }) => text)).toContain("deriving the safe chain again from further back");
    const derived = network.safeChain(verifier);
    expect(derived.length).toBeGreaterThan(number + 100);
    expect(derived).toEqual(network.safeChain(network.sequencer).slice(0, derived.length));
  });
});

describe("what L1 is asked before a safe block is replaced", () => {
  const l1 = new FakeL1(60);
  const config = testConfig("jovian", { seqWindowSize: 20 });
  const engine = new FakeEngine(config);
  const user = userTransaction(1);
  /** blocks 1 to 50, with two blocks for each L1 origin; block 40 is the only one with a user transaction */
  const chain = [engine.block(engine.head)];
  for (let number = 1; number <= 50; number++) {
    const origin = l1.blocks[number >> 1]!;
    chain.push(engine.make(chain.at(-1)!.ref, attributesOn(config, chain.at(-1)!.ref, origin, number === 40 ? [user] : [])));
  }
  engine.head = chain[50]!.ref.hash;
  const ref = (number: number): L2BlockRef => chain[number]!.ref;
  const gone = (block: L1BlockRef): L1BlockRef => ({ ...block, hash: "0x99" });
  const heads = headsAfterReset({ unsafe: ref(50), safe: ref(30), finalized: ref(20), base: ref(20) });
  const check = (over: Partial<SafeChainCheckDeps> = {}) =>
    new SafeChainCheck({ config, l1, l2: engine, log: silentLogger, ...over });
  const observed: ObservedBatch = {
    type: "singular",
    channelId: "0x01",
    l1InclusionBlock: l1.blocks[30]!,
    timestamp: 0,
    epochNumber: 0,
    blockCount: 1,
    transactionCount: 0,
    fromSpan: false,
  };
  const startedFurtherBack = (contradicted: number, safe: number): SafeChainCheck => {
    const safeChain = check();
    safeChain.onReset(ref(20), ref(safe));
    safeChain.rewindOr(critical("L1 says otherwise"), contradicted);
    safeChain.onReset(ref(10), ref(safe));
    return safeChain;
  };
  const replacement = async (safeChain: SafeChainCheck, number: number, l1Block: L1BlockRef = l1.blocks[45]!) => {
    const attributes = attributesOn(config, ref(number - 1), l1.blocks[number >> 1]!);
    return (await safeChain.checkReplacement(chain[number]!, { attributes, derivedFrom: l1Block }, "transaction", heads))?.kind;
  };

  it.each<[string, number, L1BlockRef | undefined, string | undefined]>([
    ["an unsafe block may be replaced", 31, undefined, undefined],
    ["a final one never", 20, undefined, "critical"],
    ["a final one not even when L1 was reorganised", 20, gone(l1.blocks[29]!), "critical"],
    ["a safe one not when nothing says that L1 was reorganised", 30, undefined, "critical"],
    ["a safe one not when what it came from is still there", 30, l1.blocks[29], "critical"],
    ["one below the safe head neither", 25, l1.blocks[29], "critical"],
    ["a safe one may when what the safe head came from is gone", 30, gone(l1.blocks[29]!), undefined],
  ])("%s", async (_, number, derivedFrom, expected) => {
    const safeChain = check();
    if (derivedFrom !== undefined) safeChain.onSafe(ref(30), derivedFrom);
    safeChain.onReset(ref(20), ref(30));
    expect(await replacement(safeChain, number)).toBe(expected);
  });

  it.each<[string, L1BlockRef, string | undefined]>([
    ["what it came from is gone", gone(l1.blocks[29]!), undefined],
    ["what it came from is still there", l1.blocks[29]!, "critical"],
  ])("asks the record of earlier processes: %s", async (_, l1Block, expected) => {
    const recordedAfter = () => [{ l1Block, safeHead: ref(30) }];
    const safeChain = check({ recordedAfter });
    safeChain.beforeReset(ref(20));
    safeChain.onReset(ref(20), ref(30));
    expect(await replacement(safeChain, 30)).toBe(expected);
  });

  it("does not go by a record about a block that the engine does not have", async () => {
    const safeChain = check({ recordedAfter: () => [{ l1Block: gone(l1.blocks[29]!), safeHead: { number: 30, hash: "0x77" } }] });
    safeChain.beforeReset(ref(20));
    safeChain.onReset(ref(20), ref(30));
    expect(await replacement(safeChain, 30)).toBe("critical");
  });

  it("goes by what this process derives, not by what was recorded before", async () => {
    const safeChain = check({ recordedAfter: () => [{ l1Block: gone(l1.blocks[29]!), safeHead: ref(30) }] });
    safeChain.beforeReset(ref(20));
    safeChain.onReset(ref(20), ref(30));
    safeChain.onSafe(ref(30), l1.blocks[29]!);
    safeChain.beforeReset(ref(20));
    safeChain.onReset(ref(20), ref(30));
    expect(await replacement(safeChain, 30)).toBe("critical");
  });

  describe("a start", () => {
    const found = { kind: "found" as const, unsafe: ref(50), finalized: ref(20), highestFormerSafe: ref(40) };
    const startFrom = async (safeChain: SafeChainCheck, base: number): Promise<number | undefined> => {
      const start = await safeChain.takenBack({ ...found, safe: ref(base), base: ref(base) });
      return start.kind === "found" ? start.base.number : undefined;
    };
    const derivedFrom = (...steps: readonly (readonly [number, L1BlockRef])[]): SafeChainCheck => {
      const safeChain = check();
      safeChain.onReset(ref(20), ref(20));
      for (const [number, l1Block] of steps) safeChain.onSafe(ref(number), l1Block);
      safeChain.onReset(ref(20), ref(40));
      return safeChain;
    };
    const [at28, at29, at30] = [l1.blocks[28]!, l1.blocks[29]!, l1.blocks[30]!];

    it("goes back to before blocks whose data L1 does not have any more", async () => {
      const safeChain = derivedFrom([24, at28], [30, gone(at29)], [36, gone(at30)]);
      expect(await startFrom(safeChain, 33)).toBe(24);
      expect(await startFrom(safeChain, 26)).toBe(24);
      expect(await startFrom(safeChain, 24)).toBe(24);
      expect(await startFrom(safeChain, 22)).toBe(22);
    });

    it("goes back to the finalized block where nothing above it is left", async () => {
      expect(await startFrom(derivedFrom([24, gone(at28)], [30, gone(at29)]), 28)).toBe(20);
      expect(await startFrom(derivedFrom([30, gone(at29)]), 28)).toBe(20);
      expect(await startFrom(derivedFrom([19, at28], [30, gone(at29)]), 28)).toBe(20);
    });

    it("stays where L1 has the data, has not come so far, or is not known to have had it", async () => {
      expect(await startFrom(derivedFrom([24, at28], [30, at29]), 28)).toBe(28);
      expect(await startFrom(derivedFrom([24, at28], [30, { ...gone(at29), number: 10_000 }]), 28)).toBe(28);
      expect(await startFrom(derivedFrom([24, gone(at28)]), 28)).toBe(28);
      const elsewhere = check();
      elsewhere.onSafe({ ...ref(30), hash: "0x77" }, gone(at29));
      expect(await startFrom(elsewhere, 28)).toBe(28);
    });
  });

  it("starts over when the L1 block that is being read was itself replaced", async () => {
    const safeChain = check();
    safeChain.onReset(ref(20), ref(30));
    expect(await replacement(safeChain, 30, gone(l1.blocks[45]!))).toBe("reset");
    expect(await replacement(safeChain, 20, gone(l1.blocks[45]!))).toBe("reset");
  });

  it("lets a block be replaced whose L1 origin is gone", async () => {
    const safeChain = check();
    safeChain.onReset(ref(20), ref(30));
    const block = { ...chain[30]!, ref: { ...ref(30), l1Origin: gone(l1.blocks[15]!) } };
    const attributes = attributesOn(config, ref(29), l1.blocks[15]!);
    expect(
      await safeChain.checkReplacement(block, { attributes, derivedFrom: l1.blocks[45]! }, "prevRandao", heads),
    ).toBeUndefined();
  });

  it("lets a block be replaced by one that is made because L1 has no batch: this one had a batch", async () => {
    const accepted = { ...observed, timestamp: ref(30).timestamp };
    const empty = { batch: { ...accepted, type: "empty" as const }, verdict: { kind: "accept" as const } };
    const once = check();
    once.onReset(ref(20), ref(30));
    once.observer.onBatch(empty);
    expect(await replacement(once, 30), "derivation may have begun in the midst of a channel").toBe("critical");

    const safeChain = startedFurtherBack(30, 30);
    safeChain.observer.onBatch(empty);
    expect(await replacement(safeChain, 29)).toBe("critical");
    expect(await replacement(safeChain, 30)).toBeUndefined();

    const hasBatch = startedFurtherBack(30, 30);
    hasBatch.observer.onBatch(empty);
    hasBatch.observer.onBatch({ batch: accepted, verdict: { kind: "accept" } });
    expect(await replacement(hasBatch, 30)).toBe("critical");
  });

  it("takes nothing above a block that may be replaced for the one that was safe there", async () => {
    const safeChain = check();
    safeChain.onSafe(ref(28), gone(l1.blocks[28]!));
    safeChain.onSafe(ref(30), l1.blocks[29]!);
    safeChain.onReset(ref(20), ref(30));
    expect(await replacement(safeChain, 30)).toBe("critical");
    expect(await replacement(safeChain, 25)).toBeUndefined();
    expect(
      await replacement(safeChain, 30),
      "a sequencer may have made another block on the one that came instead",
    ).toBeUndefined();
    expect(await replacement(safeChain, 24)).toBeUndefined();
    expect(await replacement(safeChain, 20)).toBe("critical");
  });

  it.each([
    [30, 39, "critical"],
    [30, 40, undefined],
    [40, 50, undefined],
    [41, 50, "critical"],
  ])("lets block %i be replaced if one up to the former safe head %i has users' transactions", async (number, safe, expected) => {
    const safeChain = startedFurtherBack(number, safe);
    expect(await replacement(safeChain, number)).toBe(expected);
  });

  it("takes what L1 says of a safe block as final after some starts from further and further back", async () => {
    const safeChain = check();
    safeChain.onReset(ref(48), ref(50));
    const contradiction = critical("L1 says otherwise");
    const windows: (number | undefined)[] = [];
    for (const base of [40, 30, 20]) {
      expect(safeChain.rewindOr(contradiction, 49).kind).toBe("reset");
      windows.push(safeChain.rewind?.l1Blocks);
      safeChain.onReset(ref(base), ref(base)); // the engine was told of lower labels
      expect(await replacement(safeChain, 50), "it was safe before the first of these starts").toBe("critical");
    }
    expect(windows).toEqual([20, 40, 80]);
    expect(safeChain.rewindOr(contradiction, 49)).toBe(contradiction);
    safeChain.onSafe(ref(49), l1.blocks[45]!);
    expect(safeChain.rewindOr(contradiction, 50).kind, "this is another block").toBe("reset");
    safeChain.onReset(ref(0), ref(0));
    expect(safeChain.rewindOr(contradiction, 50), "there is nothing further back than the genesis").toBe(contradiction);
  });

  it("tries again when L1 does not answer", async () => {
    const safeChain = check({ l1: { blockByNumber: () => Promise.reject(new L1Error("l1/unavailable", { reason: "down" })) } });
    safeChain.onReset(ref(20), ref(30));
    expect(await replacement(safeChain, 30)).toBe("temporary");
  });

  it.each<[string, Partial<ObservedBatch>, BatchVerdict, boolean]>([
    ["batches on another parent", {}, { kind: "drop", reason: "parent-hash-mismatch" }, true],
    ["spans on another parent", { type: "span" }, { kind: "drop", reason: "span-parent-mismatch" }, true],
    ["spans over other blocks", { type: "span" }, { kind: "drop", reason: "span-overlap-mismatch" }, true],
    ["batches that came too late", {}, { kind: "drop", reason: "included-too-late" }, false],
    ["batches of the past", {}, { kind: "past" }, false],
  ])("%s", (_, over, verdict, isRewound) => {
    const batch = { ...observed, ...over };
    const inL1Blocks = (safeChain: SafeChainCheck, numbers: readonly number[], what: BatchVerdict = verdict) => {
      for (const number of numbers)
        safeChain.observer.onBatch({ batch: { ...batch, l1InclusionBlock: l1.blocks[number]! }, verdict: what });
    };
    const started = check();
    started.onReset(ref(0), ref(30));
    inL1Blocks(started, [31, 32, 33, 34, 35]);
    expect(started.rewind, "nothing is before the genesis").toBeUndefined();
    started.onReset(ref(20), ref(30));
    inL1Blocks(started, [31, 32, 33, 34, 35]);
    expect(started.rewind, "this process has derived everything itself").toBeUndefined();

    const safeChain = check();
    safeChain.onReset(ref(20), ref(30)); // its L1 origin is 10, and the window ends with 30
    safeChain.observer.onBatch({ batch: { ...batch, type: "empty" }, verdict: { kind: "accept" } });
    inL1Blocks(safeChain, [24, 25, 26, 27, 28, 29, 30, 31, 31]);
    inL1Blocks(safeChain, [32, 33], { kind: "future" });
    inL1Blocks(safeChain, [35, 36, 37], { kind: "past" });
    inL1Blocks(safeChain, [34], { kind: "drop", reason: "timestamp-in-future" });
    expect(safeChain.rewind, "the batcher may not know yet what became safe").toBeUndefined();
    inL1Blocks(safeChain, [35], { kind: "drop", reason: "timestamp-in-future" });
    expect(safeChain.rewind?.base.number).toBe(isRewound ? 20 : undefined);
    safeChain.onReset(ref(10), ref(30));
    expect(safeChain.rewind).toBeUndefined();
    inL1Blocks(safeChain, [34, 35, 36, 37]);
    safeChain.observer.onBatch({ batch, verdict: { kind: "accept" } });
    inL1Blocks(safeChain, [38, 39, 40, 41, 42]);
    expect(safeChain.rewind, "a batch builds on the block").toBeUndefined();
  });
});

describe("a node that starts over after a safe block", () => {
  const l1 = { hash: `0x${"0c".repeat(32)}` as Hex, number: 12, parentHash: `0x${"0b".repeat(32)}` as Hex, timestamp: 0 };
  const ref = (number: number): L2BlockRef => ({
    hash: `0x${number.toString(16).padStart(64, "0")}` as Hex,
    number,
    parentHash: l1.parentHash,
    timestamp: number,
    l1Origin: { hash: l1.hash, number: 1 },
    sequenceNumber: 0,
  });
  const altDa = testConfig("jovian", {
    altDa: {
      daCommitmentType: "KeccakCommitment",
      daChallengeContractAddress: new Uint8Array(20),
      daChallengeWindow: 7,
      daResolveWindow: 3,
    },
  });

  it.each([
    ["whatever is final, where data is on L1", testConfig(), 0, true],
    ["once it is final, where data can be challenged", altDa, 5, true],
    ["not before, as it may be taken back", altDa, 4, false],
  ])("passes over what was read before the block was safe: %s", async (_, config, finalized, isKnown) => {
    const check = new SafeChainCheck({
      config,
      log: silentLogger,
      l1: { blockByNumber: async () => l1 },
      l2: { blockByNumber: async () => undefined },
    });
    check.onReset(ref(0), ref(0));
    check.onSafe(ref(5), l1);
    const since = await check.safeSince(ref(5), ref(finalized), undefined);
    expect(since).toEqual(isKnown ? { l1Block: { hash: l1.hash, number: 12 }, isWhole: false } : undefined);
  });
});
