import { createJwt, createRpcClient } from "@rnode/jsonrpc";
import { WebSocket } from "@rnode/jsonrpc/testing";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { type BlockId, forksUpTo, isDepositTransaction, outputRootPreimage, replacedOutput } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { testConfig } from "../testing/fake-chain.ts";
import { createHarness, type Harness, userTransaction } from "../testing/harness.ts";
import type { ManagedEventJson } from "./managed-event.ts";
import { createManagedServer } from "./managed-server.ts";

const SECRET = new Uint8Array(32).fill(7);
const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

type Told = { readonly data: Partial<ManagedEventJson> };

/** Only what an event says. */
const said = ({ data }: Told): Partial<ManagedEventJson> =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));

/** A node at its genesis whose messages a supervisor checks, and that supervisor's connection. */
async function setUp({ isActive = true } = {}) {
  const forkTimes = isActive
    ? forksUpTo("interop")
    : { ...forksUpTo("jovian"), karst: 0, interop: testConfig().genesis.l2TimeSec + 6 };
  const harness = createHarness({ config: testConfig("jovian", { forkTimes }), l1Blocks: 6, isManaged: true });
  const { managed, driver, l1 } = harness;
  const server = createManagedServer({ host: "127.0.0.1", port: 0, jwtSecret: SECRET }, managed!.api, {
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
  });
  const { wsPort } = await server.listen();
  opened.push(() => server.close());
  const url = `ws://127.0.0.1:${wsPort}`;
  const client = createRpcClient({ url, jwtSecret: SECRET });
  opened.push(() => client.close());
  /** The driver's turns go on while the call is under way. */
  async function call<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
    let isDone = false;
    const answer = client.call<T>(`interop_${method}`, params).finally(() => {
      isDone = true;
    });
    answer.catch(() => {});
    while (!isDone) {
      await harness.untilIdle();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await harness.untilIdle();
    return answer;
  }
  await driver.turn(); // finds the heads
  await harness.untilIdle();
  const provide = (number: number) => {
    const { hash, parentHash, timestamp } = l1.blocks[number]!;
    return call("provideL1", { hash, number, parentHash, timestamp });
  };
  const pulled = async (): Promise<Partial<ManagedEventJson>[]> => {
    const events: Partial<ManagedEventJson>[] = [];
    for (;;) {
      try {
        events.push(said({ data: await call<ManagedEventJson>("pullEvent") }));
      } catch (error) {
        expect(error).toMatchObject({ code: -39001, message: "out of events" });
        return events;
      }
    }
  };
  const idAt = async (number: number): Promise<BlockId> => {
    const { hash } = (await harness.engine.blockByNumber(number))!.ref;
    return { hash, number };
  };
  return { ...harness, url, call, provide, pulled, idAt };
}

/** Two blocks on L1, from L1 block 1 and 2, the second with a user's transaction. */
function twoBatches({ pipeline }: Pick<Harness, "pipeline">): void {
  pipeline.batches.push({ origin: 0, from: 1 }, { origin: 0, from: 2, userTransactions: [userTransaction(1)] });
}

const labels = ({ control }: Pick<Harness, "control">) => {
  const { unsafe, crossUnsafe, localSafe, safe, finalized } = control.heads;
  return [unsafe, crossUnsafe!, localSafe, safe, finalized].map(({ number }) => number);
};

