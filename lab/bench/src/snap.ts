import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rpcCall } from "@rnode/devnet";
import { bytesToHex, type Hex, ZERO_HASH } from "@rnode/primitives";
import { hashHeader } from "@rnode/protocol";
import { benchOptions } from "./bench-options.ts";
import { forkchoiceState } from "./common/op-chain.ts";
import { treeCpuSec } from "./common/process-usage.ts";
import { scalePlan } from "./import/import-chains.ts";
import { runProgram } from "./rpc/foreign-clients.ts";
import { ownBytes } from "./scale/scale-program.ts";
import { copyFolder, makeScaleState, payloadOf, type ScaleState } from "./scale/scale-state.ts";
import { importArgs, RENGINE_CLIENT, type SyncNode, startNode } from "./sync/sync-nodes.ts";

/**
 * `npm run bench -- snap`: a rengine that has the genesis fetches the state below a head from another one (snap/1), writes it into a new database,
 * starts again with it, and reaches the head. The genesis has as many accounts as slots of one token.
 */

const BLOCKS = 4;
const LOOK_MS = 100;
const ASK_AGAIN_MS = 1_000;

/** Bytes that the files below a folder take. */
function diskBytes(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    try {
      bytes += entry.isDirectory() ? diskBytes(path) : statSync(path).blocks * 512;
    } catch {
      // it was removed meanwhile
    }
  }
  return bytes;
}

/** Names the head until the client has it. @returns what the client took at most, its genesis database not counted */
async function follow(
  client: SyncNode,
  head: ScaleState["blocks"][number],
  datadir: string,
): Promise<{ own: number; disk: number }> {
  const number = head.header.number;
  const hash = bytesToHex(hashHeader(head.header));
  const before = diskBytes(datadir);
  let [own, disk, askedMs] = [0, 0, 0];
  for (;;) {
    own = Math.max(own, ownBytes(client.pid));
    disk = Math.max(disk, diskBytes(datadir) - before);
    try {
      if (Number(await rpcCall<Hex>(client.url, "eth_blockNumber")) >= number) return { own, disk };
      if (performance.now() - askedMs > ASK_AGAIN_MS) {
        askedMs = performance.now();
        await client.engine.call("engine_newPayloadV3", [payloadOf(head), [], bytesToHex(ZERO_HASH)]);
        await client.engine.call("engine_forkchoiceUpdatedV3", [forkchoiceState(hash), null]);
      }
    } catch {
      // it starts again
    }
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

/** @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("snap", args, {
    accounts: { type: "string", default: "1000000", help: "accounts, and as many slots" },
    folder: { type: "string", help: "kept, or used again, so that the state need not be made for each run" },
  });
  const folder = values.folder === undefined ? mkdtempSync(join(tmpdir(), "rnode-bench-snap-")) : resolve(values.folder);
  mkdirSync(folder, { recursive: true });
  const [served, fetched] = [join(folder, "served"), join(folder, "fetched")];
  try {
    const state = await makeScaleState(scalePlan(Number(values.accounts), BLOCKS), folder);
    for (const datadir of [served, fetched]) {
      rmSync(datadir, { recursive: true, force: true });
      copyFolder(state.genesisFolder, datadir);
    }
    await runProgram(RENGINE_CLIENT.program, importArgs(served, state));
    const load = loadavg()[0]!;
    const server = await startNode(RENGINE_CLIENT, state, served);
    try {
      const options = ["--snapsync.min-blocks=0", `--trusted-peers=${server.enode}`]; // it keeps the peer when it starts again
      const client = await startNode({ ...RENGINE_CLIENT, args: options }, state, fetched);
      try {
        const [clientBefore, serverBefore] = [treeCpuSec(client.pid), treeCpuSec(server.pid)];
        const startMs = performance.now();
        const { own, disk } = await follow(client, state.blocks.at(-1)!, fetched);
        const sec = (performance.now() - startMs) / 1_000;
        const rows = 2 * state.plan.accounts;
        const microsARow = (cpuSec: number): string => `${((1e6 * cpuSec) / rows).toFixed(1)} µs`;
        console.log(`${rows} rows; load ${load.toFixed(1)}`);
        console.log(`  ${sec.toFixed(0)} s, ${Math.round(rows / sec)} rows a second`);
        console.log(
          `  CPU a row: ${microsARow(treeCpuSec(client.pid) - clientBefore)}, of the server ${microsARow(treeCpuSec(server.pid) - serverBefore)}`,
        );
        console.log(
          `  memory at most ${Math.round(own / 2 ** 20)} MiB, disk at most ${Math.round(disk / 2 ** 20)} MiB (${Math.round(disk / rows)} bytes a row)`,
        );
      } finally {
        await client.stop();
      }
    } finally {
      await server.stop();
    }
    return 0;
  } finally {
    for (const datadir of values.folder === undefined ? [folder] : [served, fetched])
      rmSync(datadir, { recursive: true, force: true });
  }
}
