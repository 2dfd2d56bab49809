import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRpcClient } from "@rnode/jsonrpc";
import { hexToBytes } from "@rnode/primitives";
import { Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { buildPackage, PROGRAM } from "./testing/built-package.ts";
import { type DescribedMethod, malformedRequests, type RequestGenerator } from "./testing/malformed-requests.ts";
import { GENESIS } from "./testing/test-client.ts";

/*
 * Sends ten thousand requests that are wrong in some way to a rengine process with all methods enabled. Each must get a well-formed
 * JSON-RPC answer, no handler may fail in an unforeseen way, and afterwards memory and connections must be back to what they were.
 */

const SEED = Number(process.env.RNODE_MALFORMED_SEED ?? 1);
/** reader processes; 0: a single process does everything, and its memory is checked */
const WORKERS = Number(process.env.RNODE_MALFORMED_WORKERS ?? 0);
const API = "eth,net,web3,debug,txpool,trace,ots,miner,admin,testing,rpc";
/** Runs in the tested process: reports its memory and connections on request. */
const REPORTER = `process.on("message", () => {
  globalThis.gc(); globalThis.gc();
  const sockets = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  process.send({ heapUsed: process.memoryUsage().heapUsed, sockets });
});
process.channel.unref();`;

interface Usage {
  readonly heapUsed: number;
  readonly sockets: number;
}

let folder: string;
let child: ChildProcess;
let httpPort: number;
let wsPort: number;
let enginePort: number;
let pool: Pool;
let methods: readonly DescribedMethod[];
let generate: RequestGenerator;

beforeAll(async () => {
  buildPackage();
  folder = mkdtempSync(join(tmpdir(), "rengine-malformed-"));
  writeFileSync(join(folder, "genesis.json"), JSON.stringify(GENESIS));
  const options = [
    "--http",
    "--http.port=0",
    `--http.api=${API}`,
    "--ws",
    "--ws.port=0",
    `--ws.api=${API}`,
    "--authrpc.port=0",
    "--max-peers=0",
  ];
  const own = [
    `--chain=${join(folder, "genesis.json")}`,
    `--datadir=${join(folder, "data")}`,
    `--rpc.workers=${WORKERS}`,
    ...options,
  ];
  const node = ["--expose-gc", "--import", `data:text/javascript,${encodeURIComponent(REPORTER)}`, PROGRAM];
  child = spawn(process.execPath, [...node, ...own], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  let log = "";
  child.stderr!.on("data", (data: Buffer) => {
    log += data.toString();
  });
  const portOf = async (what: string): Promise<number> => {
    for (;;) {
      const port = new RegExp(`${what} listens.* port=(\\d+)`).exec(log)?.[1];
      if (port !== undefined) return Number(port);
      if (child.exitCode !== null) throw new Error(`rengine ended: ${log}`);
      await Promise.race([once(child.stderr!, "data"), once(child, "exit")]);
    }
  };
  enginePort = await portOf("Engine API");
  httpPort = await portOf("HTTP JSON-RPC");
  wsPort = await portOf("WebSocket JSON-RPC");
  pool = new Pool(`http://127.0.0.1:${httpPort}`, { connections: 16 });
  ({ methods } = (
    JSON.parse((await post('{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}')).text) as { result: { methods: DescribedMethod[] } }
  ).result);
  generate = malformedRequests(methods, SEED);
});
afterAll(async () => {
  await pool.close();
  child.kill("SIGTERM");
  if (child.exitCode === null) await once(child, "exit");
});

async function post(body: string | Uint8Array): Promise<{ status: number; text: string }> {
  const headers = { "content-type": "application/json" };
  const { statusCode, body: answer } = await pool.request({ path: "/", method: "POST", headers, body });
  return { status: statusCode, text: await answer.text() };
}

async function usage(): Promise<Usage> {
  const answer = once(child, "message");
  child.send("usage");
  return (await answer)[0] as Usage;
}

/** The fault in the form of an answer; undefined: none. */
function faultOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length === 0 ? "an empty batch" : value.map(faultOf).find((fault) => fault !== undefined);
  if (typeof value !== "object" || value === null) return "not an object";
  const { jsonrpc, id, result, error } = value as Record<string, unknown>;
  if (jsonrpc !== "2.0" || id === undefined) return "no answer of JSON-RPC";
  if (error === undefined) return result === undefined ? "neither result nor error" : undefined;
  if (result !== undefined) return "both result and error";
  const { code, message } = error as { code: unknown; message: unknown };
  if (!Number.isInteger(code) || typeof message !== "string" || message === "") return "no error of JSON-RPC";
  return message === "Internal error" || message === "method handler crashed" ? `a handler failed: ${message}` : undefined;
}

const faultOfText = (text: string): string | undefined => (text === "null" ? undefined : faultOf(JSON.parse(text)));

/** Sends requests, a limited number at a time, and checks the form of every answer. */
async function eachAnswered(count: number, next: () => string | Uint8Array): Promise<void> {
  const faults: string[] = [];
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const body = next();
      const { status, text } = await post(body);
      const fault = status === 200 ? faultOfText(text) : `HTTP ${status}`;
      if (fault !== undefined) faults.push(`${fault}: ${Buffer.from(body).toString().slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  expect(faults).toEqual([]);
}

const isAlive = async (): Promise<void> =>
  expect((await post('{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}')).text).toBe(
    '{"jsonrpc":"2.0","id":1,"result":"0x0"}',
  );

/** A connection that sends the given data; `ended`: the server closed it. */
function open(
  port: number,
  text = "",
): { readonly socket: Socket; readonly received: () => string; readonly ended: Promise<unknown> } {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (data) => {
    received += data.toString("latin1");
  });
  socket.on("error", () => {});
  if (text !== "") socket.write(text);
  return { socket, received: () => received, ended: once(socket, "close") };
}

const UPGRADE =
  "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

async function openSocket(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  await once(socket, "open");
  return socket;
}

describe("a server that gets ten thousand malformed requests", () => {
  let before: Usage;
  /** connections that open at the start and send slowly until the server ends them */
  const slow: ReturnType<typeof open>[] = [];
  let dribble: NodeJS.Timeout;

  it("answers while slow connections are open", async () => {
    // Whatever the first call loads, compiles or caches must not be counted.
    for (const { name } of methods) await post(`{"jsonrpc":"2.0","id":1,"method":"${name}","params":[]}`);
    await eachAnswered(2000, generate.request);
    before = await usage();
    const post1 = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n";
    for (let index = 0; index < 40; index++) {
      slow.push(
        open(httpPort, "POST / HTTP/1.1\r\nhost: localhost\r\nx-slow: "),
        open(wsPort, UPGRADE),
        open(enginePort, "POST / HTTP/1.1\r\n"),
      );
    }
    for (let index = 0; index < 20; index++) slow.push(open(httpPort), open(wsPort), open(httpPort, post1));
    dribble = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write("a");
    }, 250);
    await isAlive();
  });

  it("requests that do not fit their methods", () => eachAnswered(4000, generate.request));

  it("texts that are damaged", () => eachAnswered(2000, generate.damaged));

  it("batches of all kinds, batches in batches", () => eachAnswered(800, generate.batch));

  it("bytes that are no text", () => eachAnswered(600, generate.bytes));

  it("each method, without parameters, with too many, and with each value alone", async () => {
    const texts = methods.flatMap(({ name }) => [
      `{"jsonrpc":"2.0","id":1,"method":"${name}"}`,
      `{"jsonrpc":"2.0","id":1,"method":"${name}","params":[${"{},".repeat(20)}{}]}`,
      `{"jsonrpc":"2.0","id":1,"method":"${name}","params":{"__proto__":null}}`,
    ]);
    await eachAnswered(texts.length, () => texts.pop()!);
  });

  it("other content types, methods and paths", async () => {
    const ask = async (method: string, path: string, headers: Record<string, string>): Promise<number> => {
      const { statusCode, body } = await pool.request({ path, method, headers, ...(method !== "GET" && { body: "{}" }) });
      await body.dump();
      return statusCode;
    };
    for (let times = 0; times < 10; times++) {
      expect(await ask("POST", "/", { "content-type": "text/plain" })).toBe(415);
      expect(await ask("POST", "/", {})).toBe(415);
      expect(await ask("POST", "/other", { "content-type": "application/json" })).toBe(200); // as Reth
      expect(await ask("POST", "/", { "content-type": "application/json-rpc" })).toBe(200);
      expect(await ask("PUT", "/", { "content-type": "application/json" })).toBe(405);
      expect(await ask("POST", "/", { "content-type": "application/json", host: "evil.example" })).toBe(403);
    }
    // Input that is not even HTTP.
    const raw = [
      "\r\n\r\n",
      "\u0000\u0001\u0002",
      "GET\r\n\r\n",
      "POST / HTTP/9.9\r\n\r\n",
      `GET /${"a".repeat(100_000)} HTTP/1.1\r\n\r\n`,
    ];
    const withBody = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    for (const length of ["-1", "1e3", "99999999999999999999", "0x10", "5, 6", "1\r\ncontent-length: 2"])
      raw.push(`${withBody}content-length: ${length}\r\n\r\n{}`);
    for (const chunks of ["zz\r\n{}\r\n", "-1\r\n", "fffffffffffffffff\r\n{}"])
      raw.push(`${withBody}transfer-encoding: chunked\r\n\r\n${chunks}`);
    raw.push(`${withBody}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n`);
    for (const text of raw) {
      const { socket, received, ended } = open(httpPort, text);
      socket.end();
      await ended;
      expect([text.slice(0, 40), received().slice(0, 12)]).toEqual([
        text.slice(0, 40),
        expect.stringMatching(/^$|^HTTP\/1\.1 [45]/),
      ]);
    }
    await isAlive();
  });

  it("tokens of the Engine API that are wrong, over HTTP and WebSocket", async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const nowSec = Math.floor(Date.now() / 1000);
    const tokens = [
      "",
      "Bearer",
      "Bearer ",
      "Basic eDp5",
      "Bearer a.b.c",
      `Bearer ${part({ alg: "none" })}.${part({ iat: nowSec })}.`,
      `Bearer ${part({ alg: "HS256", typ: "JWT" })}.${part({ iat: nowSec })}.${"A".repeat(43)}`,
      `Bearer ${part({ alg: "HS512" })}.${part({ iat: nowSec })}.${"A".repeat(86)}`,
      `Bearer ${part({ alg: "HS256" })}.${part({ iat: 1e300 })}.${"A".repeat(43)}`,
      `Bearer ${"A".repeat(10_000)}`,
      `Bearer ${"..".repeat(1000)}`,
    ];
    for (let times = 0; times < 5; times++) {
      for (const authorization of tokens) {
        const answer = await fetch(`http://127.0.0.1:${enginePort}`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization },
          body: '{"jsonrpc":"2.0","id":1,"method":"engine_exchangeCapabilities","params":[[]]}',
        });
        expect([authorization.slice(0, 40), answer.status]).toEqual([authorization.slice(0, 40), 401]);
        expect(await answer.text()).not.toBe("");
        const { received, ended } = open(enginePort, `${UPGRADE}authorization: ${authorization}\r\n\r\n`);
        await ended;
        expect(received()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
      }
    }
  });

  it("requests of the Engine API that do not fit", async () => {
    const jwtSecret = hexToBytes(readFileSync(join(folder, "data", "jwt.hex"), "utf8").trim());
    const rpc = createRpcClient({ url: `http://127.0.0.1:${enginePort}`, jwtSecret });
    const described = await rpc.call<{ methods: DescribedMethod[] }>("rpc.discover");
    const engine = described.methods.filter(({ name }) => name.startsWith("engine_"));
    expect(engine.length).toBeGreaterThan(15);
    const next = malformedRequests(engine, SEED);
    const faults: string[] = [];
    for (let count = 0; count < 400; count++) {
      let request: { method?: unknown; params?: unknown };
      try {
        request = JSON.parse(next.request()) as typeof request;
      } catch {
        continue;
      }
      if (typeof request.method !== "string") continue;
      const outcome = await rpc.call(request.method, request.params as unknown[]).then(
        (result) => faultOf({ jsonrpc: "2.0", id: 1, result }),
        ({ code, message }: { code: unknown; message: string }) => faultOf({ jsonrpc: "2.0", id: 1, error: { code, message } }),
      );
      if (outcome !== undefined) faults.push(`${outcome}: ${JSON.stringify(request).slice(0, 300)}`);
    }
    expect(faults).toEqual([]);
    await rpc.close();
  });

  it("WebSocket messages: the same, binary, in fragments, of all lengths", async () => {
    const sockets = await Promise.all(Array.from({ length: 8 }, () => openSocket(wsPort)));
    const faults: string[] = [];
    await Promise.all(
      sockets.map(async (socket) => {
        let answers = 0;
        socket.on("message", (data: Buffer) => {
          const text = data.toString();
          if (text.includes('"id":"marker"')) answers++;
          const fault = text.includes("eth_subscription") ? undefined : faultOf(JSON.parse(text));
          if (fault !== undefined) faults.push(`${fault}: ${text.slice(0, 200)}`);
        });
        for (let count = 0; count < 100; count++) {
          const kinds = [generate.request, generate.damaged, generate.batch, generate.bytes];
          const body = kinds[count % 4]!();
          const half = Math.floor(body.length / 2);
          const binary = typeof body !== "string" || count % 2 === 0; // a text frame that is not UTF-8 ends the connection, see below
          if (count % 3 === 0) {
            socket.send(body.slice(0, half), { binary, fin: false });
            socket.send(body.slice(half), { binary, fin: true });
          } else socket.send(body, { binary });
        }
        socket.send('{"jsonrpc":"2.0","id":"marker","method":"eth_blockNumber"}');
        while (answers === 0) await once(socket, "message");
        const closed = once(socket, "close");
        socket.close();
        await closed;
      }),
    );
    expect(faults).toEqual([]);

    // Frames that a client must not send end the connection, with a code that gives the reason.
    const handshake = `${UPGRADE}\r\n`;
    const frames: readonly (readonly [string, number[]])[] = [
      ["not masked", [0x81, 0x02, 0x7b, 0x7d]],
      ["a reserved opcode", [0x83, 0x80, 0, 0, 0, 0]],
      ["reserved bits", [0xf1, 0x80, 0, 0, 0, 0]],
      ["a continuation of nothing", [0x80, 0x80, 0, 0, 0, 0]],
      ["text that is no UTF-8", [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]],
      ["a ping in fragments", [0x09, 0x80, 0, 0, 0, 0]],
      ["longer than allowed", [0x81, 0xff, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]],
      ["a length of 2^63", [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]],
    ];
    for (let times = 0; times < 5; times++) {
      for (const [what, bytes] of frames) {
        const { socket, received, ended } = open(wsPort, handshake);
        while (!received().includes("\r\n\r\n")) await once(socket, "data");
        socket.write(Buffer.from(bytes));
        await ended;
        expect([what, received().slice(0, 12)]).toEqual([what, "HTTP/1.1 101"]);
        expect(
          received()
            .slice(received().indexOf("\r\n\r\n") + 4)
            .charCodeAt(0),
        ).toBe(0x88); // a close frame
      }
    }
    await isAlive();
  });

  it("ends the slow ones, and has the memory and the connections it had", async () => {
    // The server allows 10 s for the head of a request. The limit for a body is longer, so those clients disconnect here.
    const heads = slow.filter((_, index) => index < 120);
    await Promise.all(heads.map(({ ended }) => ended));
    clearInterval(dribble);
    for (const { received } of heads) expect(received()).toMatch(/^$|^HTTP\/1\.1 40[08]/);
    for (const { socket } of slow) socket.destroy();
    await isAlive();
    await pool.close();
    pool = new Pool(`http://127.0.0.1:${httpPort}`, { connections: 16 });
    let after = await usage();
    for (let tries = 0; tries < 20 && after.sockets > 0 && WORKERS === 0; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      after = await usage();
    }
    if (WORKERS === 0) expect(after.sockets).toBe(0);
    expect(after.heapUsed - before.heapUsed).toBeLessThan(8 * 1024 * 1024);
    expect(child.exitCode).toBe(null);
  });
});
