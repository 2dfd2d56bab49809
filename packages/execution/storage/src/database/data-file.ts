import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { endianness } from "node:os";
import { storageError } from "../errors.ts";

/*
 * LMDB maps its file into memory and trusts it: garbage, or a truncated file, ends the process with a signal instead of an error. Therefore
 * the two meta pages are checked before LMDB opens the file. Layout of a meta page on 64-bit little-endian machines (lmdb 0.9.90 and later):
 *   page header 24 ‖ magic 4 ‖ version 4 ‖ address 8 ‖ map size 8 ‖ page size 4 ‖ … ‖ last page 8, at 144 ‖ transaction 8
 */

const MAGIC_AT = 24;
const VERSION_AT = 28;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const TRANSACTION_AT = 152;
const META_SIZE = 160;
const MAGIC = 0xbeefc0de;
const VERSION = 2;
/** LMDB does not write the last pages if they were freed in the transaction that allocated them. */
const MAX_UNWRITTEN_BYTES = 1 << 20;

/** The content of a meta page. */
export interface DataFileMeta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
  /** the start of the page */
  readonly page: Buffer;
}

const hasKnownLayout = endianness() === "LE" && ["x64", "arm64"].includes(process.arch);

/**
 * Checks that LMDB can open the file.
 *
 * @throws {CodedError} storage/corrupted
 */
export function checkDataFile(folder: string, file: string, isWriter: boolean): void {
  if (!hasKnownLayout) return;
  const descriptor = openSync(file, isWriter ? "r+" : "r");
  try {
    if (fstatSync(descriptor).size === 0) return; // equivalent to no file
    const corrupted = (reason: string): Error => storageError("storage/corrupted", { folder, reason });
    const first = readMeta(descriptor, 0);
    if (first === undefined) throw corrupted("data.mdb is not an LMDB file of this version");
    const second = readMeta(descriptor, first.pageSize);
    if (second === undefined || second.pageSize !== first.pageSize) throw corrupted("data.mdb has a damaged header");
    const { lastPage } = first.transaction > second.transaction ? first : second;
    const { size } = fstatSync(descriptor); // after the header: a concurrent writer extends the file first
    const expected = (lastPage + 1) * first.pageSize;
    if (expected - size > MAX_UNWRITTEN_BYTES) throw corrupted(`data.mdb has ${size} bytes and should have ${expected}`);
    if (expected > size && isWriter) ftruncateSync(descriptor, expected); // reading the missing pages then gives an error instead of a signal
  } finally {
    closeSync(descriptor);
  }
}

/** Whether `dropLastCommit` can do its work here. */
export const canDropLastCommit = hasKnownLayout;

/*
 * The last transaction that is known to be on the disk stands in the first page, half of which LMDB does not use: at half of the page size,
 *   mark 8 ‖ transaction 8
 */
const FLUSHED_MARK = 0x64_6568_7375_6c66n; // "flushed"

/** To be on the disk when the file is flushed. */
export function writeFlushedTransaction(descriptor: number, transaction: number): void {
  const meta = readMeta(descriptor, 0);
  if (meta === undefined) return;
  const note = Buffer.alloc(16);
  note.writeBigUInt64LE(FLUSHED_MARK, 0);
  note.writeBigUInt64LE(BigInt(transaction), 8);
  writeSync(descriptor, note, 0, note.length, meta.pageSize / 2);
}

function readFlushedTransaction(descriptor: number, pageSize: number): number {
  const note = Buffer.alloc(16);
  const isThere =
    readSync(descriptor, note, 0, note.length, pageSize / 2) === note.length && note.readBigUInt64LE(0) === FLUSHED_MARK;
  return isThere ? Number(note.readBigUInt64LE(8)) : 0;
}

/**
 * If the last commit may not be completely on disk, returns to the previous commit, whose pages it did not overwrite: the meta
 * page of the last commit becomes a copy of the other. A file without two readable meta pages is not changed; `checkDataFile`
 * refuses it.
 *
 * @returns whether it returned to the previous commit
 */
export function dropLastCommit(file: string): boolean {
  const descriptor = openSync(file, "r+");
  try {
    const first = readMeta(descriptor, 0);
    const second = first && readMeta(descriptor, first.pageSize);
    if (first === undefined || second === undefined || first.transaction === second.transaction) return false;
    const [older, last, lastAt] = first.transaction < second.transaction ? [first, second, first.pageSize] : [second, first, 0];
    if (last.transaction <= readFlushedTransaction(descriptor, first.pageSize)) return false;
    writeSync(descriptor, older.page, MAGIC_AT, META_SIZE - MAGIC_AT, lastAt + MAGIC_AT);
    fsyncSync(descriptor);
    return true;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * A stamp that distinguishes the current file from every other file, and from itself after any write, even if an old copy is
 * restored: its inode, its size, and the time of its last change, which programs cannot set. Reading does not change it.
 */
export function stampOfFile(file: string): string {
  const { ino, size, ctimeNs } = statSync(file, { bigint: true });
  return `${ino} ${size} ${ctimeNs}`;
}

/** The meta page of the last commit; `undefined` if there is none, or if its layout is unknown. */
export function readCurrentMeta(descriptor: number): DataFileMeta | undefined {
  const first = hasKnownLayout ? readMeta(descriptor, 0) : undefined;
  const second = first && readMeta(descriptor, first.pageSize);
  if (first === undefined || second === undefined) return undefined;
  return first.transaction > second.transaction ? first : second;
}

function readMeta(descriptor: number, position: number): DataFileMeta | undefined {
  const page = Buffer.alloc(META_SIZE);
  if (readSync(descriptor, page, 0, META_SIZE, position) < META_SIZE) return undefined;
  const pageSize = page.readUInt32LE(PAGE_SIZE_AT);
  const isPowerOfTwo = (pageSize & (pageSize - 1)) === 0;
  const isMeta = page.readUInt32LE(MAGIC_AT) === MAGIC && (page.readUInt32LE(VERSION_AT) & 0xffff) === VERSION;
  if (!isMeta || !isPowerOfTwo || pageSize < 256 || pageSize > 65_536) return undefined;
  const lastPage = Number(page.readBigUInt64LE(LAST_PAGE_AT));
  return { pageSize, lastPage, transaction: Number(page.readBigUInt64LE(TRANSACTION_AT)), page };
}
