import { createWriteStream, existsSync, readFileSync, renameSync, type WriteStream, writeFileSync } from "node:fs";
import { finished } from "node:stream/promises";
import { errorText, type Logger } from "@rnode/observe";
import { decodeRlpPrefix, encodeRlp, isCodedError } from "@rnode/primitives";

/** After a write, transactions that arrive within this time are written together. */
const PAUSE_MS = 10;

/**
 * Keeps transactions that arrived over this node's own RPC on disk, so that a restart does not lose them. The file is a sequence of RLP
 * strings, each a transaction in its EIP-2718 encoding. A transaction is appended when it arrives; `rewrite` leaves out those that are
 * gone.
 *
 * PERF: a write costs as much as adding a transaction to the pool. The first transaction is written at once, and those that follow
 * closely are written together: a process that is killed loses at most those of the last 10 ms.
 */
export class PoolJournal {
  readonly #path: string;
  readonly #log: Logger;
  #stream: WriteStream | undefined;
  /** not written yet */
  #waiting: Uint8Array[] = [];
  #isScheduled = false;

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /** Reads the transactions in the journal. An incomplete one at the end, left by a crash, is ignored. */
  read(): Uint8Array[] {
    if (!existsSync(this.#path)) return [];
    const bytes = new Uint8Array(readFileSync(this.#path));
    const transactions: Uint8Array[] = [];
    for (let offset = 0; offset < bytes.length; ) {
      try {
        const { item, end } = decodeRlpPrefix(bytes, offset);
        if (!(item instanceof Uint8Array)) break;
        transactions.push(item);
        offset = end;
      } catch (error) {
        if (!isCodedError(error)) throw error;
        this.#log.warn("end of the transaction journal is cut off", { path: this.#path, offset, bytes: bytes.length });
        break;
      }
    }
    return transactions;
  }

  append(raw: Uint8Array): void {
    this.#waiting.push(raw);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next); // after the sender has been answered
  }

  readonly #next = (): void => {
    this.#isScheduled = this.#write();
    if (this.#isScheduled) setTimeout(this.#next, PAUSE_MS).unref();
  };

  /** @returns whether there was anything to write */
  #write(): boolean {
    if (this.#waiting.length === 0) return false;
    const encoded = this.#waiting.map((raw) => encodeRlp(raw));
    this.#waiting = [];
    this.#stream ??= this.#open();
    this.#stream.write(Buffer.concat(encoded));
    return true;
  }

  /** Replaces the content of the journal, atomically. */
  async rewrite(transactions: Iterable<Uint8Array>): Promise<void> {
    await this.close();
    const temporary = `${this.#path}.new`;
    const encoded: Uint8Array[] = [];
    for (const raw of transactions) encoded.push(encodeRlp(raw));
    writeFileSync(temporary, Buffer.concat(encoded));
    renameSync(temporary, this.#path);
  }

  async close(): Promise<void> {
    this.#write();
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#stream = undefined;
    stream.end();
    await finished(stream).catch(() => {}); // the listener has already reported it
  }

  #open(): WriteStream {
    const stream = createWriteStream(this.#path, { flags: "a" });
    stream.on("error", (error) =>
      this.#log.error("transaction journal not written", { path: this.#path, reason: errorText(error) }),
    );
    return stream;
  }
}
