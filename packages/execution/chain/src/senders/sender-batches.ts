import type { PreparedTransactions, SenderWorkers } from "./sender-workers.ts";

/** PERF: a message to a thread costs as much as the recovery of one or two senders. */
const FULL_BATCH = 64;
/** Fewer than this are recovered faster in the caller's thread than in a worker. */
export const MIN_BATCH = 8;

interface Part {
  readonly encoded: readonly Uint8Array[];
  readonly settle: (made: PreparedTransactions | undefined) => void;
}

/** Joins the transactions of small blocks that are prepared in one turn of the event loop, so that workers get them together. */
export class SenderBatches {
  readonly #workers: Pick<SenderWorkers, "prepare">;
  #parts: Part[] = [];
  #count = 0;

  constructor(workers: Pick<SenderWorkers, "prepare">) {
    this.#workers = workers;
  }

  /** @returns undefined: the caller computes them itself, because they are few, or no thread is available */
  prepare(encoded: readonly Uint8Array[]): Promise<PreparedTransactions | undefined> {
    if (encoded.length >= FULL_BATCH) return this.#workers.prepare(encoded);
    return new Promise((settle) => {
      if (this.#parts.length === 0) setImmediate(() => void this.#flush());
      this.#parts.push({ encoded, settle });
      this.#count += encoded.length;
      if (this.#count >= FULL_BATCH) void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const parts = this.#parts;
    const count = this.#count;
    this.#parts = [];
    this.#count = 0;
    const made =
      count < MIN_BATCH ? undefined : await this.#workers.prepare(parts.flatMap(({ encoded }) => encoded)).catch(() => undefined);
    let from = 0;
    for (const { encoded, settle } of parts) {
      const to = from + encoded.length;
      settle(made && { senders: made.senders.slice(from, to), hashes: made.hashes.slice(from, to) });
      from = to;
    }
  }
}
