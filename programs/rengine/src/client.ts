import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import {
  type Chain,
  CREATE2_DEPLOYER,
  createSenderCache,
  type Delay,
  type HeadChange,
  HistoryPruning,
  needsCreate2Deployer,
  openChain,
  slowCurvesReason,
} from "@rnode/chain";
import {
  type ApiMethods,
  ethSubscriptions,
  methodsInWriter,
  methodsOf,
  stoppedExecution,
  unservedNamespaces,
  WitnessService,
  withDescription,
} from "@rnode/eth-api";
import { createRpcServer, INTERNAL_ERROR, namingSecretOption, type RpcServer, readOrCreateJwtSecret } from "@rnode/jsonrpc";
import { createKzg, type Kzg, verifySidecar } from "@rnode/kzg";
import { defaultDataFolder, JWT_FILE, registryRetriesIn, UPGRADES_FOLDER, UpgradeFiles } from "@rnode/networks";
import { type Feed, type LogFields, type Logger, type MetricFactory, noFeed } from "@rnode/observe";
import { bytesToHex, type Clock, hexToBytes } from "@rnode/primitives";
import {
  connectionBudget,
  type KnownHead,
  namingPorts,
  type ProgramMetrics,
  type Readiness,
  type Scope,
  UserError,
} from "@rnode/program";
import {
  type BlobSidecar,
  compareProtocolVersions,
  formatProtocolVersion,
  LOCAL_PROTOCOL_VERSION,
  type SignalledVersions,
} from "@rnode/protocol";
import { type ChainDatabase, describePageReading } from "@rnode/storage";
import { cacheSizesOf } from "./cache-sizes.ts";
import { feedClient } from "./client-feed.ts";
import { ClientStatus } from "./client-status.ts";
import { JWT_SECRET } from "./config-checks.ts";
import { engineMethods } from "./engine/engine-methods.ts";
import { observeHeads } from "./head-metrics.ts";
import { startOlderBlocks } from "./history/older-blocks.ts";
import { LateNetwork } from "./network/late-network.ts";
import { startNetwork, unjoinedNode } from "./network/start-network.ts";
import type { ClientOptions } from "./options.ts";
import { watchFailsafe } from "./pool/failsafe-watch.ts";
import { JournalKeeper } from "./pool/journal-keeper.ts";
import { messageChecksOf } from "./pool/message-checks-setup.ts";
import { PoolJournal } from "./pool/pool-journal.ts";
import { PoolService } from "./pool/pool-service.ts";
import { createSequencerForwarder } from "./pool/sequencer-forwarder.ts";
import { type Readers, readerCount, startReaders } from "./readers/start-readers.ts";
import { requireFreePorts } from "./rpc/free-ports.ts";
import { createPublicServer } from "./rpc/public-server.ts";
import { createReadServices, profileOf } from "./rpc/read-services.ts";
import { writerAccessOf, writeServicesOf } from "./rpc/writer-services.ts";
import { INTERRUPTED_GENESIS, loadChainSpec, logChainSpec, prepareGenesis } from "./setup/chain-spec.ts";
import { openDatabase } from "./setup/database.ts";
import { describeError } from "./setup/describe-error.ts";
import { fetchReportsIn } from "./setup/fetch-reports.ts";
import { historyBlocksOf } from "./setup/history-option.ts";
import { startFromSnapshot } from "./setup/start-from-snapshot.ts";
import { startSubblocks } from "./subblocks/start-subblocks.ts";
import { hasSubblocks, pendingBlocksOf } from "./subblocks/subblock-options.ts";
import { startSync } from "./sync/start-sync.ts";
import { removeStateSync, StateSync } from "./sync/state-sync.ts";
import { VERSION } from "./version.ts";

const MIB = 1024 * 1024;
/** Requests from the rollup node contain whole blocks. */
const ENGINE_MAX_REQUEST_BYTES = 128 * MIB;
/** The rollup node is trusted, and a large block has hundreds of thousands of transactions. */
const ENGINE_MAX_VALUES = 1_000_000;

/** A running client. */
export interface RunningClient {
  readonly httpPort: number | undefined;
  readonly wsPort: number | undefined;
  /** undefined: no stream of subblocks is served */
  readonly subblocksPort: number | undefined;
  readonly enginePort: number;
  readonly jwtSecretPath: string;
  /** pids of the reader processes that are currently serving */
  readerPids(): number[];
  /** Where the chain is, what waits in the pool, and whether a rollup node is heard from. */
  readonly status: () => LogFields;
  /** rejects with the reason when the client cannot continue */
  readonly failure: Promise<never>;
}

