import { existsSync, readdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { executeStateless, newEngine, parseBlockFile } from "@rnode/chain";
import { benchOptions } from "./bench-options.ts";

/**
 * `npm run bench -- blocks`: executes real blocks of OP Stack chains on their witnesses, as `rengine stateless` does: it verifies
 * signatures, hashes the witness, executes, and compares the state root, every other root and the block hash.
 */

const RUNS = 7;

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** @returns the exit code; 1 if a block's roots are not those of its chain */
export function main(args: readonly string[]): number {
  benchOptions("blocks", args, {});
  const folder = join(process.env.RNODE_VECTORS ?? join(import.meta.dirname, "../../../../shared/vectors"), "blocks");
  if (!existsSync(folder)) {
    console.error(`no blocks in ${folder} (RNODE_VECTORS names another folder)`);
    return 1;
  }
  console.log(`load ${loadavg()[0]!.toFixed(1)}; milliseconds of CPU time; Mgas/s of the median run`);
  let wrong = 0;
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".json.gz"))) {
    const json: unknown = JSON.parse(gunzipSync(readFileSync(join(folder, name))).toString());
    const engine = newEngine();
    const times: number[] = [];
    let gas = 0;
    let transactions = 0;
    for (let run = 0; run < RUNS; run++) {
      const before = process.cpuUsage();
      const { executed, mismatches } = executeStateless(parseBlockFile(json), { engine });
      const { user, system } = process.cpuUsage(before);
      times.push((user + system) / 1000);
      gas = Number(executed.block.header.gasUsed);
      ({ length: transactions } = executed.block.transactions);
      if (run === 0) {
        wrong += mismatches.length;
        for (const { field, expected, computed } of mismatches) console.error(`${name}: ${field} ${computed}, not ${expected}`);
      }
    }
    const ms = median(times.slice(1));
    const figures = `${(gas / 1e6).toFixed(1)} Mgas, ${transactions} transactions: first ${times[0]!.toFixed(0)} ms, then ${ms.toFixed(0)} ms`;
    console.log(`${name.replace(".json.gz", "").padEnd(28)} ${figures}, ${(gas / ms / 1000).toFixed(1)} Mgas/s`);
  }
  return wrong === 0 ? 0 : 1;
}
