import { type L1BlockHeader, type L1Provider, maxSequencerDriftSec } from "@rnode/derivation";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { type Hex, isCodedError } from "@rnode/primitives";
import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import { reset, type Trouble, temporaryBy } from "../common/progress.ts";

export interface L1OriginSelectorOptions {
  /** number of L1 blocks to stay behind the L1 head */
  readonly l1Confs: number;
}

export interface L1OriginSelectorDeps {
  readonly config: RollupConfig;
  readonly l1: Pick<L1Provider, "blockByNumber" | "blockByHash" | "receipts">;
  readonly l1Head: () => L1BlockRef | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export type OriginChoice =
  | {
      readonly kind: "origin";
      readonly origin: L1BlockHeader;
      /** the block's timestamp is beyond the limit up to which the sequencer may include transactions at this origin */
      readonly isPastDrift: boolean;
      /** The sequencing window of this origin is over or nearly so: a batch of the block would hardly be included in time. */
      readonly isTooLate: boolean;
    }
  /** the next L1 block must be the origin, but L1 does not have it yet */
  | { readonly kind: "wait"; readonly reason: string }
  | Trouble;

/** This part of the sequencing window is left for batches to be made and included. */
const PUBLISHING_PART = 1 / 4;
/** How long to wait for the next origin while the current one is still allowed. */
const OPTIONAL_LOOKUP_MS = 300;
/** The result of a look-up of the L1 block after an origin. */
interface Lookup {
  readonly after: Hex;
  /** the L1 head at the time of the look-up; a new head is a reason to look again */
  readonly l1Head: Hex | undefined;
  readonly done: Promise<void>;
  result: { readonly block: L1BlockHeader | undefined } | { readonly error: Error } | undefined;
}

/**
 * Selects the L1 origin of the next L2 block: the block after the current origin, as soon as the rules allow.
 * Spec: docs/protocol/05-services.md#sequencing
 *
 * The next origin and its receipts are read ahead, so that a slow L1 does not delay blocks that can do without it.
 */
export class L1OriginSelector {
  private readonly options: L1OriginSelectorOptions;
  private readonly deps: L1OriginSelectorDeps;
  private lookup: Lookup | undefined;

  constructor(options: L1OriginSelectorOptions, deps: L1OriginSelectorDeps) {
    this.options = options;
    this.deps = deps;
  }

  async select(head: L2BlockRef): Promise<OriginChoice> {
    const { config, l1, log } = this.deps;
    let current: L1BlockHeader | undefined;
    try {
      current = await l1.blockByHash(head.l1Origin.hash);
    } catch (error) {
      return temporaryBy(l1Failure(error), "L1 origin");
    }
    if (current === undefined) return reset(`the L1 origin ${head.l1Origin.number} of the unsafe head is gone`);
    const timestampSec = head.timestamp + config.blockTimeSec;
    const isPastDrift = timestampSec > current.timestamp + maxSequencerDriftSec(config, current.timestamp);
    const next = await this.next(current, isPastDrift);
    if ("error" in next) {
      if (isPastDrift) return temporaryBy(next.error, "next L1 origin");
      log.debug("cannot read the next L1 origin, staying with the current one", {
        number: current.number,
        reason: next.error.message,
      });
      return { kind: "origin", origin: current, isPastDrift, isTooLate: this.isTooLate(current) };
    }
    const { block } = next;
    if (block !== undefined && block.parentHash !== current.hash) {
      return reset(`L1 block ${block.number} does not build on the unsafe head's origin`);
    }
    if (block !== undefined && block.timestamp <= timestampSec) {
      return {
        kind: "origin",
        origin: block,
        isPastDrift: timestampSec > block.timestamp + maxSequencerDriftSec(config, block.timestamp),
        isTooLate: this.isTooLate(block),
      };
    }
    if (isPastDrift && block === undefined) {
      return { kind: "wait", reason: `block ${head.number + 1} needs L1 block ${current.number + 1} as its origin` };
    }
    return { kind: "origin", origin: current, isPastDrift, isTooLate: this.isTooLate(current) };
  }

  private isTooLate(origin: { readonly number: number }): boolean {
    const { seqWindowSize } = this.deps.config;
    const l1Head = this.deps.l1Head();
    return l1Head !== undefined && l1Head.number - origin.number > seqWindowSize * (1 - PUBLISHING_PART);
  }

  /** Starts reading the block after `origin`, for the next `select`. */
  prefetch(origin: { readonly hash: Hex; readonly number: number }): void {
    this.ask(origin);
  }

  private async next(
    current: L1BlockHeader,
    isRequired: boolean,
  ): Promise<{ readonly block: L1BlockHeader | undefined } | { readonly error: Error }> {
    const before = this.lookup;
    const lookup = this.ask(current);
    if (lookup === undefined) return { block: undefined };
    if (lookup.result === undefined) {
      const stillGood = before?.after === current.hash ? before.result : undefined;
      if (stillGood !== undefined && "block" in stillGood && stillGood.block !== undefined && !isRequired) return stillGood;
      const limit = isRequired ? [] : [this.deps.clock.sleep(OPTIONAL_LOOKUP_MS)];
      await Promise.race([lookup.done, ...limit]);
    }
    return lookup.result ?? { error: new Error("L1 is slow to answer") };
  }

  /** @returns undefined if the block after `current` is within the confirmation distance */
  private ask(current: { readonly hash: Hex; readonly number: number }): Lookup | undefined {
    const { l1Confs } = this.options;
    const l1Head = this.deps.l1Head();
    if (l1Confs > 0 && l1Head !== undefined && current.number + 1 + l1Confs > l1Head.number) return undefined;
    const known = this.lookup;
    if (known !== undefined && known.after === current.hash) {
      const isUseful =
        known.result === undefined ||
        (known.l1Head === l1Head?.hash && "block" in known.result && known.result.block !== undefined);
      if (isUseful) return known;
    }
    const started: { -readonly [K in keyof Lookup]: Lookup[K] } = {
      after: current.hash,
      l1Head: l1Head?.hash,
      result: undefined,
      done: Promise.resolve(),
    };
    started.done = this.read(current.number + 1).then(
      (block) => {
        started.result = { block };
      },
      (error: unknown) => {
        started.result = { error: l1Failure(error) };
      },
    );
    this.lookup = started;
    return started;
  }

  private async read(number: number): Promise<L1BlockHeader | undefined> {
    const { l1 } = this.deps;
    const block = await l1.blockByNumber(number);
    if (block !== undefined) await l1.receipts(block.hash);
    return block;
  }
}

function l1Failure(error: unknown): Error {
  if (isCodedError(error)) return error;
  throw error;
}
