import { randomBytes } from "node:crypto";
import { altDaClientOptions, createDaMetrics, DaClient } from "@rnode/alt-da";
import { createRpcClient, createRpcServer, type RpcClient, readSecretOf, type SecretOption, withModules } from "@rnode/jsonrpc";
import { createKzg } from "@rnode/kzg";
import type { L1AccountClient } from "@rnode/l1";
import { ActiveSequencer, RpcRollupNode, untilAnswered } from "@rnode/node-clients";
import type { Feed, LogFields, Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import { connectionBudget, type Health, namingPorts, type Readiness, type Scope } from "@rnode/program";
import { CHANNEL_ID_BYTES, daBytes, type RollupConfig } from "@rnode/protocol";
import { type OpenSigner, openSigner } from "@rnode/signer";
import { type BlobProver, connectL1, createTxMetrics, kzgBlobProver, TransactionManager } from "@rnode/tx-manager";
import { batcherMethods } from "./admin-rpc.ts";
import { BatchSubmitter } from "./batch-submitter.ts";
import { BatcherError } from "./batcher-error.ts";
import { createBatcherMetrics } from "./batcher-metrics.ts";
import { channelConfigs } from "./channels/channel-config.ts";
import { createChannelOut } from "./channels/create-channel-out.ts";
import { assertAltDa, DaTransactions } from "./da-transactions.ts";
import type { RbatcherOptions } from "./options.ts";
import { RpcBlockSource } from "./rollup/rollup-access.ts";
import { SequencerEndpoints } from "./rollup/sequencer-endpoints.ts";
import { Throttle } from "./throttle/throttle.ts";
import { createThrottleMetrics } from "./throttle/throttle-metrics.ts";
import { throttleOptionsOf } from "./throttle/throttle-options.ts";
import { VERSION } from "./version.ts";

export interface BatcherDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** for `GET /healthz` */
  readonly health: () => Health;
  /** for `GET /readyz` */
  readonly readiness?: Pick<Readiness, "healthWithin"> | undefined;
  /** the feed of the dashboard */
  readonly feed?: Pick<Feed, "put"> | undefined;
}

export interface Batcher {
  readonly rpcPort: number;
  /** Resolves once it is ready to publish. @throws {BatcherError} batcher/wrong-chain, batcher/bad-config: it never can be */
  readonly ready: Promise<void>;
  /** Progress of publishing and, if there is none, what the batcher waits for. */
  readonly status: () => LogFields;
}

/** No method has large parameters. */
const MAX_REQUEST_BYTES = 1024 * 1024;

export const L2_JWT_SECRET: SecretOption = {
  option: "--l2-jwt-secret",
  remedy: "give the file that the execution client was started with (--authrpc.jwtsecret)",
};

/** The time that the submitter needs when it stops, in addition to waiting for its transactions. */
const STOP_MARGIN_MS = 5_000;

/**
 * Wires everything. The server listens at once; endpoints that do not answer yet are waited for. @throws {UserError} the port is
 * taken, or a file has no secret
 */
export async function startBatcher(scope: Scope, options: RbatcherOptions, deps: BatcherDeps): Promise<Batcher> {
  const { log } = deps;
  const { rpc, batches } = options;
  const timeoutMs = options.transactions.networkTimeoutMs;
  const clientOf = (url: string): RpcClient => createRpcClient({ url, timeoutMs });
  const { l1EthRpc, l2EthRpc, l2JwtSecret, rollupRpc } = options.endpoints;
  const jwtSecret = l2JwtSecret === undefined ? undefined : readSecretOf(L2_JWT_SECRET, l2JwtSecret);
  const l2ClientOf = (url: string): RpcClient => createRpcClient({ url, timeoutMs, jwtSecret, clock: deps.clock });
  const signer = await scope.use(
    "signer",
    () => openSigner(options.account.privateKey, options.signer, { ...deps, timeoutMs }),
    (opened) => opened.close(),
  );
  const isThrottled = options.throttle.lowerThreshold > 0;
  const clients: Clients = {
    l1: l1EthRpc.map(clientOf),
    l2: l2EthRpc.map(l2ClientOf),
    rollup: rollupRpc.map(clientOf),
    builders: isThrottled ? options.throttle.additionalEndpoints.map(l2ClientOf) : [],
  };
  const kzg = options.batches.dataAvailabilityType === "calldata" ? undefined : createKzg();
  if (kzg !== undefined) {
    scope.onClose("proofs of blobs", () => kzg.close());
    kzg.load();
  }
  scope.onClose("endpoints", () =>
    Promise.all(
      Object.values(clients)
        .flat()
        .map((client) => client.close()),
    ),
  );
  let created: { readonly submitter: BatchSubmitter; readonly throttle: Throttle | undefined } | undefined;
  let waitingFor = "";
  let ready: Promise<void> | undefined;
  // Closed after the server, so that no request can start it again.
  const closeLimitMs = batches.stopTimeoutMs + STOP_MARGIN_MS;
  scope.onClose(
    "batch submitter",
    async () => {
      await ready?.catch(() => {}); // reported by `ready`
      await created?.submitter.stop();
    },
    { closeLimitMs },
  );
  const server = createRpcServer({
    http: rpc,
    limits: { maxRequestBytes: MAX_REQUEST_BYTES },
    maxOpenFiles: connectionBudget(),
    methods: withModules(
      batcherMethods(
        { submitter: () => created?.submitter, throttle: () => created?.throttle, log, version: VERSION },
        rpc.enableAdmin,
      ),
    ),
    log,
    metrics: deps.metrics,
    healthz: deps.health,
    readyz: deps.readiness && ((query) => deps.readiness!.healthWithin(query)),
  });
  const { httpPort } = await scope.use(
    "RPC server",
    () => namingPorts({ "rpc.port": rpc.port }, () => server.listen()),
    () => server.close(),
  );
  const blobProver = kzg === undefined ? undefined : kzgBlobProver(kzg);
  ready = createSubmitter(options, { ...deps, blobProver, signer }, clients, scope.signal, (what) => (waitingFor = what)).then(
    (made) => {
      created = made;
      if (made !== undefined && !batches.stopped) made.submitter.start();
    },
  );
  return { rpcPort: httpPort ?? rpc.port, ready, status: () => created?.submitter.status() ?? { waitingFor } };
}