export interface ClientDependencies {
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: ProgramMetrics;
  /** the feed of the dashboard; default: none */
  readonly feed?: Feed | undefined;
  /** Starts the program again; default: that is not possible, and no state is fetched from peers. */
  readonly restart?: ((reason: string) => void) | undefined;
  /** for `GET /readyz` */
  readonly readiness?: Readiness | undefined;
}

/** The options with the folders that are in effect where none are named. */
function withFolders(options: ClientOptions, chainId: bigint): ClientOptions {
  const datadir = options.chain.datadir || defaultDataFolder(chainId);
  const upgradesDir = options.chain.upgradesDir ?? join(datadir, UPGRADES_FOLDER);
  return { ...options, chain: { ...options.chain, datadir, upgradesDir } };
}

/** Fetches the code that Canyon's first block needs, while that block is ahead. */
function fetchUpgrades(
  scope: Scope,
  { upgradesDir, registry, offline }: ClientOptions["chain"],
  { log, clock }: Pick<ClientDependencies, "log" | "clock">,
): void {
  const files = new UpgradeFiles({ folder: upgradesDir!, registry, offline, log, clock });
  scope.onClose("upgrade files", () => files.close());
  files.want([CREATE2_DEPLOYER]);
}

/**
 * Builds and starts the client. All parts are created here, once, in the order of their dependencies. The client stops when the scope
 * closes.
 *
 * @throws {UserError} something that the operator must change; CodedError from the parts; errors from listening
 */
