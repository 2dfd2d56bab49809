import type { L2BlockRef } from "@rnode/protocol";
import type { NextBatch } from "../batches/batch-queue.ts";
import type { DerivationConfig } from "../config.ts";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { L1Provider, L2Provider } from "../l1/providers.ts";
import type { DerivationObserver } from "../observer.ts";
import type { DerivedAttributes } from "../pipeline-types.ts";
import type { PipelineStage, Pull, Source } from "../pull.ts";
import { prepareAttributes } from "./attributes.ts";

/** Turns batches into payload attributes. Spec: docs/protocol/02-derivation.md#payload-attributes */
export class AttributesStage implements PipelineStage<DerivedAttributes> {
  readonly #config: DerivationConfig;
  readonly #position: L1Position;
  readonly #previous: Source<NextBatch>;
  readonly #providers: { readonly l1: L1Provider; readonly l2: L2Provider };
  readonly #observer: DerivationObserver;
  /** kept until its attributes are complete, because providers can fail */
  #batch: NextBatch | undefined;

  constructor(
    config: DerivationConfig,
    position: L1Position,
    previous: Source<NextBatch>,
    providers: { readonly l1: L1Provider; readonly l2: L2Provider },
    observer: DerivationObserver,
  ) {
    this.#config = config;
    this.#position = position;
    this.#previous = previous;
    this.#providers = providers;
    this.#observer = observer;
  }

  reset(): void {
    this.#batch = undefined;
  }

  /** Nothing is left by then: L1 moves on when no batch is under way. */
  activateStrictOrder(): void {}

  async next(l2SafeHead: L2BlockRef): Promise<Pull<DerivedAttributes>> {
    if (this.#batch === undefined) {
      const pulled = await this.#previous.next(l2SafeHead);
      if (pulled.kind !== "value") return pulled;
      this.#batch = pulled.value;
    }
    const { batch, isLastInSpan } = this.#batch;
    const { parentHash = l2SafeHead.hash, timestamp } = batch;
    if (parentHash !== l2SafeHead.hash || timestamp !== l2SafeHead.timestamp + this.#config.rollup.blockTimeSec) {
      const detail = `the batch at ${timestamp} s builds on ${parentHash}, the safe head is ${l2SafeHead.number} ${l2SafeHead.hash}`;
      return { kind: "reset", reason: "parent-mismatch", detail };
    }
    const prepared = await prepareAttributes(this.#config, this.#providers, l2SafeHead, batch.epoch, this.#observer);
    if (prepared.kind !== "value") return prepared;
    this.#batch = undefined;
    const { origin, rules } = this.#position;
    const attributes = { ...prepared.value, transactions: [...(prepared.value.transactions ?? []), ...batch.transactions] };
    return {
      kind: "value",
      value: {
        attributes,
        parent: l2SafeHead,
        isLastInSpan,
        derivedFrom: origin,
        isReplacedIfInvalid: rules.replacesInvalidBlocks,
      },
    };
  }
}