interface Clients {
  readonly l1: readonly RpcClient[];
  /** as many execution clients as rollup nodes, in the same order */
  readonly l2: readonly RpcClient[];
  readonly rollup: readonly RpcClient[];
  /** further ones that are throttled */
  readonly builders: readonly RpcClient[];
}

/** @returns undefined if it was closed while it waited for an endpoint */
async function createSubmitter(
  options: RbatcherOptions,
  {
    clock,
    log,
    metrics,
    feed,
    blobProver,
    signer,
  }: BatcherDeps & { readonly blobProver: BlobProver | undefined; readonly signer: OpenSigner },
  clients: Clients,
  signal: AbortSignal,
  onWait: (what: string) => void,
): Promise<{ submitter: BatchSubmitter; throttle: Throttle | undefined } | undefined> {
  const nodes = clients.rollup.map((rpc) => new RpcRollupNode(rpc));
  const waiting = { clock, log, signal, onWait };
  const active = new ActiveSequencer({ checkIntervalMs: options.endpoints.activeSequencerCheckDurationMs }, nodes, {
    clock,
    onChange: (name) => log.info("following another sequencer", { node: name }),
  });
  const rollup = await untilAnswered(
    async () => nodes[await active.index()]!.rollupConfig(),
    { option: "--rollup-rpc", what: "rollup node", address: namesOf(clients.rollup) },
    waiting,
  );
  if (rollup === undefined) return undefined;
  assertAltDa(options, rollup);
  const channels = channelConfigs(options.batches, rollup, Math.floor(clock.unixMs() / 1000));
  const batcherMetrics = createBatcherMetrics(metrics);
  const { endpoints: l1Endpoints, account: l1 } = connectL1(rollup.l1ChainId, clients.l1, {
    clock,
    log: log.child({ part: "l1" }),
    metrics: batcherMetrics.l1,
  });
  const l1ChainIds = await untilAnswered(
    () => l1Endpoints.chainIds(),
    { option: "--l1-eth-rpc", what: "L1 execution client", address: namesOf(clients.l1) },
    waiting,
  );
  const sequencers = clients.l2.map((rpc, i) => ({ node: nodes[i]!, blocks: new RpcBlockSource(rpc, rollup) }));
  const sequencer = new SequencerEndpoints(active, sequencers);
  const l2 = await untilAnswered(
    async () => {
      const genesis = await sequencer.hashOf(rollup.genesis.l2.number);
      return {
        chainId: await sequencer.chainId(),
        genesis,
        head: genesis === undefined ? await sequencer.headNumber() : undefined,
      };
    },
    { option: "--l2-eth-rpc", what: "L2 execution client", address: namesOf(clients.l2) },
    waiting,
  );
  if (l1ChainIds === undefined || l2 === undefined) return undefined;
  const isGenesisPruned = l2.head !== undefined && l2.head > rollup.genesis.l2.number;
  assertChains(rollup, { l1: l1ChainIds, l2ChainId: l2.chainId, l2Genesis: isGenesisPruned ? rollup.genesis.l2.hash : l2.genesis });
  if (isGenesisPruned) {
    const text = "the L2 client no longer has the block that the rollup starts from, whose hash is therefore not checked";
    log.warn(text, { block: rollup.genesis.l2.number, expected: rollup.genesis.l2.hash });
  }
  const transactions = new TransactionManager(options.transactions, {
    l1ChainId: rollup.l1ChainId,
    l1,
    signer,
    prover: blobProver,
    clock,
    log,
    metrics: createTxMetrics(metrics),
    feed,
  });
  const address = bytesToHex(transactions.address);
  const configured = rollup.genesis.systemConfig.batcherAddress;
  if (!equalBytes(transactions.address, configured)) {
    log.warn("the key is not that of the rollup's first batcher: its batches count only if the SystemConfig names it by now", {
      address,
      genesisBatcher: bytesToHex(configured),
    });
  }
  log.info("rbatcher is ready", {
    version: VERSION,
    l1ChainId: rollup.l1ChainId,
    l2ChainId: rollup.l2ChainId,
    address,
    inbox: bytesToHex(rollup.batchInboxAddress),
    dataAvailability: options.batches.dataAvailabilityType,
    batchType: options.batches.batchType === 1 ? "span" : "singular",
    compression: options.batches.compressionAlgo,
  });
  const sender = throughDaServer(options, transactions, { clock, log, metrics, signal });
  let submitter: BatchSubmitter | undefined;
  const throttle =
    options.throttle.lowerThreshold === 0
      ? undefined
      : new Throttle(throttleOptionsOf(options.throttle), {
          endpoints: [...clients.l2, ...clients.builders].map((rpc) => ({
            name: rpc.endpoint,
            call: (method, params) => rpc.call(method, params),
          })),
          load: () => submitter?.unsafeDaBytes ?? daBytes(0),
          clock,
          log,
          metrics: createThrottleMetrics(metrics),
        });
  submitter = new BatchSubmitter(
    { ...options.batches, spendLimits: options.spend },
    {
      channels,
      batchInboxAddress: rollup.batchInboxAddress,
      batcherOnL1: () => readBatcher(l1, rollup),
      stuckAfterMs: 2 * options.transactions.resubmissionTimeoutMs,
      blobProver,
      minTipWei: options.transactions.minTipWei,
      l1,
      node: sequencer,
      blocks: sequencer,
      transactions: sender,
      commitmentBytes: sender instanceof DaTransactions ? () => sender.commitmentBytes : undefined,
      createChannelOut: (config) => createChannelOut(config, new Uint8Array(randomBytes(CHANNEL_ID_BYTES))),
      throttle,
      clock,
      log,
      metrics: batcherMetrics,
    },
  );
  return { submitter, throttle };
}