export async function startClient(
  scope: Scope,
  given: ClientOptions,
  { log, clock, metrics, feed = noFeed, readiness, restart }: ClientDependencies,
): Promise<RunningClient> {
  const { http, ws, authrpc, rollup, sending, limits, txpool } = given;
  const profile = profileOf(given);

  const wanted = [
    ...(http.enabled ? [{ option: "http.port", ...http }] : []),
    ...(ws.enabled ? [{ option: "ws.port", ...ws }] : []),
    ...(hasSubblocks(given.subblocks) ? [{ option: "subblocks.port", ...given.subblocks }] : []),
    { option: "authrpc.port", ...authrpc },
  ];
  await requireFreePorts(wanted, clock); // before anything is opened, and before peers see a node that ends at once
  const spec = await loadChainSpec({ ...given.chain, datadir: given.chain.datadir || undefined }, registryRetriesIn(log));
  logChainSpec(spec, { log, clock });
  const options = withFolders(given, spec.config.chainId);
  const chainOptions = options.chain;
  const database = { proofWindowBlocks: options.proofs.window, ...options.state };
  await startFromSnapshot(options.snapshot, { datadir: chainOptions.datadir, spec, database, log, clock, signal: scope.signal });
  let isStoreOwned = true; // until the chain takes it over, and closes it
  const store = await scope.use(
    "database",
    () => openDatabase(chainOptions.datadir, { ...database, sync: "behind" }),
    (database) => (isStoreOwned ? database.close() : undefined),
  );
  if (slowCurvesReason !== undefined) log.info("elliptic curves are computed in WebAssembly", { reason: slowCurvesReason });
  log.info("database opened", { datadir: chainOptions.datadir, reading: describePageReading(store.pageReading) });
  if (store.droppedLastCommit)
    log.warn("the machine had stopped before the last block was on the disk: the chain goes on from the block before");
  if ((await prepareGenesis(store, spec, { ...chainOptions, ...fetchReportsIn(log, () => clock.monotonicMs()) })) === "again")
    log.warn(INTERRUPTED_GENESIS);

  const caches = cacheSizesOf(options.memory.cache);
  const senders = createSenderCache({ workers: Math.max(1, availableParallelism() - 1) });
  scope.onClose("sender recovery", () => senders.close());
  const chain = openChain(
    { store, config: spec.config, senders, metrics, nowMs: () => clock.monotonicMs() },
    {
      upgradesDir: chainOptions.upgradesDir,
      maxExecutionMs: options.engine.maxExecutionMs,
      codeCacheBytes: caches.chainCode,
      tree: { maxStoredBytes: caches.executedBlocks },
    },
  );
  isStoreOwned = false;
  scope.onClose("chain", () => chain.close());
  const head = chain.head();
  const headTimeSec = store.readHeader(hexToBytes(head.hash))!.timestamp;
  const isPublic = (spec.network ?? given.chain.registry) !== undefined;
  if (isPublic && given.chain.upgradesDir === undefined && needsCreate2Deployer(spec.config, headTimeSec))
    fetchUpgrades(scope, chainOptions, { log, clock });
  log.info("chain opened", { chainId: spec.config.chainId, genesis: chain.genesis.hash, head: head.number, hash: head.hash });

  const keepBlocks = historyBlocksOf(options.history);
  if (keepBlocks !== undefined) scope.onClose("history pruning", startPruning(keepBlocks, store, chain, log, metrics));

  scope.onClose(
    "older blocks",
    startOlderBlocks({ store, genesis: chain.genesis, config: spec.config, senders, datadir: chainOptions.datadir, log, clock }),
  );

  const forwarder =
    rollup.sequencerHttp === undefined ? undefined : createSequencerForwarder(rollup.sequencerHttp, spec.config.chainId, log);
  if (forwarder !== undefined) {
    scope.onClose("sequencer forwarder", () => forwarder.close());
    void forwarder.probe();
  }
  const messages = messageChecksOf(rollup, spec.config, { profile, clock, log, metrics });
  scope.onClose("message checks", () => messages?.close());
  const journal = txpool.journal === "" ? undefined : new PoolJournal(resolve(chainOptions.datadir, txpool.journal), log);
  let kzg: Kzg | undefined; // with the first blob, which most chains never see
  scope.onClose("blob proofs", () => kzg?.close());
  const verify = async (sidecar: BlobSidecar): Promise<boolean> => verifySidecar((kzg ??= createKzg()), sidecar);
  const blobs = spec.config.optimism === undefined ? { verify } : undefined;
  const nowSec = () => Math.floor(clock.unixMs() / 1000);
  const pool = new PoolService(
    { ...txpool, ...sending },
    { chain, profile, senders, forwarder, messages, log, metrics, journal, blobs, nowSec },
  );
  scope.onClose("transaction pool", () => pool.close());
  if (messages?.hasFilters === true) {
    const ask = (signal: AbortSignal): Promise<boolean | undefined> => messages.askFailsafe(signal);
    scope.onClose(
      "failsafe watch",
      watchFailsafe(ask, (isOn) => pool.setFailsafe(isOn), { clock, log }),
    );
  }
  const keeper = journal === undefined ? undefined : new JournalKeeper(journal, pool, log, Math.max(1000, txpool.rejournalMs));
  scope.onClose("transaction journal", () => keeper?.close());

  const network = options.network.maxPeers === 0 ? undefined : new LateNetwork();
  if (head.hash !== bytesToHex(chain.genesis.hash)) removeStateSync(chainOptions.datadir);
  const stateSync =
    network &&
    restart &&
    new StateSync(options.network.stateMinBlocks, {
      chain,
      spec,
      peers: network,
      datadir: chainOptions.datadir,
      store: options.state,
      clock,
      log,
      metrics,
      onReady: () => restart("the state of peers is complete"),
    });
  scope.onClose("state sync", () => stateSync?.close());
  const { heads, sync } = startSync(scope, {
    chain,
    peers: network,
    stateSync,
    datadir: chainOptions.datadir,
    clock,
    log,
    metrics,
  });

  const pending = pendingBlocksOf(options.subblocks);
  const clientId = profile.clientVersion(VERSION);
  const sdm = { isOptedIn: rollup.operatorSdmOptIn, nowSec };
  const write = writeServicesOf(chain, pool, sdm, network ?? (() => unjoinedNode(options, { chain, clientId, clock, log })));
  const services = createReadServices(options, {
    store,
    chainView: chain,
    writer: writerAccessOf(chain, pool),
    clock,
    metrics,
    startingBlock: head.number,
    sync,
    pending,
  });
  const { filters } = services;
  scope.onClose(
    "filters",
    chain.onHeadChange((change) => filters.onHeadChange(change)),
  );
  filters.followPending(pool);
  metrics.gaugeOf("memory_senders_bytes", "Approximate size of the senders that are remembered.", () => senders.rememberedBytes);
  metrics.gaugeOf("memory_pool_bytes", "Approximate size of the transactions in the pool.", () => pool.pool.roughBytes);
  const countHead = observeHeads(metrics, chain);
  scope.onClose(
    "head log",
    chain.onHeadChange((change) => {
      // Groups of blocks would fill the log, and reading them back takes time.
      if (heads.status === undefined) logHead(log, change);
      countHead(change);
    }),
  );

  const listen = (name: string, server: RpcServer, wanted: Readonly<Record<string, number>>): ReturnType<RpcServer["listen"]> =>
    scope.use(
      name,
      () => namingPorts(wanted, () => server.listen()),
      () => server.close(),
    );
  const readyz = readiness && ((query: URLSearchParams) => readiness.healthWithin(query));
  let publicPorts: { readonly httpPort: number | undefined; readonly wsPort: number | undefined };
  const wantedPorts = { "http.port": http.port, "ws.port": ws.port };
  const count = readerCount(options);
  let onFatal: (reason: string) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    onFatal = (reason) => reject(new UserError(reason));
  });
  failure.catch(() => {}); // reported where `failure` is awaited
  let readers: Readers | undefined;
  if (count === 0) {
    const bind = (methods: ApiMethods) => methodsInWriter(methods, write, options.calls.maxGasPerRequest);
    publicPorts = await listen(
      "public RPC server",
      createPublicServer(options, {
        services,
        pending: pool,
        bind,
        log,
        metrics,
        maxOpenFiles: halfOf(connectionBudget()),
        head: { number: () => chain.head().number, onChange: (listener) => chain.onHeadChange(() => listener()) },
        readyz,
      }),
      wantedPorts,
    );
  } else {
    const start = () =>
      startReaders(options, count, {
        services,
        write,
        submit: (...sent) => pool.submit(...sent),
        pending: pool,
        pendingBlocks: pending,
        chain,
        sync: heads,
        store,
        log,
        metrics,
        readyz,
        onFatal,
      });
    const started = await scope.use(
      "readers",
      () => namingPorts(wantedPorts, start),
      (running) => running.close(),
    );
    metrics.include(() => started.pool.collectMetrics());
    publicPorts = readers = started;
  }
  const { httpPort, wsPort } = publicPorts;

  const subblocksPort =
    pending && (await startSubblocks(scope, options.subblocks, { chain, pending, delay: delayed, clock, log, metrics, feed }));

  // The rollup node need not wait for the readers.
  const jwtSecretPath = authrpc.jwtsecret ?? join(chainOptions.datadir, JWT_FILE);
  const { secret, isNew } = namingSecretOption(JWT_SECRET, () => readOrCreateJwtSecret(jwtSecretPath));
  if (isNew) log.info("JWT secret created", { path: jwtSecretPath });
  const readerPids = (): number[] => readers?.pool.pids() ?? [];
  const servingReaders = () => (count === 0 ? undefined : readerPids().length);
  const status = new ClientStatus({ chain, pool: pool.pool, clock, servingReaders });
  readiness?.followHead(() => knownHeadOf(chain, heads.status?.highestBlock));
  readiness?.expect(() => status.faults.map((what) => `it waits for ${what}`));
  const witnessUrl = http.api.includes("debug") && httpPort !== undefined ? urlHere(http.host, httpPort) : undefined;
  scope.onClose("dashboard feed", feedClient(feed, { chain, pool: pool.pool, clock, servingReaders, witnessUrl }));
  const engineServer = createRpcServer({
    http: authrpc,
    ws: { ...authrpc, subscriptions: ethSubscriptions(services.backend, pool, sync) },
    jwtSecret: secret,
    clock,
    methods: withDescription(VERSION, {
      ...methodsInWriter(methodsOf(["eth", "net", "web3", "miner", "debug"], services), write),
      ...status.listeningTo(
        engineMethods({
          chain,
          heads,
          profile,
          senders,
          sidecars: pool,
          witnesses: new WitnessService(services.backend, services.traces),
          log,
          nowMs: () => clock.monotonicMs(),
          maxExecutionMs: options.engine.maxExecutionMs,
          onSignal: versionSignals(log),
        }),
      ),
    }),
    dialect: profile.dialect,
    maxOpenFiles: count === 0 ? halfOf(connectionBudget()) : connectionBudget(),
    limits: { ...limits, maxRequestBytes: ENGINE_MAX_REQUEST_BYTES, maxBatchLength: 2000, maxValues: ENGINE_MAX_VALUES },
    // Faults that an operator can repair (a missing file, a full disk) are reported to the rollup node, too; all others are
    // internal errors.
    mapError(error, method) {
      const stopped = stoppedExecution(error);
      if (stopped !== undefined) {
        log.warn("execution of a block stopped", { method, reason: stopped.message });
        return stopped;
      }
      const reason = describeError(error);
      if (reason === undefined) return undefined;
      log.error("RPC method failed", { method, err: error });
      return { code: INTERNAL_ERROR, message: reason };
    },
    log,
    metrics,
  });
  const { httpPort: enginePort } = await listen("Engine API", engineServer, { "authrpc.port": authrpc.port });
  log.info("Engine API listens", { addr: authrpc.host, port: enginePort });
  keeper?.start();
  // The network starts last, so that peers see a client that serves, and the start does not wait for it.
  const joining = network && startNetwork(scope, options, { chain, pool, clientId, clock, log, metrics });
  const [joined] = await Promise.all([joining, readers?.isReady]);
  if (joined !== undefined) network?.join(joined);
  const listeners = [
    ["HTTP", "http.api", httpPort, http],
    ["WebSocket", "ws.api", wsPort, ws],
  ] as const;
  for (const [what, option, port, { host, api }] of listeners) {
    if (port === undefined) continue;
    const unserved = unservedNamespaces(api, profile);
    for (const name of unserved) log.warn(`--${option}: face ${profile.name} has no ${name}_ methods; --profile=R has`);
    log.info(`${what} JSON-RPC listens`, { addr: host, port, api: api.filter((name) => !unserved.includes(name)) });
  }
  return {
    httpPort,
    wsPort,
    subblocksPort,
    enginePort: enginePort!,
    jwtSecretPath,
    readerPids,
    status: () => status.fields(),
    failure,
  };
}

