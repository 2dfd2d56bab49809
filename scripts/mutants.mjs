// `npm run mutants -- [--only=TEXT]`: switches each rule of derivation, and some of sync, off in turn, in a copy of the packages, and says which test
// noticed. A mutant that no unit test notices is given to the scenarios. A test that only runs out of time has noticed nothing, except of a
// mutant that is marked as one that loops. Last line: `N noticed, M survived, T timed out`.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { parseArgs } from "node:util";
import { MUTANTS } from "./lib/mutants.mjs";
import { reportStale } from "./lib/stale-mutants.mjs";
import { ROOT } from "./lib/stamp.mjs";
import { workspacePackages } from "./lib/workspace.mjs";

const SCENARIO_SEEDS = "30";
/** The start of vitest's message for a test that timed out: vitest leaves its placeholder of a stack there. */
const OUT_OF_TIME = /^(?:Error: )?(?:STACK_TRACE_ERROR|(?:Test|Hook) timed out in \d+ms)/;
const UNIT_TESTS = [
  "packages/rollup/derivation",
  ...["batches/frame", "batches/channel", "batches/blob", "batches/batch", "rollup/system-config", "transactions/deposits"].map(
    (name) => `packages/base/protocol/src/${name}.test.ts`,
  ),
  ...["common/consolidation", "safe/safe-chain-check", "safe/derived-from"].map((name) => `programs/rnode/src/${name}.test.ts`),
];

/** The tests of a file, which are tried first. */
const D = "packages/rollup/derivation/src";
const PIPELINE = ["", "-l1", "-any-order", "-strict-order"].map((subject) => `${D}/pipeline${subject}.test.ts`);
const NEAREST = {
  [`${D}/batches/batch-checks.ts`]: [`${D}/batches/batch-checks.test.ts`, `${D}/batches/span-batch-checks.test.ts`],
  [`${D}/batches/span-batch-checks.ts`]: [`${D}/batches/span-batch-checks.test.ts`],
  [`${D}/channels/channel-bank.ts`]: [`${D}/channels/channel-stages.test.ts`],
  [`${D}/channels/channel-assembler.ts`]: [`${D}/channels/channel-stages.test.ts`],
  [`${D}/channels/channel-reader.ts`]: [`${D}/channels/channel-stages.test.ts`, ...PIPELINE],
  [`${D}/channels/frame-queue.ts`]: [`${D}/channels/frame-queue.test.ts`],
  [`${D}/l1/alt-da-stage.ts`]: [`${D}/l1/alt-da-stage.test.ts`],
  [`${D}/l1/da-challenges.ts`]: [`${D}/l1/alt-da-stage.test.ts`, `${D}/l1/alt-da-challenges.test.ts`],
  [`${D}/start/sync-start.ts`]: [`${D}/start/sync-start.test.ts`, `${D}/start/sync-start-search.test.ts`],
  [`${D}/start/sync-start-search.ts`]: [`${D}/start/sync-start-search.test.ts`],
  [`${D}/attributes/attributes.ts`]: [`${D}/attributes/attributes.test.ts`, ...PIPELINE],
  [`${D}/l1/l1-traversal.ts`]: [`${D}/l1/l1-traversal.test.ts`, ...PIPELINE],
  "packages/base/protocol/src/batches/channel.ts": [
    "packages/base/protocol/src/batches/channel.test.ts",
    `${D}/channels/channel-stages.test.ts`,
  ],
  "packages/base/protocol/src/batches/frame.ts": ["packages/base/protocol/src/batches/frame.test.ts"],
  "packages/base/protocol/src/transactions/contract-logs.ts": ["rollup/system-config", "transactions/deposits"].map(
    (name) => `packages/base/protocol/src/${name}.test.ts`,
  ),
  "packages/base/protocol/src/batches/span-batch-transactions.ts": ["packages/base/protocol/src/batches/batch.test.ts"],
  "packages/base/protocol/src/rollup/system-config.ts": ["packages/base/protocol/src/rollup/system-config.test.ts"],
  "packages/base/protocol/src/batches/blob.ts": ["packages/base/protocol/src/batches/blob.test.ts"],
  "programs/rnode/src/safe/safe-chain-check.ts": ["programs/rnode/src/safe/safe-chain-check.test.ts"],
  "programs/rnode/src/safe/derived-from.ts": ["programs/rnode/src/safe/derived-from.test.ts"],
  "programs/rnode/src/common/consolidation.ts": ["programs/rnode/src/common/consolidation.test.ts"],
  "programs/rnode/src/unsafe/execution-layer-sync.ts": ["programs/rnode/src/unsafe/execution-layer-sync.test.ts"],
  "packages/network/sync/src/blocks/block-download.ts": ["packages/network/sync/src/chain-sync.test.ts"],
  "packages/network/sync/src/chain-sync.ts": ["packages/network/sync/src/chain-sync.test.ts"],
  "packages/network/sync/src/headers/header-download.ts": ["packages/network/sync/src/chain-sync.test.ts"],
};

