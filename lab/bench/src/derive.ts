import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import { benchOptions } from "./bench-options.ts";
import { makeSenders } from "./common/load-generator.ts";
import { Transfers } from "./common/transfers.ts";
import { type BatchForm, L2_CHAIN_ID, SENDERS } from "./derive/batches-on-l1.ts";
import { publishUnexecuted } from "./derive/derive-chain.ts";
import type { DeriveRun } from "./derive/derive-run.ts";

const FORMS: readonly (BatchForm & { readonly name: string })[] = [
  { name: "span, brotli", batches: "span", algorithm: "brotli-10" },
  { name: "span, zlib", batches: "span", algorithm: "zlib" },
  { name: "singular, brotli", batches: "singular", algorithm: "brotli-10" },
  { name: "singular, zlib", batches: "singular", algorithm: "zlib" },
];

/**
 * `npm run bench -- derive`: rnode's derivation pipeline from channel data in L1 calldata to payload attributes, without
 * execution. Each row is a separate process with only the L1 blocks. The derived blocks must equal the published ones.
 */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("derive", args, {
    blocks: { type: "string", default: "12000", help: "L2 blocks of each row, fewer where they have many transactions" },
    transactions: { type: "string", default: "1,25", help: "transactions a block" },
    "blocks-per-channel": { type: "string", default: "300", help: "L2 blocks in a channel" },
    rounds: { type: "string", default: "5", help: "runs of each row, of which the median counts" },
    only: { type: "string", help: "rows whose name contains this: span, singular, brotli, zlib" },
    "cpu-prof": { type: "string", help: "folder for CPU profiles" },
    json: { type: "boolean", help: "print JSON" },
  });
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-derive-"));
  const rows: object[] = [];
  try {
    for (const size of values.transactions.split(",").map(Number)) {
      // Rows with more transactions per block have fewer blocks, so rows take similar times.
      const blocks = Math.ceil(Number(values.blocks) / Math.max(1, size / 5));
      const transfers = new Transfers(makeSenders(SENDERS), L2_CHAIN_ID);
      const transactions = Array.from({ length: blocks }, () => transfers.next(size));
      for (const form of FORMS.filter(({ name }) => values.only === undefined || name.includes(values.only))) {
        const chain = await publishUnexecuted(transactions, Number(values["blocks-per-channel"]), form);
        const file = join(folder, "chain");
        writeFileSync(file, serialize(chain));
        const run = measure(file, values.rounds, values["cpu-prof"]);
        const row = {
          form: form.name,
          transactions: size,
          blocks,
          bytesPerBlock: Math.round(chain.batchBytes / blocks),
          blocksPerSec: Math.round(blocks / median(run.wallSec)),
          blocksPerCpuSec: Math.round(blocks / median(run.cpuSec)),
          bestBlocksPerCpuSec: Math.round(blocks / Math.min(...run.cpuSec)),
          coldBlocksPerCpuSec: Math.round(blocks / run.cpuSec[0]!),
          startMiB: Math.round(run.startMiB),
          peakMiB: Math.round(run.peakMiB),
          l1CallsPerBlock: Number((run.l1Calls / blocks).toFixed(3)),
          l1RequestsPerBlock: Number((run.l1Requests / blocks).toFixed(3)),
        };
        rows.push(row);
        console.error(
          Object.entries(row)
            .map(([key, value]) => `${key} ${value}`)
            .join("; "),
        );
      }
    }
    console.error(`load ${loadavg()[0]!.toFixed(1)}`);
    if (values.json) console.log(JSON.stringify(rows, undefined, 2));
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function measure(file: string, rounds: string, profileTo: string | undefined): DeriveRun {
  const program = fileURLToPath(new URL("./derive/derive-run.js", import.meta.url));
  const profile = profileTo === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileTo}`];
  const output = execFileSync(process.execPath, ["--expose-gc", ...profile, program, file, rounds], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(output) as DeriveRun; // of our own program
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
