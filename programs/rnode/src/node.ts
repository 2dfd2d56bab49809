import type { MethodTable, RpcServer } from "@rnode/jsonrpc";
import { HeadPoller, type L1BlockLabel } from "@rnode/l1";
import type { L2Blocks } from "@rnode/node-clients";
import { type LogFields, noFeed } from "@rnode/observe";
import { assertPortIsFree, namingPorts, Readiness, type Scope } from "@rnode/program";
import type { ExecutionPayloadEnvelope, L1BlockRef } from "@rnode/protocol";
import { DriverSignals } from "./common/driver-signals.ts";
import type { Heads } from "./common/heads.ts";
import { createConductor } from "./conductor/create-conductor.ts";
import { createDerivation } from "./derive/create-derivation.ts";
import { startInSet } from "./derive/cross-safe.ts";
import { L1Progress } from "./derive/l1-progress.ts";
import { L1View } from "./derive/l1-view.ts";
import { attributesPreparer } from "./derive/prepare-attributes.ts";
import { Driver } from "./driver.ts";
import { EngineControl } from "./engine/engine-control.ts";
import { checkEngineKind } from "./engine/engine-kind.ts";
import { rememberBlocks } from "./engine/remember-blocks.ts";
import { createFollower } from "./follow/create-follower.ts";
import { keepSafeLabel } from "./follow/keep-labels.ts";
import { createNodeMetrics, type NodeMetrics } from "./metrics.ts";
import type { NodeBase } from "./node-base.ts";
import type { NodeDeps } from "./node-deps.ts";
import { feedNode } from "./node-feed.ts";
import { HeadStall } from "./operate/head-stall.ts";
import { nodeStatus } from "./operate/node-status.ts";
import { TestSequencer } from "./opstack/test-sequencer.ts";
import type { RnodeOptions } from "./options.ts";
import { nodeAdminApi } from "./rpc/node-admin.ts";
import { createNodeServer, nodeMethods } from "./rpc/node-server.ts";
import type { NodeAdminApi } from "./rpc/rpc-methods.ts";
import { knownHeadOf, type SyncFacts, type SyncStatusJson, syncStatusToJson } from "./rpc/sync-status.ts";
import { readRuntimeConfig } from "./runtime/read-runtime-config.ts";
import { createSafe } from "./safe/create-safe.ts";
import type { SafeHeads } from "./safe/safe-heads.ts";
import { noGossip } from "./sequencing/block-gossip.ts";
import { createSequencer, startSequencing } from "./sequencing/create-sequencer.ts";
import { onlySequencer, type SequencerConductor } from "./sequencing/leadership.ts";
import type { Sequencer } from "./sequencing/sequencer.ts";
import type { NodeConnections } from "./start/connections.ts";
import { wantUpgrades } from "./start/upgrades.ts";
import { createUnsafe } from "./unsafe/create-unsafe.ts";
import { blocksOf, type ExecutionLayerSync } from "./unsafe/execution-layer-sync.ts";
import type { Offered, UnsafeInbox } from "./unsafe/unsafe-inbox.ts";
import type { Verification } from "./verification.ts";
import { VERSION } from "./version.ts";

/**
 * All the wiring of the rollup node: the parts are created in the constructor, once, in the order of their dependencies. Nothing runs before
 * `start`; the scope stops everything in reverse order.
 */
export class RollupNode {
  private readonly options: RnodeOptions;
  private readonly deps: NodeDeps;
  private readonly metrics: NodeMetrics;
  private readonly connections: NodeConnections;
  /** undefined: this node is the only sequencer, or none */
  private readonly conductor: SequencerConductor | undefined;
  private readonly sequencer: Sequencer;
  private readonly inbox: UnsafeInbox;
  /** undefined: all blocks are derived */
  private readonly engineSync: ExecutionLayerSync | undefined;
  private readonly syncFacts: () => SyncFacts;
  /** derivation, or the source that it is left to */
  private readonly verification: Verification;
  private readonly driver: Driver;
  private readonly l1Stall: HeadStall;
  private readonly poller: Pick<HeadPoller, "start" | "close">;
  /** what the admin methods of its RPC server reach */
  readonly admin: NodeAdminApi;
  private readonly createServer: () => RpcServer;
  /** the methods of its RPC server */
  readonly methods: MethodTable;
  readonly safeHeads: SafeHeads;
  /** something that a part waits for has arrived */
  readonly wake: () => void;
  /** how often its engine was on a chain that L1 contradicts */
  readonly detours: () => number;

