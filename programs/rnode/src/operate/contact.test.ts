import { type RpcClient, RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { ManualClock } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { Contact } from "./contact.ts";

function setUp() {
  const clock = new ManualClock(GENESIS_TIME_SEC * 1_000);
  const { log, logs } = recordingLogger();
  const contact = new Contact("L1", { clock, log });
  const state: { failure: Error | undefined } = { failure: undefined };
  const answer = async () => {
    if (state.failure !== undefined) throw state.failure;
    return [1];
  };
  const rpc = contact.watch({
    endpoint: "http://l1",
    connectionsLost: 3,
    call: answer,
    batch: answer,
    close: async () => {},
  } as unknown as RpcClient);
  const down = new RpcTransportError("rpc/unreachable", { endpoint: "http://l1", reason: "connect ECONNREFUSED" });
  const said = () => logs.filter(({ level }) => level === "info").map(({ text, fields }) => `${text} ${JSON.stringify(fields)}`);
  return { clock, contact, rpc, state, down, said, logs };
}

describe("the watch over what the node talks to", () => {
  it("says since when there is no answer, and when there is one again", async () => {
    const { clock, contact, rpc, state, down, said } = setUp();
    await rpc.call("eth_chainId");
    const sinceMs = clock.unixMs();
    state.failure = down;
    await expect(rpc.call("eth_chainId")).rejects.toBe(down);
    expect(contact.silence).toBeUndefined(); // a request may fail
    clock.advance(30_000);
    await expect(rpc.batch([{ method: "eth_chainId" }])).rejects.toBe(down);
    expect(contact.silence).toEqual({ since: new Date(sinceMs).toISOString(), forSec: 30, reason: down.message });
    state.failure = undefined;
    await rpc.batch([{ method: "eth_chainId" }]);
    expect(contact.silence).toBeUndefined();
    expect(said()).toEqual(['L1 answers again {"afterSec":30}']);
  });

  it("takes a refusal for an answer, and leaves out what lasted a moment", async () => {
    const { clock, contact, rpc, state, down, said } = setUp();
    state.failure = down;
    await expect(rpc.call("eth_chainId")).rejects.toBe(down);
    clock.advance(1_000);
    state.failure = new RpcError(-32000, "no");
    await expect(rpc.call("eth_chainId")).rejects.toThrow("no");
    clock.advance(60_000);
    expect(contact.silence).toBeUndefined();
    expect(said()).toEqual([]);
    state.failure = new RpcTransportError("rpc/closed", { endpoint: "http://l1" });
    await expect(rpc.call("eth_chainId")).rejects.toThrow();
    clock.advance(60_000);
    expect(contact.silence).toBeUndefined(); // we have closed it
  });

  it("logs each request at the finest level, with its time and what went wrong", async () => {
    const { rpc, state, down, logs } = setUp();
    await rpc.call("eth_chainId");
    state.failure = down;
    await expect(rpc.batch([{ method: "eth_getLogs" }, { method: "eth_getLogs" }])).rejects.toBe(down);
    expect(logs).toEqual([
      { level: "trace", text: "request to L1", fields: { endpoint: "http://l1", method: "eth_chainId", ms: expect.any(Number) } },
      {
        level: "trace",
        text: "request to L1",
        fields: expect.objectContaining({ method: "eth_getLogs", calls: 2, failure: expect.stringContaining("ECONNREFUSED") }),
      },
    ]);
    expect(rpc.connectionsLost).toBe(3);
  });
});
