// The metrics that the programs export, read from the declarations in their sources.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, ROOT } from "./stamp.mjs";
import { packageFiles } from "./workspace.mjs";

const built = (path) => import(join(ROOT, path));
const PROGRAM = "packages/kit/program/src";
const SERVER = "packages/kit/jsonrpc/src/rpc-metrics.ts";
const L1 = "packages/rollup/l1/src/endpoints/l1-metrics.ts";
const DA = "packages/rollup/alt-da/src/da-metrics.ts";
const SIGNER = "packages/kit/signer/src/remote/signer-metrics.ts";

/** Each program with the prefix of its metrics, the sources that declare them, and its other names for them. */
export const PROGRAMS = [
  {
    name: "rnode",
    prefix: "rnode_default_",
    sources: [
      "programs/rnode/src",
      "packages/network/p2p/src",
      DA,
      SIGNER,
      "packages/rollup/l1/src",
      "packages/kit/jsonrpc/src",
      PROGRAM,
    ],
    aliases: async () => (await built("programs/rnode/dist/metrics.js")).opNodeNames,
  },
  {
    name: "rengine",
    prefix: "rengine_",
    sources: [
      "programs/rengine/src",
      "packages/execution/chain/src",
      "packages/network/devp2p/src",
      "packages/network/sync/src",
      SERVER,
      PROGRAM,
    ],
    aliases: async () => (await built("programs/rengine/dist/head-metrics.js")).gethAndRethNames,
  },
  {
    name: "rbatcher",
    prefix: "rbatcher_default_",
    sources: ["programs/rbatcher/src", "packages/rollup/tx-manager/src", DA, SIGNER, L1, SERVER, PROGRAM],
    aliases: async () => (name) => [`op_batcher_default_${name}`],
  },
  {
    name: "rproposer",
    prefix: "rproposer_default_",
    sources: ["programs/rproposer/src", "packages/rollup/tx-manager/src", SIGNER, L1, SERVER, PROGRAM],
    aliases: async () => (name) => [`op_proposer_default_${name}`],
  },
  {
    name: "rconductor",
    prefix: "rconductor_default_",
    sources: ["programs/rconductor/src", SERVER, PROGRAM],
    aliases: async () => (name) => [`op_conductor_${name}`],
  },
];

/** Of prom-client, in every program, without prefix. */
export const OF_PROCESS = {
  process_cpu_seconds_total: "CPU time, in seconds.",
  process_cpu_user_seconds_total: "CPU time of the program itself, in seconds.",
  process_cpu_system_seconds_total: "CPU time of the system for it, in seconds.",
  process_start_time_seconds: "When the process began, in seconds since 1970.",
  process_resident_memory_bytes: "Memory that is resident.",
  process_virtual_memory_bytes: "Virtual memory.",
  process_heap_bytes: "The heap of the process, as Linux counts it.",
  process_open_fds: "Open file descriptors.",
  process_max_fds: "How many there may be.",
  nodejs_eventloop_lag_seconds: "How late the event loop is at the moment, in seconds.",
  nodejs_eventloop_lag_min_seconds: "The same since the last collection, the least.",
  nodejs_eventloop_lag_max_seconds: "The most.",
  nodejs_eventloop_lag_mean_seconds: "The mean.",
  nodejs_eventloop_lag_stddev_seconds: "The standard deviation.",
  nodejs_eventloop_lag_p50_seconds: "The median.",
  nodejs_eventloop_lag_p90_seconds: "The 90th percentile.",
  nodejs_eventloop_lag_p99_seconds: "The 99th percentile.",
  nodejs_gc_duration_seconds: "Garbage collections and their duration, by kind.",
  nodejs_heap_size_total_bytes: "The heap of V8.",
  nodejs_heap_size_used_bytes: "What is used of it.",
  nodejs_heap_space_size_total_bytes: "Its spaces, by name.",
  nodejs_heap_space_size_used_bytes: "What is used of them.",
  nodejs_heap_space_size_available_bytes: "What is left of them.",
  nodejs_external_memory_bytes: "Memory of objects outside the heap.",
  nodejs_active_handles: "Open handles, by type.",
  nodejs_active_handles_total: "Open handles.",
  nodejs_active_requests: "Requests of libuv under way, by type.",
  nodejs_active_requests_total: "Requests of libuv under way.",
  nodejs_active_resources: "What keeps the event loop alive, by type.",
  nodejs_active_resources_total: "What keeps the event loop alive.",
  nodejs_version_info: "The version of Node.js, as labels.",
};

const DECLARED =
  /\.(counter|gauge|gaugeOf|gaugesOf|histogram)(?:<[\s\S]*?>)?\(\s*(["`])((?:(?!\2)[\s\S])+)\2,\s*(["`])((?:(?!\4)[\s\S])+)\4/g;
/** `eventOf` of programs/rnode/src/metrics.ts makes two of one. */
const EVENT = /\bevent\(\s*"(\w+)",\s*"([^"]+)"/g;
const KINDS = { counter: "counter", gauge: "gauge", gaugeOf: "gauge", gaugesOf: "gauge", histogram: "histogram" };

/** @returns the declarations in a file, in their order: [{ name, kind, help }] */
function declaredIn(file) {
  const source = readFileSync(file, "utf8");
  const found = [];
  for (const [, kind, , name, , help] of source.matchAll(DECLARED)) {
    if (name.includes("${")) continue; // those of EVENT
    found.push({ name, kind: KINDS[kind], help });
  }
  for (const [, name, help] of source.matchAll(EVENT)) {
    found.push({ name: `${name}_total`, kind: "counter", help });
    found.push({ name: `last_${name}_unix`, kind: "gauge", help: "Time of the latest, in seconds since 1970." });
  }
  return found;
}

const isSource = (file) => /\.ts$/.test(file) && !/\.test\.ts$/.test(file) && !file.includes("/testing/");

/** Everything that a program exports, by name. */
export async function metricsOf({ prefix, sources, aliases }) {
  const aliasesOf = await aliases();
  const metrics = new Map();
  for (const source of sources) {
    for (const file of filesBelow(join(ROOT, source))) {
      if (!isSource(file)) continue;
      for (const { name, kind, help } of declaredIn(file)) {
        if (metrics.has(name)) throw new Error(`${file}: a second metric ${prefix}${name}`);
        metrics.set(name, { name: prefix + name, kind, help, aliases: aliasesOf(name) });
      }
    }
  }
  return [...metrics.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Files that declare metrics of no program. */
export function unlistedFiles() {
  const listed = PROGRAMS.flatMap(({ sources }) => sources);
  const unlisted = [];
  for (const file of packageFiles()) {
    const path = file.slice(ROOT.length).replace(/^\//, "");
    if (!isSource(file) || path === "packages/kit/observe/src/metrics.ts" || listed.some((source) => path.startsWith(source)))
      continue;
    if (declaredIn(file).length > 0) unlisted.push(path);
  }
  return unlisted;
}
