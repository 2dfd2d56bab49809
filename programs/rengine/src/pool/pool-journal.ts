import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { errorText, type Logger } from "@rnode/observe";
import { decodeRlpPrefix, encodeRlp, isCodedError, isSystemError } from "@rnode/primitives";
import { DEFAULT_POOL_LIMITS } from "@rnode/txpool";

/** After a write, transactions that arrive within this time are written together. */
const PAUSE_MS = 10;
const CHUNK_BYTES = 1024 * 1024;
/** The file is rewritten when it is this many times as large as the pool's transactions. */
const OUTGROWN_BY = 2;
/** No signed transaction is shorter; files of zeros have a record a byte. */
const MIN_TRANSACTION_BYTES = 32;
/** An RLP header of a string that long. */
const RECORD_HEADER_BYTES = 4;

export interface JournalLimits {
  /** of the file; further transactions are left out until it is rewritten */
  readonly maxBytes: number;
  /** a smaller file is not rewritten because of its size */
  readonly minOutgrownBytes: number;
  /** of transactions that wait to be written; more come only when the disk does not keep up */
  readonly maxWaitingBytes: number;
}

const DEFAULT_JOURNAL_LIMITS: JournalLimits = {
  maxBytes: 256 * 1024 * 1024,
  minOutgrownBytes: 4 * 1024 * 1024,
  maxWaitingBytes: 16 * 1024 * 1024,
};

/** The pool, as the journal reads it. */
export interface JournalSource {
  readonly heldBytes: number;
  /** EIP-2718 encodings, those of a sender by nonce */
  lasting(): Iterable<Uint8Array>;
}

/**
 * The pool's transactions on disk, so that a restart does not lose them: consecutive RLP strings of their EIP-2718 encodings. A
 * transaction is appended when it arrives. The file is rewritten with the pool's transactions on request and when it has become
 * too large. All faults of the file are warnings.
 * PERF: a write costs as much as adding a transaction to the pool. The first transaction is written at once, and those that
 * follow closely are written together: a process that is killed loses at most those of the last 10 ms.
 */
export class PoolJournal {
  readonly #path: string;
  readonly #log: Logger;
  readonly #limits: JournalLimits;
  /** undefined: the pool does not have all transactions of the file yet, so the file must not be replaced */
  #source: JournalSource | undefined;
  #file: FileHandle | undefined;
  /** in the file */
  #bytes = 0;
  /** not written yet */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  /** resolves when all pending work on the file is done; never rejects */
  #lastWork: Promise<void> = Promise.resolve();
  /** the last logged fault, until the journal works again */
  #said: "nothing" | "full" | "not written" = "nothing";

  constructor(path: string, log: Logger, limits: Partial<JournalLimits> = {}) {
    this.#path = path;
    this.#log = log;
    this.#limits = { ...DEFAULT_JOURNAL_LIMITS, ...limits };
  }

