import type { BlobProvider } from "@rnode/derivation";
import { EngineClient, L2Blocks } from "@rnode/engine-client";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { L1Client, type L1EndpointMetrics, L1Endpoints, L1Error } from "@rnode/l1";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { EngineSecret } from "./engine-secret.ts";
import type { RnodeOptions } from "./options.ts";
import { preflight } from "./preflight.ts";
import { forksFrom } from "./rollup-setup.ts";

export interface ConnectionsDeps {
  readonly config: RollupConfig;
  readonly engineSecret: EngineSecret;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: L1EndpointMetrics;
  /** whether the engine's head will be taken back, and need not fit the forks as it is; default: false */
  readonly takesHeadBack?: boolean | undefined;
}

type ConnectionsOptions = Pick<RnodeOptions, "l1" | "l2" | "rollup" | "override" | "sequencer">;

/** The transactions and receipts of one L1 block take some megabytes. */
const MAX_L1_CACHE_SIZE = 1_000;

/** Everything outside the node that it talks to. No request is sent before `check`. */
export interface NodeConnections {
  readonly l1: L1Client;
  readonly blobs: BlobProvider;
  readonly engine: EngineClient;
  readonly l2: L2Blocks;
  /** Waits until L1 and the engine both answer, and checks that they belong to this rollup. @throws {StartError} */
  check(signal: AbortSignal): Promise<void>;
  /** Ends all requests in progress. */
  close(): Promise<void>;
}

/** This build cannot read blobs: an L1 block with a blob transaction of the batcher stops derivation, and the log says so. */
const NO_BLOBS: BlobProvider = {
  blobs: (block) =>
    Promise.reject(new L1Error("l1/blobs-unavailable", { l1Block: block.number, reason: "this build cannot read blobs" })),
};

/** The L1 endpoints and the engine that the options name. */
export class Connections implements NodeConnections {
  readonly l1: L1Client;
  readonly blobs = NO_BLOBS;
  readonly engine: EngineClient;
  readonly l2: L2Blocks;
  private readonly l1Rpcs: readonly RpcClient[];
  private readonly engineRpc: RpcClient;
  private readonly options: ConnectionsOptions;
  private readonly deps: ConnectionsDeps;

  constructor(options: ConnectionsOptions, deps: ConnectionsDeps) {
    this.options = options;
    this.deps = deps;
    const { l1, l2 } = options;
    const { config, engineSecret, clock, log, metrics } = deps;
    this.l1Rpcs = l1.urls.map((url) => createRpcClient({ ...l1, url }));
    const endpoints = new L1Endpoints(
      { chainId: config.l1ChainId },
      { endpoints: this.l1Rpcs.map((rpc) => ({ name: rpc.endpoint, rpc })), clock, log: log.child({ part: "l1" }), metrics },
    );
    this.l1 = new L1Client(
      {
        ...l1,
        cacheSize: Math.min(l1.cacheSize || Math.ceil((config.seqWindowSize * 3) / 2), MAX_L1_CACHE_SIZE),
      },
      { endpoints, clock },
    );
    this.engineRpc = createRpcClient({ ...l2, jwtSecret: engineSecret.secret });
    this.engine = new EngineClient(this.engineRpc, config.forkTimes);
    this.l2 = new L2Blocks(this.engineRpc, config);
  }

  async check(signal: AbortSignal): Promise<void> {
    const { config, clock, log, engineSecret, takesHeadBack = false } = this.deps;
    const { l1, l2, engine, options } = this;
    await preflight({
      config,
      l1,
      l2,
      engine,
      clock,
      log,
      l1Name: this.l1Rpcs.map(({ endpoint }) => endpoint).join(","),
      l2Name: this.engineRpc.endpoint,
      jwtPath: engineSecret.path,
      forksFrom: forksFrom(options),
      isSequencer: options.sequencer.enabled,
      checksHead: !takesHeadBack,
      signal,
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.engineRpc, ...this.l1Rpcs].map((rpc) => rpc.close()));
  }
}
