// `npm test`: unit tests, beside them the end-to-end tests of the real programs, the P2P network against Go's libraries if Go is
// installed, and the conformance subset if its data is available. Tests with the tag "long" are left out, among them all attacks.
// `npm run test:long` (`--long`): the tests with the tag "long". `npm test -- --all`: both.
// The last line is `N passed, M failed` over all of them.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { getPriority, setPriority, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { filesBelow, ROOT } from "./lib/stamp.mjs";

const { values } = parseArgs({ options: { long: { type: "boolean" }, all: { type: "boolean" } } });
const MINUTE_MS = 60_000;
/** Of 19: the unit tests give way to programs that make blocks in time. */
const UNIT_NICENESS = Math.min(19, getPriority() + 5);
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

// End-to-end tests mostly wait for blocks. The unit tests, which compute, run beside them at a lower priority.
if (values.all) {
  // one run of each suite, because quick and long tests of a file share its devnet
  await beside(
    step("unit tests", () => runAll(UNIT, 40 * MINUTE_MS)),
    [
      () => step("end to end", () => runAll(END_TO_END, 25 * MINUTE_MS)),
      () => step("attacks", () => runLong(ATTACK, 10 * MINUTE_MS)),
      () => step("interop", runInterop),
      () => step("conformance", runConformance),
    ],
  );
} else if (values.long) {
  await beside(
    step("long unit tests", () => runLong(UNIT, 40 * MINUTE_MS)),
    [
      () => step("long end to end", () => runLong(END_TO_END, 25 * MINUTE_MS)),
      () => step("attacks", () => runLong(ATTACK, 10 * MINUTE_MS)),
    ],
  );
} else {
  await beside(
    step("unit tests", () => runQuick(UNIT, 30 * MINUTE_MS)),
    [
      () => step("end to end", () => runQuick(END_TO_END, 20 * MINUTE_MS)),
      () => step("interop", runInterop),
      () => step("conformance", runConformance),
    ],
  );
}

rmSync(folder, { recursive: true, force: true });
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(notRun.length === 0 ? "not run: nothing" : `not run: ${notRun.join("; ")}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);

/** Runs `others` one after another beside `shown`, whose output is shown at once; theirs follows. */
async function beside(shown, others) {
  const outputs = [];
  const waiting = (async () => {
    for (const other of others) outputs.push(await other());
  })();
  process.stdout.write(await shown);
  await waiting;
  for (const output of outputs) process.stdout.write(output);
}

/** @returns what it printed, if that is not shown yet */
async function step(name, run) {
  const startedMs = Date.now();
  const { passed, failed, output = "" } = await run();
  total.passed += passed;
  total.failed += failed;
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(0);
  return `\n=== ${name}\n${output}=== ${name}: ${passed} passed, ${failed} failed, ${seconds} s\n`;
}

/** The unit tests' output is shown as it comes. @returns `output` of other programs; `status` is null if it took too long */
async function runScript(args, { isShown = false, env = process.env, timeoutMs }) {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env,
    stdio: ["ignore", isShown ? "inherit" : "pipe", isShown ? "inherit" : "pipe"],
  });
  if (isShown) setPriority(child.pid, UNIT_NICENESS);
  const chunks = [];
  child.stdout?.on("data", (chunk) => chunks.push(chunk));
  child.stderr?.on("data", (chunk) => chunks.push(chunk));
  const timer = setTimeout(() => child.kill(), timeoutMs);
  const status = await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  return { status, output: Buffer.concat(chunks).toString() };
}

async function runQuick(suite, timeoutMs) {
  return withLost(await runVitest(suite, ["--tags-filter=!long"], timeoutMs));
}

async function runAll(suite, timeoutMs) {
  return withLost(await runVitest(suite, [], timeoutMs));
}

/** A file whose long tests `npm run test:long` does not find counts as failed. */
function withLost({ tests, ...counts }) {
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
  return runVitest(suite, ["--tags-filter=long", ...long], timeoutMs);
}

async function runVitest({ name, config }, args, timeoutMs) {
  const report = join(folder, `${name}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const options = { isShown: name === UNIT.name, timeoutMs };
  const { status, output } = await runScript([VITEST, "run", "--config", config, ...reporters, ...args], options);
  if (!existsSync(report)) {
    console.error(
      status === null ? `${name} tests took longer than ${timeoutMs / MINUTE_MS} minutes` : `${name} tests did not run`,
    );
    return { passed: 0, failed: 1, output, tests: [] };
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
  return { passed: numPassedTests, failed: status === 0 ? numFailedTests : Math.max(1, numFailedTests), output, tests };
}

function firstLine(text) {
  const [line] = text.split("\n");
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

async function runConformance() {
  const vectors = process.env.RNODE_VECTORS ?? join(ROOT, "..", "shared", "vectors");
  if (!existsSync(vectors)) {
    notRun.push(`conformance (no vectors in ${vectors}; RNODE_VECTORS names another folder)`);
    return { passed: 0, failed: 0 };
  }
  const env = { ...process.env, RNODE_VECTORS: vectors };
  return countsOf(await runScript([join(ROOT, "scripts", "conformance.mjs"), "--quick"], { env, timeoutMs: 6 * MINUTE_MS }));
}

async function runInterop() {
  // go-ethereum's packages take minutes to compile: `npm run interop` runs those of the execution client's network as well.
  // The first time Go fetches and compiles its modules: two minutes.
  const ran = await runScript([join(ROOT, "scripts", "interop.mjs"), "p2p"], { timeoutMs: 8 * MINUTE_MS });
  if (ran.status === 0 && ran.output.includes("interop was not run")) {
    notRun.push("interop (Go is not installed)");
    return { passed: 0, failed: 0 };
  }
  return countsOf(ran);
}

function countsOf({ status, output }) {
  const counts = /(\d+) passed, (\d+) failed\s*$/.exec(output);
  if (!counts) return { passed: 0, failed: 1, output };
  const failed = Number(counts[2]);
  return { passed: Number(counts[1]), failed: status === 0 ? failed : Math.max(1, failed), output };
}
