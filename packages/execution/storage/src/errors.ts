import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type CodedError, codedErrors, isCodedError } from "@rnode/primitives";

export type StorageErrorCode =
  /** another process (or this one) has the folder open for writing: `folder`, `pid` */
  | "storage/locked"
  /** the folder contains no database, and is opened read-only: `folder` */
  | "storage/no-database"
  /** an LMDB database that is not of this program: `folder` */
  | "storage/foreign-database"
  /** written by a later version of this program: `folder`, `format`, `supported` */
  | "storage/newer-format"
  /** written by an earlier version, in a format that this one does not read; the database must be made again: `folder`, `format`, `supported` */
  | "storage/older-format"
  /** the file is not a database or is damaged, or a row cannot be decoded: `folder` or `row`, `reason` */
  | "storage/corrupted"
  /** the disk is full, or the file must not grow; nothing of the commit was written: `folder`, `reason` */
  | "storage/disk-full"
  /** any other error of the database or the file system: `folder`, `reason` */
  | "storage/io"
  /** a write to a store that is open read-only */
  | "storage/read-only"
  /** a genesis has already been written */
  | "storage/not-empty"
  /** no genesis has been written */
  | "storage/empty"
  /** the block's parent is not the head: `number`, `parentHash`, `head` */
  | "storage/not-child-of-head"
  /** a reorganisation to a block that is not canonical: `number`, `head` */
  | "storage/unknown-ancestor"
  /** a reorganisation beyond the retained trie nodes: `number`, `oldest` */
  | "storage/unwind-too-deep"
  /** the block of a state view has left the canonical chain, or its history was removed: `number`, `hash` */
  | "storage/state-gone"
  /** fewer blocks of history than a chain needs for reorganisations: `blocks`, `minimum` */
  | "storage/history-too-short"
  /** code that no account should have: `codeHash` */
  | "storage/missing-code"
  /** blocks that do not end below the oldest one: `number` of the last, `oldest` */
  | "storage/not-older"
  /** a snapshot without all of its blocks: `number`, `hash` of the last one that is expected */
  | "storage/incomplete-snapshot";

export class StorageError extends codedErrors<StorageErrorCode>({
  "storage/locked": "process {pid} has the database in {folder} open",
  "storage/no-database": "{folder} holds no database",
  "storage/foreign-database": "the database in {folder} is not one of this program",
  "storage/newer-format":
    "the database in {folder} has format {format}, of a later version of this program, which reads up to {supported}",
  "storage/older-format":
    "the database in {folder} has format {format}, of an earlier version of this program: expected {supported}",
  "storage/corrupted": "the database is damaged: {reason}",
  "storage/disk-full": "the database in {folder} cannot grow: {reason}",
  "storage/io": "the database in {folder} cannot be read or written: {reason}",
  "storage/read-only": "the database in {folder} is open for reading only",
  "storage/not-empty": "the database has a chain already",
  "storage/empty": "the database in {folder} has no chain yet",
  "storage/not-child-of-head": "block {number} does not follow the head",
  "storage/unknown-ancestor": "block {number} is not in the canonical chain",
  "storage/unwind-too-deep": "block {number} is too far back to reorganise to: the trie is kept from block {oldest} on",
  "storage/state-gone": "the state of block {number} is gone: the block left the canonical chain, or its history was removed",
  "storage/history-too-short": "{blocks} blocks of history are too few: at least {minimum} are needed for reorganisations",
  "storage/missing-code": "the code with hash {codeHash} is missing",
  "storage/not-older": "block {number} is not the parent of block {oldest}, which is the oldest one",
  "storage/incomplete-snapshot": "the blocks of the snapshot do not end with block {number} {hash}",
}) {}

export function storageError(code: StorageErrorCode, data: CodedError["data"] = {}, options?: ErrorOptions): StorageError {
  return new StorageError(code, data, options);
}

export const DATA_FILE = "data.mdb";

const LMDB_MAP_FULL = -30792;
/** MDB_CORRUPTED, MDB_VERSION_MISMATCH, MDB_INVALID, MDB_PAGE_NOTFOUND */
const LMDB_DAMAGED = new Set([-30796, -30794, -30793, -30797]);

const fullBecause = (why: string): string => `${why}; all commits before this one are there: make room and try again`;
const NO_SPACE = fullBecause("no space left on the disk");
const NO_QUOTA = fullBecause("the disk quota is used up");
const NOT_LARGER = fullBecause("the system does not let the file grow (ulimit -f, or the largest file of this file system)");
/** By error number, as LMDB reports them (Linux), and by name. */
const FULL_REASONS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [28, NO_SPACE],
  ["ENOSPC", NO_SPACE],
  [122, NO_QUOTA],
  ["EDQUOT", NO_QUOTA],
  [27, NOT_LARGER],
  ["EFBIG", NOT_LARGER],
  [LMDB_MAP_FULL, "no address space for a larger database"],
]);

const FULL_BELOW_BYTES = 8 << 20;
const PROBE_BYTES = 4096;

/** Why the database cannot grow; undefined if it can. */
function growthProblem(folder: string): string | undefined {
  const probe = join(folder, `probe.${process.pid}`);
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < FULL_BELOW_BYTES) return NO_SPACE;
    const { size } = statSync(join(folder, DATA_FILE));
    const descriptor = openSync(probe, "w");
    try {
      writeSync(descriptor, new Uint8Array(PROBE_BYTES), 0, PROBE_BYTES, size);
    } finally {
      closeSync(descriptor);
    }
    return undefined;
  } catch (error) {
    return FULL_REASONS.get((error as NodeJS.ErrnoException).code);
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Translates a caught error of LMDB or the file system; errors that already have a code are passed on. */
export function toStorageError(error: unknown, folder: string): Error {
  if (isCodedError(error)) return error;
  if (!(error instanceof Error)) return storageError("storage/io", { folder, reason: String(error) });
  const { code, message } = error as Error & { code?: unknown };
  const full = FULL_REASONS.get(code) ?? (/no space left|MDB_MAP_FULL/i.test(message) ? NO_SPACE : undefined);
  if (full !== undefined) return storageError("storage/disk-full", { folder, reason: full }, { cause: error });
  const isDamaged = typeof code === "number" && LMDB_DAMAGED.has(code);
  if (isDamaged || /MDB_(CORRUPTED|VERSION_MISMATCH|INVALID|PAGE_NOTFOUND)/.test(message)) {
    return storageError("storage/corrupted", { folder, reason: message }, { cause: error });
  }
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) return error; // a bug of ours
  // LMDB reports a truncated write as EIO, and a commit after it as a transaction that must be aborted.
  const reason = growthProblem(folder);
  if (reason !== undefined) return storageError("storage/disk-full", { folder, reason }, { cause: error });
  return storageError("storage/io", { folder, reason: message }, { cause: error });
}

const ADVICE: Partial<Record<StorageErrorCode, string>> = {
  "storage/corrupted": "put a copy of the folder back, or remove it and import the chain anew",
  "storage/io": "see to the disk and its file system, then start again",
  "storage/locked": "stop that process, or give another --datadir: a database has one writer",
  "storage/foreign-database": "give another --datadir",
  "storage/newer-format": "use the later version, or another --datadir",
  "storage/older-format":
    "remove the folder or give another --datadir, then fill it with rengine init, import, snapshot restore, or a sync",
};

/** The operator's remedy for the error; `undefined` if there is none. */
export const storageAdvice = (error: unknown): string | undefined =>
  isCodedError(error) ? (ADVICE as Readonly<Record<string, string>>)[error.code] : undefined;
