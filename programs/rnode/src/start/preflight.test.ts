import { RpcError } from "@rnode/jsonrpc";
import { L1Error } from "@rnode/l1";
import { EngineError, engineMethodsAt } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import { extraDataBytes, rollupRulesAt } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import { testConfig } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { type PreflightDeps, preflight } from "./preflight.ts";

const config = testConfig();
const { extraDataVersion, hasWithdrawals, hasBeaconRoot, hasExecutionRequests } = rollupRulesAt(
  config.forkTimes,
  config.genesis.l2TimeSec,
);
const word = (isThere: boolean) => (isThere ? new Uint8Array(32) : undefined);
/** A header of the form that the test configuration asks for. */
const HEADER = headerOf({
  timestamp: config.genesis.l2TimeSec,
  extraData: new Uint8Array(extraDataVersion === undefined ? 0 : extraDataBytes(extraDataVersion)).fill(
    extraDataVersion ?? 0,
    0,
    1,
  ),
  withdrawalsRoot: word(hasWithdrawals),
  parentBeaconBlockRoot: word(hasBeaconRoot),
  requestsHash: word(hasExecutionRequests),
});
const GENESIS = { hash: config.genesis.l2.hash, header: HEADER };
const NOW_SEC = 1_800_000_000;
const METHODS = engineMethodsAt(config.forkTimes, NOW_SEC);
const rejects = (error: Error) => (): Promise<never> => Promise.reject(error);
/** A client whose genesis is pruned. */
const headWithoutGenesis = async (block: unknown) =>
  block === "latest" ? { ...GENESIS, header: { ...HEADER, number: 7 } } : undefined;
const OTHER_HASH = `0x${"77".repeat(32)}` as const;

function deps(over: { l1?: object; l2?: object; engine?: object; facts?: object } = {}) {
  const sleptMs: number[] = [];
  const abort = new AbortController();
  const all = {
    config,
    l1: {
      chainIds: async () => [{ endpoint: "http://l1", chainId: 900n }],
      blockByNumber: async () => ({ hash: config.genesis.l1.hash }),
      blockByLabel: async () => ({ number: 9, timestamp: NOW_SEC - 5 }),
      ...over.l1,
    },
    l2: { chainId: async () => 901n, headerBy: async () => GENESIS, ...over.l2 },
    engine: { capabilities: async () => METHODS, knows: async () => true, ...over.engine },
    clock: { unixMs: () => NOW_SEC * 1000, monotonicMs: () => NOW_SEC * 1000, sleep: async (ms: number) => void sleptMs.push(ms) },
    log: silentLogger,
    l1Name: "http://l1",
    l2Name: "http://l2",
    jwtPath: "/secret.txt",
    forksFrom: "--override.jovian=5",
    isSequencer: false,
    checksHead: true,
    checksL2Genesis: true,
    signal: abort.signal,
    ...over.facts,
  } as unknown as PreflightDeps;
  return { all, sleptMs };
}

