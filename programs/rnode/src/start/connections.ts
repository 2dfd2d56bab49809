import { altDaClientOptions, DaClient, type DaMetrics } from "@rnode/alt-da";
import type { BlobProvider, DaInputs } from "@rnode/derivation";
import { createRpcClient, type RpcClient, type RpcClientMetrics } from "@rnode/jsonrpc";
import { type BeaconMetrics, type BlobReadAhead, L1Client, L1Endpoints, type L1Metrics } from "@rnode/l1";
import { EngineClient, L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { EngineSecret } from "../engine/engine-secret.ts";
import { checkSource } from "../follow/check-source.ts";
import { connectSource, type SourceConnection } from "../follow/connect-source.ts";
import type { FollowSource } from "../follow/follow-source.ts";
import { Contact } from "../operate/contact.ts";
import type { RnodeOptions } from "../options.ts";
import { type Beacon, connectBeacon, NO_BEACON } from "./beacon.ts";
import { preflight } from "./preflight.ts";
import { forksFrom } from "./rollup-setup.ts";

export interface ConnectionsDeps {
  readonly config: RollupConfig;
  readonly engineSecret: EngineSecret;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: L1Metrics;
  /** counts and times requests; undefined: no metrics */
  readonly rpcMetrics?: RpcClientMetrics | undefined;
  /** whether the engine's head will be taken back, and need not fit the forks as it is; default: false */
  readonly takesHeadBack?: boolean | undefined;
  /** undefined: blobs are not needed */
  readonly beaconMetrics?: BeaconMetrics | undefined;
  readonly daMetrics?: DaMetrics | undefined;
  /** L1 as all chains of a set read it; default: connections of its own */
  readonly shared?: L1Connections | undefined;
}

type ConnectionsOptions = Pick<RnodeOptions, "l1" | "l2" | "rollup" | "override" | "sequencer" | "altda">;

/** Everything outside the node that it talks to. No request is sent before `check`. */
export interface NodeConnections {
  readonly l1: L1Client;
  readonly blobs: BlobProvider & Partial<BlobReadAhead>;
  /** undefined: all data is on L1 */
  readonly daInputs?: DaInputs | undefined;
  readonly engine: EngineClient;
  readonly l2: L2Blocks;
  /** the node that safe blocks are taken from; `undefined`: they are derived */
  readonly source?: FollowSource | undefined;
  /** whether they answer; undefined: not monitored */
  readonly contacts?: { readonly l1: Contact; readonly engine: Contact } | undefined;
  /** Waits until L1, the beacon node and the engine answer, and checks that they belong to this rollup. @throws {StartError} */
  check(signal: AbortSignal): Promise<void>;
  /** Ends all requests in progress. */
  close(): Promise<void>;
}

export interface L1Connection {
  readonly l1: L1Client;
  /** whether any of the endpoints answers */
  readonly contact: Contact;
  readonly rpcs: readonly RpcClient[];
  /** Ends all requests in progress. */
  close(): Promise<void>;
}

/** L1 and its beacon node. */
export interface L1Connections {
  readonly l1: L1Connection;
  readonly beacon: Beacon;
}

/** Undefined: all data is on L1. */
export function daClientOf(options: RnodeOptions["altda"], metrics?: DaMetrics): DaClient | undefined {
  const client = altDaClientOptions(options);
  return client && new DaClient(client, metrics);
}

/** The L1 endpoints that the options name. */
export function connectL1(
  l1: RnodeOptions["l1"],
  { config, clock, log, metrics, rpcMetrics }: Pick<ConnectionsDeps, "config" | "clock" | "log" | "metrics" | "rpcMetrics">,
): L1Connection {
  const contact = new Contact("L1", { clock, log });
  const rpcs = l1.urls.map((url) => {
    const client = createRpcClient({ ...l1, url });
    return contact.watch(rpcMetrics?.counting(client, "l1") ?? client);
  });
  const l1Log = log.child({ part: "l1" });
  const endpoints = new L1Endpoints(
    { chainId: config.l1ChainId },
    { endpoints: rpcs.map((rpc) => ({ name: rpc.endpoint, rpc })), clock, log: l1Log, metrics },
  );
  const cacheSize = l1.cacheSize || Math.ceil((config.seqWindowSize * 3) / 2);
  const close = async (): Promise<void> => void (await Promise.all(rpcs.map((rpc) => rpc.close())));
  return { l1: new L1Client({ ...l1, cacheSize }, { endpoints, clock, metrics, log: l1Log }), contact, rpcs, close };
}

/** The L1 endpoints and the engine that the options name. */
export class Connections implements NodeConnections {
  readonly l1: L1Client;
  readonly engine: EngineClient;
  readonly l2: L2Blocks;
  readonly contacts: NonNullable<NodeConnections["contacts"]>;
  readonly daInputs: DaClient | undefined;
  private readonly sourceConnection: SourceConnection | undefined;
  private readonly beacon: Beacon;
  private readonly l1Rpcs: readonly RpcClient[];
  private readonly engineRpc: RpcClient;
  private readonly options: ConnectionsOptions;
  private readonly deps: ConnectionsDeps;

  constructor(options: ConnectionsOptions, deps: ConnectionsDeps) {
    this.options = options;
    this.deps = deps;
    const { l1, l2 } = options;
    const { config, engineSecret, clock, log, metrics, beaconMetrics, rpcMetrics, shared } = deps;
    const { followSource, followSourceTimeoutMs } = l2;
    if (followSource !== undefined) {
      const source = { url: followSource, timeoutMs: followSourceTimeoutMs };
      this.sourceConnection = connectSource(source, (rpc) => rpcMetrics?.counting(rpc, "follow-source") ?? rpc);
    }
    // a node that does not derive reads no blobs
    const needsBlobs = beaconMetrics !== undefined && followSource === undefined;
    const ownBeacon = (): Beacon => (needsBlobs ? connectBeacon(l1, { config, clock, log, metrics: beaconMetrics }) : NO_BEACON);
    this.beacon = shared?.beacon ?? ownBeacon();
    const connection = shared?.l1 ?? connectL1(l1, { config, clock, log, metrics, rpcMetrics });
    this.l1 = connection.l1;
    this.l1Rpcs = connection.rpcs;
    const engineContact = new Contact("execution client", { clock, log });
    const engineRpc = createRpcClient({ ...l2, jwtSecret: engineSecret.secret, clock });
    this.engineRpc = engineContact.watch(rpcMetrics?.counting(engineRpc, "l2") ?? engineRpc);
    this.contacts = { l1: connection.contact, engine: engineContact };
    this.engine = new EngineClient(this.engineRpc, config.forkTimes, l2);
    this.l2 = new L2Blocks(this.engineRpc, config);
    this.daInputs = daClientOf(options.altda, deps.daMetrics);
  }

  get source(): FollowSource | undefined {
    return this.sourceConnection?.source;
  }

  get blobs(): NodeConnections["blobs"] {
    return this.beacon.blobs;
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
      checksL2Genesis: options.rollup.syncmode !== "execution-layer",
      checksHead: !takesHeadBack,
      signal,
    });
    await this.beacon.check(signal);
    if (this.source !== undefined && !takesHeadBack) await checkSource(this.source, { config, clock, log });
  }

  async close(): Promise<void> {
    this.daInputs?.close();
    const ownL1 = this.deps.shared === undefined ? [...this.l1Rpcs, this.beacon] : [];
    await Promise.all([this.engineRpc, this.sourceConnection, ...ownL1].map(async (connection) => connection?.close()));
  }
}
