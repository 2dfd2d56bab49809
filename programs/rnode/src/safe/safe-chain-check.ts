import type { BatchDropReason, DerivationObserver, DerivedAttributes, SafeSince } from "@rnode/derivation";
import type { L2Block } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { type BlockId, isDepositTransaction, type L1BlockRef, type L2BlockRef, type RollupConfig } from "@rnode/protocol";
import type { AttributesMismatch } from "../common/consolidation.ts";
import type { FoundHeads } from "../common/found-heads.ts";
import type { Heads } from "../common/heads.ts";
import { critical, reset, type Trouble, temporaryBy } from "../common/progress.ts";
import { DerivedFrom, type DerivedUpTo } from "./derived-from.ts";

export interface SafeChainCheckDeps {
  readonly config: Pick<RollupConfig, "genesis" | "seqWindowSize" | "altDa">;
  readonly l1: { blockByNumber(number: number): Promise<L1BlockRef | undefined> };
  readonly l2: { blockByNumber(number: number): Promise<L2Block | undefined> };
  /** what earlier processes recorded about safe heads above a block; undefined: no record is kept */
  readonly recordedAfter?: ((base: L2BlockRef) => Iterable<DerivedUpTo>) | undefined;
  readonly log: Logger;
}

/** The batcher built on one or more blocks that are not in our safe chain. */
const NAMES_ANOTHER_CHAIN: ReadonlySet<BatchDropReason> = new Set([
  "parent-hash-mismatch",
  "span-parent-mismatch",
  "span-overlap-mismatch",
]);

/**
 * After a batch on another chain, so many L1 blocks must have batches that do not fit before derivation is rewound: a sequencer that
 * has not noticed that a batch was invalid or late still builds on its own chain for a while.
 */
const UNFIT_L1_BLOCKS_BEFORE_REWIND = 5;

/** A contradiction is final once derivation has found it from so many starting points besides the first. */
const MAX_STARTS_FURTHER_BACK = 3;

/** Derivation has to start before `base`, and at an L1 origin that is at least `l1Blocks` older. */
export interface Rewind {
  readonly base: L2BlockRef;
  readonly l1Blocks: number;
  readonly reason: string;
}

/** So many former safe blocks are searched for a user transaction. */
const MAX_BLOCKS_SEARCHED = 1_000;

/**
 * Checks whether L1 still confirms blocks that were safe before. Labels outlive the data they were derived from: a node that once
 * followed an L1 endpoint of another chain has a chain of its own, even a finalized one, and each of its blocks fits the one before.
 *
 * Derivation starts after the finalized block, which is therefore unconfirmed until an accepted batch builds on it. If instead the
 * batches keep building on a different block, derivation starts again further back.
 *
 * If a block of the engine was safe and differs from the derived one although L1 was not reorganised, derivation starts again further
 * back, too, some times: since Holocene, what a batch leads to depends on the batches before it, and a start in the midst of a channel does
 * not see what became of those. From further back, it does. A contradiction that remains stops the node; `rnode resync` moves the engine
 * back.
 */
export class SafeChainCheck {
  private readonly deps: SafeChainCheckDeps;
  private readonly derivedFrom = new DerivedFrom();
  /** the block after which derivation started; undefined once a batch on L1 builds on the chain after it */
  private unconfirmed: L2BlockRef | undefined;
  /** set once per process: from then on, this process has derived everything itself */
  private isConfirmed = false;
  private highestFormerSafeNumber = 0;
  /** the first batch that names another chain than that of `unconfirmed` */
  private otherChain: string | undefined;
  /** L1 blocks with batches that do not fit, although their batcher could know what had become safe */
  private readonly unfitL1Blocks = new Set<number>();
  private pendingRewind: Rewind | undefined;
  /** the block after which derivation started */
  private base: L2BlockRef | undefined;
  /** starts because of a block that L1 seemed to contradict, since derivation last got beyond such a block */
  private startsFurtherBack = 0;
  private contradictedNumber = 0;
  /** timestamp of the block that was derived last because the sequencing window had ended without a batch for it */
  private filledInAtSec: number | undefined;