describe("a node under a supervisor", () => {
  it("reads the L1 blocks that it is given, says what it derives, and asks for more", async () => {
    const node = await setUp();
    twoBatches(node);
    expect(await node.pulled()).toEqual([
      { reset: "start" },
      { unsafeBlock: expect.objectContaining({ number: 0 }) },
      expect.objectContaining({ derivationOriginUpdate: expect.objectContaining({ number: 0 }) }),
      { exhaustL1: { source: expect.objectContaining({ number: 0 }), derived: expect.objectContaining({ number: 0 }) } },
    ]);
    node.newL1Head(); // L1 goes on, and nothing is read of it
    await node.untilIdle();
    expect(node.pipeline.origin).toMatchObject({ number: 0 });
    await node.pulled();
    await node.provide(1);
    expect(labels(node)).toEqual([1, 0, 1, 0, 0]);
    const events = await node.pulled();
    const { hash, number, parentHash, timestamp } = node.l1.blocks[1]!;
    const source = { hash, number, parentHash, timestamp };
    const derived = (await node.engine.blockRefByNumber(1))!;
    const block = { hash: derived.hash, number: 1, parentHash: derived.parentHash, timestamp: derived.timestamp };
    expect(events).toEqual([
      { derivationUpdate: { source, derived: expect.objectContaining({ number: 0 }) }, derivationOriginUpdate: source },
      { unsafeBlock: block },
      { derivationUpdate: { source, derived: block } },
      { exhaustL1: { source, derived: block } },
    ]);
    await node.provide(2);
    expect(labels(node)).toEqual([2, 0, 2, 0, 0]);
  });

  it("tells its subscriber instead, and the newest of several", async () => {
    const node = await setUp();
    twoBatches(node);
    const first = await subscribed(node.url);
    await expect.poll(() => first).toContainEqual({ exhaustL1: expect.anything() }); // what waited
    await node.untilIdle();
    await expect(node.call("pullEvent")).rejects.toThrow("out of events");
    await node.provide(1);
    await expect.poll(() => first).toContainEqual({ unsafeBlock: expect.objectContaining({ number: 1 }) });
    const second = await subscribed(node.url);
    await node.untilIdle();
    const unsafeBlock = { unsafeBlock: expect.objectContaining({ number: 1 }) };
    const exhaustL1 = { exhaustL1: { source: expect.objectContaining({ number: 1 }), derived: expect.anything() } };
    await expect.poll(() => second).toEqual([unsafeBlock, exhaustL1]); // said again to whoever comes
    const before = first.length;
    await node.provide(2);
    await expect.poll(() => second).toContainEqual({ unsafeBlock: expect.objectContaining({ number: 2 }) });
    expect(first).toHaveLength(before);
  });

  it("calls blocks safe and final when it is told so, and never takes that back", async () => {
    const node = await setUp();
    twoBatches(node);
    await node.provide(1);
    await node.provide(2);
    const source = { hash: node.l1.blocks[2]!.hash, number: 2 };
    expect(await node.call("updateCrossUnsafe", await node.idAt(1))).toBeNull();
    expect(labels(node)).toEqual([2, 1, 2, 0, 0]);
    expect(node.engine.safe).toBe(node.config.genesis.l2.hash);
    await node.call("updateCrossSafe", await node.idAt(2), source);
    expect(labels(node)).toEqual([2, 2, 2, 2, 0]);
    expect(node.engine.block(node.engine.safe).ref.number).toBe(2);
    expect(node.crossSafe).toEqual([{ number: 2, source: 2 }]);
    await node.call("updateFinalized", await node.idAt(1));
    await node.call("updateCrossSafe", await node.idAt(1), source);
    await node.call("updateCrossUnsafe", await node.idAt(0));
    await node.call("updateFinalized", await node.idAt(0));
    expect(labels(node)).toEqual([2, 2, 2, 2, 1]);
    expect(node.engine.block(node.engine.finalized).ref.number).toBe(1);
  });

  it("replaces an invalid block by its deposits and one that names it, and goes on from there", async () => {
    const node = await setUp();
    twoBatches(node);
    await node.provide(1);
    await node.provide(2);
    const invalid = (await node.engine.blockByNumber(2))!;
    const seal = { hash: invalid.ref.hash, number: 2, timestamp: invalid.ref.timestamp };
    await node.pulled();
    expect(await node.call("invalidateBlock", seal)).toBeNull();
    const replacement = (await node.engine.blockByNumber(2))!;
    const { transactions, timestamp } = replacement.envelope.executionPayload;
    expect(timestamp).toBe(invalid.ref.timestamp);
    expect(transactions).toHaveLength(2);
    expect(transactions[0]).toEqual(invalid.envelope.executionPayload.transactions[0]);
    expect(transactions.every(isDepositTransaction)).toBe(true);
    expect(bytesToHex(replacedOutput(transactions)!.blockHash)).toBe(seal.hash);
    expect(labels(node)).toEqual([2, 2, 2, 2, 0]);
    expect(await node.pulled()).toContainEqual({
      replaceBlock: {
        replacement: { hash: replacement.ref.hash, number: 2, parentHash: invalid.ref.parentHash, timestamp },
        invalidated: seal.hash,
      },
    });
    expect(node.pipeline.resets.at(-1)).toBe(2);

    // asked for again, it only says so again
    await node.call("invalidateBlock", seal);
    expect(await node.pulled()).toEqual([{ replaceBlock: expect.objectContaining({ invalidated: seal.hash }) }]);

    const { stateRoot, withdrawalsRoot, blockHash } = invalid.envelope.executionPayload;
    const output = (block: typeof invalid) => ({
      stateRoot: bytesToHex(block.header.stateRoot),
      messagePasserStorageRoot: bytesToHex(block.header.withdrawalsRoot!),
      blockHash: block.ref.hash,
    });
    expect(await node.call("pendingOutputV0AtTimestamp", timestamp)).toEqual(output(invalid));
    expect(await node.call("outputV0AtTimestamp", timestamp)).toEqual(output(replacement));
    expect(await node.call("pendingOutputV0AtTimestamp", timestamp - 2)).toMatchObject({ blockHash: (await node.idAt(1)).hash });
    const preimage = outputRootPreimage({ stateRoot, messagePasserStorageRoot: withdrawalsRoot!, blockHash });
    expect(bytesToHex(transactions[1]!)).toContain(bytesToHex(keccakSource(preimage)).slice(2));
  });

  it("takes the heads that the supervisor has, and derives on from the local-safe one", async () => {
    const node = await setUp();
    twoBatches(node);
    node.pipeline.batches.push({ origin: 1, from: 2 });
    await node.provide(1);
    await node.provide(2);
    expect(labels(node)).toEqual([3, 0, 3, 0, 0]);
    const ids = await Promise.all([3, 2, 2, 1, 0].map((number) => node.idAt(number)));
    await node.call("reset", ...ids);
    expect(labels(node)).toEqual([3, 2, 2, 1, 0]);
    expect(node.pipeline.resets.at(-1)).toBe(2);
    await expect(node.call("reset", ...[...ids].reverse())).rejects.toMatchObject({ code: -32602 });
    const finder = node.pipeline.resets.length;
    await node.call("resetPreInterop");
    expect(node.pipeline.resets).toHaveLength(finder + 1);
    expect(await node.pulled()).toContainEqual({ reset: "asked for by the supervisor" });
  });

  it("answers what it is asked about its chain", async () => {
    const node = await setUp();
    twoBatches(node);
    await node.provide(1);
    const block = (await node.engine.blockByNumber(1))!;
    const json = { hash: block.ref.hash, number: 1, parentHash: block.ref.parentHash, timestamp: block.ref.timestamp };
    expect(await node.call("chainID")).toBe("901");
    expect(await node.call("blockRefByNumber", 1)).toMatchObject(json);
    expect(await node.call("l2BlockRefByNumber", 1)).toMatchObject({ ...json, sequenceNumber: 1 });
    expect(await node.call("l2BlockRefByTimestamp", block.ref.timestamp + 1)).toMatchObject(json);
    expect(await node.call("fetchReceipts", block.ref.hash)).toEqual([]);
    expect(await node.call("anchorPoint")).toMatchObject({ source: { number: 0 }, derived: { number: 0 } });
    await expect(node.call("blockRefByNumber", 9)).rejects.toMatchObject({ code: -39001, message: "block 9 not found" });
    await expect(node.call("l2BlockRefByTimestamp", 5)).rejects.toMatchObject({ code: -39001 });
    await expect(node.call("fetchReceipts", `0x${"99".repeat(32)}`)).rejects.toMatchObject({ code: -39001 });
  });

  it("is as without one while no messages are executed, and has no anchor then", async () => {
    const node = await setUp({ isActive: false });
    twoBatches(node);
    node.pipeline.batches.push({ origin: 1, from: 2 });
    await node.provide(1);
    expect(labels(node)).toEqual([1, 1, 1, 1, 0]);
    expect((await node.pulled()).filter(({ exhaustL1, reset }) => exhaustL1 === undefined && reset === undefined)).toEqual([]);
    await expect(node.call("anchorPoint")).rejects.toMatchObject({ code: -39003 });
    await node.provide(2); // block 3 is the first whose messages count
    expect(labels(node)).toEqual([3, 2, 3, 2, 0]);
    const seal = { ...(await node.idAt(2)), timestamp: 1 };
    await expect(node.call("invalidateBlock", seal)).rejects.toThrow("from before messages were executed");
  });
});