  /** The transactions in the file at this time, up to the first record that cannot be read. The file is read in pieces. */
  async *read(): AsyncGenerator<Uint8Array, void, void> {
    let file: FileHandle | undefined;
    try {
      file = await openFile(this.#path, constants.O_RDONLY);
      const { size } = await file.stat();
      const end = Math.min(size, this.#limits.maxBytes);
      let position = 0;
      let rest = new Uint8Array(0);
      while (position < end && rest.length <= DEFAULT_POOL_LIMITS.maxTransactionBytes + RECORD_HEADER_BYTES) {
        const piece = new Uint8Array(rest.length + Math.min(CHUNK_BYTES, end - position));
        piece.set(rest);
        const { bytesRead } = await file.read(piece, rest.length, piece.length - rest.length, position);
        if (bytesRead === 0) break;
        position += bytesRead;
        const filled = piece.subarray(0, rest.length + bytesRead);
        const { records, read } = recordsIn(filled);
        yield* records;
        rest = filled.slice(read);
      }
      const unread = rest.length + size - position;
      if (unread > 0) this.#log.warn("end of the transaction journal is damaged or too long", { path: this.#path, unread });
    } catch (error) {
      if (isSystemError(error, "ENOENT")) return;
      this.#log.warn("transaction journal not read", { path: this.#path, reason: errorText(error) });
    } finally {
      await file?.close();
    }
  }

  /** From now on the file may be replaced by the transactions of the source. */
  follow(source: JournalSource): void {
    this.#source = source;
  }

  append(raw: Uint8Array): void {
    const { maxBytes, maxWaitingBytes } = this.#limits;
    const waitingBytes = this.#waitingBytes + raw.length + RECORD_HEADER_BYTES;
    if (waitingBytes > maxWaitingBytes || this.#bytes + waitingBytes > maxBytes) {
      this.#say("full", { bytes: this.#bytes, waiting: this.#waitingBytes });
      return;
    }
    this.#waiting.push(raw);
    this.#waitingBytes = waitingBytes;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next); // after the sender has been answered
  }

  readonly #next = (): void => {
    this.#isScheduled = this.#waiting.length > 0;
    if (!this.#isScheduled) return;
    void this.#inTurn(async () => {
      await this.#flush();
      if (this.#isOutgrown()) await this.#replace();
    }).then(() => setTimeout(this.#next, PAUSE_MS).unref());
  };

  #isOutgrown(): boolean {
    if (this.#source === undefined) return false;
    return this.#bytes > Math.max(this.#limits.minOutgrownBytes, OUTGROWN_BY * this.#source.heldBytes);
  }

  /** Replaces the file by the transactions of its source, atomically. */
  rewrite(): Promise<void> {
    return this.#inTurn(() => this.#replace());
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#flush());
    await this.#inTurn(() => this.#closeFile());
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#lastWork = this.#lastWork.then(work).catch((error: unknown) => this.#say("not written", { reason: errorText(error) }));
    return this.#lastWork;
  }

  #say(what: "full" | "not written", fields: Readonly<Record<string, unknown>>): void {
    if (this.#said === what) return;
    this.#said = what;
    const message = what === "full" ? "transaction journal is full: transactions are left out" : "transaction journal not written";
    this.#log.warn(message, { path: this.#path, ...fields });
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const encoded = Buffer.concat(this.#waiting.map((raw) => encodeRlp(raw)));
    this.#forgetWaiting();
    const file = await this.#opened();
    try {
      await file.appendFile(encoded);
      this.#bytes += encoded.length;
      if (this.#said === "not written") this.#said = "nothing";
    } catch (error) {
      await file.truncate(this.#bytes).catch(() => {}); // half a record would hide those after it
      throw error;
    }
  }

  #forgetWaiting(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  async #replace(): Promise<void> {
    if (this.#source === undefined) return;
    const lasting = [...this.#source.lasting()];
    this.#forgetWaiting(); // the source has them
    const old = await this.#opened();
    const oldBytes = this.#bytes;
    const temporary = `${this.#path}.new`;
    const file = await openFile(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC);
    let bytes = 0;
    try {
      for (const piece of piecesOf(lasting, this.#limits.maxBytes)) {
        await file.appendFile(piece);
        bytes += piece.length;
        await this.#flush(); // what arrives meanwhile is kept in the old file, and taken from its end
      }
      await this.#flush();
      for (let position = oldBytes; position < this.#bytes && bytes < this.#limits.maxBytes; ) {
        const piece = new Uint8Array(Math.min(CHUNK_BYTES, this.#bytes - position));
        const { bytesRead } = await old.read(piece, 0, piece.length, position);
        if (bytesRead === 0) break;
        await file.appendFile(piece.subarray(0, bytesRead));
        position += bytesRead;
        bytes += bytesRead;
      }
      await file.close();
      await rename(temporary, this.#path);
    } catch (error) {
      await file.close();
      await rm(temporary, { force: true });
      throw error;
    }
    await this.#closeFile();
    this.#bytes = bytes;
    this.#said = "nothing";
  }

  async #opened(): Promise<FileHandle> {
    if (this.#file === undefined) {
      this.#file = await openFile(this.#path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
      this.#bytes = (await this.#file.stat()).size;
    }
    return this.#file;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}

/** @throws also for a folder, a device or a pipe; opening a pipe would wait for its other end */
async function openFile(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error("it is not a file");
}

/** Copies of the whole records at the beginning of a piece, and how many bytes they take. */
function recordsIn(piece: Uint8Array): { readonly records: readonly Uint8Array[]; readonly read: number } {
  const records: Uint8Array[] = [];
  let read = 0;
  while (read < piece.length) {
    try {
      const { item, end } = decodeRlpPrefix(piece, read);
      if (!(item instanceof Uint8Array) || item.length < MIN_TRANSACTION_BYTES) break;
      records.push(item.slice());
      read = end;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      break;
    }
  }
  return { records, read };
}

/** Records of the transactions, in pieces of at most `maxBytes`. */
function* piecesOf(transactions: readonly Uint8Array[], maxBytes: number): Iterable<Buffer> {
  let piece: Uint8Array[] = [];
  let pieceBytes = 0;
  let bytes = 0;
  for (const raw of transactions) {
    const record = encodeRlp(raw);
    if (bytes + record.length > maxBytes) break;
    bytes += record.length;
    pieceBytes += record.length;
    piece.push(record);
    if (pieceBytes < CHUNK_BYTES) continue;
    yield Buffer.concat(piece);
    piece = [];
    pieceBytes = 0;
  }
  if (piece.length > 0) yield Buffer.concat(piece);
}
