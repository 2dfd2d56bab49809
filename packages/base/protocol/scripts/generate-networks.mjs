// Writes src/networks-table.json from a superchain registry and from networks-since.json, which has newer facts than that
// registry: node generate-networks.mjs <folder: a checkout, or a bare clone> [--check]. With --check it writes nothing and fails
// on a difference.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { parse } from "smol-toml";

const isCheck = process.argv.includes("--check");
const [registry] = process.argv.slice(2).filter((arg) => arg !== "--check");
if (registry === undefined) {
  console.error("usage: node packages/base/protocol/scripts/generate-networks.mjs <registry> [--check]");
  process.exit(1);
}

const git = (...args) => execFileSync("git", ["-C", registry, ...args], { encoding: "utf8", maxBuffer: 2 ** 26 });
const since = JSON.parse(readFileSync(new URL("networks-since.json", import.meta.url), "utf8"));

/** The keys of a chain's file that the programs need, in the registry's form, in output order. */
function factsOf(chain) {
  const { genesis, hardforks, optimism, alt_da, interop, addresses } = chain;
  const pick = (object, ...keys) =>
    Object.fromEntries(keys.flatMap((key) => (object[key] === undefined ? [] : [[key, object[key]]])));
  return {
    ...pick(chain, "name", "chain_id", "block_time", "seq_window_size", "max_sequencer_drift", "data_availability_type"),
    ...pick(chain, "batch_inbox_addr", "gas_paying_token"),
    ...(alt_da && { alt_da }),
    hardforks,
    ...(interop && { interop }),
    optimism,
    genesis,
    addresses: pick(addresses, "OptimismPortalProxy", "SystemConfigProxy"),
  };
}

const [commit, day] = git("log", "-1", "--format=%H %cs").trim().split(" ");
const superchains = {};
const chains = {};
for (const path of git("ls-tree", "-r", "--name-only", "HEAD", "superchain/configs").trim().split("\n")) {
  const [, superchain, chain] = /^superchain\/configs\/([^/]+)\/([^/]+)\.toml$/.exec(path) ?? [];
  if (superchain === undefined) continue;
  const file = parse(git("show", `HEAD:${path}`));
  if (chain === "superchain") superchains[superchain] = file.l1.chain_id;
  else chains[`${superchain}/${chain}`] = factsOf(file);
}

Object.assign(superchains, since.superchains);
for (const [path, chain] of Object.entries(since.added)) if (chains[path] === undefined) chains[path] = factsOf(chain);
for (const [path, times] of Object.entries(since.hardforks)) Object.assign(chains[path].hardforks, times);
for (const cluster of since.clusters) {
  const dependencies = Object.fromEntries(cluster.map((path) => [chains[path].chain_id, {}]));
  for (const path of cluster) chains[path] = factsOf({ ...chains[path], interop: { dependencies } });
}
const removed = {};
for (const path of since.removed) {
  if (chains[path] === undefined) continue;
  removed[path] = chains[path].name;
  delete chains[path];
}

const sorted = Object.fromEntries(Object.entries(chains).sort(([a], [b]) => (a < b ? -1 : 1)));
const table = { registry: { commit, day }, amendedDay: since.day, superchains, chains: sorted, removed };
const lowerCaseHex = (_, value) => (typeof value === "string" && value.startsWith("0x") ? value.toLowerCase() : value);
const text = `${JSON.stringify(table, lowerCaseHex, 2)}\n`;
const target = new URL("../src/networks-table.json", import.meta.url);
if (!isCheck) {
  writeFileSync(target, text);
} else if (readFileSync(target, "utf8") !== text) {
  console.error("src/networks-table.json is not what this script makes of the registry");
  process.exit(1);
}
console.log(`${Object.keys(sorted).length} networks`);