/** The head, for `GET /readyz`. @param target number of the block that a sync goes to; `undefined`: none is under way */
function knownHeadOf(chain: Pick<Chain, "headerOf">, target: number | undefined): KnownHead | undefined {
  const head = chain.headerOf({ kind: "tag", tag: "latest" })?.header;
  return head && { number: head.number, timestampSec: head.timestamp, target };
}

/** The address of a server, for a browser on this machine. */
function urlHere(host: string, port: number): string {
  const isAny = host === "0.0.0.0" || host === "::";
  return `http://${isAny ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host}:${port}/`;
}

const halfOf = (budget: number | undefined): number | undefined => (budget === undefined ? undefined : budget / 2);

const delayed: Delay = (delayMs, action) => {
  const timer = setTimeout(action, delayMs);
  return { cancel: () => clearTimeout(timer) };
};

function startPruning(keepBlocks: number, store: ChainDatabase, chain: Chain, log: Logger, metrics: MetricFactory): () => void {
  const pruning = new HistoryPruning(keepBlocks, {
    store,
    delay: delayed,
    nowMs: () => performance.now(),
    log,
    metrics,
  });
  const forget = chain.onHeadChange(() => pruning.onHead());
  pruning.onHead();
  return () => {
    forget();
    pruning.stop();
  };
}

