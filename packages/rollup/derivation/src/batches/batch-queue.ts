import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { L2Provider } from "../l1/providers.ts";
import type { DerivationObserver } from "../observer.ts";
import type { NextParent } from "../pipeline-types.ts";
import { AGAIN, EXHAUSTED, type Pull, type Stage } from "../pull.ts";
import { type BatchContext, checkSingularBatch } from "./batch-checks.ts";
import type { BatchVerdict } from "./batch-verdict.ts";
import type { L1Window } from "./l1-window.ts";
import { type BatchSource, type BlockBatch, observed, observedBlock, type ReadBatch } from "./read-batch.ts";
import { checkWholeSpan } from "./span-batch-checks.ts";
import { SpanQueue } from "./span-queue.ts";

/** The batch of the next block. */
export interface NextBatch {
  readonly batch: BlockBatch;
  readonly isLastInSpan: boolean;
}

interface Included {
  readonly read: ReadBatch;
  readonly inclusion: L1BlockRef;
}

/** Before Holocene: batches wait, in the order of inclusion, until they fit. Spec: docs/protocol/02-derivation.md#batch-queue */
export class BatchQueue implements Stage<NextBatch> {
  readonly #config: RollupConfig;
  readonly #position: L1Position;
  readonly #window: L1Window;
  readonly #previous: BatchSource;
  readonly #l2: L2Provider;
  readonly #observer: DerivationObserver;
  readonly #span = new SpanQueue();
  #batches: Included[] = [];
  /** read, but not checked yet because a provider failed */
  #arriving: Included | undefined;

  constructor(
    config: RollupConfig,
    position: L1Position,
    window: L1Window,
    previous: BatchSource,
    l2: L2Provider,
    observer: DerivationObserver,
  ) {
    this.#config = config;
    this.#position = position;
    this.#window = window;
    this.#previous = previous;
    this.#l2 = l2;
    this.#observer = observer;
  }

  reset(): void {
    this.#span.clear();
    this.#batches = [];
    this.#arriving = undefined;
  }

  get nextParent(): NextParent | undefined {
    if (!this.#span.isEmpty) return "unnamed";
    return this.#arriving === undefined && this.#batches.length === 0 ? this.#previous.nextParentHash : undefined;
  }

  async next(l2SafeHead: L2BlockRef): Promise<Pull<NextBatch>> {
    if (!this.#span.isEmpty) {
      if (this.#span.nextTimestamp === l2SafeHead.timestamp + this.#config.blockTimeSec) return this.#fromSpan();
      // The block before it was not built, so the rest of the span cannot be built either.
      this.#span.clear();
    }
    const { origin } = this.#position;
    this.#window.update(origin, l2SafeHead);
    const isBehind = origin.number < l2SafeHead.l1Origin.number;
    let isOutOfData = false;
    if (this.#arriving === undefined) {
      const pulled = await this.#previous.next(l2SafeHead);
      if (pulled.kind === "exhausted") isOutOfData = true;
      else if (pulled.kind !== "value") return pulled;
      else if (!isBehind) this.#arriving = { read: pulled.value, inclusion: origin };
    }
    // Data before the safe head's origin is already part of the safe chain.
    if (isBehind) return isOutOfData ? EXHAUSTED : AGAIN;
    if (this.#arriving !== undefined) await this.#arrive(this.#arriving, l2SafeHead);
    return this.#derive(l2SafeHead, isOutOfData);
  }

  async #arrive(included: Included, l2SafeHead: L2BlockRef): Promise<void> {
    const verdict = await this.#check(included, l2SafeHead);
    this.#arriving = undefined;
    if (verdict.kind !== "accept") this.#tell(included, verdict);
    if (verdict.kind !== "drop") this.#batches.push(included);
  }

  async #derive(l2SafeHead: L2BlockRef, isOutOfData: boolean): Promise<Pull<NextBatch>> {
    const mismatch = this.#window.mismatch(l2SafeHead);
    if (mismatch !== undefined) return mismatch;
    const nothing = isOutOfData ? EXHAUSTED : AGAIN;
    const remaining: Included[] = [];
    const dropped: [Included, BatchVerdict][] = [];
    const finish = (rest: readonly Included[]): void => {
      this.#batches = [...remaining, ...rest];
      for (const [included, verdict] of dropped) this.#tell(included, verdict);
    };
    for (const [i, included] of this.#batches.entries()) {
      const verdict = await this.#check(included, l2SafeHead);
      if (verdict.kind === "undecided") {
        finish(this.#batches.slice(i));
        return nothing;
      }
      if (verdict.kind === "accept") {
        finish(this.#batches.slice(i + 1));
        this.#tell(included, verdict);
        const accepted = this.#take(included.read, l2SafeHead);
        return accepted ?? nothing;
      }
      if (verdict.kind === "drop") dropped.push([included, verdict]);
      else remaining.push(included);
    }
    finish([]);
    const empty = this.#window.nextEmptyBatch(this.#config, l2SafeHead, isOutOfData);
    if (empty === undefined) return nothing;
    this.#observer.onBatch({
      batch: {
        ...observedBlock(empty),
        type: "empty",
        channelId: undefined,
        l1InclusionBlock: this.#position.origin,
        fromSpan: false,
      },
      verdict: { kind: "accept" },
    });
    return { kind: "value", value: { batch: empty, isLastInSpan: true } };
  }

  #take(read: ReadBatch, l2SafeHead: L2BlockRef): Pull<NextBatch> | undefined {
    if (read.kind === "singular") return { kind: "value", value: { batch: read.batch, isLastInSpan: true } };
    return this.#span.fill(read, this.#window.blocks, l2SafeHead) ? this.#fromSpan() : undefined;
  }

  #fromSpan(): Pull<NextBatch> {
    const batch = this.#span.pop();
    return { kind: "value", value: { batch, isLastInSpan: this.#span.isEmpty } };
  }

  #check({ read, inclusion }: Included, l2SafeHead: L2BlockRef): Promise<BatchVerdict> | BatchVerdict {
    const context: BatchContext = { config: this.#config, l1Blocks: this.#window.blocks, l2SafeHead, inclusion };
    return read.kind === "span" ? checkWholeSpan(context, read, this.#l2) : checkSingularBatch(context, read.batch);
  }

  #tell({ read, inclusion }: Included, verdict: BatchVerdict): void {
    this.#observer.onBatch({ batch: observed(read, inclusion), verdict });
  }
}
