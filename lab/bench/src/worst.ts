import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createKzgVerifier } from "@rnode/chain";
import { compileEvm, createPrecompileTable } from "@rnode/evm";
import { rollupRules } from "@rnode/protocol";
import { benchOptions } from "./bench-options.ts";
import { codeFamilies, stateFamilies } from "./worst/worst-accounts.ts";
import { measureBlocks, type WorstBlock } from "./worst/worst-blocks.ts";
import type { Family, WorstCase } from "./worst/worst-code.ts";
import { memoryFamilies, opcodeFamilies } from "./worst/worst-opcodes.ts";
import { Peer } from "./worst/worst-peer.ts";
import { precompileFamilies } from "./worst/worst-precompiles.ts";
import { type Run, startWord, WorstEngine } from "./worst/worst-state.ts";

const ABOUT = `The gas that is slowest to burn: every opcode with operands that are searched for, memory and code of all sizes, state cold and
warm, every precompile. Each row is a transaction that repeats one thing until its gas is used up. Prints the rows slowest first.`;

/** gas of a block in the table's last columns */
const BLOCK_MGAS = 60;
const FLOOR_MGAS_PER_SEC = 100;
/** for finding the slowest of a family's variants */
const SEARCH_GAS = 1_500_000;
const SEARCH_RUNS = 2;
const MINED_ROWS = 12;
const MINED_ROUNDS = 4;
/** EIP-7825 */
const MAX_TRANSACTION_GAS = 2 ** 24;

interface Row {
  readonly name: string;
  readonly group: Family["group"];
  /** medians */
  readonly mgasPerSec: number;
  readonly peerMgasPerSec: number | undefined;
  /** our speed ÷ the peer's, median over the rounds */
  readonly ratio: number | undefined;
}

const speed = ({ gas, cpuNs }: { readonly gas: number; readonly cpuNs: number }): number => (1000 * gas) / Math.max(cpuNs, 1);

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

class Search {
  readonly #engine = new WorstEngine();
  readonly #peer: Peer | undefined;
  /** a run never sees addresses of earlier ones, which the engine may have kept */
  #runs = 0;

  constructor(peer: Peer | undefined) {
    this.#peer = peer;
  }

  /** The slowest variant by the clock. */
  slowest({ variants }: Family): WorstCase {
    if (variants.length === 1) return variants[0]!;
    let found: { readonly variant: WorstCase; readonly speed: number } | undefined;
    for (const variant of variants) {
      let best = 0;
      for (let run = 0; run < SEARCH_RUNS; run++) {
        const { gas, wallNs } = this.#run(variant, Math.max(SEARCH_GAS, variant.leastGas ?? 0));
        best = Math.max(best, gas / wallNs);
      }
      if (found === undefined || best < found.speed) found = { variant, speed: best };
    }
    return found!.variant;
  }