/** Says what L1 requires and recommends, as the rollup node passes it on: once, and where this client is behind. */
function versionSignals(log: Logger): (versions: SignalledVersions) => void {
  let told = "";
  return ({ required, recommended }) => {
    const fields = {
      required: formatProtocolVersion(required),
      recommended: formatProtocolVersion(recommended),
      local: formatProtocolVersion(LOCAL_PROTOCOL_VERSION),
    };
    const isBehind = [required, recommended].some((version) => compareProtocolVersions(LOCAL_PROTOCOL_VERSION, version) < 0);
    const isNew = told !== JSON.stringify(fields);
    told = JSON.stringify(fields);
    if (isBehind && isNew) log.warn("L1 signals a newer protocol version: update rengine", fields);
    else log.debug("protocol versions signalled", fields);
  };
}

/** Logs each change of the head; several blocks at once are logged as one line with their sums. */
function logHead(log: Logger, { head, removed, addedHashes, addedSums, elapsedMs = 0 }: HeadChange): void {
  const { gasUsed, transactions } = addedSums;
  const fields = {
    number: head.block.header.number,
    hash: head.hash,
    ...(addedHashes.length > 1 ? { blocks: addedHashes.length } : {}),
    txs: transactions,
    gasUsed,
    elapsedMs: Number(elapsedMs.toFixed(1)),
    mgasPerSec: elapsedMs > 0 ? Number((gasUsed / 1000 / elapsedMs).toFixed(2)) : undefined,
  };
  if (removed.length > 0) log.warn("chain reorganised", { ...fields, removed: removed.length, added: addedHashes.length });
  else log.info("new head", fields);
}
