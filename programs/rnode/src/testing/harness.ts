import {
  type DerivationObserver,
  type DerivationPipeline,
  type DerivedAttributes,
  joinObservers,
  type NextParent,
  type Pull,
} from "@rnode/derivation";
import type { Logger } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import { ManualClock } from "@rnode/primitives/testing";
import {
  applySystemConfigUpdates,
  type ExecutionPayloadEnvelope,
  HashedPayload,
  isDepositTransaction,
  type L1BlockRef,
  type L2BlockRef,
  payloadToHeader,
  type RollupConfig,
  upgradeGasAt,
} from "@rnode/protocol";
import type { CrossSafety } from "../common/cross-safety.ts";
import { DriverSignals } from "../common/driver-signals.ts";
import type { FoundHeads } from "../common/found-heads.ts";
import { SequencingTime } from "../common/sequencing-time.ts";
import { BlocksAhead } from "../derive/blocks-ahead.ts";
import { byDerivation, inSet } from "../derive/create-derivation.ts";
import { startInSet } from "../derive/cross-safe.ts";
import { DerivationRunner } from "../derive/derivation-runner.ts";
import { Driver } from "../driver.ts";
import { EngineControl } from "../engine/engine-control.ts";
import type { EngineKind } from "../engine/engine-kind.ts";
import { CanonicalL1 } from "../follow/canonical-l1.ts";
import type { FollowSource } from "../follow/follow-source.ts";
import { Follower } from "../follow/follower.ts";
import { Finalizer } from "../safe/finalizer.ts";
import { type Rewind, SafeChainCheck } from "../safe/safe-chain-check.ts";
import type { SafeHeadDatabase } from "../safe/safe-head-database.ts";
import { SafeHeadWatch } from "../safe/safe-head-watch.ts";
import { SafeHeads } from "../safe/safe-heads.ts";
import type { BlockGossip } from "../sequencing/block-gossip.ts";
import { BlockOutlet } from "../sequencing/block-outlet.ts";
import { L1OriginSelector } from "../sequencing/l1-origin-selector.ts";
import { type Leadership, onlySequencer } from "../sequencing/leadership.ts";
import { type PrepareAttributes, Sequencer, type SequencerOptions } from "../sequencing/sequencer.ts";
import { ExecutionLayerSync } from "../unsafe/execution-layer-sync.ts";
import { RefusedBlocks } from "../unsafe/refused-blocks.ts";
import { TimedOutPayloads } from "../unsafe/timed-out-payloads.ts";
import { UnsafeBlockCheck } from "../unsafe/unsafe-block-check.ts";
import { type MissingBlocks, UnsafeGap } from "../unsafe/unsafe-gap.ts";
import { UnsafeInbox } from "../unsafe/unsafe-inbox.ts";
import { UnsafeInserter } from "../unsafe/unsafe-inserter.ts";
import type { UnsafeQueueLimits } from "../unsafe/unsafe-queue.ts";
import type { Verification } from "../verification.ts";
import { attributesOn, FakeEngine, FakeL1, GENESIS_TIME_SEC, testConfig } from "./fake-chain.ts";
import { recordingLogger } from "./recording-logger.ts";

/** What L1 contains for one L2 block. */
export interface Batch {
  /** L1 origin of the block */
  readonly origin: number;
  /** the L1 block that completes the batch */
  readonly from: number;
  readonly userTransactions?: readonly Uint8Array[];
  readonly isLastInSpan?: boolean;
  /** of a singular batch */
  readonly parentHash?: Hex;
}

/** Derives what the test puts on L1: `batches[n]` is for block n + 1. */
export class ScriptedPipeline implements DerivationPipeline {
  readonly batches: Batch[] = [];
  /** answers of `step` before the batches; an Error is thrown */
  readonly next: (Pull<DerivedAttributes> | Error)[] = [];
  flushes = 0;
  resets: number[] = [];
  steps = 0;
  origin: L1BlockRef | undefined;
  nextParent: NextParent | undefined;
  /** blocks whose batches named another parent; they become blocks without transactions */
  readonly misnamed: number[] = [];
  isReplacedIfInvalid = true;
  private readonly config: RollupConfig;
  private readonly l1: FakeL1;

  constructor(config: RollupConfig, l1: FakeL1) {
    this.config = config;
    this.l1 = l1;
  }

  finalizedBy<B>(l1Finalized: B): Promise<B> {
    return Promise.resolve(l1Finalized);
  }

