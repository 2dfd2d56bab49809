import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rpcCall } from "@rnode/devnet";
import { silentLogger } from "@rnode/observe";
import { hexToBytes } from "@rnode/primitives";
import { Scope, systemClock } from "@rnode/program";
import { percentile } from "../monitor/statistics.ts";
import { pause } from "../pause.ts";
import { Balancer } from "./balancer.ts";
import { Clients } from "./clients.ts";
import { type Figure, measure } from "./figures.ts";
import { startFleet, untilReady } from "./fleet.ts";
import { SCENARIOS, type Scenario, type Stage } from "./scenarios.ts";

export interface FleetRunOptions {
  /** nodes that follow others */
  readonly light: number;
  readonly httpClients: number;
  readonly wsClients: number;
  readonly intervalMs: number;
  /** before and after each scenario */
  readonly calmMs: number;
  readonly holdMs: number;
  readonly behindBlocks: number;
  readonly only: readonly string[];
  /** requests a second are measured with so many nodes, first */
  readonly figures: readonly number[];
  readonly log: (line: string) => void;
}

/** Requests of one part of a run. */
interface Part {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface ScenarioRun {
  readonly name: string;
  readonly sec: number;
  readonly before: Part;
  readonly during: Part;
  readonly after: Part;
  readonly faults: readonly string[];
}

export interface FleetRun {
  readonly figures: readonly Figure[];
  readonly scenarios: readonly ScenarioRun[];
  readonly counts: Clients["counts"];
}

const MAX_LAG_BLOCKS = 3;
const MAX_AGE_SEC = 10;
const LIMITS = `max-lag-blocks=${MAX_LAG_BLOCKS}&max-age=${MAX_AGE_SEC}`;

/** Starts the fleet and honest clients, and runs the scenarios while they are served. */
export async function runFleet(options: FleetRunOptions): Promise<FleetRun> {
  const { log, calmMs, holdMs, behindBlocks } = options;
  const folder = mkdtempSync(join(tmpdir(), "rnode-fleet-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  try {
    const fleet = await startFleet(scope, folder, options.light, log);
    for (const node of fleet.nodes) await untilReady(node, LIMITS);
    const figures: Figure[] = [];
    for (const count of options.figures) figures.push(await measure(fleet, count, folder));
    const balancer = await scope.use(
      "balancer",
      () =>
        Balancer.start({
          folder,
          nodes: fleet.nodes.map(({ port }) => port),
          maxLagBlocks: MAX_LAG_BLOCKS,
          maxAgeSec: MAX_AGE_SEC,
        }),
      (started) => started.close(),
    );
    const { info } = fleet.devnet;
    const clients = await scope.use(
      "clients",
      () =>
        new Clients({
          ...{ port: balancer.port, http: options.httpClients, ws: options.wsClients, intervalMs: options.intervalMs },
          ...{ chainId: info.l2ChainId, privateKey: hexToBytes(info.accounts[8]!.privateKey) },
          onFault: (fault) => log(`fault: ${fault}`),
        }),
      (started) => started.close(),
      { closeLimitMs: 30_000 },
    );
    const head = async (): Promise<number> => Number(await rpcCall<string>(info.endpoints.sequencer.http, "eth_blockNumber"));
    const stage: Stage = { fleet, balancer, limits: LIMITS, holdMs, behindBlocks, head };
    const scenarios: ScenarioRun[] = [];
    for (const scenario of chosen(options.only)) {
      const run = await runScenario(scenario, stage, clients, calmMs);
      scenarios.push(run);
      log(lineOf(run));
    }
    return { figures, scenarios, counts: clients.counts };
  } finally {
    await scope.close();
    if (process.env.RNODE_E2E_KEEP === undefined) rmSync(folder, { recursive: true, force: true });
    else log(`kept: ${folder}`);
  }
}

const chosen = (only: readonly string[]): readonly Scenario[] =>
  only.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => only.some((part) => name.includes(part)));

async function runScenario({ name, run }: Scenario, stage: Stage, clients: Clients, calmMs: number): Promise<ScenarioRun> {
  const earlier = clients.faults.length;
  const startMs = performance.now();
  await pause(calmMs);
  const fromMs = performance.now();
  await run(stage);
  const toMs = performance.now();
  await pause(calmMs);
  return {
    name,
    sec: (toMs - fromMs) / 1000,
    before: partOf(clients, startMs, fromMs),
    during: partOf(clients, fromMs, toMs),
    after: partOf(clients, toMs, performance.now()),
    faults: clients.faults.slice(earlier),
  };
}

function partOf(clients: Clients, fromMs: number, toMs: number): Part {
  const took = clients.between(fromMs, toMs).map(({ tookMs }) => tookMs);
  return { requests: took.length, p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99), maxMs: Math.max(...took) };
}

const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
const cellOf = ({ p50Ms, p99Ms, maxMs }: Part): string => `${ms(p50Ms)} / ${ms(p99Ms)} / ${ms(maxMs)}`;

const lineOf = ({ name, sec, during, faults }: ScenarioRun): string =>
  `${name}: ${sec.toFixed(0)} s, ${during.requests} requests, ${cellOf(during)} ms, ${faults.length} faults`;

export function reportOf({ scenarios, counts }: FleetRun): string {
  return [
    "| scenario | s | requests | before: p50 / p99 / max ms | during | after | faults |",
    "|---|---|---|---|---|---|---|",
    ...scenarios.map(({ name, sec, before, during, after, faults }) => {
      const cells = [name, sec.toFixed(0), during.requests, cellOf(before), cellOf(during), cellOf(after), faults.length];
      return `| ${cells.join(" | ")} |`;
    }),
    `${counts.transactions} transactions sent, ${counts.heads} heads told over WebSockets, ${counts.reconnects} reconnects`,
    ...scenarios.flatMap(({ name, faults }) => faults.map((fault) => `- ${name}: ${fault}`)),
  ].join("\n");
}
