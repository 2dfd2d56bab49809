import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { L1BlockHeader } from "@rnode/derivation";
import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { EngineError } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import { bigintToBytes, bytesToHex, concatBytes } from "@rnode/primitives";
import {
  CONFIG_UPDATE_TOPIC,
  EXECUTION_TOO_LONG,
  type ExecutionPayloadEnvelope,
  type Log,
  type PayloadAttributes,
  upgradeGasAt,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { FakeSource } from "../testing/fake-source.ts";
import { createHarness, type Harness, type HarnessOptions } from "../testing/harness.ts";
import type { RefusalCause } from "./refused-blocks.ts";
import { TimedOutPayloads } from "./timed-out-payloads.ts";

const LIMIT = 30_000_000n;
const word = (value: bigint): Uint8Array => bigintToBytes(value, 32);

/** The SystemConfig contract's log of a new gas limit. */
const gasLimitLog = (address: Uint8Array, gasLimit: bigint): Log => ({
  address,
  topics: [CONFIG_UPDATE_TOPIC, word(0n), word(2n)],
  data: concatBytes(word(32n), word(32n), word(gasLimit)),
});

async function start(options: HarnessOptions = {}) {
  const harness = createHarness({ l1Blocks: 1, config: testConfig("jovian", { blockTimeSec: 12 }), ...options });
  const receipt = { type: 2, status: 1, cumulativeGasUsed: 0n, bloom: new Uint8Array(256) } as const;
  const logs = [gasLimitLog(harness.config.l1SystemConfigAddress, 50_000_000n)];
  harness.l1.extend(1, "a", { transactions: [], receipts: [{ ...receipt, logs }] });
  await harness.untilIdle();
  return harness;
}

/** The first block after genesis, on this L1 origin, with this gas limit. */
function blockOf({ config, l1 }: Harness, origin: number, gasLimit: bigint) {
  const other = new FakeEngine(config);
  const genesis = other.block(other.head).ref;
  return other.make(genesis, { ...attributesOn(config, genesis, l1.blocks[origin]!), gasLimit });
}

const given = ({ engine }: Harness): number => engine.calls.filter((call) => call === "newPayload").length;
const linesOf = (harness: Harness, text: string) => harness.logs.filter((line) => line.text.includes(text));

describe("the gas limit of an unsafe payload", () => {
  it.each<[string, number, bigint, boolean]>([
    ["of the parent", 0, LIMIT, true],
    ["one above", 0, LIMIT + 1n, false],
    ["one below", 0, LIMIT - 1n, false],
    ["none", 0, 0n, false],
    ["ten billion", 0, 10_000_000_000n, false],
    ["2^62", 0, 1n << 62n, false],
    ["2^64 − 1", 0, (1n << 64n) - 1n, false],
    ["of the update in its new L1 origin", 1, 50_000_000n, true],
    ["of an update that its L1 origin does not have", 1, 60_000_000n, false],
    ["of an update in an L1 block that is not its origin", 0, 50_000_000n, false],
    ["2^62 with a new L1 origin", 1, 1n << 62n, false],
  ])("%s, with L1 origin %i: %i", async (_, origin, gasLimit, isRight) => {
    const harness = await start();
    harness.engine.calls.length = 0;
    harness.inbox.offer(blockOf(harness, origin, gasLimit).envelope);
    await harness.untilIdle();
    expect([given(harness), harness.heads().unsafe, harness.inbox.length]).toEqual(isRight ? [1, 1, 0] : [0, 0, 0]);
  });

  it.each<[string, number, bigint, boolean]>([
    ["of the parent", 0, LIMIT, true],
    ["one above", 0, LIMIT + 1n, false],
    ["of an update in its new L1 origin", 1, 50_000_000n, true],
    ["twice the parent's, with a new L1 origin", 1, 2n * LIMIT, true],
    ["more than twice the parent's, with a new L1 origin", 1, 2n * LIMIT + 1n, false],
  ])("in light mode, which reads no receipts: %s, with L1 origin %i: %i", async (_, origin, gasLimit, isRight) => {
    const config = testConfig("jovian", { blockTimeSec: 12 });
    const harness = await start({ config, source: new FakeSource(config) });
    harness.inbox.offer(blockOf(harness, origin, gasLimit).envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(isRight ? 1 : 0);
    expect(harness.l1.calls).not.toContain("receipts");
  });

  it("has the upgrade gas of a fork's first block, and only there", async () => {
    const base = testConfig();
    const config = testConfig("jovian", { forkTimes: { ...base.forkTimes, karst: base.genesis.l2TimeSec + 2 } });
    const upgradeGas = upgradeGasAt(config, config.genesis.l2TimeSec + 2);
    expect(upgradeGas).toBeGreaterThan(0n);
    for (const [gasLimit, unsafe] of [
      [LIMIT, 0],
      [LIMIT + upgradeGas, 1],
    ] as const) {
      const harness = await start({ config });
      harness.inbox.offer(blockOf(harness, 0, gasLimit).envelope);
      await harness.untilIdle();
      expect(harness.heads().unsafe).toBe(unsafe);
    }
  });

  it("does not keep the next block out: a sibling with the right one follows", async () => {
    const harness = await start();
    harness.inbox.offer(blockOf(harness, 0, LIMIT * 2n).envelope);
    harness.inbox.offer(blockOf(harness, 0, LIMIT).envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(1);
    expect(linesOf(harness, "unsafe block of another node refused")).toHaveLength(1);
  });

  it("that L1 cannot explain now is refused, without holding up what comes after", async () => {
    const harness = await start();
    const [raised, plain] = [blockOf(harness, 1, 50_000_000n), blockOf(harness, 0, LIMIT)];
    harness.l1.failure = new RpcTransportError("rpc/timeout", { endpoint: "L1", method: "eth_getBlockByHash", timeoutMs: 1 });
    harness.inbox.offer(raised.envelope);
    harness.inbox.offer(plain.envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(1);
  });

  it.each([
    [LIMIT * 2n, 1],
    [LIMIT * 2n + 1n, 0],
    [9_000_000_000n, 0],
  ])("of a payload with missing ancestors may be raised to its double: %i", async (gasLimit, count) => {
    const harness = await start({ hasPeers: false, config: testConfig() });
    harness.engine.calls.length = 0;
    const other = new FakeEngine(harness.config);
    let parent = other.block(other.head).ref;
    const make = (limit: bigint) =>
      other.make(parent, { ...attributesOn(harness.config, parent, harness.l1.blocks[0]!), gasLimit: limit });
    for (let n = 0; n < 4; n++) parent = make(LIMIT).ref;
    harness.inbox.offer(make(gasLimit).envelope);
    await harness.advance(4_000, 100);
    expect(given(harness)).toBe(count);
  });
});

const USER_TX = Uint8Array.of(0x02, 1, 2, 3);
const DEPOSIT = Uint8Array.of(0x7e, 1);

/** A block on genesis, built on an L1 that may be another one than the node's. */
function foreign(
  { config, l1 }: Harness,
  change: (attributes: PayloadAttributes) => Partial<PayloadAttributes>,
  at: FakeL1 = l1,
  origin = 1,
) {
  const other = new FakeEngine(config);
  const genesis = other.block(other.head).ref;
  const attributes = attributesOn(config, genesis, at.blocks[origin]!, [USER_TX]);
  return other.make(genesis, { ...attributes, ...change(attributes) }).envelope;
}

describe("an unsafe payload that L1 contradicts", () => {
  /** L1 blocks 0 and 1 with another content than the node's block 1 */
  const otherL1 = (): FakeL1 => {
    const l1 = new FakeL1(1);
    l1.extend(2, "elsewhere");
    return l1;
  };
  const swapInfo = (harness: Harness, facts: Partial<L1BlockHeader>): FakeL1 => {
    const l1 = new FakeL1(1);
    l1.blocks.push({ ...harness.l1.blocks[1]!, ...facts });
    return l1;
  };
  const cases: Record<string, [RefusalCause | undefined, (harness: Harness) => ExecutionPayloadEnvelope]> = {
    "nothing is wrong": [undefined, (h) => foreign(h, () => ({ gasLimit: 50_000_000n }))],
    "L1 origin of another branch": ["l1-origin", (h) => foreign(h, () => ({ gasLimit: 50_000_000n }), otherL1())],
    "L1 origin that skips a block": ["l1-origin", (h) => foreign(h, () => ({}), otherL1(), 2)],
    "the hash of L1 block 1 as number 0": ["l1-origin", (h) => foreign(h, () => ({}), swapInfo(h, { number: 0 }))],
    "another time of the L1 block": [
      "attributes",
      (h) => foreign(h, () => ({ gasLimit: 50_000_000n }), swapInfo(h, { timestamp: 1 })),
    ],
    "another base fee of L1": [
      "attributes",
      (h) => foreign(h, () => ({ gasLimit: 50_000_000n }), swapInfo(h, { baseFeePerGas: 8n })),
    ],
    "another prevRandao": ["attributes", (h) => foreign(h, () => ({ gasLimit: 50_000_000n, prevRandao: new Uint8Array(32) }))],
    "another fee recipient": [
      "attributes",
      (h) => foreign(h, () => ({ gasLimit: 50_000_000n, suggestedFeeRecipient: new Uint8Array(20) })),
    ],
    "another beacon root": [
      "attributes",
      (h) => foreign(h, () => ({ gasLimit: 50_000_000n, parentBeaconBlockRoot: new Uint8Array(32) })),
    ],
    "a deposit that L1 does not have": [
      "attributes",
      (h) => foreign(h, ({ transactions = [] }) => ({ gasLimit: 50_000_000n, transactions: [...transactions, DEPOSIT] })),
    ],
    "an empty transaction": [
      "attributes",
      (h) => foreign(h, ({ transactions = [] }) => ({ gasLimit: 50_000_000n, transactions: [...transactions, new Uint8Array()] })),
    ],
    "other parameters of the base fee": [
      "attributes",
      (h) => foreign(h, () => ({ gasLimit: 50_000_000n, eip1559Params: Uint8Array.of(0, 0, 0, 9, 0, 0, 0, 9) })),
    ],
  };

  it.each(Object.entries(cases))("%s", async (_, [cause, make]) => {
    const harness = await start();
    harness.engine.calls.length = 0;
    harness.inbox.offer(make(harness));
    await harness.untilIdle();
    expect(harness.refused.list.map((refusal) => refusal.cause)).toEqual(cause === undefined ? [] : [cause]);
    expect([given(harness), harness.heads().unsafe]).toEqual(cause === undefined ? [1, 1] : [0, 0]);
  });

  it("beyond the sequencer drift has transactions", async () => {
    const config = testConfig("bedrock", { blockTimeSec: 12, maxSequencerDriftSec: 5 });
    const harness = await start({ config });
    harness.inbox.offer(foreign(harness, () => ({}), harness.l1, 0));
    await harness.untilIdle();
    expect(harness.refused.list).toMatchObject([
      { cause: "attributes", reason: expect.stringContaining("exceeds-sequencer-drift") },
    ]);
  });

  it("is older than its L1 origin", async () => {
    const harness = await start({ config: testConfig() });
    harness.inbox.offer(foreign(harness, () => ({ gasLimit: 50_000_000n })));
    await harness.untilIdle();
    expect(harness.refused.list).toMatchObject([{ cause: "l1-origin" }]);
  });

  it("is refused with missing ancestors as well", async () => {
    const harness = await start({ hasPeers: false });
    harness.engine.calls.length = 0;
    const other = new FakeEngine(harness.config);
    const at = otherL1();
    let parent = other.block(other.head).ref;
    for (let n = 0; n < 4; n++) parent = other.make(parent, attributesOn(harness.config, parent, at.blocks[1]!)).ref;
    harness.inbox.offer(other.block(parent.hash).envelope);
    await harness.advance(30_000, 500);
    expect([given(harness), harness.refused.list.map(({ cause }) => cause)]).toEqual([0, ["l1-origin"]]);
  });

  it("is taken while L1 does not have its origin yet, or does not answer", async () => {
    const ahead = new FakeL1(1);
    ahead.extend(1, "a");
    for (const failure of [
      undefined,
      new RpcTransportError("rpc/timeout", { endpoint: "L1", method: "eth_getBlockByNumber", timeoutMs: 1 }),
    ]) {
      const harness = createHarness({
        l1Blocks: failure === undefined ? 1 : 2,
        config: testConfig("jovian", { blockTimeSec: 12 }),
      });
      await harness.untilIdle();
      harness.l1.failure = failure;
      harness.inbox.offer(foreign(harness, () => ({}), ahead));
      await harness.untilIdle();
      expect(harness.heads().unsafe).toBe(1);
    }
  });

  it("does not hold up the driver while L1 hangs", async () => {
    const harness = await start();
    harness.l1.blockByNumber = () => new Promise(() => {});
    harness.inbox.offer(foreign(harness, () => ({}), harness.l1, 0));
    const idle = harness.untilIdle();
    for (let n = 0; n < 100; n++) await Promise.resolve();
    harness.clock.advance(1_000);
    await idle;
    expect(harness.heads().unsafe).toBe(1);
  });
});

describe("a node that sequences", () => {
  it("takes no block of its peers, makes its own, and keeps the other as evidence", async () => {
    const harness = await start({ config: testConfig() });
    harness.sequencer.start();
    const sibling = foreign(harness, () => ({}), harness.l1, 0);
    harness.inbox.offer(sibling);
    await harness.advance(3_000);
    expect(harness.published).toEqual([1]);
    expect(harness.engine.head).not.toBe(bytesToHex(sibling.executionPayload.blockHash));
    expect(harness.refused.list).toMatchObject([{ cause: "sequencing", block: { number: 1 } }]);
  });

  it("is pushed out of its chain by no branch, however long", async () => {
    const harness = await start({ config: testConfig() });
    harness.sequencer.start();
    const other = new FakeEngine(harness.config);
    let parent = other.block(other.head).ref;
    for (let n = 0; n < 16; n++) {
      const block = other.make(parent, attributesOn(harness.config, parent, harness.l1.blocks[0]!, [USER_TX]));
      parent = block.ref;
      harness.inbox.offer(block.envelope);
    }
    await harness.advance(20_000);
    expect(harness.published).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect([harness.inbox.length, harness.missing]).toEqual([0, []]);
  });

  it("takes them again once it has stopped, and those of its conductor at any time", async () => {
    const harness = await start({ config: testConfig() });
    harness.sequencer.start();
    const sibling = foreign(harness, () => ({}), harness.l1, 0);
    harness.inbox.offer(sibling, "operator");
    await harness.untilIdle();
    expect(harness.engine.head).toBe(bytesToHex(sibling.executionPayload.blockHash));
    await harness.sequencer.stop();
    const other = new FakeEngine(harness.config);
    const first = other.make(
      other.block(other.head).ref,
      attributesOn(harness.config, other.block(other.head).ref, harness.l1.blocks[0]!, [USER_TX]),
    );
    const second = other.make(first.ref, attributesOn(harness.config, first.ref, harness.l1.blocks[0]!));
    harness.inbox.offer(second.envelope);
    await harness.untilIdle();
    expect(harness.heads().unsafe).toBe(2);
  });
});

describe("a payload that the engine does not finish in time", () => {
  const timedOut = () =>
    new EngineError(
      "engine/unavailable",
      { method: "engine_newPayloadV4", reason: "timed out" },
      { cause: new RpcTransportError("rpc/timeout", { endpoint: "engine", method: "engine_newPayloadV4", timeoutMs: 1 }) },
    );

  it("is given to it twice, and not again when it is offered again", async () => {
    const harness = await start();
    harness.engine.calls.length = 0;
    const { envelope } = blockOf(harness, 0, LIMIT);
    harness.engine.nextNewPayload.push(timedOut(), timedOut());
    harness.inbox.offer(envelope);
    await harness.advance(60_000, 500);
    expect([given(harness), harness.inbox.length, harness.heads().unsafe]).toEqual([2, 0, 0]);
    expect(linesOf(harness, "unsafe block of another node refused")).toHaveLength(1);
    harness.inbox.offer(envelope);
    await harness.advance(10_000, 500);
    expect([given(harness), harness.inbox.length]).toEqual([2, 0]);
  });

  it("is given to it twice if the engine says that it stopped, and not again after a restart", async () => {
    const tooLong = () =>
      new EngineError(
        "engine/rpc-error",
        { method: "engine_newPayloadV4", rpcCode: -32000, reason: "stopped" },
        { cause: new RpcError(-32000, "stopped", { err: EXECUTION_TOO_LONG }) },
      );
    const folder = mkdtempSync(join(tmpdir(), "rnode-timeouts-"));
    const timeouts = () => new TimedOutPayloads(join(folder, "list.json"), silentLogger);
    const harness = await start({ timeouts: timeouts() });
    const { envelope } = blockOf(harness, 0, LIMIT);
    harness.engine.calls.length = 0;
    harness.engine.nextNewPayload.push(tooLong(), tooLong());
    harness.inbox.offer(envelope);
    await harness.advance(60_000, 500);
    expect([given(harness), harness.inbox.length]).toEqual([2, 0]);
    const restarted = await start({ timeouts: timeouts() });
    restarted.engine.calls.length = 0;
    restarted.inbox.offer(envelope);
    await restarted.advance(10_000, 500);
    expect([given(restarted), restarted.inbox.length]).toEqual([0, 0]);
  });

  it("is given to it as often as needed while the engine answers nothing at all, as one that was stopped", async () => {
    const harness = await start();
    const { envelope, ref } = blockOf(harness, 0, LIMIT);
    harness.engine.nextNewPayload.push(timedOut());
    harness.inbox.offer(envelope);
    await harness.untilIdle();
    harness.engine.isDown = true;
    await harness.advance(90_000, 500);
    harness.engine.isDown = false;
    await harness.advance(60_000, 500);
    expect(harness.engine.head).toBe(ref.hash);
  });

  it("is given to it again after other failures", async () => {
    const harness = await start();
    const { envelope, ref } = blockOf(harness, 0, LIMIT);
    const refused = () => new EngineError("engine/unavailable", { method: "engine_newPayloadV4", reason: "connection refused" });
    harness.engine.nextNewPayload.push(refused(), refused(), refused());
    harness.inbox.offer(envelope);
    await harness.advance(60_000, 500);
    expect(harness.engine.head).toBe(ref.hash);
  });
});
