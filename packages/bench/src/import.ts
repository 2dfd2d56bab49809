import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { type AnvilRun, mineWithAnvil } from "./import-anvil.ts";
import { type ChainPlan, swaps, tokenTransfers, transfers } from "./import-chains.ts";
import { copyDatabase, type GeneratedChain, generateChain } from "./import-generate.ts";
import type { ImportRun } from "./import-run.ts";

/**
 * `npm run bench -- import`: generated chains, imported with signatures, state roots and durable commits, in turns with anvil mining
 * the same transactions in memory.
 */

interface Scenario {
  readonly plan: ChainPlan;
  /** anvil hashes all of its state for every block: fewer blocks of a large one */
  readonly anvilBlocks: number;
}

const runFile = promisify(execFile);

function scenarios(only: string | undefined, scale: number, blocks: number): Scenario[] {
  const sized = (count: number): number => Math.max(100, Math.round(count * scale));
  const mined = (count: number): number => Math.min(count, blocks);
  const all: readonly [string, () => Scenario][] = [
    ["transfers", () => ({ plan: transfers(sized(100_000), blocks, 1000), anvilBlocks: mined(8) })],
    ["tokens", () => ({ plan: tokenTransfers(sized(1_000_000), blocks, 600), anvilBlocks: mined(3) })],
    ["swaps", () => ({ plan: swaps(sized(5000), blocks, 300), anvilBlocks: mined(24) })],
    ["growth", () => ({ plan: transfers(sized(10_000), blocks, 1000), anvilBlocks: mined(24) })],
    ["growth", () => ({ plan: transfers(sized(1_000_000), blocks, 1000), anvilBlocks: 0 })],
  ];
  return all.filter(([name]) => only === undefined || only.split(",").includes(name)).map(([, make]) => make());
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

async function importOnce(chain: GeneratedChain, batch: number, nodeArgs: readonly string[]): Promise<ImportRun> {
  const database = join(chain.folder, "import");
  copyDatabase(chain.genesisDatabase, database);
  try {
    const script = fileURLToPath(new URL("./import-run.js", import.meta.url));
    const { stdout } = await runFile(process.execPath, [...nodeArgs, script, database, chain.blocksFile, String(batch)]);
    return JSON.parse(stdout) as ImportRun;
  } finally {
    rmSync(database, { recursive: true, force: true });
  }
}

/** @returns exit code */
export async function main(args: readonly string[] = []): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      scale: { type: "string", default: "1" },
      blocks: { type: "string", default: "32" },
      rounds: { type: "string", default: "3" },
      batch: { type: "string", default: "32" },
      "cpu-prof": { type: "string" },
      "no-anvil": { type: "boolean", default: false },
    },
  });
  const profile = values["cpu-prof"];
  const nodeArgs = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  for (const { plan, anvilBlocks } of scenarios(values.only, Number(values.scale), Number(values.blocks))) {
    const folder = mkdtempSync(join(tmpdir(), "rnode-bench-import-"));
    try {
      const chain = await generateChain(plan, folder);
      const imports: ImportRun[] = [];
      const mined: AnvilRun[] = [];
      for (let round = 0; round < Number(values.rounds); round++) {
        imports.push(await importOnce(chain, Number(values.batch), nodeArgs));
        if (!values["no-anvil"] && anvilBlocks > 0) mined.push(await mineWithAnvil(chain, anvilBlocks));
      }
      report(chain, imports, mined);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return 0;
}

function report({ plan, genesisMs }: GeneratedChain, imports: readonly ImportRun[], mined: readonly AnvilRun[]): void {
  const perBlock = imports.map(({ ms, blocks }) => ms / blocks);
  const ms = median(perBlock);
  const { blocks, transactions, gas, databaseBytes } = imports[0]!;
  const cpuMs = median(imports.map((run) => run.cpuMs));
  console.log(`${plan.name}: ${blocks} blocks of ${plan.transactionsPerBlock} transactions; load ${loadavg()[0]!.toFixed(1)}`);
  console.log(`  genesis   ${(genesisMs / 1000).toFixed(1)} s`);
  const rates = `${(gas / blocks / ms / 1000).toFixed(1)} Mgas/s, ${(1000 / ms).toFixed(1)} blocks/s, ${((transactions / blocks / ms) * 1000).toFixed(0)} tx/s`;
  console.log(`  rnode     ${ms.toFixed(1)} ms a block (CPU ${(cpuMs / blocks).toFixed(1)}): ${rates}`);
  const peak = Math.max(...imports.map(({ peakRssBytes }) => peakRssBytes));
  console.log(
    `            ${(databaseBytes / blocks / 1000).toFixed(0)} kB a block on disk, memory peak ${(peak / 2 ** 20).toFixed(0)} MiB`,
  );
  if (mined.length === 0) return;
  const anvilMs = median(mined.map((run) => run.mineMs / run.blocks));
  const anvilCpuMs = median(mined.map((run) => run.mineCpuMs / run.blocks));
  const ratio = median(mined.map((run, round) => run.mineMs / run.blocks / perBlock[round]!));
  const send = median(mined.map((run) => run.sendMs / run.blocks));
  console.log(
    `  anvil     ${anvilMs.toFixed(1)} ms a block to mine (CPU ${anvilCpuMs.toFixed(1)}), ${send.toFixed(1)} ms to take the transactions`,
  );
  console.log(`  × anvil   ${ratio.toFixed(2)}`);
}
