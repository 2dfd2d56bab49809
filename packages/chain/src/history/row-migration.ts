import type { Logger } from "@rnode/observe";
import type { ChainDatabase } from "@rnode/storage";
import type { Delay } from "./history-pruning.ts";

export interface RowMigrationDependencies {
  readonly store: Pick<ChainDatabase, "migrateRows">;
  readonly delay: Delay;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** Starting comes first. */
const FIRST_AFTER_MS = 5000;
/** The pause between commits is at least so many times the duration of a commit, so that blocks and requests come first. */
const PAUSE_FACTOR = 4;
const PAUSE_MS = 20;
const AFTER_ERROR_MS = 60_000;
const BLOCKS_PER_COMMIT = 64;
/** Of rows in one commit: some ten milliseconds of work. */
const COMMIT_BYTES = 256 * 1024;
const TELL_EVERY_MS = 60_000;

/** Rewrites rows of an earlier format beside a running client, some milliseconds at a time. A restart goes on where it was. */
export class RowMigration {
  readonly #deps: RowMigrationDependencies;
  #waiting: { readonly cancel: () => void };
  #isStopped = false;
  #blocks = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(deps: RowMigrationDependencies) {
    this.#deps = deps;
    this.#waiting = this.#wait(FIRST_AFTER_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting.cancel();
  }

  #wait(delayMs: number): { readonly cancel: () => void } {
    return this.#deps.delay(delayMs, () => {
      if (!this.#isStopped) this.#step();
    });
  }

  #step(): void {
    const { store, nowMs, log } = this.#deps;
    const startMs = nowMs();
    try {
      const { blocks, remaining } = store.migrateRows(BLOCKS_PER_COMMIT, COMMIT_BYTES);
      this.#blocks += blocks;
      if (remaining === 0) {
        if (this.#blocks > 0) log.info("rows of an earlier version are rewritten", { blocks: this.#blocks });
        return;
      }
      const endMs = nowMs();
      if (endMs - this.#toldMs > TELL_EVERY_MS) {
        this.#toldMs = endMs;
        log.info("rewriting rows of an earlier version", { blocks: remaining });
      }
      this.#waiting = this.#wait(Math.max(PAUSE_MS, PAUSE_FACTOR * (endMs - startMs)));
    } catch (error) {
      log.error("rows not rewritten; tried again in a minute", { err: error });
      this.#waiting = this.#wait(AFTER_ERROR_MS);
    }
  }
}
