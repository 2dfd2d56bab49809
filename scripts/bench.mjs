// `npm run bench -- <name> [options]`: builds outdated files and runs one benchmark of lab/bench.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildContracts, buildEngine, buildInterop, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

const BENCHMARKS = {
  evm: "the EVM engine against anvil and @ethereumjs/evm",
  memory: "memory of the verifier pair (rengine and rnode) in a devnet under light load, by parts",
  rpc: "JSON-RPC over HTTP: rengine and anvil in turns; --varied: thousands of different requests about older blocks",
  scale: "a state larger than the memory: live blocks, import, requests, starts, verify; --accounts=N, --memory=MiB, --old=DIR",
  worst: "the gas that is slowest to burn, found by search; --revm=PROGRAM: revm in turns",
  engine: "the Engine API of the built program on blocks of others and of its own; --old=DIR: another checkout in turns",
  state: "trie, storage and state roots",
  proofs: "a long proof window: its size on disk, and the time of old proofs; --blocks=N, --changed=N",
  derive: "L2 blocks a second from channel data to attributes, without execution: span and singular batches, zlib and brotli",
  p2p: "gossip of blocks, ours and a Go program on op-node's libraries in turns: messages a second, latency, validation, memory a peer",
  subblocks: "time to a receipt at a follower of the stream; block production and CPU; with subblocks and without; --only=NAME",
  set: "two rollups derived and verified by rnode set, in turns with one derived by rnode: blocks a second, CPU",
  sync: "a chain fetched from a peer over devp2p; --geth=PATH, --reth=PATH: to and from these, too",
  snap: "a state fetched from a rengine by another (snap/1): time, CPU, memory, disk; --accounts=N",
  "state-import": "rengine import-state of a generated state: lines of JSON, a snapshot; --accounts=N, --slots=N",
  import: "import of generated chains, in turns with anvil mining the same transactions",
};

const [name, ...args] = process.argv.slice(2);
if (name === undefined || !(name in BENCHMARKS)) {
  console.error(`which benchmark? npm run bench -- <name>`);
  for (const [known, what] of Object.entries(BENCHMARKS)) console.error(`  ${known.padEnd(12)} ${what}`);
  process.exit(name === "--help" || name === "-h" ? 0 : 2);
}
buildEngine();
buildContracts();
buildTypeScript();
if (name === "p2p") buildInterop();
const file = join(ROOT, "lab", "bench", "dist", `${name}.js`);
if (!existsSync(file)) {
  console.error(`the benchmark ${name} is not there yet (lab/bench/src/${name}.ts)`);
  process.exit(1);
}
const { main } = await import(file);
try {
  process.exit(await main(args));
} catch (error) {
  if (error?.name !== "BenchUsage") throw error;
  (error.exitCode === 0 ? console.log : console.error)(error.message);
  process.exit(error.exitCode);
}
