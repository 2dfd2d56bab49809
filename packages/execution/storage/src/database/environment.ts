import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase, type TransactionFlags } from "lmdb";
import type { PageReading, TableStats } from "../api.ts";
import { DATA_FILE, storageError, toStorageError } from "../errors.ts";
import { canDropLastCommit, checkDataFile, dropLastCommit } from "./data-file.ts";
import { withSecondTry } from "./false-commit.ts";
import { FlushBehind } from "./flush-behind.ts";
import { findDamagedPage, type PageCheckPosition, type PageCheckProgress } from "./page-check.ts";
import { choosePageReading, memoryBytesOfProcess } from "./page-reading.ts";
import { Table } from "./table.ts";
import { acquireWriterLock, lastCommitMayBeTorn, type WriterLock } from "./writer-lock.ts";

export interface EnvironmentOptions {
  readonly readOnly: boolean;
  /** initial size of the address space; it grows with the database */
  readonly mapSizeBytes: number | undefined;
  /**
   * "each": a commit is on disk when it returns. "interval": a commit is with the operating system when it returns, and on disk
   * after at most `syncIntervalMs`. A killed process loses nothing. A power cut or a crash of the machine can damage the
   * database, because pages reach the disk in any order. PERF: "interval" halves the time of a commit. "behind": a commit reaches
   * the disk while the program continues, and before the next one begins. A killed process loses nothing; after a power cut or a
   * crash of the machine the last one or two commits can be lost, but none with `isFlushed`. This needs to detect a restart of
   * the machine, which only Linux supports; elsewhere it is "each".
   */
  readonly sync: "each" | "behind" | "interval";
  readonly syncIntervalMs: number;
  /** the file is read from one end to the other; default: false */
  readonly inOrder?: boolean | undefined;
  /** default: the machine's memory, or the limit of the process */
  readonly memoryBytes?: number | undefined;
}

export interface TransactionOptions {
  readonly isFlushed?: boolean;
  /** reverts the action's changes in memory; absent: the action cannot be repeated */
  readonly prepareAgain?: (() => void) | undefined;
}

/** Size of `data.mdb`, its free pages, and every table. */
export interface EnvironmentStats {
  readonly fileBytes: number;
  readonly freeBytes: number;
  readonly tables: Readonly<Record<string, TableStats>>;
}

/** Takes some hundredths of a second, and covers the pages above the rows. */
const PAGES_AT_START = 4000;
/** Takes some seconds. A damaged page can have crashed the last process. */
const PAGES_AFTER_CRASH = 500_000;
/** A part of the database's folder for a compaction. The next writer removes the remains of an interrupted one. */
export const COMPACTION_FOLDER = "compacting";
const TORN =
  "the machine stopped before the last commit was on the disk; start rengine on this folder, which goes back to the commit before it";
const MAX_TABLES = 48;
const COMMITS_PER_READER_CHECK = 256;
const NOT_FLUSHED = 0x10000 satisfies TransactionFlags.NO_SYNC_FLUSH;
const ABORTABLE_AND_COMMITTED = 0x3;

/** One LMDB environment: opening, locking, transactions and errors. It is independent of the tables' content. */
export class Environment {
  readonly folder: string;
  readonly readOnly: boolean;
  /** LMDB maps a file once for all threads of a process, so the first `open` decides for all. */
  readonly pageReading: PageReading;
  readonly #root: RootDatabase<Uint8Array, Uint8Array>;
  readonly #lock: WriterLock | undefined;
  /** the last commit of an earlier run was dropped, because the machine stopped before it was on disk */
  readonly droppedLastCommit: boolean = false;
  readonly #sync: "each" | "behind" | "interval";
  readonly #behind: FlushBehind | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #tables = new Map<string, Table>();
  #isFlushed = true;
  /** a flush in another thread; the environment may be closed only after it */
  #flushing: Promise<void> = Promise.resolve();
  #commits = 0;
  #flushError: Error | undefined;

