// `npm run abuse -- [--lies [--to-sequencer]] [--minutes=N] [--seed=N] [--only=NAME,…] [--list]`: builds outdated files, starts
// the built programs, attacks them, and measures the service of an honest client. Exit code 1: a bound was exceeded.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildContracts, buildEngine, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

buildEngine();
buildContracts();
buildTypeScript();
const file = join(ROOT, "lab", "abuse", "dist", "main.js");
if (!existsSync(file)) throw new Error(`${file} is missing: the build did not make it`);
const { main } = await import(file);
process.exit(await main(process.argv.slice(2)));
