import type { BatchDropReason, DerivationObserver } from "@rnode/derivation";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import type { BlockId, L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { AttributesMismatch } from "./consolidation.ts";
import type { Heads } from "./heads.ts";
import { critical, type Trouble, temporary } from "./progress.ts";

export interface SafeChainCheckDeps {
  readonly config: Pick<RollupConfig, "genesis">;
  readonly l1: { blockByNumber(number: number): Promise<L1BlockRef | undefined> };
  readonly log: Logger;
}

/** The batcher built on a block, or on blocks, that are not in our safe chain. */
const NAMES_ANOTHER_CHAIN: ReadonlySet<BatchDropReason> = new Set([
  "parent-hash-mismatch",
  "span-parent-mismatch",
  "span-overlap-mismatch",
]);

/**
 * Does L1 say the same of blocks that were safe before? Labels outlive what they were derived from: a node that once followed an L1
 * endpoint with lies has a chain of its own, which is even final, and every block of it fits the one before.
 *
 * Derivation starts after the finalized block, so that one is taken on trust until an accepted batch builds on it. If the first batches build on
 * another block, derivation starts again further back. A block of the engine that was safe and differs from the derived one ends the
 * node: `rnode resync` takes the engine back.
 */
export class SafeChainCheck {
  private readonly deps: SafeChainCheckDeps;
  /** the block that derivation started after, until a batch on L1 builds on what follows from it */
  private unconfirmed: L2BlockRef | undefined;
  /** once in the life of a process: later everything was derived by this process itself */
  private isConfirmed = false;
  private settledNumber = 0;
  private doubted: { readonly base: L2BlockRef; readonly reason: string } | undefined;
  /** the highest safe block that this process derived, and the L1 block it came from */
  private highest: { readonly number: number; readonly derivedFrom: BlockId } | undefined;

  readonly observer: Pick<DerivationObserver, "onBatch"> = {
    onBatch: ({ batch: { type, l1InclusionBlock }, verdict }) => {
      const base = this.unconfirmed;
      if (base === undefined) return;
      if (verdict.kind === "accept" && type !== "empty") {
        this.isConfirmed = true;
        this.unconfirmed = undefined;
      } else if (verdict.kind === "drop" && NAMES_ANOTHER_CHAIN.has(verdict.reason)) {
        const reason = `the batcher does not build on L2 block ${base.number} (${type} batch in L1 block ${l1InclusionBlock.number}: ${verdict.reason})`;
        this.doubted ??= { base, reason };
      }
    },
  };

  constructor(deps: SafeChainCheckDeps) {
    this.deps = deps;
  }

  /** Why the safe chain has to be derived again from before `doubtedBase`. */
  get doubt(): string | undefined {
    return this.doubted?.reason;
  }

  /** The block below which derivation has to start. */
  get doubtedBase(): L2BlockRef | undefined {
    return this.doubted?.base;
  }

  /** Derivation starts after `base`; `settled` was safe before. */
  onReset(base: L2BlockRef, settled: L2BlockRef): void {
    this.settledNumber = settled.number;
    this.doubted = undefined;
    this.unconfirmed = this.isConfirmed || base.number <= this.deps.config.genesis.l2.number ? undefined : base;
  }

  onSafe({ number }: L2BlockRef, { hash, number: l1Number }: L1BlockRef): void {
    // what is derived again after a reset says nothing of the blocks above it
    if (this.highest === undefined || number >= this.highest.number)
      this.highest = { number, derivedFrom: { hash, number: l1Number } };
  }

  /**
   * The engine's `block` is not the one that L1 says.
   *
   * @returns undefined when it may be replaced: it was never safe, or L1 itself was reorganised
   */
  async judge(block: L2BlockRef, mismatch: AttributesMismatch, { finalized }: Heads): Promise<Trouble | undefined> {
    if (block.number > this.settledNumber) return undefined;
    if (block.number <= finalized.number) return critical(contradiction(block, "finalized", mismatch));
    const derivedFrom = this.highest?.derivedFrom;
    try {
      const now = derivedFrom && (await this.deps.l1.blockByNumber(derivedFrom.number));
      if (derivedFrom === undefined || now?.hash === derivedFrom.hash) return critical(contradiction(block, "safe", mismatch));
    } catch (error) {
      if (!isCodedError(error, "l1/")) throw error;
      return temporary(`comparing a safe block with L1: ${error.message}`);
    }
    this.deps.log.warn("L1 was reorganised under the safe chain", { l1Block: derivedFrom.number, l2Block: block.number });
    return undefined;
  }
}

/** What the operator is told; the same words wherever the chain turns out to be another than L1's. */
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
