import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { type GoPeer, SEQUENCER, SEQUENCER_KEY_HEX, startGoPeer } from "@rnode/p2p/testing";
import { bytesToHex } from "@rnode/primitives";
import { benchOptions } from "./bench-options.ts";
import type { MeshRun } from "./p2p/p2p-mesh.ts";

interface Implementation {
  readonly name: string;
  /** @param publishes whether it publishes or receives */
  readonly start: (publishes: boolean) => Promise<GoPeer>;
  /** for the measurement of its memory */
  readonly startAlone: () => Promise<GoPeer>;
}

interface Usage {
  readonly ownBytes: number;
  readonly cpuNs: number;
}

interface SizeRow {
  readonly sizeBytes: number;
  readonly latencyMs: readonly number[];
  readonly messagesPerSec: readonly number[];
  /** of the receiver's process, for a message of the throughput's run */
  readonly receiverCpuUs: readonly number[];
  readonly validationUs: readonly number[];
}

const MESH = fileURLToPath(new URL("./p2p/p2p-mesh.js", import.meta.url));
const RUN = fileURLToPath(new URL("./p2p/p2p-run.js", import.meta.url));
/** `scripts/bench.mjs` builds it where Go is installed. */
const GO = fileURLToPath(new URL("../../../packages/network/p2p/build/p2p-interop", import.meta.url));
const OURS: Implementation = {
  name: "rnode",
  start: () => startGoPeer(process.execPath, [RUN]),
  startAlone: () => startGoPeer(process.execPath, ["--expose-gc", RUN, "--in-this-thread"]),
};
const THEIRS: Implementation = {
  name: "Go",
  startAlone: () => THEIRS.start(false),
  // Its key is its identity as well.
  start: (publishes) =>
    startGoPeer(GO, [
      ...["--mode=bench", "--chain=901"],
      publishes ? `--key=${SEQUENCER_KEY_HEX}` : `--signer=${bytesToHex(SEQUENCER.address)}`,
    ]),
};
const MIB = 2 ** 20;
/** Data in flight to the receiver: less than the backpressure limits of either implementation. */
const IN_FLIGHT = { messages: 32, bytes: 4 * MIB };
const WARM_UP = 20;
const SETTLE_MS = 3_000;

/**
 * `npm run bench -- p2p`: gossip over one real connection between two processes of the same implementation, js-libp2p and the Go
 * program (go-libp2p, packages/network/p2p/interop) in turn, the memory per peer, and a mesh of rnode's nodes. Linux only.
 */
export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("p2p", args, {
    sizes: { type: "string", default: "1000,10000,100000,1000000", help: "sizes of blocks, in bytes" },
    count: { type: "string", default: "200", help: "blocks of each size" },
    rounds: { type: "string", default: "3", help: "runs" },
    peers: { type: "string", default: "100", help: "peers when memory is measured" },
    mesh: { type: "string", default: "20", help: "nodes of the mesh" },
    "mesh-blocks": { type: "string", default: "50", help: "blocks through the mesh" },
    json: { type: "boolean", help: "print JSON" },
  });
  const implementations = existsSync(GO) ? [OURS, THEIRS] : [OURS];
  if (implementations.length === 1) console.log("Go is not installed: rnode alone is measured, and no peers' memory");
  const rows = new Map<string, SizeRow>();
  const memory = new Map<string, number[]>();
  const load = [loadavg()[0]!];
  for (let round = 0; round < Number(values.rounds); round++) {
    const inTurn = round % 2 === 0 ? implementations : [...implementations].reverse();
    for (const sizeBytes of values.sizes.split(",").map(Number)) {
      for (const each of inTurn) {
        const key = `${sizeBytes} ${each.name}`;
        const row = await measureGossip(each, sizeBytes, Math.min(Number(values.count), Math.ceil((40 * MIB) / sizeBytes)));
        rows.set(key, joined(rows.get(key), row));
      }
    }
    if (implementations.length === 1) continue;
    for (const each of inTurn) {
      memory.set(each.name, [...(memory.get(each.name) ?? []), await measureMemory(each, Number(values.peers))]);
    }
    load.push(loadavg()[0]!);
  }
  const mesh = measureMesh(values.mesh, values["mesh-blocks"]);
  load.push(loadavg()[0]!);
  const results = [...rows].map(([key, row]) => ({ implementation: key.split(" ")[1]!, ...summary(row) }));
  const perPeer = [...memory].map(([implementation, bytes]) => ({ implementation, kibPerPeer: Math.round(median(bytes) / 1024) }));
  if (values.json) console.log(JSON.stringify({ results, perPeer, mesh, load }, undefined, 2));
  else {
    console.log(`load ${load.map((each) => each.toFixed(1)).join(", ")}`);
    console.table(results);
    console.table(perPeer);
    console.log(`mesh of ${mesh.nodes} nodes in one process: ${mesh.complete} of ${mesh.blocks} blocks reached all`);
    console.log(`from publishing to the last node: p50 ${mesh.p50Ms.toFixed(0)} ms, p99 ${mesh.p99Ms.toFixed(0)} ms`);
  }
  return 0;
}

