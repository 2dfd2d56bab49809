import { anyJson, createRpcClient, createRpcServer, type MethodTable, method, optionalParam, type RpcClient } from "@rnode/jsonrpc";
import { encodeCall } from "@rnode/l1";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, privateKeyToAddress } from "@rnode/primitives";
import { parseOptions, Scope, systemClock } from "@rnode/program";
import { testRollupConfigJson } from "@rnode/protocol/testing";
import { SignerServer } from "@rnode/signer/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { rproposerOptions } from "./options.ts";
import { type RunningProposer, startProposer } from "./start-proposer.ts";
import { VERSION } from "./version.ts";

/** Nothing listens there: a port that only root could open. */
const CLOSED = "http://127.0.0.1:1";
const PORTAL = `0x${"33".repeat(20)}`;
const ORACLE = `0x${"44".repeat(20)}`;
const FACTORY = `0x${"55".repeat(20)}`;
const ROLLUP = testRollupConfigJson({ deposit_contract_address: PORTAL });

type Answers = Readonly<Record<string, unknown>>;
async function endpoint(answers: Answers): Promise<string> {
  const anything = [optionalParam("a", anyJson), optionalParam("b", anyJson)] as const;
  const methods: MethodTable = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => {
      const handler = ([a]: readonly unknown[]) => (typeof answer === "function" ? (answer as (a: unknown) => unknown)(a) : answer);
      return [name, method({ params: anything, handler })];
    }),
  );
  const server = createRpcServer({ http: { host: "127.0.0.1", port: 0 }, methods, log: silentLogger });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${httpPort}`;
}

const word = (hex: string): string => hex.replace("0x", "").padStart(64, "0");
const selector = (signature: string): string => bytesToHex(encodeCall(signature, []));
/** Contracts that answer each function with a word; whatever else is called answers nothing. */
const contracts = (functions: Readonly<Record<string, Readonly<Record<string, string>>>>) => (call: unknown) => {
  const { to, data } = call as { to: string; data: string };
  for (const [signature, answer] of Object.entries(functions[to] ?? {})) {
    if (data.startsWith(selector(signature))) return `0x${word(answer)}`;
  }
  return "0x";
};
const WITH_ORACLE = contracts({ [PORTAL]: { "l2Oracle()": ORACLE }, [ORACLE]: { "nextBlockNumber()": "0x0a" } });
const GAMES = { "gameCount()": "0x00", "gameImpls(uint32)": FACTORY };
const WITH_GAMES = contracts({
  [PORTAL]: { "disputeGameFactory()": FACTORY, "respectedGameType()": "0x01" },
  [FACTORY]: GAMES,
});

interface Running extends RunningProposer {
  readonly rpc: RpcClient;
  readonly close: () => Promise<unknown>;
}

async function start(given: { l1?: Answers; node?: Answers; call?: unknown } = {}, args: readonly string[] = []): Promise<Running> {
  const l1 = await endpoint({ eth_chainId: "0x384", eth_call: given.call ?? WITH_ORACLE, ...given.l1 });
  const node = await endpoint(given.node ?? { optimism_rollupConfig: ROLLUP });
  const fixed = ["--rpc.addr=127.0.0.1", "--rpc.port=0", "--rpc.enable-admin", "--stopped"];
  if (!args.some((arg) => arg.startsWith("--signer"))) fixed.push(`--private-key=${"11".repeat(32)}`);
  const endpoints = args.some((arg) => /^--(?:rollup-rpc|superroot-rpcs)/.test(arg)) ? [] : [`--rollup-rpc=${node}`];
  const parsed = parseOptions(rproposerOptions, [`--l1-eth-rpc=${l1}`, ...endpoints, ...fixed, ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  onTestFinished(async () => void (await scope.close()));
  const health = () => ({ isHealthy: true, body: { version: VERSION } });
  const running = await startProposer(scope, parsed.options, { clock: systemClock, log: silentLogger, metrics: noMetrics, health });
  running.ready.catch(() => {});
  const rpc = createRpcClient({ url: `http://127.0.0.1:${running.rpcPort}` });
  onTestFinished(() => rpc.close());
  return { ...running, rpc, close: () => scope.close() };
}

