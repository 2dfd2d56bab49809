import { type MethodTable, type RpcClient, RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { SimClock } from "@rnode/program/testing";
import { describe, expect, it } from "vitest";
import { type LeaderAddresses, LeaderProxy } from "./leader-proxy.ts";

const ADDRESSES = (name: string): LeaderAddresses => ({ executionRpc: `http://${name}-engine`, rollupRpc: `http://${name}-node` });

function proxyOf(answer: (url: string, method: string, params: readonly unknown[]) => unknown) {
  const clock = new SimClock();
  const state: { leader: LeaderAddresses | undefined } = { leader: ADDRESSES("a") };
  const asked: string[] = [];
  const createClient = (url: string): RpcClient =>
    ({
      call: async (method: string, params: readonly unknown[]) => {
        asked.push(`${url} ${method} ${JSON.stringify(params)}`);
        return answer(url, method, params);
      },
      close: async () => {},
    }) as unknown as RpcClient;
  const options = { waitMs: 5_000, furtherMethods: ["miner_setMaxDASize"] };
  const { methods } = new LeaderProxy(options, {
    leader: () => state.leader,
    createClient,
    clock,
    monotonicMs: () => clock.unixMs(),
  });
  const call = (table: MethodTable, name: string, ...args: unknown[]): Promise<unknown> =>
    table[name]!.handler(args, {} as never) as Promise<unknown>;
  return { clock, state, asked, methods, call: (name: string, ...args: unknown[]) => call(methods, name, ...args) };
}

const unreachable = (): never => {
  throw new RpcTransportError("rpc/unreachable", { endpoint: "x", method: "y", reason: "refused" });
};

describe("the proxy that follows the leader", () => {
  it("passes requests on to the leader's programs, and serves nothing else", async () => {
    const { call, asked, state, methods } = proxyOf(() => "yes");
    await call("eth_getBlockByNumber", "latest", false);
    await call("optimism_syncStatus");
    await call("miner_setMaxDASize", "0x1", "0x2");
    state.leader = ADDRESSES("b");
    await call("eth_chainId");
    expect(asked).toEqual([
      'http://a-engine eth_getBlockByNumber ["latest",false]',
      "http://a-node optimism_syncStatus []",
      'http://a-engine miner_setMaxDASize ["0x1","0x2"]',
      "http://b-engine eth_chainId []",
    ]);
    for (const name of ["admin_startSequencer", "admin_stopSequencer", "debug_setHead", "personal_sign", "engine_newPayloadV4"])
      expect(methods).not.toHaveProperty(name);
  });

  it("gives the leader's errors as they are", async () => {
    const { call } = proxyOf(() => {
      throw new RpcError(3, "execution reverted", "0x08");
    });
    await expect(call("eth_call", {})).rejects.toMatchObject({ code: 3, message: "execution reverted", data: "0x08" });
  });

  it("waits for the next leader, and not for ever", async () => {
    const { call, state, clock } = proxyOf((url) => (url.startsWith("http://a") ? unreachable() : url));
    const first = call("eth_chainId");
    await clock.advance(1_000);
    state.leader = undefined;
    await clock.advance(2_000);
    state.leader = ADDRESSES("b");
    await clock.advance(500);
    expect(await first).toBe("http://b-engine");
    state.leader = undefined;
    const second = expect(call("eth_chainId")).rejects.toThrow("no sequencer leads at the moment");
    await clock.advance(6_000);
    await second;
  });

  it("sends no transaction twice", async () => {
    const { call, asked } = proxyOf(unreachable);
    await expect(call("eth_sendRawTransaction", "0x02")).rejects.toThrow("the sequencer does not answer");
    expect(asked).toHaveLength(1);
  });
});
