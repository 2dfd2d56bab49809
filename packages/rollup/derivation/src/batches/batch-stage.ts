import type { Hex } from "@rnode/primitives";
import type { BlockId, L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { L2Provider } from "../l1/providers.ts";
import type { DerivationObserver } from "../observer.ts";
import { DerivationError, type NextParent, type SafeSince } from "../pipeline-types.ts";
import { AGAIN, type Pull, type Stage } from "../pull.ts";
import { type BatchContext, checkSingularBatch } from "./batch-checks.ts";
import type { NextBatch } from "./batch-queue.ts";
import { ACCEPT, type BatchVerdict, drop } from "./batch-verdict.ts";
import type { L1Window } from "./l1-window.ts";
import { type BatchSource, type BlockBatch, observed, observedBlock, type ReadBatch, type SpanRead } from "./read-batch.ts";
import { checkSpanOverlap, checkSpanPrefix } from "./span-batch-checks.ts";
import { SpanQueue } from "./span-queue.ts";

/** A batch that may become the next block. */
interface Candidate {
  readonly batch: BlockBatch;
  readonly channelId: Hex | undefined;
  readonly fromSpan: boolean;
}

/**
 * From Holocene on: batches must arrive in order; one that does not fit ends its channel. Spec:
 * docs/protocol/02-derivation.md#holocene-batch-stage
 */
export class BatchStage implements Stage<NextBatch> {
  readonly #config: RollupConfig;
  readonly #checksOverlap: boolean;
  readonly #position: L1Position;
  readonly #window: L1Window;
  readonly #previous: BatchSource;
  readonly #l2: L2Provider;
  readonly #observer: DerivationObserver;
  readonly #span = new SpanQueue();
  /** read, but not checked yet because a provider failed */
  #arriving: SpanRead | undefined;
  /** the data that made `safeHead` the safe head; `isReached`: the current read position is beyond it */
  #known: (SafeSince & { readonly safeHead: string; isReached: boolean }) | undefined;

  constructor(
    config: { readonly rollup: RollupConfig; readonly checksOverlap: boolean },
    position: L1Position,
    window: L1Window,
    previous: BatchSource,
    l2: L2Provider,
    observer: DerivationObserver,
  ) {
    this.#config = config.rollup;
    this.#checksOverlap = config.checksOverlap;
    this.#position = position;
    this.#window = window;
    this.#previous = previous;
    this.#l2 = l2;
    this.#observer = observer;
  }

  reset(): void {
    this.#forget();
    this.#known = undefined;
  }

  /** Batches up to an L1 block were read before, and led to `l2SafeHead`. */
  skip(l2SafeHead: L2BlockRef, madeSafeBy: SafeSince): void {
    this.#known = { ...madeSafeBy, safeHead: l2SafeHead.hash, isReached: false };
  }

  /** Forward invalidation: the rest of the span and of the channel builds on a block that is not in the chain. */
  flush(): void {
    this.#forget();
    this.#previous.flush();
  }

  #forget(): void {
    this.#span.clear();
    this.#arriving = undefined;
  }

  get nextParent(): NextParent | undefined {
    if (!this.#span.isEmpty) return "unnamed";
    return this.#arriving === undefined ? this.#previous.nextParentHash : undefined;
  }

  async next(l2SafeHead: L2BlockRef): Promise<Pull<NextBatch>> {
    const { origin } = this.#position;
    this.#window.update(origin, l2SafeHead);
    const known = this.#known?.safeHead === l2SafeHead.hash ? this.#known : undefined;
    const l1Block = known?.l1Block;
    if (l1Block !== undefined && origin.number === l1Block.number && origin.hash !== l1Block.hash) return replaced(l1Block, origin);
    const readUpTo = l1Block === undefined ? 0 : l1Block.number - 1;
    // A channel that ends in the safe head's origin, or before it, can only contain blocks of the safe chain.
    if (origin.number <= Math.max(l2SafeHead.l1Origin.number, readUpTo)) return this.#past(l2SafeHead);
    if (known?.isReached === false && origin.number === known.l1Block.number) {
      // At the end of this L1 block, the window moved on as it does below.
      const pulled = await this.#past(l2SafeHead);
      if (pulled.kind !== "exhausted") return pulled;
      known.isReached = true;
    }
    const blocks = this.#window.blocks.length;
    if (blocks < 2) throw new DerivationError("derivation/l1-blocks-missing", { known: blocks, l1Origin: origin.number });
    const mismatch = this.#window.mismatch(l2SafeHead);
    if (mismatch !== undefined) return mismatch;
    const pulled = await this.#candidate(l2SafeHead);
    if (pulled.kind === "exhausted") return this.#empty(l2SafeHead);
    if (pulled.kind !== "value") return pulled;
    return this.#judge(pulled.value, l2SafeHead);
  }

  /** Reads a batch that was read before. */
  async #past(l2SafeHead: L2BlockRef): Promise<Pull<never>> {
    const pulled = await this.#previous.next(l2SafeHead);
    if (pulled.kind !== "value") return pulled;
    const read = pulled.value;
    const known = this.#known;
    const isIn = known !== undefined && !known.isWhole && known.l1Block.number === this.#position.origin.number;
    if (isIn && hasBlock(read, l2SafeHead)) {
      known.isReached = true;
      // The rest of a span may not have been read yet.
      if (read.kind === "span") {
        this.#arriving = read;
        return AGAIN;
      }
    }
    this.#observer.onBatch({ batch: observed(read, this.#position.origin), verdict: { kind: "past" } });
    return AGAIN;
  }

  async #candidate(l2SafeHead: L2BlockRef): Promise<Pull<Candidate>> {
    if (!this.#span.isEmpty) {
      if (this.#span.nextTimestamp === l2SafeHead.timestamp + this.#config.blockTimeSec) return this.#fromSpan();
      this.#span.clear();
    }
    if (this.#arriving === undefined) {
      const pulled = await this.#previous.next(l2SafeHead);
      if (pulled.kind !== "value") return pulled;
      const read = pulled.value;
      if (read.kind === "singular")
        return { kind: "value", value: { batch: read.batch, channelId: read.channelId, fromSpan: false } };
      this.#arriving = read;
    }
    return this.#openSpan(this.#arriving, l2SafeHead);
  }

  async #openSpan(read: SpanRead, l2SafeHead: L2BlockRef): Promise<Pull<Candidate>> {
    let verdict = await this.#checkSpan(read, l2SafeHead);
    this.#arriving = undefined;
    if (verdict.kind === "accept" && !this.#span.fill(read, this.#window.blocks, l2SafeHead)) verdict = drop("span-origin-missing");
    this.#observer.onBatch({ batch: observed(read, this.#position.origin), verdict });
    if (verdict.kind === "accept") return this.#fromSpan();
    if (verdict.kind === "drop") this.flush();
    return AGAIN;
  }

  async #checkSpan(read: SpanRead, l2SafeHead: L2BlockRef): Promise<BatchVerdict> {
    const context = this.#context(l2SafeHead);
    const { verdict, parent } = await checkSpanPrefix(context, read, this.#l2);
    if (parent === undefined || !this.#checksOverlap) return verdict;
    return checkSpanOverlap(context, read, parent, this.#l2);
  }

  #fromSpan(): Pull<Candidate> {
    const { channelId } = this.#span;
    return { kind: "value", value: { batch: this.#span.pop(), channelId, fromSpan: true } };
  }

  #judge(candidate: Candidate, l2SafeHead: L2BlockRef): Pull<NextBatch> {
    const verdict = checkSingularBatch(this.#context(l2SafeHead), candidate.batch);
    this.#tell(candidate, "singular", verdict);
    switch (verdict.kind) {
      case "accept":
        return { kind: "value", value: { batch: candidate.batch, isLastInSpan: true } };
      case "past":
        return AGAIN;
      case "drop":
        this.flush();
        return AGAIN;
      case "undecided":
      case "future":
        // Two origins are known, and Holocene has no future batches.
        throw new DerivationError("derivation/l1-blocks-missing", { known: this.#window.blocks.length });
    }
  }

  #empty(l2SafeHead: L2BlockRef): Pull<NextBatch> {
    const batch = this.#window.nextEmptyBatch(this.#config, l2SafeHead, true);
    if (batch === undefined) return { kind: "exhausted" };
    this.#tell({ batch, channelId: undefined, fromSpan: false }, "empty", ACCEPT);
    return { kind: "value", value: { batch, isLastInSpan: true } };
  }

  #context(l2SafeHead: L2BlockRef): BatchContext {
    return { config: this.#config, l1Blocks: this.#window.blocks, l2SafeHead, inclusion: this.#position.origin };
  }

  #tell({ batch, channelId, fromSpan }: Candidate, type: "singular" | "empty", verdict: BatchVerdict): void {
    const l1InclusionBlock = this.#position.origin;
    this.#observer.onBatch({ batch: { ...observedBlock(batch), type, channelId, l1InclusionBlock, fromSpan }, verdict });
  }
}

/** Whether a batch matches `block`, except for its transactions. */
function hasBlock(read: ReadBatch, { timestamp, parentHash, l1Origin }: L2BlockRef): boolean {
  if (read.kind === "span") return read.span.firstTimestamp <= timestamp && timestamp <= read.span.lastTimestamp;
  const { batch } = read;
  return batch.timestamp === timestamp && batch.parentHash === parentHash && batch.epoch.number === l1Origin.number;
}

function replaced(known: BlockId, origin: BlockId): Pull<never> {
  const detail = `L1 block ${known.number} was ${known.hash} when it was read before, and is ${origin.hash}`;
  return { kind: "reset", reason: "l1-reorg", detail };
}
