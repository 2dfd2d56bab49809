import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { silentLogger } from "@rnode/observe";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { RoundRobin } from "../limits/round-robin.ts";
import { DEFAULT_RPC_LIMITS } from "../rpc-server.ts";
import type { RequestContext } from "../wire/method-table.ts";
import { UnsentBudget } from "../wire/unsent.ts";
import { IncomingBudget } from "./incoming.ts";
import { createPlainHttp } from "./plain-http.ts";

/** every answer takes a millisecond of this clock, except those to "short" */
let nowMs = 0;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** @param onAnswer as each request is answered; @param onArrival as bytes arrive */
async function startServer(
  onAnswer: (client: RequestContext, text: string) => void,
  onArrival: (remoteAddress: string) => void = () => {},
): Promise<number> {
  const quick = createPlainHttp({
    answer: (text, client) => {
      if (text !== "short") nowMs++;
      onAnswer(client, text);
      return text;
    },
    isAllowedHost: () => true,
    maxBodyBytes: 100_000,
    handOver: (socket) => socket.destroy(),
    unsent: new UnsentBudget(DEFAULT_RPC_LIMITS, { log: silentLogger, onDrop: () => {}, nowMs: () => 0 }),
    incoming: new IncomingBudget(Number.POSITIVE_INFINITY, { log: silentLogger, onDrop: () => {} }),
    afterwards: setImmediate,
    headTimeoutMs: 60_000,
    requestTimeoutMs: 60_000,
    keepAliveTimeoutMs: 60_000,
  });
  const server = createServer((socket) => {
    socket.on("data", () => onArrival(socket.remoteAddress!));
    quick.serve(socket);
  });
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => quick.closeAll());
  return (server.address() as { port: number }).port;
}

async function open(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port, localAddress, noDelay: true });
  onTestFinished(() => void socket.destroy());
  socket.resume();
  await once(socket, "connect");
  return socket;
}

const HEAD = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
const request = (text: string): string => `${HEAD}content-length: ${text.length}\r\n\r\n${text}`;

it("what was read is answered for a millisecond in each turn of the event loop, however much there is", async () => {
  const CLIENTS = 10;
  const REQUESTS = 40;
  let turn = 0;
  const perTurn = new Map<number, number>();
  let answered = 0;
  const port = await startServer(() => {
    perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
    answered++;
  });
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => open(port, "127.0.0.1")));
  for (const socket of sockets) socket.write(request("1").repeat(REQUESTS));
  while (answered < CLIENTS * REQUESTS) {
    await new Promise((resolve) => setImmediate(resolve));
    turn++;
  }
  // one of each kind
  expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(2);
});

it("a client with many connections has one request answered, then it is the turn of the others", async () => {
  const order: string[] = [];
  const waited: number[] = [];
  let arrivedAt = 0;
  const onArrival = (address: string): void => {
    if (address === "127.0.0.3") arrivedAt = order.length;
  };
  const port = await startServer(({ remoteAddress }) => {
    if (remoteAddress === "127.0.0.3") waited.push(order.length - arrivedAt);
    order.push(remoteAddress);
  }, onArrival);
  const greedy = await Promise.all(Array.from({ length: 20 }, () => open(port, "127.0.0.2")));
  const other = await open(port, "127.0.0.3");
  for (const socket of greedy) socket.write(request("1").repeat(100));
  while (order.length < 100) await new Promise((resolve) => setImmediate(resolve));
  for (let asked = 0; asked < 5; asked++) {
    other.write(request("1"));
    await once(other, "data");
  }
  expect(waited).toHaveLength(5);
  expect(Math.max(...waited)).toBeLessThanOrEqual(4);
  expect(order.length).toBeLessThan(2000);
});

it("short requests do not wait for long ones of the same client, and those come too", async () => {
  const order: string[] = [];
  const port = await startServer((_, text) => order.push(text === "short" ? text : "long"));
  const [greedy, other] = [
    await Promise.all(Array.from({ length: 20 }, () => open(port, "127.0.0.2"))),
    await open(port, "127.0.0.2"),
  ];
  for (const socket of greedy) socket.write(request("x".repeat(20_000)).repeat(5));
  while (order.length < 5) await new Promise((resolve) => setImmediate(resolve));
  const before = order.length;
  for (let asked = 0; asked < 5; asked++) {
    other.write(request("short"));
    await once(other, "data");
  }
  expect(order.slice(before).filter((kind) => kind === "short")).toHaveLength(5);
  expect(order.length).toBeLessThan(before + 70);
  await vi.waitUntil(() => order.length === 105, { timeout: 60_000 });
});

it("requests in pieces of any size are the same requests", async () => {
  const texts: string[] = [];
  const port = await startServer((_, text) => texts.push(text));
  const expected = Array.from({ length: 200 }, (_, index) => "x".repeat((index * 37) % 900));
  const bytes = Buffer.from(expected.map(request).join(""));
  const socket = await open(port, "127.0.0.1");
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 1) % 5000) {
    socket.write(bytes.subarray(at, at + size));
    if (size % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await vi.waitUntil(() => texts.length === expected.length, 60_000);
  expect(texts).toEqual(expected);
});

it("a round has one turn for each client that waits", () => {
  const round = new RoundRobin<number>();
  for (let item = 0; item < 4; item++) round.add("a", item);
  round.add("b", 10);
  expect(round.take()).toBe(0);
  round.add("c", 20);
  round.add("b", 11);
  expect(round.size).toBe(6);
  expect(Array.from({ length: 7 }, () => round.take())).toEqual([10, 1, 20, 11, 2, 3, undefined]);
  expect(round.size).toBe(0);
});