const namesOf = (clients: readonly RpcClient[]): string => clients.map(({ endpoint }) => endpoint).join(",");

/** `batcherHash()` of the SystemConfig */
const BATCHER_HASH = hexToBytes("0xe81b2c6d");

/** The batcher address in the SystemConfig on L1; undefined: there is no such contract. */
async function readBatcher(l1: Pick<L1AccountClient, "read">, rollup: RollupConfig): Promise<Uint8Array | undefined> {
  const word = await l1.read(rollup.l1SystemConfigAddress, BATCHER_HASH);
  return word.length === 32 && word.subarray(0, 12).every((byte) => byte === 0) ? word.subarray(12) : undefined;
}

/** Where batches are kept on a DA server, their data goes there, and commitments to L1. */
function throughDaServer(
  options: RbatcherOptions,
  transactions: TransactionManager,
  {
    clock,
    log,
    metrics,
    signal,
  }: { readonly clock: Clock; readonly log: Logger; readonly metrics: MetricFactory; readonly signal: AbortSignal },
): Pick<TransactionManager, "address" | "send"> {
  const client = altDaClientOptions(options.altda);
  if (client === undefined) return transactions;
  const store = new DaClient(client, createDaMetrics(metrics));
  signal.addEventListener("abort", () => store.close());
  return new DaTransactions({ transactions, store, clock, log });
}

function assertChains(
  rollup: RollupConfig,
  found: {
    /** undefined: the endpoint does not answer now; its chain ID is checked before the endpoint is used */
    readonly l1: readonly { readonly chainId: bigint | undefined }[];
    readonly l2ChainId: bigint;
    readonly l2Genesis: string | undefined;
  },
): void {
  const refuse = (option: string, what: string, got: string | bigint, expected: string | bigint): never => {
    throw new BatcherError("batcher/wrong-chain", { option, what, got, expected });
  };
  for (const { chainId = rollup.l1ChainId } of found.l1) {
    if (chainId !== rollup.l1ChainId) refuse("--l1-eth-rpc", "L1 chain id", chainId, rollup.l1ChainId);
  }
  if (found.l2ChainId !== rollup.l2ChainId) refuse("--l2-eth-rpc", "L2 chain id", found.l2ChainId, rollup.l2ChainId);
  const { hash } = rollup.genesis.l2;
  if (found.l2Genesis !== hash) refuse("--l2-eth-rpc", "L2 genesis block", found.l2Genesis ?? "none", hash);
}
