import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rpcCall } from "@rnode/devnet";
import { bytesToHex, type Hex, keccak256, padBytesLeft, toQuantity } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { treeCpuSec } from "../common/process-usage.ts";
import { answers, stopper, THIS_CHECKOUT } from "../common/rengine.ts";
import { tokenTransfers } from "../import/import-chains.ts";
import { type GeneratedChain, generateChain } from "../import/import-generate.ts";
import { type ForeignClient, importForeign, serveForeign } from "./foreign-clients.ts";
import { httpRequest, type LoadResult, percentile, runLoad } from "./rpc-load.ts";
import { median, type Row } from "./rpc-report.ts";
import type { RpcTarget } from "./rpc-targets.ts";

/*
 * Rows of `npm run bench -- rpc --varied`: thousands of different requests about older blocks, so caches of whole blocks or
 * answers do not help. The chain has blocks of 400 token transfers, so 8,000 logs in 20 blocks; each sender has one in each
 * block.
 */

const BLOCKS = 60;
const TRANSFERS = 400;
const HOLDERS = 20_000;
/** the range of the log requests */
const LOG_BLOCKS = 20;
/** different requests of a row, unless there are fewer */
const REQUESTS = 4000;
const TOKEN = bytesToHex(padBytesLeft(Uint8Array.of(0x07, 0x0c, 0xe0), 20));

const CONNECTIONS = 16;
const WARM_UP_MS = 1500;

interface VariedScenario {
  readonly name: string;
  readonly bodies: readonly string[];
}

interface VariedChain {
  readonly generated: GeneratedChain;
  /** data folder of rengine */
  readonly datadir: string;
  remove(): void;
}

