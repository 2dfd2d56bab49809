// `npm run fleet -- [--minutes=N] [--light=N] [--clients=N] [--only=TEXT,…]`: builds outdated files, starts
// nodes of the built programs behind HAProxy, and breaks them while honest clients are served. Exit code 1: an answer was wrong.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildContracts, buildEngine, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

buildEngine();
buildContracts();
buildTypeScript();
const file = join(ROOT, "lab", "abuse", "dist", "fleet", "main.js");
if (!existsSync(file)) throw new Error(`${file} is missing: the build did not make it`);
const { main } = await import(file);
process.exit(await main(process.argv.slice(2)));