  async step(parent: L2BlockRef): Promise<Pull<DerivedAttributes>> {
    this.steps++;
    const scripted = this.next.shift();
    if (scripted instanceof Error) throw scripted;
    if (scripted !== undefined) return scripted;
    const batch = this.batches[parent.number];
    if (batch === undefined || batch.from > this.l1.head.number) {
      this.origin = this.l1.head;
      return { kind: "exhausted" };
    }
    this.origin = this.l1.blocks[batch.from]!;
    if (batch.parentHash !== undefined && batch.parentHash !== parent.hash) {
      this.misnamed.push(parent.number + 1);
      this.batches[parent.number] = { origin: batch.origin, from: batch.from };
      return { kind: "again" };
    }
    const attributes = attributesOn(this.config, parent, this.l1.blocks[batch.origin]!, batch.userTransactions);
    const { isLastInSpan = true } = batch;
    this.nextParent = isLastInSpan ? this.batches[parent.number + 1]?.parentHash : "unnamed";
    const derivedFrom = this.origin!;
    return {
      kind: "value",
      value: { attributes, parent, isLastInSpan, derivedFrom, isReplacedIfInvalid: this.isReplacedIfInvalid },
    };
  }

  async reset(safe: L2BlockRef): Promise<void> {
    this.resets.push(safe.number);
  }

  depositsOnly(rejected: DerivedAttributes): DerivedAttributes {
    this.flushes++;
    const transactions = (rejected.attributes.transactions ?? []).filter(isDepositTransaction);
    return { ...rejected, attributes: { ...rejected.attributes, transactions }, isLastInSpan: true };
  }
}

export interface HarnessOptions {
  readonly config?: RollupConfig;
  readonly l1Blocks?: number;
  readonly sequencer?: Partial<SequencerOptions>;
  readonly l1Confs?: number;
  /** shared with other harnesses, or kept across a restart */
  readonly clock?: ManualClock;
  readonly engine?: FakeEngine;
  readonly l1?: FakeL1;
  readonly safeHeads?: SafeHeadDatabase | undefined;
  readonly timeouts?: TimedOutPayloads;
  readonly inboxLimits?: UnsafeQueueLimits;
  /** `--syncmode=execution-layer`, with an engine of this kind */
  readonly engineSync?: EngineKind;
  /** the sequencer's time is checked as in a node; L1 must not be ahead of the clock */
  readonly timesBlocks?: boolean;
  /** `--syncmode.offset-el-safe` */
  readonly offsetElSafeMs?: number;
  /** `--l2.follow.source`: nothing is derived */
  readonly source?: FollowSource;
  /** the chain is one of a set */
  readonly crossSafety?: CrossSafety;
  /** false: nobody can be asked for missing blocks */
  readonly hasPeers?: boolean;
  /** replaces the scripted pipeline and everything that belongs to it */
  readonly real?: {
    readonly ahead: BlocksAhead;
    readonly createPipeline: (observer: Partial<DerivationObserver>) => DerivationPipeline;
    readonly prepareAttributes: PrepareAttributes;
    readonly findHeads: (log: Logger, rewind: Rewind | undefined) => Promise<FoundHeads>;
    readonly isCritical: (error: unknown) => boolean;
  };
}

