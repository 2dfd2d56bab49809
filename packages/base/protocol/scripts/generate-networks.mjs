// Writes src/networks-table.ts from a superchain registry and from networks-since.json, the facts that are newer than that registry:
// node generate-networks.mjs <folder: a checkout, or a bare clone> [--check]. With --check it writes nothing and fails on a difference.
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

/** What programs need of a file, in its own form, in the order that is printed. */
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
const removed = {};
for (const path of since.removed) {
  if (chains[path] === undefined) continue;
  removed[path] = chains[path].name;
  delete chains[path];
}

const WIDTH = 132;

/** Readable and short: as many entries on a line as fit; objects that fit on a line stay on one. */
function print(value, indent) {
  if (typeof value === "string") return JSON.stringify(/^0x/.test(value) ? value.toLowerCase() : value);
  if (typeof value !== "object") return String(value);
  const inner = `${indent}  `;
  const entries = Object.entries(value).map(
    ([key, item]) => `${/^[a-zA-Z_]\w*$/.test(key) ? key : JSON.stringify(key)}: ${print(item, inner)}`,
  );
  const line = `{ ${entries.join(", ")} }`;
  if (!line.includes("\n") && indent.length + line.length <= WIDTH - 8) return line.replace("{  }", "{}");
  const lines = [""];
  for (const entry of entries) {
    const last = lines.at(-1);
    const fits = !last.includes("\n") && !entry.includes("\n") && inner.length + last.length + entry.length + 2 <= WIDTH;
    if (last === "" || fits) lines[lines.length - 1] = `${last}${last && " "}${entry},`;
    else lines.push(`${entry},`);
  }
  return `{\n${lines.map((text) => `${inner}${text}\n`).join("")}${indent}}`;
}

const sorted = Object.fromEntries(Object.entries(chains).sort(([a], [b]) => (a < b ? -1 : 1)));
const table = { registry: { commit, day }, amendedDay: since.day, superchains, chains: sorted, removed };
const text = `// Written by packages/base/protocol/scripts/generate-networks.mjs; do not edit.
import type { NetworksTable } from "./network.ts";

// biome-ignore format: short objects stay on one line
export const NETWORKS_TABLE: NetworksTable = ${print(table, "")};
`;
const target = new URL("../src/networks-table.ts", import.meta.url);
if (!isCheck) {
  writeFileSync(target, text);
} else if (readFileSync(target, "utf8") !== text) {
  console.error("src/networks-table.ts is not what this script makes of the registry");
  process.exit(1);
}
console.log(`${Object.keys(sorted).length} networks`);
