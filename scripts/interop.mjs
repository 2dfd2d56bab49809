// `npm run interop`: builds the P2P node in Go (packages/p2p/interop), and has it and our own node connect, gossip, ask each other for
// blocks and find each other. The last line is `N passed, M failed`. Where Go is not installed, one line says that nothing was run.
import { join } from "node:path";
import { buildInterop, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

const binary = buildInterop();
if (binary === undefined) {
  console.log("interop was not run: Go is not installed (packages/p2p/interop needs Go 1.26)");
  process.exit(0);
}
buildTypeScript();
const { runInterop } = await import(join(ROOT, "packages", "p2p", "dist", "testing", "index.js"));
const { passed, failed } = await runInterop(binary, (line) => console.log(line));
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
