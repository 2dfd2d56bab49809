// Writes src/networks-table.ts from a JSON list of network facts: node generate-networks.mjs <networks.json> With --check it writes
// nothing and fails if the file differs from what it would write.
import { readFileSync, writeFileSync } from "node:fs";

const isCheck = process.argv.includes("--check");
const [source] = process.argv.slice(2).filter((arg) => arg !== "--check");
if (source === undefined) {
  console.error("usage: node packages/protocol/scripts/generate-networks.mjs <networks.json> [--check]");
  process.exit(1);
}

const FORKS = ["canyon", "delta", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian", "karst", "interop"];
const KNOWN_HARDFORKS = new Set([...FORKS, "regolith", "pectra_blob_schedule"]);

const lower = (hex) => {
  if (!/^0x([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/.test(hex)) throw new Error(`not an address or hash: ${hex}`);
  return hex.toLowerCase();
};

function factsOf(entry) {
  const { genesis, hardforks = {}, chain_op_config: eip1559, alt_da: altDa } = entry;
  for (const fork of Object.keys(hardforks)) if (!KNOWN_HARDFORKS.has(fork)) throw new Error(`${entry.name}: unknown fork ${fork}`);
  if (hardforks.regolith) throw new Error(`${entry.name}: Regolith after genesis`);
  return {
    name: entry.name,
    title: entry.title,
    l1ChainId: entry.l1_chain_id,
    l2ChainId: entry.l2_chain_id,
    blockTimeSec: entry.block_time,
    seqWindowSize: entry.seq_window_size,
    maxSequencerDriftSec: entry.max_sequencer_drift,
    batchInboxAddress: lower(entry.batch_inbox_address),
    depositContractAddress: lower(entry.deposit_contract_address),
    l1SystemConfigAddress: lower(entry.l1_system_config_address),
    dataAvailability: entry.data_availability_type,
    genesis: {
      l1: { hash: lower(genesis.l1.hash), number: genesis.l1.number },
      l2: { hash: lower(genesis.l2.hash), number: genesis.l2.number },
      l2TimeSec: genesis.l2_time,
      batcherAddress: lower(genesis.system_config.batcherAddress),
      overhead: lower(genesis.system_config.overhead),
      scalar: lower(genesis.system_config.scalar),
      gasLimit: genesis.system_config.gasLimit,
    },
    forkTimes: Object.fromEntries(FORKS.flatMap((fork) => (hardforks[fork] === undefined ? [] : [[fork, hardforks[fork]]]))),
    ...(hardforks.pectra_blob_schedule !== undefined && { pectraBlobScheduleTime: hardforks.pectra_blob_schedule }),
    eip1559: {
      elasticity: eip1559.eip1559_elasticity,
      denominator: eip1559.eip1559_denominator,
      denominatorCanyon: eip1559.eip1559_denominator_canyon,
    },
    ...(altDa && {
      altDa: {
        challengeContractAddress: lower(altDa.da_challenge_contract_address),
        commitmentType: altDa.da_commitment_type,
        challengeWindow: altDa.da_challenge_window,
        resolveWindow: altDa.da_resolve_window,
      },
    }),
    ...(entry.gas_paying_token && { gasPayingToken: lower(entry.gas_paying_token) }),
  };
}

/** In the formatter's style: each object on lines of its own. */
function print(value, indent) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object") return String(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) return `[\n${value.map((item) => `${inner}${print(item, inner)},\n`).join("")}${indent}]`;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{\n${entries.map(([key, item]) => `${inner}${key}: ${print(item, inner)},\n`).join("")}${indent}}`;
}

const facts = JSON.parse(readFileSync(source, "utf8")).map(factsOf);
const text = `// Written by packages/protocol/scripts/generate-networks.mjs; do not edit.
import type { Network } from "./network.ts";

export const NETWORKS_TABLE: readonly Network[] = ${print(facts, "")};
`;
const table = new URL("../src/networks-table.ts", import.meta.url);
if (!isCheck) {
  writeFileSync(table, text);
} else if (readFileSync(table, "utf8") !== text) {
  console.error("src/networks-table.ts is not what this script makes of the source");
  process.exit(1);
}
console.log(`${facts.length} networks`);
