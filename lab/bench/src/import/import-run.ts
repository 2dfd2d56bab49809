import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { createSenderCache, describeImportRefusal, openChain } from "@rnode/chain";
import { type Block, decodeBlockPrefix, parseChainConfig } from "@rnode/protocol";
import { openChainStore, rlpEnd } from "@rnode/storage";
import { CHAIN_CONFIG } from "./import-generate.ts";
import { ThreadCpu } from "./thread-cpu.ts";

/*
 * A separate process that imports one file of blocks as `rengine import` does, and prints time and memory:
 *   node import-run.js DATABASE BLOCKS.rlp BATCH [PROOFS-WINDOW]
 */

export interface ImportRun {
  readonly ms: number;
  readonly blocks: number;
  readonly transactions: number;
  readonly gas: number;
  readonly databaseBytes: number;
  /** of it, by table */
  readonly tableBytes: Readonly<Record<string, number>>;
  /** including pages of the database, which the system takes back when it needs them */
  readonly peakRssBytes: number;
  /** without them, as far as it was sampled; undefined if the system does not report it */
  readonly peakOwnBytes: number | undefined;
  readonly cpuMs: number;
  /** since the start of the process, by thread; absent without the threads' names (thread-name.ts) */
  readonly threadCpuMs?: Readonly<Record<string, number>>;
  readonly head: string;
}

async function* blocksOf(bytes: Uint8Array): AsyncGenerator<{ block: Block }> {
  for (let at = 0; at < bytes.length; ) {
    const { block, end } = decodeBlockPrefix(bytes, at);
    yield { block };
    at = end;
  }
}

const LOOK_INTERVAL_MS = 100;

/** Resident memory of the process that does not belong to a file, for all threads; Linux only. */
function ownBytes(): number | undefined {
  try {
    const kibibytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return undefined;
  }
}

function lastBlockOf(bytes: Uint8Array): number {
  let last = 0;
  for (let at = 0; at < bytes.length; at = rlpEnd(bytes, at)) last = at;
  return decodeBlockPrefix(bytes, last).block.header.number;
}

async function runImport(database: string, file: string, batch: number, proofWindowBlocks?: number): Promise<ImportRun> {
  const senders = createSenderCache({ workers: Math.max(1, availableParallelism() - 1) });
  const store = openChainStore(database, { proofWindowBlocks });
  const before = store.storageStats();
  const chain = openChain({ store, config: parseChainConfig(CHAIN_CONFIG), senders, nowMs: () => performance.now() });
  let blocks = 0;
  let transactions = 0;
  let gas = 0;
  let peakOwnBytes: number | undefined;
  const namesFile = process.env.RNODE_THREAD_NAMES;
  const threads = namesFile === undefined ? undefined : new ThreadCpu(namesFile);
  const look = setInterval(() => {
    threads?.look();
    const bytes = ownBytes();
    if (bytes !== undefined) peakOwnBytes = Math.max(bytes, peakOwnBytes ?? 0);
  }, LOOK_INTERVAL_MS);
  const cpuBefore = process.cpuUsage();
  const bytes = readFileSync(file);
  const startMs = performance.now();
  const refusal = await chain.import(blocksOf(bytes), {
    groupBlocks: batch,
    trustedHead: lastBlockOf(bytes),
    onStored({ header, transactionCount }) {
      blocks++;
      transactions += transactionCount;
      gas += Number(header.gasUsed);
      if (blocks % batch === 0) threads?.look();
    },
  });
  if (refusal !== undefined) throw new Error(describeImportRefusal(refusal));
  clearInterval(look);
  const head = chain.head().hash;
  const after = store.storageStats();
  const databaseBytes = after.fileBytes - after.freeBytes - (before.fileBytes - before.freeBytes);
  const tableBytes = Object.fromEntries(
    Object.entries(after.tables).map(([name, { sizeBytes }]) => [name, sizeBytes - (before.tables[name]?.sizeBytes ?? 0)]),
  );
  await senders.close();
  await store.close(); // waits until everything is on the disk
  const ms = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const peakRssBytes = process.resourceUsage().maxRSS * 1024;
  const cpuMs = (user + system) / 1000;
  const counts = { ms, blocks, transactions, gas, databaseBytes, tableBytes, peakRssBytes, peakOwnBytes, cpuMs, head };
  return threads === undefined ? counts : { ...counts, threadCpuMs: threads.byName() };
}

const [database, file, batch, window] = process.argv.slice(2);
if (database !== undefined && file !== undefined) {
  process.stdout.write(
    `${JSON.stringify(await runImport(database, file, Number(batch ?? 32), window === undefined ? undefined : Number(window)))}\n`,
  );
}
