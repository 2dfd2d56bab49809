import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { anvilBinary, rpcCall } from "@rnode/devnet";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { encodeL1BlockInfo, encodeTransaction, L1_ATTRIBUTES_DEPOSITOR, PREDEPLOYS } from "@rnode/protocol";

/** A client that is measured, on a chain of its own. */
export interface RpcTarget {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  /** Puts what waits in the pool into a block. */
  mine(): Promise<void>;
  stop(): Promise<void>;
}

export interface TargetOptions {
  readonly chainId: number;
  readonly gasLimit: bigint;
  readonly timestampSec: number;
  readonly rich: readonly Hex[];
}

const RICH_WEI = 10n ** 24n;
const ZERO: Hex = `0x${"00".repeat(32)}`;
const START_LIMIT_MS = 30_000;

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  const endMs = Date.now() + START_LIMIT_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
    try {
      await rpcCall(url, "eth_chainId");
      return;
    } catch (error) {
      if (Date.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

function stopper(child: ChildProcess): () => Promise<void> {
  return async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.kill()) await ended;
  };
}

export async function startAnvilTarget({ chainId, gasLimit, timestampSec, rich }: TargetOptions): Promise<RpcTarget> {
  const port = await freePort();
  const limits = ["--gas-limit", String(gasLimit), "--timestamp", String(timestampSec), "--chain-id", String(chainId)];
  const args = ["--port", String(port), "--silent", "--no-mining", "--accounts", "1", "--order", "fifo", ...limits];
  const child = spawn(anvilBinary(), args, { stdio: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  const stop = stopper(child);
  try {
    await answers(url, child);
    for (const address of rich) await rpcCall(url, "anvil_setBalance", [address, toQuantity(RICH_WEI)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: "anvil", pid: child.pid!, port, url, mine: async () => void (await rpcCall(url, "evm_mine")), stop };
}

/** @param nodeArgs for Node: profiling */
export async function startRengineTarget(
  options: TargetOptions,
  { nodeArgs = [], args = [] }: { readonly nodeArgs?: readonly string[]; readonly args?: readonly string[] } = {},
): Promise<RpcTarget> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-rpc-"));
  const [port, enginePort] = [await freePort(), await freePort()];
  const genesisPath = join(folder, "genesis.json");
  writeFileSync(genesisPath, JSON.stringify(genesis(options)));
  const entry = join(dirname(createRequire(import.meta.url).resolve("@rnode/devnet")), "../../execution-client/bin/rengine.js");
  const child = spawn(
    process.execPath,
    [
      ...nodeArgs,
      entry,
      `--chain=${genesisPath}`,
      `--datadir=${join(folder, "data")}`,
      ...["--http", `--http.port=${port}`, `--authrpc.port=${enginePort}`, "--log.level=warn", "--rpc.max-connections=1000"],
      ...args,
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const url = `http://127.0.0.1:${port}`;
  const kill = stopper(child);
  const stop = async (): Promise<void> => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await answers(url, child);
  } catch (error) {
    await stop();
    throw error;
  }
  const secret = hexToBytes(readFileSync(join(folder, "data", "jwt.hex"), "utf8").trim());
  const engine = engineCaller(`http://127.0.0.1:${enginePort}`, secret);
  const mine = blockBuilder(engine, options.gasLimit);
  return { name: "rengine", pid: child.pid!, port, url, mine, stop };
}

/** A Jovian chain. */
function genesis({ chainId, gasLimit, timestampSec, rich }: TargetOptions): object {
  const forks = ["regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"];
  return {
    config: {
      chainId,
      bedrockBlock: 0,
      ...Object.fromEntries(forks.map((fork) => [`${fork}Time`, 0])),
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    },
    timestamp: toQuantity(timestampSec),
    gasLimit: toQuantity(gasLimit),
    baseFeePerGas: "0x3b9aca00",
    extraData: "0x01000000fa000000060000000000000000",
    alloc: {
      ...Object.fromEntries(rich.map((address) => [address, { balance: toQuantity(RICH_WEI) }])),
      [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { nonce: "0x1", balance: "0x0" },
      [bytesToHex(PREDEPLOYS.l1Block)]: { nonce: "0x1", balance: "0x0" },
    },
  };
}

type Call = <T>(method: string, params: readonly unknown[]) => Promise<T>;

function engineCaller(url: string, secret: Uint8Array): Call {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return async <T>(method: string, params: readonly unknown[]) => {
    const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iat: Math.floor(Date.now() / 1000) })}`;
    const token = `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: T; error?: unknown };
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
}

/** Does what the rollup node does: attributes, payload, new payload, fork choice. */
function blockBuilder(engine: Call, gasLimit: bigint): () => Promise<void> {
  let sequence = 0;
  return async () => {
    const head = await engine<{ hash: Hex; timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const deposit = encodeTransaction({
      type: 0x7e,
      sourceHash: new Uint8Array(32).fill(++sequence),
      from: L1_ATTRIBUTES_DEPOSITOR,
      to: PREDEPLOYS.l1Block,
      mint: 0n,
      value: 0n,
      gasLimit: 1_000_000n,
      isSystemTx: false,
      data: l1Info(sequence),
    });
    const attributes = {
      timestamp: toQuantity(Number(head.timestamp) + 2),
      prevRandao: ZERO,
      suggestedFeeRecipient: bytesToHex(PREDEPLOYS.sequencerFeeVault),
      withdrawals: [],
      parentBeaconBlockRoot: ZERO,
      transactions: [bytesToHex(deposit)],
      noTxPool: false,
      gasLimit: toQuantity(gasLimit),
      eip1559Params: "0x000000fa00000006",
      minBaseFee: 0,
    };
    const state = (headBlockHash: Hex) => ({ headBlockHash, safeBlockHash: ZERO, finalizedBlockHash: ZERO });
    const { payloadId } = await engine<{ payloadId: Hex }>("engine_forkchoiceUpdatedV3", [state(head.hash), attributes]);
    await new Promise((resolve) => setTimeout(resolve, 300)); // the builder fills the block meanwhile
    const { executionPayload } = await engine<{ executionPayload: { blockHash: Hex } }>("engine_getPayloadV4", [payloadId]);
    await engine("engine_newPayloadV4", [executionPayload, [], ZERO, []]);
    await engine("engine_forkchoiceUpdatedV3", [state(executionPayload.blockHash), null]);
  };
}

const l1Info = (sequenceNumber: number): Uint8Array =>
  encodeL1BlockInfo({
    layout: "jovian",
    number: 100,
    timestamp: 1_699_999_990,
    baseFee: 7_000_000_000n,
    blockHash: new Uint8Array(32).fill(0x44),
    sequenceNumber,
    batcherHash: new Uint8Array(32),
    overhead: new Uint8Array(32),
    scalar: new Uint8Array(32),
    blobBaseFee: 3n,
    baseFeeScalar: 1368,
    blobBaseFeeScalar: 810_949,
    operatorFeeScalar: 0,
    operatorFeeConstant: 0n,
    daFootprintGasScalar: 0,
  });
