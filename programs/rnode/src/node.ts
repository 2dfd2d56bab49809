import { createDecompressor } from "@rnode/compression";
import { createDerivationPipeline, type DerivationConfig, type DerivationObserver, joinObservers } from "@rnode/derivation";
import { createRpcClient, type RpcServer } from "@rnode/jsonrpc";
import { type BlobReadAhead, HeadPoller, ReadAhead, type ReadAheadDeps } from "@rnode/l1";
import type { UpgradeFiles } from "@rnode/networks";
import { type Feed, type LogFields, type Logger, type MetricFactory, noFeed } from "@rnode/observe";
import { type Clock, isCriticalError } from "@rnode/primitives";
import { assertPortIsFree, type Health, namingPorts, Readiness, type Scope } from "@rnode/program";
import {
  type DependencySet,
  type ExecutionPayloadEnvelope,
  type L1BlockRef,
  type L2BlockRef,
  upgradeFilesAfter,
} from "@rnode/protocol";
import { signingLimitMs } from "@rnode/signer";
import type { AdminStateFile } from "./common/admin-state.ts";
import type { Heads } from "./common/heads.ts";
import { SequencingTime } from "./common/sequencing-time.ts";
import { ConductorClient } from "./conductor/conductor-client.ts";
import { BlocksAhead } from "./derive/blocks-ahead.ts";
import { DerivationLog } from "./derive/derivation-log.ts";
import { DerivationRunner } from "./derive/derivation-runner.ts";
import { L1Progress } from "./derive/l1-progress.ts";
import { L1View, withConfirmations } from "./derive/l1-view.ts";
import { PipelineFeed } from "./derive/pipeline-feed.ts";
import { attributesPreparer } from "./derive/prepare-attributes.ts";
import { withStepLog } from "./derive/step-log.ts";
import { Driver } from "./driver.ts";
import { EngineControl } from "./engine/engine-control.ts";
import { checkEngineKind } from "./engine/engine-kind.ts";
import { readConductorSecret } from "./engine/engine-secret.ts";
import { rememberBlocks } from "./engine/remember-blocks.ts";
import { createNodeMetrics } from "./metrics.ts";
import { feedNode } from "./node-feed.ts";
import type { Contact } from "./operate/contact.ts";
import { HeadStall } from "./operate/head-stall.ts";
import type { SnapshotLog } from "./operate/snapshot-log.ts";
import { TestSequencer } from "./opstack/test-sequencer.ts";
import type { RnodeOptions } from "./options.ts";
import type { PeerNetwork } from "./p2p/peer-network.ts";
import { nodeAdminApi } from "./rpc/node-admin.ts";
import { createNodeServer } from "./rpc/node-server.ts";
import type { NodeAdminApi } from "./rpc/rpc-methods.ts";
import { type SyncFacts, type SyncStatusJson, syncStatusToJson } from "./rpc/sync-status.ts";
import { readRuntimeConfig } from "./runtime/read-runtime-config.ts";
import { challengeableL1Blocks, Finalizer } from "./safe/finalizer.ts";
import { headsFinder, withOwnLabels } from "./safe/find-heads.ts";
import { SafeChainCheck } from "./safe/safe-chain-check.ts";
import type { SafeHeadDatabase } from "./safe/safe-head-database.ts";
import { SafeHeadWatch } from "./safe/safe-head-watch.ts";
import { SafeHeads } from "./safe/safe-heads.ts";
import { type BlockGossip, noGossip } from "./sequencing/block-gossip.ts";
import { BlockOutlet } from "./sequencing/block-outlet.ts";
import { L1OriginSelector } from "./sequencing/l1-origin-selector.ts";
import { onlySequencer, type SequencerConductor } from "./sequencing/leadership.ts";
import { Sequencer } from "./sequencing/sequencer.ts";
import type { ConnectionsDeps, NodeConnections } from "./start/connections.ts";
import { blocksOf, ExecutionLayerSync } from "./unsafe/execution-layer-sync.ts";
import { RefusedBlocks } from "./unsafe/refused-blocks.ts";
import { TimedOutPayloads } from "./unsafe/timed-out-payloads.ts";
import { UnsafeBlockCheck } from "./unsafe/unsafe-block-check.ts";
import { type MissingBlocks, UnsafeGap } from "./unsafe/unsafe-gap.ts";
import { type Offered, UnsafeInbox } from "./unsafe/unsafe-inbox.ts";
import { UnsafeInserter } from "./unsafe/unsafe-inserter.ts";
import { VERSION } from "./version.ts";

