import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { silentLogger } from "@rnode/observe";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createRpcServer, type RpcServer } from "../rpc-server.ts";
import { method } from "../wire/method-table.ts";

// A server whose chain is this number and these listeners.
let head = 5;
const listeners = new Set<() => void>();
const moveTo = (number: number): void => {
  head = number;
  for (const listener of listeners) listener();
};
let calls = 0;
let server: RpcServer;
let port: number;
beforeAll(async () => {
  const address = { host: "127.0.0.1", port: 0 };
  server = createRpcServer({
    http: { ...address, cors: ["*"] },
    ws: address,
    methods: {
      test_head: method({ params: [], handler: () => ++calls && head }),
      // a block comes while the answer is made
      test_next: method({
        params: [],
        handler: async () => {
          await Promise.resolve();
          moveTo(head + 1);
          return head;
        },
      }),
    },
    head: {
      number: () => head,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    log: silentLogger,
  });
  ({ httpPort: port = 0 } = await server.listen());
});
afterAll(async () => {
  await server.close();
  expect(listeners.size).toBe(0);
});
beforeEach(() => {
  head = 5;
  calls = 0;
});

/** Requests in the common form, and in a form that is left to node:http. */
describe.each([
  ["plain HTTP", {}],
  ["node:http", { origin: "https://app.example" }],
])("%s", (_, extra) => {
  const agent = new Agent({ keepAlive: true }); // the last request of a connection is not in the common form
  afterAll(() => agent.destroy());
  const send = (headers: Record<string, string>, name = "test_head"): ClientRequest => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params: [] });
    const type = { "content-type": "application/json", "content-length": String(body.length) };
    const sent = request({ host: "127.0.0.1", port, method: "POST", headers: { ...type, ...extra, ...headers }, agent });
    sent.end(body);
    return sent;
  };
  const answerTo = async (sent: ClientRequest) => {
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    let text = "";
    for await (const part of response) text += String(part);
    const json = text.startsWith("{") ? (JSON.parse(text) as { result?: unknown; error?: { message: string } }) : undefined;
    return {
      status: response.statusCode,
      head: response.headers["rnode-head-block"],
      result: json?.result,
      error: json?.error?.message,
    };
  };

  it("answers as ever if no block is named", async () => {
    expect(await answerTo(send({}))).toEqual({ status: 200, head: undefined, result: 5, error: undefined });
  });

  it("names its head, and answers at once if it has the block", async () => {
    for (const seen of ["0", "5"]) {
      expect(await answerTo(send({ "rnode-min-block": seen }))).toEqual({ status: 200, head: "5", result: 5, error: undefined });
    }
  });

  it("names a head that is not below what the answer shows", async () => {
    expect(await answerTo(send({ "rnode-min-block": "5" }, "test_next"))).toMatchObject({ status: 200, head: "6", result: 6 });
  });

  it("waits for a block that comes soon", async () => {
    const sent = send({ "rnode-min-block": "7" });
    const answer = answerTo(sent);
    await answerTo(send({})); // sent later, so the other request has arrived
    moveTo(6);
    moveTo(7);
    expect(await answer).toMatchObject({ status: 200, head: "7", result: 7 });
  });

  it("leaves a request about a block that does not come to another node, and does not run it", async () => {
    expect(await answerTo(send({ "rnode-min-block": "8" }))).toEqual({
      status: 503,
      head: "5",
      result: undefined,
      error: "block 8 is not here yet: the head is block 5; ask another node, or again",
    });
    expect(calls).toBe(0);
  });

  it("refuses what is no number", async () => {
    for (const seen of ["latest", "-1", "0x5", "1e3", "9".repeat(16)]) {
      expect((await answerTo(send({ "rnode-min-block": seen }))).status).toBe(400);
    }
    expect(calls).toBe(0);
  });
});

describe("a WebSocket", () => {
  const open = (minBlock: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { "rnode-min-block": minBlock } });
      socket.on("upgrade", ({ headers }: IncomingMessage) => {
        resolve(Number(headers["rnode-head-block"]));
        socket.close();
      });
      socket.on("unexpected-response", (sent: ClientRequest, { statusCode }: IncomingMessage) => {
        sent.destroy();
        reject(new Error(`status ${statusCode}`));
      });
      socket.on("error", () => {});
    });

  it("opens when the node has the block, and is left to another node otherwise", async () => {
    expect(await open("5")).toBe(5);
    await expect(open("6")).rejects.toThrow("status 503");
    await expect(open("x")).rejects.toThrow("status 400");
  });
});
