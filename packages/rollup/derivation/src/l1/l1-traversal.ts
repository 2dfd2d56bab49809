import { applySystemConfigUpdates, type L1BlockRef, type RollupConfig, type SystemConfig } from "@rnode/protocol";
import type { DerivationObserver } from "../observer.ts";
import { DerivationError } from "../pipeline-types.ts";
import { AGAIN, EXHAUSTED, type Pull, type Source } from "../pull.ts";
import { type DerivationRules, derivationRules } from "../rules.ts";
import type { L1Provider } from "./providers.ts";

/** The position of the pipeline: every stage reads the same L1 block. */
export interface L1Position {
  readonly origin: L1BlockRef;
  readonly rules: DerivationRules;
  /** includes the updates in `origin` itself: its batcher address decides which transactions in `origin` count */
  readonly systemConfig: SystemConfig;
}

/** Walks L1 block by block. Spec: docs/protocol/02-derivation.md#pipeline-control */
export class L1Traversal implements Source<L1BlockRef>, L1Position {
  readonly #config: RollupConfig;
  readonly #l1: L1Provider;
  readonly #observer: DerivationObserver;
  #position: L1Position | undefined;
  #handedOver = false;

  constructor(config: RollupConfig, l1: L1Provider, observer: DerivationObserver) {
    this.#config = config;
    this.#l1 = l1;
    this.#observer = observer;
  }

  get isSet(): boolean {
    return this.#position !== undefined;
  }
  get origin(): L1BlockRef {
    return this.#current().origin;
  }
  get rules(): DerivationRules {
    return this.#current().rules;
  }
  get systemConfig(): SystemConfig {
    return this.#current().systemConfig;
  }

  #current(): L1Position {
    if (this.#position === undefined) throw new DerivationError("derivation/not-reset");
    return this.#position;
  }

  reset(base: L1BlockRef, systemConfig: SystemConfig): void {
    this.#moveTo(base, systemConfig);
  }

  /** Returns each block once. */
  async next(): Promise<Pull<L1BlockRef>> {
    if (this.#handedOver) return EXHAUSTED;
    this.#handedOver = true;
    return { kind: "value", value: this.origin };
  }

  /** Moves to the next L1 block. `exhausted`: L1 does not have it yet. */
  async advance(): Promise<Pull<never>> {
    const { origin, systemConfig } = this.#current();
    const next = await this.#l1.blockByNumber(origin.number + 1);
    if (next === undefined) return EXHAUSTED;
    if (next.parentHash !== origin.hash) {
      const detail = `L1 block ${next.number} ${next.hash} has the parent ${next.parentHash}, not ${origin.hash}`;
      return { kind: "reset", reason: "l1-reorg", detail };
    }
    const receipts = await this.#l1.receipts(next.hash);
    if (receipts === undefined)
      return { kind: "reset", reason: "l1-reorg", detail: `L1 block ${next.number} ${next.hash} is gone` };
    const updated = applySystemConfigUpdates(this.#config, systemConfig, receipts, next.timestamp);
    this.#moveTo(next, updated.systemConfig);
    for (const log of updated.skipped) this.#observer.onLogSkipped({ block: this.origin, contract: "SystemConfig", ...log });
    return AGAIN;
  }

  #moveTo(block: L1BlockRef, systemConfig: SystemConfig): void {
    const { hash, number, parentHash, timestamp } = block;
    this.#position = {
      origin: { hash, number, parentHash, timestamp },
      rules: derivationRules(this.#config, timestamp),
      systemConfig,
    };
    this.#handedOver = false;
    this.#observer.onL1Block(this.#position.origin);
  }
}
