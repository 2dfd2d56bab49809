import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRpcServer } from "../rpc-server.ts";
import { method } from "../wire/method-table.ts";

/** Settles when the connection is closed, with or without a reset. */
const closed = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once("close", resolve));

const MOST = 20;
const BODY = 2 << 20;

async function setUp(jwtSecret?: Uint8Array) {
  const server = createRpcServer({
    methods: { test_one: method({ params: [], handler: () => 1 }) },
    log: silentLogger,
    http: { host: "127.0.0.1", port: 0 },
    ws: { host: "127.0.0.2", port: 0 },
    limits: { maxConnections: MOST, maxRequestBytes: BODY, maxIncomingBytes: 2 * BODY },
    jwtSecret,
  });
  onTestFinished(() => server.close());
  const { httpPort: port, wsPort } = await server.listen();
  const open = async (localAddress: string, to = port): Promise<Socket> => {
    const socket = connect({ host: to === port ? "127.0.0.1" : "127.0.0.2", port: to!, localAddress });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const statusFor = (localAddress: string, padding = ""): Promise<number | string> =>
    new Promise((resolve) => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"test_one"}${padding}`;
      const headers = { "content-type": "application/json" };
      const sent = request({ host: "127.0.0.1", port, localAddress, method: "POST", agent: false, headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on("error", (error) => resolve(error.message));
      sent.end(body);
    });
  const openWs = async (localAddress: string): Promise<Socket> => {
    const socket = await open(localAddress, wsPort);
    socket.write(
      "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n",
    );
    await once(socket, "data");
    return socket;
  };
  return { open, openWs, statusFor };
}

describe.each([
  ["users' listener", undefined, 200],
  ["authenticated listener", new Uint8Array(32), 401],
] as const)("a client that opens all the connections of the %s", (_, jwtSecret, status) => {
  it("does not keep others out", async () => {
    const { open, statusFor } = await setUp(jwtSecret);
    const greedy = await Promise.all(Array.from({ length: MOST }, () => open("127.0.0.2")));
    const lost = Promise.race(greedy.map((socket) => closed(socket)));
    for (let request = 0; request < 5; request++) expect(await statusFor("127.0.0.1")).toBe(status);
    await lost;
  });

  it("does not keep out others of the same address, who send something", async () => {
    const { open, statusFor } = await setUp(jwtSecret);
    const greedy = await Promise.all(Array.from({ length: MOST }, () => open("127.0.0.1")));
    await new Promise((resolve) => setTimeout(resolve, 600));
    for (let request = 0; request < 5; request++) expect(await statusFor("127.0.0.1")).toBe(status);
    expect(greedy.filter((socket) => !socket.closed).length).toBeGreaterThanOrEqual(MOST - 5);
  });

  it("does not keep others out with bursts either", async () => {
    const { open, statusFor } = await setUp(jwtSecret);
    await Promise.all(Array.from({ length: MOST }, () => open("127.0.0.2")));
    const burst = Array.from({ length: 100 }, () => open("127.0.0.2"));
    const honest = [statusFor("127.0.0.1"), statusFor("127.0.0.1")];
    burst.push(...Array.from({ length: 100 }, () => open("127.0.0.2")));
    expect(await Promise.all(honest)).toEqual([status, status]);
    await Promise.allSettled(burst);
  });
});

describe("a client whose connections have all been answered and are kept", () => {
  it("does not keep out others of the same address", async () => {
    const { open, statusFor } = await setUp();
    const kept = await Promise.all(Array.from({ length: MOST }, () => open("127.0.0.1")));
    const body = '{"jsonrpc":"2.0","id":1,"method":"test_one"}';
    const asking = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const ask = (socket: Socket): Promise<unknown> => {
      socket.write(asking);
      return once(socket, "data");
    };
    await Promise.all(kept.map(ask));
    expect(await statusFor("127.0.0.1")).not.toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 2100));
    await ask(kept[0]!);
    expect(await statusFor("127.0.0.1")).toBe(200);
    expect(kept[0]!.closed).toBe(false);
  });
});

describe("a client that sends requests without finishing them", () => {
  const HEAD = (length: number, extra = ""): string =>
    `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${extra}Content-Length: ${length}\r\n\r\n`;

  it.each([
    ["small enough for the fast way", 1 << 20, HEAD(1 << 20)],
    ["large", BODY, HEAD(BODY)],
    ["handed to node:http", 1 << 20, HEAD(1 << 20, "TE: trailers\r\n")],
  ])("loses them once there are too many, %s, and others send theirs", async (_, size, head) => {
    const { open, statusFor } = await setUp();
    const greedy = await Promise.all(Array.from({ length: 8 }, () => open("127.0.0.2")));
    const lost = Promise.race(greedy.map((socket) => closed(socket)));
    for (const socket of greedy) {
      socket.resume();
      socket.write(head + " ".repeat(size - 1000));
    }
    await lost;
    expect(await statusFor("127.0.0.1", " ".repeat(BODY / 2))).toBe(200);
    expect(greedy.filter((socket) => !socket.closed).length).toBeGreaterThan(0);
  });
});

describe("a WebSocket that sends a message without finishing it", () => {
  it("is disconnected once there is too much of such messages, and others are not", async () => {
    const { openWs } = await setUp();
    const greedy = await Promise.all(Array.from({ length: 4 }, () => openWs("127.0.0.2")));
    const honest = await openWs("127.0.0.1");
    const lost = Promise.race(greedy.map((socket) => closed(socket)));
    const head = Buffer.alloc(14);
    head.set([0x81, 0xff]);
    head.writeBigUInt64BE(BigInt(BODY), 2);
    for (const socket of greedy) socket.write(Buffer.concat([head, Buffer.alloc(BODY - 1000)]));
    await lost;
    expect(honest.closed).toBe(false);
  });
});