const { values } = parseArgs({ options: { only: { type: "string", default: "" }, help: { type: "boolean" } } });
if (values.help) {
  console.log(
    "npm run mutants -- [--only=TEXT]\n  --only=TEXT  mutants whose rule contains it, or one of several texts with | between; default: all, which takes hours",
  );
  process.exit(0);
}
const texts = values.only.split("|");
const wanted = MUTANTS.filter(({ rule }) => texts.some((text) => rule.includes(text)));
reportStale(wanted);
const folder = mkdtempSync(join(tmpdir(), "rnode-mutants-"));
const count = { noticed: 0, survived: 0, "timed out": 0 };
try {
  copyPackages();
  const untouched = run(UNIT_TESTS);
  if (untouched.kind !== "survived") throw new Error(`without any mutation, this fails: ${untouched.where}`);
  for (const mutant of wanted) {
    const { kind, where } = tryMutant(mutant);
    console.log(`${mutant.rule.padEnd(60)} ${kind === "noticed" ? where : `${kind.toUpperCase()} ${where ?? ""}`}`);
    count[kind]++;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  Object.entries(count)
    .map(([kind, number]) => `${number} ${kind}`)
    .join(", "),
);
process.exit(count.noticed === wanted.length ? 0 : 1);

/** The packages' sources, with dependencies between them that lead to the copies. */
function copyPackages() {
  const skipped = new Set(["dist", "lib", "node_modules"]);
  const isSource = (path) => !skipped.has(path.split(sep).at(-1));
  for (const name of ["packages", "programs", "lab"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: isSource });
  for (const name of ["package.json", "vitest.config.ts", "vitest.setup.ts", "tsconfig.base.json"])
    cpSync(join(ROOT, name), join(folder, name));
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@rnode"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (name !== "@rnode" && !name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  for (const { folder: from, manifest } of workspacePackages()) symlinkSync(join(folder, from), join(modules, manifest.name));
}

/** @returns the test result for the mutant, and the test that failed */
function tryMutant({ file, from, to, loops = false }) {
  const path = join(folder, file);
  const source = readFileSync(path, "utf8");
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  try {
    let timedOut;
    for (const tests of [NEAREST[file] ?? PIPELINE, UNIT_TESTS, ["lab/scenarios"]]) {
      let outcome = run(tests);
      // The run ends with the first test that fails: another one may notice more than a lack of time.
      if (outcome.kind === "timed out" && !loops && outcome.hasReport) outcome = run(tests, false);
      if (outcome.kind === "noticed") return outcome;
      if (outcome.kind !== "timed out") continue;
      if (loops) return { ...outcome, kind: "noticed" };
      timedOut ??= outcome;
      if (!outcome.hasReport) break; // the process hangs: the other tests would as well
    }
    return timedOut ?? { kind: "survived" };
  } finally {
    writeFileSync(path, source);
  }
}

/**
 * @param bail the run ends with the first test that fails
 * @returns `noticed`: a test failed, or the run broke off; `timed out`: all tests that failed ran out of time, or the run did, which leaves no report
 */
function run(tests, bail = true) {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", ...(bail ? ["--bail=1"] : []), "--reporter=json", `--outputFile=${report}`, ...tests];
  const env = { ...process.env, RNODE_SCENARIO_SEEDS: SCENARIO_SEEDS };
  const { status, error } = spawnSync(process.execPath, args, { cwd: folder, env, stdio: "ignore", timeout: 300_000 });
  if (status === 0) return { kind: "survived" };
  if (error !== undefined || status === null) return { kind: "timed out", where: "the run does not end", hasReport: false };
  if (!existsSync(report)) return { kind: "noticed", where: "tests that break off" };
  let timedOut;
  for (const { name, assertionResults, message } of JSON.parse(readFileSync(report, "utf8")).testResults) {
    const file = name.slice(folder.length + 1);
    for (const { status: outcome, fullName, failureMessages = [] } of assertionResults) {
      if (outcome !== "failed") continue;
      const where = `${file}: ${fullName}`;
      if (!failureMessages.every((text) => OUT_OF_TIME.test(text))) return { kind: "noticed", where };
      timedOut ??= { kind: "timed out", where, hasReport: true };
    }
    if (message && !assertionResults.some(({ status: outcome }) => outcome === "failed"))
      return { kind: "noticed", where: `${file}: ${message.split("\n")[0]}` };
  }
  return timedOut ?? { kind: "noticed", where: "the test run failed" };
}
