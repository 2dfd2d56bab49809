import { loadavg } from "node:os";
import { benchOptions } from "./bench-options.ts";
import { measureConsumer } from "./subblocks/consumer.ts";
import { measureLatency } from "./subblocks/latency.ts";
import { measureProduction } from "./subblocks/production.ts";

/** `npm run bench -- subblocks`. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("subblocks", args, {
    only: { type: "string", default: "latency,production,consumer", help: "what is measured" },
    transactions: { type: "string", default: "200", help: "latency: transactions that are measured, with and without subblocks" },
    blocks: { type: "string", default: "10", help: "production: blocks of a turn; consumer: blocks without and with transactions" },
    rounds: { type: "string", default: "4", help: "production: turns of each side" },
  });
  const blocks = Number(values.blocks);
  const parts: Readonly<Record<string, () => Promise<string>>> = {
    latency: () => measureLatency(Number(values.transactions)),
    production: () => measureProduction(blocks, Number(values.rounds)),
    consumer: () => measureConsumer(blocks),
  };
  for (const name of values.only.split(",")) {
    const part = parts[name];
    if (part === undefined) throw new Error(`--only=${name}: expected ${Object.keys(parts).join(", ")}`);
    console.log(`${name}\n${await part()}\nload ${loadavg()[0]!.toFixed(1)}\n`);
  }
  return 0;
}
