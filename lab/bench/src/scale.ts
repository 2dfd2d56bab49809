import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { asciiToBytes, bytesToHex, concatBytes, keccak256, ZERO_HASH } from "@rnode/primitives";
import { type Block, hashHeader } from "@rnode/protocol";
import { benchOptions } from "./bench-options.ts";
import { HISTORY_TABLES } from "./common/history-tables.ts";
import { forkchoiceState } from "./common/op-chain.ts";
import { scalePlan } from "./import/import-chains.ts";
import { httpRequest, percentile, runLoad } from "./rpc/rpc-load.ts";
import { limitMemory, type MemoryLimit, mebibytes } from "./scale/scale-memory.ts";
import { bytesOfLastCommit } from "./scale/scale-pages.ts";
import { type CommandRun, type DiskBytes, runCommand, ScaleNode } from "./scale/scale-program.ts";
import { copyFolder, dropFromMemory, makeScaleState, payloadOf, type ScaleState } from "./scale/scale-state.ts";

/*
 * `npm run bench -- scale`: a state larger than the memory. Accounts and slots of one token, in equal numbers, are written
 * directly into a database. Blocks that touch 264 random ones of each are then executed by the built program with limited memory:
 * live through the Engine API, cold and warm, and as an import. Requests, starts, and `db verify` are measured as well.
 */

/** Blocks that count as the cold start. */
const COLD_BLOCKS = 10;
const REQUESTS = 2000;
const PARTS = ["live", "start", "rpc", "import", "verify"] as const;

