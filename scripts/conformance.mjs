// `npm run conformance -- [DIR]`: builds outdated files and runs the public test suites. Last line: `N passed, M failed`.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildEngine, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

buildEngine();
buildTypeScript();
const file = join(ROOT, "lab", "conformance", "dist", "run-conformance.js");
if (!existsSync(file)) throw new Error(`${file} is missing: the build did not make it`);
const { runConformance } = await import(file);
process.exitCode = await runConformance(process.argv.slice(2), process.env);