export interface NodeDeps {
  readonly derivation: DerivationConfig;
  /** unsafe payloads that the engine did not finish. `undefined`: a list in memory */
  readonly timeouts?: TimedOutPayloads | undefined;
  /** Fetches the files of network upgrades that are ahead. `undefined`: the operator provides them. */
  readonly upgrades?: Pick<UpgradeFiles, "want"> | undefined;
  /** makes what the node talks to */
  readonly connect: (deps: Omit<ConnectionsDeps, "engineSecret">) => NodeConnections;
  /** the safe-head database; undefined: none is kept */
  readonly safeHeads?: SafeHeadDatabase | undefined;
  readonly adminState: Pick<AdminStateFile, "load" | "save">;
  /** decides whether this node sequences; default: the one of `--conductor.enabled` */
  readonly conductor?: SequencerConductor | undefined;
  /** the network of peers; undefined: there is none */
  readonly peers?: Pick<PeerNetwork, "api" | "start" | "publish" | "requestGap" | "setUnsafeBlockSigner"> | undefined;
  /** how the sequencer's blocks reach other nodes; default: through `peers`, and without them from L1 */
  readonly gossip?: BlockGossip | undefined;
  /** hands a block that somebody else has signed to other nodes; undefined: there is no network */
  readonly publishSigned?: ((envelope: ExecutionPayloadEnvelope, signature: Uint8Array) => Promise<void>) | undefined;
  /** keeps what becomes of the heads; undefined: nobody asked for that */
  readonly snapshots?: Pick<SnapshotLog, "note"> | undefined;
  /** asks other nodes for blocks that gossip did not bring; default: as above */
  readonly requestGap?: ((missing: MissingBlocks) => void) | undefined;
  /** what `optimism_dependencySet` answers */
  readonly dependencySet?: DependencySet | undefined;
  /** is told what derivation reads and decides, too */
  readonly observer?: Partial<DerivationObserver> | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** for `GET /healthz` */
  readonly health: () => Health;
  /** for `GET /readyz`; default: one of its own */
  readonly readiness?: Readiness | undefined;
  /** what the dashboard shows; default: there is none */
  readonly feed?: Feed | undefined;
}

/** How many L1 blocks to request ahead of derivation: so many, or so much memory. */
const READ_AHEAD_BLOCKS = 128;
const READ_AHEAD_BYTES = 64 * 1024 * 1024;
const READ_AHEAD_HEAD_DISTANCE = 32;

/** A source of blobs in this process has nothing to fetch ahead. */
function aheadOf(blobs: NodeConnections["blobs"], inbox: Uint8Array): ReadAheadDeps["blobs"] {
  return "readAhead" in blobs ? { source: blobs as BlobReadAhead, inbox } : undefined;
}

/** What the status line says of something that does not answer. */
function silenceOf(name: "l1" | "engine", contact: Contact | undefined): LogFields {
  const silence = contact?.silence;
  if (silence === undefined) return {};
  return { [`${name}SilentSince`]: silence.since, [`${name}SilentSec`]: silence.forSec, [`${name}Failure`]: silence.reason };
}

/** All the wiring of the rollup node. Nothing runs before `start`; `close` stops everything in reverse order. */
export class RollupNode {
  private readonly options: RnodeOptions;
  private readonly deps: NodeDeps;
  private readonly connections: NodeConnections;
  private readonly driver: Driver;
  private readonly poller: HeadPoller;
  private readonly l1Stall: HeadStall;
  private readonly server: RpcServer;
  /** what the admin methods of its RPC server reach */
  readonly admin: NodeAdminApi;
  private readonly sequencer: Sequencer;
  /** undefined: this node is the only sequencer, or none */
  private readonly conductor: SequencerConductor | undefined;
  private readonly inbox: UnsafeInbox;
  /** undefined: all blocks are derived */
  private readonly engineSync: ExecutionLayerSync | undefined;
  private readonly metrics: ReturnType<typeof createNodeMetrics>;
  private readonly syncFacts: () => SyncFacts;
  private readonly noteHeads: () => void;

