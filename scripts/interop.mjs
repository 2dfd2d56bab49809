// `npm run interop`: builds nodes in Go (packages/p2p/interop, packages/devp2p/interop), and has each and our own node connect, exchange what
// their network exchanges, and find each other. `-- p2p` or `-- devp2p`: only this network. The last line is `N passed, M failed`. Where Go is
// not installed, one line says that nothing was run.
import { join } from "node:path";
import { buildInterop, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

const NETWORKS = ["p2p", "devp2p"];
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !NETWORKS.includes(name));
if (unknown !== undefined) {
  console.error(`interop: ${unknown} is no network: expected ${NETWORKS.join(" or ")}`);
  process.exit(1);
}
const binaries = NETWORKS.filter((name) => wanted.length === 0 || wanted.includes(name)).map((name) => [name, buildInterop(name)]);
if (binaries.some(([, binary]) => binary === undefined)) {
  console.log("interop was not run: Go is not installed (packages/p2p/interop and packages/devp2p/interop need Go 1.26)");
  process.exit(0);
}
buildTypeScript();
const counts = { passed: 0, failed: 0 };
for (const [name, binary] of binaries) {
  const { runInterop } = await import(join(ROOT, "packages", name, "dist", "testing", "index.js"));
  const { passed, failed } = await runInterop(binary, (line) => console.log(line));
  counts.passed += passed;
  counts.failed += failed;
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 ? 0 : 1);
