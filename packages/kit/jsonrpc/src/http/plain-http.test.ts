import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { silentLogger } from "@rnode/observe";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { createRpcServer, DEFAULT_RPC_LIMITS, type RpcServerOptions } from "../rpc-server.ts";
import { method, optionalParam, param } from "../wire/method-table.ts";
import { anyJson, countShape } from "../wire/shape.ts";
import { UnsentBudget } from "../wire/unsent.ts";
import { IncomingBudget } from "./incoming.ts";
import { createPlainHttp, type PlainHttpOptions } from "./plain-http.ts";

const PLAIN_OPTIONS: PlainHttpOptions = {
  answer: (text) => text,
  isAllowedHost: () => true,
  maxBodyBytes: 1000,
  handOver: (socket) => socket.destroy(),
  unsent: new UnsentBudget(DEFAULT_RPC_LIMITS, { log: silentLogger, onDrop: () => {}, nowMs: () => performance.now() }),
  incoming: new IncomingBudget(Number.POSITIVE_INFINITY, { log: silentLogger, onDrop: () => {} }),
  afterwards: setImmediate,
  headTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
};

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

let calls = 0;
let laterCalls = 0;
const methods = {
  test_echo: method({ params: [optionalParam("value", anyJson)], handler: ([value]) => value }),
  test_later: method({
    params: [param("value", anyJson)],
    handler: ([value]) => {
      laterCalls++;
      return new Promise((resolve) => setTimeout(() => resolve(value), 30));
    },
  }),
  test_large: method({
    params: [param("size", countShape)],
    handler: ([size]) => {
      calls++;
      return "x".repeat(size);
    },
  }),
};

async function startServer(overrides: Partial<RpcServerOptions> = {}): Promise<number> {
  calls = 0;
  const both = { host: "127.0.0.1", port: 0 };
  const server = createRpcServer({ http: both, ws: both, methods, log: silentLogger, ...overrides });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  return httpPort!;
}

