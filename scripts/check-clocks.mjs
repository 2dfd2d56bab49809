// The time of day jumps when an operator or NTP sets it: a deadline measured with it comes an hour late, or never. So a source file asks for
// the time of day only to compare it with a timestamp in seconds (`unixMs() / 1000`) or to number a record (`BigInt(unixMs())`).
// Everything else measures with `Clock.monotonicMs` or `performance.now`; the files below are the exceptions, each with its reason.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, ROOT } from "./lib/stamp.mjs";

const TIME_OF_DAY = /\bunixMs\(\)|\bDate\.now\b|\bnew Date\(\)/g;
const COMPARED = /\bunixMs\(\) \/ 1(?:_?000|00)\b|\bBigInt\([\w.#]*unixMs\(\)\)/g;

/** Files and folders (with a trailing slash) below `packages/`, and why they ask for the time of day. */
const EXEMPT = new Map([
  ["abuse/src/", "it measures the programs from outside"],
  ["bench/src/", "it measures the programs from outside"],
  ["conformance/src/", "a command that ends"],
  ["scenarios/src/", "simulated time"],
  ["primitives/src/clock.ts", "the interface"],
  ["program/src/system-clock.ts", "the clock itself"],
  ["jsonrpc/src/jwt.ts", "dates of tokens"],
  ["jsonrpc/src/plain-http.ts", "the Date header"],
  ["observe/src/logger.ts", "dates of log lines"],
  ["rollup-node/src/main.ts", "dates of log lines"],
  ["devnet/src/program.ts", "dates of log lines"],
  ["dashboard/src/server/", "dates that a page shows"],
  ["execution-client/src/client-feed.ts", "dates that a page shows"],
  ["rollup-node/src/pipeline-feed.ts", "dates that a page shows"],
  ["tx-manager/src/sending.ts", "dates that a page shows"],
  ["program/src/pprof/open-pprof.ts", "dates of profiles"],
  ["batcher/src/spend-history.ts", "payments are dated by their L1 blocks"],
  ["batcher/src/spend-limit.ts", "payments are dated by their L1 blocks"],
  ["batcher/src/publishing-run.ts", "payments are dated by their L1 blocks"],
  ["proposer/src/proposer.ts", "the contract dates the last proposal"],
  ["proposer/src/dispute-games.ts", "the contract dates games"],
  ["dev-chain/src/mining.ts", "slots of a development chain"],
  ["devp2p/src/start-network.ts", "bans outlive the process"],
  ["devp2p/src/peers/peer-host.ts", "bans outlive the process"],
  ["devp2p/src/peers/known-peers.ts", "known peers outlive the process"],
  ["execution-client/src/setup/genesis-memory.ts", "the file system dates files"],
  ["p2p/src/gossip/block-judge.ts", "payloads carry their block's timestamp"],
  ["p2p/src/sync/sync-client.ts", "payloads carry their block's timestamp"],
  ["p2p/src/clock-watch.ts", "it compares the time of day with monotonic time"],
  ["p2p/src/peers/gossip-view.ts", "gossipsub dates its records"],
  ["p2p/src/peers/peer-upkeep.ts", "libp2p dates connections"],
  ["rollup-node/src/sequencing-time.ts", "blocks are due at their timestamps"],
]);

const problems = [];
const used = new Set();
for (const file of filesBelow(join(ROOT, "packages"))) {
  const where = file.slice(ROOT.length).replace(/^\/?packages\//, "");
  if (!/^[\w-]+\/src\/.*\.ts$/.test(where) || /\.(?:test|e2e|d)\.ts$/.test(where) || /\/(?:testing|e2e)\//.test(where)) continue;
  const exemption = [...EXEMPT.keys()].find((path) => where === path || (path.endsWith("/") && where.startsWith(path)));
  readFileSync(file, "utf8")
    .split("\n")
    .forEach((line, index) => {
      if (/^\s*(?:\/\/|\*|\/\*)/.test(line)) return;
      if (line.replaceAll(COMPARED, "").match(TIME_OF_DAY) === null) return;
      if (exemption === undefined) problems.push(`packages/${where}:${index + 1}: asks for the time of day: ${line.trim()}`);
      else used.add(exemption);
    });
}
for (const path of EXEMPT.keys())
  if (!used.has(path)) problems.push(`scripts/check-clocks.mjs: ${path} no longer asks for the time of day`);

if (problems.length > 0) {
  console.error(problems.join("\n"));
  console.error("measure intervals with Clock.monotonicMs; a file that must compare the time of day gets a row with its reason");
  process.exit(1);
}
