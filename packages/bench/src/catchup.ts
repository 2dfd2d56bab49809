import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type L1Store, serveL1 } from "@rnode/conformance";
import { rpcCall } from "@rnode/devnet";
import { freePort } from "@rnode/program/testing";
import { benchOptions } from "./bench-options.ts";
import { L1_CHAIN_ID, type PublishedChain, publishChain } from "./catchup-chain.ts";
import { processUsage, treeCpuSec } from "./process-usage.ts";
import { l1StoreOf } from "./published-l1.ts";
import { answers, stopper, THIS_CHECKOUT } from "./rengine.ts";

const POLL_MS = 25;
const LIMIT_MS = 600_000;

interface Variant {
  readonly name: string;
  readonly checkout: string;
  readonly rnodeArgs: readonly string[];
}

interface Outcome {
  readonly variant: string;
  readonly latencyMs: number;
  readonly blocksPerSec: number;
  readonly wallSec: number;
  readonly rnodeCpuSec: number;
  readonly rengineCpuSec: number;
  readonly rnodeMiB: number;
  readonly rengineMiB: number;
  readonly l1Calls: string;
}

/**
 * `npm run bench -- catchup`: a new verifier (rengine and rnode as built) derives a chain from an L1 that has all of it,
 * with and without latency, over the extension of the Engine API and over the standard calls; with `--old=DIR`, another checkout in turns.
 */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("catchup", args, {
    blocks: { type: "string", default: "1200", help: "L2 blocks to derive" },
    transactions: { type: "string", default: "25", help: "transactions a block" },
    "blocks-per-channel": { type: "string", default: "100", help: "L2 blocks in a channel" },
    batches: { type: "string", default: "span", help: "span or singular" },
    latency: { type: "string", default: "0,100", help: "milliseconds before each answer of L1" },
    rounds: { type: "string", default: "3", help: "runs of each row" },
    old: { type: "string", help: "another checkout of the repository, already built, in turns" },
    only: { type: "string", help: "rows to run, separated by commas" },
    "cpu-prof": { type: "string", help: "folder for CPU profiles" },
    json: { type: "boolean", help: "print JSON" },
  });
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-catchup-"));
  try {
    const plan = {
      blocks: Number(values.blocks),
      transactionsPerBlock: Number(values.transactions),
      blocksPerChannel: Number(values["blocks-per-channel"]),
      batches: values.batches === "singular" ? ("singular" as const) : ("span" as const),
    };
    const chain = await publishChain(plan, folder);
    console.error(
      `${chain.head.number} L2 blocks in ${chain.l1.length} L1 blocks, ${(chain.batchBytes / 1e6).toFixed(2)} MB of batches`,
    );
    const store = l1StoreOf(chain.l1, L1_CHAIN_ID);
    const variants: Variant[] = [
      { name: "extension", checkout: THIS_CHECKOUT, rnodeArgs: [] },
      { name: "standard calls", checkout: THIS_CHECKOUT, rnodeArgs: ["--l2.engine-extensions=false"] },
      ...(values.old === undefined ? [] : [{ name: "old", checkout: resolve(values.old), rnodeArgs: [] }]),
    ].filter(({ name }) => values.only === undefined || values.only.split(",").includes(name));
    const outcomes: Outcome[] = [];
    for (const latency of values.latency.split(",").map(Number)) {
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
          const outcome = await catchUp(chain, store, variant, latency, values["cpu-prof"]);
          outcomes.push(outcome);
          console.error(line(outcome));
        }
      }
    }
    if (values.json) console.log(JSON.stringify(outcomes, undefined, 2));
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const line = (o: Outcome): string =>
  `${o.variant.padEnd(15)} L1 ${String(o.latencyMs).padStart(3)} ms: ${o.blocksPerSec.toFixed(0).padStart(4)} blocks/s, ${o.wallSec.toFixed(1)} s in all; CPU rnode ${o.rnodeCpuSec.toFixed(1)} s, rengine ${o.rengineCpuSec.toFixed(1)} s; memory ${o.rnodeMiB.toFixed(0)} and ${o.rengineMiB.toFixed(0)} MiB; L1: ${o.l1Calls}`;

/** One run, from the start of both programs until the last block is safe. */
async function catchUp(
  chain: PublishedChain,
  store: L1Store,
  variant: Variant,
  latencyMs: number,
  profileTo: string | undefined,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-verifier-"));
  const l1 = await serveL1(store, { latencyMs });
  const stops: (() => Promise<void>)[] = [];
  const start = (program: string, programArgs: readonly string[]): ChildProcess => {
    const profile = profileTo === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileTo}`];
    const child = spawn(process.execPath, [...profile, join(variant.checkout, program), ...programArgs, "--log.level=warn"], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    stops.push(stopper(child));
    return child;
  };
  try {
    const [httpPort, enginePort, rpcPort] = [await freePort(), await freePort(), await freePort()];
    const rengine = start("packages/execution-client/bin/rengine.js", [
      `--chain=${chain.genesisFile}`,
      `--datadir=${join(folder, "data")}`,
      ...["--http", `--http.port=${httpPort}`, `--authrpc.port=${enginePort}`, "--max-peers=0"],
    ]);
    await answers(`http://127.0.0.1:${httpPort}`, rengine);
    const startMs = performance.now();
    const rnode = start("packages/rollup-node/bin/rnode.js", [
      `--rollup.config=${chain.rollupConfigFile}`,
      `--rollup.l1-chain-config=${chain.l1ConfigFile}`,
      `--l1=${l1.url}`,
      `--l2=http://127.0.0.1:${enginePort}`,
      `--l2.jwt-secret=${join(folder, "data", "jwt.hex")}`,
      `--rpc.port=${rpcPort}`,
      "--l1.beacon.ignore",
      "--p2p.disable",
      ...variant.rnodeArgs,
    ]);
    const url = `http://127.0.0.1:${rpcPort}`;
    let first: { readonly ms: number; readonly number: number } | undefined;
    let reached = 0;
    while (reached < chain.head.number) {
      if (performance.now() - startMs > LIMIT_MS)
        throw new Error(`only ${reached} of ${chain.head.number} blocks are safe after ${LIMIT_MS} ms`);
      if (rnode.exitCode !== null) throw new Error(`rnode ended with ${rnode.exitCode}`);
      await sleep(POLL_MS);
      const status = await rpcCall<{ safe_l2: { number: number; hash: string } }>(url, "optimism_syncStatus").catch(
        () => undefined,
      );
      if (status === undefined) continue;
      reached = status.safe_l2.number;
      if (reached > 0) first ??= { ms: performance.now(), number: reached };
      if (reached === chain.head.number && status.safe_l2.hash !== chain.head.hash) throw new Error("another chain was derived");
    }
    const endMs = performance.now();
    const rnodeUsage = processUsage(rnode.pid!)!;
    const rengineUsage = processUsage(rengine.pid!)!;
    return {
      variant: variant.name,
      latencyMs,
      blocksPerSec: ((reached - first!.number) * 1000) / (endMs - first!.ms),
      wallSec: (endMs - startMs) / 1000,
      rnodeCpuSec: treeCpuSec(rnode.pid!),
      rengineCpuSec: treeCpuSec(rengine.pid!),
      rnodeMiB: rnodeUsage.rssBytes / 2 ** 20,
      rengineMiB: rengineUsage.rssBytes / 2 ** 20,
      l1Calls: [...l1.calls].map(([method, count]) => `${count} ${method.replace("eth_", "")}`).join(", "),
    };
  } finally {
    for (const stop of stops.reverse()) await stop();
    await l1.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