  readonly observer: Pick<DerivationObserver, "onBatch"> = {
    onBatch: ({ batch: { type, l1InclusionBlock, timestamp }, verdict }) => {
      if (verdict.kind === "accept") this.filledInAtSec = type === "empty" ? timestamp : undefined;
      const base = this.unconfirmed;
      if (base === undefined) return;
      if (verdict.kind === "accept" && type !== "empty") {
        this.isConfirmed = true;
        this.unconfirmed = undefined;
        return;
      }
      if (verdict.kind === "drop" && NAMES_ANOTHER_CHAIN.has(verdict.reason))
        this.otherChain ??= `${type} batch in L1 block ${l1InclusionBlock.number}: ${verdict.reason}`;
      // Before the window of `base` had ended, the batcher could not know which block there becomes safe.
      const isLate = l1InclusionBlock.number > base.l1Origin.number + this.deps.config.seqWindowSize;
      if (isLate && (verdict.kind === "drop" || verdict.kind === "future")) this.unfitL1Blocks.add(l1InclusionBlock.number);
      if (this.otherChain === undefined || this.unfitL1Blocks.size < UNFIT_L1_BLOCKS_BEFORE_REWIND) return;
      const reason = `the batcher does not build on L2 block ${base.number} (${this.otherChain}), and no batch has fitted since`;
      this.pendingRewind ??= { base, l1Blocks: 0, reason };
    },
  };

  constructor(deps: SafeChainCheckDeps) {
    this.deps = deps;
  }

  /** Why, and from where, the safe chain has to be derived again; undefined if it need not be. */
  get rewind(): Rewind | undefined {
    return this.pendingRewind;
  }

  /**
   * Takes a start back to what was derived from L1 blocks that are still there. The search for heads goes by the L1 origins of blocks, and takes as canonical
   * what is more than a sequencing window behind the newest one that L1 has. That is wrong where newer blocks were built on safe ones whose
   * batch has left L1 with a reorganisation.
   */
  async takenBack(start: Extract<FoundHeads, { readonly kind: "found" }>): Promise<FoundHeads> {
    const { base, finalized } = start;
    const [newest, ...before] = this.derivedFrom.downFrom(base.number);
    if (newest === undefined || base.number <= finalized.number) return start;
    const { l1, l2, log } = this.deps;
    try {
      const isOurs = (await l2.blockByNumber(newest.safeHead.number))?.ref.hash === newest.safeHead.hash;
      if (!isOurs || (await l1.blockByNumber(newest.l1Block.number)) === undefined || (await this.isCanonical(newest.l1Block)))
        return start;
      const kept = await this.newestCanonical(before.filter(({ safeHead }) => safeHead.number > finalized.number));
      const ref = kept === undefined ? finalized : (await l2.blockByNumber(kept.safeHead.number))?.ref;
      if (ref === undefined || ref.number >= base.number) return start;
      const reason = `L1 block ${newest.l1Block.number}, from which block ${base.number} was derived, is gone`;
      log.warn("deriving again from before safe blocks whose data L1 does not have any more", { from: ref.number, reason });
      return { ...start, safe: ref.number < start.safe.number ? ref : start.safe, base: ref, derivedFrom: undefined };
    } catch (error) {
      if (isCodedError(error)) return temporaryBy(error);
      throw error;
    }
  }

  /** The heads were found, and nothing about them has been changed yet: reads what is recorded about the blocks above `base`. */
  beforeReset(base: L2BlockRef): void {
    const { recordedAfter } = this.deps;
    if (recordedAfter !== undefined && this.derivedFrom.isEmpty) this.derivedFrom.load(recordedAfter(base));
  }

