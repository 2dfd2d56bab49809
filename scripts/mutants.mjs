// `npm run mutants -- [--only=TEXT]`: switches each rule of derivation, and some of sync, off in turn, in a copy of the packages, and says which test
// noticed. A mutant that no unit test notices is given to the scenarios. Last line: `N noticed, M survived`.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { parseArgs } from "node:util";
import { MUTANTS } from "./lib/mutants.mjs";
import { reportStale } from "./lib/stale-mutants.mjs";
import { ROOT } from "./lib/stamp.mjs";

const SCENARIO_SEEDS = "30";
const UNIT_TESTS = [
  "packages/derivation",
  ...["frame", "channel", "blob", "batch", "system-config", "deposits"].map((name) => `packages/protocol/src/${name}.test.ts`),
  ...["consolidation", "safe-chain-check", "derived-from"].map((name) => `packages/rollup-node/src/${name}.test.ts`),
];

/** The tests of a file, which are tried first. */
const D = "packages/derivation/src";
const PIPELINE = ["", "-l1", "-any-order", "-strict-order"].map((subject) => `${D}/pipeline${subject}.test.ts`);
const NEAREST = {
  [`${D}/batch-checks.ts`]: [`${D}/batch-checks.test.ts`, `${D}/span-batch-checks.test.ts`],
  [`${D}/span-batch-checks.ts`]: [`${D}/span-batch-checks.test.ts`],
  [`${D}/channel-bank.ts`]: [`${D}/channel-stages.test.ts`],
  [`${D}/channel-assembler.ts`]: [`${D}/channel-stages.test.ts`],
  [`${D}/channel-reader.ts`]: [`${D}/channel-stages.test.ts`, ...PIPELINE],
  [`${D}/frame-queue.ts`]: [`${D}/frame-queue.test.ts`],
  [`${D}/alt-da-stage.ts`]: [`${D}/alt-da-stage.test.ts`],
  [`${D}/da-challenges.ts`]: [`${D}/alt-da-stage.test.ts`, `${D}/alt-da-challenges.test.ts`],
  [`${D}/sync-start.ts`]: [`${D}/sync-start.test.ts`, `${D}/sync-start-search.test.ts`],
  [`${D}/sync-start-search.ts`]: [`${D}/sync-start-search.test.ts`],
  "packages/protocol/src/channel.ts": ["packages/protocol/src/channel.test.ts", `${D}/channel-stages.test.ts`],
  "packages/protocol/src/frame.ts": ["packages/protocol/src/frame.test.ts"],
  "packages/protocol/src/contract-logs.ts": ["system-config", "deposits"].map((name) => `packages/protocol/src/${name}.test.ts`),
  "packages/protocol/src/span-batch-transactions.ts": ["packages/protocol/src/batch.test.ts"],
  "packages/protocol/src/system-config.ts": ["packages/protocol/src/system-config.test.ts"],
  "packages/protocol/src/blob.ts": ["packages/protocol/src/blob.test.ts"],
  "packages/rollup-node/src/safe-chain-check.ts": ["packages/rollup-node/src/safe-chain-check.test.ts"],
  "packages/rollup-node/src/derived-from.ts": ["packages/rollup-node/src/derived-from.test.ts"],
  "packages/rollup-node/src/consolidation.ts": ["packages/rollup-node/src/consolidation.test.ts"],
  "packages/rollup-node/src/execution-layer-sync.ts": ["packages/rollup-node/src/execution-layer-sync.test.ts"],
  "packages/sync/src/blocks/block-download.ts": ["packages/sync/src/chain-sync.test.ts"],
  "packages/sync/src/chain-sync.ts": ["packages/sync/src/chain-sync.test.ts"],
  "packages/sync/src/headers/header-download.ts": ["packages/sync/src/chain-sync.test.ts"],
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
const survivors = [];
try {
  copyPackages();
  const untouched = run(UNIT_TESTS);
  if (untouched !== undefined) throw new Error(`without any mutation, this fails: ${untouched}`);
  for (const mutant of wanted) {
    const noticed = tryMutant(mutant);
    console.log(`${mutant.rule.padEnd(60)} ${noticed ?? "SURVIVED"}`);
    if (noticed === undefined) survivors.push(mutant.rule);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${wanted.length - survivors.length} noticed, ${survivors.length} survived`);
process.exit(survivors.length === 0 ? 0 : 1);

/** The packages' sources, with dependencies between them that lead to the copies. */
function copyPackages() {
  const skipped = new Set(["dist", "lib", "node_modules"]);
  const isSource = (path) => !skipped.has(path.split(sep).at(-1));
  cpSync(join(ROOT, "packages"), join(folder, "packages"), { recursive: true, filter: isSource });
  for (const name of ["package.json", "vitest.config.ts", "tsconfig.base.json"]) cpSync(join(ROOT, name), join(folder, name));
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@rnode"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (name !== "@rnode" && !name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  for (const name of readdirSync(join(folder, "packages")))
    symlinkSync(join(folder, "packages", name), join(modules, "@rnode", name));
}

function tryMutant({ file, from, to }) {
  const path = join(folder, file);
  const source = readFileSync(path, "utf8");
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  try {
    return run(NEAREST[file] ?? PIPELINE) ?? run(UNIT_TESTS) ?? run(["packages/scenarios"]);
  } finally {
    writeFileSync(path, source);
  }
}

/** @returns the first test that failed */
function run(tests) {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "--bail=1", "--reporter=json", `--outputFile=${report}`, ...tests];
  const env = { ...process.env, RNODE_SCENARIO_SEEDS: SCENARIO_SEEDS };
  const { status, error } = spawnSync(process.execPath, args, { cwd: folder, env, stdio: "ignore", timeout: 300_000 });
  if (status === 0) return undefined;
  if (error !== undefined || status === null) return "tests that no longer end";
  if (!existsSync(report)) return "tests that break off";
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  for (const { name, assertionResults, message } of testResults) {
    const failed = assertionResults.find((result) => result.status === "failed");
    const where = name.slice(folder.length + 1);
    if (failed !== undefined) return `${where}: ${failed.fullName}`;
    if (message) return `${where}: ${message.split("\n")[0]}`;
  }
  return "the test run failed";
}
