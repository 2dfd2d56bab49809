import { mkdtempSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anyJson, createRpcClient, createRpcServer, type MethodTable, method, optionalParam, type RpcServer } from "@rnode/jsonrpc";
import { createLogger, noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, privateKeyToAddress } from "@rnode/primitives";
import { parseOptions, Scope, systemClock } from "@rnode/program";
import { hashHeader, headerFromRpc, rollupConfigToJson } from "@rnode/protocol";
import { SignerServer } from "@rnode/signer/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Batcher, startBatcher } from "./batcher.ts";
import { rbatcherOptions } from "./options.ts";
import { simRollupConfig } from "./testing/sim-rollup.ts";
import { VERSION } from "./version.ts";

/** Nothing listens there: a port that only root could open. */
const CLOSED_PORT = 1;
const ZERO_REF = { hash: `0x${"00".repeat(32)}`, number: 0, parentHash: `0x${"00".repeat(32)}`, timestamp: 0 };
const ZERO_L2_REF = { ...ZERO_REF, l1origin: { hash: ZERO_REF.hash, number: 0 }, sequenceNumber: 0 };
const ZERO_HASH = `0x${"00".repeat(32)}`;
/** The genesis block of both chains, in the form of `eth_getBlockByNumber`. */
const GENESIS_FIELDS = {
  parentHash: ZERO_HASH,
  sha3Uncles: ZERO_HASH,
  miner: `0x${"00".repeat(20)}`,
  stateRoot: ZERO_HASH,
  transactionsRoot: ZERO_HASH,
  receiptsRoot: ZERO_HASH,
  logsBloom: `0x${"00".repeat(256)}`,
  difficulty: "0x0",
  number: "0x0",
  gasLimit: "0x1c9c380",
  gasUsed: "0x0",
  timestamp: "0x6553f100",
  extraData: "0x",
  mixHash: ZERO_HASH,
  nonce: "0x0000000000000000",
  baseFeePerGas: "0x7",
  transactions: [],
};
const blockOf = (fields: object): Readonly<Record<string, unknown>> => ({
  ...fields,
  hash: bytesToHex(hashHeader(headerFromRpc(fields))),
});
const GENESIS = blockOf(GENESIS_FIELDS);
const OTHER_GENESIS = blockOf({ ...GENESIS_FIELDS, timestamp: "0x1" });
const withGenesis = () => {
  const config = rollupConfigToJson(simRollupConfig()) as { genesis: { l2: object } };
  return { ...config, genesis: { ...config.genesis, l2: { hash: GENESIS.hash, number: 0 } } };
};