async function measureGossip({ start }: Implementation, sizeBytes: number, count: number): Promise<SizeRow> {
  const [from, to] = [await start(true), await start(false)];
  try {
    await to.ask("connect", { address: from.identity.addresses[0]! });
    let number = await untilMeshed(from, to);
    const prepare = async (size: number, blocks: number): Promise<number> => {
      const first = number;
      number += blocks;
      await from.ask("prepare", { number: first, count: blocks, size });
      return first;
    };
    // Compilers and caches.
    await sendAll(from, to, await prepare(sizeBytes, WARM_UP), WARM_UP, sizeBytes);

    const single = Math.min(count, 50);
    const firstSingle = await prepare(sizeBytes, single);
    const latencyMs: number[] = [];
    for (let index = 0; index < single; index++) {
      const [[sent], [came]] = await Promise.all([
        from.ask<number[]>("send", { number: firstSingle + index, count: 1 }),
        to.ask<number[]>("arrived", { number: firstSingle + index, count: 1, timeoutMs: 20_000 }),
      ]);
      latencyMs.push((came! - sent!) / 1e6);
    }

    const first = await prepare(sizeBytes, count);
    const before = await to.ask<Usage>("usage");
    const seconds = await sendAll(from, to, first, count, sizeBytes);
    const after = await to.ask<Usage>("usage");
    const validationNs = await from.ask<number>("validate", { number: first, count });
    return {
      sizeBytes,
      latencyMs,
      messagesPerSec: [count / seconds],
      receiverCpuUs: [(after.cpuNs - before.cpuNs) / count / 1000],
      validationUs: [validationNs / count / 1000],
    };
  } finally {
    await Promise.all([from.close(), to.close()]);
  }
}

/** The receiver takes the sender into its mesh at a heartbeat. @returns the next block number */
async function untilMeshed(from: GoPeer, to: GoPeer): Promise<number> {
  for (let number = 1_000; number < 1_100; number++) {
    await from.ask("prepare", { number, count: 1, size: 200 });
    await from.ask("send", { number, count: 1 });
    const came = to.ask("arrived", { number, count: 1, timeoutMs: 300 }).then(
      () => true,
      () => false,
    );
    if (await Promise.race([came, new Promise<boolean>((resolve) => setTimeout(resolve, 300, false))])) return number + 1;
  }
  throw new Error("no block arrived within 30 s");
}

/** @returns seconds from the first block sent to the last one received */
async function sendAll(from: GoPeer, to: GoPeer, first: number, count: number, sizeBytes: number): Promise<number> {
  const chunk = Math.max(1, Math.min(IN_FLIGHT.messages, Math.floor(IN_FLIGHT.bytes / sizeBytes)));
  let beganNs: number | undefined;
  let endedNs = 0;
  for (let number = first; number < first + count; number += chunk) {
    const some = Math.min(chunk, first + count - number);
    const [sent, came] = await Promise.all([
      from.ask<number[]>("send", { number, count: some, timeoutMs: 60_000 }),
      to.ask<number[]>("arrived", { number, count: some, timeoutMs: 60_000 }),
    ]);
    beganNs ??= Math.min(...sent);
    endedNs = Math.max(...came);
  }
  return (endedNs - beganNs!) / 1e9;
}

/** The same crowd for both: peers of the Go program, on all topics. @returns bytes a peer */
async function measureMemory({ startAlone }: Implementation, peers: number): Promise<number> {
  const [measured, crowd] = [await startAlone(), await THEIRS.start(false)];
  try {
    const settled = async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      return (await measured.ask<Usage>("usage")).ownBytes;
    };
    // The first peers include shared memory.
    const [address] = measured.identity.addresses;
    await crowd.ask("crowd", { address: address!, count: 20 });
    const before = await settled();
    await crowd.ask("crowd", { address: address!, count: peers });
    return ((await settled()) - before) / peers;
  } finally {
    await Promise.all([measured.close(), crowd.close()]);
  }
}

/** Our nodes in one process, which share a core: the time until the last of them has a block. */
function measureMesh(nodes: string, blocks: string) {
  const { lastMs, complete } = JSON.parse(execFileSync(process.execPath, [MESH, nodes, blocks], { encoding: "utf8" })) as MeshRun;
  return { nodes: Number(nodes), blocks: lastMs.length, complete, p50Ms: quantile(lastMs, 0.5), p99Ms: quantile(lastMs, 0.99) };
}

const joined = (known: SizeRow | undefined, row: SizeRow): SizeRow =>
  known === undefined
    ? row
    : {
        sizeBytes: row.sizeBytes,
        latencyMs: [...known.latencyMs, ...row.latencyMs],
        messagesPerSec: [...known.messagesPerSec, ...row.messagesPerSec],
        receiverCpuUs: [...known.receiverCpuUs, ...row.receiverCpuUs],
        validationUs: [...known.validationUs, ...row.validationUs],
      };

const summary = ({ sizeBytes, latencyMs, messagesPerSec, receiverCpuUs, validationUs }: SizeRow) => ({
  sizeBytes,
  messagesPerSec: Math.round(median(messagesPerSec)),
  latencyP50Ms: Number(quantile(latencyMs, 0.5).toFixed(2)),
  latencyP99Ms: Number(quantile(latencyMs, 0.99).toFixed(2)),
  receiverCpuUs: Math.round(median(receiverCpuUs)),
  validationUs: Math.round(median(validationUs)),
});

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;
const median = (values: readonly number[]): number => quantile(values, 0.5);
