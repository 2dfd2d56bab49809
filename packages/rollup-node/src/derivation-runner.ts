import type { DerivationPipeline, DerivedAttributes, Pull } from "@rnode/derivation";
import type { L2Block } from "@rnode/engine-client";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { isDepositTransaction, type L1BlockRef, type L2BlockRef, type RollupConfig } from "@rnode/protocol";
import { attributesMismatch } from "./consolidation.ts";
import type { EngineControl } from "./engine-control.ts";
import { withDerived, withDerivedTip } from "./heads.ts";
import { critical, IDLE, PROGRESS, type Progress, reset, type Trouble, temporary } from "./progress.ts";
import type { SafeChainCheck } from "./safe-chain-check.ts";

export interface DerivationRunnerDeps {
  readonly config: RollupConfig;
  readonly pipeline: DerivationPipeline;
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
  /** all of L1 up to and including `origin` has been read */
  readonly onIdle: (origin: L1BlockRef) => void;
  /** something that `turn` is waiting for in the background has arrived */
  readonly wake: () => void;
}

/** How many steps a pull may take before it returns to the driver. */
const STEPS_A_PULL = 64;

type Pulled =
  | { readonly kind: "pulled"; readonly pull: Pull<DerivedAttributes> }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Turns what the pipeline derives into safe blocks: blocks that are already in the unsafe chain are confirmed, the others are built.
 *
 * Reading L1 can take long. It therefore goes on in the background while the driver does other things; the heads change only in `turn`.
 *
 * Spec: docs/protocol/02-derivation.md#heads-and-consolidation,
 * docs/protocol/02-derivation.md#processing-attributes-and-invalid-payloads
 */
export class DerivationRunner {
  private readonly deps: DerivationRunnerDeps;
  private attributes: DerivedAttributes | undefined;
  private pulling: Promise<void> | undefined;
  private pulled: Pulled | undefined;
  private isExhausted = false;
  /** L1 got new blocks during a pull, which may have checked before they arrived */
  private hasL1Changed = false;
  private lastSaidSafe: L2BlockRef | undefined;

  constructor(deps: DerivationRunnerDeps) {
    this.deps = deps;
  }

  /** L1 has more blocks than when the pipeline last checked. */
  onL1Change(): void {
    this.isExhausted = false;
    this.hasL1Changed = true;
  }

  /** Starts over with the block after `base`. @returns what went wrong; undefined: nothing */
  async reset({
    base,
    highestFormerSafe,
  }: {
    readonly base: L2BlockRef;
    readonly highestFormerSafe: L2BlockRef;
  }): Promise<Trouble | undefined> {
    await this.pulling;
    this.attributes = undefined;
    this.pulled = undefined;
    this.isExhausted = false;
    this.deps.safeChain.onReset(base, highestFormerSafe);
    this.deps.onReset(base);
    try {
      await this.deps.pipeline.reset(base);
      return undefined;
    } catch (error) {
      return this.failureOf(error);
    }
  }

  async turn(): Promise<Progress> {
    if (this.attributes !== undefined) return this.processAttributes(this.attributes);
    const { pulled } = this;
    const doubt = pulled === undefined ? undefined : this.deps.safeChain.doubt;
    if (doubt !== undefined) return reset(doubt);
    if (pulled !== undefined) {
      this.pulled = undefined;
      return this.takePulled(pulled);
    }
    if (!this.isExhausted) this.startPull(this.deps.control.heads.pendingSafe);
    return IDLE;
  }

  /** Whether the pipeline has produced something that no turn has handled yet. */
  get hasPulled(): boolean {
    return this.pulled !== undefined;
  }

  /** Resolves when nothing is in progress in the background. */
  async whenIdle(): Promise<void> {
    await this.pulling;
  }

  private startPull(pendingSafe: L2BlockRef): void {
    if (this.pulling !== undefined) return;
    this.hasL1Changed = false;
    this.pulling = this.pull(pendingSafe).then((pulled) => {
      this.pulled = pulled;
      this.pulling = undefined;
      this.deps.wake();
    });
  }