/** An endpoint with constant answers. */
async function endpoint(answers: Readonly<Record<string, unknown>>, jwtSecret?: Uint8Array): Promise<string> {
  const anything = [optionalParam("a", anyJson), optionalParam("b", anyJson)] as const;
  const methods: MethodTable = Object.fromEntries(
    Object.entries(answers)
      .filter(([, answer]) => answer !== undefined)
      .map(([name, answer]) => [name, method({ params: anything, handler: () => answer })]),
  );
  const server: RpcServer = createRpcServer({ http: { host: "127.0.0.1", port: 0 }, methods, jwtSecret, log: silentLogger });
  const { httpPort } = await server.listen();
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${httpPort}`;
}

interface Endpoints {
  readonly l1?: Readonly<Record<string, unknown>>;
  readonly l2?: Readonly<Record<string, unknown>>;
  readonly node?: Readonly<Record<string, unknown>>;
  readonly l2JwtSecret?: Uint8Array;
  /** instead of a node with the answers above */
  readonly rollupRpc?: string;
}

async function start(
  endpoints: Endpoints = {},
  args: readonly string[] = [],
): Promise<{ batcher: Batcher; url: string; close: () => Promise<void> }> {
  const config = withGenesis();
  const l1 = await endpoint({ eth_chainId: "0x384", eth_getTransactionCount: "0x0", ...endpoints.l1 });
  const l2 = await endpoint({ eth_chainId: "0x385", eth_getBlockByNumber: GENESIS, ...endpoints.l2 }, endpoints.l2JwtSecret);
  const status = {
    head_l1: ZERO_REF,
    current_l1: ZERO_REF,
    unsafe_l2: ZERO_L2_REF,
    safe_l2: ZERO_L2_REF,
    finalized_l2: ZERO_L2_REF,
  };
  const node = await endpoint(endpoints.node ?? { rnode_rollupConfig: config, rnode_syncStatus: status });
  const parsed = parseOptions(
    rbatcherOptions,
    [
      `--l1-eth-rpc=${l1}`,
      `--l2-eth-rpc=${l2}`,
      `--rollup-rpc=${endpoints.rollupRpc ?? node}`,
      ...(args.some((arg) => arg.startsWith("--signer")) ? [] : [`--private-key=${"11".repeat(32)}`]),
      "--rpc.addr=127.0.0.1",
      "--rpc.port=0",
      "--poll-interval=20ms",
      ...args,
    ],
    {},
  );
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const log = createLogger({ level: "silent", format: "logfmt" });
  const scope = new Scope({ log, clock: systemClock });
  const close = async () => {
    await scope.close();
  };
  onTestFinished(close);
  const health = () => ({ isHealthy: true, body: { version: VERSION } });
  const batcher = await startBatcher(scope, parsed.options, { clock: systemClock, log, metrics: noMetrics, health });
  return { batcher, close, url: `http://127.0.0.1:${batcher.rpcPort}` };
}

function client(url: string) {
  const rpc = createRpcClient({ url });
  onTestFinished(() => rpc.close());
  return rpc;
}

