import { EMPTY_REQUESTS_HASH, hexToBytes, keccak256 } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, hashHeader, payloadToHeader } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "./testing/fake-chain.ts";
import { createHarness } from "./testing/harness.ts";
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

function inboxOf(limits = { maxPayloads: 3, maxBytes: 10_000 }) {
  let wakes = 0;
  const inbox = new UnsafeInbox({ config, limits, onQueued: () => wakes++ });
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

  it.each<[string, ExecutionPayloadEnvelope, object]>([
    [
      "another content than its hash says",
      { ...withFields({}), parentBeaconBlockRoot: new Uint8Array(32).fill(9) },
      { kind: "bad-hash" },
    ],
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

  it("stays within its bounds when a thousand payloads are posted, and keeps the highest", () => {
    const { inbox } = inboxOf({ maxPayloads: 50, maxBytes: 10_000_000 });
    for (let i = 0; i < 1_000; i++) inbox.offer(withFields({ blockNumber: 2 + ((i * 7) % 1_000) }));
    expect(inbox.length).toBe(50);
    expect(inbox.peek()?.ref.number).toBe(952);
    expect(inbox.offer(withFields({ blockNumber: 5 }))).toEqual({ kind: "full", waiting: 50 });
    const small = inboxOf({ maxPayloads: 10_000, maxBytes: 100_000 });
    for (let i = 0; i < 1_000; i++) small.inbox.offer(withFields({ blockNumber: 2 + i }));
    expect(small.inbox.sizeBytes).toBeLessThanOrEqual(100_000);
    expect(small.inbox.length).toBeGreaterThan(10);
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
