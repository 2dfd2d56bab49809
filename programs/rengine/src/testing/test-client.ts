import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JOVIAN_CONFIG, l1Info } from "@rnode/eth-api/testing";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, type Hex, hexToBytes, privateKeyToAddress, toQuantity } from "@rnode/primitives";
import { openMetrics, parseOptions, Readiness, Scope, systemClock } from "@rnode/program";
import { encodeTransaction, type L1BlockInfo, PREDEPLOYS } from "@rnode/protocol";
import { type RunningClient, startClient } from "../client.ts";
import { clientTable } from "../options.ts";
import { VERSION } from "../version.ts";

export const CHAIN_ID = JOVIAN_CONFIG.chainId;
export const GENESIS_TIME_SEC = 1_700_000_000;
export const RICH_KEY: Hex = `0x${"a1".repeat(32)}`;
export const RICH_ADDRESS: Hex = bytesToHex(privateKeyToAddress(hexToBytes(RICH_KEY)));
export const RICH_BALANCE = 10n ** 21n;
/** Long enough for the test's own limit to strike first, however slow the machine. */
const REQUEST_TIMEOUT_MS = 60_000;
const ZERO: Hex = `0x${"00".repeat(32)}`;
const word = (digits: string): Hex => `0x${digits.padStart(64, "0")}`;

