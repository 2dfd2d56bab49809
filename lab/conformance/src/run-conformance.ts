import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Unpacked, unpackArchive } from "./archive.ts";
import { findRpcSuite, runRpcSuite } from "./rpc/rpc-suite.ts";
import { runBlockchainTests } from "./suites/blockchain-test.ts";
import { runGenesisTests } from "./suites/genesis-test.ts";
import { runRlpTests } from "./suites/rlp-test.ts";
import { runStateTests } from "./suites/state-test.ts";
import { traceStateTestCase } from "./suites/state-test-trace.ts";
import { runStatelessTests } from "./suites/stateless-test.ts";
import { runTransactionTests } from "./suites/transaction-test.ts";
import { runTrieTests } from "./suites/trie-test.ts";
import { jsonFilesBelow, type SuiteReport, vectorsFolder } from "./vectors.ts";

interface Suite {
  readonly title: string;
  /** name of the folder that contains it, and of the suite for `--suite` */
  readonly folder: string;
  /** it is in a release of execution-spec-tests, whose folders lie in `fixtures`: there is no number of cases to expect */
  readonly isOfSpecTests?: true;
  /** finds it if it is not in a folder of that name */
  find?(root: string): string | undefined;
  /** number of cases in the published archive or folder: if there are fewer, it is only partly unpacked */
  readonly atLeast: number;
  run(folder: string, options: RunOptions): SuiteReport | Promise<SuiteReport>;
}

interface RunOptions {
  /** start file of the execution client, for suites that talk to it */
  readonly rengine: string;
  readonly jobs: number;
  /** run a part of the long suites, always the same */
  readonly quick: boolean;
}

/** `quick` runs every n-th file of the state tests, in the order of their paths. */
const QUICK_SHARE = 4;

const SPEC_TESTS = { atLeast: 1, isOfSpecTests: true } as const;

const SUITES: readonly Suite[] = [
  { title: "genesis files of real chains", folder: "genesis", atLeast: 5, run: runGenesisTests },
  { title: "real blocks, stateless", folder: "blocks", atLeast: 6, run: runStatelessTests },
  { title: "RLP tests", folder: "RLPTests", atLeast: 55, run: runRlpTests },
  { title: "trie tests", folder: "TrieTests", atLeast: 26, run: runTrieTests },
  { title: "transaction tests", folder: "TransactionTests", atLeast: 2665, run: runTransactionTests },
  { title: "blockchain tests", folder: "BlockchainTests", atLeast: 442, run: runBlockchainTests },
  {
    title: "state tests",
    folder: "GeneralStateTests",
    atLeast: 15_000,
    async run(folder, { jobs, quick }) {
      const files = jsonFilesBelow(folder);
      const report = await runStateTests(quick ? files.filter((_, index) => index % QUICK_SHARE === 0) : files, { jobs });
      const [failed] = report.failedCases;
      if (failed !== undefined) console.log(`  trace of the first failure: ${writeTrace(traceStateTestCase(failed))}`);
      return report;
    },
  },
  {
    ...SPEC_TESTS,
    title: "state tests of the specification",
    folder: "state_tests",
    run: (folder, { jobs }) => runStateTests([folder], { jobs }),
  },
  { ...SPEC_TESTS, title: "blockchain tests of the specification", folder: "blockchain_tests", run: runBlockchainTests },
  { ...SPEC_TESTS, title: "transaction tests of the specification", folder: "transaction_tests", run: runTransactionTests },
  ...(["blockchain_tests_engine", "blockchain_tests_engine_x"] as const).map(
    (folder): Suite => ({
      ...SPEC_TESTS,
      title: `engine tests of the specification (${folder})`,
      folder,
      run: (path, { rengine }) => runEngineSuite(rengine, path),
    }),
  ),
  ...(["G", "R"] as const).map(
    (profile): Suite => ({
      title: `RPC suite of execution-apis, profile ${profile}`,
      folder: `rpc-${profile}`,
      atLeast: 230,
      find: (root) => findRpcSuite(root)?.root,
      async run(folder, { rengine }) {
        const suite = findRpcSuite(folder);
        if (suite === undefined) throw new Error(`${folder}: no RPC suite`);
        return await runRpcSuite(suite, { program: rengine, profile });
      },
    }),
  ),
];