describe("a supervisor that is wrong", () => {
  const nowhere: Hex = `0x${"99".repeat(32)}`;

  it("is refused heads that do not exist, or are not what it says", async () => {
    const node = await setUp();
    twoBatches(node);
    await node.provide(1);
    const source = { hash: node.l1.blocks[1]!.hash, number: 1 };
    const before = labels(node);
    const one = await node.idAt(1);
    const genesis = await node.idAt(0);
    const cases: [string, unknown[], number][] = [
      ["updateCrossUnsafe", [{ hash: nowhere, number: 1 }], -39002],
      ["updateCrossUnsafe", [{ hash: nowhere, number: 77 }], -39001],
      ["updateCrossSafe", [one, { hash: nowhere, number: 1 }], -39001],
      ["updateCrossSafe", [one, { ...source, number: 2 }], -39001],
      ["updateCrossSafe", [{ hash: one.hash, number: 0 }, source], -39002],
      ["updateFinalized", [one], -39002], // above cross-safe
      ["invalidateBlock", [{ hash: nowhere, number: 1, timestamp: 0 }], -39002],
      ["invalidateBlock", [{ ...genesis, timestamp: 0 }], -39002], // it is cross-safe
      ["invalidateBlock", [{ hash: nowhere, number: 8, timestamp: 0 }], -39001],
      ["reset", [one, one, one, { hash: nowhere, number: 1 }, genesis], -39002],
      ["reset", [{ hash: nowhere, number: 9 }, one, one, one, genesis], -39001],
      ["provideL1", [{ hash: nowhere, number: 2, parentHash: source.hash, timestamp: 1 }], -39002],
    ];
    for (const [method, params, code] of cases) {
      await expect(node.call(method, ...params), `${method} ${JSON.stringify(params)}`).rejects.toMatchObject({ code });
    }
    expect(labels(node)).toEqual(before);
    expect(node.counts.resets).toBe(1);
    await node.provide(3); // not the next one: it is told again which one that is
    expect(node.pipeline.origin).toMatchObject({ number: 1 });
    await node.provide(2);
    expect(labels(node)[2]).toBe(2);
  });

  it("whose L1 block does not follow what was read makes the node start over", async () => {
    const node = await setUp();
    await expect(node.call("provideL1", { hash: nowhere, number: 1, parentHash: nowhere, timestamp: 1 })).rejects.toMatchObject({
      code: -39002,
    });
    expect(node.counts.resets).toBe(2);
    await node.provide(1);
    expect(node.pipeline.origin).toMatchObject({ number: 1 });
  });

  it.each([
    ["no parameters", "updateCrossUnsafe", []],
    ["a text", "updateCrossUnsafe", ["x"]],
    ["a quantity for a number", "updateCrossUnsafe", [{ hash: nowhere, number: "0x1" }]],
    ["a fraction", "updateCrossUnsafe", [{ hash: nowhere, number: 1.5 }]],
    ["a negative number", "updateFinalized", [{ hash: nowhere, number: -1 }]],
    ["a number beyond 2^53", "updateFinalized", [{ hash: nowhere, number: 2 ** 60 }]],
    ["a short hash", "updateFinalized", [{ hash: "0x12", number: 1 }]],
    ["an array", "provideL1", [[1]]],
    ["a missing field", "provideL1", [{ hash: nowhere, number: 1, timestamp: 1 }]],
    ["a timestamp as text", "l2BlockRefByTimestamp", ["1"]],
    ["four heads", "reset", Array.from({ length: 4 }, () => ({ hash: nowhere, number: 0 }))],
    ["too many parameters", "chainID", Array.from({ length: 3_000 }, () => ({}))],
  ])("that sends %s is told so", async (_, method, params) => {
    const node = await setUp();
    const refusal = await node.call(method, ...params).then(
      () => undefined,
      (error: { code?: number }) => error.code,
    );
    expect([-32602, -32600]).toContain(refusal);
    expect(await node.call("chainID")).toBe("901");
  });

  it("that sends deep or huge requests loses at most its connection", async () => {
    const node = await setUp();
    const sendRaw = async (text: string): Promise<string> => {
      const socket = new WebSocket(node.url, { headers: authorization() });
      opened.push(() => socket.terminate());
      await new Promise((resolve) => socket.once("open", resolve));
      const outcome = new Promise<string>((resolve) => {
        socket.once("message", (answer: Buffer) => resolve(answer.toString()));
        socket.once("close", (code) => resolve(`closed ${code}`));
        socket.on("error", () => {});
      });
      socket.send(text);
      return outcome;
    };
    const nested = `{"jsonrpc":"2.0","id":1,"method":"interop_updateCrossUnsafe","params":[${"[".repeat(50_000)}${"]".repeat(50_000)}]}`;
    expect(await sendRaw(nested)).toMatch(/-32600|-32700/);
    expect(await sendRaw(`{"jsonrpc":"2.0","id":1,"method":"interop_chainID","params":["${"x".repeat(2 << 20)}"]}`)).toBe(
      "closed 1009",
    );
    expect(await sendRaw('{"jsonrpc":"2.0","id":1,"method":"interop_subscribe","params":["blocks"]}')).toContain("error");
    expect(await node.call("chainID")).toBe("901");
  });

  it("without its token, or over HTTP, gets nothing", async () => {
    const node = await setUp();
    const statusOf = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve) => {
        const socket = new WebSocket(node.url, { headers });
        socket.once("unexpected-response", (_, response) => {
          resolve(response.statusCode);
          response.destroy();
        });
        socket.once("open", () => {
          resolve(101);
          socket.terminate();
        });
        socket.on("error", () => {});
      });
    const now = Math.floor(Date.now() / 1000);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    expect(await statusOf({})).toBe(401);
    expect(await statusOf(bearer(createJwt(new Uint8Array(32), now)))).toBe(401);
    expect(await statusOf(bearer(createJwt(SECRET, now - 120)))).toBe(401);
    expect(await statusOf(bearer(createJwt(SECRET, now + 120)))).toBe(401);
    expect(await statusOf(bearer(createJwt(SECRET, now)))).toBe(101);
    const answer = await fetch(node.url.replace("ws:", "http:"), { method: "POST", body: "{}", headers: authorization() });
    expect(answer.status).toBe(426);
  });

  it("that sends commands faster than they are carried out is told that the node is busy", async () => {
    const node = await setUp();
    twoBatches(node);
    await node.provide(1);
    const one = await node.idAt(1);
    const client = createRpcClient({ url: node.url, jwtSecret: SECRET, maxConcurrency: 500 });
    opened.push(() => client.close());
    const answers = Promise.allSettled(Array.from({ length: 60 }, () => client.call("interop_updateCrossUnsafe", [one])));
    await new Promise((resolve) => setTimeout(resolve, 200)); // all have arrived, and no turn has come
    await node.untilIdle();
    const refused = (await answers).filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const outcome of refused) {
      expect((outcome as PromiseRejectedResult).reason).toMatchObject({ message: expect.stringContaining("the node is busy") });
    }
    expect(labels(node)[1]).toBe(1);
  });

  it("that does not read what it is told loses its connection, and the node goes on", async () => {
    const node = await setUp();
    twoBatches(node);
    const socket = new WebSocket(node.url, { headers: authorization() });
    opened.push(() => socket.terminate());
    await new Promise((resolve) => socket.once("open", resolve));
    const answered = new Promise((resolve) => socket.once("message", resolve));
    socket.send('{"jsonrpc":"2.0","id":1,"method":"interop_subscribe","params":["events"]}');
    await answered;
    socket.pause();
    const { events } = node.managed!;
    const reason = "x".repeat(10_000);
    for (let sent = 0; events.isSubscribed && sent < 20_000; sent++) {
      node.managed!.onReset(reason);
      if (sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => events.isSubscribed, { timeout: 10_000 }).toBe(false);
    await node.provide(1);
    expect(labels(node)[2]).toBe(1);
  });

  it("that is not there costs no more than a hundred events", async () => {
    const node = await setUp();
    for (let i = 0; i < 500; i++) node.managed!.onReset(`reason ${i}`);
    const events = await node.pulled();
    expect(events).toHaveLength(100);
    expect(events.at(-1)).toEqual({ reset: "reason 499" });
  });
});

/** A supervisor that listens. @returns what it is told, as it comes */
async function subscribed(url: string): Promise<Partial<ManagedEventJson>[]> {
  const events: Partial<ManagedEventJson>[] = [];
  const socket = new WebSocket(url, { headers: authorization() });
  opened.push(() => socket.terminate());
  await new Promise((resolve) => socket.once("open", resolve));
  socket.on("message", (text: Buffer) => {
    const { method, params } = JSON.parse(text.toString()) as { method?: string; params?: { result: Told } };
    if (method === "interop_subscription") events.push(said(params!.result));
  });
  const answered = new Promise((resolve) => socket.once("message", resolve));
  socket.send('{"jsonrpc":"2.0","id":1,"method":"interop_subscribe","params":["events"]}');
  await answered;
  return events;
}

const authorization = (): Record<string, string> => ({
  authorization: `Bearer ${createJwt(SECRET, Math.floor(Date.now() / 1000))}`,
});

/** Source hash of the deposit that ends a replacement. Spec: docs/protocol/01-execution.md#deposit-transaction */
const keccakSource = (preimage: Uint8Array): Uint8Array => keccak256(hexToBytes(`0x${"4".padStart(64, "0")}`), keccak256(preimage));