  constructor(options: RnodeOptions, deps: NodeDeps) {
    this.options = options;
    this.deps = deps;
    const { clock, log } = deps;
    const config = deps.derivation.rollup;
    const metrics = createNodeMetrics(deps.metrics, clock);
    this.metrics = metrics;

    // L1 and the engine
    this.connections = deps.connect({
      config,
      clock,
      log,
      metrics: metrics.l1,
      beaconMetrics: metrics.beacon,
      daMetrics: metrics.da,
      rpcMetrics: metrics.rpcClients,
    });
    const { l1, blobs, daInputs, l2, engine } = this.connections;
    const l1View = new L1View();
    const ahead = new BlocksAhead(l2, config);
    const driven = rememberBlocks(engine, l2);
    const control = new EngineControl(driven, config);

    // derivation, and what depends on it
    const progress = new L1Progress();
    const l1Head = (): L1BlockRef | undefined => l1View.head;
    const readAhead = new ReadAhead(
      {
        // what is read ahead waits in the cache
        depth: Math.min(READ_AHEAD_BLOCKS, Math.ceil((options.l1.cacheSize || READ_AHEAD_BLOCKS) / 2)),
        batch: options.l1.maxBatchSize,
        maxBytes: READ_AHEAD_BYTES,
        headDistance: READ_AHEAD_HEAD_DISTANCE,
      },
      { l1, l1Head, blobs: aheadOf(blobs, config.batchInboxAddress) },
    );
    const derivationL1 = withConfirmations(readAhead, options.verifier, l1Head);
    const providers = { l1: derivationL1, blobs, daInputs, l2: ahead, decompressor: createDecompressor() };
    const safeHeads = new SafeHeads({
      database: deps.safeHeads,
      config,
      l1,
      l1Head,
      onFault: (reason) => this.driver.requestReset(reason),
    });
    // What data outside of L1 has made safe can be taken back while L1 stays as it is: the record does not say so.
    const record = config.altDa === undefined ? deps.safeHeads : undefined;
    const { syncmode, offsetElSafeMs } = options.rollup;
    const labelsBehindTip = syncmode === "execution-layer" ? blocksOf(offsetElSafeMs, config) : 0;
    const l2Labels = withOwnLabels(l2, () => control.headsIfKnown);
    const find = headsFinder(deps.derivation, { l1, l2: l2Labels, labelsBehindTip }, log, record);
    const finalizer = new Finalizer({
      l1,
      finalized: () => control.heads.finalized,
      safe: () => control.heads.safe,
      finalize: (finalized) => control.setHeads({ ...control.heads, finalized }),
      log,
      recorded: (l1Number) => safeHeads.blockAt(l1Number, l2),
      dataFinalizedBy: (l1Finalized) => pipeline.finalizedBy(l1Finalized),
      rememberedL1Blocks: options.finality.lookback || challengeableL1Blocks(config),
      l1BlocksBetweenAttempts: options.finality.delay || undefined,
    });
    const safeChain = new SafeChainCheck({ config, l1, l2, recordedAfter: (base) => safeHeads.after(base), log });
    const safeHeadWatch = new SafeHeadWatch({ config, clock, log });
    metrics.observeSafeHead(() => safeHeadWatch.state);
    const { feed = noFeed, readiness = new Readiness(VERSION) } = deps;
    const pipelineFeed = feed === noFeed ? undefined : new PipelineFeed({ config, clock, feed });
    const derivationLog = new DerivationLog({
      config,
      clock,
      log,
      onDropped: (...dropped) => pipelineFeed?.onDropped(...dropped),
    });
    const observer = joinObservers(
      metrics.observer,
      safeChain.observer,
      safeHeadWatch.observer,
      derivationLog.observer,
      pipelineFeed?.observer ?? {},
      deps.observer ?? {},
    );
    const pipeline = withStepLog(createDerivationPipeline(deps.derivation, { ...providers, observer }), log);
    const onSafe = (safe: L2BlockRef, derivedFrom: L1BlockRef): void => {
      safeHeads.onSafe(safe, derivedFrom);
      safeHeadWatch.onSafe(safe, derivedFrom);
      pipelineFeed?.onSafe(safe, derivedFrom);
    };
    const derivation = new DerivationRunner({
      config,
      pipeline,
      ahead,
      control,
      l2,
      isCritical: isCriticalError,
      log,
      safeChain,
      onReset: (base) => {
        safeHeadWatch.onReset(base);
        derivationLog.onReset(base);
      },
      onSafe: (safe, derivedFrom) => {
        progress.onSafe(safe.number, derivedFrom);
        onSafe(safe, derivedFrom);
        finalizer.onSafe(safe, derivedFrom);
      },
      onIdle: (origin) => {
        progress.onIdle(origin);
        safeHeads.onIdle();
        finalizer.onDerivationIdle();
      },
      wake: () => this.driver.wake(),
    });
    this.inbox = new UnsafeInbox({
      config,
      headNumber: () => control.headsIfKnown?.unsafe.number,
      onQueued: () => {
        metrics.unsafePayload();
        this.driver.wake();
      },
    });
    const { inbox } = this;
    metrics.observeInbox(inbox);
    const { peers, requestGap = peers && options.p2p.syncReqResp ? (missing) => peers.requestGap(missing) : undefined } = deps;
    const gap = new UnsafeGap({ config, control, inbox, request: requestGap, clock, log });
    const { timeouts = new TimedOutPayloads(undefined, log) } = deps;
    const refused = new RefusedBlocks({ clock, log, metrics });
    const prepareAttributes = attributesPreparer(deps.derivation, { l1, l2 });
    const engineSync =
      syncmode === "execution-layer"
        ? new ExecutionLayerSync(
            { kind: options.l2.enginekind, offsetMs: offsetElSafeMs },
            { config, inbox, engine: driven, l2, control, lastRecorded: () => record?.last, clock, log },
          )
        : undefined;
    this.engineSync = engineSync;

    // sequencing
    const conductor = deps.conductor ?? this.conductorOfOptions();
    this.conductor = conductor;
    const origins = new L1OriginSelector(options.sequencer, { config, l1, l1Head, clock, log });
    this.sequencer = new Sequencer(options.sequencer, {
      config,
      control,
      origins,
      prepareAttributes,
      outlet: new BlockOutlet({
        leadership: conductor ?? onlySequencer,
        gossip: deps.gossip ?? deps.peers ?? noGossip,
        control,
        clock,
        signLimitMs: signingLimitMs(options.signer.timeoutMs),
        log,
        metrics,
      }),
      clock,
      time: new SequencingTime({ clock, l1Head, log }),
      log,
      metrics: metrics.sequencer,
    });

    const check = new UnsafeBlockCheck({ config, l1, l1Head, l2, prepareAttributes, clock });
    const unsafe = new UnsafeInserter({ inbox, control, gap, check, timeouts, sequencer: this.sequencer, refused, clock, log });
    this.driver = new Driver({
      control,
      sequencer: this.sequencer,
      unsafe,
      derivation,
      finalizer,
      engineSync,
      gap,
      findHeads: async () => {
        progress.onReset();
        const first = await find(safeChain.doubt);
        if (first.kind !== "found") return first;
        const found = await safeChain.takenBack(first);
        if (found.kind !== "found") return found;
        safeChain.beforeReset(found.base);
        return (await safeHeads.reset(found)) ?? found;
      },
      clock,
      random: deps.random,
      onTurn: () => deps.snapshots?.note(this.syncFacts()),
      log,
      metrics: { ...metrics, turnDone: () => this.noteHeads() },
    });
    this.l1Stall = new HeadStall(clock);
    this.poller = new HeadPoller(options.l1, {
      l1,
      clock,
      log,
      onChange: (label, block) => {
        l1View.update(label, block);
        if (label === "latest") {
          this.l1Stall.changed();
          derivation.onL1Change();
        }
        if (label === "finalized") finalizer.onL1Finalized(block);
        this.noteHeads();
        this.driver.wake();
      },
    });

    // RPC, metrics and health
    const syncFacts = () => {
      const heads = engineSync?.heads ?? control.toldHeads;
      const currentL1 = progress.current(heads?.safe.number);
      return { heads, l1: l1View, currentL1, queuedUnsafe: inbox.peek()?.ref, engineSyncTarget: engineSync?.target };
    };
    this.syncFacts = syncFacts;
    const isIdle = (): boolean => progress.isIdleAt(l1Head());
    this.noteHeads = metrics.observeHeads(syncFacts, isIdle);
    this.admin = nodeAdminApi(options, {
      config,
      driver: this.driver,
      sequencer: this.sequencer,
      conductor,
      control,
      engineSync,
      adminState: deps.adminState,
      l1,
      log,
      offer: (envelope) => this.inbox.offer(envelope, "operator"),
    });
    this.server = createNodeServer(options.rpc, {
      node: {
        config,
        version: VERSION,
        l2,
        dependencySet: deps.dependencySet,
        syncStatus: () => this.syncStatus(),
        safeHeads,
        refusedBlocks: () => refused.list,
      },
      peers: peers?.api,
      admin: this.admin,
      testSequencer: new TestSequencer({
        config,
        control,
        l2,
        publish: deps.publishSigned,
        run: (task) => this.driver.run(task),
      }),
      log: log.child({ part: "rpc" }),
      metrics: deps.metrics,
      healthz: deps.health,
      readyz: () => readiness.health,
    });
    readiness.expect(() => {
      const syncing = engineSync?.description;
      if (syncing !== undefined) return [syncing];
      const { resetUnderWay } = this.driver;
      return [...(resetUnderWay === undefined ? [] : [`finding the heads: ${resetUnderWay}`]), ...safeHeadWatch.faults];
    });
    feedNode(feed, {
      clock,
      syncFacts,
      peers: peers?.api,
      more: () => ({
        sequencer: options.sequencer.enabled ? (this.sequencer.isActive ? "active" : "stopped") : "none",
        queuedBlocks: inbox.length,
        queuedBytes: inbox.sizeBytes,
        findingHeadsBecause: engineSync?.description ?? this.driver.resetUnderWay,
        windowLeftL1Blocks: safeHeadWatch.state.windowLeftL1Blocks,
      }),
    });
  }

