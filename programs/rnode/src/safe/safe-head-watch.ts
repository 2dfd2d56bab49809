import type { DerivationObserver, ObservedBatch } from "@rnode/derivation";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import { DroppedData } from "../common/dropped-data.ts";

export interface SafeHeadWatchDeps {
  readonly config: Pick<RollupConfig, "genesis" | "blockTimeSec" | "seqWindowSize">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The condition of the safe head, for metrics and probes. */
export interface SafeHeadState {
  /** time since the safe head last moved; 0 if derivation has read no L1 block since */
  readonly stalledSec: number;
  /** number of L1 blocks read since the safe head last moved */
  readonly stalledL1Blocks: number;
  /** number of L1 blocks until the sequencing window of the safe head's epoch ends; undefined before the heads are known */
  readonly windowLeftL1Blocks: number | undefined;
  /** at least half of the window has passed */
  readonly isWindowHalfUsed: boolean;
}

/** The point at which the safe head last moved. */
interface LastMove {
  readonly safe: L2BlockRef;
  readonly l1Block: number;
  readonly atMs: number;
}

/** While data of the batcher is being dropped, a warning is logged after this many L1 blocks without a safe block. */
const L1_BLOCKS_WITH_DROPS = 10;
/** Otherwise the warning comes after this fraction of the window, because channels may stay open for long. */
const WINDOW_PARTS_BEFORE_FIRST_LINE = 32;
/** Once half of the window has passed, there is a line for each such fraction of it. */
const WINDOW_PARTS_BETWEEN_LINES = 8;
/** Old L1 blocks are read at a rate of many per second, and an hour of them without batches is no reason to act. */
const MIN_PAUSE_MS = 60_000;
const EMPTY_BLOCKS_PAUSE_MS = 600_000;

/**
 * Warns when derivation advances through L1 but the safe head does not: since when, the dropped data, and the rest of the
 * sequencing window. When the window ends, derivation creates blocks without user transactions, which is logged as well.
 */
export class SafeHeadWatch {
  private readonly deps: SafeHeadWatchDeps;
  private readonly dropped: DroppedData;
  private lastMove: LastMove | undefined;
  /** the current label; after a reset it can be below the point that it last moved to */
  private safe: L2BlockRef | undefined;
  private derivedTo: number | undefined;
  private isStallSaid = false;
  private nextLineAtL1Blocks = 0;
  private lastLineAtMs = 0;
  /** number of blocks derived in a row because the window had ended */
  private emptyBlocks = 0;
  private areEmptyBlocksSaid = false;
  private emptyLineAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SafeHeadWatchDeps) {
    this.deps = deps;
    this.dropped = new DroppedData(deps.config);
  }

  /** The events of the pipeline that are watched. */
  get observer(): Partial<DerivationObserver> {
    const { observer } = this.dropped;
    return {
      ...observer,
      onL1Block: (block) => this.onL1Block(block),
      onBatch: (event) => {
        observer.onBatch(event);
        if (event.verdict.kind === "accept") this.onAccepted(event.batch);
      },
    };
  }

  /** The heads were determined again, and L1 is read again from before `safe`. */
  onReset(safe: L2BlockRef): void {
    this.safe = safe;
    this.dropped.clear();
    this.lastMove ??= { safe, l1Block: safe.l1Origin.number, atMs: this.deps.clock.monotonicMs() };
  }

  onSafe(safe: L2BlockRef, derivedFrom: L1BlockRef): void {
    const { clock, log } = this.deps;
    this.safe = safe;
    const before = this.lastMove;
    // a block that is derived again after a reset is no progress
    if (before !== undefined && safe.number <= before.safe.number) return;
    const isEmpty = this.emptyBlocks > 0;
    if (before !== undefined && this.isStallSaid && !isEmpty) {
      log.info("the safe head moves again", {
        safe: safe.number,
        afterL1Blocks: derivedFrom.number - before.l1Block,
        afterSec: Math.round((clock.monotonicMs() - before.atMs) / 1_000),
      });
    }
    this.lastMove = { safe, l1Block: derivedFrom.number, atMs: clock.monotonicMs() };
    this.isStallSaid &&= isEmpty;
    this.nextLineAtL1Blocks = 0;
    this.dropped.clear();
  }