  /**
   * Since when `base` was the safe head. Data outside of L1 can be taken back until it is final.
   *
   * @param recorded the L1 block whose data made it the safe head, by what is recorded
   * @throws what L1 rejects with
   */
  async safeSince(base: BlockId, finalized: BlockId, recorded: BlockId | undefined): Promise<SafeSince | undefined> {
    if (this.deps.config.altDa !== undefined && base.number > finalized.number) return undefined;
    const since = this.derivedFrom.lastOf(base) ?? (recorded && { l1Block: recorded, isWhole: false });
    return since !== undefined && (await this.isCanonical(since.l1Block)) ? since : undefined;
  }

  /** Derivation starts after `base`; blocks up to `highestFormerSafe` were safe before. */
  onReset(base: L2BlockRef, highestFormerSafe: L2BlockRef): void {
    // The engine has been told the lower labels of the start before, which a contradiction has ended.
    const before = this.startsFurtherBack > 0 ? this.highestFormerSafeNumber : 0;
    this.highestFormerSafeNumber = Math.max(highestFormerSafe.number, before);
    this.base = base;
    this.pendingRewind = undefined;
    this.otherChain = undefined;
    this.unfitL1Blocks.clear();
    this.filledInAtSec = undefined;
    this.derivedFrom.onReset(base);
    if (base.number <= this.deps.config.genesis.l2.number) this.isConfirmed = true;
    this.unconfirmed = this.isConfirmed ? undefined : base;
  }

  onSafe(safe: L2BlockRef, l1Block: L1BlockRef): void {
    if (safe.number >= this.contradictedNumber) this.startsFurtherBack = 0;
    this.derivedFrom.onSafe(safe, l1Block);
  }

  /**
   * The engine can execute what L1 says instead of safe block `number`.
   *
   * @returns `contradiction`, or a reset after which derivation starts further back
   */
  rewindOr(contradiction: Trouble, number: number): Trouble {
    const { base, deps } = this;
    if (base === undefined || !this.canStartFurtherBack) return contradiction;
    const l1Blocks = deps.config.seqWindowSize * 2 ** this.startsFurtherBack++;
    this.contradictedNumber = number;
    const reason = `read after L2 block ${base.number}, L1 contradicts safe block ${number}: reading it from further back`;
    this.pendingRewind = { base, l1Blocks, reason };
    return reset(reason);
  }

  private get canStartFurtherBack(): boolean {
    const isAtGenesis = this.base === undefined || this.base.number <= this.deps.config.genesis.l2.number;
    return !isAtGenesis && this.startsFurtherBack < MAX_STARTS_FURTHER_BACK;
  }

  /**
   * Checks whether a `block` of the engine may be replaced by the `derived` one, which differs.
   *
   * @returns undefined if it may be replaced: it was never safe, or L1 no longer has what it was derived from
   */
  async checkReplacement(
    block: L2Block,
    derived: Pick<DerivedAttributes, "attributes" | "derivedFrom">,
    mismatch: AttributesMismatch,
    { finalized }: Heads,
  ): Promise<Trouble | undefined> {
    const { number } = block.ref;
    if (number > this.highestFormerSafeNumber) return undefined;
    try {
      if (!(await this.isCanonical(derived.derivedFrom)))
        return reset(`L1 block ${derived.derivedFrom.number} was replaced while it was read`);
      if (number <= finalized.number) return critical(contradiction(block.ref, "finalized", mismatch));
      const reason = (await this.whyUnfounded(block.ref)) ?? (await this.whyFromBatch(block, derived.attributes.timestamp));
      // Data outside of L1 can be challenged until it is final: if nobody shows it, what was derived from it goes without a reorganisation.
      if (reason === undefined && this.deps.config.altDa === undefined) return critical(contradiction(block.ref, "safe", mismatch));
      if (reason === undefined)
        this.deps.log.warn("a safe block is replaced, as its data was challenged and not shown", { l2Block: number });
      else this.deps.log.warn("L1 was reorganised under the safe chain", { l2Block: number, reason });
      // What was safe above it goes as well: a block that is made there in the meantime never was.
      this.highestFormerSafeNumber = number - 1;
      return undefined;
    } catch (error) {
      if (!isCodedError(error, "l1/") && !isCodedError(error, "engine/")) throw error;
      return temporaryBy(error, "comparing a safe block with L1");
    }
  }