const body = (value: unknown, name = "test_echo", id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: name, params: [value] });
const HEAD = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
const request = (text: string, fields = ""): Buffer =>
  Buffer.from(`${HEAD}${fields}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);

/** A connection that splits the answers by their length. */
class Client {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #hasEnded = false;
  #wake: () => void = () => {};

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", noDelay: true });
    onTestFinished(() => void this.socket.destroy());
    this.socket.on("error", () => {});
    this.socket.on("data", (part) => {
      this.#received = Buffer.concat([this.#received, part]);
      this.#wake();
    });
    this.socket.on("end", () => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** @returns `undefined`: the server ended the connection */
  async answer(): Promise<{ status: number; head: string; text: string } | undefined> {
    for (;;) {
      const at = this.#received.indexOf("\r\n\r\n");
      if (at !== -1) {
        const head = this.#received.toString("latin1", 0, at);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (this.#received.length >= at + 4 + length) {
          const text = this.#received.toString("utf8", at + 4, at + 4 + length);
          this.#received = this.#received.subarray(at + 4 + length);
          return { status: Number(head.slice(9, 12)), head, text };
        }
      }
      if (this.#hasEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async result(): Promise<unknown> {
    return (JSON.parse((await this.answer())!.text) as { result: unknown }).result;
  }
}

describe("plain HTTP", () => {
  it("answers one request after the other, and says how long the connection stays", async () => {
    const client = new Client(await startServer());
    for (const value of [1, "é漢😀", null, { a: [] }]) {
      client.socket.write(request(body(value)));
      const { status, head, text } = (await client.answer())!;
      expect(status).toBe(200);
      expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\ncontent-type: application\/json\r\ncontent-length: \d+\r\nDate: /);
      expect(head).toMatch(/\r\nConnection: keep-alive\r\nKeep-Alive: timeout=120$/);
      expect(JSON.parse(text)).toEqual({ jsonrpc: "2.0", id: 1, result: value });
    }
  });

  it("closes a connection that it sheds after an answer that says so, not after one that is already being sent", async () => {
    const plain = createPlainHttp({ ...PLAIN_OPTIONS, answer: (text) => JSON.stringify({ result: text.repeat(4_000_000) }) });
    const server = createServer((socket) => plain.serve(socket));
    onTestFinished(() => void server.close());
    onTestFinished(() => plain.closeAll());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = new Client((server.address() as AddressInfo).port);
    client.socket.write(request("1"));
    await once(client.socket, "data");
    plain.shed(1);
    expect((await client.answer())!.head).toContain("Connection: keep-alive");
    client.socket.write(request("2"));
    expect((await client.answer())?.head).toContain("Connection: close");
    expect(await client.answer()).toBeUndefined();
  });

  it("has its last answer read although the client has sent more, which it does not read", async () => {
    const plain = createPlainHttp({ ...PLAIN_OPTIONS, answer: (text) => JSON.stringify({ result: text[0]!.repeat(8_000_000) }) });
    const server = createServer((socket) => plain.serve(socket));
    onTestFinished(() => void server.close());
    onTestFinished(() => plain.closeAll());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = new Client((server.address() as AddressInfo).port);
    await once(client.socket, "connect");
    plain.shed(1);
    client.socket.pause();
    client.socket.write(Buffer.concat([request("1"), request("2".repeat(1_000_000))]));
    await new Promise((resolve) => setTimeout(resolve, 300));
    client.socket.resume();
    const answer = await client.answer();
    expect(answer?.head).toContain("Connection: close");
    expect((JSON.parse(answer!.text) as { result: string }).result).toHaveLength(8_000_000);
    expect(await client.answer()).toBeUndefined();
  });

  it("answers what came whole before the client closed its side, in whatever form", async () => {
    const client = new Client(await startServer());
    client.socket.write(
      Buffer.concat([request(body(1, "test_later")), request(body(2)), request(body(3), "connection: close\r\n")]),
    );
    client.socket.end();
    for (const expected of [1, 2, 3]) expect(await client.result()).toBe(expected);
    expect(await client.answer()).toBeUndefined();
  });

  it("answers requests that come together in their order", async () => {
    const client = new Client(await startServer());
    const texts = [body(1), body(2, "test_later"), body(3), body(4, "test_later"), body(5)];
    client.socket.write(Buffer.concat(texts.map((text) => request(text))));
    for (const expected of [1, 2, 3, 4, 5]) expect(await client.result()).toBe(expected);
  });

  it("takes a request in pieces, wherever they are cut", async () => {
    const client = new Client(await startServer());
    const whole = request(body("é"));
    for (let cut = 1; cut < whole.length; cut++) {
      client.socket.write(whole.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      client.socket.write(Buffer.concat([whole.subarray(cut), whole.subarray(0, cut)]));
      await new Promise((resolve) => setImmediate(resolve));
      client.socket.write(whole.subarray(cut));
      expect(await client.result()).toBe("é");
      expect(await client.result()).toBe("é");
    }
    for (const byte of whole) {
      client.socket.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await client.result()).toBe("é");
  });

  it("takes bodies of any size", async () => {
    const client = new Client(await startServer());
    for (const size of [0, 100_000, 1_000_000, 3_000_000, 10]) {
      client.socket.write(request(body("x".repeat(size))));
      expect(await client.result()).toHaveLength(size);
    }
  });

  it.each<[string, string | Buffer, number, string | RegExp]>([
    [
      "chunks",
      `${HEAD}transfer-encoding: chunked\r\n\r\n5\r\n{"jso\r\n${(body(1).length - 5).toString(16)}\r\n${body(1).slice(5)}\r\n0\r\n\r\n`,
      200,
      /"result":1/,
    ],
    ["the last request", request(body(1), "connection: close\r\n"), 200, /"result":1/],
    ["a browser", request(body(1), "origin: https://app.example\r\n"), 200, /"result":1/],
    ["HTTP/1.0", request(body(1)).toString().replace("1.1", "1.0"), 200, /"result":1/],
    ["a health check", "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", 200, ""],
    ["another path", request(body(1)).toString().replace("/", "/x"), 404, "not found\n"],
    ["another type", request(body(1)).toString().replace("json", "text"), 415, /^invalid content type/],
    ["no host", request(body(1)).toString().replace("host", "xost"), 400, ""],
    ["two lengths", request(body(1), "content-length: 3\r\n"), 400, ""],
    ["a length and chunks", request(body(1), "transfer-encoding: chunked\r\n"), 400, ""],
    ["a broken line", request(body(1), "a\nb: c\r\n"), 400, ""],
    ["nonsense", "\0\x01\x02\r\n\r\n", 400, ""],
    ["a head without end", `${HEAD}a: ${"x".repeat(40_000)}`, 400, ""],
  ])("leaves %s to node:http, also after others", async (_, bytes, status, text) => {
    const port = await startServer({ http: { host: "127.0.0.1", port: 0, cors: ["https://app.example"] }, ws: undefined });
    for (const isFirst of [true, false]) {
      const client = new Client(port);
      client.socket.write(isFirst ? bytes : Buffer.concat([request(body(2, "test_later")), Buffer.from(bytes)]));
      if (!isFirst) expect(await client.result()).toBe(2);
      const answer = (await client.answer())!;
      expect(answer.status).toBe(status);
      if (typeof text === "string") expect(answer.text).toBe(text);
      else expect(answer.text).toMatch(text);
      if (bytes.includes("origin:")) expect(answer.head).toMatch(/access-control-allow-origin: https:\/\/app\.example/);
      if (bytes.includes("close")) expect(await client.answer()).toBeUndefined();
    }
  });

  it("goes on with node:http after the first request that is not plain", async () => {
    const client = new Client(await startServer());
    client.socket.write(Buffer.concat([request(body(1)), request(body(2), "te: trailers\r\n"), request(body(3))]));
    for (const expected of [1, 2, 3]) expect(await client.result()).toBe(expected);
    client.socket.write(request(body(4)));
    expect(await client.result()).toBe(4);
    client.socket.write(Buffer.from(`${HEAD}expect: 100-continue\r\ncontent-length: ${body(5).length}\r\n\r\n`));
    expect((await client.answer())!.status).toBe(100);
    client.socket.write(body(5));
    expect(await client.result()).toBe(5);
  });

  it("leaves the time limits of what it handed over to node:http", async () => {
    const client = new Client(await startServer({ limits: { requestTimeoutMs: 300 } }));
    client.socket.write(Buffer.concat([request(body(1)), Buffer.from(`${HEAD}transfer-encoding: chunked\r\n\r\n5\r\nabc`)]));
    expect(await client.result()).toBe(1);
    expect((await client.answer())!.status).toBe(408);
    expect(await client.answer()).toBeUndefined();
  });

  it("becomes a WebSocket when it is asked to", async () => {
    const port = await startServer();
    const used = new Client(port);
    used.socket.write(request(body(1)));
    expect(await used.result()).toBe(1);
    const key = "dGhlIHNhbXBsZSBub25jZQ==";
    used.socket.write(
      `GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`,
    );
    const { status, head } = (await used.answer())!;
    expect(status).toBe(101);
    expect(head).toMatch(/Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/); // the example of RFC 6455
    const direct = new WebSocket(`ws://127.0.0.1:${port}`);
    await once(direct, "open");
    direct.send(body(7));
    expect(JSON.parse(String((await once(direct, "message"))[0]))).toMatchObject({ result: 7 });
    direct.terminate();
  });

  it("refuses hosts, and bodies that are too large, as node:http does", async () => {
    const port = await startServer({
      http: { host: "127.0.0.1", port: 0, vhosts: ["node.example"] },
      ws: undefined,
      limits: { maxRequestBytes: 1000 },
    });
    const ask = async (bytes: string | Buffer): Promise<number> => {
      const client = new Client(port);
      client.socket.write(bytes);
      return (await client.answer())!.status;
    };
    const plain = request(body(1)).toString();
    expect(await ask(plain)).toBe(403);
    expect(await ask(plain.replace("host: localhost", "host: node.example:8545"))).toBe(200);
    expect(await ask(plain.replace("host: localhost", "host: 127.0.0.1"))).toBe(200);
    expect(
      await ask(
        request(body("x".repeat(1000)))
          .toString()
          .replace("host: localhost", "host: 127.0.0.1"),
      ),
    ).toBe(413);
  });

  it("answers a client that sends no more", async () => {
    const port = await startServer();
    for (const name of ["test_echo", "test_later"]) {
      const client = new Client(port);
      client.socket.end(Buffer.concat([request(body(1, name)), request(body(2, name))]));
      expect(await client.result()).toBe(1);
      expect(await client.result()).toBe(2);
      expect(await client.answer()).toBeUndefined();
    }
    const half = new Client(port);
    half.socket.end(request(body(1)).subarray(0, 100));
    expect((await half.answer())!.status).toBe(400);
  });

  it("reads on only when the client has read", async () => {
    const client = new Client(await startServer());
    client.socket.pause();
    const count = 400;
    for (let n = 0; n < count; n++) client.socket.write(request(body("0x10000", "test_large", n)));
    await expect.poll(() => calls).toBeGreaterThan(0);
    let seen = -1;
    while (seen !== calls) {
      seen = calls;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(calls).toBeLessThan(count);
    client.socket.resume();
    for (let n = 0; n < count; n++) expect(await client.result()).toHaveLength(0x10000);
  });

  it("ends its connections when the server closes, after the answers under way", async () => {
    const server = createRpcServer({ http: { host: "127.0.0.1", port: 0 }, methods, log: silentLogger });
    const { httpPort } = await server.listen();
    const idle = new Client(httpPort!);
    idle.socket.write(request(body(1)));
    await idle.result();
    const busy = new Client(httpPort!);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const before = laterCalls;
    busy.socket.write(request(body(2, "test_later")));
    const fresh = new Client(httpPort!);
    await once(fresh.socket, "connect");
    while (laterCalls === before) await new Promise((resolve) => setImmediate(resolve));
    const closed = server.close();
    await vi.advanceTimersByTimeAsync(900); // before the time after which connections are cut off
    await closed;
    vi.useRealTimers();
    const { head, text } = (await busy.answer())!;
    expect(head).toMatch(/Connection: close/);
    expect(text).toMatch(/"result":2/);
    expect(idle.socket.readyState).not.toBe("open");
  });
});

