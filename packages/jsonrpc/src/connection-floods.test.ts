import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { silentLogger } from "@rnode/observe";
import { afterEach, describe, expect, it } from "vitest";
import { method } from "./method-table.ts";
import { createRpcServer } from "./rpc-server.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const MOST = 20;

async function setUp(jwtSecret: Uint8Array | undefined) {
  const server = createRpcServer({
    methods: { test_one: method({ params: [], handler: () => 1 }) },
    log: silentLogger,
    http: { host: "127.0.0.1", port: 0 },
    limits: { maxConnections: MOST },
    jwtSecret,
  });
  closers.push(() => server.close());
  const { httpPort: port } = await server.listen();
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host: "127.0.0.1", port: port!, localAddress });
    closers.push(() => socket.destroy());
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const statusFor = (localAddress: string): Promise<number | string> =>
    new Promise((resolve) => {
      const body = '{"jsonrpc":"2.0","id":1,"method":"test_one"}';
      const headers = { "content-type": "application/json" };
      const sent = request({ host: "127.0.0.1", port, localAddress, method: "POST", agent: false, headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on("error", (error) => resolve(error.message));
      sent.end(body);
    });
  return { open, statusFor };
}

describe.each([
  ["users' listener", undefined, 200],
  ["authenticated listener", new Uint8Array(32), 401],
] as const)("a client that opens all the connections of the %s", (_, jwtSecret, status) => {
  it("does not keep others out", async () => {
    const { open, statusFor } = await setUp(jwtSecret);
    const greedy = await Promise.all(Array.from({ length: MOST }, () => open("127.0.0.2")));
    const lost = Promise.race(greedy.map((socket) => once(socket, "close")));
    for (let request = 0; request < 5; request++) expect(await statusFor("127.0.0.1")).toBe(status);
    await lost;
  });
});
