import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import { readCurrentMeta, writeFlushedTransaction } from "./data-file.ts";

/**
 * Flushes commits to the disk while the program continues. At most one commit is pending: the next one waits for it (`settle`). A
 * commit overwrites no page of the two previous commits, so after a power cut during the last commit, the one before it is
 * intact. The last flushed transaction is stored in the file, so the next start can decide whether to return to it
 * (`dropLastCommit` of data-file.ts).
 */
export class FlushBehind {
  readonly #descriptor: number;
  readonly #onError: (error: Error) => void;
  /** the last transaction, and the last one that is on the disk */
  #last: number;
  #flushed: number;
  #running: Promise<void> = Promise.resolve();

  /**
   * The file's current content is on disk when this returns.
   *
   * @param onError the last commit may never reach the disk
   * @throws errors of the file system
   */
  constructor(file: string, onError: (error: Error) => void) {
    this.#descriptor = openSync(file, "r+");
    this.#onError = onError;
    fdatasyncSync(this.#descriptor);
    this.#last = this.#flushed = this.#transaction();
    this.#noteFlushed(this.#last);
  }

  /** Returns when all commits are on the disk. @throws errors of the file system */
  settle(): void {
    if (this.#flushed === this.#last) return;
    this.#sync();
    this.#flushed = this.#last;
  }

  /** A commit was made, and is with the operating system. */
  begin(): void {
    const transaction = this.#transaction();
    if (transaction === this.#last) return; // nothing was written
    this.#last = transaction;
    this.#running = new Promise((resolve) => {
      fdatasync(this.#descriptor, (error) => {
        if (error !== null) this.#onError(error);
        else if (transaction > this.#flushed) {
          this.#flushed = transaction;
          writeFlushedTransaction(this.#descriptor, transaction); // it reaches the disk with the next commit, at the latest
        }
        resolve();
      });
    });
  }

  /** Records on disk that the next commit will be durable when it returns, so no start returns to an earlier commit. */
  announce(): void {
    writeFlushedTransaction(this.#descriptor, this.#last + 1);
  }

  /** The commit that was announced was made, or was not: then another one gets its number. @throws errors of the file system */
  conclude(): void {
    const transaction = this.#transaction();
    if (transaction === this.#last) this.#noteFlushed(transaction);
    this.#last = this.#flushed = transaction;
  }

  /** @throws errors of the file system */
  async close(): Promise<void> {
    try {
      await this.#running;
      this.settle();
    } finally {
      closeSync(this.#descriptor);
    }
  }

  #transaction(): number {
    const meta = readCurrentMeta(this.#descriptor);
    if (meta === undefined) throw new Error("data.mdb has no header"); // it was checked when the file was opened
    return meta.transaction;
  }

  #noteFlushed(transaction: number): void {
    writeFlushedTransaction(this.#descriptor, transaction);
    this.#sync();
  }

  #sync(): void {
    try {
      fdatasyncSync(this.#descriptor);
    } catch (error) {
      this.#onError(error as Error);
      throw error;
    }
  }
}
