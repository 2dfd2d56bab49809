import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Deceit } from "../lies/deceit.ts";
import { pause } from "../pause.ts";
import type { Balancer } from "./balancer.ts";
import { type Fleet, type FleetNode, startNode, stopNode, untilReady } from "./fleet.ts";

export interface Stage {
  readonly fleet: Fleet;
  readonly balancer: Balancer;
  /** limits of `/readyz` at the balancer */
  readonly limits: string;
  /** duration of what lasts */
  readonly holdMs: number;
  /** blocks that a stopped node misses */
  readonly behindBlocks: number;
  readonly head: () => Promise<number>;
}

export interface Scenario {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

/** In this order. Each ends with all nodes in service. */
export const SCENARIOS: readonly Scenario[] = [
  { name: "all nodes restarted, one after the other", run: rollingRestart },
  { name: "a node is killed", run: killed },
  { name: "the balancer is reloaded", run: reloaded },
  { name: "a source lies", run: lyingSource },
  { name: "a node is far behind", run: farBehind },
  { name: "a node has a damaged disk", run: damagedDisk },
];

async function rollingRestart({ fleet, limits }: Stage): Promise<void> {
  for (const node of fleet.nodes) {
    await stopNode(node);
    await startNode(node);
    await untilReady(node, limits);
    await pause(3_000); // the balancer has seen it twice
  }
}

async function killed({ fleet, limits, holdMs }: Stage): Promise<void> {
  const node = lightOf(fleet);
  await Promise.all([node.engine.kill("SIGKILL"), node.rollup.kill("SIGKILL")]);
  await pause(holdMs);
  await startNode(node);
  await untilReady(node, limits);
}

async function reloaded({ balancer, holdMs }: Stage): Promise<void> {
  for (let time = 0; time < 3; time++) {
    balancer.reload();
    await pause(holdMs / 3);
  }
}

/** What a light node's source may say instead of its status. */
const LIES: readonly ((status: Status) => unknown)[] = [
  (status) => ({ ...status, safe_l2: moved(status.safe_l2, 1000), local_safe_l2: moved(status.local_safe_l2, 1000) }),
  (status) => ({ ...status, safe_l2: other(status.safe_l2), local_safe_l2: other(status.local_safe_l2) }),
  (status) => ({ ...status, finalized_l2: status.unsafe_l2, safe_l2: status.unsafe_l2, local_safe_l2: status.unsafe_l2 }),
  () => ({}),
  () => "no status",
];

interface Ref {
  readonly number: number;
  readonly hash: string;
}
type Status = Readonly<Record<"safe_l2" | "local_safe_l2" | "unsafe_l2" | "finalized_l2", Ref>>;
const moved = (block: Ref, by: number): Ref => ({ ...block, number: block.number + by });
const other = (block: Ref): Ref => ({ ...block, hash: `0x${"12".repeat(32)}` });

async function lyingSource({ fleet, holdMs }: Stage): Promise<void> {
  const { source } = lightOf(fleet);
  for (const lie of LIES) {
    const tell: Deceit["tell"] = ({ method }, honest) =>
      method.endsWith("_syncStatus") ? { kind: "result", result: lie(honest as Status) } : undefined;
    source!.deceit = { name: "its status", tell };
    await pause(holdMs / LIES.length);
  }
  source!.becomeHonest();
}

async function farBehind({ fleet, limits, behindBlocks, head }: Stage): Promise<void> {
  const node = lightOf(fleet);
  await stopNode(node);
  const from = await head();
  while ((await head()) < from + behindBlocks) await pause(1_000);
  await startNode(node);
  await untilReady(node, limits);
}

const PAGE_BYTES = 4096;

/** The database's file is overwritten under the running program, which must not tell what it reads there. */
async function damagedDisk({ fleet, holdMs }: Stage): Promise<void> {
  const node = fleet.nodes.at(-1)!;
  const path = join(node.datadir, "chaindata", "data.mdb");
  const file = openSync(path, "r+");
  const noise = Buffer.alloc(PAGE_BYTES, 0xa5);
  for (let at = 2 * PAGE_BYTES; at < statSync(path).size; at += PAGE_BYTES) writeSync(file, noise, 0, PAGE_BYTES, at);
  closeSync(file);
  await pause(holdMs);
}

/** the first that follows another node */
const lightOf = ({ nodes }: Fleet): FleetNode => nodes.find(({ source }) => source !== undefined)!;
