import { readdirSync, readFileSync } from "node:fs";
import { Agent } from "node:http";
import { percentile } from "../monitor/statistics.ts";
import { Balancer } from "./balancer.ts";
import type { Fleet } from "./fleet.ts";
import { rpcOver } from "./http-client.ts";

export interface Figure {
  readonly nodes: number;
  readonly requestsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** of rengine with its readers, and of HAProxy, per request */
  readonly nodeCpuUs: number;
  readonly balancerCpuUs: number;
}

const CLIENTS = 32;
const WARM_MS = 2_000;
const RUN_MS = 10_000;
/** Linux counts in hundredths of a second. */
const TICK_US = 10_000;

/** Requests a second through the balancer to the first nodes of the fleet, which all share the machine's processors. */
export async function measure(fleet: Fleet, count: number, folder: string): Promise<Figure> {
  const nodes = fleet.nodes.slice(0, count);
  const balancer = await Balancer.start({ folder, nodes: nodes.map(({ port }) => port), maxLagBlocks: 10, maxAgeSec: 60 });
  const agents = Array.from({ length: CLIENTS }, (_, at) => new Agent({ keepAlive: true, localAddress: `127.0.4.${at + 1}` }));
  const took: number[] = [];
  let isOver = false;
  const ask = async (agent: Agent): Promise<void> => {
    while (!isOver) {
      const atMs = performance.now();
      await rpcOver(agent, balancer.port, "eth_getBlockByNumber", ["latest", false]);
      took.push(performance.now() - atMs);
    }
  };
  const asking = Promise.all(agents.map(ask));
  try {
    await new Promise((resolve) => setTimeout(resolve, WARM_MS));
    took.length = 0;
    const cpu = (): readonly [number, number] => [cpuUsOf(nodes.map(({ engine }) => engine.pid!)), cpuUsOf([balancer.pid])];
    const [[nodeBefore, balancerBefore], fromMs] = [cpu(), performance.now()];
    await new Promise((resolve) => setTimeout(resolve, RUN_MS));
    const [[nodeAfter, balancerAfter], toMs] = [cpu(), performance.now()];
    return {
      nodes: count,
      requestsPerSec: Math.round(took.length / ((toMs - fromMs) / 1000)),
      p50Ms: percentile(took, 0.5),
      p99Ms: percentile(took, 0.99),
      nodeCpuUs: (nodeAfter - nodeBefore) / took.length,
      balancerCpuUs: (balancerAfter - balancerBefore) / took.length,
    };
  } finally {
    isOver = true;
    await asking;
    for (const agent of agents) agent.destroy();
    await balancer.close();
  }
}

/** Processor time of the processes and of their children, in microseconds. */
function cpuUsOf(pids: readonly number[]): number {
  const wanted = new Set(pids);
  let ticks = 0;
  // A child has a higher pid than its parent, unless pids have started over: then it is found in the next round.
  for (let round = 0, found = -1; found !== wanted.size && round < 5; round++) {
    found = wanted.size;
    ticks = 0;
    for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
      const stat = statOf(name);
      if (stat === undefined) continue;
      const [, parent = 0] = stat;
      if (wanted.has(parent)) wanted.add(Number(name));
      if (wanted.has(Number(name))) ticks += stat[11]! + stat[12]!;
    }
  }
  return ticks * TICK_US;
}

/** The numbers after the name: state, parent, …, user and system time at 11 and 12. */
function statOf(pid: string): readonly number[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
  } catch {
    return undefined;
  }
}

export const figureTable = (figures: readonly Figure[]): string =>
  [
    "| nodes | requests a second | p50 / p99 ms | µs of CPU a request: nodes | HAProxy |",
    "|---|---|---|---|---|",
    ...figures.map(({ nodes, requestsPerSec, p50Ms, p99Ms, nodeCpuUs, balancerCpuUs }) => {
      const cells = [
        nodes,
        requestsPerSec,
        `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)}`,
        nodeCpuUs.toFixed(0),
        balancerCpuUs.toFixed(0),
      ];
      return `| ${cells.join(" | ")} |`;
    }),
  ].join("\n");
