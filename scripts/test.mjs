// `npm test`: unit tests, then the conformance subset if its data is available, the P2P network against Go's libraries if Go is
// installed, then the end-to-end test of the real programs, and attacks on them. Tests with the tag "long" are left out.
// `npm run test:long` (`--long`): the tests with the tag "long". `npm test -- --all`: both.
// The last line is `N passed, M failed` over all of them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { filesBelow, ROOT } from "./lib/stamp.mjs";

const { values } = parseArgs({ options: { long: { type: "boolean" }, all: { type: "boolean" } } });
const MINUTE_MS = 60_000;
const VITEST = join(ROOT, "node_modules", "vitest", "vitest.mjs");
const UNIT = { name: "unit", config: "vitest.config.ts" };
const END_TO_END = { name: "end-to-end", config: join("programs", "devnet", "vitest.e2e.config.ts") };
const ATTACK = { name: "attack", config: join("lab", "abuse", "vitest.e2e.config.ts") };
/** How a test file says that it has long tests, or only those. */
const LONG_TAG = /\btags\b.*"long"|\["long"\]|^\/\/ @module-tag long$/m;

const folder = mkdtempSync(join(tmpdir(), "rnode-test-"));
const notRun = [];
const failures = [];
const total = { passed: 0, failed: 0 };

if (values.all) {
  // one run of each suite, because quick and long tests of a file share its devnet
  step("unit tests", () => runAll(UNIT, 40 * MINUTE_MS));
  step("conformance", runConformance);
  step("interop", runInterop);
  step("end to end", () => runAll(END_TO_END, 19 * MINUTE_MS));
  step("attacks", () => runLong(ATTACK, 8 * MINUTE_MS)); // the quick ones are among them
} else if (values.long) {
  step("long unit tests", () => runLong(UNIT, 25 * MINUTE_MS));
  step("long end to end", () => runLong(END_TO_END, 11 * MINUTE_MS));
  step("all attacks", () => runLong(ATTACK, 8 * MINUTE_MS));
} else {
  step("unit tests", () => runQuick(UNIT, 30 * MINUTE_MS));
  step("conformance", runConformance);
  step("interop", runInterop);
  step("end to end", () => runQuick(END_TO_END, 16 * MINUTE_MS));
  step("attacks", () => runQuick(ATTACK, 10 * MINUTE_MS));
}

rmSync(folder, { recursive: true, force: true });
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(notRun.length === 0 ? "not run: nothing" : `not run: ${notRun.join("; ")}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);

function step(name, run) {
  const startedMs = Date.now();
  console.log(`\n=== ${name}`);
  const { passed, failed } = run();
  total.passed += passed;
  total.failed += failed;
  console.log(`=== ${name}: ${passed} passed, ${failed} failed, ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
}

function runQuick(suite, timeoutMs) {
  return withLost(runVitest(suite, ["--tags-filter=!long"], timeoutMs));
}

function runAll(suite, timeoutMs) {
  return withLost(runVitest(suite, [], timeoutMs));
}

/** A file whose long tests `npm run test:long` does not find counts as failed. */
function withLost({ counts, tests }) {
  const isTagged = (file) => LONG_TAG.test(readFileSync(file, "utf8"));
  const lost = new Set(tests.filter(({ tags, file }) => tags.includes("long") && !isTagged(file)).map(({ file }) => file));
  for (const file of lost)
    console.error(`${file}: \`npm run test:long\` does not find its tests: write tags: "long", or // @module-tag long`);
  return { ...counts, failed: counts.failed + lost.size };
}

/** Loads only the files that have long tests. */
function runLong(suite, timeoutMs) {
  const folders = readdirSync(ROOT, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name),
  );
  const files = folders.flatMap(({ name }) => [...filesBelow(join(ROOT, name))]);
  const long = files.filter((file) => /\.(?:test|e2e)\.ts$/.test(file) && LONG_TAG.test(readFileSync(file, "utf8")));
  return runVitest(suite, ["--tags-filter=long", ...long], timeoutMs).counts;
}

function runVitest({ name, config }, args, timeoutMs) {
  const report = join(folder, `${name}.json`);
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status, signal } = spawnSync(process.execPath, [VITEST, "run", "--config", config, ...reporters, ...args], {
    cwd: ROOT,
    stdio: "inherit",
    timeout: timeoutMs,
  });
  if (!existsSync(report)) {
    console.error(signal ? `${name} tests took longer than ${timeoutMs / MINUTE_MS} minutes` : `${name} tests did not run`);
    return { counts: { passed: 0, failed: 1 }, tests: [] };
  }
  const { testResults, numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  const tests = testResults.flatMap(({ name: file, assertionResults }) => assertionResults.map((test) => ({ ...test, file })));
  failures.push(
    ...tests
      .filter((test) => test.status === "failed")
      .map(({ file, fullName, failureMessages }) => `${relative(ROOT, file)}: ${fullName}: ${firstLine(failureMessages.join())}`),
  );
  failures.push(
    ...testResults
      .filter(({ status, message }) => status === "failed" && message)
      .map(({ name: file, message }) => `${relative(ROOT, file)}: ${firstLine(message)}`),
  );
  const isAsked = ({ tags }) => args.length === 0 || tags.includes("long") === args.includes("--tags-filter=long");
  const skipped = tests.filter((test) => ["skipped", "pending", "todo"].includes(test.status) && isAsked(test));
  if (skipped.length > 0) notRun.push(`${skipped.length} skipped ${name} tests`);
  // a test file that does not load makes the run fail without a failed test
  return { counts: { passed: numPassedTests, failed: status === 0 ? numFailedTests : Math.max(1, numFailedTests) }, tests };
}

function firstLine(text) {
  const [line] = text.split("\n");
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function runConformance() {
  const vectors = process.env.RNODE_VECTORS ?? join(ROOT, "..", "shared", "vectors");
  if (!existsSync(vectors)) {
    notRun.push(`conformance (no vectors in ${vectors}; RNODE_VECTORS names another folder)`);
    return { passed: 0, failed: 0 };
  }
  const script = join(ROOT, "scripts", "conformance.mjs");
  const { status, stdout } = spawnSync(process.execPath, [script, "--quick"], {
    cwd: ROOT,
    env: { ...process.env, RNODE_VECTORS: vectors },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    maxBuffer: 1 << 28,
    timeout: 6 * MINUTE_MS,
  });
  process.stdout.write(stdout ?? "");
  const counts = /(\d+) passed, (\d+) failed\s*$/.exec(stdout ?? "");
  if (!counts) return { passed: 0, failed: 1 };
  const failed = Number(counts[2]);
  return { passed: Number(counts[1]), failed: status === 0 ? failed : Math.max(1, failed) };
}

function runInterop() {
  const script = join(ROOT, "scripts", "interop.mjs");
  // The first time Go fetches and compiles its modules: two minutes.
  const options = { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8", timeout: 8 * MINUTE_MS };
  // go-ethereum's packages take minutes to compile: `npm run interop` runs those of the execution client's network as well
  const { status, stdout } = spawnSync(process.execPath, [script, "p2p"], options);
  process.stdout.write(stdout ?? "");
  if (status === 0 && stdout.includes("interop was not run")) {
    notRun.push("interop (Go is not installed)");
    return { passed: 0, failed: 0 };
  }
  const counts = /(\d+) passed, (\d+) failed\s*$/.exec(stdout ?? "");
  if (!counts) return { passed: 0, failed: 1 };
  const failed = Number(counts[2]);
  return { passed: Number(counts[1]), failed: status === 0 ? failed : Math.max(1, failed) };
}