/** The driver with everything around it replaced by fakes: engine, L1, pipeline and clock. */
export function createHarness(options: HarnessOptions = {}) {
  const config = options.config ?? testConfig();
  const clock = options.clock ?? new ManualClock(GENESIS_TIME_SEC * 1_000);
  const engine = options.engine ?? new FakeEngine(config);
  const l1 = options.l1 ?? new FakeL1(options.l1Blocks ?? 1);
  const pipeline = new ScriptedPipeline(config, l1);
  const { log, logs } = recordingLogger();
  const ahead = options.real?.ahead ?? new BlocksAhead(engine, config);
  const control = new EngineControl(engine, config);
  const signals = new DriverSignals();
  const published: number[] = [];
  const counts = { resets: 0, derivationErrors: 0, publishingErrors: 0 };
  const origins = new L1OriginSelector({ l1Confs: options.l1Confs ?? 0 }, { config, l1, l1Head: () => l1.head, clock, log });
  const others: { leadership: Leadership; gossip: BlockGossip } = {
    leadership: onlySequencer,
    gossip: {
      publish: async ({ executionPayload }) => {
        published.push(executionPayload.blockNumber);
        return { kind: "published" };
      },
    },
  };
  const outlet = new BlockOutlet({
    leadership: { consent: (...args) => others.leadership.consent(...args) },
    gossip: {
      sign: async (...args) => (await others.gossip.sign?.(...args)) ?? { kind: "unsigned", reason: "nobody signs" },
      publish: (...args) => others.gossip.publish(...args),
    },
    control,
    clock,
    signLimitMs: 8_000,
    log,
    metrics: { publishingError: () => counts.publishingErrors++ },
  });
  const prepare: PrepareAttributes =
    options.real?.prepareAttributes ??
    (async (parent, origin) => ({ kind: "attributes", attributes: attributesOn(config, parent, origin) }));
  const sequencer = new Sequencer(
    { maxSafeLag: 0, recover: false, sealingDurationMs: 50, ...options.sequencer },
    {
      config,
      control,
      origins,
      clock,
      time: options.timesBlocks ? new SequencingTime({ clock, l1Head: () => l1.head, log }) : { nowMs: () => clock.unixMs() },
      log,
      prepareAttributes: prepare,
      outlet,
      leadership: { isLeader: () => others.leadership.isLeader() },
    },
  );
  const safeHeads = new SafeHeads({
    database: options.safeHeads,
    config,
    l1,
    l1Head: () => l1.head,
    onFault: (reason) => signals.requestReset(reason),
  });
  const finalizer = new Finalizer({
    l1,
    finalized: () => control.heads.finalized,
    safe: () => control.heads.safe,
    finalize: (finalized) => control.setHeads({ ...control.heads, finalized }),
    log,
    recorded: (l1Number) => safeHeads.blockAt(l1Number, engine),
  });
  const idleAt: number[] = [];
  const safeChain = new SafeChainCheck({
    config,
    l1,
    l2: engine,
    log,
    recordedAfter: (base) => safeHeads.after(base),
  });
  const safeHeadWatch = new SafeHeadWatch({ config, clock, log });
  const derives = options.real?.createPipeline(joinObservers(safeChain.observer, safeHeadWatch.observer)) ?? pipeline;
  const derivation = new DerivationRunner({
    config,
    pipeline: derives,
    ahead,
    control,
    l2: engine,
    isCritical: (error) => options.real?.isCritical(error) ?? (error instanceof Error && error.message.includes("critical")),
    log,
    crossSafety: options.crossSafety,
    safeChain,
    onReset: (base) => safeHeadWatch.onReset(base),
    onSafe: (safe, from) => {
      safeHeads.onSafe(safe, from);
      finalizer.onSafe(safe, from);
      safeHeadWatch.onSafe(safe, from);
    },
    onIdle: (origin) => {
      idleAt.push(origin.number);
      safeHeads.onIdle();
      finalizer.onDerivationIdle();
    },
    wake: () => signals.wake(),
  });
  // hashes of the fake engine's blocks cover only part of their content
  const hashed = (_: RollupConfig, envelope: ExecutionPayloadEnvelope): HashedPayload =>
    HashedPayload.of(
      envelope,
      payloadToHeader(envelope, undefined, () => envelope.executionPayload.blockHash),
    );
  const inbox = new UnsafeInbox({
    config,
    headNumber: () => control.headsIfKnown?.unsafe.number,
    hashed,
    onQueued: () => signals.wake(),
    ...(options.inboxLimits && { limits: options.inboxLimits }),
  });
  const engineSync =
    options.engineSync &&
    new ExecutionLayerSync(
      { kind: options.engineSync, offsetMs: options.offsetElSafeMs ?? 0 },
      { config, inbox, engine, l2: engine, control, lastRecorded: () => options.safeHeads?.last, clock, log },
    );
  /** what the node has asked other nodes for */
  const missing: MissingBlocks[] = [];
  /** as `prepare`, with the gas limit that L1 says */
  const preparedForCheck: PrepareAttributes = async (parent, origin) => {
    const prepared = await prepare(parent, origin);
    if (options.real !== undefined || prepared.kind !== "attributes") return prepared;
    const system = (await engine.systemConfigByHash(parent.hash))!;
    const receipts = origin.hash === parent.l1Origin.hash ? [] : (await l1.receipts(origin.hash))!;
    const { gasLimit } = applySystemConfigUpdates(config, system, receipts, origin.timestamp).systemConfig;
    const { attributes } = prepared;
    return { kind: "attributes", attributes: { ...attributes, gasLimit: gasLimit + upgradeGasAt(config, attributes.timestamp) } };
  };
  const request = options.hasPeers === false ? undefined : (blocks: MissingBlocks) => void missing.push(blocks);
  const gap = new UnsafeGap({ config, control, inbox, clock, log, request });
  const refused = new RefusedBlocks({ clock, log });
  const unsafe = new UnsafeInserter({
    inbox,
    control,
    l2: engine,
    gap,
    clock,
    log,
    sequencer,
    refused,
    isDenied: (number, hash) => options.crossSafety?.isDenied(number, hash) === true,
    check: new UnsafeBlockCheck({
      config,
      l1,
      l1Head: () => l1.head,
      l2: engine,
      prepareAttributes: options.source === undefined ? preparedForCheck : undefined,
      clock,
    }),
    timeouts: options.timeouts ?? new TimedOutPayloads(undefined, log),
  });
  const sourceMetrics = { requests: [] as string[], reorgs: [] as string[] };
  /** what our own L1 calls final; by default all of it */
  const final: { l1: L1BlockRef | undefined } = { l1: l1.blocks.at(-1) };
  const follower =
    options.source &&
    new Follower({
      config,
      source: options.source,
      control,
      l2: engine,
      l1: new CanonicalL1(l1),
      l1Finalized: () => final.l1,
      readAhead: async () => {},
      sequencer,
      onCurrentL1: (block) => idleAt.push(block.number),
      onLocalSafe: (block, from) => safeChain.onSafe(block, from),
      onBase: (base) => safeChain.onReset(base, base),
      wake: () => signals.wake(),
      clock,
      log,
      metrics: {
        request: (result) => sourceMetrics.requests.push(result),
        reorg: (action) => sourceMetrics.reorgs.push(action),
      },
    });
  const found: { next: FoundHeads | undefined } = { next: undefined };
  const { crossSafety } = options;
  const inSetIfAny = (derived: Verification): Verification =>
    crossSafety === undefined ? derived : inSet(derived, { crossSafety, control, l2: engine, log });
  const driver = new Driver({
    signals,
    control,
    sequencer,
    unsafe,
    verification: follower ?? inSetIfAny(byDerivation(derivation, finalizer, () => [])),
    engineSync,
    gap,
    clock,
    random: () => 0,
    log,
    metrics: { reset: () => counts.resets++, derivationError: () => counts.derivationErrors++ },
    findHeads: async () => {
      if (options.real !== undefined) {
        const start = await options.real.findHeads(log, safeChain.rewind);
        if (start.kind !== "found") return start;
        safeChain.beforeReset(start.base);
        return (await safeHeads.reset(start)) ?? start;
      }
      if (found.next !== undefined) return found.next;
      if (engine.isDown) return { kind: "temporary", reason: "engine is down" };
      const [head, safe, finalized] = [engine.head, engine.safe, engine.finalized].map((hash) => engine.block(hash).ref);
      const start = {
        kind: "found",
        unsafe: head!,
        safe: safe!,
        finalized: finalized!,
        highestFormerSafe: safe!,
        base: safe!,
      } as const;
      if (crossSafety !== undefined) return startInSet(crossSafety, start, { l2: engine });
      return follower === undefined ? start : safeChain.takenBack(start);
    },
  });

  /** Runs turns until there is nothing to do at the moment. @returns the pause that the driver then requests */
  async function untilIdle(): Promise<number> {
    for (let turns = 0; turns < 2_000; turns++) {
      const pauseMs = await driver.turn();
      await derivation.whenIdle();
      if (follower !== undefined) await new Promise(setImmediate); // what it reads in the background
      if (pauseMs > 0 && !derivation.hasPulled) return pauseMs;
    }
    throw new Error("the driver does not come to rest: it loops without pause");
  }

  /** Moves the clock in steps, and runs the driver's turns at each. */
  async function advance(ms: number, stepMs = 50): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      await untilIdle();
    }
  }

  /** Extends L1, and notifies the node. */
  function newL1Head(count = 1, branch = "a"): void {
    l1.extend(count, branch);
    derivation.onL1Change();
    follower?.onL1Head(l1.head);
    signals.wake();
  }

  const heads = () => {
    const { unsafe: u, pendingSafe, safe, finalized } = control.heads;
    return { unsafe: u.number, pendingSafe: pendingSafe.number, safe: safe.number, finalized: finalized.number };
  };
  return {
    config,
    clock,
    engine,
    l1,
    pipeline,
    control,
    outlet,
    others,
    sequencer,
    finalizer,
    derivation,
    engineSync,
    follower,
    sourceMetrics,
    final,
    safeChain,
    inbox,
    missing,
    refused,
    safeHeadWatch,
    signals,
    driver,
    logs,
    published,
    counts,
    idleAt,
    found,
    untilIdle,
    advance,
    newL1Head,
    heads,
  };
}

export type Harness = ReturnType<typeof createHarness>;

/** A user transaction of a kind that the fake engine accepts. */
export const userTransaction = (seed: number): Uint8Array => Uint8Array.of(0x02, seed, 1, 2, 3);
export const invalidTransaction = Uint8Array.of(0xee, 1, 2, 3);

/** Extends the engine's chain with blocks of its own, as if they had been gossiped or sequenced earlier. */
export function buildUnsafe(
  harness: Harness,
  blocks: readonly { origin: number; userTransactions?: readonly Uint8Array[] }[],
): L2BlockRef {
  const { engine, config, l1 } = harness;
  let parent = engine.block(engine.head).ref;
  for (const { origin, userTransactions } of blocks) {
    parent = engine.make(parent, attributesOn(config, parent, l1.blocks[origin]!, userTransactions)).ref;
  }
  engine.head = parent.hash;
  return parent;
}
