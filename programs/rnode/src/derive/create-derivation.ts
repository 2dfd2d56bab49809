import { createDecompressor } from "@rnode/compression";
import { createDerivationPipeline, type DerivationConfig, type DerivationObserver, joinObservers } from "@rnode/derivation";
import { type Feed, noFeed } from "@rnode/observe";
import { isCriticalError } from "@rnode/primitives";
import type { CrossSafety } from "../common/cross-safety.ts";
import type { NodeBase } from "../node-base.ts";
import type { RnodeOptions } from "../options.ts";
import type { SafeParts } from "../safe/create-safe.ts";
import { challengeableL1Blocks, Finalizer } from "../safe/finalizer.ts";
import type { Verification } from "../verification.ts";
import { BlocksAhead } from "./blocks-ahead.ts";
import { type CrossSafeDeps, crossSafePart, finalInSet } from "./cross-safe.ts";
import { DerivationLog } from "./derivation-log.ts";
import { DerivationRunner } from "./derivation-runner.ts";
import { l1Ahead } from "./l1-ahead.ts";
import { PipelineFeed } from "./pipeline-feed.ts";
import { withStepLog } from "./step-log.ts";

export interface DerivationDeps {
  readonly derivation: DerivationConfig;
  readonly safe: SafeParts;
  /** `undefined`: L1 alone decides what is safe */
  readonly crossSafety?: CrossSafety | undefined;
  /** of the dashboard */
  readonly feed: Feed;
  /** is told what derivation reads and decides, too */
  readonly observer: Partial<DerivationObserver> | undefined;
}

/** Derivation and finality as the node's verification. */
export function byDerivation(runner: DerivationRunner, finalizer: Finalizer, faults: () => readonly string[]): Verification {
  return {
    parts: [
      { name: "derivation", turn: () => runner.turn() },
      { name: "finality", turn: () => finalizer.turn() },
    ],
    reset: async (start) => {
      const failure = await runner.reset(start);
      if (failure === undefined) finalizer.reset();
      return failure;
    },
    holdsBack: false,
    onL1Head: () => runner.onL1Change(),
    onL1Finalized: (block) => finalizer.onL1Finalized(block),
    get faults() {
      return faults();
    },
    status: {},
    localSafe: undefined,
  };
}

/** Derivation where messages between the chains of a set are verified as well: what is derived alone is local-safe. */
export function inSet(derived: Verification, deps: CrossSafeDeps): Verification {
  const { crossSafety, control } = deps;
  const parts = [...derived.parts, crossSafePart(deps)];
  return {
    parts,
    reset: async (start) => {
      const after = crossSafety.rederivedAfter();
      const failure = await derived.reset(start);
      if (failure === undefined && after !== undefined && start.base.number <= after) crossSafety.rederives();
      return failure;
    },
    holdsBack: derived.holdsBack,
    onL1Head: (block) => {
      crossSafety.onL1Head(block);
      derived.onL1Head(block);
    },
    onL1Finalized: (block) => derived.onL1Finalized(block),
    get faults() {
      return derived.faults;
    },
    status: derived.status,
    get localSafe() {
      const heads = control.toldHeads;
      return heads && (heads.pendingSafe.number > heads.safe.number ? heads.pendingSafe : heads.safe);
    },
  };
}

/** The pipeline, with what reads for it and what follows from it. */
export function createDerivation(
  options: Pick<RnodeOptions, "l1" | "verifier" | "finality">,
  { derivation, safe: { safeHeads, safeChain, safeHeadWatch }, crossSafety, feed, observer = {} }: DerivationDeps,
  base: NodeBase,
): Verification {
  const { config, clock, log, metrics, control, progress, signals, connections } = base;
  const { l1, l2, blobs, daInputs } = connections;
  const ahead = new BlocksAhead(l2, config);
  const pipelineFeed = feed === noFeed ? undefined : new PipelineFeed({ config, clock, feed });
  const derivationLog = new DerivationLog({
    config,
    clock,
    log,
    onDropped: (...dropped) => pipelineFeed?.onDropped(...dropped),
  });
  const step = createDerivationPipeline(derivation, {
    l1: l1Ahead(options, base),
    blobs,
    daInputs,
    l2: ahead,
    decompressor: createDecompressor(),
    observer: joinObservers(
      metrics.observer,
      safeChain.observer,
      safeHeadWatch.observer,
      derivationLog.observer,
      pipelineFeed?.observer ?? {},
      observer,
    ),
  });
  const pipeline = withStepLog(step, log);
  const finalizer = new Finalizer({
    l1,
    finalized: () => control.heads.finalized,
    safe: () => control.heads.safe,
    finalize: (finalized) => control.setHeads({ ...control.heads, finalized }),
    verifiedBy: crossSafety && ((block, l1Number) => finalInSet(crossSafety, block, l1Number, { l1, l2 })),
    log,
    recorded: (l1Number) => safeHeads.blockAt(l1Number, l2),
    dataFinalizedBy: (l1Finalized) => pipeline.finalizedBy(l1Finalized),
    rememberedL1Blocks: options.finality.lookback || challengeableL1Blocks(config),
    l1BlocksBetweenAttempts: options.finality.delay || undefined,
  });
  const runner = new DerivationRunner({
    config,
    pipeline,
    ahead,
    control,
    l2,
    isCritical: isCriticalError,
    log,
    crossSafety,
    safeChain,
    onReset: (start) => {
      safeHeadWatch.onReset(start);
      derivationLog.onReset(start);
    },
    onSafe: (safe, derivedFrom) => {
      progress.onSafe(safe.number, derivedFrom);
      safeHeads.onSafe(safe, derivedFrom);
      safeHeadWatch.onSafe(safe, derivedFrom);
      pipelineFeed?.onSafe(safe, derivedFrom);
      finalizer.onSafe(safe, derivedFrom);
    },
    onIdle: (origin) => {
      progress.onIdle(origin);
      safeHeads.onIdle();
      finalizer.onDerivationIdle();
    },
    wake: () => signals.wake(),
  });
  const derived = byDerivation(runner, finalizer, () => safeHeadWatch.faults);
  return crossSafety === undefined ? derived : inSet(derived, { crossSafety, control, l2, log });
}
