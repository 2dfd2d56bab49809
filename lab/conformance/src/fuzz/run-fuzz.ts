import { parseArgs } from "node:util";
import { newEngine } from "@rnode/chain";
import type { EvmEngine } from "@rnode/evm";
import { compareCase, describeCase, firstDifferingSteps, type Oracle } from "./differential.ts";
import { FUZZ_FOCUSES, FUZZ_FORKS, type FuzzFocus, type FuzzFork } from "./fuzz-case.ts";
import { generateCase } from "./generate.ts";
import { minimise } from "./minimise.ts";

const HELP = `npm run fuzz -- [--seed N] [--runs N] [--minutes N] [--fork NAME] [--focus NAME]
Generated programs and transactions on our engine and on @ethereumjs/evm; stops at the first difference.
  --seed N      first seed; each run uses the next (default: from the clock)
  --runs N      how many cases (default: until the time is over)
  --minutes N   how long (default: 1, without --runs)
  --fork NAME   only this fork: ${FUZZ_FORKS.join(" ")}
  --focus NAME  what programs do most: ${FUZZ_FOCUSES.join(" ")}`;

const REPORT_EVERY_MS = 30_000;
const MS_PER_MINUTE = 60_000;
/** Seeds are below this, so they are exact numbers. */
const SEED_RANGE = 2 ** 40;

export interface FuzzOptions {
  readonly seed: number;
  readonly runs: number;
  readonly fork: FuzzFork | undefined;
  readonly focus?: FuzzFocus | undefined;
  /** called before each run */
  readonly isTimeOver: () => boolean;
  readonly onRun?: (done: number) => void;
}

export interface FuzzReport {
  readonly done: number;
  /** the difference as text; `undefined`: none */
  readonly failure: readonly string[] | undefined;
}

/** The oracle is a development dependency and only loaded here. */
export async function loadOracle(): Promise<Oracle> {
  return (await import("./oracle.ts")).runOracle;
}

/** Runs cases until there are enough, the time is up, or one differs. */
export async function fuzz(engine: EvmEngine, oracle: Oracle, options: FuzzOptions): Promise<FuzzReport> {
  let done = 0;
  for (; done < options.runs && !options.isTimeOver(); done++) {
    options.onRun?.(done);
    const seed = options.seed + done;
    const fuzzCase = generateCase(seed, options.fork, options.focus);
    const found = await compareCase(engine, oracle, fuzzCase);
    if (found.length === 0) continue;
    const small = await minimise(fuzzCase, async (candidate) => (await compareCase(engine, oracle, candidate)).length > 0);
    const fork = options.fork === undefined ? "" : ` --fork=${options.fork}`;
    const focus = options.focus === undefined ? "" : ` --focus=${options.focus}`;
    const failure = [
      `DIFFERENCE: npm run fuzz -- --seed=${seed} --runs=1${fork}${focus}`,
      ...found,
      "made smaller:",
      ...describeCase(small),
      ...(await compareCase(engine, oracle, small)),
      ...(await firstDifferingSteps(engine, oracle, small)),
    ];
    return { done: done + 1, failure };
  }
  return { done, failure: undefined };
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value >= 0)) throw new Error(`--${name}: "${text}" is not a number`);
  return value;
}

/** `npm run fuzz` */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      runs: { type: "string" },
      minutes: { type: "string" },
      fork: { type: "string" },
      focus: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const fork = FUZZ_FORKS.find((name) => name === values.fork);
  if (values.fork !== undefined && fork === undefined) {
    throw new Error(`--fork: "${values.fork}" is none of ${FUZZ_FORKS.join(", ")}`);
  }
  const focus = FUZZ_FOCUSES.find((name) => name === values.focus);
  if (values.focus !== undefined && focus === undefined)
    throw new Error(`--focus: "${values.focus}" is none of ${FUZZ_FOCUSES.join(", ")}`);
  const startedMs = Date.now();
  const seed = positive("seed", values.seed) ?? startedMs % SEED_RANGE;
  const runs = positive("runs", values.runs) ?? Number.POSITIVE_INFINITY;
  const minutes = positive("minutes", values.minutes) ?? (values.runs === undefined ? 1 : Number.POSITIVE_INFINITY);
  let reportedMs = startedMs;
  const report = await fuzz(newEngine(), await loadOracle(), {
    seed,
    runs,
    fork,
    focus,
    isTimeOver: () => Date.now() - startedMs >= minutes * MS_PER_MINUTE,
    onRun(done) {
      const now = Date.now();
      if (now - reportedMs < REPORT_EVERY_MS) return;
      reportedMs = now;
      console.log(`${done} runs, ${Math.round((done * 1000) / (now - startedMs))} a second, next seed ${seed + done}`);
    },
  });
  for (const line of report.failure ?? []) console.error(line);
  console.log(`${report.done} runs from seed ${seed} on: ${report.failure === undefined ? "no difference" : "a difference"}`);
  return report.failure === undefined ? 0 : 1;
}
