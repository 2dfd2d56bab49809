import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { type Devnet, rpcCall, type SyncStatus, startDevnet } from "@rnode/devnet";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { type Hex, numberToHex } from "viem";
import { benchOptions } from "./bench-options.ts";
import { fundSenders } from "./fund-senders.ts";
import { LoadGenerator, makeSenders } from "./load-generator.ts";
import { type UsageSummary, UsageWatch } from "./process-usage.ts";

interface Result {
  readonly firstL2BlockSec: number;
  readonly firstVerifierSafeSec: number;
  readonly loadSec: number;
  readonly transactions: number;
  readonly blocks: number;
  readonly includedPerSec: number;
  readonly derivedPerSec: number;
  /** time from the end of the load until the verifier has derived the last block */
  readonly verifierLagSec: number;
  readonly batchBytes: number;
  readonly refused: number;
  readonly gasPerSec: number;
  readonly programs: readonly UsageSummary[];
}

interface LoadBlock {
  readonly number: number;
  readonly hash: Hex;
  readonly timestampSec: number;
  /** without deposits */
  readonly transactions: number;
  readonly gasUsed: number;
}

const DEPOSITS_PER_BLOCK = 1;
/** More than the machine can do, so that neither the block gas limit nor the DA footprint is what is measured. */
const L2_GAS_LIMIT = 400_000_000;

/** `npm run bench -- devnet`: transactions that the sequencer includes and the verifier derives under sustained load. */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("devnet", args, {
    seconds: { type: "string", default: "60", help: "length of the run" },
    senders: { type: "string", default: "40", help: "accounts that send" },
    "max-waiting": { type: "string", default: "4000", help: "transactions that may wait" },
    json: { type: "boolean", help: "print JSON" },
  });
  const datadir = mkdtempSync(join(tmpdir(), "rnode-bench-"));
  const log = (line: string): void => console.error(line);
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const startedMs = Date.now();
  const devnet = await startDevnet(scope, { datadir, basePort: 0, parameters: { l2GasLimit: L2_GAS_LIMIT }, log });
  try {
    const result = await measure(devnet, startedMs, {
      seconds: Number(values.seconds),
      senders: Number(values.senders),
      maxWaiting: Number(values["max-waiting"]),
      log,
    });
    console.log(values.json ? JSON.stringify(result, undefined, 2) : report(result));
    return 0;
  } finally {
    await scope.close();
    rmSync(datadir, { recursive: true, force: true });
  }
}

interface Load {
  readonly seconds: number;
  readonly senders: number;
  readonly maxWaiting: number;
  readonly log: (line: string) => void;
}

async function measure(devnet: Devnet, startedMs: number, load: Load): Promise<Result> {
  const { endpoints } = devnet.info;
  const safeOnVerifier = async (): Promise<number> =>
    (await rpcCall<SyncStatus>(endpoints.verifier.node, "rnode_syncStatus")).safe_l2.number;
  await until(async () => (await blockNumber(endpoints.sequencer.http)) > 0);
  const firstL2BlockSec = (Date.now() - startedMs) / 1000;
  await until(async () => (await safeOnVerifier()) > 0);
  const firstVerifierSafeSec = (Date.now() - startedMs) / 1000;
  load.log(
    `first L2 block after ${firstL2BlockSec.toFixed(1)} s, first safe block on the verifier after ${firstVerifierSafeSec.toFixed(1)} s`,
  );

  const senders = makeSenders(load.senders);
  const token = await fundSenders(devnet, senders);
  const generator = new LoadGenerator({
    url: endpoints.sequencer.http,
    chainId: BigInt(devnet.info.l2ChainId),
    senders,
    firstNonce: 0n,
    maxWaiting: load.maxWaiting,
    token,
  });
  const pids = Object.values(devnet.programs).map((program) => [program.spec.name, () => program.pid] as const);
  const usage = new UsageWatch(new Map([...pids, ["load generator", () => process.pid]]));

  // Blocks are counted as they arrive; the verifier is watched from the first to the last.
  const blocks: LoadBlock[] = [];
  let next = (await blockNumber(endpoints.sequencer.http)) + 1;
  const firstBlock = next;
  let verifierBeganMs: number | undefined;
  const follow = async (): Promise<void> => {
    for (let head = await blockNumber(endpoints.sequencer.http); next <= head; next++) {
      const block = await readBlock(endpoints.sequencer.http, next);
      blocks.push(block);
      generator.included += block.transactions;
    }
    if (verifierBeganMs === undefined && (await safeOnVerifier()) >= firstBlock) verifierBeganMs = Date.now();
  };
  const running = generator.run();
  const loadEndMs = Date.now() + load.seconds * 1000;
  let loggedMs = Date.now();
  while (Date.now() < loadEndMs) {
    await follow();
    if (Date.now() - loggedMs > 5000) {
      loggedMs = Date.now();
      load.log(
        `accepted ${generator.accepted}, included ${generator.included}, refused ${generator.refused} ${generator.lastRefusal}`,
      );
    }
    await pause(200);
  }
  generator.stop();
  await running;
  const stoppedMs = Date.now();
  await until(async () => {
    await follow();
    return generator.included >= generator.accepted;
  });
  const lastBlock = blocks.filter(({ transactions }) => transactions > 0).at(-1)!;
  await until(async () => {
    await follow();
    return (await safeOnVerifier()) >= lastBlock.number;
  });
  const verifierDoneMs = Date.now();
  const programs = usage.stop();

  const loaded = blocks.filter(({ number }) => number <= lastBlock.number);
  for (const { number, hash } of loaded) {
    const { hash: derived } = await readBlock(endpoints.verifier.http, number);
    if (derived !== hash) throw new Error(`block ${number} is ${hash} on the sequencer and ${derived} on the verifier`);
  }
  const transactions = sum(loaded.map((block) => block.transactions));
  const blockTimeSec = devnet.info.parameters.l2BlockTimeSec;
  const loadSec = loaded.length * blockTimeSec;
  return {
    firstL2BlockSec,
    firstVerifierSafeSec,
    loadSec,
    transactions,
    blocks: loaded.length,
    includedPerSec: transactions / loadSec,
    derivedPerSec: (transactions - loaded[0]!.transactions) / ((verifierDoneMs - (verifierBeganMs ?? stoppedMs)) / 1000),
    verifierLagSec: (verifierDoneMs - stoppedMs) / 1000,
    batchBytes: await batchBytes(devnet),
    refused: generator.refused,
    gasPerSec: sum(loaded.map(({ gasUsed }) => gasUsed)) / loadSec,
    programs,
  };
}

