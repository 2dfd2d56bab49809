// `npm run hostile-l1 -- --hours=N [--seed=N] [--da=calldata|blobs|auto]`: months of the batch submitter on a simulated L1 that goes wrong.
import { join } from "node:path";
import { buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

buildTypeScript();
const { parseHostileCli, printHostileRun } = await import(join(ROOT, "programs", "rbatcher", "lib", "testing", "index.js"));
const options = parseHostileCli(process.argv.slice(2));
if ("text" in options) {
  console.log(options.text);
  process.exit(options.exitCode);
}
process.exit(await printHostileRun(options));
