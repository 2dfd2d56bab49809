import { statfsSync } from "node:fs";
import { CodedError, isCodedError } from "@rnode/primitives";

export type StorageErrorCode =
  /** another process (or this one) has the folder open for writing: `folder`, `pid` */
  | "storage/locked"
  /** the folder holds no database, and it is opened read-only: `folder` */
  | "storage/no-database"
  /** an LMDB database that is not ours: `folder` */
  | "storage/foreign-database"
  /** written by a later version of this program: `folder`, `format`, `supported` */
  | "storage/newer-format"
  /** written by an earlier version, in a form this one does not read; the chain must be imported anew: `folder`, `format`, `supported` */
  | "storage/older-format"
  /** the file is no database, is damaged, or a row cannot be read: `folder` or `row`, `reason` */
  | "storage/corrupted"
  /** the disk is full; nothing of the commit was written: `folder` */
  | "storage/disk-full"
  /** any other error of the database or the file system: `folder`, `reason` */
  | "storage/io"
  /** a write to a store that is open read-only */
  | "storage/read-only"
  /** a genesis is written already */
  | "storage/not-empty"
  /** no genesis has been written */
  | "storage/empty"
  /** the block's parent is not the head: `number`, `parentHash`, `head` */
  | "storage/not-child-of-head"
  /** a reorganisation to a block that is not canonical: `number`, `head` */
  | "storage/unknown-ancestor"
  /** a reorganisation beyond the kept trie nodes: `number`, `oldest` */
  | "storage/unwind-too-deep"
  /** the block of a state view has left the canonical chain, or its history was removed: `number`, `hash` */
  | "storage/state-gone"
  /** fewer blocks of history than a chain needs to reorganise: `blocks`, `minimum` */
  | "storage/history-too-short"
  /** code that no account should have: `codeHash` */
  | "storage/missing-code";

export function storageError(
  code: StorageErrorCode,
  data: CodedError["data"] = {},
  options?: ErrorOptions,
): CodedError<StorageErrorCode> {
  return new CodedError<StorageErrorCode>(code, data, options);
}

const ENOSPC = 28;
const LMDB_MAP_FULL = -30792;
/** MDB_CORRUPTED, MDB_PANIC, MDB_VERSION_MISMATCH, MDB_INVALID, MDB_PAGE_NOTFOUND */
const LMDB_DAMAGED = new Set([-30796, -30795, -30794, -30793, -30797]);

const FULL_BELOW_BYTES = 8 << 20;

function isDiskFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < FULL_BELOW_BYTES;
  } catch {
    return false;
  }
}

/** What a caught error of LMDB or the file system means; errors with a code of their own pass. */
export function toStorageError(error: unknown, folder: string): Error {
  if (isCodedError(error)) return error;
  if (!(error instanceof Error)) return storageError("storage/io", { folder, reason: String(error) });
  const { code, message } = error as Error & { code?: unknown };
  if (code === ENOSPC || code === "ENOSPC" || code === LMDB_MAP_FULL || /no space left|MDB_MAP_FULL/i.test(message)) {
    return storageError("storage/disk-full", { folder }, { cause: error });
  }
  const isDamaged = typeof code === "number" && LMDB_DAMAGED.has(code);
  if (isDamaged || /MDB_(CORRUPTED|PANIC|VERSION_MISMATCH|INVALID|PAGE_NOTFOUND)/.test(message)) {
    return storageError("storage/corrupted", { folder, reason: message }, { cause: error });
  }
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError) return error; // ours, a bug
  // LMDB reports a write cut short as EIO, and a commit after it as a transaction that must be undone.
  if (isDiskFull(folder)) return storageError("storage/disk-full", { folder }, { cause: error });
  return storageError("storage/io", { folder, reason: message }, { cause: error });
}
