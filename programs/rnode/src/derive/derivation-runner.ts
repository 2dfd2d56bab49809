import type { DerivationPipeline, DerivedAttributes } from "@rnode/derivation";
import type { L2Block } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { type BlockId, isDepositTransaction, type L1BlockRef, type L2BlockRef, type RollupConfig } from "@rnode/protocol";
import { attributesMismatch } from "../common/consolidation.ts";
import type { CrossSafety } from "../common/cross-safety.ts";
import { withDerived, withDerivedTip } from "../common/heads.ts";
import { critical, IDLE, PROGRESS, type Progress, reset, type Trouble, temporary, temporaryBy } from "../common/progress.ts";
import type { EngineControl } from "../engine/engine-control.ts";
import type { SafeChainCheck } from "../safe/safe-chain-check.ts";
import type { BlocksAhead } from "./blocks-ahead.ts";
import { PipelinePuller, type PullEnd } from "./pipeline-puller.ts";

export interface DerivationRunnerDeps {
  readonly config: RollupConfig;
  readonly pipeline: DerivationPipeline;
  readonly ahead: BlocksAhead;
  readonly control: EngineControl;
  readonly l2: { blockByNumber(number: number): Promise<L2Block | undefined> };
  /** recognises a derivation failure that cannot be solved by trying again */
  readonly isCritical: (error: unknown) => boolean;
  readonly log: Logger;
  readonly safeChain: SafeChainCheck;
  /** derivation starts over after `base` */
  readonly onReset: (base: L2BlockRef) => void;
  /** a block became safe, derived from L1 data up to and including `derivedFrom` */
  readonly onSafe: (safe: L2BlockRef, derivedFrom: L1BlockRef) => void;
  /** `undefined`: L1 alone decides what is safe */
  readonly crossSafety: CrossSafety | undefined;
  /** all of L1 up to and including `origin` has been read */
  readonly onIdle: (origin: L1BlockRef) => void;
  /** something that `turn` is waiting for in the background has arrived */
  readonly wake: () => void;
}

/**
 * How many blocks are built one after the other, where the engine can only build one at a time, before the other parts of the driver have
 * their turn.
 */
const BUILDS_A_TURN = 8;

/**
 * Turns what the pipeline derives into safe blocks: blocks that are already in the unsafe chain are confirmed, the others are built.
 *
 * Reading L1 can take long. It therefore goes on in the background while the driver does other things, and while the engine builds
 * (`PipelinePuller`); the heads change only in `turn`.
 *
 * Spec: docs/protocol/02-derivation.md#heads-and-consolidation,
 * docs/protocol/02-derivation.md#processing-attributes-and-invalid-payloads
 */
export class DerivationRunner {
  private readonly deps: DerivationRunnerDeps;
  private readonly puller: PipelinePuller;
  /** derived, each on the one before; their parents may be blocks ahead */
  private queue: DerivedAttributes[] = [];
  private isExhausted = false;
  /** L1 got new blocks during a pull, which may have checked before they arrived */
  private hasL1Changed = false;
  /** false: the engine builds one block at a time */
  private engineExtends = true;
  /** the last block of a whole batch; below the safe head while the safe chain is derived again */
  private concluded: L2BlockRef | undefined;
  private lastSaidSafe: L2BlockRef | undefined;

  constructor(deps: DerivationRunnerDeps) {
    this.deps = deps;
    this.puller = new PipelinePuller(deps);
  }

  /** L1 has more blocks than when the pipeline last checked. */
  onL1Change(): void {
    this.isExhausted = false;
    this.hasL1Changed = true;
  }

  /** Starts over with the block after `base`. @returns what went wrong; undefined: nothing */
  async reset({
    base,
    finalized,
    highestFormerSafe,
    derivedFrom,
  }: {
    readonly base: L2BlockRef;
    readonly finalized: L2BlockRef;
    readonly highestFormerSafe: L2BlockRef;
    /** the L1 block whose data made `base` the safe head, where that is recorded */
    readonly derivedFrom?: BlockId | undefined;
  }): Promise<Trouble | undefined> {
    await this.puller.clear();
    this.queue = [];
    this.deps.ahead.clear();
    this.isExhausted = false;
    this.engineExtends = true; // the engine may be another one by now
    this.concluded = base;
    const { safeChain, pipeline } = this.deps;
    try {
      const since = await safeChain.safeSince(base, finalized, derivedFrom);
      safeChain.onReset(base, highestFormerSafe);
      this.deps.onReset(base);
      await pipeline.reset(base, since);
      return undefined;
    } catch (error) {
      return this.failureOf(error);
    }
  }