  /**
   * Checks the endpoints, then starts working. Everything ends within moments when the scope closes, whatever is in progress: all state
   * that matters is in the engine and on L1.
   *
   * @returns the port of the RPC server, and a promise for the end of the node, which rejects when the node cannot go on
   * @throws {StartError}
   */
  async start(scope: Scope): Promise<{
    readonly rpcPort: number | undefined;
    readonly ended: Promise<void>;
  }> {
    const { rpc } = this.options;
    // at once: the endpoints may be waited for first
    await assertPortIsFree("rpc.port", rpc);
    await this.connect(scope);
    const { httpPort } = await scope.use(
      "RPC server",
      () => namingPorts({ "rpc.port": rpc.port }, () => this.server.listen()),
      () => this.server.close(),
    );
    return { rpcPort: httpPort, ...(await this.work(scope)) };
  }

  /** As `start`, for a process in which nobody asks over RPC. @returns a promise for the end of the node */
  async startWithoutServer(scope: Scope): Promise<{ readonly ended: Promise<void> }> {
    await this.connect(scope);
    return this.work(scope);
  }

  private conductorOfOptions(): SequencerConductor | undefined {
    const { enabled, rpc: url, jwtSecret: file, ...options } = this.options.conductor;
    if (!enabled) return undefined;
    const { clock, log } = this.deps;
    const jwtSecret = file === undefined ? undefined : readConductorSecret(file);
    const rpc = createRpcClient({ url, timeoutMs: options.rpcTimeoutMs, jwtSecret });
    return new ConductorClient(options, {
      rpc: this.metrics.rpcClients.counting(rpc, "conductor"),
      clock,
      log: log.child({ part: "conductor" }),
    });
  }

