import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DATA_FILE, storageError, toStorageError } from "../errors.ts";
import { COMPACTION_FOLDER, Environment } from "./environment.ts";
import { findDamagedPage } from "./page-check.ts";

export interface CompactionOptions {
  /** is called about every 200 ms */
  readonly onProgress?: ((writtenBytes: number, expectedBytes: number) => void) | undefined;
}

/** Sizes of the data file. */
export interface Compaction {
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

const LOCK_TABLE = "lock.mdb";
const PROGRESS_INTERVAL_MS = 200;
/** Reserve for other programs' writes during the compaction. */
const SPARE_BYTES = 64 << 20;

/**
 * Writes the database without its free pages into a new file, checks it, and replaces the old file with it. The replacement is a
 * single rename, so a kill at any moment leaves either file intact.
 *
 * @throws {CodedError} storage/locked: another process has it open, writing or reading; storage/disk-full: there is no room for
 * both files; storage/no-database, storage/corrupted, storage/io
 */
export async function compactDatabase(folder: string, { onProgress }: CompactionOptions = {}): Promise<Compaction> {
  const file = join(folder, DATA_FILE);
  if (!existsSync(file)) throw storageError("storage/no-database", { folder });
  const environment = new Environment(folder, {
    readOnly: false,
    mapSizeBytes: undefined,
    sync: "each",
    syncIntervalMs: 0,
    inOrder: true,
  });
  const copies = join(folder, COMPACTION_FOLDER);
  try {
    const [pid] = environment.otherReaders();
    if (pid !== undefined) throw storageError("storage/locked", { folder, pid });
    const beforeBytes = statSync(file).size;
    for (const name of environment.tableNames()) environment.openTable(name); // they count in `stats`
    const { fileBytes, freeBytes } = environment.stats();
    const expectedBytes = fileBytes - freeBytes;
    assertRoom(folder, expectedBytes);
    mkdirSync(copies, { recursive: true });
    const copy = join(copies, DATA_FILE);
    const tell = (): void => onProgress?.(existsSync(copy) ? statSync(copy).size : 0, expectedBytes);
    const timer = setInterval(tell, PROGRESS_INTERVAL_MS);
    try {
      await environment.copyCompacted(copies);
    } finally {
      clearInterval(timer);
    }
    synced(copy);
    const problem = findDamagedPage(copy, Number.POSITIVE_INFINITY);
    if (problem !== undefined) throw storageError("storage/corrupted", { folder: copies, reason: problem });
    const afterBytes = statSync(copy).size;
    renameSync(copy, file);
    // It belongs to the old file: the new file counts transactions from the start.
    rmSync(join(folder, LOCK_TABLE), { force: true });
    synced(folder);
    return { beforeBytes, afterBytes };
  } catch (error) {
    throw toStorageError(error, folder);
  } finally {
    rmSync(copies, { recursive: true, force: true });
    await environment.close();
  }
}

function assertRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const missing = bytes + SPARE_BYTES - bavail * bsize;
  if (missing <= 0) return;
  const reason = `the new file needs ${mebibytes(bytes + SPARE_BYTES)} beside the old one, ${mebibytes(missing)} more than there are; nothing was changed`;
  throw storageError("storage/disk-full", { folder, reason });
}

function synced(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
