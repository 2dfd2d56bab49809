import { type Logger, type MetricFactory, noMetrics } from "@rnode/observe";
import type { ChainDatabase } from "@rnode/storage";

/** Runs `action` after the delay unless it is cancelled. */
export type Delay = (delayMs: number, action: () => void) => { readonly cancel: () => void };

export interface HistoryPruningDependencies {
  readonly store: Pick<ChainDatabase, "head" | "pruneHistory" | "retainedHistory">;
  readonly delay: Delay;
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly metrics?: MetricFactory;
}

/** Blocks that are removed together: neighbours share pages, and each commit waits for the disk. */
const BATCH_BLOCKS = 16;
/** The pause after a new head, so that whatever the caller does with the head comes first. */
const AFTER_HEAD_MS = 50;
/**
 * The minimum pause between commits, which is also at least this many times the duration of the commit, so that blocks and requests
 * come first.
 */
const PAUSE_MS = 15;
const PAUSE_FACTOR = 3;
const AFTER_ERROR_MS = 60_000;
/** Target duration of one commit, from which the number of rows follows. */
const COMMIT_TARGET_MS = 10;
/** With fewer rows, all of the time would be spent waiting for the disk. */
const MIN_ROWS = 1000;
const MAX_ROWS = 50_000;

/**
 * Removes history older than the last `keepBlocks` blocks while the chain advances: some milliseconds at a time, after new heads.
 * `onHead` starts it.
 */
export class HistoryPruning {
  readonly #keepBlocks: number;
  readonly #deps: HistoryPruningDependencies;
  readonly #metrics: ReturnType<typeof createPruningMetrics>;
  #waiting: { readonly cancel: () => void } | undefined;
  #isStopped = false;
  /** the head for which pruning last ran */
  #prunedFor = Number.NEGATIVE_INFINITY;
  #rows = 1000;
  #remaining = 0;
  #heldBack = 0;

  constructor(keepBlocks: number, deps: HistoryPruningDependencies) {
    this.#keepBlocks = keepBlocks;
    this.#deps = deps;
    this.#metrics = createPruningMetrics(
      deps.metrics ?? noMetrics,
      () => deps.store.retainedHistory()?.oldestState ?? 0,
      () => this.#remaining,
      () => this.#heldBack,
    );
  }

  /** Called when the head has moved. */
  onHead(): void {
    if (this.#waiting === undefined && this.#isDue()) this.#wait(AFTER_HEAD_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting?.cancel();
    this.#waiting = undefined;
  }

  #isDue(): boolean {
    const head = this.#deps.store.head();
    return head !== undefined && (this.#remaining > 0 || Math.abs(head.number - this.#prunedFor) >= BATCH_BLOCKS);
  }

  #wait(delayMs: number): void {
    if (this.#isStopped) return;
    this.#waiting = this.#deps.delay(delayMs, () => {
      this.#waiting = undefined;
      if (!this.#isStopped) this.#step();
    });
  }

  #step(): void {
    const { store, nowMs, log } = this.#deps;
    const head = store.head();
    if (head === undefined) return;
    const startMs = nowMs();
    try {
      const { removedRows, remainingBlocks, heldBack } = store.pruneHistory(this.#keepBlocks, this.#rows);
      const tookMs = nowMs() - startMs;
      if (remainingBlocks > 0 && this.#remaining === 0) {
        log.info("removing history", { blocks: remainingBlocks, keptFrom: store.retainedHistory()?.oldestState });
      }
      this.#remaining = remainingBlocks;
      this.#heldBack = heldBack;
      this.#prunedFor = head.number;
      if (removedRows > 0) {
        this.#metrics.rows.add(removedRows);
        this.#metrics.commit.observe(tookMs / 1000);
        const fitting = Math.round((this.#rows * COMMIT_TARGET_MS) / Math.max(0.1, tookMs));
        this.#rows = Math.min(MAX_ROWS, Math.max(MIN_ROWS, Math.min(2 * this.#rows, fitting)));
      }
      if (this.#isDue()) this.#wait(Math.max(PAUSE_MS, PAUSE_FACTOR * tookMs));
    } catch (error) {
      log.error("history not pruned; tried again in a minute", { err: error });
      this.#wait(AFTER_ERROR_MS);
    }
  }
}

/** Imported blocks whose history is removed together, so that short blocks do not each wait for the disk. */
const IMPORT_BATCH_BLOCKS = 128;
/** The most rows per step: a tenth of a second, and more than most blocks leave behind. */
const IMPORT_ROWS = 20_000;
/** The most rows per step while more blocks than one batch are waiting. */
const IMPORT_ROWS_BEHIND = 50_000;

/**
 * Removes history older than the last `keepBlocks` blocks during an import, so that the database stays bounded. `step`, called between
 * two blocks, makes at most one commit.
 */
export class ImportPruning {
  readonly #keepBlocks: number;
  readonly #store: HistoryPruningDependencies["store"];
  #prunedFor = Number.NEGATIVE_INFINITY;
  #remaining = 0;

  constructor(keepBlocks: number, store: HistoryPruningDependencies["store"]) {
    this.#keepBlocks = keepBlocks;
    this.#store = store;
  }

  step(): void {
    const head = this.#store.head();
    if (head === undefined || (this.#remaining === 0 && head.number - this.#prunedFor < IMPORT_BATCH_BLOCKS)) return;
    this.#prune(head.number, this.#remaining > IMPORT_BATCH_BLOCKS ? IMPORT_ROWS_BEHIND : IMPORT_ROWS);
  }

  /** Removes everything that is old enough. @param onProgress gets the number of blocks whose history is still there */
  finish(onProgress: (remainingBlocks: number) => void = () => undefined): void {
    const head = this.#store.head();
    if (head === undefined) return;
    do {
      this.#prune(head.number, IMPORT_ROWS_BEHIND);
      onProgress(this.#remaining);
    } while (this.#remaining > 0);
  }

  #prune(head: number, maxRows: number): void {
    this.#remaining = this.#store.pruneHistory(this.#keepBlocks, maxRows).remainingBlocks;
    this.#prunedFor = head;
  }
}

const createPruningMetrics = (m: MetricFactory, oldest: () => number, remaining: () => number, heldBack: () => number) => {
  m.gaugeOf("history_oldest_block", "The oldest block whose state can be read.", oldest);
  m.gaugeOf("history_prune_remaining_blocks", "Blocks whose history is still to be removed from the disk.", remaining);
  m.gaugeOf("history_prune_held_back_blocks", "Blocks that are old enough to be pruned but not finalized yet.", heldBack);
  return {
    rows: m.counter("history_pruned_rows_total", "Rows and index entries of history that were removed."),
    commit: m.histogram(
      "history_prune_seconds",
      "Duration of one commit that removes history.",
      [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
    ),
  };
};
