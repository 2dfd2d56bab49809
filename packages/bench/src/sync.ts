import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rpcCall } from "@rnode/devnet";
import { bytesToHex, hexToBytes, ZERO_HASH } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { openChainStore } from "@rnode/storage";
import { benchOptions } from "./bench-options.ts";
import { transfers } from "./import-chains.ts";
import { copyDatabase, type GeneratedChain, generateChain } from "./import-generate.ts";
import type { ImportRun } from "./import-run.ts";
import { answers, EngineConnection, stopper, THIS_CHECKOUT } from "./rengine.ts";

/**
 * `npm run bench -- sync`: a rengine syncs a generated chain from two others on loopback, in turns with an import of the same blocks from a
 * file. One of the two dies when half of the blocks are there.
 */

const runFile = promisify(execFile);
const LIMIT_MS = 3_600_000;

interface Node {
  readonly child: ChildProcess;
  readonly url: string;
  readonly engine: EngineConnection;
  stop(): Promise<void>;
}

async function startNode(chain: GeneratedChain, datadir: string, args: readonly string[]): Promise<Node> {
  const [port, enginePort, peerPort] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(
    process.execPath,
    [
      join(THIS_CHECKOUT, "packages/execution-client/bin/rengine.js"),
      ...[`--chain=${chain.genesisFile}`, `--datadir=${datadir}`, "--http", `--http.port=${port}`, "--http.api=eth,net,admin"],
      ...[`--authrpc.port=${enginePort}`, "--rpc.workers=0", "--addr=127.0.0.1", `--port=${peerPort}`, "--nat=none"],
      ...["--disable-discovery", "--log.level=warn", ...args],
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const url = `http://127.0.0.1:${port}`;
  const kill = stopper(child);
  try {
    await answers(url, child);
  } catch (error) {
    await kill();
    throw error;
  }
  const engine = new EngineConnection(enginePort, hexToBytes(readFileSync(join(datadir, "jwt.hex"), "utf8").trim()));
  const stop = async (): Promise<void> => {
    await engine.close();
    await kill();
  };
  return { child, url, engine, stop };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** As soon as it listens for peers, which is after its RPC. */
async function enodeOf({ url }: Node): Promise<string> {
  for (;;) {
    const { enode } = await rpcCall<{ enode: string }>(url, "admin_nodeInfo", []);
    if (enode !== "") return enode;
    await pause(50);
  }
}

/** A data folder with a copy of a database. */
function dataFolder(from: string, to: string): string {
  mkdirSync(to, { recursive: true });
  copyDatabase(from, join(to, "chaindata"));
  return to;
}

/** Imports the blocks from their file, in a process of its own. */
async function importOnce(chain: GeneratedChain): Promise<ImportRun> {
  const database = join(chain.folder, "import");
  copyDatabase(chain.genesisDatabase, database);
  try {
    const script = fileURLToPath(new URL("./import-run.js", import.meta.url));
    const { stdout } = await runFile(process.execPath, [script, database, chain.blocksFile, "32"]);
    return JSON.parse(stdout) as ImportRun;
  } finally {
    rmSync(database, { recursive: true, force: true });
  }
}

/** @returns milliseconds from the fork choice to the head */
async function syncOnce(
  chain: GeneratedChain,
  head: { readonly number: number; readonly hash: string },
  loses: boolean,
): Promise<number> {
  const started: Node[] = [];
  const folders: string[] = [];
  const start = async (name: string, from: string, args: readonly string[] = []): Promise<Node> => {
    const folder = dataFolder(from, join(chain.folder, name));
    folders.push(folder);
    const node = await startNode(chain, folder, args);
    started.push(node);
    return node;
  };
  try {
    const full = join(chain.folder, "building");
    const servers = [await start("first", full), await start("second", full)];
    const enodes = await Promise.all(servers.map(enodeOf));
    const node = await start("third", chain.genesisDatabase, [`--trusted-peers=${enodes.join(",")}`]);
    while (Number(await rpcCall(node.url, "net_peerCount", [])) < servers.length) await pause(50);
    const zero = bytesToHex(ZERO_HASH);
    const state = { headBlockHash: head.hash, safeBlockHash: zero, finalizedBlockHash: zero };
    const startMs = performance.now();
    await node.engine.call("engine_forkchoiceUpdatedV3", [state, null]);
    let isLost = !loses;
    for (let at = 0; at < head.number; ) {
      await pause(20);
      at = Number(await rpcCall(node.url, "eth_blockNumber", []));
      if (!isLost && at > head.number / 2) {
        isLost = true;
        servers[1]!.child.kill("SIGKILL");
      }
      if (performance.now() - startMs > LIMIT_MS) throw new Error(`at block ${at} after ${LIMIT_MS} ms`);
    }
    return performance.now() - startMs;
  } finally {
    for (const node of started.reverse()) await node.stop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** @returns the exit code */
export async function main(args: readonly string[] = []): Promise<number> {
  const values = benchOptions("sync", args, {
    blocks: { type: "string", default: "5000", help: "blocks to sync" },
    transactions: { type: "string", default: "20", help: "transactions a block" },
    accounts: { type: "string", default: "100000", help: "accounts in the state" },
    rounds: { type: "string", default: "3", help: "runs" },
    "no-loss": { type: "boolean", help: "both peers live" },
  });
  const plan = transfers(Number(values.accounts), Number(values.blocks), Number(values.transactions));
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-sync-"));
  try {
    const chain = await generateChain(plan, folder);
    cpSync(join(folder, "building"), join(folder, "checked"), { recursive: true });
    const store = openChainStore(join(folder, "checked"), { readOnly: true });
    const head = store.head()!;
    await store.close();
    const imports: number[] = [];
    const syncs: number[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      imports.push((await importOnce(chain)).ms);
      syncs.push(await syncOnce(chain, head, !values["no-loss"]));
      console.log(
        `  round ${round + 1}: import ${(imports.at(-1)! / 1000).toFixed(1)} s, sync ${(syncs.at(-1)! / 1000).toFixed(1)} s; load ${loadavg()[0]!.toFixed(1)}`,
      );
    }
    const [imported, synced] = [median(imports), median(syncs)];
    const perSec = (ms: number): string => ((plan.blocks * 1000) / ms).toFixed(0);
    console.log(`${plan.name}: ${plan.blocks} blocks of ${plan.transactionsPerBlock} transactions`);
    console.log(`  import  ${perSec(imported)} blocks/s`);
    console.log(`  sync    ${perSec(synced)} blocks/s: ${((100 * imported) / synced).toFixed(0)} % of an import`);
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
