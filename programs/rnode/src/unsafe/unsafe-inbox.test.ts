import { EMPTY_REQUESTS_HASH, hexToBytes, keccak256 } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, HashedPayload, hashHeader, payloadToHeader } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { createHarness } from "../testing/harness.ts";
import { UnsafeInbox } from "./unsafe-inbox.ts";

const config = testConfig();
const engine = new FakeEngine(config);
const genesis = engine.block(engine.head).ref;
const { envelope } = engine.make(genesis, attributesOn(config, genesis, new FakeL1(1).blocks[0]!));

type Payload = ExecutionPayloadEnvelope["executionPayload"];
const unhashed = (fields: Partial<Payload>): ExecutionPayloadEnvelope => ({
  ...envelope,
  executionPayload: { ...envelope.executionPayload, ...fields },
});

/** The payload with changed fields, and the hash that they give it. */
function withFields(fields: Partial<Payload>): ExecutionPayloadEnvelope {
  const changed = unhashed(fields);
  const blockHash = hashHeader(payloadToHeader(changed, EMPTY_REQUESTS_HASH, orderedTrieRoot));
  return { ...changed, executionPayload: { ...changed.executionPayload, blockHash } };
}

/** A payload of this number, with the time at which it is due. */
const at = (blockNumber: number) =>
  withFields({ blockNumber, timestamp: config.genesis.l2TimeSec + blockNumber * config.blockTimeSec });

function inboxOf(limits = { maxPayloads: 3, maxBytes: 10_000 }, headNumber = 0) {
  let wakes = 0;
  const inbox = new UnsafeInbox({ config, limits, headNumber: () => headNumber, onQueued: () => wakes++ });
  return { inbox, wakes: () => wakes };
}