  private async pull(pendingSafe: L2BlockRef): Promise<Pulled> {
    try {
      for (let steps = 1; ; steps++) {
        const pull = await this.deps.pipeline.step(pendingSafe);
        if (pull.kind !== "again" || steps >= STEPS_A_PULL) return { kind: "pulled", pull };
      }
    } catch (error) {
      return { kind: "failed", error };
    }
  }

  private async takePulled(pulled: Pulled): Promise<Progress> {
    if (pulled.kind === "failed") return this.failureOf(pulled.error);
    const { pull } = pulled;
    switch (pull.kind) {
      case "value":
        this.attributes = pull.value;
        return this.processAttributes(pull.value);
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
    return temporary(reason);
  }

  private async processAttributes(derived: DerivedAttributes): Promise<Progress> {
    const { pendingSafe, unsafe } = this.deps.control.heads;
    const { parent } = derived;
    if (parent.hash !== pendingSafe.hash) {
      if (parent.number === pendingSafe.number)
        return reset(`derived block builds on another block ${parent.number} than the safe chain has`);
      this.attributes = undefined;
      return PROGRESS;
    }
    if (pendingSafe.number > unsafe.number) return reset("the derived chain is ahead of the unsafe chain");
    return pendingSafe.number < unsafe.number ? this.consolidate(derived) : this.build(derived);
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
    const mismatch = attributesMismatch(config, derived.attributes, derived.parent.hash, block.envelope);
    if (mismatch !== undefined) {
      const trouble = await this.deps.safeChain.judge(block.ref, mismatch, control.heads);
      if (trouble !== undefined) return trouble;
      log.warn("unsafe block differs from what L1 says, replacing it", { number, hash: block.ref.hash, field: mismatch });
      return this.build(derived);
    }
    control.setHeads(withDerived(control.heads, block.ref, derived.isLastInSpan));
    this.finish(derived, block.ref);
    return PROGRESS;
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
      this.attributes = undefined;
      return PROGRESS;
    }
    const inserted = await control.insert(sealed.envelope);
    if (inserted.kind === "invalid") return this.handleInvalid(derived, inserted.reason);
    if (inserted.kind !== "inserted") return inserted;
    control.setHeads(withDerivedTip(control.heads, sealed.ref, derived.isLastInSpan));
    this.finish(derived, sealed.ref);
    return control.sendForkchoice();
  }

  /** @param block the block that was derived: below the safe head while a doubtful safe chain is derived again */
  private finish(derived: DerivedAttributes, block: L2BlockRef): void {
    this.attributes = undefined;
    if (!derived.isLastInSpan) return;
    this.deps.safeChain.onSafe(block, derived.derivedFrom);
    this.deps.onSafe(block, derived.derivedFrom);
  }

  /** L1 contains a block that cannot be executed. Spec: docs/protocol/02-derivation.md#processing-attributes-and-invalid-payloads */
  private async handleInvalid(derived: DerivedAttributes, reason: string): Promise<Progress> {
    const { control, pipeline, log } = this.deps;
    const number = derived.parent.number + 1;
    if ((derived.attributes.transactions ?? []).every(isDepositTransaction)) {
      return critical(`block ${number} has only deposits, and the engine calls it invalid: ${reason}`);
    }
    if (derived.isReplacedIfInvalid) {
      log.warn("derived block is invalid, building it with its deposits only", { number, reason });
      this.attributes = pipeline.depositsOnly(derived);
      return PROGRESS;
    }
    log.warn("derived block is invalid, dropping its batch", { number, reason });
    this.attributes = undefined;
    const { heads } = control;
    const restored = heads.backupUnsafe ?? heads.unsafe;
    control.setHeads({ ...heads, pendingSafe: heads.safe, unsafe: restored, backupUnsafe: undefined });
    return control.sendForkchoice();
  }
}