  async turn(): Promise<Progress> {
    if (this.queue.length > 0) return this.processQueue();
    const rewind = this.puller.hasPulled ? this.deps.safeChain.rewind : undefined;
    if (rewind !== undefined) return reset(rewind.reason);
    const { items, end } = this.puller.take();
    if (items.length > 0) {
      this.queue = [...items];
      return this.processQueue();
    }
    if (end !== undefined) return this.takeEnd(end);
    if (!this.isExhausted && !this.puller.isPulling) {
      this.hasL1Changed = false;
      this.deps.ahead.clear();
      const { pendingSafe, unsafe } = this.deps.control.heads;
      this.puller.start(pendingSafe, pendingSafe.number >= unsafe.number);
    }
    return IDLE;
  }

  /** Whether the pipeline has produced something that no turn has handled yet. */
  get hasPulled(): boolean {
    return this.puller.hasPulled;
  }

  /** Resolves when nothing is in progress in the background. */
  whenIdle(): Promise<void> {
    return this.puller.whenIdle();
  }

  private takeEnd(end: PullEnd): Progress {
    if (end.kind === "failed") return this.failureOf(end.error);
    const { pull } = end;
    switch (pull.kind) {
      case "again":
        return PROGRESS;
      case "exhausted": {
        const { origin } = this.deps.pipeline;
        this.isExhausted = !this.hasL1Changed;
        this.saySafe(origin);
        if (origin !== undefined) this.deps.onIdle(origin);
        return this.isExhausted ? IDLE : PROGRESS;
      }
      case "reset":
        return reset(`derivation: ${pull.reason} (${pull.detail})`);
    }
  }

  /** Logs one line for everything that was derived until there was nothing left to read. */
  private saySafe(origin: L1BlockRef | undefined): void {
    const { safe } = this.deps.control.heads;
    const before = this.lastSaidSafe;
    this.lastSaidSafe = safe;
    if (before?.hash === safe.hash) return;
    const blocks = before === undefined ? undefined : safe.number - before.number;
    this.deps.log.info("safe head", { number: safe.number, hash: safe.hash, blocks, l1Block: origin?.number });
  }

  private failureOf(error: unknown): Trouble {
    const reason = `derivation: ${error instanceof Error ? error.message : String(error)}`;
    if (this.deps.isCritical(error)) return critical(reason);
    if (isCodedError(error, "derivation/l1-origin-missing")) return reset(reason);
    if (!isCodedError(error)) throw error;
    return temporaryBy(error, "derivation");
  }

  private async processQueue(): Promise<Progress> {
    for (let builds = 1; ; builds++) {
      const { pendingSafe, unsafe } = this.deps.control.heads;
      const [first] = this.queue;
      if (first === undefined) return PROGRESS;
      if (!this.isOn(first, pendingSafe)) return this.otherParent(first, pendingSafe);
      const derived = { ...first, parent: pendingSafe };
      if (pendingSafe.number > unsafe.number) return reset("the derived chain is ahead of the unsafe chain");
      if (pendingSafe.number < unsafe.number) return this.consolidate(derived);
      if (this.engineExtends) return this.extend(derived);
      const progress = await this.build(derived);
      const isDone = progress.kind !== "progress" || this.queue.length === 0 || builds === BUILDS_A_TURN;
      if (isDone) return progress.kind === "progress" ? this.deps.control.sendForkchoice() : progress;
    }
  }

  /** Whether what was derived builds on this block; of a block ahead that no batch named, only the number is known. */
  private isOn({ parent }: DerivedAttributes, block: L2BlockRef): boolean {
    const { ahead } = this.deps;
    if (parent.number !== block.number) return false;
    return parent.hash === block.hash || (ahead.isAhead(parent) && !ahead.isNamed(parent));
  }

  private otherParent({ parent }: DerivedAttributes, tip: L2BlockRef): Progress {
    if (this.deps.ahead.isNamed(parent)) this.puller.ignoreNames(parent.number);
    return reset(
      `the derived block builds on block ${parent.number} ${parent.hash}, the safe chain ends with ${tip.number} ${tip.hash}`,
    );
  }

  /** The engine has built a block whose batch names another parent: its head goes back to the last one that L1 says. */
  private async takeBack(derived: DerivedAttributes): Promise<Progress> {
    const { control } = this.deps;
    const told = await control.sendForkchoice();
    return told.kind === "progress" ? this.otherParent(derived, control.heads.pendingSafe) : told;
  }