describe("the door for blocks that others made", () => {
  it("takes a payload with the right hash once, and wakes the node", () => {
    const { inbox, wakes } = inboxOf();
    const one = withFields({});
    expect(inbox.offer(one)).toEqual({ kind: "queued" });
    expect(inbox.offer(one)).toEqual({ kind: "duplicate" });
    expect(inbox.peek()?.ref).toMatchObject({ number: 1, parentHash: genesis.hash, l1Origin: { number: 0 } });
    expect([inbox.length, wakes()]).toEqual([1, 1]);
  });

  it("takes the hash of the network, unless the network hashed the block in the form of another fork", () => {
    const hashed = HashedPayload.hash(withFields({}), true, orderedTrieRoot) as HashedPayload;
    const { inbox } = inboxOf();
    expect(inbox.offer(hashed)).toEqual({ kind: "queued" });
    expect(inbox.peek()!.envelope).toBe(hashed);
    const blockHash = hashHeader(payloadToHeader(envelope, undefined, orderedTrieRoot));
    const older = HashedPayload.hash(unhashed({ blockHash }), false, orderedTrieRoot) as HashedPayload;
    expect(older).toBeInstanceOf(HashedPayload);
    expect(inbox.offer(older)).toMatchObject({ kind: "bad-hash" });
  });

  it.each<[string, ExecutionPayloadEnvelope, object]>([
    [
      "another content than its hash says",
      { ...withFields({}), parentBeaconBlockRoot: new Uint8Array(32).fill(9) },
      { kind: "bad-hash" },
    ],
    ["the time of another number", withFields({ blockNumber: 1_000_001 }), { kind: "malformed" }],
    ["a time a second late", withFields({ timestamp: envelope.executionPayload.timestamp + 1 }), { kind: "malformed" }],
    ["the time of a block far ahead", withFields({ timestamp: at(1_000_001).executionPayload.timestamp }), { kind: "malformed" }],
    ["no transactions", withFields({ transactions: [] }), { kind: "malformed" }],
    ["a first transaction that is none", withFields({ transactions: [Uint8Array.of(0x02, 1)] }), { kind: "malformed" }],
    ["more bytes than may wait", unhashed({ transactions: [new Uint8Array(10_000)] }), { kind: "too-large", maxBytes: 10_000 }],
  ])("refuses a payload with %s", (_, bad, expected) => {
    const { inbox, wakes } = inboxOf();
    expect(inbox.offer(bad)).toMatchObject(expected);
    expect([inbox.length, wakes()]).toEqual([0, 0]);
  });

  it("names both hashes", () => {
    const bad = withFields({});
    const stated = keccak256(bad.executionPayload.blockHash);
    const offered = inboxOf().inbox.offer({ ...bad, executionPayload: { ...bad.executionPayload, blockHash: stated } });
    expect(offered.kind === "bad-hash" && hexToBytes(offered.stated)).toEqual(stated);
    expect(offered.kind === "bad-hash" && hexToBytes(offered.actual)).toEqual(bad.executionPayload.blockHash);
  });

  it("stays within its bounds when a thousand payloads are posted, and keeps the lowest above the head", () => {
    const { inbox } = inboxOf({ maxPayloads: 50, maxBytes: 10_000_000 }, 10);
    for (let i = 0; i < 1_000; i++) inbox.offer(at(2 + ((i * 7) % 1_000)));
    expect(inbox.length).toBe(50);
    expect(inbox.peek()?.ref.number).toBe(11);
    expect(inbox.offer(at(1_000))).toEqual({ kind: "full", waiting: 50 });
    const small = inboxOf({ maxPayloads: 10_000, maxBytes: 100_000 });
    for (let i = 0; i < 1_000; i++) small.inbox.offer(at(2 + i));
    expect(small.inbox.sizeBytes).toBeLessThanOrEqual(100_000);
    expect(small.inbox.length).toBeGreaterThan(10);
  });

  it.each([2, 50, 1_000, 1_000_000])("keeps the chain going when 2,800 blocks are signed %i ahead of the head", async (ahead) => {
    const harness = createHarness({ l1Blocks: 2, inboxLimits: { maxPayloads: 2_000, maxBytes: 128 * 1024 * 1024 } });
    await harness.untilIdle();
    const { genesis: start, blockTimeSec } = harness.config;
    const other = new FakeEngine(harness.config);
    let parent = genesis;
    const chain = Array.from({ length: 5 }, () => {
      const block = other.make(parent, attributesOn(harness.config, parent, harness.l1.blocks[0]!));
      parent = block.ref;
      return block;
    });
    for (let i = 0; i < 2_800; i++) {
      const blockNumber = ahead + i;
      const timestamp = start.l2TimeSec + blockNumber * blockTimeSec;
      const blockHash = keccak256(Uint8Array.of(i & 0xff, i >> 8));
      harness.inbox.offer({ ...envelope, executionPayload: { ...envelope.executionPayload, blockHash, blockNumber, timestamp } });
    }
    for (const block of chain) {
      expect(harness.inbox.offer(block.envelope)).toEqual({ kind: "queued" });
      await harness.untilIdle();
    }
    expect(harness.heads().unsafe).toBe(5);
    expect(harness.inbox.length).toBeLessThanOrEqual(2_000);
  });

  it("makes no difference to the block being inserted what arrives meanwhile", async () => {
    const harness = createHarness({ l1Blocks: 2 });
    await harness.untilIdle();
    const other = new FakeEngine(harness.config);
    const make = (parent = genesis) => other.make(parent, attributesOn(harness.config, parent, harness.l1.blocks[0]!));
    const one = make();
    const two = make(one.ref);
    harness.inbox.offer(one.envelope);
    const insert = harness.engine.newPayload.bind(harness.engine);
    harness.engine.newPayload = (payload) => {
      harness.inbox.offer(two.envelope);
      harness.inbox.offer({
        ...one.envelope,
        executionPayload: { ...one.envelope.executionPayload, blockHash: new Uint8Array(32) },
      });
      return insert(payload);
    };
    await harness.untilIdle();
    expect(harness.engine.head).toBe(two.ref.hash);
    expect(harness.inbox.length).toBe(0);
  });
});

describe("commands for the driver", () => {
  it("wait in a bounded number, the rest is refused in words", async () => {
    const { driver, untilIdle } = createHarness();
    const done: number[] = [];
    const asked = Array.from({ length: 1_000 }, (_, i) => driver.run(() => done.push(i)));
    const outcomes = Promise.allSettled(asked);
    await untilIdle();
    const refused = (await outcomes).filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
    expect([done.length, refused.length]).toEqual([32, 968]);
    expect(refused[0]!.reason).toMatchObject({
      code: "driver/busy",
      data: { reason: "the node is busy: 32 commands wait already" },
    });
    await expect(Promise.all([driver.run(() => "again"), untilIdle()])).resolves.toContain("again");
    driver.close();
    await expect(driver.run(() => {})).rejects.toMatchObject({ code: "driver/closing" });
  });
});