/** A Jovian chain with one rich account, and with the fee parameters in L1Block's storage as the contract would hold them. */
export const GENESIS = {
  config: JOVIAN_CONFIG,
  timestamp: toQuantity(GENESIS_TIME_SEC),
  gasLimit: "0x1c9c380",
  baseFeePerGas: "0x3b9aca00",
  extraData: "0x01000000fa000000060000000000000000",
  alloc: {
    [RICH_ADDRESS]: { balance: toQuantity(RICH_BALANCE) },
    [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { nonce: "0x1", balance: "0x0", storage: { [ZERO]: word("1") } },
    [bytesToHex(PREDEPLOYS.l1Block)]: {
      nonce: "0x1", // not empty, so that the deposit to it does not delete it
      balance: "0x0",
      storage: {
        [word("1")]: word((7n * 10n ** 9n).toString(16)),
        [word("3")]: word(((1368n << 96n) | (810_949n << 64n)).toString(16)),
        [word("7")]: word("3"),
      },
    },
  },
};

export interface TestClient {
  readonly client: RunningClient;
  /** to be passed to `startTestClient` again */
  readonly folder: string;
  readonly httpUrl: string;
  readonly wsUrl: string;
  readonly rpc: RpcClient;
  readonly engine: RpcClient;
  /** As the rollup node does, builds a block on a parent from the pool and forced transactions, and makes it the head. */
  buildBlock(options?: BuildOptions): Promise<{ readonly hash: Hex; readonly number: number; readonly payload: BuiltPayloadJson }>;
  /** The first half of `buildBlock`. @returns the payload id */
  startBuild(options?: BuildOptions): Promise<Hex>;
  /** The second half of `buildBlock`. */
  finishBuild(payloadId: Hex): ReturnType<TestClient["buildBlock"]>;
  /** Makes a block of another client the head. */
  insert(payload: BuiltPayloadJson): Promise<void>;
  /** Stops the client. The folder remains, for `restart`. */
  close(): Promise<void>;
  remove(): Promise<void>;
}

interface BuildOptions {
  readonly parent?: { readonly hash: Hex; readonly timestampSec: number };
  readonly noTxPool?: boolean;
  readonly transactions?: readonly Hex[];
  readonly gasLimit?: bigint;
  /** content of the L1 attributes, in place of the chain's */
  readonly l1?: Partial<L1BlockInfo>;
}

export interface BuiltPayloadJson {
  readonly executionPayload: Readonly<Record<string, unknown>> & {
    readonly blockHash: Hex;
    readonly blockNumber: Hex;
    readonly transactions: Hex[];
  };
  readonly blockValue: Hex;
  readonly parentBeaconBlockRoot: Hex;
  readonly executionRequests: Hex[];
}

/** How a test's chain differs from the usual one. */
export interface TestChain {
  /** additional accounts, or replacements for the usual ones */
  readonly alloc?: Readonly<Record<Hex, object>>;
  /** the configuration of a different kind of chain; `buildBlock` makes blocks of an OP Stack chain */
  readonly config?: object;
  /** content of the L1 attributes in every block */
  readonly l1?: Partial<L1BlockInfo>;
  /** of the first block; default: 0 */
  readonly number?: Hex;
}

/** @param folder folder of an earlier client; default: a new one */
export async function startTestClient(
  extra: readonly string[] = [],
  folder = mkdtempSync(join(tmpdir(), "rengine-")),
  { alloc = {}, l1 = {}, config, number }: TestChain = {},
): Promise<TestClient> {
  const genesisPath = join(folder, "genesis.json");
  writeFileSync(
    genesisPath,
    JSON.stringify({ ...GENESIS, number, ...(config !== undefined && { config }), alloc: { ...GENESIS.alloc, ...alloc } }),
  );
  const api = "eth,net,web3,debug,txpool,miner";
  const isOnDemand = extra.some((given) => given.startsWith("--rpc.workeridle="));
  const own = [
    `--chain=${genesisPath}`,
    `--datadir=${join(folder, "data")}`,
    "--http",
    "--http.port=0",
    `--http.api=${api}`,
    "--ws",
    "--ws.port=0",
    `--ws.api=${api}`,
    "--authrpc.port=0",
    "--max-peers=0",
    ...(isOnDemand ? [] : ["--rpc.workers=0"]),
  ];
  const isReplaced = (arg: string): boolean => extra.some((given) => given.startsWith(`${arg.split("=", 1)[0]!}=`));
  const args = [...own.filter((arg) => !isReplaced(arg)), ...extra];
  const parsed = parseOptions(clientTable, args, {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const health = () => ({ isHealthy: true, body: { version: VERSION } });
  const metrics = await openMetrics(parsed.options.metrics, {
    prefix: "rengine_",
    version: VERSION,
    scope,
    health,
    ready: health,
    isUp: () => true,
    onListen: () => {},
  });
  const readiness = new Readiness(VERSION);
  const client = await startClient(scope, parsed.options, { log: silentLogger, clock: systemClock, metrics, readiness });
  const httpUrl = `http://127.0.0.1:${client.httpPort ?? 0}`;
  const jwtSecret = hexToBytes(readFileSync(client.jwtSecretPath, "utf8").trim());
  const rpc = createRpcClient({ url: httpUrl, timeoutMs: REQUEST_TIMEOUT_MS });
  const engine = createRpcClient({ url: `http://127.0.0.1:${client.enginePort}`, jwtSecret, timeoutMs: REQUEST_TIMEOUT_MS });

  const close = async (): Promise<void> => {
    await rpc.close();
    await engine.close();
    await scope.close();
  };
  const choose = (hash: Hex, withAttributes: object | null) =>
    engine.call<{ payloadStatus: { status: string }; payloadId: Hex | null }>("engine_forkchoiceUpdatedV3", [
      { headBlockHash: hash, safeBlockHash: ZERO, finalizedBlockHash: ZERO },
      withAttributes,
    ]);
  const insert = async ({ executionPayload }: BuiltPayloadJson): Promise<void> => {
    const imported = await engine.call<{ status: string }>("engine_newPayloadV4", [executionPayload, [], ZERO, []]);
    if (imported.status !== "VALID") throw new Error(JSON.stringify(imported));
    const { payloadStatus } = await choose(executionPayload.blockHash, null);
    if (payloadStatus.status !== "VALID") throw new Error(JSON.stringify(payloadStatus));
  };
  const finishBuild: TestClient["finishBuild"] = async (payloadId) => {
    const payload = await engine.call<BuiltPayloadJson>(getPayload, [payloadId]);
    await insert(payload);
    const { blockHash, blockNumber } = payload.executionPayload;
    return { hash: blockHash, number: Number(blockNumber), payload };
  };
  let sequence = 0;
  const getPayload = config !== undefined && "karstTime" in config ? "engine_getPayloadV5" : "engine_getPayloadV4";
  const startBuild: TestClient["startBuild"] = async ({
    parent,
    noTxPool = false,
    transactions = [],
    gasLimit = 30_000_000n,
    l1: own = {},
  } = {}) => {
    const head = await engine.call<{ hash: Hex; timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const parentHash = parent?.hash ?? head.hash;
    const timestamp = (parent?.timestampSec ?? Number(head.timestamp)) + 2;
    const deposit = { ...l1Info("jovian", { ...l1, ...own }), sourceHash: new Uint8Array(32).fill(++sequence) };
    const attributes = {
      timestamp: toQuantity(timestamp),
      prevRandao: ZERO,
      suggestedFeeRecipient: bytesToHex(PREDEPLOYS.sequencerFeeVault),
      withdrawals: [],
      parentBeaconBlockRoot: ZERO,
      transactions: [bytesToHex(encodeTransaction(deposit)), ...transactions],
      noTxPool,
      gasLimit: toQuantity(gasLimit),
      eip1559Params: "0x000000fa00000006",
      minBaseFee: 0,
    };
    const { payloadId } = await choose(parentHash, attributes);
    return payloadId!;
  };
  return {
    client,
    folder,
    httpUrl,
    wsUrl: `ws://127.0.0.1:${client.wsPort}`,
    rpc,
    engine,
    startBuild,
    finishBuild,
    buildBlock: async (options) => finishBuild(await startBuild(options)),
    insert,
    close,
    async remove() {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