  private async connect(scope: Scope): Promise<void> {
    scope.onClose("conductor", () => this.conductor?.close());
    scope.onClose("endpoints", () => this.connections.close());
    scope.signal.addEventListener("abort", () => {
      this.driver.close();
      void this.connections.close(); // ends requests in progress, whose results nobody needs any more
    });
    await this.connections.check(scope.signal);
    const { engine } = this.connections;
    await this.fetchUpgrades();
    await checkEngineKind(this.options.l2, { version: VERSION }, { engine, log: this.deps.log });
    await this.deps.peers?.start(scope, {
      onUnsafePayload: (envelope) => void this.offerUnsafePayload(envelope),
      payloadByNumber: (number) => this.payloadByNumber(number),
    });
  }

  /** Derivation starts from the safe block: upgrades of its time and before are never derived again. */
  private async fetchUpgrades(): Promise<void> {
    const { upgrades, derivation } = this.deps;
    const { rollup } = derivation;
    if (upgrades === undefined || upgradeFilesAfter(rollup, rollup.genesis.l2TimeSec).length === 0) return;
    const { l2 } = this.connections;
    const safe = (await l2.blockByLabel("safe")) ?? (await l2.blockByLabel("finalized"));
    upgrades.want(upgradeFilesAfter(rollup, safe?.ref.timestamp ?? rollup.genesis.l2TimeSec));
  }