/** Generates the chain; some ten seconds. */
async function generateVariedChain(): Promise<VariedChain> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-varied-"));
  const generated = await generateChain(tokenTransfers(HOLDERS, BLOCKS, TRANSFERS), folder);
  const datadir = join(folder, "data");
  mkdirSync(datadir);
  renameSync(join(folder, "building"), join(datadir, "chaindata"));
  return { generated, datadir, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

interface VariedTargetOptions {
  readonly checkout?: string | undefined;
  readonly nodeArgs?: readonly string[];
  readonly args?: readonly string[];
}

/** rengine on the generated chain. */
async function startVariedTarget(
  { generated, datadir }: VariedChain,
  { checkout = THIS_CHECKOUT, nodeArgs = [], args = [] }: VariedTargetOptions = {},
): Promise<RpcTarget> {
  const [port, enginePort] = [await freePort(), await freePort()];
  const child = spawn(
    process.execPath,
    [
      ...nodeArgs,
      join(checkout, "programs/rengine/bin/rengine.js"),
      `--chain=${generated.genesisFile}`,
      `--datadir=${datadir}`,
      ...["--http", "--http.api=eth,debug,trace,web3,net", `--http.port=${port}`, `--authrpc.port=${enginePort}`, "--max-peers=0"],
      ...["--log.level=warn", "--rpc.max-connections=1000"],
      ...args,
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const url = `http://127.0.0.1:${port}`;
  const stop = stopper(child);
  try {
    await answers(url, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: "rengine", pid: child.pid!, port, url, mine: () => Promise.resolve(), stop };
}

const TRANSFER_TOPIC = bytesToHex(keccak256(new TextEncoder().encode("Transfer(address,address,uint256)")));

/** The same order on every run: neighbours in it are far apart in the chain. */
function scattered<T>(values: readonly T[]): T[] {
  const step = 7919; // a prime, and so a permutation of any list that is not a multiple of it
  return Array.from({ length: Math.min(values.length, REQUESTS) }, (_, index) => values[(index * step) % values.length]!);
}

async function variedScenarios({ generated }: VariedChain, url: string): Promise<VariedScenario[]> {
  const call = (method: string, params: readonly unknown[]): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const hashes: Hex[] = scattered(generated.transactions.flat().map((encoded) => bytesToHex(keccak256(encoded))));
  const head = Number(await rpcCall<Hex>(url, "eth_blockNumber", []));
  const ofBlocks = Array.from({ length: head }, (_, index) => toQuantity(1 + ((index * 37) % head)));
  const senders = Array.from({ length: TRANSFERS }, (_, index) => generated.plan.transaction(0, index).sender);
  const starts = Array.from({ length: head - LOG_BLOCKS }, (_, index) => 1 + index);
  const range = (from: number): object => ({ fromBlock: toQuantity(from), toBlock: toQuantity(from + LOG_BLOCKS - 1) });
  const pairs = scattered(starts.flatMap((from) => senders.map((sender) => ({ from, sender }))));
  const accounts = scattered(ofBlocks.flatMap((block) => senders.map((sender) => [bytesToHex(sender), block] as const)));
  const row = (name: string, bodies: readonly string[]): VariedScenario => ({ name, bodies });
  const each = <T>(method: string, values: readonly T[], paramsOf: (value: T) => readonly unknown[]): string[] =>
    values.map((value) => call(method, paramsOf(value)));
  return [
    row(
      "varied: receipt by hash",
      each("eth_getTransactionReceipt", hashes, (hash) => [hash]),
    ),
    row(
      "varied: transaction by hash",
      each("eth_getTransactionByHash", hashes, (hash) => [hash]),
    ),
    row(
      `varied: logs, ${LOG_BLOCKS} blocks, ${LOG_BLOCKS} hits of ${LOG_BLOCKS * TRANSFERS}`,
      each("eth_getLogs", pairs, ({ from, sender }) => [
        { ...range(from), address: TOKEN, topics: [TRANSFER_TOPIC, bytesToHex(padBytesLeft(sender, 32))] },
      ]),
    ),
    row(
      `varied: logs, ${LOG_BLOCKS} blocks, all ${LOG_BLOCKS * TRANSFERS}`,
      each("eth_getLogs", starts, (from) => [{ ...range(from), address: TOKEN }]),
    ),
    row(
      "varied: full block, 400 txs",
      each("eth_getBlockByNumber", ofBlocks, (block) => [block, true]),
    ),
    row(
      "varied: block with hashes",
      each("eth_getBlockByNumber", ofBlocks, (block) => [block, false]),
    ),
    row(
      "varied: block receipts",
      each("eth_getBlockReceipts", ofBlocks, (block) => [block]),
    ),
    row(
      "varied: balance, older blocks",
      each("eth_getBalance", accounts, (params) => params),
    ),
    row(
      "varied: callTracer, block",
      each("debug_traceBlockByNumber", ofBlocks, (block) => [block, { tracer: "callTracer" }]),
    ),
  ];
}

interface VariedOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly only: RegExp | undefined;
  readonly own: VariedTargetOptions;
  readonly clients: readonly ForeignClient[];
  readonly onRows: (rows: readonly Row[]) => void;
}

/** rengine and the other clients in turn, on the same chain. */
export async function measureVaried({ seconds, rounds, only, own, clients, onRows }: VariedOptions): Promise<Row[]> {
  const chain = await generateVariedChain();
  const targets: RpcTarget[] = [];
  try {
    targets.push(await startVariedTarget(chain, own));
    for (const client of clients) {
      const datadir = join(chain.generated.folder, client.name);
      await importForeign(client, chain.generated, datadir);
      targets.push(await serveForeign(client, chain.generated, datadir));
    }
    const rows: Row[] = [];
    for (const { name, bodies } of await variedScenarios(chain, targets[0]!.url)) {
      if (only !== undefined && !only.test(name)) continue;
      const measured = await measureScenario(targets, name, bodies.map(httpRequest), { seconds, rounds });
      rows.push(...measured);
      onRows(measured);
    }
    return rows;
  } finally {
    for (const target of targets) await target.stop();
    chain.remove();
  }
}

async function measureScenario(
  targets: readonly RpcTarget[],
  scenario: string,
  requests: readonly Buffer[],
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<Row[]> {
  const measured = targets.map((target) => ({ target, at: 0, cpuSec: 0, results: [] as LoadResult[] }));
  const load = (of: (typeof measured)[number], durationMs: number): Promise<LoadResult> =>
    runLoad({ port: of.target.port, connections: CONNECTIONS, next: () => requests[of.at++ % requests.length], durationMs });
  for (const of of measured) await load(of, WARM_UP_MS);
  for (let round = 0; round < rounds; round++) {
    for (const of of measured) {
      const before = treeCpuSec(of.target.pid);
      of.results.push(await load(of, seconds * 1000));
      of.cpuSec += treeCpuSec(of.target.pid) - before;
    }
  }
  return measured.map(({ target, cpuSec, results }) => {
    const count = results.reduce((sum, result) => sum + result.requests, 0);
    const perSec = results.map((result) => result.requests / result.seconds);
    const latencies = Float64Array.from(results.flatMap(({ latenciesMs }) => latenciesMs)).sort();
    return {
      scenario,
      connections: CONNECTIONS,
      target: target.name,
      rounds: perSec,
      requestsPerSec: median(perSec),
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      cpuUs: (cpuSec * 1e6) / count,
      errors: results.reduce((sum, result) => sum + result.errors, 0),
    };
  });
}
