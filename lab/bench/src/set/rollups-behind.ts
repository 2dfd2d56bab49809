import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Devnet, devAccounts, rpcCall, startDevnet } from "@rnode/devnet";
import type { Scope } from "@rnode/program";
import { LoadGenerator, makeSenders } from "../common/load-generator.ts";
import { fundSenders } from "../memory/fund-senders.ts";

/** Two rollups of one dependency set, whose verifiers have no block yet. All their programs are stopped, except L1. */
export interface RollupsBehind {
  readonly devnets: readonly [Devnet, Devnet];
  /** a block that both have on L1 */
  readonly target: number;
  /** Starts the verifier's execution client of a rollup, as it was at the start. */
  readonly startEngine: (index: number) => Promise<void>;
}

const MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow";
const IDS = [901, 902] as const;
/** L1 begins so long ago: sequencers then make blocks as fast as they can. */
const PAST_SEC = 7_200;
const L1_BLOCK_TIME_SEC = 12;
const SENDERS = 5;
const POLL_MS = 1_000;

interface SyncStatus {
  readonly unsafe_l2: { readonly number: number };
  readonly safe_l2: { readonly number: number };
}

/** @param blocks of each rollup @param log is called with one line for each step */
export async function makeRollupsBehind(
  scope: Scope,
  { folder, blocks, log }: { readonly folder: string; readonly blocks: number; readonly log: (line: string) => void },
): Promise<RollupsBehind> {
  const parameters = { l2BlockTimeSec: 1, forkDelaysSec: { karst: 0, lagoon: 0 }, seqWindowSize: 3_600 } as const;
  const a = await startDevnet(scope, {
    datadir: join(folder, "a"),
    basePort: 0,
    parameters: { ...parameters, l1BlockTimeSec: 2, l2ChainId: IDS[0], otherChains: [IDS[1]] },
    changeArgs: (name, args) => (name === "l1" ? args.map(inPast) : args),
  });
  const { l1 } = a.info.endpoints;
  const files = { mnemonicFile: join(folder, "mnemonic"), l1FunderKeyFile: join(folder, "key") };
  writeFileSync(files.mnemonicFile, `${MNEMONIC}\n`);
  writeFileSync(files.l1FunderKeyFile, devAccounts(7)[6]!.privateKey);
  const b = await startDevnet(scope, {
    ...files,
    l1,
    l1Beacon: l1,
    datadir: join(folder, "b"),
    basePort: 0,
    parameters: { ...parameters, l2ChainId: IDS[1], otherChains: [IDS[0]] },
  });
  const devnets = [a, b] as const;
  for (const devnet of devnets) {
    const { verifierNode, verifierEngine } = devnet.programs;
    await verifierNode.stop();
    await verifierEngine.stop();
    cpSync(engineFolder(devnet), `${engineFolder(devnet)}-at-start`, { recursive: true });
  }
  await makeBlocks(devnets, { l1, blocks, log });
  const target = Math.min(...(await statusesOf(devnets)).map(({ safe_l2 }) => safe_l2.number));
  for (const { programs } of devnets) {
    for (const name of ["proposer", "batcher", "sequencerNode", "sequencerEngine"] as const) await programs[name].stop();
  }
  await rpcCall(l1, "evm_setIntervalMining", [0]);
  const startEngine = (index: number): Promise<void> => {
    const devnet = devnets[index]!;
    rmSync(engineFolder(devnet), { recursive: true });
    cpSync(`${engineFolder(devnet)}-at-start`, engineFolder(devnet), { recursive: true });
    return devnet.programs.verifierEngine.start();
  };
  return { devnets, target, startEngine };
}

const inPast = (arg: string): string => {
  const [flag, sec] = arg.split("=");
  return flag === "--dev.timestamp" ? `${flag}=${Number(sec) - PAST_SEC}` : arg;
};

const engineFolder = ({ programs }: Devnet): string =>
  programs.verifierEngine.spec
    .args()
    .find((arg) => arg.startsWith("--datadir="))!
    .slice("--datadir=".length);

const statusesOf = (devnets: readonly Devnet[]): Promise<SyncStatus[]> =>
  Promise.all(devnets.map(({ info }) => rpcCall<SyncStatus>(info.endpoints.sequencer.node, "optimism_syncStatus")));

/** Has both sequencers make blocks with transactions, and waits until these are on L1. */
async function makeBlocks(
  devnets: readonly Devnet[],
  { l1, blocks, log }: { readonly l1: string; readonly blocks: number; readonly log: (line: string) => void },
): Promise<void> {
  const loads: LoadGenerator[] = [];
  for (const devnet of devnets) {
    const senders = makeSenders(SENDERS);
    const token = await fundSenders(devnet, senders);
    const { info } = devnet;
    const url = info.endpoints.sequencer.http;
    loads.push(new LoadGenerator({ url, chainId: BigInt(info.l2ChainId), senders, firstNonce: 0n, maxWaiting: 200, token }));
  }
  const running = loads.map((load) => load.run());
  const numbers = async (label: keyof SyncStatus): Promise<number> =>
    Math.min(...(await statusesOf(devnets)).map((status) => status[label].number));
  for (let made = 0; made < blocks; made = await numbers("unsafe_l2")) {
    log(`${made} of ${blocks} blocks made`);
    for (const load of loads) load.included = load.accepted;
    await rpcCall(l1, "anvil_mine", [3, L1_BLOCK_TIME_SEC]);
    await pause(POLL_MS);
  }
  for (const load of loads) load.stop();
  await Promise.all(running);
  while ((await numbers("safe_l2")) < blocks) await pause(POLL_MS);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