  constructor(options: RnodeOptions, deps: NodeDeps) {
    this.options = options;
    this.deps = deps;
    const { derivation, clock, log, peers, crossSafety, feed = noFeed, readiness = new Readiness(VERSION) } = deps;
    const config = derivation.rollup;
    const metrics = createNodeMetrics(deps.metrics, clock, deps.l1Metrics);
    this.metrics = metrics;

    // L1, the engine, and what every part needs
    const { l1: l1Metrics, beacon: beaconMetrics, da: daMetrics, rpcClients: rpcMetrics } = metrics;
    this.connections = deps.connect({ config, clock, log, metrics: l1Metrics, beaconMetrics, daMetrics, rpcMetrics });
    const { l1, l2 } = this.connections;
    const engine = rememberBlocks(this.connections.engine, l2);
    const control = new EngineControl(engine, config);
    const signals = new DriverSignals();
    const progress = new L1Progress();
    const l1View = new L1View();
    const base: NodeBase = {
      config,
      clock,
      log,
      metrics,
      connections: this.connections,
      l1View,
      engine,
      control,
      progress,
      signals,
    };

    // safe blocks, which L1 decides, and the blocks of this node and of others
    const { syncmode, offsetElSafeMs } = options.rollup;
    const labelsBehindTip = syncmode === "execution-layer" ? blocksOf(offsetElSafeMs, config) : 0;
    const { source } = this.connections;
    const isLight = source !== undefined;
    const safe = createSafe(
      {
        derivation,
        labelsBehindTip,
        ...(isLight ? { database: undefined, adjustStart: keepSafeLabel } : { database: deps.safeHeads }),
        ...(crossSafety && { adjustStart: (start, chains) => startInSet(crossSafety, start, chains) }),
      },
      base,
    );
    const prepareAttributes = attributesPreparer(derivation, { l1, l2 });
    const gossip = deps.gossip ?? peers ?? noGossip;
    const conductor = deps.conductor ?? createConductor(options.conductor, base);
    this.conductor = conductor;
    const leadership = conductor ?? onlySequencer;
    const sequencer = createSequencer(options, { prepareAttributes, gossip, leadership }, base);
    this.sequencer = sequencer;
    const verification = isLight
      ? createFollower({ source, safe, sequencer }, base)
      : createDerivation(options, { derivation, safe, crossSafety, feed, observer: deps.observer }, base);
    this.verification = verification;
    const { requestGap = peers && options.p2p.syncReqResp ? (missing) => peers.requestGap(missing) : undefined } = deps;
    // nobody else in a light node reads receipts of L1, unless it sequences
    const readsReceipts = !isLight || options.sequencer.enabled;
    const unsafe = createUnsafe(
      options,
      {
        sequencer,
        prepareAttributes: readsReceipts ? prepareAttributes : undefined,
        requestGap,
        timeouts: deps.timeouts,
        crossSafety,
        record: safe.record,
      },
      base,
    );
    const { inbox, engineSync } = unsafe;
    this.inbox = inbox;
    this.engineSync = engineSync;

    // the loop over all of them, and the watch on L1 that wakes it
    const syncFacts = (): SyncFacts => {
      const heads = engineSync?.heads ?? control.toldHeads;
      const currentL1 = progress.current(heads?.safe.number);
      const localSafe = engineSync?.heads === undefined ? verification.localSafe : undefined;
      return { heads, localSafe, l1: l1View, currentL1, queuedUnsafe: inbox.peek()?.ref, engineSyncTarget: engineSync?.target };
    };
    this.syncFacts = syncFacts;
    const noteHeads = metrics.observeHeads(syncFacts, () => progress.isIdleAt(l1View.head));
    const driver = new Driver({
      signals,
      control,
      sequencer,
      unsafe: unsafe.inserter,
      verification,
      engineSync,
      gap: unsafe.gap,
      findHeads: safe.findHeads,
      clock,
      random: deps.random,
      onTurn: () => deps.snapshots?.note(syncFacts()),
      log,
      metrics: { ...metrics, turnDone: noteHeads },
    });
    this.driver = driver;
    const l1Stall = new HeadStall(clock);
    this.l1Stall = l1Stall;
    const onL1Head = (label: L1BlockLabel, block: L1BlockRef): void => {
      l1View.update(label, block);
      if (label === "latest") {
        l1Stall.changed();
        verification.onL1Head(block);
      }
      if (label === "finalized") verification.onL1Finalized(block);
      noteHeads();
      signals.wake();
    };
    this.poller = deps.followL1Heads?.(onL1Head) ?? new HeadPoller(options.l1, { l1, clock, log, onChange: onL1Head });

    // what operators reach
    this.admin = nodeAdminApi(options, {
      config,
      driver,
      sequencer,
      conductor,
      control,
      engineSync,
      adminState: deps.adminState,
      l1,
      log,
      offer: (envelope) => inbox.offer(envelope, "operator"),
    });
    this.safeHeads = safe.safeHeads;
    this.wake = () => signals.wake();
    this.detours = () => control.detours;
    const serverDeps = {
      node: {
        config,
        version: VERSION,
        l2,
        dependencySet: deps.dependencySet,
        syncStatus: () => this.syncStatus(),
        safeHeads: safe.safeHeads,
        source: source?.name,
        refusedBlocks: () => unsafe.refused.list,
      },
      peers: peers?.api,
      admin: this.admin,
      testSequencer: new TestSequencer({ config, control, l2, publish: deps.publishSigned, run: (task) => driver.run(task) }),
      log: log.child({ part: "rpc" }),
      metrics: deps.metrics,
      healthz: deps.health,
      readyz: (query: URLSearchParams) => readiness.healthWithin(query),
    };
    this.methods = nodeMethods(options.rpc, serverDeps);
    this.createServer = () => createNodeServer(options.rpc, serverDeps);
    readiness.followHead(() => knownHeadOf(syncFacts().heads, [inbox.newest?.ref, engineSync?.target, verification.target]));
    readiness.expect(() => {
      const syncing = engineSync?.description;
      if (syncing !== undefined) return [syncing];
      const { resetUnderWay } = driver;
      return [...(resetUnderWay === undefined ? [] : [`finding the heads: ${resetUnderWay}`]), ...verification.faults];
    });
    feedNode(feed, {
      clock,
      syncFacts,
      peers: peers?.api,
      more: () => ({
        sequencer: options.sequencer.enabled ? (sequencer.isActive ? "active" : "stopped") : "none",
        queuedBlocks: inbox.length,
        queuedBytes: inbox.sizeBytes,
        findingHeadsBecause: engineSync?.description ?? driver.resetUnderWay,
        windowLeftL1Blocks: safe.safeHeadWatch.state.windowLeftL1Blocks,
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
    const server = this.createServer();
    const { httpPort } = await scope.use(
      "RPC server",
      () => namingPorts({ "rpc.port": rpc.port }, () => server.listen()),
      () => server.close(),
    );
    return { rpcPort: httpPort, ...(await this.work(scope)) };
  }

  /** As `start`, for a process in which nobody asks over RPC. @returns a promise for the end of the node */
  async startWithoutServer(scope: Scope): Promise<{ readonly ended: Promise<void> }> {
    await this.connect(scope);
    return this.work(scope);
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
    await wantUpgrades(this.deps.upgrades, this.deps.derivation.rollup, this.connections.l2);
    await checkEngineKind(this.options.l2, { version: VERSION }, { engine, log: this.deps.log });
    await this.deps.peers?.start(scope, {
      onUnsafePayload: (envelope) => void this.offerUnsafePayload(envelope),
      payloadByNumber: (number) => this.payloadByNumber(number),
    });
  }

  private async work(scope: Scope): Promise<{ readonly ended: Promise<void> }> {
    const { peers, derivation, adminState, clock, log } = this.deps;
    const { ended: halted } = await readRuntimeConfig(scope, this.options, {
      config: derivation.rollup,
      connections: this.connections,
      clock,
      log,
      metrics: this.metrics.protocolVersions,
      onSigner: peers && ((signer) => peers.setUnsafeBlockSigner(signer)),
    });
    if (this.options.sequencer.enabled) {
      const isEngineSyncing = this.engineSync !== undefined;
      startSequencing(this.options, this.sequencer, { conductor: this.conductor, isEngineSyncing, adminState, log });
    }
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

  /** the blocks of its engine */
  get l2(): L2Blocks {
    return this.connections.l2;
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
    return nodeStatus({
      facts: this.syncFacts(),
      engineSync: this.engineSync?.description,
      resetUnderWay: this.driver.resetUnderWay,
      verification: this.verification.status,
      l1Stall: this.l1Stall,
      contacts: this.connections.contacts,
    });
  }
}
