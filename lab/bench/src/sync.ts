import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { rpcCall } from "@rnode/devnet";
import { bytesToHex, type Hex, ZERO_HASH } from "@rnode/primitives";
import { blockToPayload, decodeBlockPrefix, hashHeader, payloadToJson } from "@rnode/protocol";
import { rlpEnd } from "@rnode/storage";
import { benchOptions } from "./bench-options.ts";
import { forkchoiceState } from "./common/op-chain.ts";
import { treeCpuSec } from "./common/process-usage.ts";
import { swaps, transfers } from "./import/import-chains.ts";
import { type GeneratedChain, generateChain } from "./import/import-generate.ts";
import { FOREIGN_OPTIONS, foreignClients } from "./rpc/foreign-clients.ts";
import { prepareFolder, RENGINE_CLIENT, type SyncClient, startNode } from "./sync/sync-nodes.ts";

/**
 * `npm run bench -- sync`: a client that has the genesis fetches a chain from a peer over devp2p on loopback, executes it, and reaches its
 * head. All pairs of rengine and the named programs take turns.
 */

const POLL_MS = 20;
const ASK_AGAIN_MS = 1000;
const LIMIT_MS = 600_000;

interface SyncRun {
  readonly ms: number;
  /** of the whole program, from its start on */
  readonly clientCpuMs: number;
  readonly serverCpuMs: number;
}

/** The last block of the chain, as the rollup node gives it. */
function headOf({ blocksFile }: GeneratedChain): { readonly hash: Hex; readonly number: number; readonly payload: object } {
  const bytes = readFileSync(blocksFile);
  let last = 0;
  for (let at = 0; at < bytes.length; at = rlpEnd(bytes, at)) last = at;
  const { block } = decodeBlockPrefix(bytes, last);
  const hash = hashHeader(block.header);
  return {
    hash: bytesToHex(hash),
    number: block.header.number,
    payload: payloadToJson(blockToPayload(block, hash, false).executionPayload),
  };
}

async function syncOnce(
  chain: GeneratedChain,
  from: SyncClient,
  to: SyncClient,
  folders: { from: string; to: string },
): Promise<SyncRun> {
  const head = headOf(chain);
  await prepareFolder(to, chain, folders.to, false);
  const server = await startNode(from, chain, folders.from);
  try {
    const client = await startNode(to, chain, folders.to);
    try {
      await rpcCall(client.url, "admin_addPeer", [server.enode]);
      while (Number(await rpcCall<Hex>(client.url, "net_peerCount")) === 0) await pause(POLL_MS);
      const [clientBefore, serverBefore] = [treeCpuSec(client.pid), treeCpuSec(server.pid)];
      const startMs = performance.now();
      for (let askedMs = 0; Number(await rpcCall<Hex>(client.url, "eth_blockNumber")) < head.number; await pause(POLL_MS)) {
        const nowMs = performance.now();
        if (nowMs - startMs > LIMIT_MS)
          throw new Error(`${to.name} has not reached block ${head.number} after ${LIMIT_MS / 1000} s`);
        if (nowMs - askedMs < ASK_AGAIN_MS) continue;
        askedMs = nowMs;
        await client.engine.call("engine_newPayloadV3", [head.payload, [], bytesToHex(ZERO_HASH)]);
        await client.engine.call("engine_forkchoiceUpdatedV3", [forkchoiceState(head.hash), null]);
      }
      const ms = performance.now() - startMs;
      return {
        ms,
        clientCpuMs: (treeCpuSec(client.pid) - clientBefore) * 1000,
        serverCpuMs: (treeCpuSec(server.pid) - serverBefore) * 1000,
      };
    } finally {
      await client.stop();
    }
  } finally {
    await server.stop();
    rmSync(folders.to, { recursive: true, force: true });
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("sync", args, {
    blocks: { type: "string", default: "6000", help: "blocks of the chain" },
    transactions: { type: "string", default: "3", help: "transactions a block" },
    swaps: { type: "boolean", help: "swaps instead of transfers" },
    rounds: { type: "string", default: "3", help: "runs of each pair" },
    "cpu-prof": { type: "string", help: "folder for CPU profiles of rengine" },
    ...FOREIGN_OPTIONS,
  });
  const [blocks, perBlock] = [Number(values.blocks), Number(values.transactions)];
  const plan = values.swaps === true ? swaps(1000, blocks, perBlock) : transfers(1000, blocks, perBlock);
  const profile = values["cpu-prof"];
  const nodeArgs = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const clients: readonly SyncClient[] = [{ ...RENGINE_CLIENT, nodeArgs }, ...foreignClients(values)];
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-sync-"));
  try {
    const chain = await generateChain(plan, folder);
    const pairs = clients.flatMap((to) => clients.map((from) => ({ from, to, runs: [] as SyncRun[] })));
    const servedBy = (name: string): string => join(folder, `serve-${name}`);
    for (const client of clients) await prepareFolder(client, chain, servedBy(client.name), true);
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const { from, to, runs } of pairs) {
        runs.push(await syncOnce(chain, from, to, { from: servedBy(from.name), to: join(folder, "sync") }));
      }
    }
    console.log(`${plan.name}: ${blocks} blocks of ${perBlock} transactions; load ${loadavg()[0]!.toFixed(1)}`);
    for (const { from, to, runs } of pairs) {
      const [ms, clientCpu, serverCpu] = [
        median(runs.map((run) => run.ms)),
        median(runs.map(({ clientCpuMs }) => clientCpuMs)),
        median(runs.map(({ serverCpuMs }) => serverCpuMs)),
      ];
      const cpu = `CPU a block ${(clientCpu / blocks).toFixed(2)} ms, of the server ${(serverCpu / blocks).toFixed(2)} ms`;
      console.log(
        `  ${to.name} from ${from.name}: ${((blocks / ms) * 1000).toFixed(0)} blocks/s, ${(ms / 1000).toFixed(1)} s; ${cpu}`,
      );
    }
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
