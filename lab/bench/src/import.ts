import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { benchOptions } from "./bench-options.ts";
import { AnvilMiner, type AnvilRun } from "./import/import-anvil.ts";
import { type ChainPlan, swaps, tokenTransfers, transfers } from "./import/import-chains.ts";
import { copyDatabase, type GeneratedChain, generateChain } from "./import/import-generate.ts";
import type { ImportRun } from "./import/import-run.ts";
import { FOREIGN_OPTIONS, type ForeignClient, type ForeignImport, foreignClients, importForeign } from "./rpc/foreign-clients.ts";

/**
 * `npm run bench -- import`: imports generated chains with signatures, state roots and durable commits, in turn with anvil, which
 * accepts and mines the same transactions in memory, and with Geth and Reth if their programs are given.
 */

const runFile = promisify(execFile);

/** "growth" means transfers on states of three sizes, of which the middle one is the chain "transfers". */
function plansOf(only: string | undefined, scale: number, blocks: number, perBlock: number | undefined): ChainPlan[] {
  const sized = (count: number): number => Math.max(100, Math.round(count * scale));
  const all: readonly [readonly string[], () => ChainPlan][] = [
    [["growth"], () => transfers(sized(10_000), blocks, perBlock ?? 1000)],
    [["transfers", "growth"], () => transfers(sized(100_000), blocks, perBlock ?? 1000)],
    [["growth"], () => transfers(sized(1_000_000), blocks, perBlock ?? 1000)],
    [["tokens"], () => tokenTransfers(sized(1_000_000), blocks, perBlock ?? 600)],
    [["swaps"], () => swaps(sized(5000), blocks, perBlock ?? 300)],
  ];
  const wanted = only?.split(",");
  return all.filter(([names]) => wanted === undefined || names.some((name) => wanted.includes(name))).map(([, make]) => make());
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

interface ImportOptions {
  readonly batch: number;
  /** as `--proofs.window`; `undefined`: its default */
  readonly proofsWindow: string | undefined;
  readonly nodeArgs: readonly string[];
}

async function importOnce(chain: GeneratedChain, { batch, proofsWindow, nodeArgs }: ImportOptions): Promise<ImportRun> {
  const database = join(chain.folder, "import");
  copyDatabase(chain.genesisDatabase, database);
  try {
    const [script, preload] = ["./import/import-run.js", "./common/thread-name.js"].map((name) =>
      fileURLToPath(new URL(name, import.meta.url)),
    );
    const env = { ...process.env, RNODE_THREAD_NAMES: join(database, "threads") };
    const args = ["--import", preload!, ...nodeArgs, script!, database, chain.blocksFile, String(batch)];
    if (proofsWindow !== undefined) args.push(proofsWindow);
    const { stdout } = await runFile(process.execPath, args, { env });
    return JSON.parse(stdout) as ImportRun;
  } finally {
    rmSync(database, { recursive: true, force: true });
  }
}

interface Measured {
  readonly chain: GeneratedChain;
  readonly imports: readonly ImportRun[];
  readonly mined: readonly AnvilRun[];
  readonly anvilRssBytes: number;
  readonly foreign: readonly { readonly name: string; readonly runs: readonly ForeignImport[] }[];
}

async function measure(
  plan: ChainPlan,
  options: ImportOptions & { readonly rounds: number; readonly anvilMs: number; readonly clients: readonly ForeignClient[] },
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-import-"));
  let anvil: AnvilMiner | undefined;
  try {
    const chain = await generateChain(plan, folder);
    const imports: ImportRun[] = [];
    const mined: AnvilRun[] = [];
    const foreign = options.clients.map((client) => ({ client, name: client.name, runs: [] as ForeignImport[] }));
    if (options.anvilMs > 0) anvil = await AnvilMiner.start(chain);
    for (let round = 0; round < options.rounds; round++) {
      imports.push(await importOnce(chain, options));
      const run = await anvil?.mine(options.anvilMs);
      if (run !== undefined && run.blocks > 0) mined.push(run);
      for (const { client, runs } of foreign) {
        const datadir = join(folder, client.name);
        runs.push(await importForeign(client, chain, datadir));
        rmSync(datadir, { recursive: true });
      }
    }
    return { chain, imports, mined, anvilRssBytes: anvil?.rssBytes ?? 0, foreign };
  } finally {
    anvil?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the exit code */
export async function main(args: readonly string[] = []): Promise<number> {
  const values = benchOptions("import", args, {
    only: { type: "string", help: "chains whose name contains this" },
    scale: { type: "string", default: "1", help: "factor for the size of the blocks" },
    blocks: { type: "string", default: "96", help: "blocks of each chain" },
    transactions: { type: "string", help: "transactions a block, of all chains (default: what each chain has)" },
    rounds: { type: "string", default: "2", help: "runs of each chain" },
    batch: { type: "string", default: "32", help: "blocks executed before a commit" },
    "proofs-window": { type: "string", help: "blocks whose old trie nodes are kept, as --proofs.window of rengine" },
    "anvil-seconds": { type: "string", default: "8", help: "time for anvil, per round" },
    "cpu-prof": { type: "string", help: "folder for CPU profiles" },
    "no-anvil": { type: "boolean", help: "rengine alone" },
    ...FOREIGN_OPTIONS,
  });
  const profile = values["cpu-prof"];
  const perBlock = values.transactions === undefined ? undefined : Number(values.transactions);
  const options = {
    rounds: Number(values.rounds),
    batch: Number(values.batch),
    proofsWindow: values["proofs-window"],
    anvilMs: values["no-anvil"] ? 0 : Number(values["anvil-seconds"]) * 1000,
    nodeArgs: profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`],
    clients: foreignClients(values),
  };
  const growth: { name: string; ms: number; cpuMs: number }[] = [];
  const startMs = performance.now();
  for (const plan of plansOf(values.only, Number(values.scale), Number(values.blocks), perBlock)) {
    const { ms, cpuMs } = report(await measure(plan, options));
    if (plan.name.startsWith("ETH")) growth.push({ name: plan.name, ms, cpuMs });
  }
  const [first, last] = [growth[0], growth.at(-1)];
  if (first !== undefined && last !== undefined && growth.length === 3) {
    const times = (after: number, before: number): string => (after / before).toFixed(2);
    console.log(`growth: from ${first.name} to ${last.name}`);
    console.log(
      `  a block takes ${times(last.ms, first.ms)} times as long, and ${times(last.cpuMs, first.cpuMs)} times the CPU time`,
    );
  }
  console.log(`took ${((performance.now() - startMs) / 60_000).toFixed(1)} minutes`);
  return 0;
}

/** CPU time a block of each thread, medians of the rounds; the program's start is included. */
function threadLine(imports: readonly ImportRun[]): string {
  const names = new Set(imports.flatMap(({ threadCpuMs = {} }) => Object.keys(threadCpuMs)));
  const cpuOf = (name: string): number => median(imports.map(({ threadCpuMs, blocks }) => (threadCpuMs?.[name] ?? 0) / blocks));
  return [...names].map((name) => `${name} ${cpuOf(name).toFixed(1)}`).join(", ");
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

/** The growth of the tables per block, the largest first. */
function tableLine({ tableBytes, blocks }: ImportRun): string {
  const kilobytes = Object.entries(tableBytes).map(([name, bytes]) => ({ name, kB: bytes / blocks / 1000 }));
  const shown = kilobytes.filter(({ kB }) => kB >= 0.5).sort((a, b) => b.kB - a.kB);
  return shown.map(({ name, kB }) => `${name} ${kB.toFixed(0)}`).join(", ");
}

/** @returns the values per block, medians of the rounds */
function report({ chain, imports, mined, anvilRssBytes, foreign }: Measured): { readonly ms: number; readonly cpuMs: number } {
  const { plan, genesisMs, generationMs } = chain;
  const { blocks, transactions, gas, databaseBytes } = imports[0]!;
  const perBlock = imports.map((run) => run.ms / run.blocks);
  const ms = median(perBlock);
  const cpuMs = median(imports.map((run) => run.cpuMs / run.blocks));
  const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
  console.log(`${plan.name}: ${blocks} blocks of ${plan.transactionsPerBlock} transactions; load ${loadavg()[0]!.toFixed(1)}`);
  console.log(`  made in ${seconds(generationMs)}, its genesis in ${seconds(genesisMs)}`);
  const rates = `${(gas / blocks / ms / 1000).toFixed(1)} Mgas/s, ${(1000 / ms).toFixed(1)} blocks/s, ${((transactions / blocks / ms) * 1000).toFixed(0)} tx/s`;
  console.log(`  rnode     ${ms.toFixed(1)} ms a block (CPU ${cpuMs.toFixed(1)}): ${rates}`);
  console.log(`            ${threadLine(imports)}`);
  const peak = Math.max(...imports.map(({ peakRssBytes }) => peakRssBytes));
  const own = Math.max(...imports.map(({ peakOwnBytes }) => peakOwnBytes ?? 0));
  console.log(
    `            ${(databaseBytes / blocks / 1000).toFixed(0)} kB a block on disk, memory peak ${mebibytes(peak)}, ${mebibytes(own)} of it without the database's pages`,
  );
  console.log(`            kB by table: ${tableLine(imports[0]!)}`);
  if (mined.length > 0) {
    const of = (what: (run: AnvilRun) => number): number => median(mined.map((run) => what(run) / run.blocks));
    const ratio = (what: (run: AnvilRun) => number): string =>
      median(mined.map((run, round) => what(run) / run.blocks / perBlock[round]!)).toFixed(2);
    const mine = (run: AnvilRun): number => run.mineMs;
    const all = (run: AnvilRun): number => run.takeMs + run.mineMs;
    const mining = `${of(mine).toFixed(1)} ms a block (CPU ${of((run) => run.mineCpuMs).toFixed(1)}) to mine`;
    const taking = `${of((run) => run.takeMs).toFixed(1)} ms (CPU ${of((run) => run.takeCpuMs).toFixed(1)}) to take the transactions`;
    console.log(`  anvil     ${mining}, ${taking}; memory ${mebibytes(anvilRssBytes)}`);
    console.log(`  × anvil   ${ratio(all)} taking and mining, ${ratio(mine)} mining alone`);
  }
  for (const { name, runs } of foreign) {
    const of = (what: (run: ForeignImport) => number): number => median(runs.map(what)) / blocks;
    const times = (what: (run: ForeignImport) => number, own: number): string => (of(what) / own).toFixed(2);
    const disk = (run: ForeignImport): number => run.diskBytes;
    const [took, used] = [of((run) => run.ms), of((run) => run.cpuMs)].map((value) => value.toFixed(1));
    const memory = mebibytes(Math.max(...runs.map((run) => run.peakRssBytes)));
    console.log(
      `  ${name.padEnd(9)} ${took} ms a block (CPU ${used}), ${(of(disk) / 1000).toFixed(0)} kB on disk; memory peak ${memory}`,
    );
    const ratios = [times((run) => run.ms, ms), times((run) => run.cpuMs, cpuMs), times(disk, databaseBytes / blocks)];
    console.log(`  × ${name.padEnd(7)} ${ratios[0]} as fast, ${ratios[1]} for the same CPU, ${ratios[2]} for the same disk`);
  }
  return { ms, cpuMs };
}
