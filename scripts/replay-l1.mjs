// `npm run replay-l1 -- DIR` serves a recorded L1, `npm run record-l1 -- DIR --l1=URL --from=N --to=N` writes one; both build
// outdated files first.
import { join } from "node:path";
import { buildEngine, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

buildEngine();
buildTypeScript();
const { recordL1Command, replayL1 } = await import(join(ROOT, "lab", "conformance", "lib", "index.js"));
const print = {
  out: (line) => console.log(line),
  err: (line) => console.error(line),
  progress: (line) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${line}\u001b[K`);
  },
};
const [command, ...args] = process.argv.slice(2);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort());
process.exit(command === "record" ? await recordL1Command(args, print) : await replayL1(args, print, stop.signal));
