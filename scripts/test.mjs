// `npm test`: unit tests, then the conformance subset if its data is available, the P2P network against Go's libraries if Go is
// installed, then the end-to-end test of the real programs, and attacks
// on them. The last line is `N passed, M failed` over all of them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./lib/stamp.mjs";

const MINUTE_MS = 60_000;
const VITEST = join(ROOT, "node_modules", "vitest", "vitest.mjs");
const folder = mkdtempSync(join(tmpdir(), "rnode-test-"));
const notRun = [];
const total = { passed: 0, failed: 0 };

step("unit tests", () => runVitest("unit", ["run"], 25 * MINUTE_MS));
step("conformance", runConformance);
step("interop", runInterop);
step("end to end", () =>
  runVitest("end-to-end", ["run", "--config", join("packages", "devnet", "vitest.e2e.config.ts")], 11 * MINUTE_MS),
);
step("attacks", () => runVitest("attack", ["run", "--config", join("packages", "abuse", "vitest.e2e.config.ts")], 8 * MINUTE_MS));

rmSync(folder, { recursive: true, force: true });
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

function runVitest(name, args, timeoutMs) {
  const report = join(folder, `${name}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status, signal } = spawnSync(process.execPath, [VITEST, ...args, ...reporters], {
    cwd: ROOT,
    stdio: "inherit",
    timeout: timeoutMs,
  });
  if (!existsSync(report)) {
    console.error(signal ? `${name} tests took longer than ${timeoutMs / MINUTE_MS} minutes` : `${name} tests did not run`);
    return { passed: 0, failed: 1 };
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(readFileSync(report, "utf8"));
  const skipped = numPendingTests + numTodoTests;
  if (skipped > 0) notRun.push(`${skipped} skipped ${name} tests`);
  // a test file that does not load makes the run fail without a failed test
  return { passed: numPassedTests, failed: status === 0 ? numFailedTests : Math.max(1, numFailedTests) };
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