describe("time limits of plain HTTP", () => {
  async function startPlain(options: Partial<PlainHttpOptions>): Promise<number> {
    const plain = createPlainHttp({ ...PLAIN_OPTIONS, ...options });
    const server = createServer({ allowHalfOpen: true }, (socket) => plain.serve(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      plain.closeAll();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }
  const whole = request("{}");

  it.each<[string, Partial<PlainHttpOptions>, Buffer, number | undefined]>([
    ["a connection that says nothing", { headTimeoutMs: 500 }, Buffer.alloc(0), 408],
    ["a head that does not end", { headTimeoutMs: 500 }, whole.subarray(0, 20), 408],
    ["a body that does not end", { requestTimeoutMs: 500 }, request(" ".repeat(100)).subarray(0, -90), 408],
    ["a connection that is not used any more", { keepAliveTimeoutMs: 500 }, whole, undefined],
  ])("end %s", async (_, options, bytes, status) => {
    const client = new Client(await startPlain(options));
    client.socket.write(bytes);
    if (status === undefined) expect((await client.answer())!.text).toBe("{}");
    // Bytes that trickle in do not restart the timeout.
    const drip = setInterval(() => status === 408 && bytes.length > 0 && client.socket.write("x"), 100);
    expect((await client.answer())?.status).toBe(status);
    clearInterval(drip);
  });

  it("begin again with each request", async () => {
    const client = new Client(await startPlain({ keepAliveTimeoutMs: 1500, requestTimeoutMs: 1500, headTimeoutMs: 1500 }));
    for (let n = 0; n < 4; n++) {
      client.socket.write(whole);
      expect((await client.answer())!.text).toBe("{}");
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect(client.hasEnded).toBe(false);
  });
});

describe("requests of one turn", () => {
  it("do not wait for each other's answers when these take long", async () => {
    const happened: string[] = [];
    const plain = createPlainHttp({
      ...PLAIN_OPTIONS,
      answer: async (text) => {
        happened.push(`begin ${text}`);
        for (const endMs = performance.now() + 3; performance.now() < endMs; );
        return text;
      },
    });
    onTestFinished(() => plain.closeAll());
    for (const text of ["1", "2", "3"]) {
      const socket = new PassThrough() as unknown as Socket;
      plain.serve(socket);
      socket.write = () => happened.push(`end ${text}`) > 0;
      socket.emit("data", request(text));
    }
    await expect.poll(() => happened.length).toBe(6);
    expect(happened).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
  });

  it("are all read before the first is answered, in one run", async () => {
    vi.spyOn(performance, "now").mockReturnValue(0); // a longer run is cut, however slow the machine is
    const happened: string[] = [];
    const plain = createPlainHttp({
      ...PLAIN_OPTIONS,
      answer: (text) => {
        happened.push(`answer ${text}`);
        queueMicrotask(() => happened.push("run ended"));
        return text;
      },
    });
    onTestFinished(() => plain.closeAll());
    const sockets = ["1", "2", "3"].map((text) => {
      const socket = new PassThrough() as unknown as Socket;
      plain.serve(socket);
      return { socket, text };
    });
    // Several sockets had data in one turn of the event loop: their requests are answered in one run.
    for (const { socket, text } of sockets) {
      socket.emit("data", request(text));
      happened.push("read");
      await Promise.resolve();
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(happened.slice(0, 6)).toEqual(["read", "read", "read", "answer 1", "answer 2", "answer 3"]);
  });
});
