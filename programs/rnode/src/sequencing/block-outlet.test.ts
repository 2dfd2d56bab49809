import { EngineError } from "@rnode/node-clients";
import { ManualClock } from "@rnode/primitives/testing";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { Insertion } from "../engine/engine-control.ts";
import { attributesOn, FakeEngine, FakeL1, GENESIS_TIME_SEC, testConfig } from "../testing/fake-chain.ts";
import { createHarness, type Harness } from "../testing/harness.ts";
import type { Published, Signed } from "./block-gossip.ts";
import { BlockOutlet } from "./block-outlet.ts";
import { type Leadership, onlySequencer } from "./leadership.ts";

const BLOCK_MS = 2_000;
const nothingPending = () => new Promise((resolve) => setImmediate(resolve));
const never = <T>(): Promise<T> => new Promise(() => {});

function outletWith(parts: {
  consent?: Leadership["consent"];
  sign?: () => Promise<Signed>;
  publish?: (envelope: ExecutionPayloadEnvelope, signal: AbortSignal, signed?: Signed) => Promise<Published>;
  insert?: () => Promise<Insertion>;
}) {
  const config = testConfig();
  const engine = new FakeEngine(config);
  const genesis = engine.block(engine.head).ref;
  const { envelope } = engine.make(genesis, attributesOn(config, genesis, new FakeL1(1).blocks[0]!));
  const clock = new ManualClock(GENESIS_TIME_SEC * 1_000);
  const steps: string[] = [];
  const counts = { publishingErrors: 0 };
  const warnings: unknown[] = [];
  const log = { warn: (text: string, fields: unknown) => void warnings.push([text, fields]) } as never;
  const outlet = new BlockOutlet({
    clock,
    signLimitMs: 8_000,
    log,
    metrics: { publishingError: () => counts.publishingErrors++ },
    leadership: {
      consent: (...args) => {
        steps.push("leadership");
        return parts.consent?.(...args) ?? Promise.resolve("leader");
      },
    },
    gossip: {
      ...(parts.sign && {
        sign: () => {
          steps.push("signer");
          return parts.sign!();
        },
      }),
      publish: (...args) => {
        steps.push("gossip");
        return parts.publish?.(...args) ?? Promise.resolve({ kind: "published" });
      },
    },
    control: {
      insert: () => {
        steps.push("engine");
        return parts.insert?.() ?? Promise.resolve({ kind: "inserted" });
      },
    },
  });
  return { outlet, envelope, clock, steps, counts, warnings };
}