  /** What shows that L1 no longer has what a block was derived from. */
  private async whyUnfounded({ number, l1Origin }: L2BlockRef): Promise<string | undefined> {
    const known = await this.recordOf(number);
    if (known !== undefined && !(await this.isCanonical(known.l1Block)))
      return `L1 block ${known.l1Block.number}, from which it was derived, is gone`;
    return (await this.isCanonical(l1Origin)) ? undefined : `its L1 origin ${l1Origin.number} is gone`;
  }

  /**
   * Where no record says what a block was derived from, the block itself can show that L1 no longer has it: nobody but the batcher makes a
   * batch that is accepted. A false answer of an endpoint can only hide it, and what is then derived has deposits only, and no batch fits it. Unless
   * the start was in the midst of a channel: that is known after a start from further back.
   */
  private async whyFromBatch(block: L2Block, derivedTimestampSec: number): Promise<string | undefined> {
    if ((await this.recordOf(block.ref.number)) !== undefined) return undefined;
    if (this.startsFurtherBack === 0 && this.canStartFurtherBack) return undefined;
    if (this.filledInAtSec === derivedTimestampSec) return "it came from a batch, and L1 has none for it";
    const user = await this.firstWithUserTransactions(block);
    return user === undefined ? undefined : `block ${user} has users' transactions, whose batch was on L1`;
  }

  private async recordOf(number: number): Promise<DerivedUpTo | undefined> {
    const known = this.derivedFrom.of(number);
    if (known === undefined) return undefined;
    return (await this.deps.l2.blockByNumber(known.safeHead.number))?.ref.hash === known.safeHead.hash ? known : undefined;
  }

  /** From a block on, as far as blocks were safe before. */
  private async firstWithUserTransactions(block: L2Block): Promise<number | undefined> {
    const last = Math.min(this.highestFormerSafeNumber, block.ref.number + MAX_BLOCKS_SEARCHED);
    for (let some: L2Block | undefined = block; some !== undefined; ) {
      if (!some.envelope.executionPayload.transactions.every(isDepositTransaction)) return some.ref.number;
      if (some.ref.number >= last) return undefined;
      some = await this.deps.l2.blockByNumber(some.ref.number + 1);
    }
    return undefined;
  }

  private async newestCanonical(newestFirst: readonly DerivedUpTo[]): Promise<DerivedUpTo | undefined> {
    for (const entry of newestFirst) if (await this.isCanonical(entry.l1Block)) return entry;
    return undefined;
  }

  private async isCanonical({ hash, number }: BlockId): Promise<boolean> {
    return (await this.deps.l1.blockByNumber(number))?.hash === hash;
  }
}

/** The advice to the operator, the same wherever a chain other than L1's is discovered. */
export function resyncAdvice(from: number): string {
  return (
    "The execution client holds a chain that L1 does not confirm, as after following an L1 endpoint with wrong answers, or after missing a reorganisation of L1. " +
    `Check that --l1 can be trusted; then, with this node stopped, "rnode resync --from=${from}" and the same options take the execution client ` +
    `back to block ${from}, and the next start derives the rest from L1 again`
  );
}

function contradiction({ number, hash }: L2BlockRef, label: "safe" | "finalized", field: AttributesMismatch): string {
  return `L2 block ${number} (${hash}) is ${label}, and L1 says otherwise: ${field} differs. ${resyncAdvice(number - 1)}`;
}