  /** The unsafe chain already has a block at this height: checks whether it is the derived one. */
  private async consolidate(derived: DerivedAttributes): Promise<Progress> {
    const { control, log, config } = this.deps;
    const number = derived.parent.number + 1;
    let block: L2Block | undefined;
    try {
      block = await this.deps.l2.blockByNumber(number);
    } catch (error) {
      if (!isCodedError(error, "engine/")) throw error;
      return temporary(`consolidation: ${error.message}`);
    }
    if (block === undefined) return reset(`the engine has lost the unsafe block ${number}`);
    if (this.isDenied(block.ref)) return this.replaceUnsafe(derived);
    const mismatch = attributesMismatch(config, derived.attributes, derived.parent, block);
    if (mismatch !== undefined) {
      if (this.isFinalReplacement(derived, block)) return this.replaceDenied(derived, block.ref);
      const trouble = await this.deps.safeChain.checkReplacement(block, derived, mismatch, control.heads);
      if (trouble !== undefined) return trouble.kind === "critical" ? this.tryOut(derived, trouble) : trouble;
      log.warn("unsafe block differs from what L1 says, replacing it", { number, hash: block.ref.hash, field: mismatch });
      return this.replaceUnsafe(derived);
    }
    control.setHeads(withDerived(control.heads, block.ref, this.isSafe(derived, block.ref)));
    this.finish(derived, block.ref);
    return PROGRESS;
  }

  private async replaceUnsafe(derived: DerivedAttributes): Promise<Progress> {
    const progress = await this.build(derived);
    return progress.kind === "progress" ? this.deps.control.sendForkchoice() : progress;
  }

  /** Has the engine build everything that waits, while the pipeline derives what follows. */
  private async extend(first: DerivedAttributes): Promise<Progress> {
    const { control } = this.deps;
    const wanted = [first, ...this.queue.slice(1)];
    this.puller.startAfter(this.queue.at(-1)!);
    const extended = await control.extend(
      first.parent,
      wanted.map(({ attributes }) => attributes),
    );
    if (extended.kind === "unsupported") {
      this.engineExtends = false;
      return PROGRESS;
    }
    if (extended.kind !== "extended") return extended;
    const { blocks, invalid } = extended;
    for (const [index, { ref }] of blocks.entries()) {
      const derived = wanted[index]!;
      if (!this.isOn(derived, control.heads.pendingSafe)) return this.takeBack(derived);
      if (this.isDenied(ref)) return this.replaceDenied({ ...derived, parent: control.heads.pendingSafe }, ref);
      control.setHeads(withDerivedTip(control.heads, ref, this.isSafe(derived, ref)));
      this.finish(derived, ref);
    }
    if (invalid === undefined) return blocks.length > 0 ? PROGRESS : temporary("the engine built no block");
    const [refused] = this.queue;
    if (refused === undefined) return PROGRESS;
    if (!this.isOn(refused, control.heads.pendingSafe)) return this.takeBack(refused);
    return this.handleInvalid({ ...refused, parent: control.heads.pendingSafe }, invalid.reason);
  }

  /**
   * L1 contradicts a safe block only if what L1 says can be executed. An invalid batch was dropped or replaced when the block became
   * safe, and is so again. Otherwise the engine gets its head back, and stays as it is.
   */
  private async tryOut(derived: DerivedAttributes, contradiction: Trouble): Promise<Progress> {
    const { control } = this.deps;
    const started = await control.startBuild(derived.parent, derived.attributes);
    if (started.kind === "invalid") return this.handleInvalid(derived, started.reason);
    if (started.kind === "temporary") return started;
    if (started.kind === "started") {
      const sealed = await control.seal(started.job);
      if (sealed.kind === "expired") return temporary(`the engine could not deliver a derived payload: ${sealed.reason}`);
      if (sealed.kind === "sealed" && this.isDenied(sealed.ref)) return this.replaceDenied(derived, sealed.ref);
      const inserted = sealed.kind === "sealed" ? await control.insert(sealed.envelope) : undefined;
      if (inserted?.kind === "invalid") return this.handleInvalid(derived, inserted.reason);
      if (inserted?.kind === "temporary") return inserted;
    }
    const told = await control.sendForkchoice();
    return told.kind === "temporary" ? told : this.deps.safeChain.rewindOr(contradiction, derived.parent.number + 1);
  }

