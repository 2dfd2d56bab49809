import { silentLogger } from "@rnode/observe";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createRpcClient } from "../client/rpc-client.ts";
import { createRpcServer } from "../rpc-server.ts";
import { type SubscriptionSink, subscription } from "../wire/method-table.ts";
import { RpcError } from "../wire/rpc-error.ts";

/** A subscription that begins when the test says so. */
async function serve() {
  const state = { sinks: [] as SubscriptionSink[], stopped: 0, begin: () => {}, refuse: (() => {}) as (error: Error) => void };
  const heads = subscription({
    params: [],
    start: (_, sink) => {
      state.sinks.push(sink);
      const listening = new Promise<void>((resolve, reject) => Object.assign(state, { begin: resolve, refuse: reject }));
      return { stop: () => state.stopped++, listening };
    },
  });
  const server = createRpcServer({
    ws: { host: "127.0.0.1", port: 0, subscriptions: { eth: { heads } } },
    methods: {},
    limits: { maxSubscriptions: 1 },
    log: silentLogger,
  });
  const { wsPort } = await server.listen();
  onTestFinished(() => server.close());
  return { state, url: `ws://127.0.0.1:${wsPort}` };
}

describe("a subscription that takes a moment to begin", () => {
  it("is answered then, or with why not, and takes no place where it did not begin", async () => {
    const { state, url } = await serve();
    const client = createRpcClient({ url });
    onTestFinished(() => client.close());
    const heard: unknown[] = [];
    const ask = () => client.subscribe!(["heads"], (head) => heard.push(head));
    const first = ask();
    await expect.poll(() => state.sinks.length).toBe(1);
    state.refuse(new RpcError(-32000, "nobody leads"));
    await expect(first).rejects.toMatchObject({ code: -32000, message: "nobody leads" });
    expect(state.stopped).toBe(1);
    const second = ask();
    await expect.poll(() => state.sinks.length).toBe(2);
    state.sinks[1]!.notify("early");
    state.begin();
    await second;
    await expect.poll(() => heard).toEqual(["early"]);
  });

  it("can close the connection, whose client may come back at once", async () => {
    const { state, url } = await serve();
    const socket = new WebSocket(url);
    onTestFinished(() => socket.terminate());
    const closed = new Promise<[number, string]>((resolve) => socket.on("close", (code, why) => resolve([code, why.toString()])));
    socket.on("open", () => socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["heads"] })));
    await expect.poll(() => state.sinks.length).toBe(1);
    state.begin();
    state.sinks[0]!.disconnect("another sequencer leads: connect again");
    expect(await closed).toEqual([1012, "another sequencer leads: connect again"]);
    expect(state.stopped).toBe(1);
    state.sinks[0]!.notify("late"); // is not sent
  });
});
