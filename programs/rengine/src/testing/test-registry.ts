import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "@rnode/primitives";
import { CHAIN_ID } from "./test-client.ts";

/** Writes a superchain registry with one network, `test-mainnet`, which begins with a block. @returns the folder */
export function writeRegistry(folder: string, { number, hash }: { readonly number: number; readonly hash: Hex }): string {
  const configs = join(folder, "superchain", "configs", "mainnet");
  mkdirSync(configs, { recursive: true });
  const word = (digit: string): string => `"0x${digit.repeat(64)}"`;
  const forks = ["canyon", "delta", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"];
  writeFileSync(join(configs, "superchain.toml"), "[l1]\nchain_id = 1\n");
  writeFileSync(
    join(configs, "test.toml"),
    `name = "Test"
chain_id = ${CHAIN_ID}
block_time = 2
seq_window_size = 3600
max_sequencer_drift = 600
batch_inbox_addr = "0x${"1".repeat(40)}"
data_availability_type = "eth-da"
optimism = { eip1559_elasticity = 6, eip1559_denominator = 50, eip1559_denominator_canyon = 250 }
addresses = { OptimismPortalProxy = "0x${"2".repeat(40)}", SystemConfigProxy = "0x${"3".repeat(40)}" }
[hardforks]
${forks.map((fork) => `${fork}_time = 0`).join("\n")}
[genesis]
l2_time = 1700000000
l1 = { hash = ${word("4")}, number = 1 }
l2 = { hash = "${hash}", number = ${number} }
system_config = { batcherAddress = "0x${"6".repeat(40)}", overhead = ${word("0")}, scalar = ${word("1")}, gasLimit = 30000000 }
`,
  );
  return folder;
}