  private async build(derived: DerivedAttributes): Promise<Progress> {
    const { control, log } = this.deps;
    const started = await control.startBuild(derived.parent, derived.attributes);
    if (started.kind === "invalid") return this.handleInvalid(derived, started.reason);
    if (started.kind !== "started") return started;
    const sealed = await control.seal(started.job);
    if (sealed.kind === "expired") return temporary(`the engine could not deliver a derived payload: ${sealed.reason}`);
    if (sealed.kind === "malformed") {
      log.error("the engine built a payload that cannot be a block of this chain", {
        number: derived.parent.number + 1,
        reason: sealed.reason,
      });
      return (await this.dropQueue(derived)) ? this.readAgain(derived) : PROGRESS;
    }
    if (this.isDenied(sealed.ref)) return this.replaceDenied(derived, sealed.ref);
    const inserted = await control.insert(sealed.envelope);
    if (inserted.kind === "invalid") return this.handleInvalid(derived, inserted.reason);
    if (inserted.kind !== "inserted") return inserted;
    control.setHeads(withDerivedTip(control.heads, sealed.ref, this.isSafe(derived, sealed.ref)));
    this.finish(derived, sealed.ref);
    return PROGRESS;
  }

  /** Whether L1 alone makes a derived block safe. */
  private isSafe({ isLastInSpan }: DerivedAttributes, { timestamp }: L2BlockRef): boolean {
    return isLastInSpan && this.deps.crossSafety?.decidesAt(timestamp) !== true;
  }

  private isDenied({ number, hash }: L2BlockRef): boolean {
    return this.deps.crossSafety?.isDenied(number, hash) === true;
  }

  /** Whether a final block took the place of a denied one. The engine builds nothing below it, so the denied block itself is not seen again. */
  private isFinalReplacement({ attributes, parent }: DerivedAttributes, block: L2Block): boolean {
    const { config, control, crossSafety } = this.deps;
    const { number } = block.ref;
    if (crossSafety === undefined || number > control.heads.finalized.number) return false;
    if (!crossSafety.isDenied(number)) return false;
    const transactions = (attributes.transactions ?? []).filter(isDepositTransaction);
    return attributesMismatch(config, { ...attributes, transactions }, parent, block) === undefined;
  }

  /** What L1 says executes an invalid message: its deposits-only form takes its place. */
  private replaceDenied(derived: DerivedAttributes, { number, hash }: L2BlockRef): Promise<Progress> {
    return this.handleInvalid(derived, `block ${number} ${hash} executes an invalid message of another chain`);
  }

  /** @param block the block that was derived: below the safe head while the safe chain is derived again */
  private finish(derived: DerivedAttributes, block: L2BlockRef): void {
    this.queue.shift();
    if (!derived.isLastInSpan) return;
    this.concluded = block;
    this.deps.safeChain.onSafe(block, derived.derivedFrom);
    this.deps.onSafe(block, derived.derivedFrom);
  }

  /**
   * Forgets what was derived on a block that is not built after all.
   *
   * @returns whether the pipeline has taken singular batches for it, which otherwise would have waited
   */
  private async dropQueue({ parent }: DerivedAttributes): Promise<boolean> {
    const { ahead } = this.deps;
    const dropped = [...this.queue, ...(await this.puller.dropItems())];
    this.queue = [];
    return dropped.some((other) => other.parent.number > parent.number && ahead.isNamed(other.parent));
  }

  /** Derives what follows a block once more, without relying on what batches say of the blocks before them. */
  private readAgain({ parent }: DerivedAttributes): Progress {
    this.puller.ignoreNames(parent.number);
    return reset(`block ${parent.number + 1} is not built, and batches that name it as their parent have been read`);
  }

  /** L1 contains a block that cannot be executed. Spec: docs/protocol/02-derivation.md#processing-attributes-and-invalid-payloads */
  private async handleInvalid(derived: DerivedAttributes, reason: string): Promise<Progress> {
    const { control, pipeline, log } = this.deps;
    const number = derived.parent.number + 1;
    if ((derived.attributes.transactions ?? []).every(isDepositTransaction)) {
      return critical(`block ${number} has only deposits, and the engine calls it invalid: ${reason}`);
    }
    const hasTakenMore = await this.dropQueue(derived);
    if (derived.isReplacedIfInvalid) {
      log.warn("derived block is invalid, building it with its deposits only", { number, reason });
      this.queue = [pipeline.depositsOnly(derived)];
      return PROGRESS;
    }
    log.warn("derived block is invalid, dropping its batch", { number, reason });
    const { heads } = control;
    const restored = heads.backupUnsafe ?? heads.unsafe;
    control.setHeads({ ...heads, pendingSafe: this.concluded ?? heads.safe, unsafe: restored, backupUnsafe: undefined });
    const told = await control.sendForkchoice();
    return told.kind === "progress" && hasTakenMore ? this.readAgain(derived) : told;
  }
}
