import { setImmediate } from "node:timers/promises";
import { errorText, type Logger } from "@rnode/observe";
import type { JournalSource, PoolJournal } from "./pool-journal.ts";

/** Of taking transactions in, before everything else has its turn. */
const SLICE_MS = 4;

export interface JournaledPool extends JournalSource {
  /** Takes in a transaction of an earlier run. @returns whether it is in the pool again */
  restore(raw: Uint8Array): boolean;
}

/** Restores the transactions of an earlier run, then keeps the journal up to date with the pool. */
export class JournalKeeper {
  readonly #journal: PoolJournal;
  readonly #pool: JournaledPool;
  readonly #log: Logger;
  readonly #rejournalMs: number;
  #restored: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(journal: PoolJournal, pool: JournaledPool, log: Logger, rejournalMs: number) {
    this.#journal = journal;
    this.#pool = pool;
    this.#log = log;
    this.#rejournalMs = rejournalMs;
  }

  start(): void {
    this.#restored = this.#restore().catch((error: unknown) => {
      this.#log.warn("transactions of the journal not restored", { reason: errorText(error) });
    });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#restored;
    clearInterval(this.#timer);
    await this.#journal.rewrite();
    await this.#journal.close();
  }

  async #restore(): Promise<void> {
    let read = 0;
    let restored = 0;
    let sliceEndMs = 0;
    for await (const raw of this.#journal.read()) {
      if (performance.now() > sliceEndMs) {
        await setImmediate();
        sliceEndMs = performance.now() + SLICE_MS;
      }
      if (this.#isClosing) return; // the file still has the missing ones
      read++;
      if (this.#pool.restore(raw)) restored++;
    }
    if (read > 0) this.#log.info("transactions of the journal", { read, restored });
    this.#journal.follow(this.#pool);
    if (this.#isClosing) return;
    await this.#journal.rewrite();
    this.#timer = setInterval(() => void this.#journal.rewrite(), this.#rejournalMs);
    this.#timer.unref();
  }
}
