import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createMetrics, silentLogger } from "@rnode/observe";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { createJwt } from "../auth/jwt.ts";
import { createRpcServer, type RpcServerLimits } from "../rpc-server.ts";
import { method, param, type SubscriptionSink, subscription } from "./method-table.ts";
import { LIMIT_EXCEEDED } from "./rpc-error.ts";
import { countShape } from "./shape.ts";
import { UnsentBudget } from "./unsent.ts";

const MIB = 1024 * 1024;
const SECRET = new Uint8Array(32).fill(7);

afterEach(() => {
  vi.useRealTimers();
});

let sink: SubscriptionSink | undefined;
const subscriptions = {
  test: {
    ticks: subscription({
      params: [],
      start: (_, opened) => {
        sink = opened;
        return () => (sink = undefined);
      },
    }),
  },
};
const methods = {
  test_large: method({ params: [param("size", countShape)], handler: ([size]) => "x".repeat(size) }),
  test_later: method({
    params: [param("size", countShape)],
    handler: async ([size]) => {
      await sleep(5);
      return "x".repeat(size);
    },
  }),
};

async function startServer(limits: Partial<RpcServerLimits>, jwtSecret?: Uint8Array) {
  const metrics = createMetrics({ prefix: "t_" });
  const both = { host: "127.0.0.1", port: 0 };
  const server = createRpcServer({
    http: both,
    ws: { ...both, subscriptions },
    methods,
    log: silentLogger,
    limits,
    metrics,
    jwtSecret,
  });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  const metric = async (name: string): Promise<number> => {
    const { body } = await metrics.expose();
    const line = body.split("\n").find((text) => text.startsWith(`t_${name} `));
    return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(" ")));
  };
  return {
    port: httpPort!,
    unsentBytes: () => metric("rpc_unsent_bytes"),
    dropped: (reason: string) => metric(`rpc_clients_dropped_total{reason="${reason}"}`),
  };
}

const call = (size: number, name = "test_large", id = 1) => ({
  jsonrpc: "2.0",
  id,
  method: name,
  params: [`0x${size.toString(16)}`],
});

