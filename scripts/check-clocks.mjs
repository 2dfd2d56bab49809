// The time of day jumps when an operator or NTP sets it: a deadline measured with it may come an hour late, or never. So a source
// file may read the time of day only to compare it with a timestamp in seconds (`unixMs() / 1000`) or to number a record
// (`BigInt(unixMs())`). Everything else measures with `Clock.monotonicMs` or `performance.now`. The files below are the
// exceptions, each with its reason.
import { readFileSync } from "node:fs";
import { ROOT } from "./lib/stamp.mjs";
import { packageFiles } from "./lib/workspace.mjs";

const TIME_OF_DAY = /\bunixMs\(\)|\bDate\.now\b|\bnew Date\(\)/g;
const COMPARED = /\bunixMs\(\) \/ 1(?:_?000|00)\b|\bBigInt\([\w.#]*unixMs\(\)\)/g;

/** Files and folders (with a trailing slash) and why they ask for the time of day. */
const EXEMPT = new Map([
  ["lab/abuse/src/", "it measures the programs from outside"],
  ["lab/bench/src/", "it measures the programs from outside"],
  ["lab/conformance/src/", "a command that ends"],
  ["lab/scenarios/src/", "simulated time"],
  ["packages/base/primitives/src/time/clock.ts", "the interface"],
  ["packages/kit/program/src/process/system-clock.ts", "the clock itself"],
  ["packages/kit/jsonrpc/src/auth/jwt.ts", "dates of tokens"],
  ["packages/kit/jsonrpc/src/http/plain-http.ts", "the Date header"],
  ["packages/kit/observe/src/logger.ts", "dates of log lines"],
  ["programs/rnode/src/start/open-node.ts", "dates of log lines"],
  ["programs/devnet/src/processes/program.ts", "dates of log lines"],
  ["programs/dashboard/src/server/", "dates that a page shows"],
  ["programs/rengine/src/client-feed.ts", "dates that a page shows"],
  ["programs/rengine/src/commands/snapshot-publish.ts", "dates that an index shows"],
  ["programs/rnode/src/derive/pipeline-feed.ts", "dates that a page shows"],
  ["packages/rollup/tx-manager/src/sending.ts", "dates that a page shows"],
  ["packages/kit/program/src/pprof/open-pprof.ts", "dates of profiles"],
  ["programs/rbatcher/src/spend/spend-history.ts", "payments are dated by their L1 blocks"],
  ["programs/rbatcher/src/spend/spend-limit.ts", "payments are dated by their L1 blocks"],
  ["programs/rbatcher/src/publishing-run.ts", "payments are dated by their L1 blocks"],
  ["programs/rproposer/src/proposer.ts", "the contract dates the last proposal"],
  ["programs/rproposer/src/dispute-games.ts", "the contract dates games"],
  ["packages/execution/dev-chain/src/mining.ts", "slots of a development chain"],
  ["packages/network/devp2p/src/start-network.ts", "bans outlive the process"],
  ["packages/network/devp2p/src/peers/peer-host.ts", "bans outlive the process"],
  ["packages/network/devp2p/src/peers/known-peers.ts", "known peers outlive the process"],
  ["programs/rengine/src/setup/genesis-memory.ts", "the file system dates files"],
  ["packages/network/p2p/src/gossip/block-judge.ts", "payloads carry their block's timestamp"],
  ["packages/network/p2p/src/sync/sync-client.ts", "payloads carry their block's timestamp"],
  ["packages/network/p2p/src/clock-watch.ts", "it compares the time of day with monotonic time"],
  ["packages/network/p2p/src/peers/gossip-view.ts", "gossipsub dates its records"],
  ["packages/network/p2p/src/peers/peer-upkeep.ts", "libp2p dates connections"],
  ["programs/rnode/src/common/sequencing-time.ts", "blocks are due at their timestamps"],
]);

const problems = [];
const used = new Set();
for (const file of packageFiles()) {
  const where = file.slice(ROOT.length).replace(/^\//, "");
  if (!/\/src\/.*\.ts$/.test(where) || /\.(?:test|e2e|d)\.ts$/.test(where) || /\/(?:testing|e2e)\//.test(where)) continue;
  const exemption = [...EXEMPT.keys()].find((path) => where === path || (path.endsWith("/") && where.startsWith(path)));
  readFileSync(file, "utf8")
    .split("\n")
    .forEach((line, index) => {
      if (/^\s*(?:\/\/|\*|\/\*)/.test(line)) return;
      if (line.replaceAll(COMPARED, "").match(TIME_OF_DAY) === null) return;
      if (exemption === undefined) problems.push(`${where}:${index + 1}: asks for the time of day: ${line.trim()}`);
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
