import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type Devnet, rpcCall, type SyncStatus } from "@rnode/devnet";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import type { MeasuredProgram } from "../bounds.ts";
import { HeadWatch } from "./head-watch.ts";
import { HonestClient, type Sample } from "./honest-client.ts";
import { type Death, ProcessWatch } from "./process-watch.ts";
import { percentile } from "./statistics.ts";

interface Latency {
  readonly requests: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Observations of a period. */
export interface Observation {
  readonly seconds: number;
  /** cheap requests to the execution client that is attacked */
  readonly honest: Latency;
  /** requests for the sync status to its rollup node, and to the verifier's, which peers attack */
  readonly node: Latency;
  /** unsafe blocks that the sequencer made */
  readonly blocks: number;
  readonly longestBlockGapSec: number;
  readonly safeBlocks: number;
  readonly longestSafeStallSec: number;
  readonly peakMib: Readonly<Record<MeasuredProgram, number>>;
  readonly deaths: readonly Death[];
}

const HEAD_INTERVAL_MS = 50;
const SAFE_INTERVAL_MS = 250;
const HONEST_INTERVAL_MS = 20;
const NODE_INTERVAL_MS = 100;
const HEAD_TIMEOUT_MS = 2_000;

/** Measures the devnet all the time; `between` looks at a part of it. */
export class Monitor {
  readonly #devnet: Devnet;
  readonly #honest: HonestClient;
  readonly #nodes: readonly HonestClient[];
  readonly #unsafe: HeadWatch;
  readonly #safe: HeadWatch;
  readonly #processes: ProcessWatch;
  readonly #engine: RpcClient;
  readonly #lag = monitorEventLoopDelay({ resolution: 5 });

  constructor(devnet: Devnet) {
    const { endpoints, accounts, paths } = devnet.info;
    this.#devnet = devnet;
    const address = accounts[9]!.address;
    this.#honest = new HonestClient({
      port: portOf(endpoints.sequencer.http),
      intervalMs: HONEST_INTERVAL_MS,
      questions: [
        { method: "eth_blockNumber", params: [] },
        { method: "eth_getBalance", params: [address, "latest"] },
        { method: "eth_chainId", params: [] },
        { method: "eth_getTransactionCount", params: [address, "latest"] },
        { method: "eth_getBlockByNumber", params: ["latest", false] },
      ],
    });
    this.#nodes = [endpoints.sequencer, endpoints.verifier].map(
      ({ node }) =>
        new HonestClient({
          port: portOf(node),
          intervalMs: NODE_INTERVAL_MS,
          questions: [{ method: "rnode_syncStatus", params: [] }],
        }),
    );
    // Uses the authenticated port, which the main process answers, so blocks are visible while readers are busy.
    const secret = readFileSync(paths.sequencerJwt, "utf8").trim().replace(/^0x/, "");
    this.#engine = createRpcClient({
      url: endpoints.sequencer.auth,
      jwtSecret: Buffer.from(secret, "hex"),
      timeoutMs: HEAD_TIMEOUT_MS,
    });
    this.#unsafe = new HeadWatch({
      intervalMs: HEAD_INTERVAL_MS,
      read: async () => Number(await this.#engine.call<string>("eth_blockNumber")),
    });
    this.#safe = new HeadWatch({ intervalMs: SAFE_INTERVAL_MS, read: async () => (await this.verifierStatus()).safe_l2.number });
    this.#processes = new ProcessWatch(devnet);
    this.#lag.enable();
  }

  get processes(): ProcessWatch {
    return this.#processes;
  }

  /** How late timers of this process were (99th percentile): the part of the measured times that is the measurement's own. */
  get ownLagP99Ms(): number {
    return this.#lag.percentile(99) / 1e6;
  }

  get unsafeHead(): number {
    return this.#unsafe.last?.number ?? 0;
  }

  get safeHead(): number {
    return this.#safe.last?.number ?? 0;
  }

  verifierStatus(): Promise<SyncStatus> {
    return rpcCall<SyncStatus>(this.#devnet.info.endpoints.verifier.node, "rnode_syncStatus", [], HEAD_TIMEOUT_MS);
  }

  between(fromMs: number, toMs: number): Observation {
    return {
      seconds: (toMs - fromMs) / 1000,
      honest: latencyOf(this.#honest.between(fromMs, toMs)),
      node: latencyOf(this.#nodes.flatMap((client) => client.between(fromMs, toMs))),
      blocks: this.#unsafe.progress(fromMs, toMs),
      longestBlockGapSec: this.#unsafe.longestStandstillMs(fromMs, toMs) / 1000,
      safeBlocks: this.#safe.progress(fromMs, toMs),
      longestSafeStallSec: this.#safe.longestStandstillMs(fromMs, toMs) / 1000,
      peakMib: this.#processes.peakMib(fromMs, toMs),
      deaths: this.#processes.deathsBetween(fromMs, toMs),
    };
  }

  async close(): Promise<void> {
    for (const part of [this.#honest, ...this.#nodes, this.#unsafe, this.#safe, this.#processes]) part.close();
    this.#lag.disable();
    await this.#engine.close();
  }
}

export const portOf = (url: string): number => Number(new URL(url).port);

function latencyOf(samples: readonly Sample[]): Latency {
  const failures = samples.flatMap(({ failure }) => failure ?? []);
  const times = samples.map(({ tookMs }) => tookMs);
  return {
    requests: samples.length,
    failed: failures.length,
    failures: [...new Set(failures)].slice(0, 5),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  };
}