/** Asks and reads nothing; whether the connection has ended is seen without reading. */
async function askAndIgnore(port: number, body: unknown, fields = ""): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  const text = JSON.stringify(body);
  socket.write(
    `POST / HTTP/1.1\r\nhost: localhost\r\n${fields}content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  return socket;
}

async function post(port: number, body: unknown): Promise<{ text: string; json: () => unknown }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { text, json: () => JSON.parse(text) };
}

async function openSocket(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  return socket;
}

describe("a client that does not read", () => {
  it.each<[string, Uint8Array | undefined]>([
    ["HTTP", undefined],
    ["HTTP with a token", SECRET],
  ])("is disconnected after a while (%s)", async (_, secret) => {
    const { port, unsentBytes, dropped } = await startServer({ writeTimeoutMs: 200 }, secret);
    const token = secret === undefined ? "" : `authorization: Bearer ${createJwt(secret, Date.now() / 1000)}\r\n`;
    await askAndIgnore(port, call(32 * MIB), token);
    await expect.poll(unsentBytes).toBeGreaterThan(20 * MIB);
    await expect.poll(() => dropped("timeout")).toBe(1);
    expect(await unsentBytes()).toBe(0);
  });

  it("is disconnected after a while (WebSocket)", async () => {
    const { port, unsentBytes, dropped } = await startServer({ writeTimeoutMs: 200 });
    const socket = await openSocket(port);
    socket.pause();
    socket.send(JSON.stringify(call(32 * MIB)));
    await expect.poll(unsentBytes).toBeGreaterThan(20 * MIB);
    await expect.poll(() => dropped("timeout")).toBe(1);
    expect(await unsentBytes()).toBe(0);
  });

  it("is disconnected when others need what it holds", { tags: "long" }, async () => {
    const { port, unsentBytes, dropped } = await startServer({ maxUnsentBytes: 48 * MIB });
    for (let n = 0; n < 3; n++) await askAndIgnore(port, call(20 * MIB));
    await expect.poll(unsentBytes).toBeGreaterThan(20 * MIB);
    await sleep(1100); // they have had the time to read
    const { text } = await post(port, call(30 * MIB));
    expect(text.length).toBeGreaterThan(30 * MIB);
    expect(await dropped("budget")).toBeGreaterThan(0);
    expect(await unsentBytes()).toBeLessThanOrEqual(48 * MIB);
  });

  it("keeps its connection while it reads a little", async () => {
    const { port, dropped } = await startServer({ writeTimeoutMs: 2000 });
    const socket = await askAndIgnore(port, call(16 * MIB));
    let received = 0;
    socket.on("data", (chunk: Buffer) => {
      received += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 12);
    });
    await expect.poll(() => received).toBeGreaterThan(16 * MIB);
    expect(await dropped("timeout")).toBe(0);
  });

  it("loses its subscriptions, with a reason in the metrics", async () => {
    const { port, dropped } = await startServer({ maxBufferedBytes: MIB });
    const socket = await openSocket(port);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "test_subscribe", params: ["ticks"] }));
    await once(socket, "message");
    socket.pause();
    for (let n = 0; n < 200 && sink !== undefined; n++) {
      sink.notify("x".repeat(100_000));
      await sleep(1);
    }
    expect(sink).toBeUndefined();
    expect(await dropped("backlog")).toBe(1);
  });
});

describe("answers that wait", () => {
  it("leave no room for another large one, until their client has had the time to read", () => {
    let nowMs = 0;
    const dropped: string[] = [];
    const limits = { maxUnsentBytes: 24 * MIB, writeTimeoutMs: 30_000 };
    const budget = new UnsentBudget(limits, { log: silentLogger, onDrop: (reason) => dropped.push(reason), nowMs: () => nowMs });
    budget.open("a", () => {}).add(20 * MIB);
    nowMs = 999;
    expect(budget.makeRoom(10 * MIB)).toBe(false);
    expect(budget.makeRoom(MIB)).toBe(true);
    nowMs = 1000;
    expect(budget.makeRoom(10 * MIB)).toBe(true);
    expect(dropped).toEqual(["budget"]);
    expect(budget.bytes).toBe(0);
    budget.close();
  });

  it("leave no room for another large one, which is refused in words", async () => {
    vi.useFakeTimers({ toFake: ["performance"] }); // however slow the machine is, the client has not had the time to read
    const { port, unsentBytes } = await startServer({ maxUnsentBytes: 24 * MIB });
    await askAndIgnore(port, call(20 * MIB));
    await expect.poll(unsentBytes).toBeGreaterThan(14 * MIB);
    expect((await post(port, call(10 * MIB))).json()).toMatchObject({
      error: { code: LIMIT_EXCEEDED, message: expect.stringContaining("wait for their clients") },
    });
    expect((await post(port, call(1000))).text).toContain("xxx");
  });

  it("leave no room for another large one, which is refused in words (WebSocket)", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { port, unsentBytes } = await startServer({ maxUnsentBytes: 24 * MIB });
    const [ignoring, asking] = [await openSocket(port), await openSocket(port)];
    ignoring.pause();
    ignoring.send(JSON.stringify(call(20 * MIB)));
    await expect.poll(unsentBytes).toBeGreaterThan(14 * MIB);
    const ask = async (size: number): Promise<string> => {
      asking.send(JSON.stringify(call(size)));
      const [data] = (await once(asking, "message")) as [Buffer];
      return data.toString("utf8");
    };
    expect(JSON.parse(await ask(10 * MIB))).toMatchObject({
      error: { code: LIMIT_EXCEEDED, message: expect.stringContaining("wait for their clients") },
    });
    expect(await ask(1000)).toContain("xxx");
    expect(ignoring.readyState).toBe(ignoring.OPEN);
  });

  it("are bounded while batches are answered, all together", async () => {
    const { port, unsentBytes } = await startServer({ maxUnsentBytes: 8 * MIB });
    const batch = Array.from({ length: 20 }, (_, id) => call(MIB, "test_later", id));
    const batches = Promise.all(Array.from({ length: 4 }, () => post(port, batch)));
    let most = 0;
    const watch = setInterval(() => void unsentBytes().then((bytes) => (most = Math.max(most, bytes))), 5);
    const codes = (await batches).map(({ json }) => (json() as { error?: { code: number } }[]).map(({ error }) => error?.code));
    clearInterval(watch);
    expect(codes.flat()).toContain(undefined);
    expect(codes.flat()).toContain(LIMIT_EXCEEDED);
    expect(most).toBeGreaterThan(MIB);
    expect(most).toBeLessThan(12 * MIB);
  });
});

describe("a long answer over WebSocket", () => {
  it("arrives whole, and in order with what follows", async () => {
    const { port } = await startServer({});
    const socket = await openSocket(port);
    const ids: number[] = [];
    socket.on("message", (data: Buffer) => ids.push((JSON.parse(data.toString("utf8")) as { id: number }).id));
    socket.send(JSON.stringify(call(40 * MIB, "test_large", 1)));
    socket.send(JSON.stringify(call(10, "test_large", 2)));
    await expect.poll(() => ids).toEqual([1, 2]);
    expect(socket.readyState).toBe(socket.OPEN);
  });
});
