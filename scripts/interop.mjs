// `npm run interop`: builds programs in Go and Rust (INTEROP in build-steps.mjs) and runs each against ours. `-- p2p`, `-- devp2p`, `-- conductor`,
// `-- derivation`, `-- amsterdam`, `-- challenger`, `-- supernode`, `-- snap`, `-- s3`, `-- nats` or `-- boost`: only this one. The last line is `N passed, M failed`. One line
// says which were not run, because Go or Rust is not installed.
import { join } from "node:path";
import { buildGethDevp2p, buildInterop, buildPrograms } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

/** By program: the modules that have cases for it. */
const CASES = {
  p2p: ["packages/network/p2p/dist/testing/interop.js"],
  devp2p: ["packages/network/devp2p/dist/testing/interop.js"],
  conductor: ["programs/rconductor/dist/testing/interop.js", "programs/rnode/dist/testing/interop.js"],
  derivation: ["lab/conformance/dist/testing/interop.js"],
  amsterdam: ["programs/devnet/dist/e2e/amsterdam-l1.js"],
  challenger: ["programs/devnet/dist/e2e/challenger.js"],
  supernode: ["programs/devnet/dist/e2e/supernode.js"],
  snap: ["programs/rengine/dist/testing/snap-interop.js"],
  s3: ["packages/execution/snapshot/dist/testing/interop.js"],
  nats: ["programs/rengine/dist/testing/nats-interop.js"],
  boost: ["programs/devnet/dist/e2e/rollup-boost.js"],
};
const names = Object.keys(CASES);
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`interop: ${unknown} is not one of them: expected ${names.join(", ")}`);
  process.exit(1);
}
const binaries = names.filter((name) => wanted.length === 0 || wanted.includes(name)).map((name) => [name, buildInterop(name)]);
const missing = binaries.filter(([, binary]) => binary === undefined).map(([name]) => name);
if (missing.length > 0) console.log(`interop was not run for want of Go 1.26 or Rust: ${missing.join(", ")}`);
const runnable = binaries.filter(([, binary]) => binary !== undefined);
if (runnable.length === 0) process.exit(0);
buildPrograms();
const counts = { passed: 0, failed: 0 };
for (const [name, binary] of runnable) {
  for (const module of CASES[name]) {
    const { runInterop } = await import(join(ROOT, module));
    const { passed, failed } = await runInterop(binary, (line) => console.log(line));
    counts.passed += passed;
    counts.failed += failed;
  }
}
if (runnable.some(([name]) => name === "devp2p")) {
  const { runGethSuites } = await import(join(ROOT, "programs/rengine/dist/testing/geth-suites.js"));
  const { passed, failed } = await runGethSuites(buildGethDevp2p(), (line) => console.log(line));
  counts.passed += passed;
  counts.failed += failed;
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 ? 0 : 1);
