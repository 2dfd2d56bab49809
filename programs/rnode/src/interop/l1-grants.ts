import type { DerivationPipeline, L1Provider } from "@rnode/derivation";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";

export interface L1GrantsDeps {
  /** derivation has moved to an L1 block, with `derived` as the last block so far */
  readonly onOrigin: (source: L1BlockRef, derived: L2BlockRef) => void;
  /** all L1 blocks provided so far are used up */
  readonly onExhausted: (source: L1BlockRef, derived: L2BlockRef) => void;
  /** whether a block is derived and not built yet, so that its hash is not known */
  readonly isAhead: (block: L2BlockRef) => boolean;
}

/**
 * L1 as the supervisor lets derivation read it: one block further each time it provides one. What is in the block still comes from this
 * node's own L1, and only if both mean the same block.
 */
export class L1Grants {
  private readonly deps: L1GrantsDeps;
  private granted: L1BlockRef | undefined;
  private pipeline: DerivationPipeline | undefined;
  /** a reset looks for where to start, below what was read before */
  private isResetting = false;
  private announced: L1BlockRef | undefined;

  constructor(deps: L1GrantsDeps) {
    this.deps = deps;
  }

  /** the L1 block that derivation has come to; undefined before the first reset */
  get origin(): L1BlockRef | undefined {
    return this.isResetting ? undefined : this.pipeline?.origin;
  }

  /** The next L1 block may be read. */
  grant(block: L1BlockRef): void {
    this.granted = block;
  }

  /** `l1`, without the blocks that were not provided. Look-ups by hash are not affected: they belong to blocks that were. */
  guard(l1: L1Provider): L1Provider {
    return {
      blockByNumber: async (number) => {
        const { origin, granted } = this;
        if (origin === undefined || number <= origin.number) return l1.blockByNumber(number);
        if (granted?.number !== number) return undefined;
        const block = await l1.blockByNumber(number);
        if (block === undefined || block.hash === granted.hash) return block;
        if (this.granted === granted) this.granted = undefined; // L1 was reorganised since: another one will be provided
        return undefined;
      },
      blockByHash: (hash) => l1.blockByHash(hash),
      receipts: (hash) => l1.receipts(hash),
      transactions: (hash) => l1.transactions(hash),
    };
  }

  /** The pipeline, reporting where it is. */
  watch(pipeline: DerivationPipeline): DerivationPipeline {
    this.pipeline = pipeline;
    return {
      get origin() {
        return pipeline.origin;
      },
      get nextParent() {
        return pipeline.nextParent;
      },
      step: async (parent) => {
        const pulled = await pipeline.step(parent);
        const { origin } = pipeline;
        if (origin === undefined) return pulled;
        // What is announced has hashes: it waits until the block is built, and derivation comes back to the same place.
        if (this.deps.isAhead(parent)) return pulled.kind === "exhausted" ? { kind: "again" } : pulled;
        if (this.announced?.hash !== origin.hash) {
          this.announced = origin;
          this.deps.onOrigin(origin, parent);
        }
        // A block that was provided before our own L1 has it is waited for, not asked for again.
        if (pulled.kind === "exhausted" && this.granted?.number !== origin.number + 1) this.deps.onExhausted(origin, parent);
        return pulled;
      },
      reset: async (safe) => {
        this.isResetting = true;
        try {
          await pipeline.reset(safe);
          this.granted = undefined;
          this.announced = undefined;
        } finally {
          this.isResetting = false;
        }
      },
      finalizedBy: (l1Finalized) => pipeline.finalizedBy(l1Finalized),
      depositsOnly: (rejected) => pipeline.depositsOnly(rejected),
    };
  }
}
