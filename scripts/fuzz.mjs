// `npm run fuzz -- [--seed N] [--runs N] [--minutes N] [--fork NAME]`: builds outdated files and compares our engine with
// @ethereumjs/evm. Exit code 1: they differ.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildEngine, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

buildEngine();
buildTypeScript();
const file = join(ROOT, "lab", "conformance", "dist", "fuzz", "run-fuzz.js");
if (!existsSync(file)) throw new Error(`${file} is missing: the build did not make it`);
const { main } = await import(file);
process.exitCode = await main(process.argv.slice(2));