  get state(): SafeHeadState {
    const { lastMove, safe, derivedTo } = this;
    const { seqWindowSize } = this.deps.config;
    const stalledL1Blocks = lastMove === undefined || derivedTo === undefined ? 0 : Math.max(0, derivedTo - lastMove.l1Block);
    const used = safe === undefined || derivedTo === undefined ? undefined : Math.max(0, derivedTo - safe.l1Origin.number);
    return {
      stalledSec: stalledL1Blocks === 0 || lastMove === undefined ? 0 : (this.deps.clock.monotonicMs() - lastMove.atMs) / 1_000,
      stalledL1Blocks,
      windowLeftL1Blocks: used === undefined ? undefined : Math.max(0, seqWindowSize - used),
      isWindowHalfUsed: used !== undefined && used * 2 >= seqWindowSize,
    };
  }

  /** Reasons why the safe head cannot be expected to follow; empty if it can. */
  get faults(): readonly string[] {
    const { isWindowHalfUsed, windowLeftL1Blocks } = this.state;
    if (!isWindowHalfUsed) return [];
    const { safe, derivedTo } = this;
    const then =
      windowLeftL1Blocks === 0 ? "blocks without transactions are derived" : `the sequencing window ends in ${windowLeftL1Blocks}`;
    return [`the safe head ${safe?.number} is at L1 block ${safe?.l1Origin.number}, derivation at ${derivedTo}: ${then}`];
  }

  private onL1Block({ number }: L1BlockRef): void {
    this.derivedTo = number;
    // everything before that block was already in the safe chain
    if (this.lastMove !== undefined && number <= this.lastMove.l1Block) this.dropped.clear();
    this.sayStall();
  }

  private sayStall(): void {
    const { lastMove } = this;
    const { log, clock, config } = this.deps;
    const { stalledL1Blocks, stalledSec, windowLeftL1Blocks, isWindowHalfUsed } = this.state;
    if (lastMove === undefined || stalledL1Blocks < Math.max(this.nextLineAtL1Blocks, this.firstLineAtL1Blocks())) return;
    const nowMs = clock.monotonicMs();
    if (nowMs - Math.max(lastMove.atMs, this.lastLineAtMs) < MIN_PAUSE_MS) return;
    this.isStallSaid = true;
    this.lastLineAtMs = nowMs;
    const part = Math.ceil(config.seqWindowSize / WINDOW_PARTS_BETWEEN_LINES);
    this.nextLineAtL1Blocks = stalledL1Blocks + (isWindowHalfUsed ? part : stalledL1Blocks);
    log.warn("the safe head stands still while derivation goes on", {
      safe: lastMove.safe.number,
      since: new Date(lastMove.atMs).toISOString(),
      forSec: Math.round(stalledSec),
      sinceL1Block: lastMove.l1Block,
      l1Blocks: stalledL1Blocks,
      dropped: this.dropped.summary,
      lastDropped: this.dropped.last,
      windowLeftL1Blocks,
    });
  }

  private firstLineAtL1Blocks(): number {
    const quiet = Math.max(1, Math.ceil(this.deps.config.seqWindowSize / WINDOW_PARTS_BEFORE_FIRST_LINE));
    return this.dropped.isEmpty ? quiet : Math.min(quiet, L1_BLOCKS_WITH_DROPS);
  }

  private onAccepted({ type, timestamp, l1InclusionBlock }: ObservedBatch): void {
    const { log, clock } = this.deps;
    if (type !== "empty") {
      if (this.areEmptyBlocksSaid) {
        log.info("batches are found again", { l1Block: l1InclusionBlock.number, emptyBlocks: this.emptyBlocks });
      }
      this.emptyBlocks = 0;
      this.areEmptyBlocksSaid = false;
      return;
    }
    this.emptyBlocks++;
    const pauseMs = this.areEmptyBlocksSaid ? EMPTY_BLOCKS_PAUSE_MS : MIN_PAUSE_MS;
    if (clock.monotonicMs() - this.emptyLineAtMs < pauseMs) return;
    this.areEmptyBlocksSaid = true;
    this.emptyLineAtMs = clock.monotonicMs();
    log.warn("the sequencing window has ended without a batch: blocks without transactions are derived", {
      afterSafe: this.safe?.number,
      timestamp,
      emptyBlocks: this.emptyBlocks,
      l1Block: l1InclusionBlock.number,
      dropped: this.dropped.summary,
      lastDropped: this.dropped.last,
    });
  }
}
