import { readFileSync } from "node:fs";
import { deserialize } from "node:v8";
import { createDecompressor } from "@rnode/compression";
import { createDerivationPipeline } from "@rnode/derivation";
import { ChainDigest, CountedL1, type DerivableChain, derivationConfig, UnexecutedL2 } from "./derive-chain.ts";

/** The measurements of one process. */
export interface DeriveRun {
  /** of each round, the first one cold */
  readonly wallSec: readonly number[];
  /** of the whole process, with its compiler's and collector's threads */
  readonly cpuSec: readonly number[];
  readonly startMiB: number;
  readonly peakMiB: number;
  readonly l1Calls: number;
  readonly l1Requests: number;
}

const MIB = 2 ** 20;

/** Derives the whole chain with the pipeline of rnode, over L1 blocks in memory and an L2 that is not executed. */
async function derive({ l1, blocks }: DerivableChain, digest?: ChainDigest): Promise<CountedL1> {
  const source = new CountedL1(l1);
  const config = derivationConfig(l1[0]!);
  const l2 = new UnexecutedL2(config.rollup);
  const pipeline = createDerivationPipeline(config, {
    l1: source,
    l2,
    blobs: { blobs: async () => undefined },
    decompressor: createDecompressor(),
  });
  await pipeline.reset(l2.head);
  while (l2.head.number < blocks) {
    const pulled = await pipeline.step(l2.head);
    if (pulled.kind === "again") continue;
    if (pulled.kind !== "value") throw new Error(`after L2 block ${l2.head.number}: ${JSON.stringify(pulled)}`);
    digest?.add(pulled.value.attributes);
    l2.extend(pulled.value.attributes);
  }
  return source;
}

async function run(file: string, rounds: number): Promise<DeriveRun> {
  const chain = deserialize(readFileSync(file)) as DerivableChain; // written by the process that started this one
  globalThis.gc?.();
  const startMiB = process.memoryUsage.rss() / MIB;
  const wallSec: number[] = [];
  const cpuSec: number[] = [];
  let source: CountedL1 | undefined;
  for (let round = 0; round < rounds; round++) {
    const cpu = process.cpuUsage();
    const start = performance.now();
    source = await derive(chain);
    wallSec.push((performance.now() - start) / 1e3);
    const { user, system } = process.cpuUsage(cpu);
    cpuSec.push((user + system) / 1e6);
  }
  const peakMiB = process.resourceUsage().maxRSS / 1024;
  const digest = new ChainDigest();
  await derive(chain, digest);
  if (digest.value !== chain.digest) throw new Error(`derived other transactions than were published: ${digest.value}`);
  return { wallSec, cpuSec, startMiB, peakMiB, l1Calls: source!.calls, l1Requests: source!.requests.size };
}

const [file, rounds] = process.argv.slice(2);
console.log(JSON.stringify(await run(file!, Number(rounds))));
