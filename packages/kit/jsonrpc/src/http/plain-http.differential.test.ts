import { connect } from "node:net";
import { silentLogger } from "@rnode/observe";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createRpcServer, type RpcServer } from "../rpc-server.ts";
import { method, optionalParam } from "../wire/method-table.ts";
import { anyJson } from "../wire/shape.ts";

// The fast path must parse every request as node:http does: the same bytes, damaged in all ways, on a connection that starts with
// the fast path and on one that was passed to node:http before.
let server: RpcServer;
let port: number;
beforeAll(async () => {
  const methods = {
    test_echo: method({ params: [optionalParam("value", anyJson)], handler: ([value]) => value }),
    test_later: method({
      params: [optionalParam("value", anyJson)],
      handler: ([value]) => new Promise((resolve) => setImmediate(() => resolve(value))),
    }),
  };
  const http = { host: "127.0.0.1", port: 0, cors: ["*"], vhosts: ["localhost", "x"] };
  server = createRpcServer({ http, methods, limits: { maxRequestBytes: 2000 }, log: silentLogger });
  ({ httpPort: port = 0 } = await server.listen());
});
afterAll(() => server.close());

const HANDED_OVER = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

interface Answer {
  readonly status: number;
  readonly connection: string | undefined;
  readonly allowed: string | undefined;
  readonly text: string;
}

const QUIET_MS = 400;
/** The last request; most connections end with it. */
const LAST = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/**
 * The server runs in this process, so after this number of turns of the event loop it has processed its input, on any machine.
 */
const QUIET_TURNS = 30;

/** All answers. When no more come, the client ends its side, so incomplete requests are refused. */
function answersTo(bytes: Buffer): Promise<Answer[]> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    let turns = 0;
    const endSoon = (): void => {
      if (socket.destroyed) return;
      if (turns++ < QUIET_TURNS) setImmediate(endSoon);
      else socket.end();
    };
    const quiet = setTimeout(endSoon, QUIET_MS);
    socket.on("data", (part) => {
      parts.push(part);
      turns = 0;
      quiet.refresh();
    });
    socket.on("error", () => {}); // a reset after the answers
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      clearTimeout(quiet);
      resolve(read(Buffer.concat(parts)));
    });
    socket.write(bytes);
  });
}

function read(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end === -1) return answers;
    const head = bytes.toString("latin1", at, end);
    const field = (name: string): string | undefined => new RegExp(`\r\n${name}: *([^\r]*)`, "i").exec(head)?.[1]?.toLowerCase();
    const length = Number(field("content-length") ?? 0);
    answers.push({
      status: Number(head.slice(9, 12)),
      connection: field("connection"),
      allowed: field("access-control-allow-origin"),
      text: bytes.toString("utf8", end + 4, end + 4 + length),
    });
    at = end + 4 + length;
  }
}

let state = 20_261_121;
/** below `limit` */
function random(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}
const oneOf = <T>(...choices: readonly T[]): T => choices[random(choices.length)]!;

function request(): string {
  const value = oneOf<unknown>(1, "é😀", null, "x".repeat(random(3) * 900));
  const text = oneOf(
    JSON.stringify({ jsonrpc: "2.0", id: random(9), method: oneOf("test_echo", "test_later", "no_such"), params: [value] }),
    JSON.stringify([{ jsonrpc: "2.0", id: 1, method: "test_later", params: [] }, 5]),
    "{",
    "",
  );
  const bytes = Buffer.byteLength(text);
  const lines = [
    oneOf("host: x", "Host:x:1", "host: localhost", "host: 127.0.0.1:8545"),
    oneOf("content-type: application/json", "Content-Type:  application/json; charset=utf-8", "content-type: APPLICATION/JSON"),
    `content-length: ${bytes}`,
  ];
  const extras = [
    "accept: */*",
    "connection: keep-alive",
    "Connection: close",
    "connection: Keep-Alive, TE",
    "origin: https://app.example",
    "expect: 100-continue",
    "transfer-encoding: chunked",
    "Transfer-Encoding: identity",
    "content-length: 3",
    `content-length: ${bytes}`,
    "content-length: +3",
    "content-length:",
    "content-length : 3",
    "upgrade: h2c",
    "host: other",
    "host: evil.example",
    "content-type: text/plain",
    "x: a\tb",
    "x:",
    ": x",
    "x y: z",
    "x: \u00e9",
    "x: a\0b",
    " folded",
    "x: a\rb",
    "x: a\nb: c",
    "keep-alive: timeout=5",
    "proxy-connection: close",
    `x: ${"y".repeat(random(4) * 3000)}`,
    "nonsense",
  ];
  for (let count = random(3); count > 0; count--) lines.splice(random(lines.length + 1), 0, extras[random(extras.length)]!);
  if (random(12) === 0) lines.splice(random(lines.length), 1);
  const first =
    random(10) > 0
      ? "POST / HTTP/1.1"
      : oneOf("POST / HTTP/1.0", "GET / HTTP/1.1", "POST /x HTTP/1.1", "post / HTTP/1.1", "POST  / HTTP/1.1", "");
  return `${[first, ...lines].join(oneOf("\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n"))}\r\n\r\n${Buffer.from(text).toString("latin1")}`;
}

function damaged(text: string): string {
  if (random(4) > 0) return text;
  const at = random(text.length);
  return text.slice(0, at) + oneOf("", "\r", "\n", "\0", " ", ":", "\r\n", "\r\n\r\n", "\xff", "0") + text.slice(at + random(3));
}

/** node:http answers 400 to bytes that are no request before it answers the requests that came with them, and ends the connection. */
function withLost(full: readonly Answer[], quick: readonly Answer[]): readonly Answer[] {
  const last = full.at(-1);
  return last?.status === 400 ? [...full.slice(0, -1), ...quick.slice(full.length - 1, -1), last] : full;
}

const compare = async (requests: number): Promise<void> => {
  const lane = async (): Promise<void> => {
    for (let count = 0; count < requests / LANES; count++) {
      const text = Array.from({ length: 1 + random(3) }, () => damaged(request())).join("");
      const bytes = Buffer.from(text + LAST, "latin1");
      const [quick, full] = await Promise.all([answersTo(bytes), answersTo(Buffer.concat([Buffer.from(HANDED_OVER), bytes]))]);
      expect([text, quick]).toEqual([text, withLost(full.slice(1), quick)]);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
};
const LANES = 20;
it("reads what node:http reads, and as node:http does", () => compare(300));
it("reads what node:http reads, and as node:http does, many requests", { tags: "long" }, () => compare(3000));