describe("the way out for a block", () => {
  it("goes by leadership, gossip and our own engine", async () => {
    const { outlet, envelope, steps } = outletWith({});
    expect(await outlet.commit(envelope, outlet.fenceSignal())).toEqual({ kind: "committed" });
    expect(steps).toEqual(["leadership", "gossip", "engine"]);
  });

  it.each<[string, Parameters<typeof outletWith>[0], unknown, string[]]>([
    ["another leader", { consent: async () => "notLeader" }, { kind: "notLeader" }, ["leadership"]],
    [
      "a leadership that fails",
      { consent: () => Promise.reject(new Error("raft")) },
      { kind: "temporary", reason: "leadership: raft" },
      ["leadership"],
    ],
    [
      "a leadership that throws at once",
      {
        consent: () => {
          throw new TypeError("no");
        },
      },
      { kind: "temporary", reason: "leadership: no" },
      ["leadership"],
    ],
    [
      "a signer that fails",
      { sign: () => Promise.reject(new Error("wrong key")) },
      { kind: "temporary", reason: "signing: wrong key" },
      ["leadership", "signer"],
    ],
    [
      "a network that refuses",
      { publish: async () => ({ kind: "refused", reason: "too old" }) },
      { kind: "committed" },
      ["leadership", "gossip", "engine"],
    ],
    [
      "a network that throws",
      { publish: () => Promise.reject(new Error("closed")) },
      { kind: "committed" },
      ["leadership", "gossip", "engine"],
    ],
    [
      "a network that throws at once, and no error",
      {
        publish: () => {
          throw "closed";
        },
      },
      { kind: "committed" },
      ["leadership", "gossip", "engine"],
    ],
    [
      "an engine that refuses",
      { insert: async () => ({ kind: "invalid", reason: "gas" }) },
      { kind: "refused", reason: "gas" },
      ["leadership", "gossip", "engine"],
    ],
    [
      "an engine that is away",
      { insert: async () => ({ kind: "temporary", reason: "down" }) },
      { kind: "temporary", reason: "down" },
      ["leadership", "gossip", "engine"],
    ],
  ])("of %s", async (_, parts, outcome, expectedSteps) => {
    const { outlet, envelope, steps, counts, warnings } = outletWith(parts);
    expect(await outlet.commit(envelope, outlet.fenceSignal())).toMatchObject(outcome as object);
    expect(steps).toEqual(expectedSteps);
    const hasFailed = parts.publish !== undefined;
    expect(counts.publishingErrors).toBe(hasFailed ? 1 : 0);
    expect(warnings).toHaveLength(hasFailed && expectedSteps.includes("engine") ? 1 : 0);
  });

  it("waits for a leadership and a network that never answer as long as their limits, and tells them that it waits no more", async () => {
    const signals: AbortSignal[] = [];
    const note = <T>(signal: AbortSignal): Promise<T> => {
      signals.push(signal);
      return never();
    };
    const silent = outletWith({ consent: (_, signal) => note(signal) });
    const asking = silent.outlet.commit(silent.envelope, silent.outlet.fenceSignal());
    await nothingPending();
    silent.clock.advance(30_000);
    expect(await asking).toEqual({ kind: "temporary", reason: "leadership: no answer within 30 s", retryAfterMs: undefined });
    const deaf = outletWith({ publish: (_, signal) => note(signal) });
    const publishing = deaf.outlet.commit(deaf.envelope, deaf.outlet.fenceSignal());
    await nothingPending();
    deaf.clock.advance(1_000);
    expect(await publishing).toEqual({ kind: "committed" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("waits for a signer that never answers as long as its limit", async () => {
    const hung = outletWith({ sign: never });
    const asking = hung.outlet.commit(hung.envelope, hung.outlet.fenceSignal());
    await nothingPending();
    hung.clock.advance(8_000);
    expect(await asking).toEqual({ kind: "temporary", reason: "signing: no answer within 8 s", retryAfterMs: undefined });
    expect(hung.steps).toEqual(["leadership", "signer"]);
  });

  it("goes on without a signature that nobody has, which the network is told", async () => {
    const unsigned: Signed = { kind: "unsigned", reason: "no key" };
    const given: unknown[] = [];
    const { outlet, envelope, counts } = outletWith({
      sign: async () => unsigned,
      publish: async (_, __, with_) => {
        given.push(with_);
        throw new Error("no key");
      },
    });
    expect(await outlet.commit(envelope, outlet.fenceSignal())).toEqual({ kind: "committed" });
    expect([given, counts.publishingErrors]).toEqual([[unsigned], 1]);
  });

  it("publishes nothing that is signed after a fence", async () => {
    let sign: (answer: Signed) => void = () => {};
    const { outlet, envelope, steps } = outletWith({ sign: () => new Promise((resolve) => (sign = resolve)) });
    const committing = outlet.commit(envelope, outlet.fenceSignal());
    await nothingPending();
    outlet.fence();
    sign({ kind: "signed", signature: new Uint8Array(65) });
    expect(await committing).toEqual({ kind: "fenced" });
    expect(steps).toEqual(["leadership", "signer"]);
  });

  it("does not let out twice what it tries to insert again", async () => {
    const answers: Insertion[] = [{ kind: "temporary", reason: "down" }];
    const { outlet, envelope, steps } = outletWith({ insert: async () => answers.shift() ?? { kind: "inserted" } });
    expect(await outlet.commit(envelope, outlet.fenceSignal())).toMatchObject({ kind: "temporary" });
    expect(outlet.hasBeenPublished(`0x${Buffer.from(envelope.executionPayload.blockHash).toString("hex")}`)).toBe(true);
    outlet.fence();
    expect(await outlet.commit(envelope, outlet.fenceSignal())).toEqual({ kind: "committed" });
    expect(steps).toEqual(["leadership", "gossip", "engine", "engine"]);
  });

  it("lets nothing out after a fence, however late leadership consents", async () => {
    let consent: (answer: "leader") => void = () => {};
    const { outlet, envelope, steps } = outletWith({ consent: () => new Promise((resolve) => (consent = resolve)) });
    const before = outlet.fenceSignal();
    const committing = outlet.commit(envelope, outlet.fenceSignal());
    await nothingPending();
    outlet.fence();
    expect(await committing).toEqual({ kind: "fenced" });
    consent("leader");
    await nothingPending();
    expect(await outlet.commit(envelope, before)).toEqual({ kind: "fenced" });
    expect(steps).toEqual(["leadership"]);
  });

  it("inserts what was being published when the fence came", async () => {
    let publish: (answer: Published) => void = () => {};
    const { outlet, envelope, steps } = outletWith({ publish: () => new Promise((resolve) => (publish = resolve)) });
    const committing = outlet.commit(envelope, outlet.fenceSignal());
    await nothingPending();
    outlet.fence();
    publish({ kind: "published" });
    expect(await committing).toEqual({ kind: "committed" });
    expect(steps).toEqual(["leadership", "gossip", "engine"]);
  });
});

/** A sequencer running in its node's loop, with a clock that the test moves. */
async function running() {
  const harness = createHarness({ l1Blocks: 10 });
  harness.sequencer.start();
  const ended = harness.driver.loop();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      harness.clock.advance(50);
      for (let i = 0; i < 4; i++) await nothingPending();
    }
  };
  await pass(4 * BLOCK_MS);
  return { harness, ended, pass };
}

async function end({ harness, ended }: { harness: Harness; ended: Promise<void> }): Promise<void> {
  harness.driver.close();
  harness.clock.advance(10_000);
  await ended;
}

const unsafe = (harness: Harness): number => harness.control.heads.unsafe.number;

describe("a node whose network misbehaves", () => {
  it.each<[string, () => Promise<Published>]>([
    ["throws", () => Promise.reject(new Error("closed"))],
    ["never answers", () => never()],
    ["refuses", async () => ({ kind: "refused", reason: "too-many-of-height" })],
  ])("goes on making blocks when publishing %s", async (_, publish) => {
    const node = await running();
    const { harness, pass } = node;
    const before = unsafe(harness);
    expect(before).toBeGreaterThan(1);
    harness.others.gossip = { publish };
    await pass(10 * BLOCK_MS);
    expect(unsafe(harness)).toBeGreaterThanOrEqual(before + 9);
    expect(harness.counts.publishingErrors).toBeGreaterThanOrEqual(9);
    await end(node);
  });
});

describe("stopping the sequencer while a block is on its way out", () => {
  const stop = ({ driver, sequencer }: Harness): Promise<void> => {
    sequencer.fence();
    return driver.run(() => sequencer.stop());
  };

  it("during publishing: the block is inserted before the answer, and none leaves after it", async () => {
    const node = await running();
    const { harness, pass } = node;
    const out: number[] = [];
    let finish: () => void = () => {};
    harness.others.gossip = {
      publish: ({ executionPayload }) => {
        out.push(executionPayload.blockNumber);
        return new Promise((resolve) => (finish = () => resolve({ kind: "published" })));
      },
    };
    while (out.length === 0) await pass(50);
    let hasAnswered = false;
    const stopping = stop(harness).then(() => {
      hasAnswered = true;
    });
    await nothingPending();
    expect(hasAnswered).toBe(false);
    finish();
    await pass(50);
    await stopping;
    expect(unsafe(harness)).toBe(out[0]);
    await pass(5 * BLOCK_MS);
    expect(out).toHaveLength(1);
    expect(unsafe(harness)).toBe(out[0]);
    await end(node);
  });

  it("during publishing that never ends: it is told so before the answer", async () => {
    const node = await running();
    const { harness, pass } = node;
    let told: AbortSignal | undefined;
    harness.others.gossip = {
      publish: (_, signal) => {
        told = signal;
        return never();
      },
    };
    while (told === undefined) await pass(50);
    const stopping = stop(harness).then(() => told?.aborted);
    await pass(1_000);
    expect(await stopping).toBe(true);
    await end(node);
  });

  it.each([
    ["stop", stop],
    ["reset", async ({ driver }: Harness) => driver.requestReset("asked for")],
  ] as const)("while leadership is asked, %s: the block does not leave, even if leadership consents", async (what, act) => {
    const node = await running();
    const { harness, pass } = node;
    const published = [...harness.published];
    let consent: (() => void) | undefined;
    harness.others.leadership = { ...onlySequencer, consent: () => new Promise((resolve) => (consent = () => resolve("leader"))) };
    while (consent === undefined) await pass(50);
    const before = unsafe(harness);
    const acting = act(harness);
    consent();
    await pass(50);
    await acting;
    expect(harness.published).toEqual(published);
    expect(unsafe(harness)).toBe(before);
    harness.others.leadership = onlySequencer;
    await pass(4 * BLOCK_MS);
    if (what === "stop") expect(harness.published).toEqual(published);
    else expect(unsafe(harness)).toBeGreaterThan(before);
    await end(node);
  });

  it("a reset during publishing keeps the block that left, and makes no other at its height", async () => {
    const node = await running();
    const { harness, pass } = node;
    const out = new Map<number, Set<string>>();
    let isFirst = true;
    harness.others.gossip = {
      publish: async ({ executionPayload: { blockNumber, blockHash } }) => {
        out.set(blockNumber, (out.get(blockNumber) ?? new Set()).add(Buffer.from(blockHash).toString("hex")));
        if (isFirst) {
          isFirst = false;
          harness.engine.nextNewPayload.push(new EngineError("engine/unavailable", {}));
          harness.engine.pool.push(Uint8Array.of(0x02, 1, 2)); // changes what the engine would build, so that a second block would be a different one
          harness.driver.requestReset("asked for");
        }
        return { kind: "published" };
      },
    };
    await pass(10 * BLOCK_MS);
    expect(harness.counts.resets).toBe(2);
    expect(out.size).toBeGreaterThan(5);
    for (const hashes of out.values()) expect(hashes.size).toBe(1);
    await end(node);
  });

  it("a node that does not lead lets nothing out", async () => {
    const node = await running();
    const { harness, pass } = node;
    const published = harness.published.length;
    const before = unsafe(harness);
    harness.others.leadership = { ...onlySequencer, consent: async () => "notLeader" };
    await pass(5 * BLOCK_MS);
    expect([harness.published.length, unsafe(harness)]).toEqual([published, before]);
    await end(node);
  });
});
