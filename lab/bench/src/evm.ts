import { benchOptions } from "./bench-options.ts";
import { anvilEngine, type BenchEngine, ethereumjsEngine, rnodeEngine } from "./evm/evm-engines.ts";
import { compileWorkloads, runCalldata, runResult, type Workload } from "./evm/evm-workloads.ts";

const ABOUT = `Our engine against anvil (a native client of the revm family, over RPC) and @ethereumjs/evm: million gas a second on five
workloads. All engines take turns within each round, so that the machine's other work hits all of them.`;

/** The speed that our engine must reach, as a multiple of @ethereumjs/evm's. */
const TARGET_TIMES_ETHEREUMJS = 50;
/** The same, as a multiple of anvil's. */
const TARGETS: Readonly<Record<string, number>> = { keccak: 0.95 };
const DEFAULT_TARGET = 1.0;
const WARM_UP_ROUNDS = 2;
/** for the slow engine, whose calls take long */
const SLOW_ENGINE_ROUNDS = 9;

interface Row {
  readonly workload: string;
  /** million gas per second by engine, median */
  readonly speeds: Readonly<Record<string, number>>;
  /** our speed ÷ theirs, median over the rounds; in each round, all engines ran one after the other */
  readonly timesAnvil: number;
  readonly timesEthereumjs: number;
}

/** `npm run bench -- evm` */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions(
    "evm",
    args,
    {
      rounds: { type: "string", default: "15", help: "rounds, of which the median counts" },
      json: { type: "boolean", help: "print JSON" },
    },
    ABOUT,
  );
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds: "${values.rounds}" is not a positive number`);
  const { workloads, token } = compileWorkloads();
  const contracts = [...workloads, token];
  const engines = [rnodeEngine(contracts), await anvilEngine(contracts), await ethereumjsEngine(contracts)];
  try {
    const rows: Row[] = [];
    for (const workload of workloads) {
      await checkAgreement(engines, workload);
      rows.push(await measure(engines, workload, rounds));
    }
    if (values.json) console.log(JSON.stringify(rows));
    else printTable(engines, rows);
    return 0;
  } finally {
    for (const engine of engines) engine.close();
  }
}

/** A fast wrong answer is worth nothing: all engines must return the same checksum for the same gas. */
async function checkAgreement(engines: readonly BenchEngine[], { name, address, slowRounds }: Workload): Promise<void> {
  const results = new Map<string, string>();
  for (const engine of engines) {
    const { gas, checksum } = runResult((await engine.call(address, runCalldata(slowRounds))).output);
    results.set(engine.name, `gas ${gas} checksum ${checksum}`);
  }
  if (new Set(results.values()).size !== 1) {
    throw new Error(`${name}: ${[...results].map(([engine, result]) => `${engine}: ${result}`).join("; ")}`);
  }
}

async function measure(engines: readonly BenchEngine[], workload: Workload, rounds: number): Promise<Row> {
  const samples = new Map<string, number[]>(engines.map(({ name }) => [name, []]));
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
    for (const engine of engines) {
      const isSlow = engine.name.startsWith("@ethereumjs");
      if (isSlow && round >= WARM_UP_ROUNDS + SLOW_ENGINE_ROUNDS) continue;
      const { output, ms } = await engine.call(workload.address, runCalldata(isSlow ? workload.slowRounds : workload.rounds));
      if (round >= WARM_UP_ROUNDS) samples.get(engine.name)!.push(Number(runResult(output).gas) / ms / 1000);
    }
  }
  const ours = samples.get("rnode")!;
  const times = (engine: string): number => median(samples.get(engine)!.map((speed, round) => ours[round]! / speed));
  return {
    workload: workload.name,
    timesAnvil: times("anvil"),
    timesEthereumjs: times("@ethereumjs/evm"),
    speeds: Object.fromEntries([...samples].map(([name, values]) => [name, median(values)])),
  };
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

const verdict = (ratio: number, target: number): string => `≥ ${target} ${ratio >= target ? "reached" : "missed"}`;

function printTable(engines: readonly BenchEngine[], rows: readonly Row[]): void {
  const header = ["Mgas/s, median", ...engines.map(({ name }) => name), "× anvil", "target", "× @ethereumjs/evm", "target"];
  const lines = rows.map(({ workload, speeds, timesAnvil, timesEthereumjs }) => {
    const target = TARGETS[workload] ?? DEFAULT_TARGET;
    return [
      workload,
      ...engines.map(({ name }) => speeds[name]!.toFixed(0)),
      ...[timesAnvil.toFixed(2), verdict(timesAnvil, target)],
      ...[timesEthereumjs.toFixed(1), verdict(timesEthereumjs, TARGET_TIMES_ETHEREUMJS)],
    ];
  });
  const widths = header.map((_, column) => Math.max(...[header, ...lines].map((line) => line[column]!.length)));
  for (const line of [header, ...lines])
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    );
}