  async measure(family: Family, worst: WorstCase, gasLimit: number, rounds: number): Promise<Row> {
    const ours: number[] = [];
    const theirs: number[] = [];
    const gas = Math.max(gasLimit, Math.min(MAX_TRANSACTION_GAS, worst.leastGas ?? 0));
    for (let round = 0; round < rounds; round++) {
      const data = startWord(++this.#runs);
      const own = this.#engine.run(worst, gas, data);
      if ((own.status === "success") === (worst.fails ?? false)) throw new Error(`${worst.name}: ${own.status}`);
      ours.push(speed(own));
      if (this.#peer === undefined) continue;
      const other = await this.#peer.run(worst, gas, data);
      if ((other.status === "success") !== (own.status === "success") || other.gas !== own.gas) {
        throw new Error(`${worst.name}: ${own.gas} gas, but ${other.gas} gas, ${other.status}, in the other engine`);
      }
      theirs.push(speed(other));
    }
    return {
      name: worst.name,
      group: family.group,
      mgasPerSec: median(ours),
      peerMgasPerSec: theirs.length === 0 ? undefined : median(theirs),
      ratio: theirs.length === 0 ? undefined : median(theirs.map((value, i) => ours[i]! / value)),
    };
  }

  #run(worst: WorstCase, gasLimit: number): Run {
    const run = this.#engine.run(worst, gasLimit, startWord(++this.#runs));
    if (run.status !== "success") throw new Error(`${worst.name}: ${run.status}`);
    return run;
  }
}

function allFamilies(): Family[] {
  const wasm = compileEvm(readFileSync(createRequire(import.meta.url).resolve("@rnode/evm/engine.wasm")));
  const precompiles = createPrecompileTable(wasm, rollupRules("karst"), createKzgVerifier());
  return [...opcodeFamilies(), ...memoryFamilies(), ...stateFamilies(), ...codeFamilies(), ...precompileFamilies(precompiles)];
}

function table(rows: readonly Row[]): string {
  const head = ["what", "Mgas/s", `ms for ${BLOCK_MGAS} Mgas`, "revm, Mgas/s", "× revm"];
  const lines = rows.map(({ name, mgasPerSec, peerMgasPerSec, ratio }) => [
    name,
    mgasPerSec.toFixed(mgasPerSec < 1000 ? 1 : 0),
    ((1000 * BLOCK_MGAS) / mgasPerSec).toFixed(0),
    peerMgasPerSec?.toFixed(peerMgasPerSec < 1000 ? 1 : 0) ?? "",
    ratio?.toFixed(2) ?? "",
  ]);
  return render([head, ...lines]);
}

function blockTable(blocks: readonly WorstBlock[]): string {
  const head = ["a pool of", "mined", "Mgas", "built, ms", "CPU, ms", "executed by another, ms", "CPU, ms"];
  const lines = blocks.map(({ name, transactions, gas, build, follow }) => [
    name,
    String(transactions),
    (gas / 1e6).toFixed(1),
    ...[build.ms, build.cpuMs, follow.ms, follow.cpuMs].map((ms) => ms.toFixed(0)),
  ]);
  return render([head, ...lines]);
}

function render(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const row = (line: readonly string[]): string => `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const [first, ...rest] = lines.map(row);
  return [first, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rest].join("\n");
}

/** `npm run bench -- worst` */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions(
    "worst",
    args,
    {
      only: { type: "string", default: "", help: "regular expression: the families to search" },
      rounds: { type: "string", default: "5", help: "runs of each row" },
      gas: { type: "string", default: "15", help: "gas of a run, in millions" },
      rows: { type: "string", default: "60", help: "how many of the worst are measured" },
      revm: {
        type: "string",
        help: "program that runs the same transactions with revm, in turns (lab/bench/README.md says how they talk)",
      },
      blocks: { type: "boolean", help: "mine a pool of each of the slowest rows' transactions with the built program, too" },
      json: { type: "boolean", help: "print JSON" },
    },
    ABOUT,
  );
  const pattern = new RegExp(values.only, "i");
  const families = allFamilies().filter(
    ({ name, group, variants }) => pattern.test(`${group} ${name}`) || variants.some((variant) => pattern.test(variant.name)),
  );
  if (families.length === 0) throw new Error(`--only: nothing is named like "${values.only}"`);
  const gasLimit = Math.round(Number(values.gas) * 1e6);
  const peer = values.revm === undefined ? undefined : new Peer(values.revm);
  try {
    const search = new Search(peer);
    const found: { readonly family: Family; readonly worst: WorstCase; readonly row: Row }[] = [];
    for (const family of families) {
      const worst = search.slowest(family);
      found.push({ family, worst, row: await search.measure(family, worst, gasLimit, 1) });
      if (process.stderr.isTTY) process.stderr.write(`\r${found.length} of ${families.length} families `);
    }
    // the slowest, by their one run, are measured in turns
    found.sort((a, b) => a.row.mgasPerSec - b.row.mgasPerSec);
    const rows: Row[] = [];
    for (const { family, worst } of found.slice(0, Number(values.rows))) {
      rows.push(await search.measure(family, worst, gasLimit, Number(values.rounds)));
    }
    rows.sort((a, b) => a.mgasPerSec - b.mgasPerSec);
    const slow = rows.filter(({ mgasPerSec, ratio }) => mgasPerSec < FLOOR_MGAS_PER_SEC && (ratio ?? 0) < 1);
    console.log(values.json ? JSON.stringify(rows) : table(rows));
    if (values.blocks) {
      const slowest = [...rows].map(({ name }) => found.find(({ worst }) => worst.name === name)!.worst);
      const minable = slowest.filter(({ contracts, bulk }) => contracts.length === 1 && bulk === undefined);
      console.log(blockTable(await measureBlocks(minable.slice(0, MINED_ROWS), MINED_ROUNDS)));
    }
    console.error(`${families.length} families; ${slow.length} rows below ${FLOOR_MGAS_PER_SEC} Mgas/s and slower than revm`);
    return 0;
  } finally {
    peer?.close();
  }
}
