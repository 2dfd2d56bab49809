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

/** The batcher built on one or more blocks that are not in our safe chain. */
const NAMES_ANOTHER_CHAIN: ReadonlySet<BatchDropReason> = new Set([
  "parent-hash-mismatch",
  "span-parent-mismatch",
  "span-overlap-mismatch",
]);

/**
 * Checks whether L1 still confirms blocks that were safe before. Labels outlive the data they were derived from: a node that once
 * followed an L1 endpoint that lied has a chain of its own, even a finalized one, and each of its blocks fits the one before.
 *
 * Derivation starts after the finalized block, which is therefore taken on trust until an accepted batch builds on it. If the first
 * batches build on a different block, derivation starts again further back. If a block of the engine was safe and differs from the
 * derived one, the node stops; `rnode resync` moves the engine back.
 */
export class SafeChainCheck {
  private readonly deps: SafeChainCheckDeps;
  /** the block after which derivation started; undefined once a batch on L1 builds on the chain after it */
  private unconfirmed: L2BlockRef | undefined;
  /** set once per process: from then on, this process has derived everything itself */
  private isConfirmed = false;
  private highestFormerSafeNumber = 0;
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

  /** Why the safe chain has to be derived again from before `doubtedBase`; undefined if it need not be. */
  get doubt(): string | undefined {
    return this.doubted?.reason;
  }

  /** The block below which derivation has to start. */
  get doubtedBase(): L2BlockRef | undefined {
    return this.doubted?.base;
  }

  /** Derivation starts after `base`; blocks up to `highestFormerSafe` were safe before. */
  onReset(base: L2BlockRef, highestFormerSafe: L2BlockRef): void {
    this.highestFormerSafeNumber = highestFormerSafe.number;
    this.doubted = undefined;
    this.unconfirmed = this.isConfirmed || base.number <= this.deps.config.genesis.l2.number ? undefined : base;
  }

  onSafe({ number }: L2BlockRef, { hash, number: l1Number }: L1BlockRef): void {
    // a block that is derived again after a reset says nothing about the blocks above it
    if (this.highest === undefined || number >= this.highest.number)
      this.highest = { number, derivedFrom: { hash, number: l1Number } };
  }

  /**
   * Judges a `block` of the engine that differs from the one that L1 says.
   *
   * @returns undefined if it may be replaced: it was never safe, or L1 itself was reorganised
   */
  async judge(block: L2BlockRef, mismatch: AttributesMismatch, { finalized }: Heads): Promise<Trouble | undefined> {
    if (block.number > this.highestFormerSafeNumber) return undefined;
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
