import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { isCodedError } from "@rnode/primitives";
import { afterEach, describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import type { RpcClient, RpcClientOptions } from "../wire/rpc-client-types.ts";
import { createRpcClient } from "./rpc-client.ts";

interface Request {
  readonly id: number;
  readonly method: string;
  readonly params: unknown[];
}
type Answer = (message: Request | Request[], socket: WebSocket) => void;

const opened: { server: WebSocketServer; client: RpcClient }[] = [];
afterEach(async () => {
  for (const { server, client } of opened.splice(0)) {
    await client.close();
    for (const socket of server.clients) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function setUp(answer: Answer, options: Partial<RpcClientOptions> = {}) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const messages: (Request | Request[])[] = [];
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      const message = JSON.parse((data as Buffer).toString()) as Request | Request[];
      messages.push(message);
      answer(message, socket);
    });
  });
  const client = createRpcClient({ url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, ...options });
  opened.push({ server, client });
  return { client, server, messages };
}

const send = (socket: WebSocket, value: unknown): void => socket.send(JSON.stringify(value));
const result = ({ id, method, params }: Request) => ({ jsonrpc: "2.0", id, result: [method, params] });
const echo: Answer = (message, socket) => send(socket, Array.isArray(message) ? message.map(result).reverse() : result(message));

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return isCodedError(error) ? error.code : String(error);
}

describe("a JSON-RPC client over a WebSocket", () => {
  it("answers calls and batches whatever the order of the answers, over one connection", async () => {
    const { client, server, messages } = await setUp(echo, { maxBatchSize: 2 });
    expect(await Promise.all([client.call("a", [1]), client.call("b")])).toEqual([
      ["a", [1]],
      ["b", []],
    ]);
    const outcomes = await client.batch([{ method: "x" }, { method: "y" }, { method: "z" }]);
    expect(outcomes.map((outcome) => outcome.kind === "result" && (outcome.result as unknown[])[0])).toEqual(["x", "y", "z"]);
    expect(messages.slice(2).map((message) => (Array.isArray(message) ? message.length : 1))).toEqual([2, 1]);
    expect(server.clients.size).toBe(1);
    expect(client.connectionsLost).toBe(0);
  });

  it("gives the server's errors, for a whole batch too", async () => {
    const { client } = await setUp((message, socket) => {
      const error = { code: -32601, message: "Method not found" };
      if (Array.isArray(message)) send(socket, { jsonrpc: "2.0", id: null, error });
      else send(socket, { jsonrpc: "2.0", id: message.id, error });
    });
    await expect(client.call("a")).rejects.toMatchObject({ code: -32601, message: "Method not found" });
    expect((await client.batch([{ method: "a" }, { method: "b" }])).map(({ kind }) => kind)).toEqual(["error", "error"]);
  });

  it("keeps to its concurrency, a batch counting as one", async () => {
    const waiting: (() => void)[] = [];
    const { client, messages } = await setUp((message, socket) => waiting.push(() => echo(message, socket)), { maxConcurrency: 2 });
    const asked = [client.call("a"), client.batch([{ method: "b" }, { method: "c" }]), client.call("d")];
    await expect.poll(() => messages.length).toBe(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(messages).toHaveLength(2);
    waiting.shift()!();
    await expect.poll(() => messages.length).toBe(3);
    while (waiting.length > 0) waiting.shift()!();
    await Promise.all(asked);
  });

  it("ends what waits when the connection is lost, and connects again for the next call", async () => {
    let isBad = true;
    const { client } = await setUp((message, socket) => {
      if (isBad) socket.terminate();
      else echo(message, socket);
    });
    expect(await codeOf(client.call("a"))).toBe("rpc/unreachable");
    expect(client.connectionsLost).toBe(1);
    isBad = false;
    expect(await client.call("b")).toEqual(["b", []]);
  });

  it("does not wait for ever: not for an answer, a connection or its place", async () => {
    const { client } = await setUp(() => {}, { timeoutMs: 50, maxConcurrency: 1 });
    expect(await Promise.all([codeOf(client.call("a")), codeOf(client.call("b"))])).toEqual(["rpc/timeout", "rpc/timeout"]);
    const nobody = createRpcClient({ url: "ws://127.0.0.1:1", timeoutMs: 1_000 });
    expect(await codeOf(nobody.call("a"))).toBe("rpc/unreachable");
    await nobody.close();
  });

  it("takes nothing that is too long or too deep", async () => {
    const { client } = await setUp(
      (message, socket) => {
        const { method, id } = message as Request;
        if (method === "long") socket.send(`{"jsonrpc":"2.0","id":${id},"result":"${"x".repeat(2_000)}"}`);
        else
          socket.send(
            `{"jsonrpc":"2.0","id":${id},"result":${"[".repeat(400)}${"]".repeat(400)}}`
              .replaceAll("[", "[".repeat(20))
              .replaceAll("]", "]".repeat(20)),
          );
      },
      { maxResponseBytes: 1_000, timeoutMs: 200 },
    );
    expect(await codeOf(client.call("long"))).toBe("rpc/unreachable");
    expect(["rpc/unreachable", "rpc/timeout"]).toContain(await codeOf(client.call("deep")));
  });

  it("fails what waits as closed when it is closed", async () => {
    const { client, messages } = await setUp(() => {});
    const asked = codeOf(client.call("a"));
    await expect.poll(() => messages.length).toBe(1);
    await client.close();
    expect(await asked).toBe("rpc/closed");
    expect(await codeOf(client.call("b"))).toBe("rpc/closed");
  });

  it("passes on notifications, those before the answer too, until its end or the connection's", async () => {
    let connection: WebSocket | undefined;
    const tell = (number: number): void =>
      send(connection!, { jsonrpc: "2.0", method: "eth_subscription", params: { subscription: "0x1", result: { number } } });
    const { client, messages } = await setUp((message, socket) => {
      const { id, method } = message as Request;
      connection = socket;
      if (method !== "eth_subscribe") return echo(message, socket);
      tell(1);
      send(socket, { jsonrpc: "2.0", id, result: "0x1" });
      tell(2);
    });
    const seen: unknown[] = [];
    const subscription = await client.subscribe!(["newHeads"], (head) => seen.push(head));
    await expect.poll(() => seen).toEqual([{ number: 1 }, { number: 2 }]);
    connection!.terminate();
    await subscription.ended;
    const again = await client.subscribe!(["newHeads"], (head) => seen.push(head));
    again.close();
    await again.ended;
    await expect.poll(() => messages.map((message) => (message as Request).method)).toContain("eth_unsubscribe");
  });
});