describe("preflight", () => {
  it("passes the right L1 and engine", async () => {
    await preflight(deps().all);
    await preflight(deps({ engine: { capabilities: async () => undefined } }).all);
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
    [
      "an L1 that is not at the genesis block yet",
      { l1: { blockByNumber: async () => undefined, blockByLabel: async () => ({ number: 0, timestamp: 0 }) } },
      /--l1 http:\/\/l1 does not have block 0/,
    ],
    [
      "an L1 that says nothing of its head either",
      { l1: { blockByNumber: async () => undefined, blockByLabel: async () => undefined } },
      /--l1 http:\/\/l1 does not have block 0/,
    ],
    ["an L2 without genesis block", { l2: { headerBy: async () => undefined } }, /--l2 http:\/\/l2 does not have block 0/],
    [
      "another L1 genesis where the L2 has none",
      { l1: { blockByNumber: async () => ({ hash: OTHER_HASH }) }, l2: { headerBy: headWithoutGenesis } },
      /--l1 http:\/\/l1 is another chain/,
    ],
    [
      "an old engine where the genesis is pruned",
      { l2: { headerBy: headWithoutGenesis }, engine: { capabilities: async () => METHODS.slice(1) } },
      /which the rollup's forks need now: update it/,
    ],
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
      { l2: { headerBy: async () => ({ ...GENESIS, hash: OTHER_HASH }) } },
      new RegExp(`${OTHER_HASH}.*${config.genesis.l2.hash}`),
    ],
    [
      "the users' port of the execution client",
      { engine: { capabilities: async () => undefined, knows: async () => false } },
      /^--l2 http:\/\/l2 has no Engine API: give the execution client's authenticated port/,
    ],
    ["an endpoint without Engine API", { engine: { capabilities: async () => ["eth_call"] } }, /no Engine API/],
    [
      "an engine that is too old for the forks",
      { engine: { capabilities: async () => METHODS.slice(1) } },
      new RegExp(`\\(--l2\\) does not have ${METHODS[0]}, which the rollup's forks need now: update it`),
    ],
    [
      "fork times that are not those of the genesis",
      { l2: { headerBy: async () => ({ ...GENESIS, header: { ...HEADER, extraData: new Uint8Array(17).fill(7) } }) } },
      /^--override.jovian=5 contradicts the genesis of the execution client at http:\/\/l2, block 0 .*extraData/,
    ],
    [
      "fork times that are not those of the head",
      {
        l2: {
          headerBy: async (block: unknown) =>
            block === "latest"
              ? { ...GENESIS, header: { ...HEADER, number: 7, requestsHash: undefined, withdrawalsRoot: undefined } }
              : GENESIS,
        },
      },
      /^--override.jovian=5 contradicts the head .*block 7 .*withdrawalsRoot.*rnode resync --from=N/,
    ],
    [
      "a sequencer whose clock is behind a public L1",
      {
        l1: {
          chainIds: async () => [{ endpoint: "http://l1", chainId: 1n }],
          blockByLabel: async () => ({ number: 9, timestamp: NOW_SEC + 300 }),
        },
        facts: { isSequencer: true, config: { ...config, l1ChainId: 1n } },
      },
      /clock is 300 s or more behind.*NTP/,
    ],
    [
      "a clock that the engine does not accept",
      { l2: { chainId: rejects(new EngineError("engine/unauthorized", { reason: "stale token" })) } },
      /\(stale token\): the clocks of both machines must agree/,
    ],
    [
      "a rollup node given as L1",
      { l1: { chainIds: rejects(new L1Error("l1/unavailable", {}, { cause: new RpcError(-32601, "Method not found") })) } },
      /^L1 at http:\/\/l1 \(--l1\) is not an execution client: it answers "Method not found"/,
    ],
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

  const gone = (code: number, text: string) =>
    rejects(new L1Error("l1/unavailable", { what: "block 0" }, { cause: new RpcError(code, text) }));
  it.each<[string, () => Promise<unknown>]>([
    ["null", async () => undefined],
    ["4444", gone(4444, "pruned history unavailable")],
    ["not found", gone(-32000, "header not found")],
  ])("warns of an L1 without the genesis block (%s), and of an L2", async (_, blockByNumber) => {
    const { log, logs } = recordingLogger();
    await preflight(deps({ l1: { blockByNumber }, l2: { headerBy: headWithoutGenesis }, facts: { log } }).all);
    const text = "a client no longer has the block that the rollup starts from, whose hash is therefore not checked";
    expect(logs).toEqual([
      { level: "warn", text, fields: { client: "--l1 http://l1", block: 0, expected: config.genesis.l1.hash } },
      { level: "warn", text, fields: { client: "--l2 http://l2", block: 0, expected: config.genesis.l2.hash } },
    ]);
  });

  it("does not take another failure of L1 for a pruned block", async () => {
    const failing = deps({ l1: { blockByNumber: gone(-32000, "database is corrupt") } });
    await expect(preflight(failing.all)).rejects.toThrow(/cannot be reached, gave up/);
  });

  it("warns a verifier whose clock is behind, and lets a head be taken back that does not fit the forks", async () => {
    await preflight(deps({ l1: { blockByLabel: async () => ({ number: 9, timestamp: NOW_SEC + 300 }) } }).all);
    const headerBy = async (block: unknown) =>
      block === "latest" ? { ...GENESIS, header: { ...HEADER, extraData: new Uint8Array(17).fill(7) } } : GENESIS;
    await preflight(deps({ l2: { headerBy }, facts: { checksHead: false } }).all);
  });

  it("does not ask for the L2 genesis of an engine that is synced by its own peers, but for the chain", async () => {
    const facts = { checksL2Genesis: false };
    const headerBy = async (block: unknown) => (block === "latest" ? GENESIS : undefined); // its head is the genesis
    await expect(preflight(deps({ l2: { headerBy } }).all)).rejects.toThrow(/does not have block 0/);
    await preflight(deps({ l2: { headerBy }, facts }).all);
    await expect(preflight(deps({ l2: { headerBy, chainId: async () => 902n }, facts }).all)).rejects.toThrow(/is chain 902/);
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
