import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { newEngine } from "@rnode/chain";
import type { EvmEngine } from "@rnode/evm";
import {
  type CaseResult,
  jsonFilesBelow,
  readJsonFile,
  reportOf,
  resultOf,
  type SuiteReport,
  sumOfUncompared,
} from "../vectors.ts";
import { type StateTest, stateTestCase, stateTestCases } from "./state-test-case.ts";
import { runStateTestCase } from "./state-test-run.ts";
import type { StateTestLocation } from "./state-test-trace.ts";
import { evmForkOfEra } from "./suite-forks.ts";

export interface StateTestOptions {
  /** only the cases of this fork, by the tests' name */
  readonly fork?: string;
  /** number of worker threads; if 1, or when running from sources, this thread does the work */
  readonly jobs?: number;
  /** called with the number of files that are done */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface StateTestReport extends SuiteReport {
  /** for `traceStateTestCase`, in the order of `failures` */
  readonly failedCases: readonly StateTestLocation[];
}

/**
 * `GeneralStateTests` of ethereum/tests: one transaction on a state, for every combination of data, gas limit and value, in every
 * fork of `post`. The state root, the hash of the logs, and whether and why the transaction is rejected are compared.
 *
 * @param paths files and folders
 */
export async function runStateTests(paths: readonly string[], options: StateTestOptions = {}): Promise<StateTestReport> {
  const files = paths.flatMap((path) => (statSync(path).isDirectory() ? jsonFilesBelow(path) : [path]));
  const jobs = Math.min(options.jobs ?? availableParallelism(), files.length);
  const isCompiled = import.meta.url.endsWith(".js");
  const parts = jobs > 1 && isCompiled ? await runInWorkers(files, jobs, options) : [runHere(files, options)];
  const uncompared = sumOfUncompared(parts.map((part) => part.uncompared));
  return {
    passed: parts.reduce((sum, { passed }) => sum + passed, 0),
    failures: parts.flatMap(({ failures }) => failures),
    skipped: parts.flatMap(({ skipped }) => skipped),
    failedCases: parts.flatMap(({ failedCases }) => failedCases),
    ...(uncompared !== undefined && { uncompared }),
  };
}

/** @param results results of cases, each with its location */
const partOf = (results: readonly StateTestResult[], skipped: readonly string[]): StateTestReport => ({
  ...reportOf(results),
  skipped,
  failedCases: results.filter(({ failure }) => failure !== undefined).map(({ location }) => location),
});

function runHere(files: readonly string[], { fork, onProgress }: StateTestOptions): StateTestReport {
  const engine = newEngine();
  const results: StateTestResult[] = [];
  const skipped: string[] = [];
  for (const [index, file] of files.entries()) {
    const report = runStateTestFile(engine, file, fork);
    results.push(...report.results);
    skipped.push(...report.skipped);
    onProgress?.(index + 1, files.length);
  }
  return partOf(results, skipped);
}

interface StateTestResult extends CaseResult {
  readonly location: StateTestLocation;
}

/** All cases of one file. */
export function runStateTestFile(
  engine: EvmEngine,
  file: string,
  onlyFork: string | undefined,
): { results: StateTestResult[]; skipped: string[] } {
  const results: StateTestResult[] = [];
  const skipped: string[] = [];
  for (const [testName, test] of Object.entries(readJsonFile(file) as Record<string, StateTest>)) {
    for (const { forkName, index } of stateTestCases(test)) {
      if (onlyFork !== undefined && forkName !== onlyFork) continue;
      const fork = evmForkOfEra(forkName);
      const name = `${testName} [${forkName} ${index}]`;
      if (fork === undefined) skipped.push(`${name}: unknown fork`);
      else {
        const result = resultOf(name, (note) => runStateTestCase(engine, stateTestCase(test, forkName, fork, index), note));
        results.push({ ...result, location: { file, testName, forkName, index } });
      }
    }
  }
  return { results, skipped };
}

/** The input of a worker, and its output for each file. */
export interface StateTestWork {
  readonly files: readonly string[];
  readonly fork: string | undefined;
}
export interface StateTestFileDone {
  readonly results: readonly StateTestResult[];
  readonly skipped: readonly string[];
}

/** Every worker takes each `jobs`-th file, because the slow ones are next to each other. */
async function runInWorkers(
  files: readonly string[],
  jobs: number,
  { fork, onProgress }: StateTestOptions,
): Promise<StateTestReport[]> {
  let done = 0;
  const runWorker = (part: readonly string[]): Promise<StateTestReport> =>
    new Promise((resolve, reject) => {
      const work: StateTestWork = { files: part, fork };
      const worker = new Worker(new URL("./state-test-worker.js", import.meta.url), { workerData: work });
      const results: StateTestResult[] = [];
      const skipped: string[] = [];
      worker.on("message", (file: StateTestFileDone) => {
        results.push(...file.results);
        skipped.push(...file.skipped);
        onProgress?.(++done, files.length);
      });
      worker.once("error", reject);
      worker.once("exit", (code) => {
        if (code === 0) resolve(partOf(results, skipped));
        else reject(new Error(`state test worker ended with code ${code}`));
      });
    });
  const parts = Array.from({ length: jobs }, (_, job) => files.filter((_file, index) => index % jobs === job));
  return Promise.all(parts.map(runWorker));
}
