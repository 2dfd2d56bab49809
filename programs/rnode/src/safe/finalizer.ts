import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import type { BlockId, L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import { IDLE, PROGRESS, type Progress, reset, temporaryBy } from "../common/progress.ts";

export interface FinalizerDeps {
  readonly l1: { blockByNumber(number: number): Promise<L1BlockRef | undefined> };
  readonly finalized: () => L2BlockRef;
  readonly safe: () => L2BlockRef;
  /** raises the finalized label */
  readonly finalize: (block: L2BlockRef) => void;
  /** The newest block up to `block` that other chains of the set leave final as well, by L1 up to a number; default: `block`. */
  readonly verifiedBy?: ((block: L2BlockRef, l1Number: number) => Promise<L2BlockRef | undefined>) | undefined;
  readonly log: Logger;
  /** the safe head after an L1 block, where that is recorded: after a restart, finality need not wait for newly derived blocks */
  readonly recorded?: ((l1Number: number) => Promise<DerivedBlock | undefined>) | undefined;
  /** whose data is final, too, once L1 calls a block final: an earlier one where data outside of L1 can be challenged; default: the same */
  readonly dataFinalizedBy?: ((l1Finalized: BlockId) => Promise<BlockId | undefined>) | undefined;
  /** how many L1 blocks are remembered at least; default: what L1's own finality takes */
  readonly rememberedL1Blocks?: number | undefined;
  /** while derivation is busy, finality is checked once per this many L1 blocks; default: 64 */
  readonly l1BlocksBetweenAttempts?: number | undefined;
}

/** The latest safe block derived from an L1 block and those before it. */
export interface DerivedBlock {
  readonly l1: BlockId;
  readonly l2: L2BlockRef;
}

/** errors of L1, the engine and the record */
const FAILURES = ["l1/", "engine/", "safe-heads/", "storage/"];

/** 4 epochs of 32 blocks, plus one. */
const REMEMBERED_L1_BLOCKS = 4 * 32 + 1;
/** How many L1 blocks it takes until data outside of L1 can no longer be challenged. */
export const challengeableL1Blocks = ({ altDa }: Pick<RollupConfig, "altDa">): number =>
  altDa === undefined ? 0 : altDa.daChallengeWindow + altDa.daResolveWindow + 1;

const L1_BLOCKS_BETWEEN_ATTEMPTS = 64;

/**
 * Determines which L2 block L1's finality finalizes: the last one that was derived from finalized L1 blocks.
 * Spec: docs/protocol/02-derivation.md#finality
 */
export class Finalizer {
  private readonly deps: FinalizerDeps;
  /** the latest safe block derived from each L1 block, oldest first */
  private derived: DerivedBlock[] = [];
  private l1Finalized: L1BlockRef | undefined;
  private isDue = false;
  private hasTriedSinceSignal = true;
  private lastAttemptAtL1Block = 0;

  constructor(deps: FinalizerDeps) {
    this.deps = deps;
  }

  onL1Finalized(block: L1BlockRef): void {
    if (this.l1Finalized !== undefined && block.number <= this.l1Finalized.number) return;
    this.l1Finalized = block;
    this.isDue = true;
    this.hasTriedSinceSignal = false;
  }

  onSafe(safe: L2BlockRef, derivedFrom: L1BlockRef): void {
    const last = this.derived.at(-1);
    if (last !== undefined && last.l1.number === derivedFrom.number) this.derived.pop();
    this.derived.push({ l1: { hash: derivedFrom.hash, number: derivedFrom.number }, l2: safe });
    if (this.derived.length > Math.max(REMEMBERED_L1_BLOCKS, this.deps.rememberedL1Blocks ?? 0)) this.derived.shift();
    const { l1BlocksBetweenAttempts = L1_BLOCKS_BETWEEN_ATTEMPTS } = this.deps;
    if (derivedFrom.number > this.lastAttemptAtL1Block + l1BlocksBetweenAttempts) this.isDue = true;
  }

  /** Derivation has read all of L1. Blocks derived since the last finality signal may already be final. */
  onDerivationIdle(): void {
    if (this.hasTriedSinceSignal) return;
    this.hasTriedSinceSignal = true;
    this.isDue = true;
  }

  /** Forgets the recorded L1 blocks, which may be gone. The finalized head itself stays. */
  reset(): void {
    this.derived = [];
    this.lastAttemptAtL1Block = 0;
  }

  async turn(): Promise<Progress> {
    if (!this.isDue) return IDLE;
    const outcome = await this.attempt();
    if (outcome.kind !== "temporary") this.isDue = false;
    return outcome;
  }

  private async attempt(): Promise<Progress> {
    this.lastAttemptAtL1Block = this.derived.at(-1)?.l1.number ?? 0;
    const finalizedNumber = this.deps.finalized().number;
    try {
      const { l1Finalized: ofL1 } = this;
      const l1Finalized = ofL1 && (this.deps.dataFinalizedBy === undefined ? ofL1 : await this.deps.dataFinalizedBy(ofL1));
      if (l1Finalized === undefined) return IDLE;
      const isCandidate = ({ l1, l2 }: DerivedBlock): boolean => l1.number <= l1Finalized.number && l2.number > finalizedNumber;
      const recorded = this.derived.some(isCandidate) ? undefined : await this.deps.recorded?.(l1Finalized.number);
      const candidate = this.derived.findLast(isCandidate) ?? (recorded && isCandidate(recorded) ? recorded : undefined);
      if (candidate === undefined) return IDLE;
      for (const { hash, number } of [l1Finalized, candidate.l1]) {
        const canonical = await this.deps.l1.blockByNumber(number);
        if (canonical?.hash !== hash) return reset(`L1 block ${number} was replaced although blocks were finalized from it`);
      }
      const { verifiedBy = async (block) => block } = this.deps;
      const l2 = await verifiedBy(candidate.l2, l1Finalized.number);
      if (l2 === undefined || l2.number > this.deps.safe().number || l2.number <= finalizedNumber) return IDLE;
      this.deps.finalize(l2);
      this.deps.log.debug("finalized", { number: l2.number, hash: l2.hash, l1Block: l1Finalized.number });
      return PROGRESS;
    } catch (error) {
      if (!FAILURES.some((prefix) => isCodedError(error, prefix))) throw error;
      return temporaryBy(error as Error, "finality");
    }
  }
}
