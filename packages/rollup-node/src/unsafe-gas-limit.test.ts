import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EngineError } from "@rnode/engine-client";
import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bigintToBytes, concatBytes } from "@rnode/primitives";
import { CONFIG_UPDATE_TOPIC, EXECUTION_TOO_LONG, type Log, upgradeGasAt } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, testConfig } from "./testing/fake-chain.ts";
import { createHarness, type Harness, type HarnessOptions } from "./testing/harness.ts";
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
  const harness = createHarness({ l1Blocks: 1, ...options });
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
    expect(linesOf(harness, "gas limit that L1 does not allow")).toHaveLength(1);
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
    const harness = await start({ hasPeers: false });
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
    expect(linesOf(harness, "does not get it again")).toHaveLength(1);
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
    rmSync(folder, { recursive: true });
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
