import type { L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { L2Provider } from "../l1/providers.ts";
import type { DerivationObserver } from "../observer.ts";
import type { NextParent, SafeSince } from "../pipeline-types.ts";
import type { PipelineStage, Pull } from "../pull.ts";
import { BatchQueue, type NextBatch } from "./batch-queue.ts";
import { BatchStage } from "./batch-stage.ts";
import { L1Window } from "./l1-window.ts";
import type { BatchSource } from "./read-batch.ts";

/** The batch of the next block: from the batch queue before Holocene, from the batch stage from then on. */
export class BatchMux implements PipelineStage<NextBatch> {
  readonly #position: L1Position;
  readonly #window = new L1Window();
  readonly #queue: BatchQueue;
  readonly #stage: BatchStage;

  constructor(
    config: { readonly rollup: RollupConfig; readonly checksOverlap: boolean },
    position: L1Position,
    previous: BatchSource,
    l2: L2Provider,
    observer: DerivationObserver,
  ) {
    this.#position = position;
    this.#queue = new BatchQueue(config.rollup, position, this.#window, previous, l2, observer);
    this.#stage = new BatchStage(config, position, this.#window, previous, l2, observer);
  }

  reset(): void {
    this.#window.reset(this.#position.origin);
    this.#queue.reset();
    this.#stage.reset();
  }

  /** See `DerivationPipeline.reset`. Before Holocene, batches that are read twice lead to the same blocks. */
  skip(l2SafeHead: L2BlockRef, madeSafeBy: SafeSince): void {
    this.#stage.skip(l2SafeHead, madeSafeBy);
  }

  /** Waiting batches are dropped, the L1 blocks are kept. */
  activateStrictOrder(): void {
    this.#queue.reset();
  }

  /** No effect before Holocene, where an invalid batch does not affect later batches. */
  flush(): void {
    if (this.#position.rules.hasStrictOrder) this.#stage.flush();
  }

  get nextParent(): NextParent | undefined {
    return (this.#position.rules.hasStrictOrder ? this.#stage : this.#queue).nextParent;
  }

  next(l2SafeHead: L2BlockRef): Promise<Pull<NextBatch>> {
    return (this.#position.rules.hasStrictOrder ? this.#stage : this.#queue).next(l2SafeHead);
  }
}
