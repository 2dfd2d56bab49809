import { EngineError } from "@rnode/engine-client";
import { L1Error } from "@rnode/l1";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { type PreflightDeps, preflight } from "./preflight.ts";
import { testConfig } from "./testing/fake-chain.ts";

const config = testConfig();
const OTHER_HASH = `0x${"77".repeat(32)}` as const;

function deps(over: { l1?: object; l2?: object; engine?: object } = {}) {
  const sleptMs: number[] = [];
  const abort = new AbortController();
  const all = {
    config,
    l1: {
      chainIds: async () => [{ endpoint: "http://l1", chainId: 900n }],
      blockByNumber: async () => ({ hash: config.genesis.l1.hash }),
      ...over.l1,
    },
    l2: { chainId: async () => 901n, hashByNumber: async () => config.genesis.l2.hash, ...over.l2 },
    engine: { capabilities: async () => ["engine_forkchoiceUpdatedV3"], ...over.engine },
    clock: { nowMs: () => 0, sleep: async (ms: number) => void sleptMs.push(ms) },
    log: silentLogger,
    l1Name: "http://l1",
    l2Name: "http://l2",
    jwtPath: "/secret.txt",
    signal: abort.signal,
  } as unknown as PreflightDeps;
  return { all, sleptMs };
}

const rejects = (error: Error) => (): Promise<never> => Promise.reject(error);

describe("preflight", () => {
  it("passes the right L1 and engine", async () => {
    await preflight(deps().all);
    await preflight(deps({ engine: { capabilities: async () => [] } }).all);
  });

  it.each<[string, Parameters<typeof deps>[0], RegExp]>([
    [
      "another L1",
      { l1: { chainIds: async () => [{ endpoint: "http://l1", chainId: 1n }] } },
      /--l1 http:\/\/l1 is chain 1, but the rollup's L1 is chain 900/,
    ],
    [
      "the L2 given as L1",
      { l1: { chainIds: async () => [{ endpoint: "http://l1", chainId: 901n }] } },
      /is --l1 the L2 endpoint\?/,
    ],
    [
      "another L1 genesis",
      { l1: { blockByNumber: async () => ({ hash: OTHER_HASH }) } },
      new RegExp(`${OTHER_HASH}.*${config.genesis.l1.hash}`),
    ],
    ["an L1 without the genesis block", { l1: { blockByNumber: async () => undefined } }, /does not have block 0/],
    ["another L2", { l2: { chainId: async () => 10n } }, /--l2 http:\/\/l2 is chain 10, but the rollup's L2 is chain 901/],
    [
      "a stand-in of another chain",
      {
        l1: {
          chainIds: async () => [
            { endpoint: "http://l1", chainId: 900n },
            { endpoint: "http://spare", chainId: 1n },
          ],
        },
      },
      /--l1 http:\/\/spare is chain 1/,
    ],
    ["the L1 given as L2", { l2: { chainId: async () => 900n } }, /is --l2 the L1 endpoint\?/],
    [
      "another L2 genesis",
      { l2: { hashByNumber: async () => OTHER_HASH } },
      new RegExp(`${OTHER_HASH}.*${config.genesis.l2.hash}`),
    ],
    ["an endpoint without Engine API", { engine: { capabilities: async () => ["eth_call"] } }, /no Engine API/],
    [
      "another JWT secret",
      { l2: { chainId: rejects(new EngineError("engine/unauthorized", { reason: "signature is invalid" })) } },
      /signature is invalid.*--l2.jwt-secret \/secret.txt/,
    ],
    [
      "an L2 endpoint that is something else",
      { l2: { chainId: rejects(new EngineError("engine/rpc-error", { reason: "x" })) } },
      /--l2/,
    ],
  ])("refuses %s in words", async (_, over, message) => {
    await expect(preflight(deps(over).all)).rejects.toThrow(message);
  });

  it("waits for endpoints that are not up yet, and gives up in the end", async () => {
    let failures = 3;
    const { all, sleptMs } = deps({
      l1: {
        chainIds: async () => {
          if (failures-- > 0) throw new L1Error("l1/unavailable", {});
          return [
            { endpoint: "http://down", chainId: undefined },
            { endpoint: "http://l1", chainId: 900n },
          ];
        },
      },
    });
    await preflight(all);
    expect(sleptMs).toEqual([500, 1_000, 2_000]);
    const never = deps({ l2: { chainId: rejects(new EngineError("engine/unavailable", { reason: "refused" })) } });
    await expect(preflight(never.all)).rejects.toThrow(/cannot be reached, gave up after 10 attempts/);
    expect(never.sleptMs).toHaveLength(9);
  });
});