/** Runs the engine tests in the program that has the Engine API. @throws Error it ended without a report */
async function runEngineSuite(rengine: string, folder: string): Promise<SuiteReport> {
  const child = spawn(process.execPath, [rengine, "enginetest", "--json", folder], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await once(child, "close");
  try {
    return JSON.parse(said.slice(said.indexOf("{"))) as SuiteReport;
  } catch {
    throw new Error(`rengine enginetest ${folder} ended with code ${child.exitCode} and no report`);
  }
}

/** @returns the path of the file */
function writeTrace(lines: readonly string[]): string {
  const path = join(mkdtempSync(join(tmpdir(), "rnode-trace-")), "trace.jsonl");
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

const ARCHIVE = "ethereum-tests.tar.xz";
const SHOWN_FAILURES = 20;
/** This package may not import the execution client, which is next to it; it is run as a program. */
const RENGINE = fileURLToPath(new URL("../../../programs/rengine/bin/rengine.js", import.meta.url));

const HELP = `npm run conformance -- [DIR] [--suite NAME] [--jobs N] [--quick]
Runs the public test suites in DIR (default: RNODE_VECTORS, or shared/vectors beside the repository). DIR holds
${ARCHIVE}, or the folders ${SUITES.filter((suite) => suite.find === undefined)
  .map(({ folder }) => folder)
  .join(", ")}, or is one of them;
or a release of execution-spec-tests (fixtures/state_tests, fixtures/blockchain_tests_engine, …);
or it is a checkout of ethereum/execution-apis (src/, tests/chain.rlp …), or holds one as rpc or execution-apis (or its tests as rpc): suites
rpc-G and rpc-R.
--quick runs one in ${QUICK_SHARE} of the state tests' files.`;

/** @returns the exit code; the last line printed is `N passed, M failed` */
export async function runConformance(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      suite: { type: "string" },
      jobs: { type: "string", default: "2" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const folder = positionals[0] === undefined ? vectorsFolder(env) : resolve(positionals[0]);
  if (folder === undefined || !existsSync(folder)) {
    return failed(`no test data in ${folder ?? env.RNODE_VECTORS ?? "../shared/vectors"}`);
  }
  const archive = join(folder, ARCHIVE);
  let unpacked: Unpacked | undefined;
  try {
    unpacked = existsSync(archive) ? unpackArchive(archive) : undefined;
  } catch (error) {
    return failed((error as Error).message);
  }
  try {
    // A complete data folder must have every case; for any other folder, the cases that it has are run.
    const found = findSuites(unpacked === undefined ? [folder] : [folder, unpacked.folder], values.suite);
    if (found.length === 0) return failed(`${folder} holds none of the suites; see --help`);
    const jobs = Math.max(1, Number(values.jobs) || 1);
    return await runSuites(found, unpacked !== undefined, { jobs, quick: values.quick, rengine: RENGINE });
  } finally {
    unpacked?.remove();
  }
}

function failed(message: string): number {
  console.error(message);
  console.log("0 passed, 1 failed");
  return 1;
}

interface Found {
  readonly suite: Suite;
  readonly path: string;
}

function findSuites(roots: readonly string[], wanted: string | undefined): Found[] {
  const found: Found[] = [];
  for (const suite of SUITES) {
    if (wanted !== undefined && wanted !== suite.folder) continue;
    for (const root of roots) {
      const named = basename(root) === suite.folder ? [root] : [join(root, suite.folder), join(root, "fixtures", suite.folder)];
      const paths = suite.find === undefined ? named : [suite.find(root)];
      const path = paths.find((each) => each !== undefined && existsSync(each));
      if (path !== undefined) found.push({ suite, path });
    }
  }
  return found;
}

/** A suite that cannot run counts as failed. */
async function runOrFail(suite: Suite, path: string, options: RunOptions): Promise<SuiteReport> {
  try {
    return await suite.run(path, options);
  } catch (error) {
    return { passed: 0, failures: [error instanceof Error ? error.message : String(error)], skipped: [] };
  }
}

async function runSuites(found: readonly Found[], isComplete: boolean, options: RunOptions): Promise<number> {
  let passed = 0;
  let failures = 0;
  for (const { suite, path } of found) {
    const startMs = Date.now();
    const report = await runOrFail(suite, path, options);
    const seconds = ((Date.now() - startMs) / 1000).toFixed(1);
    const { skipped } = report;
    const notes = skipped.length === 0 ? "" : `, ${skipped.length} skipped`;
    console.log(`${suite.title}: ${report.passed} passed, ${report.failures.length} failed${notes} (${seconds} s)`);
    const unknown = Object.entries(report.uncompared ?? {});
    if (unknown.length > 0) {
      const count = unknown.reduce((sum, [, times]) => sum + times, 0);
      const names = unknown.map(([name, times]) => `${name} (${times})`).join(", ");
      console.log(`  ${count} refusals were compared with no reason, as these exceptions are not known: ${names}`);
    }
    for (const failure of report.failures.slice(0, SHOWN_FAILURES)) console.log(`  ${failure}`);
    if (report.failures.length > SHOWN_FAILURES) console.log(`  … and ${report.failures.length - SHOWN_FAILURES} more`);
    passed += report.passed;
    failures += report.failures.length;
    const count = report.passed + report.failures.length;
    const isWhole = suite.isOfSpecTests !== true && (suite.find !== undefined || (isComplete && !options.quick));
    const atLeast = isWhole ? suite.atLeast : 1;
    if (count < atLeast) {
      console.log(`  only ${count} cases in ${path}, expected at least ${atLeast}`);
      failures++;
    }
  }
  console.log(`${passed} passed, ${failures} failed`);
  return failures === 0 ? 0 : 1;
}
