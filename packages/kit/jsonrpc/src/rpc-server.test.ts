import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { createMetrics, silentLogger } from "@rnode/observe";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { createJwt } from "./auth/jwt.ts";
import { createRpcClient } from "./client/rpc-client.ts";
import { createRpcServer, type RpcServer, type RpcServerOptions } from "./rpc-server.ts";
import { RUST_DIALECT } from "./wire/dialect.ts";
import { isDeeperThan } from "./wire/json-depth.ts";
import { method, optionalParam, param, type SubscriptionSink, subscription } from "./wire/method-table.ts";
import { RpcError } from "./wire/rpc-error.ts";
import { addressShape, anyJson, arrayShape, booleanShape, countShape, objectShape, uint256Shape, wordShape } from "./wire/shape.ts";

afterEach(() => {
  vi.useRealTimers();
});

let calls = 0;
const sinks: SubscriptionSink[] = [];
/** releases the subscribers that wait for `late` */
let listen: () => void = () => {};
const methods = {
  test_echo: method({ params: [optionalParam("value", anyJson)], handler: ([value]) => value }),
  test_add: method({ params: [param("a", countShape), param("b", countShape)], handler: ([a, b]) => a + b }),
  test_balance: method({
    params: [param("address", addressShape), optionalParam("block", wordShape("latest", "safe"))],
    handler: ([address, block]) => [address.length, block ?? null],
  }),
  test_call: method({
    params: [param("call", objectShape({ to: addressShape }, { value: uint256Shape, list: arrayShape(booleanShape) }))],
    handler: ([{ to, value, list }]) => [to.length, String(value), list ?? null],
  }),
  test_count: method({ params: [], handler: () => ++calls }),
  test_revert: method({
    params: [],
    handler: () => {
      throw new RpcError(3, "execution reverted", "0x08c379a0");
    },
  }),
  test_crash: method({
    params: [],
    handler: async () => {
      throw new TypeError("secret detail");
    },
  }),
  test_bigint: method({ params: [], handler: () => 1n }),
  test_large: method({ params: [param("size", countShape)], handler: ([size]) => "x".repeat(size) }),
  test_slow: method({ params: [], handler: () => new Promise((resolve) => setTimeout(() => resolve("done"), 150)) }),
};
const subscriptions = {
  test: {
    ticks: subscription({
      params: [optionalParam("count", countShape)],
      start: ([count], sink) => {
        sinks.push(sink);
        for (let n = 0; n < (count ?? 0); n++) sink.notify(n);
        return () => sinks.splice(sinks.indexOf(sink), 1);
      },
    }),
    late: subscription({
      params: [],
      start: (_, sink) => {
        sinks.push(sink);
        return () => sinks.splice(sinks.indexOf(sink), 1);
      },
      isListening: () =>
        new Promise((resolve) => {
          listen = resolve;
        }),
    }),
  },
};

type Overrides = Partial<RpcServerOptions>;
async function startServer(overrides: Overrides = {}): Promise<{ server: RpcServer; url: string; wsUrl: string; port: number }> {
  calls = 0;
  const server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    ws: { host: "127.0.0.1", port: 0, subscriptions },
    methods,
    log: silentLogger,
    ...overrides,
  });
  const { httpPort, wsPort } = await server.listen();
  onTestFinished(() => server.close());
  return { server, port: httpPort ?? 0, url: `http://127.0.0.1:${httpPort}`, wsUrl: `ws://127.0.0.1:${wsPort}` };
}

async function post(url: string, body: string, headers: Record<string, string> = {}): Promise<{ status: number; json: unknown }> {
  const response = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  const text = await response.text();
  let json: unknown = text;
  try {
    json = JSON.parse(text);
  } catch {}
  return { status: response.status, json };
}
const rpc = (name: string, params?: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: name, params });