describe("startProposer", () => {
  it("has a remote signer sign, and waits for one that is not there yet", async () => {
    const key = new Uint8Array(32).fill(0x22);
    const signer = await new SignerServer({ key }).listen();
    onTestFinished(() => signer.close());
    const address = bytesToHex(privateKeyToAddress(key));
    const args = [`--signer.endpoint=${signer.url}`, `--signer.address=${address}`, "--signer.tls.enabled=false"];
    await (await start({}, args)).ready;
    expect(signer.asked.map(({ method }) => method)).toEqual(["health_status"]);
    await signer.close();
    await start({}, args);
  });

  it.each<[string, unknown, string[]]>([
    ["the oracle of the portal", WITH_ORACLE, []],
    ["the game factory of the portal", WITH_GAMES, ["--proposal-interval=1h"]],
    ["an oracle by address", contracts({ [ORACLE]: { "nextBlockNumber()": "0x0a" } }), [`--l2oo-address=${ORACLE}`]],
    [
      "a game factory by address",
      contracts({ [FACTORY]: GAMES }),
      [`--game-factory-address=${FACTORY}`, "--proposal-interval=1h", "--game-type=0"],
    ],
  ])("takes %s", async (_, call, args) => {
    const { ready, status } = await start({ call }, args);
    await ready;
    expect(status()).toEqual({ waitingFor: "admin_startProposer" });
  });

  it.each<[string, Parameters<typeof start>[0], string[], string | RegExp]>([
    ["a portal without either", { call: () => "0x" }, [], "it names neither an output oracle nor a dispute game factory"],
    ["no contract at the oracle's address", {}, [`--l2oo-address=${FACTORY}`], /^--l2oo-address 0x55.*there is no contract/],
    ["games without an interval", { call: WITH_GAMES }, [], "--proposal-interval: 0s does not do"],
    ["an interval with an oracle", {}, ["--proposal-interval=1h"], "--proposal-interval: 3600s does not do"],
    ["a game type with an oracle", {}, ["--game-type=1"], "--game-type: 1 does not do"],
    [
      "a game type without an implementation",
      { call: contracts({ [FACTORY]: { ...GAMES, "gameImpls(uint32)": "0x00" } }) },
      [`--game-factory-address=${FACTORY}`, "--proposal-interval=1h"],
      "--game-type: 0 does not do",
    ],
    ["another L1", { l1: { eth_chainId: "0x1" } }, [], "--l1-eth-rpc: its L1 chain id is 1, but the rollup node's chain has 900"],
    [
      "an execution client as rollup node",
      { node: { eth_chainId: "0x385" } },
      [],
      /^--rollup-rpc http\S+ is not the rollup node: it answers .*; give the RPC address of the rollup node$/,
    ],
  ])("does not start on %s", async (_, given, args, message) => {
    const { ready } = await start(given, args);
    await expect(ready).rejects.toThrow(message);
  });

  it("follows the active one of several sequencers", async () => {
    const stopped = await endpoint({ admin_sequencerActive: false });
    const active = await endpoint({ admin_sequencerActive: true, rnode_rollupConfig: ROLLUP });
    const { ready } = await start({}, [`--rollup-rpc=${stopped},${active}`]);
    await ready;
  });

  describe("with sources of super roots", () => {
    const source = (more: Answers = {}) =>
      endpoint({
        ...more,
        superroot_atTimestamp: {
          current_l1: { hash: `0x${"01".repeat(32)}`, number: 1 },
          safe_timestamp: 10,
          finalized_timestamp: 8,
          chain_ids: ["901", "902"],
          optimistic_at_timestamp: {},
        },
      });
    const games = (type: number) => ["--proposal-interval=1h", `--game-factory-address=${FACTORY}`, `--game-type=${type}`];
    const SUPER_GAME = `0x${"66".repeat(20)}`;
    const factory = (implementation: string, ofGame: Readonly<Record<string, string>> = {}) =>
      contracts({ [FACTORY]: { "gameCount()": "0x00", "gameImpls(uint32)": implementation }, [implementation]: ofGame });

    it("needs neither a rollup configuration nor a portal", async () => {
      const { ready, status } = await start({ call: factory(SUPER_GAME) }, [`--superroot-rpcs=${await source()}`, ...games(9)]);
      await ready;
      expect(status()).toEqual({ waitingFor: "admin_startProposer" });
    });

    it("does not start on an L1 that is not the one of the sources", async () => {
      const urls = [await source(), await source({ optimism_rollupConfig: ROLLUP })].join(",");
      const args = [`--superroot-rpcs=${urls}`, ...games(9)];
      await (await start({ call: factory(SUPER_GAME) }, args)).ready;
      const { ready } = await start({ call: factory(SUPER_GAME), l1: { eth_chainId: "0x1" } }, args);
      await expect(ready).rejects.toThrow("--l1-eth-rpc: its L1 chain id is 1, but the rollup node's chain has 900");
    });

    it("asks the implementation of an unknown type what its claims are", async () => {
      const call = factory(SUPER_GAME, { "l2BlockNumber()": "0x01" });
      const outputs = [`--superroot-rpcs=${await source()}`, ...games(77)];
      await expect((await start({ call }, outputs)).ready).rejects.toThrow("this type's claims are output roots");
      await (await start({ call }, games(77))).ready;
      await (await start({ call: factory(SUPER_GAME) }, outputs)).ready;
      await expect((await start({ call: factory(SUPER_GAME) }, games(77))).ready).rejects.toThrow("claims are super roots");
    });

    it("does not start with another kind of node, and waits for one of several", async () => {
      const other = await endpoint({ optimism_rollupConfig: ROLLUP });
      const args = (urls: string) => [`--superroot-rpcs=${urls}`, ...games(9)];
      await expect((await start({ call: factory(SUPER_GAME) }, args(other))).ready).rejects.toThrow(
        /^--superroot-rpcs http\S+ is not the source of super roots/,
      );
      const { status, close } = await start({ call: factory(SUPER_GAME) }, args(`${other},${CLOSED}`));
      expect(status()).toEqual({ waitingFor: expect.stringContaining("source of super roots") });
      await close();
      await (await start({ call: factory(SUPER_GAME) }, args(`${other},${await source()}`))).ready;
    });

    it("does not make games of output roots for a portal that respects super games", async () => {
      const call = contracts({
        [PORTAL]: { "disputeGameFactory()": FACTORY, "respectedGameType()": "0x09" },
        [FACTORY]: GAMES,
      });
      await expect((await start({ call }, ["--proposal-interval=1h"])).ready).rejects.toThrow(
        "--game-type: 9 does not do; expected a type of games with output roots (0, 1, 8), or --superroot-rpcs",
      );
    });
  });

  it("waits for a node that is away, and can be closed meanwhile", async () => {
    const { ready, status, rpc, close } = await start({}, [`--rollup-rpc=${CLOSED}`]);
    await expect(rpc.call("admin_startProposer")).rejects.toThrow("proposer is starting");
    expect(status()).toEqual({ waitingFor: `rollup node ${CLOSED}` });
    await close();
    await ready;
  });

  it("serves its health and its administration", async () => {
    const { ready, rpc, rpcPort } = await start();
    await ready;
    expect(await (await fetch(`http://127.0.0.1:${rpcPort}/healthz`)).json()).toEqual({ version: VERSION });
    expect(await rpc.call("health_status")).toBe(VERSION);
    await expect(rpc.call("admin_stopProposer")).rejects.toThrow("proposer is not running");
    expect(await rpc.call("admin_startProposer")).toBeNull();
    await expect(rpc.call("admin_startProposer")).rejects.toThrow("proposer is already running");
    expect(await rpc.call("admin_stopProposer")).toBeNull();
    expect(await rpc.call("admin_setLogLevel", ["error"])).toBeNull();
    await expect(rpc.call("admin_setLogLevel", ["loud"])).rejects.toThrow("unknown level: loud");
  });
});