describe("startBatcher", () => {
  it("has a remote signer sign, and waits for one that is not there yet", async () => {
    const key = new Uint8Array(32).fill(0x22);
    const signer = await new SignerServer({ key }).listen();
    onTestFinished(() => signer.close());
    const address = bytesToHex(privateKeyToAddress(key));
    const args = [`--signer.endpoint=${signer.url}`, `--signer.address=${address}`, "--signer.tls.enabled=false"];
    const { batcher } = await start({}, args);
    await batcher.ready;
    expect(signer.asked.map(({ method }) => method)).toEqual(["health_status"]);
    await signer.close();
    await start({}, args);
  });

  it("reads blocks from an authenticated endpoint when it is given the secret", async () => {
    const directory = mkdtempSync(join(tmpdir(), "rbatcher-"));
    const file = join(directory, "jwt.hex");
    const secret = new Uint8Array(32).fill(9);
    writeFileSync(file, Buffer.from(secret).toString("hex"));
    const { batcher } = await start({ l2JwtSecret: secret }, [`--l2-jwt-secret=${file}`, "--stopped"]);
    await batcher.ready;
    expect(batcher.status()).toEqual({ waitingFor: "admin_startBatcher" });
    await expect(start({}, [`--l2-jwt-secret=${file}.missing`])).rejects.toThrow(
      /--l2-jwt-secret: .*no such file.*--authrpc.jwtsecret/,
    );
    writeFileSync(file, "no secret");
    await expect(start({}, [`--l2-jwt-secret=${file}`])).rejects.toThrow(/--l2-jwt-secret: .*not 32 hex-formatted bytes/);
  });

  it("serves its health and, when told to, its administration", async () => {
    const { batcher, url } = await start({}, ["--rpc.enable-admin", "--stopped"]);
    await batcher.ready;
    const healthz = await fetch(`${url}/healthz`);
    expect([healthz.status, await healthz.json()]).toEqual([200, { version: VERSION }]);
    const rpc = client(url);
    expect(await rpc.call("health_status")).toBe(VERSION);
    await expect(rpc.call("admin_stopBatcher")).rejects.toThrow("batcher is not running");
    await expect(rpc.call("admin_flushBatcher")).rejects.toThrow("batcher is not running");
    expect(await rpc.call("admin_startBatcher")).toBeNull();
    await expect(rpc.call("admin_startBatcher")).rejects.toThrow("batcher is already running");
    expect(await rpc.call("admin_flushBatcher")).toBeNull();
    expect(await rpc.call("admin_stopBatcher")).toBeNull();
    expect(await rpc.call("admin_setLogLevel", ["error"])).toBeNull();
    await expect(rpc.call("admin_setLogLevel", ["loud"])).rejects.toThrow("unknown level: loud");
  });

  it("answers no browser's page and no name it was not told of", async () => {
    const status = async (args: string[], headers: Record<string, string>): Promise<number> => {
      const { url } = await start({}, args);
      return new Promise((resolve, reject) => {
        get(`${url}/healthz`, { headers }, (response) => resolve(response.resume().statusCode!)).on("error", reject);
      });
    };
    expect(await status([], { origin: "https://evil.example" })).toBe(403);
    expect(await status(["--rpc.corsdomain=https://app.example"], { origin: "https://app.example" })).toBe(200);
    expect(await status([], { host: "evil.example" })).toBe(403);
    expect(await status(["--rpc.vhosts=batcher.example"], { host: "batcher.example" })).toBe(200);
  });

  it("keeps the administration to itself by default", async () => {
    const { batcher, url } = await start();
    await batcher.ready;
    await expect(client(url).call("admin_stopBatcher")).rejects.toMatchObject({ code: -32601 });
  });

  it("knows a node with upstream's namespace", async () => {
    const { batcher } = await start({ node: { optimism_rollupConfig: withGenesis() } });
    await batcher.ready;
  });

  it.each<[string, Endpoints, string[], string | RegExp]>([
    ["another L1", { l1: { eth_chainId: "0x1" } }, [], "--l1-eth-rpc: its L1 chain id is 1, but the rollup node's chain has 900"],
    ["another L2", { l2: { eth_chainId: "0x1" } }, [], "--l2-eth-rpc: its L2 chain id is 1, but the rollup node's chain has 901"],
    [
      "another genesis",
      { l2: { eth_getBlockByNumber: OTHER_GENESIS } },
      [],
      `its L2 genesis block is ${String(OTHER_GENESIS.hash)}`,
    ],
    ["no genesis", { l2: { eth_getBlockByNumber: null, eth_blockNumber: "0x0" } }, [], "its L2 genesis block is none"],
    [
      "an L2 execution client as rollup node",
      { node: { eth_chainId: "0x385" } },
      [],
      /^--rollup-rpc http\S+ is not the rollup node: it answers .*; give the RPC address of the rollup node$/,
    ],
    ["a rollup node as L2", { l2: { eth_chainId: undefined } }, [], /^--l2-eth-rpc http\S+ is not /],
    ["a rollup node as L1", { l1: { eth_chainId: undefined } }, [], /^--l1-eth-rpc http\S+ is not /],
    ["a margin beyond the channel timeout", {}, ["--sub-safety-margin=60"], "--sub-safety-margin: 60 does not do"],
  ])("does not start on %s", async (_, endpoints, args, message) => {
    const { batcher } = await start(endpoints, args);
    await expect(batcher.ready).rejects.toThrow(message);
  });

  it("starts on an L2 client that no longer has the genesis", async () => {
    const { batcher } = await start({ l2: { eth_getBlockByNumber: null, eth_blockNumber: "0x9" } });
    await batcher.ready;
  });

  it("waits for a node that is away, and can be closed meanwhile", async () => {
    const { batcher, close, url } = await start({ rollupRpc: `http://127.0.0.1:${CLOSED_PORT}` }, ["--rpc.enable-admin"]);
    await expect(client(url).call("admin_startBatcher")).rejects.toThrow("batcher is starting");
    expect(batcher.status()).toEqual({ waitingFor: `rollup node http://127.0.0.1:${CLOSED_PORT}` });
    await close();
    await batcher.ready;
  });

  it("says that its port is taken", async () => {
    const { batcher } = await start();
    await expect(start({}, [`--rpc.port=${batcher.rpcPort}`])).rejects.toThrow("--rpc.port: port ");
  });
});
