import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Devnet, rpcCall, startDevnet } from "@rnode/devnet";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import type { Hex } from "viem";
import { benchOptions } from "./bench-options.ts";
import { LoadGenerator, makeSenders } from "./common/load-generator.ts";
import { childrenOf } from "./common/process-usage.ts";
import { fundSenders } from "./memory/fund-senders.ts";
import { type MemoryMap, memoryMapOf } from "./memory/memory-map.ts";
import { startPeers } from "./memory/memory-peers.ts";
import { describeMemory, type MemoryReport, type ProcessMemory, summaryOf, type WatchedProgram } from "./memory/memory-report.ts";
import { askNodeMemory } from "./memory/node-memory.ts";

const SENDERS = 5;
/** Transactions that wait for a block: a few a second are sent. */
const MAX_WAITING = 10;
const SAMPLE_SEC = 2;
const LOG_SEC = 30;

/** `npm run bench -- memory`: memory of the verifier's rengine and rnode, with default options. Linux only. */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("memory", args, {
    minutes: { type: "string", default: "10", help: "length of the run" },
    "ask-every": { type: "string", default: "5", help: "seconds between a user's questions" },
    "op-geth": { type: "string", help: "program of op-geth, beside" },
    "op-node": { type: "string", help: "program of op-node, beside" },
    json: { type: "boolean", help: "print JSON" },
  });
  if (process.platform !== "linux") throw new Error("memory is read from /proc: this benchmark needs Linux");
  // So that the programs' inspectors can be opened at the end, without a cost until then.
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --inspect-port=0`.trim();
  const log = (line: string): void => console.error(line);
  const datadir = mkdtempSync(join(tmpdir(), "rnode-memory-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  try {
    const devnet = await startDevnet(scope, { datadir, basePort: 0, supervise: false, log });
    const peers = await startPeers(scope, devnet, { opGeth: values["op-geth"], opNode: values["op-node"], datadir });
    const load = { seconds: Number(values.minutes) * 60, askEverySec: Number(values["ask-every"]), log };
    const report = await measure(devnet, [...ourPrograms(devnet), ...peers], load);
    console.log(values.json ? JSON.stringify(report, undefined, 2) : describeMemory(report));
    return 0;
  } finally {
    await scope.close();
    rmSync(datadir, { recursive: true, force: true });
  }
}

function ourPrograms({ programs: { verifierEngine, verifierNode } }: Devnet): WatchedProgram[] {
  const of = (name: string, { spec }: { spec: { logPath: string } }, pids: () => number[]): WatchedProgram => ({
    pair: "rengine, rnode",
    name,
    pids,
    logPath: spec.logPath,
  });
  const writer = (): number[] => (verifierEngine.pid === undefined ? [] : [verifierEngine.pid]);
  return [
    of("rengine", verifierEngine, writer),
    of("rengine's readers", verifierEngine, () => writer().flatMap(childrenOf)),
    of("rnode", verifierNode, () => (verifierNode.pid === undefined ? [] : [verifierNode.pid])),
  ];
}

interface Load {
  readonly seconds: number;
  /** interval of requests for the verifier's head; 0: never */
  readonly askEverySec: number;
  readonly log: (line: string) => void;
}

async function measure(devnet: Devnet, programs: readonly WatchedProgram[], load: Load): Promise<MemoryReport> {
  const senders = makeSenders(SENDERS);
  const token = await fundSenders(devnet, senders);
  const { sequencer, verifier } = devnet.info.endpoints;
  const generator = new LoadGenerator({
    url: sequencer.http,
    chainId: BigInt(devnet.info.l2ChainId),
    senders,
    firstNonce: 0n,
    maxWaiting: MAX_WAITING,
    token,
  });
  const running = generator.run();
  const samples: (readonly (readonly MemoryMap[])[])[] = [];
  const askedMs: number[] = [];
  let head = await headOf(sequencer.http);
  const startedMs = performance.now();
  for (let second = 1; second <= load.seconds; second++) {
    await pause(startedMs + second * 1000 - performance.now());
    for (const newHead = await headOf(sequencer.http); head < newHead; head++)
      generator.included += await transactionsIn(sequencer.http, head + 1);
    if (load.askEverySec > 0 && second % load.askEverySec === 0) {
      const beganMs = performance.now();
      await rpcCall(verifier.http, "eth_getBlockByNumber", ["latest", false]);
      askedMs.push(performance.now() - beganMs);
    }
    if (second % SAMPLE_SEC === 0) samples.push(programs.map(({ pids }) => pids().flatMap((pid) => memoryMapOf(pid) ?? [])));
    if (second % LOG_SEC === 0) load.log(`${second} s: ${summaryOf(programs, samples.slice(-1)).pairs.map(described).join(", ")}`);
  }
  const processes = programs.flatMap(({ name, pids, logPath }) =>
    pids().flatMap((pid) => ({ program: name, pid, logPath, threads: threadsOf(pid), map: memoryMapOf(pid) })),
  );
  generator.stop();
  await running;
  const asked: ProcessMemory[] = [];
  for (const { map, logPath, ...rest } of processes) {
    if (map === undefined) continue;
    asked.push({ ...rest, map, node: logPath === undefined ? undefined : await askNodeMemory(rest.pid, logPath) });
  }
  return {
    ...summaryOf(programs, samples),
    processes: asked,
    seconds: load.seconds,
    transactions: generator.included,
    requests: askedMs.length,
    slowestRequestMs: Math.max(0, ...askedMs),
  };
}

const described = ({ name, own }: { name: string; own: { peakMiB: number } }): string => `${name} ${own.peakMiB.toFixed(0)} MiB`;

const headOf = async (url: string): Promise<number> => Number(await rpcCall<Hex>(url, "eth_blockNumber"));

/** Without the deposit. */
async function transactionsIn(url: string, number: number): Promise<number> {
  const parameters = [`0x${number.toString(16)}`, false];
  return (await rpcCall<{ transactions: Hex[] }>(url, "eth_getBlockByNumber", parameters)).transactions.length - 1;
}

const threadsOf = (pid: number): number => Number(/^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
