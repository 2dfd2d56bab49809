import type { Hex } from "@rnode/primitives";
import { encodeTransaction, hashTransaction, isSigned, MAX_FLASHBLOCKS } from "@rnode/protocol";
import type { PendingTransaction } from "../api.ts";
import type { PartsEnd, PartsOptions, PendingBlock } from "../chain-parts.ts";
import { limitsOfPart, type PartPlan, planParts } from "./part-budget.ts";
import type { FillLimits, PayloadBuild } from "./payload-builder.ts";

/** A build, as its parts are made of it. */
type PartBuild = Pick<PayloadBuild, "header" | "blockTimeSec" | "transactionCount" | "keep" | "hasExactly" | "soFar">;

/** Adds pool transactions to the build, within a share of the limits that are in effect. */
export type FillWithin = (share: (limits: FillLimits) => FillLimits) => void;

/** The parts of one open build. What a part has is final: later parts only add to it. */
export class PartStream {
  readonly #build: PartBuild;
  readonly #payloadId: Hex;
  readonly #options: PartsOptions;
  readonly #plan: PartPlan;
  readonly #fill: FillWithin;
  /** Unix seconds; see `PartsEnd` */
  readonly #overdueSec: number;
  #last: PendingBlock | undefined;
  #lost = 0;
  #hasEnded = false;
  #timer: { readonly cancel: () => void } | undefined;

  constructor(build: PartBuild, payloadId: Hex, options: PartsOptions, fill: FillWithin) {
    this.#build = build;
    this.#payloadId = payloadId;
    this.#options = options;
    this.#fill = fill;
    const nowSec = options.clock.unixMs() / 1000;
    const restMs = 1000 * Math.min(build.header.timestamp - nowSec, build.blockTimeSec);
    this.#plan = planParts(restMs, options.intervalMs);
    this.#overdueSec = nowSec + Math.max(0, restMs) / 1000 + build.blockTimeSec;
  }

  /**
   * Publishes the first part: the forced transactions, those that were promised before, and the first ones of the pool. If the build is the
   * same as the promised one, its parts go on after those that were published.
   */
  start(promised: PendingBlock | undefined): void {
    this.#options.sink.onBegin(this.#build.header.number);
    if (promised !== undefined) {
      this.#lost = this.#build.keep(signedTransactionsOf(promised));
      if (promised.payloadId === this.#payloadId && this.#build.hasExactly(promised.block.transactions)) this.#last = promised;
    }
    this.#next();
    this.#schedule(this.#plan.firstMs);
  }

  /** Publishes what has not been published yet, after a last fill, and ends the stream. An overdue block is what was published. */
  seal(): void {
    if (!this.#isOver()) {
      this.#fill((limits) => limits);
      if (this.#hasMore) this.#publish();
    }
    this.end("sealed");
  }

  end(reason: PartsEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#timer?.cancel();
    if (this.#last !== undefined) this.#options.sink.onEnd(this.#last, reason, this.#lost);
  }

  get #hasMore(): boolean {
    return this.#build.transactionCount > (this.#last?.block.transactions.length ?? 0);
  }

  /** No part is added to a block that is overdue: another sequencer may be building it. */
  #isOver(): boolean {
    if (this.#options.clock.unixMs() / 1000 > this.#overdueSec) this.end("overdue");
    return this.#hasEnded;
  }

  #next(): void {
    const made = this.#last === undefined ? 0 : this.#last.index + 1;
    this.#fill((limits) => limitsOfPart(limits, this.#build.header.gasLimit, made, this.#plan));
    if (made <= this.#plan.parts || this.#hasMore) this.#publish(); // a late block has no empty parts
  }

  #publish(): void {
    const before = this.#last;
    const place = { payloadId: this.#payloadId, index: before === undefined ? 0 : before.index + 1 };
    this.#last = this.#build.soFar({ ...place, earlier: before?.block.transactions.length ?? 0 });
    this.#options.sink.onPart(this.#last);
  }

  #schedule(delayMs: number): void {
    if (this.#last!.index >= MAX_FLASHBLOCKS - 2) return; // the payload's last part needs an index, too
    this.#timer = this.#options.delay(delayMs, () => {
      if (this.#isOver()) return;
      try {
        this.#next();
      } catch (error) {
        this.#options.sink.onError(error); // the request for the payload repeats the work, and is answered with the error
        return;
      }
      this.#schedule(this.#options.intervalMs);
    });
  }
}

/** The transactions of users in a block under construction. */
function signedTransactionsOf({ block, senders }: PendingBlock): PendingTransaction[] {
  return block.transactions.flatMap((transaction, index) =>
    isSigned(transaction)
      ? [
          {
            transaction,
            sender: senders[index]!,
            encoded: encodeTransaction(transaction),
            hash: hashTransaction(transaction),
          },
        ]
      : [],
  );
}