  /**
   * @throws {CodedError} storage/locked, storage/no-database, storage/corrupted, storage/disk-full, storage/io
   */
  constructor(folder: string, options: EnvironmentOptions) {
    this.folder = folder;
    this.readOnly = options.readOnly;
    const file = join(folder, DATA_FILE);
    if (options.readOnly && !existsSync(file)) throw storageError("storage/no-database", { folder });
    if (options.readOnly && lastCommitMayBeTorn(folder)) throw storageError("storage/corrupted", { folder, reason: TORN });
    try {
      const lock = options.readOnly ? undefined : acquireWriterLock(folder);
      this.#lock = lock;
      if (lock?.lastCommitMayBeTorn) {
        this.droppedLastCommit = existsSync(file) && dropLastCommit(file);
        lock.settle();
      }
      const canBeBehind = lock?.knowsRestarts === true && canDropLastCommit;
      this.#sync = options.sync === "behind" && !canBeBehind ? "each" : options.sync;
      if (!options.readOnly) rmSync(join(folder, COMPACTION_FOLDER), { recursive: true, force: true });
      if (existsSync(file)) {
        checkDataFile(folder, file, !options.readOnly);
        this.checkPages(this.#lock?.wasLeft === true ? PAGES_AFTER_CRASH : PAGES_AT_START);
      }
      this.pageReading = choosePageReading(
        existsSync(file) ? statSync(file).size : 0,
        options.memoryBytes ?? memoryBytesOfProcess(),
        options.inOrder ?? false,
      );
      // This option is missing in the library's types.
      const unlisted = { noReadAhead: !this.pageReading.readsAhead };
      this.#root = open({
        ...unlisted,
        path: folder,
        noSubdir: false,
        encoding: "binary",
        keyEncoding: "binary",
        maxDbs: MAX_TABLES,
        maxReaders: 256,
        readOnly: options.readOnly,
        // Overlapping commits would still wait for their flush when several are made in one synchronous run, as ours are, and would
        // write one more page.
        overlappingSync: false,
        ...(options.mapSizeBytes === undefined ? {} : { mapSize: options.mapSizeBytes }),
      });
      if (!options.readOnly && this.#sync === "behind") {
        this.#behind = new FlushBehind(file, (error) => {
          this.#flushError ??= error;
          this.#lock?.leave();
        });
        lock?.commitsBehind();
      }
    } catch (error) {
      this.#lock?.release();
      throw toStorageError(error, folder);
    }
    if (!options.readOnly && options.sync === "interval") {
      this.#timer = setInterval(() => void this.#flush(), options.syncIntervalMs);
      this.#timer.unref();
    }
  }

  /**
   * Looks for damaged pages in the file, starting with the upper pages of all trees.
   *
   * @param from where an earlier check of the same file was (`findDamagedPage`)
   * @throws {CodedError} storage/corrupted
   */
  checkPages(maxPages = Number.POSITIVE_INFINITY, onProgress?: PageCheckProgress, from?: PageCheckPosition): void {
    const reason = findDamagedPage(join(this.folder, DATA_FILE), maxPages, onProgress, from);
    if (reason !== undefined) throw storageError("storage/corrupted", { folder: this.folder, reason });
  }

  /** Opens a table, and creates it if it is missing. @returns undefined if it is missing and the environment is read-only */
  openTable(name: string): Table | undefined {
    try {
      const db = this.#root.openDB({ name, encoding: "binary", keyEncoding: "binary" });
      if (db === undefined) return undefined;
      const table = new Table(db, this.folder);
      this.#tables.set(name, table);
      return table;
    } catch (error) {
      throw toStorageError(error, this.folder);
    }
  }

  /** Names of all tables in the file, opened or not. */
  tableNames(): string[] {
    try {
      const names: string[] = [];
      for (const key of this.#root.getKeys({})) names.push(new TextDecoder().decode(key).replace(/\0$/, ""));
      return names;
    } catch (error) {
      throw toStorageError(error, this.folder);
    }
  }

  /**
   * Runs `action` as one atomic commit: either all of its writes take effect or, if it throws, none. With `sync` "each", the
   * commit is on disk on return, unless `isFlushed` is false: then it is on disk with the next commit that is, and until then a
   * power cut has the effects of "interval". With "behind", `isFlushed` makes it durable on return. With `prepareAgain`, an
   * action whose commit LMDB refused without a reason (false-commit.ts) runs once more, after this call.
   *
   * @throws {CodedError} storage/read-only, storage/disk-full, storage/corrupted, storage/io; errors of `action`
   */
  atomically<T>(action: () => T, { isFlushed = this.#sync === "each", prepareAgain }: TransactionOptions = {}): T {
    if (this.readOnly) throw storageError("storage/read-only", { folder: this.folder });
    if (this.#flushError !== undefined) throw toStorageError(this.#flushError, this.folder);
    const flags = isFlushed ? ABORTABLE_AND_COMMITTED : ABORTABLE_AND_COMMITTED | NOT_FLUSHED;
    try {
      const result = this.#inOrder(isFlushed, () => withSecondTry(() => this.#root.transactionSync(action, flags), prepareAgain));
      this.#isFlushed = isFlushed;
      this.#commits++;
      if (this.#commits % COMMITS_PER_READER_CHECK === 0) this.forgetDeadReaders();
      return result;
    } catch (error) {
      throw toStorageError(error, this.folder);
    }
  }

  /** Makes a commit after the earlier ones are on disk, if commits are flushed behind. */
  #inOrder<T>(isFlushed: boolean, commit: () => T): T {
    const behind = this.#behind;
    if (behind === undefined) return commit();
    behind.settle();
    if (!isFlushed) {
      const result = commit();
      behind.begin();
      return result;
    }
    behind.announce();
    try {
      return commit();
    } finally {
      behind.conclude();
    }
  }

  /** Makes a reader see the commits of other processes; a writer always sees its own commits. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  /** A reader that was killed keeps old pages from being reused until its entry is removed. */
  forgetDeadReaders(): void {
    this.#root.readerCheck();
  }

  /** Processes that have the database open for reading and have read from it, apart from this one. */
  otherReaders(): number[] {
    this.forgetDeadReaders();
    // Lines of pid, thread and transaction.
    const pids = this.#root
      .readerList()
      .split("\n")
      .map((line) => Number(line.trim().split(/\s+/)[0]));
    return pids.filter((pid) => Number.isSafeInteger(pid) && pid > 0 && pid !== process.pid);
  }

  /** Writes all pages in use into a `data.mdb` in an empty folder. */
  copyCompacted(folder: string): Promise<void> {
    return this.#root.backup(folder, true);
  }

  stats(): EnvironmentStats {
    const tables: Record<string, TableStats> = {};
    for (const [name, table] of this.#tables) tables[name] = table.stats();
    const { pageSize, lastPageNumber, free } = this.#root.getStats() as {
      pageSize: number;
      lastPageNumber: number;
      free: { entryCount: number; treeLeafPageCount: number; treeBranchPageCount: number; overflowPages: number };
    };
    const fileBytes = (lastPageNumber + 1) * pageSize;
    const used = Object.values(tables).reduce((sum, table) => sum + table.sizeBytes, 0);
    const ownPages = (free.treeLeafPageCount + free.treeBranchPageCount + free.overflowPages + 3) * pageSize;
    return { fileBytes, freeBytes: Math.max(0, fileBytes - used - ownPages), tables };
  }

  /** fsync in another thread, one at a time. The next commit reports an error. */
  #flush(): Promise<void> {
    if (this.#isFlushed || this.#behind !== undefined) return this.#flushing;
    this.#isFlushed = true;
    // This method is missing in the library's types.
    const root = this.#root as unknown as { sync(callback: (error: Error | null | undefined) => void): void };
    this.#flushing = this.#flushing.then(
      () =>
        new Promise((resolve) => {
          root.sync((error) => {
            if (error !== null && error !== undefined) this.#flushError = error;
            resolve();
          });
        }),
    );
    return this.#flushing;
  }

  /** For a database that turned out to be unusable: releases the lock at once, and the rest as soon as possible. */
  abandon(): void {
    clearInterval(this.#timer);
    this.#lock?.release();
    this.#flushing
      .then(() => this.#behind?.close())
      .then(() => this.#root.close())
      .catch(() => {}); // there is already a more informative error
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await this.#flush();
      await this.#behind?.close();
      await this.#root.close();
    } finally {
      this.#lock?.release();
    }
  }
}
