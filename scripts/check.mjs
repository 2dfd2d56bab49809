// Types, lint, format, dependencies, rings, layers, forks, clocks, metrics, documentation, mutants: everything that can be checked without running the code.
import { run } from "./lib/build-steps.mjs";
import { installWhatIsAbsent } from "./lib/install.mjs";

installWhatIsAbsent();

const node = process.execPath;
const bin = (path) => `node_modules/${path}`;
run(node, [bin("typescript/bin/tsc"), "-b"]);
run(node, [bin("typescript/bin/tsc"), "-p", "tsconfig.tests.json"]);
run(node, [bin("@biomejs/biome/bin/biome"), "check", "."]);
run(node, [bin("oxlint/bin/oxlint"), "--type-aware", "--deny-warnings", "packages", "programs", "lab"]);
run(node, [bin("knip/bin/knip.js"), "--no-progress"]);
run(node, ["scripts/check-assembly.mjs"]);
run(node, ["scripts/check-rings.mjs"]);
run(node, ["scripts/check-layers.mjs"]);
run(node, ["scripts/check-forks.mjs"]);
run(node, ["scripts/check-clocks.mjs"]);
run(node, ["scripts/check-docs.mjs"]);
run(node, ["scripts/check-guides.mjs"]);
run(node, ["scripts/check-metrics.mjs"]);
run(node, ["scripts/check-lockfile.mjs"]);
run(node, ["scripts/check-mutants.mjs"]);
console.log("check: types, format, lint, dependencies, rings, layers, forks, clocks, metrics, references and mutants are fine");