async function readBlock(url: string, number: number): Promise<LoadBlock> {
  const block = await rpcCall<{ hash: Hex; timestamp: Hex; gasUsed: Hex; transactions: readonly Hex[] } | null>(
    url,
    "eth_getBlockByNumber",
    [numberToHex(number), false],
  );
  if (!block) throw new Error(`no block ${number} at ${url}`);
  return {
    number,
    hash: block.hash,
    timestampSec: Number(block.timestamp),
    transactions: block.transactions.length - DEPOSITS_PER_BLOCK,
    gasUsed: Number(block.gasUsed),
  };
}

/** Size of all calldata sent to the batch inbox so far. */
async function batchBytes({ info }: Devnet): Promise<number> {
  const head = await blockNumber(info.endpoints.l1);
  const inbox = info.parameters.batchInbox.toLowerCase();
  let bytes = 0;
  for (let number = info.genesis.l1.number + 1; number <= head; number++) {
    const block = await rpcCall<{ transactions: readonly { to: Hex | null; input: Hex }[] }>(
      info.endpoints.l1,
      "eth_getBlockByNumber",
      [numberToHex(number), true],
    );
    bytes += sum(block.transactions.filter(({ to }) => to?.toLowerCase() === inbox).map(({ input }) => (input.length - 2) / 2));
  }
  return bytes;
}

function report(result: Result): string {
  const rows: [string, string][] = [
    ["first L2 block", `${result.firstL2BlockSec.toFixed(1)} s`],
    ["first safe block on the verifier", `${result.firstVerifierSafeSec.toFixed(1)} s`],
    ["load", `${result.transactions} transactions in ${result.blocks} blocks (${result.loadSec} s), half ether, half ERC-20`],
    ["included by the sequencer", `${result.includedPerSec.toFixed(0)} tx/s, ${(result.gasPerSec / 1e6).toFixed(1)} Mgas/s`],
    ["derived by the verifier", `${result.derivedPerSec.toFixed(0)} tx/s`],
    ["verifier done after the load's end", `${result.verifierLagSec.toFixed(1)} s`],
    ["batch data a transaction", `${(result.batchBytes / result.transactions).toFixed(1)} bytes`],
    ["refused and sent again", String(result.refused)],
  ];
  return [
    `Node ${process.versions.node}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores`,
    "",
    "| | |",
    "|---|---|",
    ...rows.map(([name, value]) => `| ${name} | ${value} |`),
    "",
    "| program | CPU (cores) | memory, peak (MiB) |",
    "|---|---|---|",
    ...result.programs.map(({ name, cores, peakRssMiB }) => `| ${name} | ${cores.toFixed(2)} | ${peakRssMiB.toFixed(0)} |`),
  ].join("\n");
}

const blockNumber = async (url: string): Promise<number> => Number(await rpcCall<Hex>(url, "eth_blockNumber"));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition: () => Promise<boolean>, timeoutMs = 180_000): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadlineMs) throw new Error(`waited ${timeoutMs / 1000} s in vain`);
    await pause(200);
  }
}