async function openSocket(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers });
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  return socket;
}
async function ask(socket: WebSocket, text: string): Promise<unknown> {
  const answer = once(socket, "message");
  socket.send(text);
  return JSON.parse(String((await answer)[0]));
}

const error = (code: number, message: unknown, data?: unknown, id: unknown = 1) => ({
  jsonrpc: "2.0",
  id,
  error: data === undefined ? { code, message } : { code, message, data },
});
const result = (value: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", id, result: value });

describe("JSON-RPC over HTTP", () => {
  it.each<[string, string, unknown]>([
    ["a call", rpc("test_add", ["0x1", "0x2"]), result(3)],
    ["named parameters", rpc("test_add", { b: "0x1", a: "0x2" }), result(3)],
    ["an optional parameter left out", rpc("test_balance", [`0x${"11".repeat(20)}`]), result([20, null])],
    ["an optional parameter that is null", rpc("test_balance", [`0x${"11".repeat(20)}`, null]), result([20, null])],
    ["no params", JSON.stringify({ jsonrpc: "2.0", id: "a", method: "test_echo" }), result(null, "a")],
    ["id null", rpc("test_echo", [5], null), result(5, null)],
    [
      "objects",
      rpc("test_call", [{ to: `0x${"11".repeat(20)}`, value: "0xff", list: [true], other: 1 }]),
      result([20, "255", [true]]),
    ],
    ["an application error", rpc("test_revert"), error(3, "execution reverted", "0x08c379a0")],
    ["a crash, without its detail", rpc("test_crash"), error(-32603, "method handler crashed")],
    ["a result that is not JSON", rpc("test_bigint"), error(-32603, "method handler crashed")],
    ["an unknown method", rpc("test_none"), error(-32601, "the method test_none does not exist/is not available")],
    ["a method of Object's prototype", rpc("constructor"), error(-32601, "the method constructor does not exist/is not available")],
    ["a missing parameter", rpc("test_add", ["0x1"]), error(-32602, "missing value for required argument 1", { param: "b" })],
    ["too many parameters", rpc("test_add", ["0x1", "0x1", "0x1"]), error(-32602, "too many arguments, want at most 2")],
    [
      "a wrong type",
      rpc("test_add", ["0x1", 1]),
      error(-32602, "invalid argument 1: b: expected a hex quantity of at most 64 bits, got 1"),
    ],
    [
      "a short address",
      rpc("test_balance", ["0x1234"]),
      error(-32602, 'invalid argument 0: address: expected a 20-byte address, got "0x1234"'),
    ],
    [
      "a wrong word",
      rpc("test_balance", [`0x${"11".repeat(20)}`, "soon"]),
      error(-32602, 'invalid argument 1: block: expected one of latest, safe, got "soon"'),
    ],
    [
      "a wrong field",
      rpc("test_call", [{ to: `0x${"11".repeat(20)}`, list: [true, 0] }]),
      error(-32602, "invalid argument 0: call: list[1]: expected a boolean, got 0"),
    ],
    ["a missing field", rpc("test_call", [{}]), error(-32602, "invalid argument 0: call: to: missing")],
    [
      "a huge number",
      rpc("test_add", ["0x1", `0x${"f".repeat(64)}`]),
      error(-32602, expect.stringMatching(/^invalid argument 1: b: expected a hex quantity/)),
    ],
    ["no JSON", "{", error(-32700, expect.stringMatching(/^parse error: /), undefined, null)],
    ["nothing", "", error(-32700, expect.stringMatching(/^parse error: /), undefined, null)],
    ["a number", "5", error(-32600, "invalid request: not an object", undefined, null)],
    ["an empty batch", "[]", error(-32600, "empty batch", undefined, null)],
    [
      "another version",
      JSON.stringify({ jsonrpc: "1.0", id: 1, method: "test_echo" }),
      error(-32600, 'invalid request: jsonrpc must be "2.0"'),
    ],
    ["no method", JSON.stringify({ jsonrpc: "2.0", id: 1 }), error(-32600, "invalid request: method must be a string")],
    [
      "a method that is none",
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: {} }),
      error(-32600, "invalid request: method must be a string"),
    ],
    [
      "params that are none",
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "m", params: 5 }),
      error(-32600, "invalid request: params must be an array or an object"),
    ],
    [
      "an object as id",
      JSON.stringify({ jsonrpc: "2.0", id: {}, method: "m" }),
      error(-32600, "invalid request: id must be a string, a number or null", undefined, null),
    ],
    [
      "an id beyond 2^53",
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}',
      error(-32600, "invalid request: id is too large a number: send a string", undefined, expect.anything()),
    ],
    [
      "an infinite id",
      '{"jsonrpc":"2.0","id":1e999,"method":"m"}',
      error(-32600, "invalid request: id must be a string, a number or null", undefined, null),
    ],
    [
      "deep nesting",
      `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
      error(-32600, "invalid request: nested deeper than 64", undefined, null),
    ],
    [
      "deep nesting in params",
      rpc("test_echo", 0).replace("0}", `${'{"a":'.repeat(1000)}1${"}".repeat(1000)}}`),
      error(-32600, "invalid request: nested deeper than 64", undefined, null),
    ],
    ["a large response", rpc("test_large", ["0x2000"]), error(-32003, "response too large", { limitBytes: 4096 })],
    ["a subscription", rpc("test_subscribe", ["ticks"]), error(-32601, "notifications not supported")],
  ])("answers %s", async (_, body, expected) => {
    const { url } = await startServer({ limits: { maxResponseBytes: 4096 } });
    const { status, json } = await post(url, body);
    expect(status).toBe(200);
    expect(json).toEqual(expected);
  });

  it("speaks the other dialect", async () => {
    const { url } = await startServer({ dialect: RUST_DIALECT });
    expect((await post(url, rpc("x_y"))).json).toEqual(error(-32601, "Method not found"));
    expect((await post(url, rpc("test_add", ["0x1"]))).json).toEqual(error(-32602, "Invalid params", "missing parameter b"));
    expect((await post(url, rpc("test_count", [1, 2]))).json).toEqual(result(1));
    expect((await post(url, "{")).json).toEqual(error(-32700, "Parse error", undefined, null));
  });

  it("answers batches in order, executes each once, and notifications silently", async () => {
    const { url } = await startServer();
    const batch = [
      rpc("test_count"),
      `{"jsonrpc":"2.0","method":"test_count"}`,
      rpc("test_count", [], 2),
      "5",
      rpc("test_none", [], 3),
    ];
    expect((await post(url, `[${batch.join(",")}]`)).json).toEqual([
      result(1),
      result(3, 2),
      error(-32600, "invalid request: not an object", undefined, null),
      error(-32601, "the method test_none does not exist/is not available", undefined, 3),
    ]);
    expect(await post(url, `[{"jsonrpc":"2.0","method":"test_count"}]`)).toEqual({ status: 200, json: "" });
    expect(calls).toBe(4);
  });

  it("limits batches by length and by size of the answer", async () => {
    const { url } = await startServer({ limits: { maxBatchLength: 3, maxResponseBytes: 1000 } });
    expect((await post(url, `[${Array(4).fill(rpc("test_count")).join(",")}]`)).json).toEqual(
      error(-32600, "batch too large", { limit: 3 }, null),
    );
    const large = rpc("test_large", ["0x300"]);
    const { json } = await post(url, `[${[large, large, rpc("test_count", [], 3)].join(",")}]`);
    expect(json).toMatchObject([
      { result: expect.any(String) },
      { result: expect.any(String) },
      { id: 3, error: { code: -32003 } },
    ]);
    expect(calls).toBe(0);
  });

  it("refuses bodies that are too large, announced or not", async () => {
    const { url, port } = await startServer({ limits: { maxRequestBytes: 1000 } });
    const announced = await post(url, " ".repeat(1001));
    expect(announced.status).toBe(413);
    expect(announced.json).toEqual(error(-32600, "content length too large (limit 1000 bytes)", undefined, null));
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest({ port, method: "POST", headers: { "content-type": "application/json" } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", reject);
      request.write(" ".repeat(600));
      setTimeout(() => request.write(" ".repeat(600)), 20); // chunked: no length is announced
    });
    expect(status).toBe(413);
    expect((await post(url, rpc("test_echo", [1]))).json).toEqual(result(1));
  });

  it("takes only JSON by POST", async () => {
    const { url } = await startServer();
    expect((await fetch(url, { method: "POST", body: rpc("test_count"), headers: { "content-type": "text/plain" } })).status).toBe(
      415,
    );
    expect((await fetch(url, { method: "PUT", body: "x" })).status).toBe(405);
    expect((await fetch(url)).status).toBe(200);
    expect(
      (await fetch(`${url}/other`, { method: "POST", body: "{}", headers: { "content-type": "application/json" } })).status,
    ).toBe(404);
    expect(calls).toBe(0);
    expect((await post(url, rpc("test_count"), { "content-type": "application/json; charset=utf-8" })).json).toEqual(result(1));
  });

  it("reports health and readiness", async () => {
    let isHealthy = true;
    const { url } = await startServer({
      healthz: () => ({ isHealthy, body: { version: "v1" } }),
      readyz: () => ({ isHealthy: false, body: { reasons: ["starting"] } }),
    });
    const healthy = await fetch(`${url}/healthz`);
    expect([healthy.status, await healthy.json()]).toEqual([200, { version: "v1" }]);
    isHealthy = false;
    expect((await fetch(`${url}/healthz`)).status).toBe(503);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, { reasons: ["starting"] }]);
  });

  it("has no probe that it was not given", async () => {
    const { url } = await startServer();
    for (const path of ["healthz", "readyz"]) expect((await fetch(`${url}/${path}`)).status).toBe(404);
  });

  it("lets in the origins and hosts it was told to, and refuses the others before it looks at the request", async () => {
    const { url, port } = await startServer({
      http: { host: "127.0.0.1", port: 0, cors: ["https://app.example"], vhosts: ["node.example"] },
    });
    const preflight = await fetch(url, { method: "OPTIONS", headers: { origin: "https://app.example" } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("https://app.example");
    const foreign = { origin: "https://evil.example" };
    expect(await post(url, rpc("test_count"), foreign)).toEqual({ status: 403, json: "origin not allowed\n" });
    for (const request of ["OPTIONS", "GET"]) expect((await fetch(url, { method: request, headers: foreign })).status).toBe(403);
    const refused = await fetch(url, { headers: foreign });
    expect(refused.headers.get("access-control-allow-origin")).toBeNull();
    expect(calls).toBe(0);
    const statusFor = (host: string) =>
      new Promise((resolve) => {
        httpRequest({ port, method: "GET", headers: { host } }, (response) => resolve(response.resume().statusCode)).end();
      });
    expect(await statusFor("node.example:8545")).toBe(200);
    expect(await statusFor("[::1]:8545")).toBe(200);
    expect(await statusFor("evil.example")).toBe(403);
  });

  it("counts requests by method, all servers of a program together", async () => {
    const metrics = createMetrics({ prefix: "t_" });
    const first = await startServer({ metrics });
    const second = await startServer({ metrics });
    for (const { url } of [first, second]) await post(url, rpc("test_count"));
    await post(first.url, rpc(`test_${"x".repeat(300)}`));
    const { body } = await metrics.expose();
    expect(body).toContain('t_rpc_requests_total{method="test_count",outcome="result"} 2');
    expect(body).toContain('t_rpc_requests_total{method="unknown",outcome="error"} 1');
    expect(body).not.toContain("xxx");
  });

  it("maps errors of the application", async () => {
    const { url } = await startServer({
      mapError: (cause) => (cause instanceof TypeError ? { code: -32000, message: "known" } : undefined),
    });
    expect((await post(url, rpc("test_crash"))).json).toEqual(error(-32000, "known"));
  });

  it("survives a client that sends nonsense or goes away", async () => {
    const { url, port } = await startServer({ limits: { requestTimeoutMs: 300 } });
    for (const bytes of ["\u0000\u0001\u0002", "GET / HTTP/1.1\r\nhost: \r\nx", "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n"]) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(bytes);
      await new Promise((resolve) => setTimeout(resolve, 10));
      socket.destroy();
    }
    // Sends its body one byte at a time and is cut off after the request timeout.
    const slow = connect(port, "127.0.0.1");
    const closed = once(slow, "close");
    slow.on("error", () => {});
    slow.write("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{");
    const drip = setInterval(() => slow.write(" "), 50);
    slow.resume();
    await closed;
    clearInterval(drip);
    expect((await post(url, rpc("test_echo", [1]))).json).toEqual(result(1));
  });

  it("answers what is under way when it closes, and then nothing", async () => {
    const { server, url } = await startServer();
    const slow = post(url, rpc("test_slow"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    // without this clock, the server waits for the answer alone, not for the time after which it cuts connections off
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await server.close();
    vi.useRealTimers();
    expect((await slow).json).toEqual(result("done"));
    await expect(fetch(url)).rejects.toThrow();
  });

  it("says that its port is taken", async () => {
    const { port } = await startServer();
    const second = createRpcServer({ http: { host: "127.0.0.1", port }, methods, log: silentLogger });
    await expect(second.listen()).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

describe("JWT", () => {
  const jwtSecret = new Uint8Array(32).fill(3);
  const now = () => Math.floor(Date.now() / 1000);

  it.each([
    ["missing token", undefined],
    ["signature is invalid", createJwt(new Uint8Array(32), now())],
    ["stale token", createJwt(jwtSecret, now() - 100)],
    ["future token", createJwt(jwtSecret, now() + 100)],
  ])("answers 401 %s and processes nothing", async (reason, token) => {
    const { url, wsUrl } = await startServer({ jwtSecret });
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    expect(await post(url, rpc("test_count"), authorization as Record<string, string>)).toEqual({
      status: 401,
      json: `${reason}\n`,
    });
    const socket = new WebSocket(wsUrl, { headers: authorization });
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(401);
    expect(String(await response.setEncoding("utf8").toArray())).toBe(`${reason}\n`);
    expect(calls).toBe(0);
  });

  it("judges the age of tokens by the clock it is given", async () => {
    const clock = { unixMs: () => Date.now() + 100_000 };
    const { url } = await startServer({ jwtSecret, clock });
    const [late, inStep] = [createRpcClient({ url, jwtSecret }), createRpcClient({ url, jwtSecret, clock })];
    onTestFinished(async () => void (await Promise.all([late.close(), inStep.close()])));
    await expect(late.call("test_echo", [7])).rejects.toThrow("stale token");
    expect(await inStep.call("test_echo", [7])).toBe(7);
  });

  it("lets its client in, over both transports", async () => {
    const { url, wsUrl } = await startServer({ jwtSecret });
    const client = createRpcClient({ url, jwtSecret });
    onTestFinished(() => client.close());
    expect(await client.call("test_echo", [7])).toBe(7);
    const socket = await openSocket(wsUrl, { authorization: `Bearer ${createJwt(jwtSecret, now())}` });
    expect(await ask(socket, rpc("test_echo", [8]))).toEqual(result(8));
  });
});

describe("JSON-RPC over WebSocket", () => {
  it("serves HTTP and WebSocket on one port", async () => {
    const both = { host: "127.0.0.1", port: 0 };
    const { url, wsUrl, port } = await startServer({ http: both, ws: both });
    expect(wsUrl).toBe(`ws://127.0.0.1:${port}`);
    expect(await ask(await openSocket(wsUrl), rpc("test_echo", [1]))).toEqual(result(1));
    expect((await post(url, rpc("test_echo", [1]))).json).toEqual(result(1));
  });

  it.each<[string, string, unknown]>([
    ["a call", rpc("test_add", ["0x1", "0x2"]), result(3)],
    ["a batch", `[${rpc("test_echo", [1])},${rpc("test_echo", [2], 2)}]`, [result(1), result(2, 2)]],
    ["no JSON", "nope", error(-32700, expect.stringMatching(/^parse error/), undefined, null)],
    ["an unknown method", rpc("x"), error(-32601, "the method x does not exist/is not available")],
    ["an unknown kind", rpc("test_subscribe", ["nothing"]), error(-32601, 'no "nothing" subscription in test namespace')],
    [
      "a kind of Object's prototype",
      rpc("test_subscribe", ["constructor"]),
      error(-32601, 'no "constructor" subscription in test namespace'),
    ],
    ["no kind", rpc("test_subscribe", []), error(-32602, "missing value for required argument 0", { param: "kind" })],
    [
      "a wrong filter",
      rpc("test_subscribe", ["ticks", []]),
      error(-32602, expect.stringMatching(/^invalid argument 1: count: expected/)),
    ],
    ["an unknown subscription", rpc("test_unsubscribe", ["0x1"]), error(-32000, "subscription not found")],
  ])("answers %s", async (_, text, expected) => {
    const { wsUrl } = await startServer();
    expect(await ask(await openSocket(wsUrl), text)).toEqual(expected);
  });

  it("notifies after it has answered, until it is told to stop", async () => {
    const { wsUrl } = await startServer();
    const socket = await openSocket(wsUrl);
    const received: unknown[] = [];
    socket.on("message", (data: Buffer) => received.push(JSON.parse(data.toString("utf8"))));
    socket.send(rpc("test_subscribe", ["ticks", "0x2"]));
    await expect.poll(() => received.length).toBe(3);
    const { result: id } = received[0] as { result: string };
    expect(id).toMatch(/^0x[0-9a-f]{16,32}$/);
    const note = (value: unknown) => ({ jsonrpc: "2.0", method: "test_subscription", params: { subscription: id, result: value } });
    expect(received.slice(1)).toEqual([note(0), note(1)]);
    sinks.at(-1)!.notify({ n: 2 });
    await expect.poll(() => received.at(-1)).toEqual(note({ n: 2 }));
    expect(await ask(socket, rpc("test_unsubscribe", [id]))).toEqual(result(true));
    expect(sinks).toHaveLength(0);
  });

  it("answers when a subscription listens, and what it told before then comes after", async () => {
    const { wsUrl } = await startServer();
    const socket = await openSocket(wsUrl);
    const received: Record<string, unknown>[] = [];
    socket.on("message", (data: Buffer) => received.push(JSON.parse(data.toString("utf8"))));
    socket.send(rpc("test_subscribe", ["late"], 1));
    await expect.poll(() => sinks.length).toBe(1);
    sinks[0]!.notify("early");
    expect(await ask(socket, rpc("test_echo", ["x"], 2))).toMatchObject({ id: 2 });
    expect(received.map(({ id }) => id)).toEqual([2]);
    listen();
    await expect.poll(() => received.length).toBe(3);
    expect(received.slice(1)).toMatchObject([{ id: 1, result: sinks[0]!.id }, { params: { result: "early" } }]);
    socket.close();
    await expect.poll(() => sinks.length).toBe(0);
  });

  it("ends subscriptions with their connection and limits their number", async () => {
    const { wsUrl } = await startServer({ limits: { maxSubscriptions: 1 } });
    const socket = await openSocket(wsUrl);
    await ask(socket, rpc("test_subscribe", ["ticks"]));
    expect(await ask(socket, rpc("test_subscribe", ["ticks"]))).toMatchObject({ error: { code: -32000 } });
    expect(sinks).toHaveLength(1);
    socket.close();
    await expect.poll(() => sinks.length).toBe(0);
  });

  it("drops a consumer that does not read, with a reason", async () => {
    const { wsUrl } = await startServer({ limits: { maxBufferedBytes: 1_000_000 } });
    const socket = await openSocket(wsUrl);
    await ask(socket, rpc("test_subscribe", ["ticks"]));
    socket.pause();
    const sink = sinks.at(-1)!;
    for (let n = 0; n < 200 && sinks.length > 0; n++) {
      sink.notify("x".repeat(100_000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(sinks).toHaveLength(0);
    const closed = once(socket, "close");
    socket.resume();
    const [code, reason] = (await closed) as [number, Buffer];
    expect(code).toBe(1008);
    expect(String(reason)).toMatch(/^slow consumer/);
  });

  it("closes on frames that are too large, and lives on", async () => {
    const { wsUrl } = await startServer({ limits: { maxRequestBytes: 1000 } });
    const socket = await openSocket(wsUrl);
    socket.send("x".repeat(1001));
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(1009);
    expect(await ask(await openSocket(wsUrl), rpc("test_echo", [1]))).toEqual(result(1));
  });

  it("checks the origin of browsers, and the name they were led to", async () => {
    const refusal = async (url: string, options: object) => {
      const socket = new WebSocket(url, options);
      const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
      return response.statusCode;
    };
    const { wsUrl } = await startServer({ ws: { host: "127.0.0.1", port: 0, origins: ["https://app.example"] } });
    await openSocket(wsUrl, { origin: "https://app.example" });
    expect(await refusal(wsUrl, { origin: "https://evil.example" })).toBe(403);
    expect(await refusal(wsUrl, { headers: { host: "evil.example" } })).toBe(403);
    const named = await startServer({ ws: { host: "127.0.0.1", port: 0, vhosts: ["node.example"] } });
    await openSocket(named.wsUrl, { host: "node.example" });
  });
});

describe("isDeeperThan", () => {
  it.each<[string, number, boolean]>([
    ["[[1]]", 2, false],
    ["[[[1]]]", 2, true],
    ['["[[[[["]', 2, false],
    ['["\\"[[[[["]', 2, false],
    ['["\\\\",[[[', 2, true],
    ["[][][][][][]", 2, false],
    ["", 2, false],
  ])("%s deeper than %i: %s", (text, depth, expected) => {
    expect(isDeeperThan(text, depth)).toBe(expected);
  });
});

describe("a handler of pages that fails", () => {
  const FAILING = {
    "throws at once": () => {
      throw new Error("at once");
    },
    rejects: () => Promise.reject(new Error("later")),
    "answers with what is no JSON": async () => ({ status: 200, body: 1n }),
    "answers with no status": async () => ({ status: 1, body: {} }),
  };
  it.each(Object.entries(FAILING))("answers 500 and goes on: one that %s", async (_, pages) => {
    const { port } = await startServer({ pages });
    for (const target of ["//", "/%", "/x", "//[", "/?%", "/x?%"]) {
      const socket = connect(port, "127.0.0.1");
      socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      const [head] = (await once(socket, "data")) as [Buffer];
      expect([target, head.toString().slice(9, 12)]).toEqual([target, target === "/?%" ? "200" : "500"]);
      socket.destroy();
    }
  });

  it("gives pages the path and query as sent", async () => {
    const asked: string[] = [];
    const { port } = await startServer({
      pages: async (path, query) => {
        asked.push(`${path} ${query.get("a")}`);
        return undefined;
      },
    });
    for (const target of ["//", "/%?a=%", "//x?a=1"]) {
      const socket = connect(port, "127.0.0.1");
      socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      await once(socket, "data");
      socket.destroy();
    }
    expect(asked).toEqual(["// null", "/% %", "//x 1"]);
  });
});