export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("scale", args, {
    accounts: { type: "string", default: "10000000", help: "accounts of the state, each contract with slots" },
    blocks: { type: "string", default: "100", help: "live blocks after it" },
    memory: { type: "string", default: "2048", help: "for the programs and the cache of their files, in MiB" },
    fill: { type: "boolean", help: "without cgroups, another process holds the rest of the machine's memory" },
    parts: { type: "string", default: PARTS.join(","), help: "which parts are run" },
    old: {
      type: "string",
      help: "another checkout of the repository, already built, whose programs run on the database made by this one",
    },
    "max-time": { type: "string", default: "900", help: "limit of `db verify` and of the import, in seconds" },
    folder: { type: "string", help: "kept, or used again, so that the state need not be made for each run" },
    args: { type: "string", default: "", help: "further options of rengine, separated by spaces" },
  });
  const folder = values.folder === undefined ? mkdtempSync(join(tmpdir(), "rnode-bench-scale-")) : resolve(values.folder);
  mkdirSync(folder, { recursive: true });
  const limit = limitMemory(Number(values.memory) * 2 ** 20, values.fill);
  const print = (what: string, value: string): void => console.log(`${what.padEnd(34)}${value}`);
  print("load average before", loadavg()[0]!.toFixed(1));
  print("memory", limit.description);
  try {
    const state = await makeScaleState(scalePlan(Number(values.accounts), Number(values.blocks)), folder);
    print("accounts, and as many slots", state.plan.accounts.toLocaleString("en"));
    print(
      "writing the state",
      state.made === undefined
        ? "as before"
        : `${seconds(state.made.stateMs)}, at most ${mebibytes(state.made.peakRssBytes)} resident`,
    );
    const run = new ScaleRun(state, folder, limit, values.old && resolve(values.old), Number(values["max-time"]) * 1000, print);
    await run.all(new Set(values.parts.split(",")), values.args.split(" ").filter(Boolean));
    return 0;
  } finally {
    limit.release();
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

class ScaleRun {
  readonly #state: ScaleState;
  readonly #limit: MemoryLimit;
  readonly #checkout: string | undefined;
  readonly #maxMs: number;
  readonly #print: (what: string, value: string) => void;
  readonly #datadir: string;
  readonly #importDir: string;

  constructor(
    state: ScaleState,
    folder: string,
    limit: MemoryLimit,
    checkout: string | undefined,
    maxMs: number,
    print: (what: string, value: string) => void,
  ) {
    this.#state = state;
    this.#limit = limit;
    this.#checkout = checkout;
    this.#maxMs = maxMs;
    this.#print = print;
    this.#datadir = join(folder, "live");
    this.#importDir = join(folder, "import");
  }

  #start(args: readonly string[] = []): Promise<ScaleNode> {
    const { genesisFile } = this.#state;
    return ScaleNode.start(this.#limit, { genesisFile, datadir: this.#datadir, checkout: this.#checkout, args });
  }

  async all(parts: ReadonlySet<string>, args: readonly string[]): Promise<void> {
    rmSync(this.#datadir, { recursive: true, force: true });
    copyFolder(this.#state.genesisFolder, this.#datadir);
    await this.#live(parts.has("rpc"), args);
    if (parts.has("start")) await this.#starts();
    if (parts.has("verify")) await this.#verify();
    rmSync(this.#datadir, { recursive: true, force: true });
    if (parts.has("import")) await this.#import();
  }

  #cold(): void {
    if (!dropFromMemory(this.#datadir)) this.#print("cold", "the pages of the file stay in memory: there is no dd with nocache");
  }

  /** Blocks through the Engine API from a cold start. */
  async #live(withRpc: boolean, args: readonly string[]): Promise<void> {
    const { blocks, plan } = this.#state;
    const before = await this.#tables();
    this.#cold();
    const node = await this.#start(args);
    this.#print("start, cold", seconds(node.startMs));
    try {
      await this.#follow(node, `the first ${COLD_BLOCKS} blocks`, blocks.slice(0, COLD_BLOCKS));
      const disk = node.disk;
      await this.#follow(node, `the ${blocks.length - COLD_BLOCKS} after them`, blocks.slice(COLD_BLOCKS));
      const keys = plan.keysPerBlock * (blocks.length - COLD_BLOCKS);
      this.#print("by the system, a changed key", perKey(disk, node.disk, keys));
      this.#print("by a commit, bytes a changed key", this.#writtenByLastCommit());
      if (withRpc) await this.#rpc(node);
    } finally {
      await node.stop();
    }
    const after = await this.#tables();
    const keys = plan.keysPerBlock * blocks.length;
    const grown = (name: string): number => (after[name]?.sizeBytes ?? 0) - (before[name]?.sizeBytes ?? 0);
    const sizes = HISTORY_TABLES.map((name) => `${name} ${Math.round(grown(name) / keys)}`).join(", ");
    this.#print(
      "history, bytes a changed key",
      `${Math.round(HISTORY_TABLES.reduce((sum, name) => sum + grown(name), 0) / keys)}: ${sizes}`,
    );
  }

  async #follow(node: ScaleNode, name: string, blocks: readonly Block[]): Promise<void> {
    const before = node.waits;
    report(this.#print, name, await follow(node, blocks));
    const after = node.waits;
    const each = (count: number): string => (count / blocks.length).toFixed(0);
    const main = after.main - before.main;
    this.#print(
      `${name}: waits for the disk`,
      `${each(main)} a block in the main thread, ${each(after.all - before.all - main)} in others`,
    );
  }

  /** The commit of the last block. */
  #writtenByLastCommit(): string {
    const keys = this.#state.plan.keysPerBlock;
    const tables = [...bytesOfLastCommit(join(this.#datadir, "chaindata/data.mdb"))].sort((a, b) => b[1] - a[1]);
    const total = tables.reduce((sum, [, bytes]) => sum + bytes, 0);
    const parts = tables.slice(0, 6).map(([name, bytes]) => `${name} ${Math.round(bytes / keys)}`);
    return `${Math.round(total / keys)}: ${parts.join(", ")}`;
  }

  async #tables(): Promise<Record<string, { readonly sizeBytes: number }>> {
    const options = { checkout: this.#checkout, maxMs: this.#maxMs };
    const { output } = await runCommand(this.#limit, ["db", "stats", "--json", `--datadir=${this.#datadir}`], options);
    return (JSON.parse(output) as { tables: Record<string, { sizeBytes: number }> }).tables;
  }

  async #rpc(node: ScaleNode): Promise<void> {
    const { plan } = this.#state;
    const balanceOf = keccak256(asciiToBytes("balanceOf(address)")).subarray(0, 4);
    const requests = (method: string, params: (address: Uint8Array) => readonly unknown[], salt: number): Buffer[] =>
      Array.from({ length: REQUESTS }, (_, i) => {
        const address = plan.holder((Math.imul(i + 1 + salt * REQUESTS, 0x9e37_79b1) >>> 0) % plan.accounts);
        return httpRequest(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: params(address) }));
      });
    const call = (address: Uint8Array) => ({
      to: bytesToHex(plan.token),
      data: bytesToHex(concatBytes(balanceOf, new Uint8Array(12), address)),
    });
    const kinds = {
      eth_getBalance: (address: Uint8Array) => [bytesToHex(address), "latest"],
      eth_call: (address: Uint8Array) => [call(address), "latest"],
      eth_getProof: (address: Uint8Array) => [bytesToHex(address), [], "latest"],
    };
    for (const [index, [method, params]] of Object.entries(kinds).entries()) {
      const list = requests(method, params, index);
      let at = 0;
      const { latenciesMs, errors } = await runLoad({
        port: node.port,
        connections: 1,
        next: () => list[at++],
        durationMs: 120_000,
      });
      if (errors > 0) throw new Error(`${method}: ${errors} errors`);
      this.#print(`${method}, anywhere`, quantiles(latenciesMs));
    }
  }

  async #starts(): Promise<void> {
    this.#cold();
    const first = await this.#start();
    this.#print("start, cold, with history", seconds(first.startMs));
    await first.stop("SIGKILL");
    this.#cold();
    const second = await this.#start();
    this.#print("start after a kill, cold", seconds(second.startMs));
    await second.stop("SIGKILL");
    const third = await this.#start();
    this.#print("start after a kill, warm", seconds(third.startMs));
    await third.stop();
  }

  async #verify(): Promise<void> {
    this.#cold();
    const run = await runCommand(this.#limit, ["db", "verify", `--datadir=${this.#datadir}`], {
      checkout: this.#checkout,
      maxMs: this.#maxMs,
    });
    this.#print("db verify, cold", describeRun(run));
  }

  async #import(): Promise<void> {
    rmSync(this.#importDir, { recursive: true, force: true });
    copyFolder(this.#state.genesisFolder, this.#importDir);
    dropFromMemory(this.#importDir);
    const { genesisFile, blocksFile, plan, blocks } = this.#state;
    const run = await runCommand(this.#limit, ["import", `--chain=${genesisFile}`, `--datadir=${this.#importDir}`, blocksFile], {
      checkout: this.#checkout,
      maxMs: this.#maxMs,
    });
    const keys = blocks.length * plan.keysPerBlock;
    this.#print(
      `import of ${blocks.length} blocks, cold`,
      `${describeRun(run)}; ${Math.round(run.disk.written / keys)} bytes written a changed key`,
    );
    rmSync(this.#importDir, { recursive: true, force: true });
  }
}