  private async work(scope: Scope): Promise<{ readonly ended: Promise<void> }> {
    const { peers, derivation, clock, log } = this.deps;
    const { ended: halted } = await readRuntimeConfig(scope, this.options, {
      config: derivation.rollup,
      connections: this.connections,
      clock,
      log,
      metrics: this.metrics.protocolVersions,
      onSigner: peers && ((signer) => peers.setUnsafeBlockSigner(signer)),
    });
    if (this.options.sequencer.enabled) this.startSequencer();
    await scope.use(
      "L1 head poller",
      () => this.poller.start(),
      () => this.poller.close(),
    );
    const ended = this.driver.loop();
    scope.onClose("driver", () => ended.catch(() => {})); // reported to whoever awaits `ended`
    return { ended: Promise.race([ended, halted]) };
  }

  /** A block that another node sequenced. */
  offerUnsafePayload(envelope: ExecutionPayloadEnvelope): Offered {
    return this.inbox.offer(envelope);
  }

  /**
   * A block of the canonical chain, for other nodes. @returns undefined: this node does not have it
   *
   * @throws {EngineError}
   */
  payloadByNumber(number: number): Promise<ExecutionPayloadEnvelope | undefined> {
    return this.connections.l2.envelopeByNumber(number);
  }

  /** The heads of both chains as this node sees them. */
  syncStatus(): SyncStatusJson {
    return syncStatusToJson(this.syncFacts());
  }

  /** undefined before the first reset has found them */
  get heads(): Heads | undefined {
    return this.syncFacts().heads;
  }

  /** How far the node has come and, if it makes no progress, what it is waiting for. */
  status(): LogFields {
    const { heads, l1, currentL1 } = this.syncFacts();
    const engineSync = this.engineSync?.description;
    const findingHeadsBecause = engineSync === undefined ? this.driver.resetUnderWay : undefined;
    return {
      l1Head: l1.head?.number,
      derivedTo: currentL1?.number,
      unsafe: heads?.unsafe.number,
      safe: heads?.safe.number,
      finalized: heads?.finalized.number,
      ...(engineSync === undefined ? {} : { engineSync }),
      ...(findingHeadsBecause === undefined ? {} : { findingHeadsBecause }),
      ...(l1.head === undefined ? { waitingFor: "the L1 head" } : {}),
      ...(this.connections.contacts?.l1.silence === undefined ? this.l1Stall.stall : {}),
      ...silenceOf("l1", this.connections.contacts?.l1),
      ...silenceOf("engine", this.connections.contacts?.engine),
    };
  }

  private startSequencer(): void {
    const { adminState, log } = this.deps;
    if (this.conductor !== undefined) {
      log.info("sequencing is stopped until the conductor starts it");
      if (!this.options.rpc.enableAdmin) log.warn("no conductor can start sequencing without --rpc.enable-admin");
      return;
    }
    const stored = adminState.load();
    const isStopped = stored === undefined ? this.options.sequencer.stopped : !stored.sequencerStarted;
    if (stored !== undefined && isStopped !== this.options.sequencer.stopped) {
      log.warn("the stored admin state overrides --sequencer.stopped", { stopped: isStopped });
    }
    adminState.save({ sequencerStarted: !isStopped });
    if (!isStopped) this.sequencer.start();
    if (!isStopped && this.engineSync !== undefined) {
      log.warn(
        "sequencing waits for the execution-layer sync, which needs an unsafe block of another sequencer: without one, start with --syncmode=consensus-layer",
      );
    }
  }
}
