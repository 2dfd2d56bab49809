import { once } from "node:events";
import { silentLogger } from "@rnode/observe";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { ClientConnection } from "../http/client-connection.ts";
import { Turns } from "../limits/turns.ts";
import { createRpcServer, type RpcServerLimits } from "../rpc-server.ts";
import { method, type SubscriptionSink, subscription } from "../wire/method-table.ts";
import { LIMIT_EXCEEDED } from "../wire/rpc-error.ts";
import { SubscriptionPlaces } from "./subscription-places.ts";

let nowMs = 0;
/** turns of the event loop */
let turn = 0;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  count();
  onTestFinished(() => void (isOver = true));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const sinks: SubscriptionSink[] = [];
beforeEach(() => {
  sinks.length = 0;
});

/** Every request of `test_work` takes a millisecond. @param onWork as it is done */
async function startServer(onWork: (remoteAddress: string) => void = () => {}, limits: Partial<RpcServerLimits> = {}) {
  const methods = {
    test_work: method({
      params: [],
      handler: (_, { remoteAddress }) => {
        nowMs++;
        onWork(remoteAddress);
        return 1;
      },
    }),
    test_never: method({ params: [], handler: () => new Promise(() => {}) }),
  };
  const subscriptions = {
    test: {
      ticks: subscription({
        params: [],
        start: (_, sink) => {
          sinks.push(sink);
          return () => {};
        },
      }),
      fails: subscription({
        params: [],
        start: () => {
          throw new Error("not today");
        },
      }),
    },
  };
  const server = createRpcServer({ ws: { host: "127.0.0.1", port: 0, subscriptions }, methods, limits, log: silentLogger });
  const { wsPort } = await server.listen();
  onTestFinished(() => server.close());
  return async (localAddress: string): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${wsPort}`, { localAddress });
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    return socket;
  };
}

const rpc = (name: string, params: unknown[] = [], id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: name, params });

async function ask(socket: WebSocket, text: string): Promise<Record<string, unknown>> {
  const answer = once(socket, "message");
  socket.send(text);
  const [data] = (await answer) as [Buffer];
  return JSON.parse(data.toString("utf8")) as Record<string, unknown>;
}

const GREEDY = "127.0.0.2";
const OTHER = "127.0.0.3";

describe("messages of a WebSocket", () => {
  it("are processed for a while in each turn of the event loop, and others have theirs in between", async () => {
    const order: string[] = [];
    const perTurn = new Map<number, number>();
    const open = await startServer((address) => {
      order.push(address);
      perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
    });
    const greedy = await Promise.all(Array.from({ length: 5 }, () => open(GREEDY)));
    const other = await open(OTHER);
    for (const socket of greedy) for (let id = 0; id < 300; id++) socket.send(rpc("test_work", [], id));
    await vi.waitUntil(() => order.length > 20, 60_000);
    expect(await ask(other, rpc("test_work"))).toMatchObject({ result: 1 });
    expect(order.length).toBeLessThan(1500);
    await vi.waitUntil(() => order.length === 1501, { timeout: 60_000 });
    // a slice at once, and one in a turn
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(3);
  });

  it("are all answered, in order, however many come at once", async () => {
    const open = await startServer();
    const socket = await open(GREEDY);
    const ids: number[] = [];
    socket.on("message", (data: Buffer) => ids.push((JSON.parse(data.toString("utf8")) as { id: number }).id));
    const expected = Array.from({ length: 3000 }, (_, id) => id);
    for (const id of expected) socket.send(rpc("test_work", [], id));
    await vi.waitUntil(() => ids.length === expected.length, { timeout: 60_000 });
    expect(ids).toEqual(expected);
  });

  it("that are too small to be requests, and too many, end the connection", async () => {
    const open = await startServer();
    const socket = await open(GREEDY);
    for (let n = 0; n < 64; n++) socket.send(rpc("test_never"));
    for (let n = 0; n < 30_000; n++) socket.send("");
    const [code, reason] = (await once(socket, "close")) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1008, "more than 2048 messages wait"]);
  });
});

describe("an event", () => {
  it("that many subscriptions wait for is told in turns; a client with one need not wait for one with many", async () => {
    const open = await startServer();
    const [greedy, other] = [await open(GREEDY), await open(OTHER)];
    for (let n = 0; n < 300; n++) await ask(greedy, rpc("test_subscribe", ["ticks"]));
    await ask(other, rpc("test_subscribe", ["ticks"]));
    const order: number[] = [];
    const perTurn = new Map<number, number>();
    const received: unknown[] = [];
    greedy.on("message", (data: Buffer) => received.push(data));
    const told = once(other, "message");
    for (const [index, sink] of sinks.entries()) {
      sink.notifyEach(() => {
        nowMs++;
        order.push(index);
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
        return [index];
      });
    }
    expect(order.length).toBeLessThanOrEqual(2);
    await told;
    expect(order.indexOf(300)).toBeLessThanOrEqual(4);
    await vi.waitUntil(() => received.length === 300, { timeout: 60_000 });
    expect(order).toHaveLength(301);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(3);
  });

  it("is told in the order of events, however it is made", async () => {
    const open = await startServer();
    const socket = await open(OTHER);
    await ask(socket, rpc("test_subscribe", ["ticks"]));
    const received: unknown[] = [];
    socket.on("message", (data: Buffer) => received.push(JSON.parse(data.toString("utf8"))));
    const [sink] = sinks;
    sink!.notifyEach(function* () {
      for (const n of [1, 2]) {
        nowMs++;
        yield n;
      }
    });
    sink!.notify(3);
    sink!.notifyEach(() => []);
    sink!.notifyEach(() => [4, 5]);
    await vi.waitUntil(() => received.length === 5, 60_000);
    expect(received.map((message) => (message as { params: { result: unknown } }).params.result)).toEqual([1, 2, 3, 4, 5]);
  });

  it("is not made for a subscription that has ended", async () => {
    const open = await startServer();
    const socket = await open(GREEDY);
    const { result: id } = await ask(socket, rpc("test_subscribe", ["ticks"]));
    const received: unknown[] = [];
    socket.on("message", (data: Buffer) => received.push(JSON.parse(data.toString("utf8"))));
    let made = 0;
    for (let n = 0; n < 1000; n++) {
      sinks[0]!.notifyEach(() => {
        nowMs++;
        return [made++];
      });
    }
    socket.send(rpc("test_unsubscribe", [id], "end"));
    await vi.waitUntil(() => (received.at(-1) as { id?: string } | undefined)?.id === "end", 60_000);
    expect(made).toBeLessThan(1000);
    expect(received).toHaveLength(made + 1);
    expect(await ask(socket, rpc("test_work", [], "last"))).toMatchObject({ id: "last" });
  });

  it("does not wait without end for a client that is behind: it loses its connection", async () => {
    const open = await startServer(undefined, { maxBufferedBytes: 100_000 });
    const socket = await open(GREEDY);
    await ask(socket, rpc("test_subscribe", ["ticks"]));
    let made = 0;
    for (let n = 0; n < 1000; n++) {
      sinks[0]!.notifyEach(() => {
        nowMs++;
        return [made++];
      });
    }
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(1008);
    expect(made).toBeLessThan(10);
  });
});

describe("subscriptions", () => {
  it("have a number for each address, which connections do not change", async () => {
    const open = await startServer(undefined, { maxSubscriptions: 4 }); // 64 in all, 16 for an address
    const greedy = await Promise.all(Array.from({ length: 5 }, () => open(GREEDY)));
    for (const socket of greedy.slice(0, 4)) {
      for (let n = 0; n < 4; n++) expect(await ask(socket, rpc("test_subscribe", ["ticks"]))).toHaveProperty("result");
    }
    const last = greedy[4]!;
    expect(await ask(last, rpc("test_subscribe", ["ticks"]))).toMatchObject({
      error: { code: LIMIT_EXCEEDED, message: expect.stringContaining("your address has too many subscriptions") },
    });
    expect(await ask(await open(OTHER), rpc("test_subscribe", ["ticks"]))).toHaveProperty("result");
    greedy[0]!.close();
    await vi.waitUntil(async () => "result" in (await ask(last, rpc("test_subscribe", ["ticks"]))), 60_000);
  });

  it("that could not begin take no place", async () => {
    const open = await startServer(undefined, { maxSubscriptions: 1 });
    const socket = await open(OTHER);
    for (let n = 0; n < 3; n++)
      expect(await ask(socket, rpc("test_subscribe", ["fails"]))).toMatchObject({ error: { code: -32603 } });
    expect(await ask(socket, rpc("test_subscribe", ["ticks"]))).toHaveProperty("result");
  });

  it("of all clients are limited too", () => {
    const places = new SubscriptionPlaces(8);
    const take = (address: string): unknown => places.take(address);
    for (const address of ["1.1.1.1", "1.1.1.2", "1.1.1.3", "2001:db8::1"]) {
      expect([take(address), take(address), take(address)]).toEqual([undefined, undefined, "client"]);
    }
    expect([take("1.1.1.4"), take("2001:db8::2")]).toEqual(["server", "client"]);
    places.giveBack("2001:db8::2"); // the same /64
    expect(take("1.1.1.4")).toBeUndefined();
  });
});

describe("slices", () => {
  it("run at once while nobody waits and there is time, then in the turns of their clients", async () => {
    const turns = new Turns(() => nowMs);
    const order: string[] = [];
    const [a, b] = [new ClientConnection("ws", GREEDY), new ClientConnection("ws", OTHER)];
    const work = (client: ClientConnection, name: string, ms: number): void =>
      turns.run(client, () => {
        nowMs += ms;
        order.push(name);
      });
    work(a, "a1", 0.4);
    work(a, "a2", 0.7);
    expect(order).toEqual(["a1", "a2"]);
    for (const name of ["a3", "a4", "a5", "a6"]) work(a, name, 1);
    work(b, "b1", 1);
    work(b, "b2", 1);
    expect(order).toHaveLength(2);
    await vi.waitUntil(() => order.length === 8, { timeout: 60_000, interval: 1 });
    expect(order.slice(2, 6).filter((name) => name.startsWith("b"))).toEqual(["b1", "b2"]);
  });

  it("that ask for another one have it after the others", async () => {
    const turns = new Turns(() => nowMs);
    const order: string[] = [];
    const [a, b] = [new ClientConnection("ws", GREEDY), new ClientConnection("ws", OTHER)];
    const work = (client: ClientConnection, name: string, left: number): void =>
      turns.run(client, () => {
        nowMs++;
        order.push(name);
        if (left > 1) work(client, name, left - 1);
      });
    work(a, "a", 4);
    work(b, "b", 2);
    await vi.waitUntil(() => order.length === 6, { timeout: 60_000, interval: 1 });
    expect(order.indexOf("b")).toBeLessThanOrEqual(2);
    expect(order.lastIndexOf("b")).toBeLessThanOrEqual(4);
  });
});
