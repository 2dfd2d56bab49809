// Only the tables in packages/base/protocol/src/forks name forks. All other code uses rules with names of their effect. Tests and
// their helpers (`testing/`) may name forks.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/stamp.mjs";
import { packageFiles } from "./lib/workspace.mjs";

const TABLES = "packages/base/protocol/src/forks/";

/** Files, and folders (with a trailing slash), that may name forks, and why. */
const EXEMPT = new Map([
  ["lab/bench/src/", "what is measured runs on a fork that the benchmark chooses, in peers and compilers too"],
  ["lab/conformance/src/fuzz/", "cases and the other implementation must not follow from our own tables"],
  ["lab/conformance/src/rpc/rpc-deviations.ts", "names of test cases"],
  ["lab/conformance/src/suites/suite-forks.ts", "the names that public test suites have for forks"],
  ["programs/devnet/src/l1/anvil.ts", "an option of anvil"],
  ["programs/devnet/src/l1/l1-chain-config.ts", "the schedule of the devnet's L1"],
  ["programs/devnet/src/parameters.ts", "the fork that the devnet starts with"],
  ["packages/base/protocol/src/chains/l1-chains.ts", "the schedules of public networks"],
  ["packages/base/protocol/src/params/l1-info-layouts.ts", "layouts are named after forks"],
  ["packages/base/protocol/src/chains/fork-id.ts", "which forks of a schedule count in a fork id"],
  ["packages/base/protocol/src/chains/networks.ts", "what the schedules of all public rollups have in common"],
  ["lab/scenarios/src/plan.ts", "the forks that chains of scenarios go through"],
]);

const forksIn = (file, list) => {
  const [, body] = new RegExp(`export const ${list} = \\[([^\\]]*)\\]`).exec(readFileSync(join(ROOT, TABLES, file), "utf8")) ?? [];
  const names = [...(body ?? "").matchAll(/"(\w+)"/g)].map(([, name]) => name);
  if (names.length === 0) throw new Error(`${TABLES}${file} has no list ${list}`);
  return names;
};
const names = [...forksIn("op-forks.ts", "OP_FORKS"), ...forksIn("evm-forks.ts", "EVM_FORKS")].join("|");
const NAMED = [
  new RegExp(`(["'\`])(?:${names})\\1`), // a text
  new RegExp(`(?:forkTimes|evmForkTimes|forkBlocks|ForkTimes|FORK_FACTS|_FORKS)\\??\\.(?:${names})\\b`), // a key of a schedule or table
  new RegExp(`\\{[^{}]*\\b(?:${names})\\b[^{}]*\\}\\s*=[^=>]*(?:forkTimes|evmForkTimes|forkBlocks)\\b`), // the same, destructured
  new RegExp(`^\\s*(?:${names}): `), // a row of another table
];

const problems = [];
const used = new Set();
for (const file of packageFiles()) {
  const where = file.slice(ROOT.length).replace(/^\//, "");
  if (!/\/src\/.*\.ts$/.test(where) || where.startsWith(TABLES)) continue;
  if (/\.(?:test|e2e|fuzz|bench|d)\.ts$/.test(where) || where.includes("/testing/")) continue;
  const exemption = [...EXEMPT.keys()].find((path) => where === path || (path.endsWith("/") && where.startsWith(path)));
  readFileSync(file, "utf8")
    .split("\n")
    .forEach((line, index) => {
      if (/^\s*(?:\/\/|\*|\/\*)/.test(line) || !NAMED.some((form) => form.test(line))) return;
      if (exemption === undefined) problems.push(`${where}:${index + 1}: names a fork: ${line.trim()}`);
      else used.add(exemption);
    });
}
for (const path of EXEMPT.keys()) if (!used.has(path)) problems.push(`scripts/check-forks.mjs: ${path} names no fork any more`);

if (problems.length > 0) {
  console.error(problems.join("\n"));
  console.error(`${problems.length} times: give the rule a name that says what it does, in ${TABLES}`);
  process.exit(1);
}