interface Calls {
  readonly newPayloadMs: number[];
  readonly forkchoiceMs: number[];
}

async function follow(node: ScaleNode, blocks: readonly Block[]): Promise<Calls> {
  const calls: Calls = { newPayloadMs: [], forkchoiceMs: [] };
  for (const block of blocks) {
    const hash = bytesToHex(hashHeader(block.header));
    const added = await node.engine.timed<{ status: string }>("engine_newPayloadV3", [payloadOf(block), [], bytesToHex(ZERO_HASH)]);
    if (added.result.status !== "VALID") throw new Error(`newPayload: ${JSON.stringify(added.result)}`);
    const chosen = await node.engine.timed<{ payloadStatus: { status: string } }>("engine_forkchoiceUpdatedV3", [
      forkchoiceState(hash),
      null,
    ]);
    if (chosen.result.payloadStatus.status !== "VALID") throw new Error(`forkchoiceUpdated: ${JSON.stringify(chosen.result)}`);
    calls.newPayloadMs.push(added.ms);
    calls.forkchoiceMs.push(chosen.ms);
  }
  return calls;
}

function report(print: (what: string, value: string) => void, name: string, calls: Calls): void {
  print(`${name}: newPayload`, quantiles(calls.newPayloadMs));
  print(`${name}: commit`, quantiles(calls.forkchoiceMs));
}

function quantiles(ms: readonly number[]): string {
  const sorted = Float64Array.from(ms).sort();
  const mean = ms.reduce((sum, value) => sum + value, 0) / ms.length;
  const at = (part: number): string => percentile(sorted, part).toFixed(1);
  return `mean ${mean.toFixed(1)} ms, median ${at(0.5)}, p99 ${at(0.99)}, most ${sorted.at(-1)!.toFixed(1)}`;
}

const perKey = (before: DiskBytes, after: DiskBytes, keys: number): string =>
  `${Math.round((after.written - before.written) / keys)} bytes written, ${Math.round((after.read - before.read) / keys)} read`;

const describeRun = ({ code, ms, peakRssBytes, peakOwnBytes, disk }: CommandRun): string =>
  `${code === undefined ? "not done after " : ""}${seconds(ms)}, at most ${mebibytes(peakRssBytes)} resident, ${mebibytes(peakOwnBytes)} without files, ${mebibytes(disk.read)} read`;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
